-- Columns of wide tables: no word is cut but one that would fill the line, and what room is left goes to the longer
-- texts. Words that may be cut get the class "long".
-- pandoc gives a long table's columns the widths of the dashes in its source, whatever the cells hold.
local LINE = 100                    -- characters of a table's text that fit on a line of the page
local GAP = 2                       -- of them, between columns

local ZERO = "\u{200b}"             -- a place for a line break without width
local LONG = 32                     -- characters of a word that may be cut
local CUT = 24                      -- of its longest piece

local function lengths(cell)        -- longest word, whole text
  local text, word = pandoc.utils.stringify(cell.contents):gsub(ZERO, " "), 0
  for w in text:gmatch("%S+") do
    local n = pandoc.text.len(w)
    word = math.max(word, n >= LONG and CUT or n)
  end
  return word, pandoc.text.len(text)
end

local function measure(t)
  local words, texts = {}, {}
  local rows = t.head.rows:clone()  -- or the rows of the body would be added to the head
  for _, body in ipairs(t.bodies) do rows:extend(body.body) end
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row.cells) do
      local word, text = lengths(cell)
      words[i] = math.max(words[i] or 0, word + GAP)
      texts[i] = math.max(texts[i] or 0, text + GAP)
    end
  end
  return words, texts
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
  local words, texts = measure(t)
  local narrow, wide = sums(t, words, texts)
  for _, loosened in ipairs(FORMAT:match("typst") and loosen or {}) do
    if narrow <= LINE then break end
    t = t:walk { Str = loosened }
    words, texts = measure(t)
    narrow, wide = sums(t, words, texts)
  end
  local room = math.max(LINE - narrow, 0)
  t.colspecs = t.colspecs:map(function(spec, i)
    if wide <= LINE then return { spec[1], nil } end
    local word, text = words[i] or GAP, texts[i] or GAP
    return { spec[1], (word + room * (text - word) / math.max(wide - narrow, 1)) / math.max(narrow, LINE) }
  end)
  return t
end
