-- The index of the search box, for both engines: a script, since a page that is opened from disk may read no other file.
-- A row is a section, a figure or a table: number of its page, id, title, text.
local function squeezed(text) return (text:gsub("\u{a0}", " "):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) end

local function words(blocks)        -- of paragraphs, cells and code, with spaces in between
  local found = {}
  local function note(x) found[#found + 1] = x.text or pandoc.utils.stringify(x) end
  pandoc.Blocks(blocks):walk { Plain = note, Para = note, Header = note, CodeBlock = note }
  return table.concat(found, " ")
end

local function label(div) return div.identifier:match("^fig%-") or div.identifier:match("^tbl%-") end

local function float(rows, page, id, caption, body)
  local title, text = words(caption):match("^(.-):%s+(.*)$")
  rows[#rows + 1] = { page, id, squeezed(title or ""), squeezed((text or words(caption)) .. " " .. body) }
end

local function cells(t)
  local rows = pandoc.Blocks {}
  local function add(list) for _, row in ipairs(list) do for _, cell in ipairs(row.cells) do rows:extend(cell.contents) end end end
  add(t.head.rows)
  for _, body in ipairs(t.bodies) do add(body.body) end
  return words(rows)
end

local function collect(blocks, rows, page, row, id)
  for _, b in ipairs(blocks) do
    local own = b.identifier and b.identifier ~= "" and b.identifier or id
    if b.t == "Header" then
      if row[3] == "" then row[3] = squeezed(pandoc.utils.stringify(b)) end
    elseif b.t == "Div" and b.classes:includes("section") then
      local inner = { page, b.identifier, "", "" }
      rows[#rows + 1] = inner
      collect(b.content, rows, page, inner)
    elseif b.t == "Figure" and own then
      float(rows, page, own, b.caption.long, words(b.content))
    elseif b.t == "Table" and own then
      float(rows, page, own, b.caption.long, cells(b))
    elseif b.t == "Div" then
      collect(b.content, rows, page, row, label(b) and b.identifier)
    else
      row[4] = squeezed(row[4] .. " " .. words({ b }))
    end
  end
end

return function(pages)              -- the script, from pages with url and blocks
  local names, rows = {}, {}
  for n, page in ipairs(pages) do
    local top = { n - 1, "", "", "" }
    local first = #rows + 1
    rows[first] = top
    collect(page.blocks, rows, n - 1, top)
    local title = top[3] ~= "" and top or rows[first + 1]
    names[n] = { page.url, title and title[3] or page.url }
    if top[3] == "" and top[4] == "" then table.remove(rows, first) end
  end
  return "globalThis.labkitIndex = " .. pandoc.json.encode({ pages = names, rows = rows }) .. ";\n"
end
