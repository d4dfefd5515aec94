-- Quarto: the caption of a picture is also what it is in words, as in the plain engine.
-- For Word, pictures of shapes become pictures of points, which every Word shows; Quarto's own typst draws them all.
local FOLDER = ".quarto/word"
local FINE = "192"                  -- points per inch

local function number(file)         -- of points across, as a picture says it in its header
  local handle = io.open(file, "rb")
  local head = handle and handle:read(20) or ""
  if handle then handle:close() end
  return #head == 20 and string.unpack(">I4", head, 17) or nil
end

local function draw(sources, folder) -- files with the pictures, in the same order; empty where typst draws none
  local pages = pandoc.List(sources):map(function(src) return '#page(image("' .. src .. '"))' end)
  local text = "#set page(width: auto, height: auto, margin: 0pt)\n" .. table.concat(pages, "\n")
  local document = folder .. "/pictures.typ"
  local handle = assert(io.open(document, "w"))
  handle:write(text)
  handle:close()
  local bin = os.getenv("QUARTO_BIN_PATH")
  local done = pcall(pandoc.pipe, bin and bin .. "/quarto" or "quarto", { "typst", "compile", document, folder .. "/picture-{p}.png", "--root", ".",
    "--format", "png", "--ppi", FINE }, "")
  return done and pages:map(function(_, page) return folder .. "/picture-" .. page .. ".png" end) or {}
end

local function described(i)
  if #i.caption == 0 or i.attributes.alt or i.attributes["fig-alt"] then return nil end
  i.attributes["fig-alt"] = pandoc.utils.stringify(i.caption)
  return i
end

function Pandoc(doc)
  if not FORMAT:match("docx") then return doc:walk { Image = described } end
  local sources = pandoc.List()
  doc:walk { Image = function(i) if i.src:match("%.svg$") and not sources:includes(i.src) then sources:insert(i.src) end end }
  if #sources == 0 then return nil end
  pandoc.system.make_directory(FOLDER, true)
  local drawn = {}
  for place, file in ipairs(draw(sources:map(function(src) return "/" .. src end), FOLDER)) do drawn[sources[place]] = file end
  return doc:walk { Image = function(i)
    local file = drawn[i.src]
    if not file or not number(file) then return nil end
    i.attributes.width = math.min(number(file) / tonumber(FINE), 6.2) .. "in"
    i.src = file
    if #i.caption == 0 and i.attributes["fig-alt"] then i.caption = { pandoc.Str(i.attributes["fig-alt"]) } end
    return i
  end }
end
