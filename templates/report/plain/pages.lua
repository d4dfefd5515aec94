-- Last of all filters for HTML: a page for each chapter, with links between them. All pages in one start of pandoc.
local function identifiers(blocks, found)
  local function note(x) if x.identifier ~= "" then found[x.identifier] = true end end
  blocks:walk { Header = note, Div = note, Span = note, Figure = note, Table = note, CodeBlock = note }
  return found
end

local function title(blocks)
  for _, b in ipairs(blocks) do
    if b.t == "Header" and b.level == 1 then return pandoc.utils.stringify(b.content) end
  end
  return ""
end

function Pandoc(doc)
  local site = pandoc.json.decode(pandoc.utils.stringify(doc.meta.site), false)
  local read = assert(io.open(site.template))
  local options = pandoc.WriterOptions { template = pandoc.template.compile(read:read("a")), table_of_contents = true,
    toc_depth = 3, section_divs = true, html_math_method = "mathml" }
  read:close()
  local pages, homes = {}, {}
  for _, item in ipairs(doc.blocks) do
    local page = { url = item.attributes.file .. ".html", title = title(item.content), blocks = item.content }
    pages[#pages + 1] = page
    for label in pairs(identifiers(item.content, {})) do homes[label] = homes[label] or page.url end
  end
  for n, page in ipairs(pages) do
    local plots = false
    local blocks = page.blocks:walk {
      Link = function(l)
        local label = l.target:match("^#(.+)$")
        if not label then return nil end
        local home = homes[label] or error("A link on " .. page.url .. " leads to #" .. label
          .. ", which no chapter has. Correct it, or label its target.")
        if home ~= page.url then l.target = home .. l.target; return l end
      end,
      RawBlock = function(b) plots = plots or b.text:find('class="plot"', 1, true) ~= nil end,
    }
    local chapters = {}
    for i, other in ipairs(pages) do chapters[i] = { url = other.url, title = other.title, here = i == n } end
    local meta = { chapters = chapters, previous = chapters[n - 1], next = chapters[n + 1], plots = plots,
      front = page.url == "index.html", pagetitle = page.title }
    for key, value in pairs(site.meta) do meta[key] = value end
    local file = assert(io.open(site.folder .. "/" .. page.url, "w"))
    file:write(pandoc.write(pandoc.Pandoc(blocks, meta), "html5", options))
    file:close()
  end
  return pandoc.Pandoc {}
end
