// The address of the page is a link to what it shows; Ctrl+Z and Ctrl+Shift+Z undo and redo; no key of the notebook
// around it changes its cells.
const typing = (target) => target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");

const ACTS = ["pointerdown", "keydown", "input", "change"]; // what a reader does

// Links for the keyboard, seen while they have the focus: to the plot, and to the button that starts a run.
const SKIPS = [["Skip to the plot", ".lab-plot-A .js-plotly-plot"], ["Skip to Run", "button.lab-run"]];

function head(page) {
  const made = document.createElement("header"), title = document.createElement("h1");
  made.className = "lab-head";
  title.textContent = "labkit Explorer";
  for (const [words, select] of SKIPS) {
    const link = Object.assign(document.createElement("a"), { className: "lab-skip", href: "#", textContent: words });
    link.onclick = (event) => {
      event.preventDefault(); // the address holds the view
      const target = page().querySelector(select);
      if (target?.disabled) target.closest(".lab-panel").querySelector("input:enabled").focus();
      else target?.focus();
      target?.scrollIntoView({ block: "nearest" });
    };
    made.append(link);
  }
  made.append(title);
  return made;
}

function render({ model, el }) {
  const page = () => el.closest(".lab-explorer") ?? document.body;
  el.append(head(page));
  const why = Object.assign(document.createElement("p"), { className: "lab-why" });
  why.setAttribute("role", "alert");
  el.append(why);
  const say = () => {
    why.textContent = model.get("why");
    why.hidden = !why.textContent;
  };
  // Each step is an entry of the browser's history; what a link or an entry asked for makes no new one.
  let asked = true, last = model.get("link"); // the view that was asked for, which may still be on its way
  let questions = model.get("answered");
  const address = () => {
    if (model.get("answered") < questions) return; // this is an earlier view than the one that was asked for
    last = model.get("link");
    const hash = last ? `#view=${last}` : "";
    const place = location.pathname + location.search + hash;
    if (hash !== location.hash) history[asked ? "replaceState" : "pushState"](history.state, "", place);
  };
  const follow = () => {
    const wanted = /^#view=(.+)$/.exec(location.hash)?.[1];
    asked = true; // until the reader does something
    if (wanted && wanted !== last) model.send({ ask: "show", text: (last = wanted), number: (questions += 1) });
    return wanted;
  };
  if (!follow()) address();
  const keys = (event) => {
    if (!(event.ctrlKey || event.metaKey) || typing(event.target) || !page().isConnected) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    model.send({ ask: key === "y" || event.shiftKey ? "redo" : "undo" });
    event.preventDefault();
  };
  // ipywidgets puts a field's explanation on its label alone
  const explain = ({ target }) => {
    const label = target.closest?.(".jupyter-widgets")?.querySelector(":scope > label[title]");
    const field = label?.parentElement;
    if (!field || field.title === label.title) return;
    field.title = label.title;
    field.querySelector("input, select, textarea")?.setAttribute("aria-description", label.title);
  };
  const place = () => page().setAttribute("data-lm-suppress-shortcuts", "true");
  requestAnimationFrame(place);
  for (const name of ["link", "answered"]) model.on(`change:${name}`, address);
  model.on("change:why", say);
  const heard = { keydown: keys, pointerover: explain, focusin: explain };
  const acts = () => (asked = false);
  for (const [name, hear] of Object.entries(heard)) document.addEventListener(name, hear);
  for (const name of ACTS) document.addEventListener(name, acts, true);
  for (const name of ["hashchange", "popstate"]) globalThis.addEventListener(name, follow);
  say();
  return () => {
    for (const [name, hear] of Object.entries(heard)) document.removeEventListener(name, hear);
    for (const name of ACTS) document.removeEventListener(name, acts, true);
    for (const name of ["hashchange", "popstate"]) globalThis.removeEventListener(name, follow);
  };
}

export default { render };
