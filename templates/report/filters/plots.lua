-- Quarto: load plotly.js once for the whole site, and only on pages that hold a plot.
local used = false
return {
  { RawBlock = function(b) if b.text:find('class="plot"', 1, true) then used = true end end },
  { Pandoc = function()
      if used and quarto.doc.is_format("html") then
        quarto.doc.add_html_dependency({ name = "plots", version = "1",
          scripts = { "../assets/plotly.min.js", "../assets/report.js" } })
      end
    end },
}
