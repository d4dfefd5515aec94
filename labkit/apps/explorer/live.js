// A figure whose page loads plotly's program once: the first figure requests it, and all share it. The figure then
// requests the kernel's present state, because changes made while the program loaded are not sent again.
const page = (globalThis.labkitFigures ??= {});

function answer(model, event, question) {
  return new Promise((resolve) => {
    const hear = (content, buffers) => {
      model.off(event, hear);
      resolve(buffers);
    };
    model.on(event, hear);
    model.send({ ask: question });
  });
}

async function program(model) {
  const [code] = await answer(model, "msg:custom", "program");
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const loaded = await import(url);
  URL.revokeObjectURL(url);
  return loaded.default;
}

const plain = (text) => new DOMParser().parseFromString(text.replaceAll("<br>", " "), "text/html").body.textContent;

// Height of a point: of a box its median.
const heights = (trace) => trace?.y ?? trace?.median;

// How the parts of a box are called.
const BOX = [["median", "median"], ["quartiles", "q1", "q3"], ["whiskers", "lowerfence", "upperfence"]];

const brief = (value) => (typeof value === "number" ? String(Number(value.toPrecision(4))) : String(value));

// What a point says: the template that the kernel put into the trace's meta, filled in; else its place on both axes.
function words(figure, curve, index) {
  const trace = figure._fullData[curve], { name } = figure.data[curve], { xaxis, yaxis } = figure._fullLayout;
  if (trace.meta?.hover === undefined) {
    const title = (axis) => (axis.title?.text ?? "").split("<br><span")[0].replaceAll("<br>", " ");
    const [right, up] = [xaxis, yaxis].map((axis) => plain(title(axis)));
    const values = (names) => names.map((name) => brief(trace[name][index])).join(" to ");
    const place = trace.median
      ? [up, ...BOX.filter(([, name]) => trace[name]).map(([word, ...names]) => `${word}: ${values(names)}`)]
      : [`${up}: ${brief(trace.y[index])}`];
    return [plain(name ?? ""), `${right}: ${brief(trace.x[index])}`, ...place].filter(Boolean).join("\n");
  }
  const cells = trace.customdata?.[index] ?? [];
  const text = trace.meta.hover.replace(/%\{customdata\[(\d+)\]\}/g, (_, n) => cells[n] ?? "");
  return [name, ...text.split("<br>")].map(plain).filter(Boolean).join("\n");
}

function pixels(figure, trace, index) {
  const { xaxis, yaxis } = figure._fullLayout;
  const beside = trace.median && figure.calcdata?.[trace.index]?.[0]?.t?.bPos; // boxes of a rank stand side by side
  const across = beside ? xaxis.c2p(xaxis.d2c(trace.x[index]) + beside, true) : xaxis.d2p(trace.x[index]);
  return [xaxis._offset + across, yaxis._offset + yaxis.d2p(heights(trace)[index])];
}

const seen = (trace) =>
  trace?.x && heights(trace) && trace.hoverinfo !== "skip" && ![false, "legendonly"].includes(trace.visible);
const speaks = (trace) => trace?.meta?.hover !== undefined && seen(trace);

// Ends of what stands at a point, upward: of a box its whiskers, of a bar its foot.
function ends(figure, trace, index, [x, y]) {
  const { yaxis } = figure._fullLayout, down = yaxis._offset + yaxis._length;
  const at = (value) => (Number.isFinite(value) ? yaxis._offset + yaxis.d2p(value) : y);
  if (trace.median) return [[x, at(trace.lowerfence?.[index])], [x, at(trace.upperfence?.[index])]];
  return trace.type === "bar" ? [[x, y], [x, Math.max(y, down)]] : undefined;
}

// Pieces of all lines, bars and boxes near a place, in pixels.
function pieces(figure, left) {
  const found = [], near = ([x]) => x < left + 330 && x > left - 330;
  for (const trace of figure._fullData.filter(seen)) {
    let before;
    for (let n = 0; n < trace.x.length; n++) {
      const here = !Number.isFinite(heights(trace)[n]) ? undefined : pixels(figure, trace, n);
      const alone = here && ends(figure, trace, n, here);
      if (alone && near(here)) found.push(alone);
      if (!alone && here && before && Math.min(here[0], before[0]) < left + 330 && Math.max(here[0], before[0]) > left - 330)
        found.push([before, here]);
      before = here;
    }
  }
  return found;
}

// Boxes of the titles of the axes, from the corner of the figure.
function titles(figure) {
  const { left, top } = figure.getBoundingClientRect();
  return [...figure.querySelectorAll(".g-xtitle text, .g-ytitle text")].map((text) => {
    const box = text.getBoundingClientRect();
    return { left: box.left - left, top: box.top - top, width: box.width, height: box.height };
  });
}

const meet = (one, other) =>
  one.left < other.left + other.width && other.left < one.left + one.width &&
  one.top < other.top + other.height && other.top < one.top + one.height;

// How many steps along a piece lie inside a box.
function inside([[x, y], [u, v]], box) {
  let count = 0;
  for (let part = 0; part <= 1; part += 1 / 16) {
    const a = x + (u - x) * part, b = y + (v - y) * part;
    if (a > box.left - 3 && a < box.left + box.width + 3 && b > box.top - 3 && b < box.top + box.height + 3) count++;
  }
  return count;
}

function placed(figure, [x, y], width, height) {
  const lines = pieces(figure, x), kept = titles(figure), right = figure.clientWidth, bottom = figure.clientHeight;
  const covers = (box) => lines.reduce((sum, piece) => sum + inside(piece, box), 0);
  let best, least = Infinity;
  for (const far of [12, 28, 56, 90])
    for (const [across, down] of [[1, -1], [-1, -1], [1, 1], [-1, 1], [0, -1], [0, 1]]) {
      const left = across > 0 ? x + far : across < 0 ? x - far - width : x - width / 2;
      const top = down < 0 ? y - far - height : y + far;
      const box = { left, top, width, height };
      const out = left < 0 || top < 0 || left + width > right || top + height > bottom ? 1000 : 0;
      const cost = out + far / 200 + covers(box) + 100 * kept.filter((title) => meet(title, box)).length;
      if (cost < least) [best, least] = [box, cost];
    }
  return best;
}

// Texts beside points, by mouse and by arrow keys; Enter chooses a point as a click does.
function speaking(model, el) {
  const hint = Object.assign(document.createElement("div"), { className: "lab-hover", hidden: true });
  const said = Object.assign(document.createElement("div"), { className: "lab-said" });
  said.setAttribute("aria-live", "polite");
  hint.setAttribute("aria-hidden", "true");
  let at = null, aloud = false;
  const hide = () => (hint.hidden = true);
  // The kernel knows what a measured point says, with the digits that its interval allows.
  model.on("msg:custom", ({ said: text, curve, point }) => {
    if (text === undefined || at?.[0] !== curve || at?.[1] !== point) return;
    if (text && !hint.hidden) put(curve, point, text);
    if (aloud) said.textContent = text || hint.textContent;
  });
  const show = (curve, index) => {
    if (!seen(el._fullData[curve])) return hide();
    put(curve, index, words(el, curve, index));
    if (speaks(el._fullData[curve])) model.send({ ask: "say", curve, point: index });
    else if (aloud) said.textContent = hint.textContent;
  };
  const put = (curve, index, text) => {
    const full = el._fullData[curve];
    hint.textContent = text;
    hint.style.setProperty("--line", full.marker?.color?.at?.(0) === "#" ? full.marker.color : full.line?.color);
    hint.hidden = false;
    const box = placed(el, pixels(el, full, index), hint.offsetWidth, hint.offsetHeight);
    Object.assign(hint.style, { left: `${box.left}px`, top: `${box.top}px` });
    at = [curve, index];
  };
  const points = (curve) => {
    const up = heights(el._fullData[curve]) ?? [];
    return [...up.keys()].filter((n) => Number.isFinite(up[n]));
  };
  const across = (curve, n) => pixels(el, el._fullData[curve], n)[0]; // categories have places, but no distances
  const move = (key) => {
    const curves = [...el._fullData.keys()].filter((n) => seen(el._fullData[n]) && points(n).length);
    if (!curves.length) return false;
    let [curve, index] = at ?? [curves[0], -1];
    if (!curves.includes(curve)) [curve, index] = [curves[0], -1];
    const here = points(curve), place = here.indexOf(index);
    if (key === "ArrowRight") index = here[Math.min(place + 1, here.length - 1)];
    else if (key === "ArrowLeft") index = here[Math.max(place - 1, 0)];
    else if (key === "Home") index = here[0];
    else if (key === "End") index = here.at(-1);
    else {
      const step = key === "ArrowDown" ? 1 : -1, x = across(curve, Math.max(index, 0));
      curve = curves[(curves.indexOf(curve) + step + curves.length) % curves.length];
      const near = (n) => Math.abs(across(curve, n) - x);
      index = points(curve).reduce((a, b) => (near(b) < near(a) ? b : a));
    }
    aloud = true;
    show(curve, index);
    return true;
  };
  el.classList.add("lab-figure");
  el.tabIndex = 0;
  el.setAttribute("role", "application");
  el.setAttribute("aria-label", "Plot. Arrow keys go from point to point and from line to line, Enter looks into one.");
  el.addEventListener("keydown", (event) => {
    if (event.target !== el) return;
    if (/^(Arrow|Home|End)/.test(event.key) && move(event.key)) event.preventDefault();
    else if (event.key === "Enter" && at) model.send({ ask: "press", curve: at[0], point: at[1] });
    else if (event.key === "Escape") hide();
  });
  el.addEventListener("blur", hide);
  el.append(hint, said);
  el.on("plotly_hover", ({ points: [point] }) => {
    aloud = false;
    if (point.fullData.hoverinfo === "none") show(point.curveNumber, point.pointNumber);
  });
  el.on("plotly_unhover", hide);
  el.on("plotly_relayout", hide);
  const brush = (event) => {
    const inside = event?.points.filter(({ fullData }) => speaks(fullData)) ?? [];
    model.send({ ask: "brush", points: inside.map((one) => [one.curveNumber, one.pointNumber]) });
  };
  el.on("plotly_selected", brush);
  el.on("plotly_deselect", () => brush());
}

export default () => {
  let figure;
  return {
    initialize({ model }) {
      figure = (async () => {
        const made = (await (page.program ??= program(model)))();
        await answer(model, "change:_requests", "state");
        await made.initialize({ model });
        return made;
      })();
    },
    async render({ model, el }) {
      const end = await (await figure).render({ model, el });
      const begin = () => (el.on ? speaking(model, el) : requestAnimationFrame(begin)); // plotly begins a little later
      begin();
      // plotly looks at the width of its place when it is made and when the window changes, not when the place does
      let told = "";
      const tell = () => { // so that the kernel gives the legend its rows, or writes names beside lines
        const width = 10 * Math.round(el.clientWidth / 10), narrow = (el.closest(".lab-explorer") ?? el).clientWidth <= 720;
        if (narrow) delete el._fullLayout?._reservedMargin?.legend; // plotly keeps the room of a legend that goes
        if (width && told !== (told = `${width} ${narrow}`)) model.send({ ask: "size", width, narrow });
      };
      const place = new ResizeObserver(() => {
        tell();
        const drawn = el._fullLayout?.width;
        if (drawn && el.clientWidth && drawn !== el.clientWidth) globalThis.dispatchEvent(new Event("resize"));
      });
      place.observe(el);
      return () => {
        place.disconnect();
        end?.();
      };
    },
  };
};
