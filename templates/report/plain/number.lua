-- Numbers of chapters, sections, figures, tables and equations, and the references to them.
-- Runs before citeproc: "@fig-a" must no longer look like a citation by then.
local html                          -- target format
local names = { fig = "Figure", tbl = "Table", eq = "Equation", sec = "Section" }
local chapters = { ch = "Chapter", apx = "Appendix" }
local refs = {}                     -- label -> text of a reference
local chapter, appendix, count, sections = 0, false, {}, { 0, 0 }

local met, here = {}, {}            -- identifiers of headings: of the book, and of this chapter

local function letters(text) return (text:lower():gsub("[^%w]", "")) end

local function named(h)             -- pandoc counts equal headings over the whole book; a page keeps its own, whatever precedes it
  local base = h.identifier:match("^(.+)%-%d+$")
  if html and base and met[base] and letters(pandoc.utils.stringify(h.content)):sub(-#letters(base)) == letters(base) then
    local n = here[base]
    here[base] = (n or 0) + 1
    h.identifier = n and base .. "-" .. n or base
  else
    met[h.identifier], here[h.identifier] = true, 1
  end
end

local function mark() return appendix and string.char(64 + chapter) or tostring(chapter) end

local function number(label, kind)
  count[kind] = (count[kind] or 0) + 1
  local n = (chapter > 0 and mark() .. "." or "") .. count[kind]
  refs[label] = names[kind] .. "\u{a0}" .. n
  return n
end

local function captioned(label, blocks)
  local words = blocks and blocks[1] and blocks[1].content or pandoc.Inlines {}
  return { long = { pandoc.Plain(pandoc.Inlines { pandoc.Str(refs[label] .. ":"), pandoc.Space() } .. words) } }
end

local function header(h)
  named(h)
  if h.classes:includes("unnumbered") then return h end
  local n
  if h.level == 1 then
    chapter, count, sections = chapter + 1, {}, { 0, 0 }
    n = mark()
    refs[h.identifier] = chapters[appendix and "apx" or "ch"] .. "\u{a0}" .. n
  elseif h.level <= 3 and chapter > 0 then
    local i = h.level - 1
    sections[i] = sections[i] + 1
    if i == 1 then sections[2] = 0 end
    n = mark() .. "." .. table.concat(sections, ".", 1, i)
    refs[h.identifier] = names.sec .. "\u{a0}" .. n
  else
    return h
  end
  h.content = pandoc.Inlines { pandoc.Span({ pandoc.Str(n) }, { class = "number" }), pandoc.Space() } .. h.content
  return h
end

local function html_tables(block)   -- of pandas, as the table it stands for
  if block.text:find("<table", 1, true) then return pandoc.read(block.text:gsub("<style.-</style>", ""), "html").blocks end
end

local function cell(div)            -- its code, and below it its outputs, as a figure or table where it has such a label
  local label, kind = div.identifier, div.identifier:match("^(%a+)%-")
  local code, shown, caption = pandoc.Blocks {}, pandoc.Blocks {}, nil
  for _, b in ipairs(div.content) do
    if b.t == "CodeBlock" then code:insert(b)
    elseif b.classes and b.classes:includes("caption") then caption = b.content
    else shown:extend(b.content) end
  end
  if kind ~= "fig" then shown = shown:walk { RawBlock = html_tables } end
  if kind == "tbl" then
    shown = shown:walk { Table = function(t)
      if not refs[label] then number(label, kind) end
      t.attr, t.caption = pandoc.Attr(label), captioned(label, caption)
      return t
    end }
  end
  if (kind == "fig" or kind == "tbl") and not refs[label] then -- a figure, or words in a table's place
    number(label, kind)
    local class = kind == "fig" and table.concat(div.classes, " ") or nil
    shown = pandoc.Blocks { pandoc.Figure(shown, captioned(label, caption), { id = label, class = class }) }
  end
  return code .. shown
end

local function numbered(math, label)
  local n = number(label, "eq")
  if html then
    return pandoc.Span({ math, pandoc.Span({ pandoc.Str("(" .. n .. ")") }, { class = "number" }) }, { id = label, class = "equation" })
  end
  local text = pandoc.write(pandoc.Pandoc { pandoc.Plain { math } }, "typst"):gsub("%s+$", "")
  return pandoc.Span { pandoc.RawInline("typst", "#math.equation(block: true, numbering: _ => [(" .. n .. ")], " .. text .. ") <" .. label .. ">") }
end

local function equation(p)          -- $$...$$ {#eq-x}
  local out = pandoc.Inlines {}
  for _, x in ipairs(p.content) do
    local label = x.t == "Str" and x.text:match("^{#(eq%-[%w_-]+)}$")
    if label and #out > 0 then
      while #out > 1 and out[#out].t ~= "Math" do out:remove() end
      out[#out] = numbered(out[#out], label)
    else
      out:insert(x)
    end
  end
  p.content = out
  return p
end

local assign = {
  traverse = "topdown",
  Header = header,
  Para = equation,
  Table = function(t)
    local label = t.attr.identifier
    if label:match("^tbl%-") and not refs[label] then
      number(label, "tbl")
      t.caption = captioned(label, t.caption.long)
      return t, false
    end
  end,
  Div = function(d)
    if d.classes:includes("cell") then return cell(d), false end
  end,
  Figure = function(f)              -- ![caption](x.svg){#fig-x}
    if f.identifier:match("^fig%-") and not refs[f.identifier] then
      number(f.identifier, "fig")
      f.caption = captioned(f.identifier, f.caption.long)
      return f
    end
  end,
}

local resolve = {
  traverse = "topdown",
  Cite = function(c)
    local out, papers = pandoc.Inlines {}, pandoc.List {}
    for _, x in ipairs(c.citations) do
      if names[x.id:match("^(%a+)%-")] then
        if not refs[x.id] then error("nothing is numbered " .. x.id) end
        if #out > 0 then out:extend { pandoc.Str ",", pandoc.Space() } end
        local text = x.mode == "SuppressAuthor" and refs[x.id]:gsub("^.*\u{a0}", "") or refs[x.id]
        out:insert(pandoc.Link(text, "#" .. x.id, "", { class = "ref" }))
      else
        papers:insert(x)
      end
    end
    if #out == 0 then return nil end
    if #papers > 0 then out:extend { pandoc.Space(), pandoc.Cite({}, papers) } end
    return out, false
  end,
}

function Pandoc(doc)
  html = pandoc.utils.stringify(doc.meta.target) == "html"
  for _, words in ipairs { names, chapters } do -- those that the settings give in another language
    for name in pairs(words) do
      local word = doc.meta["crossref-" .. name .. "-title"] or doc.meta["crossref-" .. name .. "-prefix"]
      if word then words[name] = pandoc.utils.stringify(word) end
    end
  end
  local blocks = pandoc.Blocks {}
  for _, item in ipairs(doc.blocks) do
    if item.attributes.kind == "appendix" and not appendix then appendix, chapter = true, 0 end
    if item.attributes.kind ~= "chapter" then count = {} end
    here = {}
    blocks:insert(item:walk(assign))
  end
  doc.blocks = blocks
  return doc:walk(resolve)
end
