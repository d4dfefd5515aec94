// Elements that show the widgets of ipywidgets and of anywidget, with the names of classes that these have in JupyterLab.
const ICONS = {
  play: "M4 2l9 6-9 6z", stop: "M3 3h10v10H3z", forward: "M2 3l6 5-6 5zM8 3l6 5-6 5z", plus: "M7 2h2v5h5v2H9v5H7V9H2V7h5z",
  refresh: "M14 2v5H9l1.8-1.8A4.2 4.2 0 1 0 12 9h1.8A5.9 5.9 0 1 1 12.1 3.9z", "thumb-tack": "M5 1h6l-1 6 3 3H9l-1 5-1-5H3l3-3z",
};
let count = 0;

export function made(kind, properties = {}, ...children) {
  const node = Object.assign(document.createElement(kind), properties);
  node.append(...children);
  return node;
}

// What a widget has on the page: its element, and how it ends.
class View {
  constructor(model, el) {
    Object.assign(this, { model, el, ends: [] });
    const { page } = model, layout = page.model(model.get("layout") ?? ""), classes = [];
    el.classList.add("jupyter-widgets");
    this.follow(model, ["_dom_classes"], () => {
      el.classList.remove(...classes.splice(0));
      classes.push(...model.get("_dom_classes"));
      el.classList.add(...classes);
    });
    this.follow(model, ["tooltip"], () => (el.title = model.get("tooltip") ?? ""));
    if (layout) this.follow(layout, ["change"], () => styled(el, layout));
  }

  // Do something now and whenever one of these values changes.
  follow(model, names, act) {
    const events = names.map((name) => (name === "change" ? name : `change:${name}`)).join(" ");
    model.on(events, act);
    this.ends.push(() => model.off(events, act));
    act();
  }

  end() {
    for (const end of this.ends.splice(0)) end();
  }
}

function styled(el, layout) {
  for (const [name, value] of Object.entries(layout.state))
    if (!name.startsWith("_") && name in el.style) el.style[name.replace(/_(.)/g, (_, one) => one.toUpperCase())] = value ?? "";
    else if (!name.startsWith("_") && name.includes("_")) el.style.setProperty(name.replaceAll("_", "-"), value ?? "");
}

// A row of a description and a field.
function row(model, kind, field) {
  const view = new View(model, made("div", { className: `widget-inline-hbox widget-${kind}` })), { page } = model;
  const label = made("label", { className: "widget-label" }), style = page.model(model.get("style") ?? "");
  if (field) label.htmlFor = field.id = `field-${++count}`;
  view.follow(model, ["description"], () => {
    label.textContent = model.get("description") ?? "";
    label.style.display = label.textContent ? "" : "none";
    if (field && !label.textContent && model.get("placeholder")) field.setAttribute("aria-label", model.get("placeholder"));
  });
  if (style) view.follow(style, ["description_width"], () => (label.style.width = style.get("description_width") || ""));
  if (field) {
    view.follow(model, ["disabled"], () => (field.disabled = Boolean(model.get("disabled"))));
    view.follow(model, ["tooltip"], () => explained(field, model.get("tooltip")));
    view.follow(model, ["_dom_classes"], () => field.setAttribute("aria-invalid", String(model.get("_dom_classes").includes("lab-wrong"))));
  }
  view.el.append(label, ...(field ? [field] : []));
  return view;
}

function explained(field, text) {
  if (text) field.setAttribute("aria-description", text);
  else field.removeAttribute("aria-description");
}

function keep(model, values) {
  model.set(values);
  model.save_changes();
}

function box(model) {
  const kind = model.kind.slice(0, -"Model".length).toLowerCase();
  const view = new View(model, made("div", { className: `widget-container widget-box widget-${kind}` }));
  const layout = model.page.model(model.get("layout") ?? "");
  let shown = new Map();
  const fill = () => {
    if (layout?.get("display") === "none" && !shown.size) return; // built when it is first seen
    const before = shown, children = model.get("children").map((name) => model.page.model(name)).filter(Boolean);
    shown = new Map(children.map((child) => [child, before.get(child) ?? viewed(child)]));
    for (const [child, one] of before) if (!shown.has(child)) one.end();
    const wanted = children.map((child) => shown.get(child).el);
    if (wanted.length !== view.el.children.length || wanted.some((one, n) => one !== view.el.children[n])) {
      const focused = wanted.find((one) => one.contains(document.activeElement)) && document.activeElement;
      view.el.replaceChildren(...wanted);
      focused?.focus({ preventScroll: true });
    }
  };
  view.follow(model, ["children"], fill);
  if (layout) view.follow(layout, ["display"], () => shown.size || fill());
  view.ends.push(() => shown.forEach((one) => one.end()));
  return view;
}

function html(model) {
  const view = row(model, "html"), content = view.el.appendChild(made("div", { className: "widget-html-content" }));
  view.follow(model, ["value"], () => (content.innerHTML = model.get("value")));
  return view;
}

function label(model) {
  const view = new View(model, made("div", { className: "widget-inline-hbox widget-label" }));
  view.follow(model, ["value"], () => (view.el.textContent = model.get("value")));
  return view;
}

function text(model) {
  const lines = model.kind === "TextareaModel"; // of several lines, in which Enter begins another one
  const field = lines ? made("textarea", { rows: model.get("rows") ?? 2 }) : made("input", { type: "text" });
  const view = row(model, lines ? "textarea" : "text", field);
  view.follow(model, ["placeholder"], () => (field.placeholder = model.get("placeholder") ?? ""));
  view.follow(model, ["value"], () => field.value !== model.get("value") && (field.value = model.get("value")));
  const taken = () => field.value !== model.get("value") && keep(model, { value: field.value });
  field.addEventListener("input", () => model.get("continuous_update") && taken());
  field.addEventListener("change", taken);
  field.addEventListener("keydown", ({ key }) => {
    if (key !== "Enter" || lines) return;
    taken();
    model.send({ event: "submit" });
  });
  return view;
}

function number(model) {
  const whole = model.kind.includes("Int"), field = made("input", { type: "number", step: whole ? "1" : "any" });
  const view = row(model, "text", field);
  view.follow(model, ["value"], () => (field.value = model.get("value") ?? ""));
  field.addEventListener("change", () => {
    const { min = -Infinity, max = Infinity } = model.state, read = Number(field.value);
    const wrong = field.value.trim() === "" || !Number.isFinite(read) || (whole && !Number.isInteger(read));
    const value = wrong ? model.get("value") : Math.min(Math.max(read, min), max);
    field.value = value;
    if (value !== model.get("value")) keep(model, { value });
  });
  return view;
}

function dropdown(model) {
  const field = made("select"), view = row(model, "dropdown", field);
  view.follow(model, ["_options_labels"], () => {
    field.replaceChildren(...model.get("_options_labels").map((one) => made("option", { value: one, textContent: one })));
    field.selectedIndex = model.get("index") ?? -1;
  });
  view.follow(model, ["index"], () => (field.selectedIndex = model.get("index") ?? -1));
  field.addEventListener("change", () => keep(model, { index: field.selectedIndex < 0 ? null : field.selectedIndex }));
  return view;
}

function checkbox(model) {
  const field = made("input", { type: "checkbox" }), words = made("span");
  const view = new View(model, made("div", { className: "widget-inline-hbox widget-checkbox" }));
  const space = made("span", { className: "widget-label" });
  view.el.append(space, made("label", { className: "widget-label-basic" }, field, words));
  view.follow(model, ["indent"], () => (space.style.display = model.get("indent") ? "" : "none"));
  const style = model.page.model(model.get("style") ?? "");
  if (style) view.follow(style, ["description_width"], () => (space.style.width = style.get("description_width") || ""));
  view.follow(model, ["description"], () => (words.textContent = model.get("description")));
  view.follow(model, ["disabled"], () => (field.disabled = Boolean(model.get("disabled"))));
  view.follow(model, ["tooltip"], () => explained(field, model.get("tooltip")));
  view.follow(model, ["value"], () => (field.checked = Boolean(model.get("value"))));
  field.addEventListener("change", () => keep(model, { value: field.checked }));
  return view;
}

function drawn(name) {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS(picture.namespaceURI, "path");
  for (const [key, value] of Object.entries({ viewBox: "0 0 16 16", width: 12, height: 12, "aria-hidden": "true" })) picture.setAttribute(key, value);
  path.setAttribute("d", ICONS[name] ?? "");
  path.setAttribute("fill", "currentColor");
  picture.append(path);
  return picture;
}

function pressed(model, className) {
  const view = new View(model, made("button", { type: "button", className })), { el } = view;
  view.follow(model, ["description", "icon"], () => {
    const { description, icon } = model.state;
    el.replaceChildren(...(icon in ICONS ? [drawn(icon), description && " "] : []), description);
  });
  view.follow(model, ["disabled"], () => (el.disabled = Boolean(model.get("disabled"))));
  if (model.get("button_style")) el.classList.add(`mod-${model.get("button_style")}`);
  return view;
}

function button(model) {
  const view = pressed(model, "jupyter-button widget-button");
  view.el.addEventListener("click", () => model.send({ event: "click" }));
  return view;
}

function toggle(model) {
  const view = pressed(model, "jupyter-button widget-toggle-button");
  view.follow(model, ["value"], () => turned(view.el, model.get("value")));
  view.el.addEventListener("click", () => keep(model, { value: !model.get("value") }));
  return view;
}

function turned(button, on) {
  button.classList.toggle("mod-active", Boolean(on));
  button.setAttribute("aria-pressed", String(Boolean(on)));
}

function toggles(model) {
  const view = row(model, "toggle-buttons"), group = view.el.appendChild(made("div"));
  group.setAttribute("role", "group");
  view.follow(model, ["_options_labels", "disabled", "tooltips"], () => {
    group.replaceChildren(...model.get("_options_labels").map((one, n) => {
      const title = model.get("tooltips")?.[n] ?? "", disabled = Boolean(model.get("disabled"));
      const made_ = made("button", { type: "button", className: "jupyter-button widget-toggle-button", textContent: one, title, disabled });
      made_.onclick = () => keep(model, { index: n });
      turned(made_, n === model.get("index"));
      return made_;
    }));
  });
  view.follow(model, ["index"], () => [...group.children].forEach((one, n) => turned(one, n === model.get("index"))));
  return view;
}

function progress(model) {
  const bar = made("div", { className: "progress-bar" }), view = row(model, "hprogress");
  view.el.append(made("div", { className: "progress", ariaHidden: "true" }, bar)); // the words beside it say the same
  view.follow(model, ["value", "min", "max"], () => {
    const { value, min, max } = model.state;
    bar.style.width = `${(100 * (value - min)) / (max - min || 1)}%`;
  });
  return view;
}

function slider(model) {
  const { min, max, step } = model.state, field = made("input", { type: "range", min, max, step }), said = made("output");
  const view = row(model, "hslider", field);
  view.el.append(said);
  said.className = "widget-readout";
  view.follow(model, ["value"], () => (said.textContent = field.value = model.get("value")));
  field.addEventListener(model.get("continuous_update") ? "input" : "change", () => keep(model, { value: Number(field.value) }));
  return view;
}

const programs = new Map(); // text of a program → what it exports

function program(words) {
  if (!programs.has(words)) {
    const url = URL.createObjectURL(new Blob([words], { type: "text/javascript" }));
    programs.set(words, import(url).finally(() => URL.revokeObjectURL(url)));
  }
  return programs.get(words);
}

// A widget that brings its own program, as anywidget defines it.
function own(model) {
  const view = new View(model, made("div"));
  model.begun ??= (async () => {
    const { default: given } = await program(model.get("_esm")), begun = typeof given === "function" ? await given() : given;
    await begun.initialize?.({ model });
    return begun;
  })();
  let gone = false;
  view.ends.push(() => (gone = true));
  model.begun.then(async (begun) => {
    if (gone) return;
    const end = await begun.render?.({ model, el: view.el });
    if (typeof end === "function") gone ? end() : view.ends.push(end);
  });
  return view;
}

const KINDS = {
  VBoxModel: box, HBoxModel: box, BoxModel: box, HTMLModel: html, LabelModel: label, TextModel: text, TextareaModel: text, IntTextModel: number,
  FloatTextModel: number, BoundedIntTextModel: number, BoundedFloatTextModel: number, DropdownModel: dropdown, CheckboxModel: checkbox,
  ButtonModel: button, ToggleButtonModel: toggle, ToggleButtonsModel: toggles, FloatProgressModel: progress,
  IntSliderModel: slider, AnyModel: own,
};

export function viewed(model) {
  if (KINDS[model.kind]) return KINDS[model.kind](model);
  console.error(`labkit's page shows no ${model.kind}`);
  return new View(model, made("div", { textContent: `This page shows no ${model.kind}. JupyterLab does: open notebooks/explorer.ipynb there.` }));
}
