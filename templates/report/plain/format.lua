-- What the numbered book looks like in the target format: callouts, tabs, folded code, pages on their side.
-- Runs after citeproc.
local html

local function raw(text) return pandoc.RawBlock(html and "html" or "typst", text) end

local function words(text) return pandoc.utils.blocks_to_inlines(pandoc.read(text, "markdown-raw_html-raw_attribute-raw_tex-yaml_metadata_block").blocks) end

local function callout(d)
  local kind
  for _, c in ipairs(d.classes) do kind = kind or c:match("^callout%-(%a+)$") end
  if not kind then return nil end
  local title = d.attributes.title and words(d.attributes.title)
  if not title and d.content[1] and d.content[1].t == "Header" then title = d.content:remove(1).content end
  title = pandoc.Plain(title or { pandoc.Str((kind:gsub("^%l", string.upper))) })
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

local tabsets = 0
local function tabset(d)
  tabsets = tabsets + 1
  local out, n, open = pandoc.Blocks {}, 0, false
  if html then out:insert(raw('<div class="tabs">')) end
  for _, b in ipairs(d.content) do
    if b.t ~= "Header" then
      out:insert(b)
    elseif not html then
      out:insert(pandoc.Para { pandoc.Strong(b.content) })
    else
      n = n + 1
      local id = "tab-" .. tabsets .. "-" .. n
      out:insert(raw((open and "</div>" or "") .. '<input type="radio" name="tabs-' .. tabsets .. '" id="' .. id .. '"'
        .. (n == 1 and " checked" or "") .. '><label for="' .. id .. '">'))
      out:insert(pandoc.Plain(b.content))
      out:insert(raw('</label><div class="tab">'))
      open = true
    end
  end
  if html then out:insert(raw((open and "</div>" or "") .. "</div>")) end
  return out
end

local function hidden(d)            -- content-visible when-format=…, unless-format=…
  local when, unless = d.attributes["when-format"], d.attributes["unless-format"]
  local shown = not (when and (when == "html") ~= html) and not (unless and (unless == "html") == html)
  if d.classes:includes("content-hidden") then shown = not shown end
  return (when or unless) and not shown
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
    if html then return i.classes:includes("static") and {} or nil end
    local alt = (i.attributes.alt or pandoc.utils.stringify(i.caption)):gsub('[\\"]', "\\%0")
    return pandoc.RawInline("typst", '#box(image("' .. i.src .. '", alt: "' .. alt .. '"))')
  end,
  Div = function(d)
    if hidden(d) then return {} end
    if d.classes:includes("panel-tabset") then return tabset(d) end
    if d.classes:includes("landscape") and not html then
      return pandoc.Blocks { raw "#landscape[" } .. d.content .. { raw "]" }
    end
    if d.classes:includes("item") or d.classes:includes("cell") then return nil end
    return callout(d)
  end,
}

local items = {
  traverse = "topdown",
  Div = function(d)                 -- the chapters of a PDF simply follow one another
    if not html and d.classes:includes("item") then return d.content end
  end,
}

function Pandoc(doc)
  html = pandoc.utils.stringify(doc.meta.target) == "html"
  return doc:walk(format):walk(items)
end
