// Notebooks of labkit are written for Quarto: headings end in {#sec-latency}, text refers to @fig-latency, and a code
// cell has its label and caption in lines that begin with #|. This extension shows them in JupyterLab as headings,
// links with numbers, and captions. It changes what is displayed, never the notebook. A notebook that was only opened
// stays unchanged. The page that `labkit lab` opens on, and every page in a narrow window, gets the width of the file
// browser, which its icon opens again. It is written as JupyterLab loads it, so nothing has to be built.
(() => {
  const NAMES = { fig: "Figure", tbl: "Table" };
  const REFERENCE = /@((?:fig|tbl|sec)-[\w-]*\w)/g;
  const CITATION = /\[((?:@[\w:.-]+(?:;\s*)?)+)\]/g;
  const MARKS = /\s*\{[#.][^{}]*\}\s*$/;
  const WAIT = 150; // ms between two looks at the page
  const START = "_start/start.md"; // as in labkit/apps/cli/start.py
  const NARROW = 900; // px of a window in which the file browser leaves no room for a page
  // the pictures of the start page are drawn on white: in a dark theme they are drawn on black, in the same hues
  const DARK = `body[data-jp-theme-light="false"] .jp-RenderedMarkdown img.labkit-picture
    { filter: invert(1) hue-rotate(180deg) }
    @media (max-width: 600px) {
      .jp-RenderedMarkdown table:has(img.labkit-picture) { display: block; overflow-x: auto }
      .jp-RenderedMarkdown img.labkit-picture { width: 110px } }`;

  const sourceOf = cell => (cell.sharedModel ? cell.sharedModel.getSource() : String(cell.value && cell.value.text));

  // label → {text, cell, caption} for the figures, tables and sections of a notebook, in order
  function labels(content) {
    const found = new Map();
    const counts = { fig: 0, tbl: 0 };
    content.widgets.forEach(cell => {
      const source = sourceOf(cell.model);
      if (cell.model.type === "code") {
        const label = /^#\|\s*label:\s*((fig|tbl)-\S+)/m.exec(source);
        if (label) {
          const caption = new RegExp(`^#\\|\\s*${label[2]}-cap:\\s*"?(.*?)"?\\s*$`, "m").exec(source);
          const text = `${NAMES[label[2]]} ${++counts[label[2]]}`;
          found.set(label[1], { text, cell, caption: caption ? caption[1].replace(/\\"/g, '"') : "" });
        }
      } else {
        for (const heading of source.matchAll(/^#+\s+(.*?)\s*\{#(sec-[\w-]+)[^}]*\}\s*$/gm)) {
          found.set(heading[2], { text: `“${heading[1]}”`, cell, caption: "" });
        }
      }
    });
    return found;
  }

  function texts(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      if (!walker.currentNode.parentElement.closest("code, pre, a, .MathJax, .jp-tocItem-count")) {
        found.push(walker.currentNode);
      }
    }
    return found;
  }

  function link(panel, target) {
    const one = document.createElement("a");
    one.textContent = target.text;
    one.href = "#";
    one.className = "lab-reference";
    one.title = target.caption;
    one.addEventListener("click", event => {
      event.preventDefault();
      event.stopPropagation();
      panel.content.scrollToCell(target.cell, "start");
    });
    return one;
  }

  function refer(panel, node, known) {
    const text = node.textContent.replace(CITATION, (_, keys) => `[${keys.replace(/@/g, "").replace(/;\s*/g, ", ")}]`);
    if (text !== node.textContent) node.textContent = text;
    if (!node.textContent.match(REFERENCE)) return;
    const parts = document.createDocumentFragment();
    let end = 0;
    for (const match of text.matchAll(REFERENCE)) {
      const target = known.get(match[1]);
      parts.append(text.slice(end, match.index));
      parts.append(target ? link(panel, target) : match[1].replace(/^(fig|tbl|sec)-/, "") + " (in another notebook)");
      end = match.index + match[0].length;
    }
    parts.append(text.slice(end));
    node.replaceWith(parts);
  }

  // the heading's text, followed by JupyterLab's link to it
  function head(heading) {
    for (const node of texts(heading).reverse()) {
      if (MARKS.test(node.textContent)) {
        node.textContent = node.textContent.replace(MARKS, "");
        return;
      }
    }
  }

  function caption(target) {
    const shown = target.cell.outputArea && target.cell.outputArea.model.length > 0;
    let place = target.cell.node.querySelector(":scope > .lab-caption");
    if (!shown || !target.caption) {
      if (place) place.remove();
      return;
    }
    if (!place) {
      place = document.createElement("div");
      place.className = "lab-caption";
      place.style.cssText = "margin: 4px 0 12px 72px; font-style: italic; color: var(--jp-ui-font-color1)";
      target.cell.node.append(place);
    }
    const text = `${target.text}: ${target.caption}`;
    if (place.textContent !== text) place.textContent = text;
  }

  function look(app) {
    for (const panel of app.shell.widgets("main")) {
      const content = panel.content;
      if (!content || !content.widgets || !content.model || !content.model.cells) continue;
      const known = labels(content);
      panel.node.querySelectorAll(".jp-RenderedMarkdown").forEach(one => {
        one.querySelectorAll("h1, h2, h3, h4").forEach(head);
        texts(one).forEach(node => refer(panel, node, known));
      });
      known.forEach(caption);
    }
    document.querySelectorAll(".jp-tocItem-content").forEach(head);
  }

  // A kernel that starts writes its language with its version, and the name by which it is shown, into the notebook.
  // JupyterLab then calls the notebook changed. Only another kernel is a change.
  function calm(panel, context) {
    context.model.metadataChanged.connect((model, change) => {
      const { key, oldValue, newValue } = change;
      const same = key === "language_info" || (key === "kernelspec" && oldValue && newValue && oldValue.name === newValue.name);
      if (same && !model.dirty) queueMicrotask(() => (model.dirty = false)); // JupyterLab marks it after this
    });
  }

  const plugin = {
    id: "labkit-prose:plugin",
    autoStart: true,
    activate: app => {
      app.docRegistry.addWidgetExtension("Notebook", { createNew: calm });
      let waits = false;
      const soon = () => {
        if (waits) return;
        waits = true;
        setTimeout(() => {
          waits = false;
          look(app);
        }, WAIT);
      };
      app.restored.then(() => {
        const starts = decodeURIComponent(location.pathname).endsWith(START);
        if (starts || window.innerWidth < NARROW) app.shell.collapseLeft();
        document.head.appendChild(document.createElement("style")).textContent = DARK;
        new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
        soon();
      });
    }
  };

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB["labkit-prose"] = {
    init: () => undefined,
    get: async () => () => ({ __esModule: true, default: plugin })
  };
})();
