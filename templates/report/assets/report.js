// Draws the plots one after another without blocking the page; those in hidden tabs when they are shown.
(() => {
  const draw = async el => {
    if (el.dataset.drawn) return;
    el.dataset.drawn = "1";
    const spec = JSON.parse(el.querySelector("script").textContent);
    const layout = {...spec.layout, autosize: true};
    delete layout.width;                             // fill the column
    await Plotly.newPlot(el, spec.data, layout, {responsive: true, displaylogo: false, ...spec.config});
  };
  const start = async () => {
    const plots = [...document.querySelectorAll(".plot")];
    const seen = new IntersectionObserver(entries => entries.forEach(e => e.isIntersecting && draw(e.target)));
    addEventListener("beforeprint", () => plots.forEach(draw));
    for (const plot of plots) {
      if (!plot.offsetParent) { seen.observe(plot); continue; }
      try { await draw(plot); } catch (error) { console.error(error); }
      await new Promise(resolve => setTimeout(resolve));
    }
    document.body.dataset.plots = String(plots.filter(plot => plot.dataset.drawn).length);  // for whoever waits for them
  };
  document.readyState === "loading" ? addEventListener("DOMContentLoaded", start) : start();
})();
