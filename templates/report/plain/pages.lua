-- Last of all filters for HTML: a page for each chapter, with links between them. All pages in one start of pandoc.
function Pandoc(doc)
  local site = pandoc.json.decode(pandoc.utils.stringify(doc.meta.site), false)
  local function read(path)
    local handle = assert(io.open(path))
    local text = handle:read("a")
    handle:close()
    return text
  end
  local page = read(site.template):gsub("POLICY\n", function() return read(site.policy) end)
  local indexed = {}
  local options = pandoc.WriterOptions { template = pandoc.template.compile(page), table_of_contents = true,
    toc_depth = 3, section_divs = true, html_math_method = "mathml" }
  local pages, homes, own = {}, {}, {}
  for _, item in ipairs(doc.blocks) do
    local url, head = item.attributes.file .. ".html", item.content:find_if(function(b) return b.t == "Header" and b.level == 1 end)
    pages[#pages + 1] = { url = url, title = head and pandoc.utils.stringify(head.content) or "", blocks = item.content }
    local function note(x)
      if x.identifier == "" then return end
      homes[x.identifier] = homes[x.identifier] or url
      own[url .. "#" .. x.identifier] = true
    end
    item.content:walk { Header = note, Div = note, Span = note, Figure = note, Table = note, CodeBlock = note }
  end
  for n, page in ipairs(pages) do
    local plots = false
    local blocks = page.blocks:walk {
      Link = function(l)
        local label = l.target:match("^#(.+)$")
        if not label or own[page.url .. l.target] then return nil end
        local home = homes[label] or error("A link on " .. page.url .. " leads to #" .. label
          .. ", which no chapter has. Correct it, or label its target.")
        if home ~= page.url then l.target = home .. l.target; return l end
      end,
      RawBlock = function(b) plots = plots or b.text:find('class="plot"', 1, true) ~= nil end,
      RawInline = function(b) plots = plots or b.text:find('class="plot"', 1, true) ~= nil end,
    }
    local chapters = {}
    for i, other in ipairs(pages) do chapters[i] = { url = other.url, title = other.title, here = i == n } end
    local meta = { chapters = chapters, previous = chapters[n - 1], next = chapters[n + 1], plots = plots,
      front = page.url == "index.html", pagetitle = page.title }
    for key, value in pairs(site.meta) do meta[key] = value end
    local file = assert(io.open(site.folder .. "/" .. page.url, "w"))
    file:write(pandoc.write(pandoc.Pandoc(blocks, meta), "html5", options))
    file:close()
    indexed[n] = { url = page.url, blocks = pandoc.utils.make_sections(false, nil, blocks) }
  end
  local index = assert(io.open(site.folder .. "/search.js", "w"))
  index:write(dofile(PANDOC_SCRIPT_FILE:match("^.*/") .. "../filters/search.lua")(indexed))
  index:close()
  return pandoc.Pandoc {}
end
