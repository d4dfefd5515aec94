-- What the numbered book looks like in the target format: callouts, folded code, what only one format shows.
-- Runs after citeproc.
local html
local named = {}                    -- titles of callouts in the language of the report

local function raw(text) return pandoc.RawBlock(html and "html" or "typst", text) end

local function words(text) return pandoc.utils.blocks_to_inlines(pandoc.read(text, "markdown-raw_html-raw_attribute-raw_tex-yaml_metadata_block").blocks) end

local function callout(d)
  local kind
  for _, c in ipairs(d.classes) do kind = kind or c:match("^callout%-(%a+)$") end
  if not kind then return nil end
  local title = d.attributes.title and words(d.attributes.title)
  if not title and d.content[1] and d.content[1].t == "Header" then title = d.content:remove(1).content end
  title = pandoc.Plain(title or { pandoc.Str(named[kind] or (kind:gsub("^%l", string.upper))) })
  if not html then
    local open = pandoc.Blocks { raw('#callout(kind: "' .. kind .. '", title: ['), title, raw("])[") }
    return open .. d.content .. { raw("]") }
  end
  local body = pandoc.Div(d.content, { class = "body" })
  if d.attributes.collapse == "true" then
    return { raw('<details class="callout ' .. kind .. '"><summary>'), title, raw("</summary>"), body, raw("</details>") }
  end
  return pandoc.Div({ pandoc.Div({ title }, { class = "head" }), body }, { class = "callout " .. kind })
end

local function hidden(d)            -- content-visible when-format=…, unless-format=…
  local when, unless = d.attributes["when-format"], d.attributes["unless-format"]
  return when and (when == "html") ~= html or unless and (unless == "html") == html
end

local format = {
  traverse = "topdown",
  Link = function(l)                -- chapter.qmd#label
    local anchor = l.target:match("^[%w/_.-]+%.qmd#(.+)$") or l.target:match("^[%w/_.-]+%.ipynb#(.+)$")
    if anchor then l.target = "#" .. anchor; return l end
  end,
  CodeBlock = function(c)
    if not c.classes:includes("cell-code") then return nil end
    if not html then return {} end
    c.classes = c.classes:filter(function(x) return x ~= "cell-code" end)
    return { raw '<details class="code"><summary>Code</summary>', c, raw "</details>" }, false
  end,
  Image = function(i)
    i.attributes.alt, i.attributes["fig-alt"] = i.attributes["fig-alt"] or pandoc.utils.stringify(i.caption), nil
    if html then return i.classes:includes("static") and {} or i end
    local alt = i.attributes.alt:gsub('[\\"]', "\\%0")
    return pandoc.RawInline("typst", '#box(image("' .. i.src .. '", alt: "' .. alt .. '"))')
  end,
  Div = function(d)
    if hidden(d) then return {} end
    return callout(d)
  end,
}

function Pandoc(doc)
  html = pandoc.utils.stringify(doc.meta.target) == "html"
  local front = doc.meta.front and pandoc.json.decode(pandoc.utils.stringify(doc.meta.front), false) or {}
  for key, value in pairs(front) do doc.meta[key] = value end
  for key, value in pairs(doc.meta) do
    local kind = key:match("^callout%-(%l+)%-title$")
    if kind then named[kind] = pandoc.utils.stringify(value) end
  end
  doc = doc:walk(format)
  -- the chapters of a PDF simply follow one another
  return html and doc or doc:walk { Div = function(d) if d.classes:includes("item") then return d.content end end }
end
