// A table that is sorted by its heads and searched by words; the kernel does both and sends the rows that are shown.
function made(kind, attributes = {}, ...children) {
  const node = Object.assign(document.createElement(kind), attributes);
  node.append(...children);
  return node;
}

function render({ model, el }) {
  const search = made("input", { type: "search", placeholder: "search in the values", className: "lab-search" });
  const more = made("button", { type: "button", className: "jupyter-button lab-more", textContent: "more rows" });
  const count = made("span", { className: "lab-count" });
  const head = made("thead"), body = made("tbody"), table = made("table", {}, head, body);
  const box = made("div", { className: "lab-values-box", tabIndex: 0 }, table);
  search.setAttribute("aria-label", "search in the values");
  count.setAttribute("role", "status");
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "values of the plot");
  el.classList.add("lab-values");
  const all = made("button", { type: "button", className: "jupyter-button lab-all", textContent: "all points" });
  const lines = made("pre", { className: "lab-command lab-boxed", tabIndex: 0 });
  lines.setAttribute("aria-label", "commands that measure these points");
  el.append(made("div", { className: "lab-values-top" }, search, count, all, more), box, lines);

  const named = (text, name) => {
    const button = made("button", { type: "button", textContent: text || "–" });
    button.setAttribute("aria-label", name);
    return button;
  };
  const same = (a, b) => a[0] === b[0] && a[1] === b[1];
  const heads = () => {
    const [by, falling] = model.get("order");
    const focused = document.activeElement?.closest?.("thead th")?.dataset.name;
    head.replaceChildren(made("tr", {}, ...model.get("head").map(({ name, title, number }) => {
      const mark = by === name ? (falling ? " ▼" : " ▲") : "";
      const button = made("button", { type: "button", textContent: title.replaceAll("_", "_\u200b") + mark }); // breaks there
      button.onclick = () => model.send({ ask: "sort", name });
      const cell = made("th", { scope: "col", className: number ? "lab-number" : "" }, button);
      cell.dataset.name = name;
      cell.setAttribute("aria-sort", by === name ? (falling ? "descending" : "ascending") : "none");
      return cell;
    })));
    if (focused) [...head.querySelectorAll("th")].find((one) => one.dataset.name === focused)?.firstChild.focus();
  };
  const rows = () => {
    const numbers = model.get("head").map(({ number }) => number), marked = model.get("marked");
    body.replaceChildren(...model.get("rows").map(({ key, name, cells }) => {
      const row = made("tr", {}, ...cells.map((text, n) =>
        made("td", { className: numbers[n] ? "lab-number" : "", title: text }, n ? text : named(text, name))));
      row.classList.toggle("lab-marked", marked.some((one) => same(one, key)));
      row.onclick = () => model.send({ ask: "choose", key });
      return row;
    }));
    const [found, total] = model.get("count"), shown = model.get("rows").length;
    const boxed = model.get("boxed");
    count.textContent = `${found < total ? `${found} of ${total}` : total} points${boxed ? " inside the box" : ""}`
      + (shown < found ? `, the first ${shown}` : "");
    more.hidden = shown >= found;
    all.hidden = !boxed;
    lines.textContent = model.get("commands");
    lines.hidden = !lines.textContent;
  };
  let wait;
  search.oninput = () => {
    clearTimeout(wait);
    wait = setTimeout(() => model.send({ ask: "search", text: search.value }), 120);
  };
  all.onclick = () => model.send({ ask: "all" });
  more.onclick = () => model.send({ ask: "more" });
  for (const name of ["head", "order"]) model.on(`change:${name}`, heads);
  for (const name of ["head", "rows", "marked", "count", "boxed", "commands"]) model.on(`change:${name}`, rows);
  heads();
  rows();
}

export default { render };
