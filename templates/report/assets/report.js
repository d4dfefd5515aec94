// Draws the plots one after another without blocking the page; those in hidden tabs when they are shown. Each plot has
// tools that work on the data in the page: filter series, axis, unit, statistic, pinned points, two figures side by side.
// Around the text: search, links to each part, copies of commands, and a mark at the section that is read.
(() => {
  const SMALL = /<br><span[^>]*>/, KEY = "labkit-compared", NARROW = 560, TALL = 170, LEAST = 0.6;  // px, px, of its size
  const UNITS = { "µs": { ns: 1e3, "µs": 1, ms: 1e-3, s: 1e-6 }, "MB/s": { "MB/s": 1, "GB/s": 1e-3, "Gbit/s": 8e-3 },
    "GB/s": { "GB/s": 1, "MB/s": 1e3, "Gbit/s": 8 } };
  const DARK = { "#000000": "#e8e8e8", "#555555": "#b0b0b0", "#332288": "#9d90ee", "#661100": "#e08a66", "#882255": "#c94080",
    "#0072b2": "#4aa8e0", "#e4e8ee": "#333c46", "#555": "#9aa6b2", "#333": "#c3ccd6", "#222": "#dde3ea",
    "#f4f4f4": "#20272e", "#ffffff": "#14181d", "#c9d2de": "#55606c", "\"white\"": "\"rgba(0,0,0,0)\"" };
  // the words of tools, search and copies in the language of the page; those of other languages are English
  const WORDS = { de: { "series": "Reihe", "axis": "Achse", "unit": "Einheit", "statistic": "Statistik", "all": "alle", "as printed": "wie gedruckt",
    "log": "logarithmisch", "linear": "linear", "compare": "vergleichen", "reset": "zurücksetzen", "picture (SVG)": "Bild (SVG)", "Adjust": "Anpassen",
    "Click a point to pin its value.": "Ein Klick auf einen Punkt heftet seinen Wert an.", "choose another figure to compare": "eine zweite Abbildung wählen",
    "close": "schließen", "Two figures": "Zwei Abbildungen", "Figure": "Abbildung", "copy": "kopieren", "copied": "kopiert", "Copy %": "% kopieren",
    "Copy this code": "Diesen Code kopieren", "Command copied": "Befehl kopiert", "Code copied": "Code kopiert", "Link copied": "Link kopiert",
    "Copy the link": "Link kopieren", "Copy the link to %": "Link zu % kopieren",
    "The browser allows no copy: select the text": "Der Browser lässt kein Kopieren zu: markieren Sie den Text",
    "Search (/)": "Suchen (/)", "Search the report": "Den Bericht durchsuchen", "What was found": "Treffer", "% found": "% Treffer",
    "Nothing has these words.": "Nichts enthält diese Wörter.", "search.js, the index beside this page, is missing.": "search.js, das Verzeichnis neben dieser Seite, fehlt.",
    "Skip to the text": "Zum Text springen", "data (CSV)": "Daten (CSV)", "Code": "Code", "On this page": "Auf dieser Seite", "Place in the book": "Stelle im Buch", "Chapters": "Kapitel", "Pages before and after": "Seiten davor und danach" } };
  const said = (words, inside = "") => (WORDS[document.documentElement.lang.split("-")[0]]?.[words] ?? words).replace("%", () => inside);
  const MARKS = new RegExp(Object.keys(DARK).join("|"), "gi");
  const TYPES = { i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array,
    f4: Float32Array, f8: Float64Array };
  let printing = false;

  const make = (tag, facts = {}, ...inside) => {
    const e = document.createElement(tag);
    for (const [key, value] of Object.entries(facts)) if (key in e) e[key] = value; else e.setAttribute(key, value);
    e.append(...inside);
    return e;
  };
  const text = markup => new DOMParser().parseFromString(markup.replaceAll("<br>", " "), "text/html").body.textContent;
  const dark = () => !printing && !document.body.classList.contains("quarto-light") &&
    (document.body.classList.contains("quarto-dark") || matchMedia("(prefers-color-scheme: dark)").matches);
  const plain = a => a && a.bdata ? [...new TYPES[a.dtype](Uint8Array.from(atob(a.bdata), c => c.charCodeAt(0)).buffer)] : a;
  const axes = (layout, letter) => Object.keys(layout).filter(key => key.startsWith(letter + "axis")).map(key => layout[key]);
  const title = axis => typeof axis.title === "string" ? axis.title : axis.title?.text ?? "";

  // label → a number at each point, from the lines of the hover text that begin with a number
  const statistics = trace => {
    const found = {};
    for (const line of (trace.hovertemplate ?? "").split("<br>")) {
      const match = line.match(/^(p\d+|max|min|mean): %\{customdata\[(\d+)\]\}/);
      if (!match) continue;
      const values = (trace.customdata ?? []).map(row => row ? parseFloat(String(row[match[2]]).replaceAll(",", "")) : NaN);
      if (values.some(Number.isFinite)) found[match[1]] = values.map(v => Number.isFinite(v) ? v : null);
    }
    return found;
  };

  // a map of cells on a narrow page: the scale of colours above it, and texts only where a cell has room for them
  const narrow = (trace, layout) => {
    trace.colorbar = { ...trace.colorbar, orientation: "h", yref: "container", y: 1, yanchor: "top", title: { ...trace.colorbar?.title, side: "top" } };
    for (const axis of axes(layout, "x")) delete axis.tickangle;
  };

  // two panels side by side go one above the other, and keep the names that the caption has for them
  const stacked = layout => {
    const [left, right, ...more] = axes(layout, "x"), upward = axes(layout, "y");
    if (!right || more.length || upward.length !== 2 || upward.some(axis => axis.domain) || !(left.domain?.[1] < right.domain?.[0])) return;
    left.domain = right.domain = [0, 1];
    upward[0].domain = [0.58, 1];
    upward[1].domain = [0, 0.4];
    layout.height *= 2;
    layout.annotations = [...(layout.annotations ?? []), ...["Left", "Right"].map((text, n) => ({ text: `<b>${text}</b>`, showarrow: false,
      xref: "paper", x: 0, xanchor: "left", yref: "paper", y: upward[n].domain[1], yanchor: "bottom" }))];
  };
  const wrapped = (name, width) => name.split(" ").reduce((lines, word) => {     // of a legend
    if (lines.at(-1) && `${lines.at(-1)} ${word}`.length > width) lines.push(word);
    else lines.push([lines.pop(), word].filter(Boolean).join(" "));
    return lines;
  }, []).join("<br>");

  const figure = el => {          // data and layout with the tools applied
    const { data, layout, config } = JSON.parse(dark() ? el.json.replace(MARKS, mark => DARK[mark.toLowerCase()]) : el.json);
    const { state } = el;
    layout.autosize = true;
    if (layout.height) layout.height += el.more;
    if (printing) layout.width = 640; else delete layout.width;   // fill the column
    for (const axis of axes(layout, "x")) if (SMALL.test(title(axis))) axis.title = { ...axis.title, text: title(axis).split(SMALL)[0] };
    if (el.narrow) for (const axis of axes(layout, "x")) if (axis.type === "log" && !axis.tickvals && !axis.dtick) axis.nticks = 3;
    if (el.narrow) stacked(layout);
    const upward = axes(layout, "y"), factor = state.unit ? UNITS[el.unit][state.unit] : 1;
    if (state.scale) for (const axis of upward) {
      axis.type = state.scale;
      for (const key of ["range", "dtick", "tickvals", "ticktext", "tickmode"]) delete axis[key];
    }
    if (state.unit) for (const axis of upward) if (axis.title) axis.title = { ...axis.title, text: title(axis).replace(`(${el.unit})`, `(${state.unit})`) };
    for (const trace of data) {
      const name = trace.name ?? "";
      if (trace.type === "heatmap" && el.narrow) narrow(trace, layout);
      if (trace.mode === "text" && el.narrow) {
        const row = data.find(one => one.type === "heatmap")?.text?.[0] ?? [];
        trace.visible = (el.clientWidth - 90) / row.length >= 6 * Math.max(...trace.text.map(one => one.length));
        trace.textfont = { ...trace.textfont, size: 10 };
      }
      if (state.filter && !name.toLowerCase().includes(state.filter.toLowerCase())) { trace.visible = false; trace.showlegend = false; }
      if (name && el.narrow) trace.name = wrapped(name, (el.clientWidth - 70) / 6.5);
      if (state.statistic) {
        const values = statistics(trace)[state.statistic];
        if (values) { trace.y = values; delete trace.error_y; } else trace.visible = false;
      }
      if (factor !== 1) {
        trace.y = plain(trace.y)?.map(v => v === null ? v : v * factor);
        for (const key of ["array", "arrayminus"]) if (trace.error_y?.[key]) trace.error_y[key] = plain(trace.error_y[key]).map(v => v * factor);
        if (upward[0]?.range) delete upward[0].range;
      }
    }
    if (state.statistic) for (const axis of upward) if (axis.title) axis.title = { ...axis.title, text: title(axis).replace(/median|mean/, state.statistic) };
    const place = (axis, value) => axis?.type === "log" && typeof value === "number" ? Math.log10(value) : value;
    layout.annotations = [...(layout.annotations ?? []), ...state.pins.map(pin => ({
      x: place(layout["xaxis" + pin.xref.slice(1)], pin.x), y: place(layout["yaxis" + pin.yref.slice(1)], pin.y * factor),
      xref: pin.xref, yref: pin.yref, text: pin.text, showarrow: true, arrowhead: 2, ax: 30, ay: -30, captureevents: true }))];
    return [data, layout, { responsive: true, ...config, displayModeBar: false }];
  };
  // on a narrow page legend and labels take more rows: the figure becomes higher by what its lowest panel lacks
  const lack = el => Math.max(0, ...axes(el._fullLayout, "y").filter(axis => axis._length && axis.visible !== false)
    .map(axis => Math.ceil((TALL - axis._length) / (axis.domain[1] - axis.domain[0]))));
  const isNarrow = el => !printing && el.clientWidth < NARROW;
  const show = async el => {      // from nothing: a scale of colours that turns would leave its old labels
    el.narrow = isNarrow(el);
    el.more = 0;
    if (el.data) Plotly.purge(el);
    for (let round = 0; round < 3; round++) {       // a taller figure has another legend
      const made = figure(el);
      el.style.height = `${made[1].height}px`;
      await (round ? Plotly.react : Plotly.newPlot)(el, ...made);
      const more = el.narrow && made[1].height ? lack(el) : 0;
      if (more < 8 || el.more > 600) break;
      el.more += more;
    }
    el.on("plotly_click", event => event.points[0].yaxis && pin(el, event.points[0]));
  };
  const redraw = el => el.narrow === isNarrow(el) ? Plotly.react(el, ...figure(el)) : show(el);

  const pin = (el, point) => {
    const factor = el.state.unit ? UNITS[el.unit][el.state.unit] : 1;
    const one = { x: point.x, y: point.y / factor, xref: point.xaxis._id, yref: point.yaxis._id,
      text: `${(point.fullData.name ?? "").replaceAll("<br>", " ")}: ${[].concat(point.customdata ?? point.y)[0]}`.replaceAll("<", "&lt;") };
    const same = el.state.pins.findIndex(other => other.x === one.x && other.y === one.y);
    if (same < 0) el.state.pins.push(one); else el.state.pins.splice(same, 1);
    redraw(el);
  };

  const caption = el => el.closest("figure")?.querySelector("figcaption")?.textContent.trim() || el.getAttribute("aria-label") || said("Figure");
  const kept = () => { try { return JSON.parse(localStorage.getItem(KEY)); } catch { return null; } };
  const keep = value => { try { value ? localStorage.setItem(KEY, JSON.stringify(value)) : localStorage.removeItem(KEY); } catch { /* private */ } };

  const compare = async (el, button) => {    // the first choice is kept, on other pages too; the second shows both
    const mine = { caption: caption(el), json: el.json, height: el.style.height }, other = kept();
    if (!other || other.caption === mine.caption) { keep(mine); button.textContent = said("choose another figure to compare"); return; }
    keep(null);
    const both = [other, mine].map(one => {
      const plot = make("div", { className: "plot" });
      plot.style.height = one.height;
      return { plot, one, column: make("div", {}, plot, make("p", { textContent: one.caption })) };
    });
    const close = make("button", { type: "button", textContent: said("close") });
    const dialog = make("dialog", { className: "compare", "aria-label": said("Two figures") }, close, make("div", { className: "both" }, ...both.map(b => b.column)));
    document.body.append(dialog);
    close.onclick = () => dialog.close();
    dialog.onclose = () => { dialog.remove(); document.querySelectorAll(".tools .compared").forEach(b => { b.textContent = said("compare"); }); };
    dialog.showModal();
    for (const { plot, one } of both) await begin(plot, one.json);
  };

  const tools = el => {
    const { data, layout } = JSON.parse(el.json), names = data.map(trace => trace.name).filter(Boolean);
    const change = (key, value) => { el.state[key] = value; redraw(el); };
    const field = (label, control) => make("label", {}, said(label) + " ", control);
    const choice = (label, key, options) => field(label, make("select", { onchange: e => change(key, e.target.value) },
      ...options.map(([value, shown]) => make("option", { value, textContent: said(shown) }))));
    const parts = [], upward = axes(layout, "y")[0] ?? {}, drawn = data.every(trace => ["scatter", "bar", undefined].includes(trace.type));
    if (new Set(names).size > 1) parts.push(field("series", make("input", { type: "search", size: 10, placeholder: said("all"), oninput: e => change("filter", e.target.value) })));
    if (drawn && (upward.type ?? "linear").match(/log|linear|-/)) parts.push(choice("axis", "scale", [["", "as printed"], ["log", "log"], ["linear", "linear"]]));
    if (drawn && el.unit) parts.push(choice("unit", "unit", [["", el.unit], ...Object.keys(UNITS[el.unit]).filter(u => u !== el.unit).map(u => [u, u])]));
    const known = [...new Set(data.flatMap(trace => Object.keys(statistics(trace))))];
    if (known.length) parts.push(choice("statistic", "statistic", [["", "as printed"], ...known.map(one => [one, one])]));
    const button = (label, act, className = "") => make("button", { type: "button", textContent: said(label), className, onclick: e => act(e.target) });
    parts.push(button("compare", target => compare(el, target), "compared"), button("reset", () => {
      el.state = { pins: [] };
      el.tools.querySelectorAll("select, input").forEach(control => { control.value = ""; });
      redraw(el);
    }), button("picture (SVG)", () => Plotly.downloadImage(el, { format: "svg", filename: "figure" })));
    return make("details", { className: "tools" }, make("summary", { textContent: said("Adjust") }),
      make("p", {}, ...parts, make("span", { textContent: said("Click a point to pin its value.") })));
  };

  const begin = async (el, json) => {
    el.json = json;
    el.state = { pins: [] };
    const { layout } = JSON.parse(json);
    el.unit = axes(layout, "y").map(axis => title(axis).match(/\((µs|[MG]B\/s)\)/)?.[1])[0];
    await show(el);
    return layout;
  };
  const draw = async el => {
    if (el.dataset.drawn) return;
    el.dataset.drawn = "1";
    const layout = await begin(el, el.querySelector("script").textContent);
    const notes = axes(layout, "x").map(title).filter(one => SMALL.test(one)).map(one => text(one.slice(one.search(SMALL))));
    if (notes.length) el.after(make("p", { className: "small", textContent: [...new Set(notes)].join(" ") }));
    el.before(el.tools = tools(el));
  };
  const byQuarto = () => document.querySelector("#quarto-content");  // which has links of headings, copies of code and marks
  const status = make("p", { role: "status", className: "said" });
  const say = words => { status.textContent = words; };

  const copy = async words => {   // from disk, a browser may have no clipboard to write to
    try { await navigator.clipboard.writeText(words); return true; } catch { /* the selection can be copied */ }
    const area = make("textarea", { value: words, className: "said", "aria-hidden": "true" }), before = document.activeElement;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before?.focus({ preventScroll: true });
    return done;
  };
  const copied = async (words, what) => say(said(await copy(words) ? `${what} copied` : "The browser allows no copy: select the text"));

  const copies = () => {
    for (const code of document.querySelectorAll("main pre, main li > code")) {
      const inline = code.localName === "code";
      if (inline ? !code.textContent.startsWith("labkit ") : byQuarto() || code.querySelector("pre")) continue;
      const button = make("button", { type: "button", className: "copy", textContent: said("copy"), "aria-label": inline ? said("Copy %", code.textContent) : said("Copy this code") });
      button.onclick = async () => {
        await copied(code.textContent.trim(), inline ? "Command" : "Code");
        button.textContent = said("copied");
        setTimeout(() => { button.textContent = said("copy"); }, 2000);
      };
      if (inline) { code.after(button); continue; }
      const box = make("div", { className: "copied" });
      code.replaceWith(box);
      box.append(code, button);
    }
  };

  const links = () => {
    const headings = byQuarto() ? "" : "section[id] > :is(h1, h2, h3, h4), ";
    for (const head of document.querySelectorAll(headings + ":is([id^='fig-'], [id^='tbl-']) :is(figcaption, caption)")) {
      const { id } = head.parentElement.closest("section[id], [id^='fig-'], [id^='tbl-']"), text = head.textContent.trim(), words = text.match(/^\S+\s[\w.]+(?=:)/)?.[0] ?? text;
      const link = make("a", { href: `#${id}`, className: "anchor", textContent: "#", title: said("Copy the link"), "aria-label": said("Copy the link to %", words.replace(/[:\s]+$/, "")) });
      link.onclick = () => { copied(link.href, "Link"); };
      if (head.querySelector(".anchor")) continue;
      head.append("\u00a0", link);
    }
  };
  const reach = () => {           // where the address leads: open what is folded around it
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* no address of ours */ }
    for (let e = target; e; e = e.parentElement) if (e.localName === "details") e.open = true;
    target?.scrollIntoView();
  };

  const follow = () => {          // mark the section that is read in the contents
    const entries = new Map([...document.querySelectorAll("aside li a, .menu li ul a")].map(a => [decodeURIComponent(a.hash.slice(1)), a]));
    const sections = [...document.querySelectorAll("main section[id]")].filter(one => entries.has(one.id));
    let now = null, asked = false;
    const mark = () => {
      asked = false;
      const begun = sections.filter(one => one.getBoundingClientRect().top < innerHeight / 4);
      const end = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
      const next = entries.get((end ? sections.at(-1) : begun.at(-1) ?? sections[0])?.id);
      if (next === now) return;
      now?.removeAttribute("aria-current");
      (now = next).setAttribute("aria-current", "location");
      const list = now.closest("aside, nav.chapters"), [place, around] = [now, list].map(e => e.getBoundingClientRect());
      if (place.top < around.top || place.bottom > around.bottom) list.scrollTop += place.top - around.top - around.height / 2;
    };
    addEventListener("scroll", () => { asked ||= !!requestAnimationFrame(mark); }, { passive: true });
    if (sections.length) mark();
  };

  const search = () => {          // over search.js, which is loaded when it is first asked for
    const side = [...document.querySelectorAll("nav.chapters, #quarto-sidebar")].find(one => one.offsetParent || one.offsetHeight);
    const place = side ?? document.querySelector("main#quarto-document-content");
    if (!place) return;
    const input = make("input", { type: "search", role: "combobox", placeholder: said("Search (/)"), autocomplete: "off", spellcheck: false,
      "aria-label": said("Search the report"), "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list" });
    const list = make("ul", { id: "found", role: "listbox", "aria-label": said("What was found"), hidden: true });
    let index = null, hits = [], at = -1;
    const load = () => index ??= new Promise(done => {
      document.head.append(make("script", { src: "search.js", onerror: () => done([]), onload: () => {
        const { pages, rows } = globalThis.labkitIndex;
        done(rows.map(([page, id, title, text]) => {
          const [url, name] = pages[page], first = rows.find(row => row[0] === page)[1] === id;
          return { url: id ? `${url}#${id}` : url, name, title, text, first, head: (title || name).toLowerCase(), body: text.toLowerCase() };
        }));
      } }));
    });
    const rank = (row, words) => {  // titles before texts, beginnings of words before what is within
      let sum = row.first ? 1 : 0;
      for (const word of words) {
        const place = row.head.indexOf(word);
        if (place < 0 && !row.body.includes(word)) return 0;
        sum += place < 0 ? 1 : place === 0 || row.head[place - 1] === " " ? 9 : 5;
      }
      return sum;
    };
    const marked = (text, words) => { // a piece of the text around the longest word
      const low = text.toLowerCase(), longest = words.filter(word => low.includes(word)).sort((a, b) => b.length - a.length)[0];
      const begin = longest ? Math.max(0, low.indexOf(longest) - 40) : 0, piece = text.slice(begin, begin + 130), parts = [begin ? "…" : ""];
      for (let rest = piece; rest;) {
        const first = words.map(word => [rest.toLowerCase().indexOf(word), word]).filter(([n]) => n >= 0).sort((a, b) => a[0] - b[0])[0];
        if (!first) { parts.push(rest); break; }
        parts.push(rest.slice(0, first[0]), make("mark", {}, rest.slice(first[0], first[0] + first[1].length)));
        rest = rest.slice(first[0] + first[1].length);
      }
      return parts;
    };
    const choose = next => {
      list.children[at]?.setAttribute("aria-selected", "false");
      at = hits.length ? (next + hits.length) % hits.length : -1;
      const one = list.children[at];
      one?.setAttribute("aria-selected", "true");
      one?.scrollIntoView({ block: "nearest" });
      if (one) input.setAttribute("aria-activedescendant", one.id); else input.removeAttribute("aria-activedescendant");
    };
    const open = shown => {
      list.hidden = !shown;
      input.setAttribute("aria-expanded", String(shown));
      const box = input.getBoundingClientRect();
      Object.assign(list.style, { top: `${box.bottom + 4}px`, left: `${Math.max(8, Math.min(box.left, innerWidth - list.offsetWidth - 8))}px` });
    };
    const go = hit => {
      open(false);
      input.blur();
      const same = new URL(hit.url, location.href).href === location.href;
      location.href = hit.url;
      if (same) reach();
    };
    const find = async () => {
      const rows = await load(), words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      hits = words.length ? rows.map(row => [rank(row, words), row]).filter(([n]) => n).sort((a, b) => b[0] - a[0]).slice(0, 30).map(([, row]) => row) : [];
      list.replaceChildren(...hits.map((hit, n) => make("li", { id: `found-${n}`, role: "option", "aria-selected": "false", onpointerdown: e => e.preventDefault(), onclick: () => go(hit) },
        make("strong", {}, hit.title || hit.name), make("span", {}, hit.first ? "" : hit.name), make("div", {}, ...marked(hit.text, words)))));
      if (words.length && !hits.length) list.append(make("li", { role: "option", "aria-disabled": "true" }, said(rows.length ? "Nothing has these words." : "search.js, the index beside this page, is missing.")));
      at = -1;
      open(words.length > 0);
      say(words.length ? said("% found", hits.length) : "");
    };
    Object.assign(input, { onfocus: load, oninput: find, onblur: () => open(false), onkeydown: event => {
      const act = { ArrowDown: () => choose(at + 1), ArrowUp: () => choose(at < 0 ? -1 : at - 1), Enter: () => hits.length && go(hits[Math.max(at, 0)]),
        Escape: () => { input.value = ""; open(false); input.blur(); } }[event.key];
      if (act) { event.preventDefault(); act(); }
    } });
    addEventListener("keydown", event => {
      if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input, select, textarea, dialog")) return;
      event.preventDefault();
      input.focus();
      input.select();
    });
    place.prepend(make("div", { role: "search", className: "search" }, input, list));
  };

  const around = () => {
    for (const [nav, name] of [[".quarto-secondary-nav", "Place in the book"], ["#quarto-sidebar", "Chapters"], [".page-navigation", "Pages before and after"]]) {
      document.querySelector(nav)?.setAttribute("aria-label", said(name));
    }
    for (const toggle of document.querySelectorAll("a[role=navigation]")) toggle.setAttribute("role", "button");
    for (const e of document.querySelectorAll(".skip, p.data > a, details.code > summary")) e.textContent = said(e.textContent);
    for (const e of document.querySelectorAll("nav.chapters, aside[aria-label]")) e.setAttribute("aria-label", said(e.getAttribute("aria-label")));
    links();
    copies();
    if (!byQuarto()) follow();
    search();
    addEventListener("hashchange", reach);
    reach();
  };

  // on a small screen the chapters fold, and hold the contents of the page that otherwise stand beside it
  const menu = () => {
    const list = document.querySelector(".menu"), contents = document.querySelector("aside > ul"), here = list?.querySelector(".here");
    if (!list) return;
    const small = matchMedia("(max-width: 760px)"), beside = matchMedia("(min-width: 1151px)");
    const place = () => { if (contents && here) (beside.matches ? document.querySelector("aside") : here.parentElement).append(contents); };
    const fold = () => { list.open = !small.matches; };
    small.addEventListener("change", fold);
    beside.addEventListener("change", place);
    list.addEventListener("click", event => { if (small.matches && event.target.closest("a")) list.open = false; });
    fold();
    place();
  };

  const slides = () => {            // one that is too high for the screen is drawn smaller; below a limit it scrolls
    if (!window.Reveal) return;
    const fit = () => {
      const slide = Reveal.getCurrentSlide(), high = Reveal.getConfig().height;
      if (!slide) return;
      Object.assign(slide.style, { zoom: "", maxHeight: "", overflowY: "" });
      for (let zoom = 1; slide.scrollHeight * zoom > high && zoom > LEAST;) {
        slide.style.zoom = zoom = Math.max(LEAST, zoom * Math.min(0.98, high / (slide.scrollHeight * zoom)));
        if (zoom === LEAST && slide.scrollHeight * zoom > high) Object.assign(slide.style, { maxHeight: `${high / zoom}px`, overflowY: "auto" });
      }
    };
    const changed = new ResizeObserver(fit);
    document.querySelectorAll(".reveal .slides > section").forEach(one => changed.observe(one));
    for (const when of ["ready", "slidechanged", "resize"]) Reveal.on(when, fit);
    fit();
  };

  const start = async () => {
    document.body.append(status);
    menu();
    slides();
    if (!window.Reveal) around();
    let moved = !location.hash || !!window.Reveal;     // a reader who goes on is not called back
    for (const when of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(when, () => { moved = true; }, { once: true, passive: true });
    const plots = [...document.querySelectorAll(".plot")], again = () => plots.filter(el => el.tools).forEach(redraw);
    const seen = new IntersectionObserver(entries => entries.forEach(e => e.isIntersecting && draw(e.target)));
    addEventListener("beforeprint", () => { printing = true; plots.forEach(el => el.tools ? redraw(el) : draw(el)); });
    addEventListener("afterprint", () => { printing = false; again(); });
    for (const what of ["(prefers-color-scheme: dark)", "(max-width: 760px)"]) matchMedia(what).addEventListener("change", again);
    new MutationObserver(again).observe(document.body, { attributeFilter: ["class"] });     // Quarto's switch
    const scrolls = () => document.querySelectorAll("table, pre, .table, figure").forEach(e => {     // by keyboard too
      const wide = e.scrollWidth > e.clientWidth;
      if (wide) e.tabIndex = 0;
      e.classList.toggle("scrolls", wide);
    });
    addEventListener("resize", scrolls);
    scrolls();
    for (const plot of plots) {
      if (!plot.offsetParent) { seen.observe(plot); continue; }
      try { await draw(plot); } catch (error) { console.error(error); }
      await new Promise(resolve => setTimeout(resolve));
    }
    if (!moved) reach();            // figures have grown
    document.body.dataset.plots = String(plots.filter(plot => plot.dataset.drawn).length);  // for whoever waits for them
  };
  document.readyState === "loading" ? addEventListener("DOMContentLoaded", start) : start();
})();
