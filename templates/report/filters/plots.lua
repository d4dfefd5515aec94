-- Quarto: load plotly.js once for the whole site, and only on pages that hold a plot; slides need labkit's script in any case.
local used = false
return {
  { RawBlock = function(b) if b.text:find('class="plot"', 1, true) then used = true end end },
  { Pandoc = function()
      local scripts = used and { "../assets/plotly.min.js", "../assets/report.js" } or { "../assets/report.js" }
      if used and quarto.doc.is_format("html") or quarto.doc.is_format("revealjs") then
        quarto.doc.add_html_dependency({ name = "plots", version = "1", scripts = scripts })
      end
    end },
}
