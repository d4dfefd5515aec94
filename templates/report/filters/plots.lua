-- Both engines: on a page, the pictures that labkit can draw live are live.
-- Quarto: load plotly.js once for the whole site, and only on pages that hold a plot; labkit's script everywhere.
local page, used = false, false

local function live(i)              -- what labkit wrote for the page, into a folder where nobody else writes
  local name = page and i.src:match("^figures/([%w_.-]+)%.svg$")
  local handle = name and io.open("live/" .. name .. ".html")
  if not handle then return nil end
  local text = handle:read("a")
  handle:close()
  used = true
  return pandoc.RawInline("html", text)
end

return {
  { Meta = function(meta)
      page = quarto and quarto.doc.is_format("html") or pandoc.utils.stringify(meta.target or "") == "html"
    end },
  { RawBlock = function(b) if b.text:find('class="plot"', 1, true) then used = true end end, Image = live },
  { Pandoc = function()
      if not quarto or not page then return nil end
      local scripts = used and { "../assets/plotly.min.js", "../assets/report.js" } or { "../assets/report.js" }
      quarto.doc.add_html_dependency({ name = "plots", version = "1", scripts = scripts })
    end },
}
