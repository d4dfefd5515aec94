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
      // plotly looks at the width of its place when it is made and when the window changes, not when the place does
      const place = new ResizeObserver(() => {
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
