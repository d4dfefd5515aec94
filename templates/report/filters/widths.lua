-- Columns of wide tables: no word is cut but one that would fill the line, or where the table gets much shorter, and what
-- room is left goes where it saves most lines. Words that may be cut get the class "long".
-- pandoc gives a long table's columns the widths of the dashes in its source, whatever the cells hold.
local LINE = 100                    -- characters of a table's text that fit on a line of the page
local GAP = 2                       -- of them, between columns

local ZERO = "\u{200b}"             -- a place for a line break without width
local LONG = 32                     -- characters of a word that may be cut
local CUT = 24                      -- of its longest piece
local SOME = 40                     -- rows that decide, at most
local WORTH = 0.92                  -- of the lines of a table, below which words in it are broken

local function lengths(cell)        -- longest word, whole text
  local text, word = pandoc.utils.stringify(cell.contents):gsub(ZERO, " "), 0
  for w in text:gmatch("%S+") do
    local n = pandoc.text.len(w)
    word = math.max(word, n >= LONG and CUT or n)
  end
  return word, pandoc.text.len(text)
end

local function measure(t)           -- longest word and text of each column, and the texts of some rows
  local words, texts, some = {}, {}, {}
  local rows = t.head.rows:clone()  -- or the rows of the body would be added to the head
  for _, body in ipairs(t.bodies) do rows:extend(body.body) end
  local step = math.ceil(#rows / SOME)
  for k, row in ipairs(rows) do
    local lengths_of = {}
    for i, cell in ipairs(row.cells) do
      local word, text = lengths(cell)
      words[i] = math.max(words[i] or 0, word + GAP)
      texts[i] = math.max(texts[i] or 0, text + GAP)
      lengths_of[i] = text + GAP
    end
    if k % step == 0 then some[#some + 1] = lengths_of end
  end
  return words, texts, some
end

local function shared(words, rows, room)  -- widths of columns, and the lines that the rows take then
  local widths, total = table.move(words, 1, #words, 1, {}), 0
  local function highest(row)       -- the column whose text takes most lines
    local most, column = 0, 1
    for i, text in ipairs(row) do
      local lines = text / widths[i]
      if lines > most then most, column = lines, i end
    end
    return most, column
  end
  for _ = 1, room do                -- a character for the column that saves most lines
    local gains = {}
    for _, row in ipairs(rows) do
      local lines, i = highest(row)
      if lines > 1 then gains[i] = (gains[i] or 0) + lines / widths[i] end
    end
    local best
    for i, gain in pairs(gains) do
      if not best or gain > gains[best] or gain == gains[best] and i < best then best = i end
    end
    if not best then break end
    widths[best] = widths[best] + 1
  end
  for _, row in ipairs(rows) do total = total + math.max(1, (highest(row))) end
  return widths, total
end

local function breakable(x)
  if pandoc.text.len(x.text) >= LONG then return pandoc.Span({ x }, { class = "long" }) end
end

-- places for line breaks, in a table that is too wide for the page: first in long words, then in intervals
local loosen = {
  function(s)
    if pandoc.text.len(s.text) >= CUT / 2 then s.text = s.text:gsub("([=,/_:-])(%a)", "%1" .. ZERO .. "%2") return s end
  end,
  function(s)
    s.text = s.text:gsub("\u{a0}to\u{a0}", " to\u{a0}")
    return s
  end,
}

local function sums(t, words, texts)
  local narrow, wide = 0, 0
  for i in ipairs(t.colspecs) do
    narrow, wide = narrow + (words[i] or GAP), wide + (texts[i] or GAP)
  end
  return narrow, wide
end

function Table(t)
  t = t:walk { Str = breakable, Code = breakable }
  local relative = false
  for _, spec in ipairs(t.colspecs) do relative = relative or spec[2] ~= nil end
  if not relative then return t end
  local words, texts, rows = measure(t)
  local narrow, wide = sums(t, words, texts)
  local widths, lines = shared(words, rows, math.max(LINE - narrow, 0))
  for k, loosened in ipairs(FORMAT:match("typst") and wide > LINE and loosen or {}) do
    if k > 1 and narrow <= LINE then break end
    local looser = t:walk { Str = loosened }
    local its_words, its_texts, its_rows = measure(looser)
    local its_narrow = sums(looser, its_words, its_texts)
    local its_widths, its_lines = shared(its_words, its_rows, math.max(LINE - its_narrow, 0))
    if narrow > LINE or its_lines < WORTH * lines then
      t, widths, lines, narrow = looser, its_widths, its_lines, its_narrow
    end
  end
  local total = 0
  for _, width in ipairs(widths) do total = total + width end
  t.colspecs = t.colspecs:map(function(spec, i)
    return { spec[1], wide > LINE and (widths[i] or GAP) / math.max(total, LINE) or nil }
  end)
  return t
end
