-- Quarto, after rendering: make the site work when it is opened from disk.
-- The two scripts from elsewhere that it adds to pages with HTML outputs go: nothing here uses them, and a reader
-- behind a firewall would wait for them. Its own script becomes a plain one, since browsers load no modules from disk.
-- Style sheets ask nobody for fonts. Titles of the window and in navigation lose the signs that escape others in Markdown.
-- On slides, citations and notes that lead nowhere are no links: the page would be loaded anew. There is no menu.
-- Each page gets the policy of policy.html, as in the plain engine: scripts from their own folder alone. So scripts and
-- handlers that Quarto wrote into the page move to files; those inside the text are not Quarto's, and never run.
-- The index of the search box is a script too: Quarto's own search reads a file, which no browser allows from disk.
-- The PDF and the Word document stand beside the site too.
-- On the first page, which has no number, references to chapters and sections get titles: make them numbers as elsewhere.
-- Links to a folder name its page: a browser lists a folder on disk.
-- A style of citations with numbers counts through the book, as in the PDF, where Quarto counts on each page anew; the list
-- of all works is in the language of the pages.
local function read(path)
  local handle = io.open(path)
  if not handle then return nil end
  local text = handle:read("a")
  handle:close()
  return text
end

local function write(path, text)
  local handle = assert(io.open(path, "w"))
  handle:write(text)
  handle:close()
end

local function plain(folder)        -- whether the script there is no module any more
  local main, whole = read(folder .. "/quarto.js"), true
  if not main or main:find("^%(%(%) => {") then return main ~= nil end
  main = main:gsub('import %* as ([%w_]+) from "%./([^"]+)";', function(name, path)
    local names, text = {}, read(folder .. "/" .. path) or ""
    text = text:gsub("export (%l*%s*function ([%w_]+))", function(start, known)
      names[#names + 1] = known
      return start
    end)
    whole = whole and #names > 0 and not text:find("%f[%w]export ")
    return "const " .. name .. " = (() => {\n" .. text .. "\nreturn { " .. table.concat(names, ", ") .. " };\n})();"
  end)
  whole = whole and not ("\n" .. main):find("\n%s*import [%w{*\"']")
  if whole then write(folder .. "/quarto.js", "(() => {\n" .. main .. "\n})();\n") end
  return whole
end

local SETTINGS = pandoc.read("---\n" .. (read("_quarto.yml") or "") .. "\n---\n", "markdown-smart").meta

local function word(kind, english)  -- for a reference, in the language of the report
  local given = SETTINGS.language and SETTINGS.language["crossref-" .. kind .. "-prefix"]
  return given and pandoc.utils.stringify(given) or english
end

local function numbered(text, folder)
  local chapter, part, appendix = word("ch", "Chapter"), word("sec", "Section"), word("apx", "Appendix")
  local section = '(href="([^"#]+)#(sec%-[%w_-]+)" class="quarto%-xref"><span>)([^<]*)'
  return text:gsub('(quarto%-xref"><span>)(%d+)&nbsp; [^<]*', function(start, number) return start .. chapter .. "&nbsp;" .. number end)
             :gsub('(quarto%-xref"><span>' .. appendix:gsub("%p", "%%%0") .. ') (%u) [^<]*', "%1&nbsp;%2")
             :gsub(section, function(start, page, id, words)
               local id_there = 'data%-anchor%-id="' .. id:gsub("%p", "%%%0") .. '"><span class="header%-section%-number">'
               local number = (read(folder .. page) or ""):match(id_there .. "([%w.]+)<")
               return start .. (number and part .. "&nbsp;" .. number or words)
             end)
end

local CITED = '(<a href="[^"#]*#ref%-([^"]+)" role="doc%-biblioref">)%d+(</a>)'
local WORK = '()<div id="ref%-([^"]+)" class="csl%-entry"[^>]*>(.-)\n</div>\n()'

local function works(text)          -- what a page cites: places and text of each, whether a number begins all of them
  local found, numbers = {}, true
  for first, key, inside, last in text:gmatch(WORK) do
    found[#found + 1] = { key = key, text = inside, first = first, last = last }
    numbers = numbers and inside:gsub("<[^>]*>", ""):match("^%s*%W?%d+%f[^%w]") ~= nil
  end
  return found, numbers and #found > 0
end

local function counted(files)       -- in the order of the book: number of each work, if the style has numbers; what pages print
  local number, printed, count, numeric = {}, {}, 0, true
  for _, file in ipairs(files) do
    local text = read(file) or ""
    local found, numbers = works(text)
    local hidden = text:find('id="refs"[^>]*display: none')    -- the visible list is always in English
    for _, one in ipairs(hidden and found or {}) do printed[one.key] = printed[one.key] or one.text end
    numeric = numeric and (numbers or #found == 0)
    for keys in text:gmatch('<span class="citation" data%-cites="([^"]*)">') do
      for key in keys:gmatch("%S+") do
        if not number[key] then count = count + 1; number[key] = count end
      end
    end
  end
  return numeric and number or nil, printed
end

local function cited(text, number)  -- a page with the numbers of the book
  text = text:gsub('(<span class="citation" data%-cites="([^"]*)">)(.-)(</span>)', function(start, keys, inside, stop)
    local wanted, there, form = pandoc.List {}, 0, nil
    for key in keys:gmatch("%S+") do wanted:insert(key) end
    local own = inside:gsub(CITED, function(link, key, close)
      there, form = there + 1, link:gsub("#ref%-[^\"]*", "#ref-\0")
      return number[key] and link .. number[key] .. close
    end)
    if there == 0 or there == #wanted and there == 1 then return start .. own .. stop end
    wanted:sort(function(a, b) return (number[a] or 0) < (number[b] or 0) end)
    local links = wanted:map(function(key) return (form:gsub("\0", function() return key end)) .. (number[key] or "?") .. "</a>" end)
    return start .. inside:match("^[^<]*") .. table.concat(links, ", ") .. inside:match("[^>]*$") .. stop
  end)
  return text
end

local function in_order()           -- the pages that Quarto made, those of the chapters first, in their order
  local files, book = pandoc.List {}, SETTINGS.book or {}
  for file in (os.getenv("QUARTO_PROJECT_OUTPUT_FILES") or ""):gmatch("[^\n]+") do
    if file:match("%.html$") then files:insert(file) end
  end
  local place = {}
  for at, name in ipairs(pandoc.List(book.chapters or {}) .. pandoc.List(book.appendices or {})) do place[pandoc.utils.stringify(name):gsub("%.%w+$", ".html")] = at end
  files:sort(function(a, b)
    local first, second = place[a:match("[^/]+$")] or math.huge, place[b:match("[^/]+$")] or math.huge
    return first < second or first == second and a < b
  end)
  return files
end

local function listed(text, number, printed) -- the works of a page by the numbers of the book, in the language of the pages
  local found = works(text)
  if #found == 0 then return text end
  for place, one in ipairs(found) do
    one.place = number and number[one.key] or place
    one.text = printed[one.key] or one.text
    if number then one.text = one.text:gsub("^(%s*%W?<?[^>%d]*>?%W?)%d+", function(start) return start .. one.place end, 1) end
  end
  local parts, from = { text:sub(1, found[1].first - 1) }, found[#found].last
  table.sort(found, function(a, b) return a.place < b.place end)
  for _, one in ipairs(found) do
    parts[#parts + 1] = '<div id="ref-' .. one.key .. '" class="csl-entry" role="listitem">' .. one.text .. "\n</div>\n"
  end
  return table.concat(parts) .. text:sub(from)
end

local function unescaped(start, title) return start .. title:gsub("\\(%p)", "%1") end

local function titled(text)         -- Quarto sets a title as it stands in the file where it does not find its rendering
  for _, begin in ipairs({"<title>", '<span class="menu%-text">', '<span class="chapter%-title">', '<span class="nav%-page%-text">',
                          '<div class="sidebar%-title[^>]*>%s*<a [^>]*>'}) do
    text = text:gsub("(" .. begin .. ")([^<]*)", unescaped)
  end
  return text
end

local function unlinked(link)
  link = link:gsub('(%shref="%.[%./]*/)"', '%1index.html"', 1)
  if not link:find('role="doc%-biblioref"') and not link:find('role="doc%-noteref"') then return link end
  return (link:gsub(' onclick="[^"]*"', ""):gsub(' href=""', ""))
end

local function local_fonts(path)    -- a theme asks for its own
  local text = read(path)
  if not text then return end
  local kept = text:gsub("@import%s+url%(%s*[\"']?%a*:?//[^)]*%)[^;]*;?", ""):gsub("@import%s*url%(%s*[\"']?%a*:?//[^)]*%)%s*;?", "")
                   :gsub("@import%s*\"%a*:?//[^\"]*\"[^;]*;?", ""):gsub("@import%s*'%a*:?//[^']*'[^;]*;?", "")
  if kept ~= text then write(path, kept) end
end

local RUNS = { [""] = true, ["text/javascript"] = true, ["application/javascript"] = true, module = true }
local ENTITIES = { ["&quot;"] = '"', ["&#39;"] = "'", ["&lt;"] = "<", ["&gt;"] = ">", ["&amp;"] = "&" }

local function closed(text, at)     -- end of the tag that begins there; a sign in an attribute's text ends none
  local quote
  for i, sign in text:sub(at):gmatch("()([\"'>])") do
    if quote then quote = sign ~= quote and quote or nil
    elseif sign == ">" then return at + i - 1
    elseif text:sub(1, at + i - 2):match("=%s*$", -9) then quote = sign end
  end
  return #text
end

local function unhandled(tag, actions) -- a tag whose handlers are listed; what an attribute's text looks like does not count
  local parts, from = {}, 1
  while true do
    local first, last, key, quote, value = tag:find("([^%s\"'=<>/]+)%s*=%s*([\"'])(.-)%2", from)
    if not first then return table.concat(parts) .. tag:sub(from) end
    local event = key:match("^on(%l+)$")
    if event then
      local code = value:gsub("&#?%w+;", ENTITIES)
      local id = pandoc.utils.sha1(event .. code):sub(1, 12)
      actions[#actions + 1] = { event = event, id = id, code = code }
      parts[#parts + 1] = tag:sub(from, first - 1) .. "data-on" .. event .. '="' .. id .. '"'
    else
      parts[#parts + 1] = tag:sub(from, last)
    end
    from = last + 1
  end
end

local function apart(text, keep)    -- a part of a page, where scripts are in files and handlers are listed
  local parts, actions, from = {}, {}, 1
  while true do
    local at, name = text:match("()<(%a[%w-]*)", from)
    local comment = text:find("<!--", from, true)
    if comment and (not at or comment < at) then
      local last = select(2, text:find("-->", comment, true)) or #text
      parts[#parts + 1], from = text:sub(from, last), last + 1
    elseif not at then
      break
    else
      local last = closed(text, at)
      local tag = unhandled(text:sub(at, last), actions)
      parts[#parts + 1], from = text:sub(from, at - 1), last + 1
      if name:lower() == "script" then
        local stop = text:lower():find("</script", from, true) or #text + 1
        local code = text:sub(from, stop - 1)
        local kind = (tag:match('%stype="([^"]*)"') or ""):lower()
        if not tag:match("%ssrc=") and RUNS[kind] and code:match("%S") then
          tag, code = tag:sub(1, -2) .. ' src="' .. keep(code) .. '">', ""
        end
        parts[#parts + 1], from = tag .. code, stop
      else
        parts[#parts + 1] = tag
      end
    end
  end
  parts[#parts + 1] = text:sub(from)
  return table.concat(parts), actions
end

local function guarded(page, folder, policy)
  local function keep(code)         -- the file of a script, beside the page
    local name = "inline/" .. pandoc.utils.sha1(code):sub(1, 12) .. ".js"
    pandoc.system.make_directory(folder .. "inline", true)
    write(folder .. name, code)
    return name
  end
  local first, last = page:find("<main", 1, true), nil
  for at in page:gmatch("()</main>") do last = at end
  if not first then
    first, last = page:find('<div class="slides">', 1, true), page:find("<script>window.backupDefine", 1, true)
  end
  if not first or not last or last < first then first, last = #page + 1, #page + 1 end
  local before, some = apart(page:sub(1, first - 1), keep)
  local after, others = apart(page:sub(last), keep)
  local lines = pandoc.List {}
  for _, one in ipairs(pandoc.List(some) .. others) do
    local line = string.format('listen("%s", "%s", function (event) { %s });', one.event, one.id, one.code)
    if not lines:includes(line) then lines:insert(line) end
  end
  if #lines > 0 then
    local script = 'const listen = (name, id, act) => document.querySelectorAll(`[data-on${name}="${id}"]`).forEach((one) =>\n'
      .. "  one.addEventListener(name, (event) => { if (act.call(one, event) === false) event.preventDefault(); }));\n"
    local tag = '<script src="' .. keep("{\n" .. script .. table.concat(lines, "\n") .. "\n}\n") .. '"></script>\n'
    after = after:gsub("()</body>", function(at) return not after:find("</body>", at + 1, true) and tag .. "</body>" or nil end)
  end
  return (before:gsub("<head[^>]*>", function(head) return head .. "\n" .. policy end, 1)) .. page:sub(first, last - 1) .. after
end

local function no_menu(text)        -- of slides: Quarto loads it also where the settings say no
  return text:gsub("%s*<script src=\"[^\"]*/reveal%-menu/[^\"]*\"></script>", ""):gsub("%s*<link href=\"[^\"]*/reveal%-menu/[^\"]*\"[^>]*>", "")
             :gsub("\n'menu': {[^\n]*},\n", "\n"):gsub("(plugins: %[[^%]]-)RevealMenu, ", "%1")
end

local here = (PANDOC_SCRIPT_FILE or arg and arg[0] or ""):match("^.*/") or ""
local policy = assert(read(here .. "policy.html"))
local output = os.getenv("QUARTO_PROJECT_OUTPUT_DIR")
local pages = {}
local no_module = output and plain(output .. "/site_libs/quarto-html")
local number, printed = counted(in_order())
for file in (os.getenv("QUARTO_PROJECT_OUTPUT_FILES") or ""):gmatch("[^\n]+") do
  if file:match("%.html$") then
    local text = assert(read(file))
    text = text:gsub('<script src="https://[^"]*/require[^"]*"[^>]*></script>%s*', "")
               :gsub('<script src="https://[^"]*/jquery[^"]*"[^>]*></script>%s*', "")
               :gsub("<script type=\"application/javascript\">define%('jquery'.-</script>%s*", "")
    local folder = file:match("^.*/") or ""
    for sheet in text:gmatch('<link href="([^":]+%.css)"') do local_fonts(folder .. sheet) end
    text = numbered(text, folder)
    text = titled(text):gsub("<a [^>]*>", unlinked)
    text = listed(number and cited(text, number) or text, number, printed)
    if no_module then
      text = text:gsub('(quarto%-html/quarto%.js") type="module"', "%1 defer")
                 :gsub('<script src="[^"]*quarto%-html/[^"]*" type="module"></script>%s*', "")
    end
    local page = guarded(no_menu(text), folder, policy)
    write(file, page)
    local main = page:find("/report.js\"", 1, true) and page:match("<main.*</main>")
    if main then pages[#pages + 1] = { url = file:match("[^/]+$"), blocks = pandoc.read(main, "html").blocks } end
  elseif file:match("%.pdf$") or file:match("%.docx$") then
    local copy = assert(io.open(file:match("[^/]+$"), "wb"))
    copy:write(read(file))
    copy:close()
  end
end
if #pages > 0 and os.getenv("QUARTO_PROJECT_RENDER_ALL") == "1" then write(output .. "/search.js", dofile(here .. "search.lua")(pages)) end
