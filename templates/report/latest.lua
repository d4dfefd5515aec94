-- Quarto, before it renders the project: the notebooks of the latest campaign, as executed, become the last chapters of
-- the book; without a campaign the notebooks as they are. Quarto reads which from _quarto.yml.local, and then renders.
-- A campaign may come from anyone: copies are shown, without HTML, shortcodes, settings and code that
-- Quarto would run, which could read files.
local CAMPAIGNS, COPIES, NOTEBOOK = "data/campaigns", "data/campaigns/derived/book", "^%d.*%.ipynb$"
local APART = "{{\u{200b}<"

local function read(path)
  local handle = io.open(path)
  local text = handle and handle:read("a")
  if handle then handle:close() end
  return text
end

local function write(path, text)
  local handle = assert(io.open(path, "w"))
  handle:write(text)
  handle:close()
end

local function decoded(text)        -- JSON as a table; nil where it is none
  local whole, value = pcall(pandoc.json.decode, text or "", false)
  return whole and type(value) == "table" and value or nil
end

local function names(folder, pattern)
  local whole, found = pcall(pandoc.system.list_directory, folder)
  found = pandoc.List(whole and found or {}):filter(function(name) return name:match(pattern) end)
  found:sort()
  return found
end

local function latest()             -- the campaign with executed notebooks that was made last: its folder and name
  local folder, name, moment
  for _, one in ipairs(names(CAMPAIGNS, "^%w")) do
    local place = CAMPAIGNS .. "/" .. one
    local facts = decoded(read(place .. "/campaign.json"))
    local created = facts and tostring(facts.created)
    if created and (not moment or created > moment) and #names(place .. "/notebooks", NOTEBOOK) > 0 then
      folder, name, moment = place, one, created
    end
  end
  return folder, name
end

local function quiet(text)           -- without shortcodes, blocks of settings, and blocks that Quarto runs
  text = "\n" .. (type(text) == "table" and table.concat(text) or tostring(text or ""))
  text = text:gsub("{{<", APART):gsub("\r", ""):gsub("\n([ \t]*%-%-%-+[ \t]*)%f[\n\0]", "\n\u{200b}%1")
             :gsub("([`~][`~][`~]+[ \t]*){", "%1\u{200b}{")
  return text:sub(2)
end

local function bare(notebook)       -- a copy of an executed notebook with nothing that Quarto or a page would act on
  local cells = pandoc.List(notebook.cells):map(function(cell)
    local outputs = pandoc.List(cell.outputs or {}):map(function(out)
      local kept = { output_type = out.output_type, name = out.name, ename = out.ename, evalue = out.evalue,
        text = out.text and quiet(out.text), traceback = out.ename and { quiet(out.ename) } or nil }
      if out.data then
        kept.data, kept.metadata = { ["text/plain"] = quiet(out.data["text/plain"]) }, pandoc.json.decode("{}")
        for _, kind in ipairs { "text/markdown", "image/svg+xml" } do
          kept.data[kind] = out.data[kind] and quiet(out.data[kind])
        end
      end
      return kept
    end)
    local code = cell.cell_type == "code"
    return { cell_type = code and "code" or "markdown", id = cell.id, source = quiet(cell.source), metadata = {},
      outputs = code and outputs or nil, execution_count = code and 1 or nil }
  end)
  return { cells = cells, nbformat = 4, nbformat_minor = 5,
    metadata = { kernelspec = { name = "python3", language = "python", display_name = "Python 3" } } }
end

local function lines(text)           -- as Quarto reads a notebook's texts
  local found = {}
  for line in text:gmatch("[^\n]*\n?") do
    if line ~= "" then found[#found + 1] = line end
  end
  return found
end

local WORDS = { sec = "another section", fig = "a figure", tbl = "a table", eq = "an equation" }

local function settle(text, known)  -- references to what is not there become words
  return (text:gsub("()@(%l+)(%-[%w_-]*%w)", function(at, kind, rest)
    local words = not known[kind .. rest] and WORDS[kind]
    local before = text:sub(1, at - 1):gsub("<[^<>]*>$", "")   -- a mark around the sentence
    local begins = before == "" or before:match("[\n.?!]%s*$")
    return words and (begins and words:gsub("^%l", string.upper) or words) or nil
  end))
end

local function settled(books)       -- a figure or a table is there where its cell shows something
  local known = {}
  for _, book in ipairs(books) do
    for _, cell in ipairs(book.cells) do
      local label = cell.source:match("#| *label: *(%l+%-[%w_-]+)")
      if label and #cell.outputs > 0 then known[label] = true end
      for heading in cell.source:gmatch("{#(%l+%-[%w_-]+)") do known[heading] = true end
    end
  end
  for _, book in ipairs(books) do
    for _, cell in ipairs(book.cells) do
      cell.source = lines(cell.cell_type == "markdown" and settle(cell.source, known) or cell.source)
      for _, out in ipairs(cell.outputs or {}) do
        out.text = out.text and lines(out.text)
        for kind, text in pairs(out.data or {}) do
          out.data[kind] = lines(kind == "text/markdown" and settle(text, known) or text)
        end
      end
    end
  end
end

local function chapters(...)        -- names of the copies of the notebooks in folders; the first folder that has one counts
  local books, found = pandoc.List {}, pandoc.List {}
  for _, name in ipairs(names(select(-1, ...), NOTEBOOK)) do
    local book
    for _, folder in ipairs { ... } do book = book or decoded(read(folder .. "/" .. name)) end
    local whole, made = pcall(bare, book)
    if whole then
      books:insert(made)
      found:insert(COPIES .. "/" .. name)
    end
  end
  settled(books)
  pandoc.system.make_directory(COPIES, true)
  for n, book in ipairs(books) do write(found[n], pandoc.json.encode(book)) end
  return found
end

function Pandoc()
  local folder, name = latest()     -- a report has pictures of the figures
  local part = { part = name and "Campaign " .. name or "Notebooks, not executed",
    chapters = folder and chapters(folder .. "/report", folder .. "/notebooks") or chapters("notebooks") }
  write("_quarto.yml.local", pandoc.json.encode { book = { chapters = { part } } } .. "\n")
end
