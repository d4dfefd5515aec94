-- Quarto, in the book of a project: the guide links to pages that are not in it; their names stay.
function Link(l)
  if l.target:match("^[%w-]+%.md") then return l.content end
end
