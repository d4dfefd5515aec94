-- In both engines, the first use of each term of the glossary in a chapter is a link to its row in the table of terms; not
-- in code, headings, tables and captions. labkit writes the terms to terms.json where the report has that table.
local terms, home, most = {}, "", 1 -- term -> name of its row; the chapter with the table; words of the longest term

local function read()
  local handle = io.open("terms.json")
  if not handle then return end
  local known = pandoc.json.decode(handle:read("a"), false)
  handle:close()
  terms, home = known.terms, known.home
  for term in pairs(terms) do most = math.max(most, select(2, term:gsub(" ", "")) + 1) end
end

local function row(word)            -- of a term, also in the plural
  local text = word:lower()
  return terms[text] or terms[text:match("^(.+)s$") or ""] or terms[text:match("^(.+)es$") or ""]
end

local function parts(list, at, count) -- what stands before, in and after some words; nothing if they are no words
  local words = {}
  for n = 0, count - 1 do
    local word, gap = list[at + 2 * n], list[at + 2 * n - 1]
    if not word or word.t ~= "Str" or n > 0 and gap.t ~= "Space" and gap.t ~= "SoftBreak" then return nil end
    words[#words + 1] = word.text
  end
  return table.concat(words, " "):match("^(%(*)([%a][%a ]*)([.,;:!?)]*)$")
end

local function link(text, name)
  if FORMAT:match("typst") then     -- Quarto may set each chapter alone, where the row is not known
    return quarto and { pandoc.Str(text) } or { pandoc.RawInline("typst", "#term(<" .. name .. ">)["), pandoc.Str(text), pandoc.RawInline("typst", "]") }
  end
  return { pandoc.Link(text, (quarto and home or "") .. "#" .. name, "", { class = "term" }) }
end

local function linked(blocks)       -- a chapter
  local met = {}
  local function leave(x) return x, false end
  return blocks:walk {
    traverse = "topdown",
    Header = leave, Table = leave, Figure = leave, CodeBlock = leave, Link = leave, Cite = leave, LineBlock = leave,
    Div = function(d)
      local aside = d.identifier:match("^fig%-") or d.identifier:match("^tbl%-") or d.classes:includes("caption") or d.classes:includes("fine")
      local float = d.attributes.__quarto_custom_type == "FloatRefTarget"                -- Quarto's form of a figure or table
      if aside or float or d.classes:includes("hidden") then return d, false end         -- hidden: Quarto's texts for navigation
    end,
    Inlines = function(list)
      local out, at = pandoc.Inlines {}, 1
      while at <= #list do
        local done
        for count = most, 1, -1 do
          local before, text, after = parts(list, at, count)
          local name = text and row(text)
          if name and not met[name] then
            met[name], done = true, 2 * count - 1
            if before ~= "" then out:insert(pandoc.Str(before)) end
            out:extend(link(text, name))
            if after ~= "" then out:insert(pandoc.Str(after)) end
            break
          end
        end
        if not done then out:insert(list[at]) end
        at = at + (done or 1)
      end
      return out
    end,
  }
end

function Pandoc(doc)
  read()
  if next(terms) == nil then return nil end
  local whole = doc.blocks:find_if(function(b) return b.t == "Div" and b.classes:includes("item") end)
  if not whole then
    doc.blocks = linked(doc.blocks)
    return doc
  end
  doc.blocks = doc.blocks:map(function(item)
    if item.t == "Div" then item.content = linked(item.content) end
    return item
  end)
  return doc
end
