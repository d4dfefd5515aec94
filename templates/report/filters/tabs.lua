-- Quarto: on paper, tabs follow one another under bold titles; as headings they would count as sections.
return { {
  Tabset = function(set)
    if not quarto.doc.is_format("typst") then return nil end
    local blocks = pandoc.Blocks {}
    for i = 1, #set.tabs do
      blocks:insert(pandoc.Para { pandoc.Strong(quarto.utils.as_inlines(set.tabs[i].title)) })
      blocks:extend(quarto.utils.as_blocks(set.tabs[i].content))
    end
    return pandoc.Div(blocks)
  end,
} }
