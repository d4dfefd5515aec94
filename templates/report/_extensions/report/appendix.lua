-- Quarto's divider "Appendices" becomes the switch from numbers to letters.
local header = {
  Header = function(h)
    local file = (quarto.doc.file_metadata() or {}).file
    if quarto.doc.is_format("typst") and h.level == 1 and file and file.bookItemType == "appendix"
      and h.classes:includes("unnumbered") then
      return pandoc.RawBlock("typst", "#show: appendix")
    end
  end,
}
return quarto.utils.combineFilters({ quarto.utils.file_metadata_filter(), header })
