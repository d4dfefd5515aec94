-- In the PDF, a page break cuts no row of a table and leaves no single row behind: a last column without width has cells
-- over the first two rows and over the last two, which may not be broken. Rows that may be long stay as they are. A table
-- of a few rows stays whole: one cell goes over all its rows.
-- Two small figures that follow one another share a row; a paragraph between them goes before both.
-- Paragraphs of a part of the class "fine" stand in two columns of small print.
-- A part of the class "contents" is the table of contents; the figures of a part of the class "here" stay in their place.
-- Signs that typst would join stay as they are: "--launches" begins with no dash. Only pandoc 3.9 and later escapes some of them.
local LINE = 100                    -- characters of a table's text that fit on a line of the page
local MOST = 25                     -- lines of a row that is kept together
local PADDING, LEADING = 8, 11      -- pt around the lines of a row, and of a line
local SMALL = 185                   -- pt of a table that stays whole: a quarter of a page

local function tie(rows, kept)      -- a cell over some rows
  local attributes = { ["typst:inset"] = "0pt", ["typst:stroke"] = "none" }
  if kept then attributes["typst:breakable"] = "false" end
  return pandoc.Cell({}, pandoc.AlignDefault, rows, 1, pandoc.Attr("", {}, attributes))
end

local function lines(row, colspecs) -- of the page that a row takes, about
  local most = 1
  for i, cell in ipairs(row.cells) do
    local share = math.max(colspecs[i] and colspecs[i][2] or 1, 0.05)
    most = math.max(most, pandoc.text.len(pandoc.utils.stringify(cell.contents)) / (LINE * share))
  end
  return most
end

local function spans(row)
  for _, cell in ipairs(row.cells) do
    if cell.row_span > 1 or cell.col_span > 1 then return true end
  end
  return false
end

local function height(rows, colspecs) -- of the rows on the page, about, pt
  local sum = 0
  for _, row in ipairs(rows) do sum = sum + PADDING + LEADING * math.ceil(lines(row, colspecs)) end
  return sum
end

local function lengths(count, whole) -- of the ties of a table with so many rows; one if it stays whole
  if count < 4 or whole then return { count } end
  local tied = { 2 }
  for _ = 3, count - 2 do tied[#tied + 1] = 1 end
  tied[#tied + 1] = 2
  return tied
end

function Table(t)
  local body = t.bodies[1]
  if not FORMAT:match("typst") or #t.bodies ~= 1 or #body.body == 0 or #body.head > 0 or #t.foot.rows > 0 then return nil end
  for _, row in ipairs(body.body) do
    if spans(row) then return nil end
  end
  for _, row in ipairs(t.head.rows) do row.cells:insert(tie(1, false)) end
  local first = 1
  for _, length in ipairs(lengths(#body.body, height(body.body, t.colspecs) <= SMALL)) do
    local most = 0
    for i = first, first + length - 1 do most = math.max(most, lines(body.body[i], t.colspecs)) end
    body.body[first].cells:insert(tie(length, most <= MOST))
    first = first + length
  end
  local width = t.colspecs[1][2] and 0.0 or nil
  t.colspecs:insert({ pandoc.AlignLeft, width })
  return t
end

local function is_half(b)           -- the cell of a small figure in Quarto, or the figure in the plain engine
  return b and (b.t == "Figure" or b.t == "Div") and b.classes:includes("half")
end

function Blocks(blocks)
  if not FORMAT:match("typst") then return nil end
  local function raw(text) return pandoc.RawBlock("typst", text) end
  local out, i = pandoc.Blocks {}, 1
  while i <= #blocks do
    local between = blocks[i + 1] and blocks[i + 1].t == "Para" and is_half(blocks[i + 2]) and blocks[i + 1]
    local second = blocks[i + (between and 2 or 1)]
    if is_half(blocks[i]) and is_half(second) then
      if between then out:insert(between) end
      out:extend { raw("#pair(["), blocks[i], raw("], ["), second, raw("])") }
      i = i + (between and 3 or 2)
    else
      out:insert(blocks[i])
      i = i + 1
    end
  end
  return out
end

function Div(d)
  if FORMAT:match("typst") and d.classes:includes("contents") then return pandoc.RawBlock("typst", "#contents()") end
  if FORMAT:match("typst") and d.classes:includes("here") then
    return pandoc.Blocks { pandoc.RawBlock("typst", "#here[") } .. d.content .. { pandoc.RawBlock("typst", "]") }
  end
  if not (FORMAT:match("typst") and d.classes:includes("fine")) then return nil end
  local parts = pandoc.Blocks { pandoc.RawBlock("typst", "#fine(") }
  for _, block in ipairs(d.content) do
    parts:extend { pandoc.RawBlock("typst", "["), block, pandoc.RawBlock("typst", "],") }
  end
  parts:insert(pandoc.RawBlock("typst", ")"))
  return parts
end

function Str(s)
  if not FORMAT:match("typst") then return nil end
  local parts, from = pandoc.Inlines {}, 1
  for at, sign in s.text:gmatch("()([-.])") do
    local run = s.text:match(sign == "-" and "^%-[-?]+" or "^%.%.%.+", at)
    if run and at >= from then
      parts:extend { pandoc.Str(s.text:sub(from, at - 1)), pandoc.RawInline("typst", (run:gsub("%p", "\\%0"))) }
      from = at + #run
    end
  end
  if from == 1 then return nil end
  parts:insert(pandoc.Str(s.text:sub(from)))
  return parts
end
