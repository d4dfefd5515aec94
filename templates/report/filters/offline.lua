-- Quarto, after rendering: drop the two scripts from elsewhere that it adds to pages with HTML outputs.
-- Nothing here uses them, and a reader behind a firewall would wait for them.
for file in (os.getenv("QUARTO_PROJECT_OUTPUT_FILES") or ""):gmatch("[^\n]+") do
  if file:match("%.html$") then
    local handle = assert(io.open(file))
    local text = handle:read("a")
    handle:close()
    text = text:gsub('<script src="https://[^"]*/require[^"]*"[^>]*></script>%s*', "")
               :gsub('<script src="https://[^"]*/jquery[^"]*"[^>]*></script>%s*', "")
               :gsub("<script type=\"application/javascript\">define%('jquery'.-</script>%s*", "")
    handle = assert(io.open(file, "w"))
    handle:write(text)
    handle:close()
  end
end
