-- Quarto, after rendering: make the site work when it is opened from disk.
-- The two scripts from elsewhere that it adds to pages with HTML outputs go: nothing here uses them, and a reader
-- behind a firewall would wait for them. Its own script becomes a plain one, since browsers load no modules from disk.
-- Style sheets ask nobody for fonts. Titles of the window and in navigation lose the signs that escape others in Markdown.
-- On slides, citations and notes that lead nowhere are no links: their handlers would be refused, and the page loaded anew.
-- On the first page, which has no number, references to chapters and sections get titles: make them numbers as elsewhere.
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

local function numbered(text, folder)
  local section = '(href="([^"#]+)#(sec%-[%w_-]+)" class="quarto%-xref"><span>)([^<]*)'
  return text:gsub('(quarto%-xref"><span>)(%d+)&nbsp; [^<]*', "%1Chapter&nbsp;%2")
             :gsub('(quarto%-xref"><span>Appendix) (%u) [^<]*', "%1&nbsp;%2")
             :gsub(section, function(start, page, id, words)
               local id_there = 'data%-anchor%-id="' .. id:gsub("%p", "%%%0") .. '"><span class="header%-section%-number">'
               local number = (read(folder .. page) or ""):match(id_there .. "([%w.]+)<")
               return start .. (number and "Section&nbsp;" .. number or words)
             end)
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

local output = os.getenv("QUARTO_PROJECT_OUTPUT_DIR")
local no_module = output and plain(output .. "/site_libs/quarto-html")
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
    if no_module then
      text = text:gsub('(quarto%-html/quarto%.js") type="module"', "%1 defer")
                 :gsub('<script src="[^"]*quarto%-html/[^"]*" type="module"></script>%s*', "")
    end
    write(file, text)
  end
end
