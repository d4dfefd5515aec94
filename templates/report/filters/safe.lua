-- First of all filters, in both engines: what chapters hold may come from anyone.
-- Raw parts stay only where labkit wrote them; it begins them with a seal that follows from all the chapters hold, so that
-- none of them can hold it. Attributes that a page or typst would act on go. Links lead to pages, mail or within the book;
-- pictures come from the book's own folder.
local seal

local ACTING = { style = true, src = true, srcdoc = true, href = true, action = true, formaction = true, background = true,
  poster = true, data = true, xmlns = true, ping = true, target = true, include = true }

local function attributes(x)
  local kept = {}
  for key, value in pairs(x.attributes) do
    local name = key:lower()
    if not (name:match("^on") or name:find(":", 1, true) or ACTING[name]) then kept[key] = value end
  end
  x.attributes = kept
  return x
end

local function mark(x)              -- Quarto's own, where a chapter begins; none that names a folder
  local code = quarto and x.text:match("^<!%-%- quarto%-file%-metadata: ([%w+/=]+) %-%->$")
  local whole, facts = pcall(function() return quarto.json.decode(quarto.base64.decode(code)) end)
  if not code or not whole or type(facts) ~= "table" then return false end
  return facts.resourceDir == "." and facts.include_directory == nil
end

local function raw(x)
  if x.format:match("^typst") then return x.text:match("^%s*#pagebreak%(%)%s*$") and x or {} end
  if seal and x.text:sub(1, #seal) == seal then
    x.text = x.text:sub(#seal + 1)
    return x
  end
  if mark(x) or x.text:match('^Str "[%w./_-]+"$') then return x end -- a word: a path to one of Quarto's scripts
  if x.format:match("^html") or x.format:match("tex$") or x.format:match("xml$") or x.format:match("^pandoc") then return {} end
end

local function decoded(text)        -- as a browser reads an address
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end):gsub("[%c%s]", ""))
end

local function own(target)          -- whether an address stays below the book's folder
  local text = decoded(target)
  return not (text:match("^[%a][%w+.-]*:") or text:match("^[/\\]") or text:find("..", 1, true) or text:find("\\", 1, true))
end

local function link(x)
  local text = decoded(x.target):lower()
  if text:match("^https?://") or text:match("^mailto:") or own(x.target) then return attributes(x) end
  return pandoc.Span(x.content)
end

local function image(x)
  if own(x.src) then return attributes(x) end
  return pandoc.Span(x.caption)
end

local function block(x)
  attributes(x)
  local title = x.attributes.title  -- read as Markdown later, by both engines
  if title then x.attributes.title = title:gsub("[<%[{]", { ["<"] = "&lt;", ["["] = "\\[", ["{"] = "\\{" }) end
  return x
end

local safe = { RawBlock = raw, RawInline = raw, Link = link, Image = image, Div = block, Span = attributes, Header = attributes,
  CodeBlock = attributes, Code = attributes, Table = attributes, Figure = attributes }

function Pandoc(doc)
  local said = doc.meta["labkit-seal"]
  seal = said and "<!--" .. pandoc.utils.stringify(said) .. "-->"
  doc.meta["labkit-seal"] = nil
  return doc:walk(safe)
end
