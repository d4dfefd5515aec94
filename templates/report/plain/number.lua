-- Numbers of chapters, sections, figures, tables and equations, and the references to them.
-- Runs before citeproc: "@fig-a" must no longer look like a citation by then.
local html                          -- target format
local names = { fig = "Figure", tbl = "Table", eq = "Equation", sec = "Section" }
local chapters = { chapter = "Chapter", appendix = "Appendix" }
local refs = {}                     -- label -> text of a reference
local chapter, appendix, count, sections = 0, false, {}, { 0, 0 }

local function mark() return appendix and string.char(64 + chapter) or tostring(chapter) end

local function number(label, kind)
  count[kind] = (count[kind] or 0) + 1
  local n = (chapter > 0 and mark() .. "." or "") .. count[kind]
  refs[label] = names[kind] .. "\u{a0}" .. n
  return n
end

local function captioned(label, blocks)
  local words = blocks and blocks[1] and blocks[1].content or pandoc.Inlines {}
  return { long = { pandoc.Plain(pandoc.Inlines { pandoc.Strong { pandoc.Str(refs[label] .. ":") }, pandoc.Space() } .. words) } }
end

local function raw(text) return pandoc.RawBlock("typst", text) end

local function header(h)
  if h.classes:includes("unnumbered") then return h end
  local n
  if h.level == 1 then
    chapter, count, sections = chapter + 1, {}, { 0, 0 }
    n = mark()
    refs[h.identifier] = (appendix and chapters.appendix or chapters.chapter) .. "\u{a0}" .. n
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

local function parts(div)           -- code, outputs and caption of a cell
  local code, outs, caption = pandoc.Blocks {}, {}, nil
  for _, b in ipairs(div.content) do
    if b.t == "CodeBlock" then code:insert(b)
    elseif b.classes and b.classes:includes("caption") then caption = b.content
    elseif b.classes and b.classes:includes("output") then outs[#outs + 1] = b
    else outs[#outs + 1] = pandoc.Div { b } end
  end
  return code, outs, caption
end

local function side_by_side(blocks, columns)
  if html then
    local style = "grid-template-columns:repeat(" .. columns .. ",minmax(0,1fr))"
    return pandoc.Blocks { pandoc.Div(blocks, { class = "subfigures", style = style }) }
  end
  local grid = pandoc.Blocks { raw("#grid(columns: " .. columns .. ", column-gutter: 8pt, ") }
  for _, b in ipairs(blocks) do grid:extend { raw("["), b, raw("],") } end
  grid:insert(raw(")"))
  return grid
end

local function figure(div, label, outs, caption)
  number(label, "fig")
  local body = pandoc.Blocks {}
  for i, out in ipairs(outs) do
    local _, inner, sub = parts(out)
    local content = pandoc.Blocks {}
    for _, x in ipairs(inner) do content:extend(x.content) end
    if sub then
      local words = pandoc.Inlines { pandoc.Str("(" .. string.char(96 + i) .. ")"), pandoc.Space() } .. sub[1].content
      content = pandoc.Blocks { pandoc.Figure(content, { long = { pandoc.Plain(words) } }) }
    end
    body:extend(content)
  end
  local columns = tonumber(div.attributes.ncol) or 1
  if #outs > 1 and columns > 1 then body = side_by_side(body, columns) end
  return pandoc.Figure(body, captioned(label, caption), { id = label, class = table.concat(div.classes, " ") })
end

local function html_tables(block)   -- of pandas, as the table it stands for
  return pandoc.read(block.text:gsub("<style.-</style>", ""), "html").blocks
end

local function cell(div)
  local label, kind = div.identifier, div.identifier:match("^(%a+)%-")
  local blocks, outs, caption = parts(div)
  if kind == "fig" then
    blocks:insert(figure(div, label, outs, caption))
    return blocks
  end
  local shown = pandoc.Blocks {}
  for _, out in ipairs(outs) do
    for _, b in ipairs(out.content) do
      local inner = b.t == "RawBlock" and b.text:find("<table", 1, true) and html_tables(b) or pandoc.Blocks { b }
      if kind == "tbl" then
        inner = inner:walk { Table = function(t)
          if not refs[label] then number(label, kind) end
          t.attr = pandoc.Attr(label)
          t.caption = captioned(label, caption)
          return t
        end }
      end
      shown:extend(inner)
    end
  end
  if kind == "tbl" and not refs[label] then  -- words in a table's place
    number(label, kind)
    shown = pandoc.Blocks { pandoc.Figure(shown, captioned(label, caption), { id = label }) }
  end
  blocks:extend(shown)
  return blocks
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
    if d.classes:includes("panel-tabset") then
      d.content = d.content:map(function(b) if b.t == "Header" then b.classes:insert("tab") end return b end)
      return d, false
    end
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
      local word = doc.meta["word-" .. name]
      if word then words[name] = pandoc.utils.stringify(word) end
    end
  end
  local blocks = pandoc.Blocks {}
  for _, item in ipairs(doc.blocks) do
    if item.attributes.kind == "appendix" and not appendix then appendix, chapter = true, 0 end
    if item.attributes.kind ~= "chapter" then count = {} end
    blocks:insert(item:walk(assign))
  end
  doc.blocks = blocks
  return doc:walk(resolve)
end
