// A figure of which the page holds plotly's program once: asked for by the first, shared by all, and drawn from what
// the kernel shows by then, for what it changed while the program came is not told again.
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
        await answer(model, "change:_told", "state");
        await made.initialize({ model });
        return made;
      })();
    },
    async render({ model, el }) {
      return (await figure).render({ model, el });
    },
  };
};
