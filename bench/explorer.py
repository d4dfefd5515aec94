"""Measure how long the Explorer takes to answer. Prints milliseconds, asserts nothing.

    python bench/explorer.py [--samples 1000000] [--points 10000] [--rounds 21] [--kernel | --start]

It times the process alone, then the start from the command to a page with its first point, then the whole way in a
headless Chromium: from the choice in the page until plotly has redrawn for the last time.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import psutil

from labkit import figures
from labkit.apps.explorer import live, values
from labkit.apps.explorer.live import Long
from labkit.apps.explorer.panels import point
from labkit.apps.explorer.store import Store
from labkit.apps.explorer.view import View
from labkit.io.project import SHIPPED
from labkit.point.columns import STATISTICS
from labkit.store import campaign

EXAMPLE = SHIPPED / "data" / "campaigns" / "examples" / "two-cores"
PLOT, POINT = ".lab-plot-A .js-plotly-plot", ".lab-point-panel .js-plotly-plot"
# state of a figure that an answer must change
SHOWN = {
    "title": "g => g.layout.yaxis.title.text",
    "kind": "g => g._fullLayout.yaxis.type",
    "data": "g => [...g.data.slice(0, 2)].map(t => `${t.x.length} ${t.x[3]} ${t.y[3]}`).join()",
}
WATCH = """([select, shown, kind]) => {
  const g = document.querySelector(select), state = eval(shown), before = state(g);
  let began, last, timer;
  document.addEventListener(kind, () => { began = performance.now() }, {capture: true, once: true});
  window.labAnswer = new Promise((done, fail) => {
    setTimeout(fail, 30000, 'the plot stays as it is'); const seen = () => {
    if (began === undefined || state(g) === before) return;
    last = performance.now(); clearTimeout(timer);
    timer = setTimeout(() => { g.removeListener('plotly_afterplot', seen); done(last - began) }, 400) };
    g.on('plotly_afterplot', seen) }) }"""
PLACE = """([select, i]) => {
  const g = document.querySelector(select), f = g._fullLayout, r = g.getBoundingClientRect(), t = g.data[0];
  return [r.x + f._size.l + f.xaxis.d2p(t.x[i]), r.y + f._size.t + f.yaxis.d2p(t.y[i])] }"""
AXES = """(select) => {
  const g = document.querySelector(select), s = g._fullLayout._size, r = g.getBoundingClientRect();
  return [r.x + s.l, r.y + s.t, s.w, s.h] }"""


def print_times(action: str, work: Callable[[], object], rounds: int) -> None:
    """Print the median time of a call, and its processor time, which a busy machine lengthens less."""
    times = []
    for _ in range(rounds):
        began, computing = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - began, time.process_time() - computing))
    whole, processor = np.median(times, axis=0) * 1e3
    print(f"{action:50}{whole:8.1f} ms {processor:8.1f} ms")


def lengthened(samples: int, root: Path) -> None:
    """Make a simulated campaign of points with many samples, which are random numbers."""
    rng, source, long = np.random.default_rng(1), campaign.Campaign(EXAMPLE), campaign.Campaign(root / "long")
    for number, (benchmark, fingerprint, launch) in enumerate(sorted(source.done())):
        if (benchmark, launch) == ("mpi.latency", 0):
            (measured,) = source.samples(benchmark, {(fingerprint, launch)})
            if measured.n and measured.spec.transport == "shm":
                times = rng.lognormal(7 + number / 99, size=(len(measured.ranks), samples)).astype(np.int64)
                long.save(dataclasses.replace(measured, time_ns=times, extras={}, origin="simulated"), fingerprint)


def computing() -> Any:
    """Processor time of `labkit explore` and of the page so far, ms."""
    spent = {" explore ": 0.0, "--type=renderer": 0.0}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            words = " ".join(process.cmdline())
            for name in spent:
                if name in words:
                    spent[name] += sum(process.cpu_times()[:2]) * 1e3
    return np.array(list(spent.values()))


class Reader:
    """A reader who chooses, clicks and zooms in the page; every action is timed."""

    def __init__(self, page: Any, rounds: int) -> None:
        self._page, self._rounds = page, rounds

    def print_times(self, action: str, act: Callable[[int], None], plot: str, shown: str, kind: str) -> None:
        """Print the median time from the event of an action until its plot has changed.

        The line also has the processor times of kernel and page, which a busy machine lengthens less. They include
        moving the mouse and drawing after plotly has ended.
        """
        times = []
        for number in range(self._rounds + 1):
            self._page.wait_for_timeout(500)
            before = computing()
            self._page.evaluate(WATCH, [plot, SHOWN[shown], kind])
            act(number)
            times.append((self._page.evaluate("window.labAnswer"), *(computing() - before)))
        (whole, kernel, page), longest = np.median(times[1:], axis=0), np.max(times[1:], axis=0)[0]
        print(f"{action:50}{whole:8.1f} ms {longest:8.1f} ms {kernel:8.0f} ms {page:8.0f} ms")

    def choose(self, field: str, *values: str) -> Callable[[int], None]:
        """Choose one value of a list after the other."""
        return lambda number: self._page.locator(f".{field}-A select").select_option(values[number % len(values)])

    def click(self, number: int) -> None:
        """Click on one of three points."""
        x, y = self._page.evaluate(PLACE, [PLOT, 2 + number % 3])
        hover = self._page.locator(".lab-plot-A .lab-hover")
        self._page.mouse.move(5, 5)
        hover.wait_for(state="hidden")
        self._page.mouse.move(x - 4, y)
        self._page.mouse.move(x, y)
        hover.wait_for(state="visible")
        self._page.mouse.click(x, y)

    def zoom(self, number: int) -> None:
        """Drag over a part of the iterations that the plot shows."""
        left, top, width, height = self._page.evaluate(AXES, POINT)
        self._page.mouse.move(left + width * 0.3, top + height / 2)
        self._page.mouse.down()
        self._page.mouse.move(left + width * 0.5, top + height / 2, steps=4)
        self._page.mouse.move(left + width * (0.6 + number % 3 / 10), top + height / 2)
        self._page.mouse.up()

    def view(self, *names: str) -> Callable[[int], None]:
        """Look at a point in another way."""
        return lambda number: self._page.locator(".lab-views").get_by_text(names[number % len(names)]).click()


def chromium(play: Any) -> Any:
    """Start the browser."""
    program = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
    return play.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])


@contextmanager
def explored(campaign: str) -> Iterator[str]:
    """Run `labkit explore`; yields the address of its page, which a browser can load by then."""
    argv = [sys.executable, "-u", str(Path(sys.executable).with_name("labkit")), "explore", campaign, "--no-browser"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield next(line.strip() for line in process.stderr or () if "http://" in line)
        finally:
            process.terminate()


def start(rounds: int) -> None:
    """Print the times from `labkit explore` until it opens a browser, and until the page has its first point.

    The browser runs before, as a reader's does, and has an empty cache.
    """
    from playwright.sync_api import sync_playwright

    times = []
    with sync_playwright() as play:
        browser = chromium(play)
        for _ in range(rounds):
            began = time.perf_counter()
            with explored(str(EXAMPLE)) as url:
                waited = time.perf_counter() - began
                page = browser.new_page(viewport={"width": 1400, "height": 900})
                page.set_default_timeout(120_000)
                count: list[Any] = []
                page.on("request", lambda request, count=count: count.append(request))
                page.goto(url)
                page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
                times.append((waited, time.perf_counter() - began, len(count)))
                page.context.close()
        browser.close()
    first, usable, requests = np.median(times, axis=0)
    head = f"start of labkit explore, load {os.getloadavg()[0]:.1f}"
    print(f"\n{head:50}{'loadable':>11}{'usable page':>14}{'requests':>12}")
    print(f"{f'median of {rounds}':50}{first:9.1f} s {usable:12.1f} s {requests:11.0f}")


def whole(samples: int, rounds: int) -> None:
    """Print the times of a reader."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as root, sync_playwright() as play:
        shutil.copytree(EXAMPLE, Path(root) / "two-cores")
        lengthened(samples, Path(root))
        os.environ[campaign.HOME] = root
        with explored("two-cores") as url:
            browser = chromium(play)
            page = browser.new_page(bypass_csp=True, viewport={"width": 1600, "height": 1600})
            page.set_default_timeout(45_000)
            page.goto(url)
            page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
            load = f"in the page, load {os.getloadavg()[0]:.1f}"
            print(f"\n{load:50}{'median':>11}{'longest':>12}{'process':>12}{'browser':>12}")
            reader = Reader(page, rounds)
            statistics = [STATISTICS[name].label for name in ("p99", "p50")]
            reader.print_times(
                "another statistic", reader.choose("lab-statistic", *statistics), PLOT, "title", "change"
            )
            page.locator(".lab-plot-A").get_by_role("button", name="scales, groups and filter").click()
            scale = reader.choose("lab-y-log", "linear", "logarithmic")
            reader.print_times("switch of scale", scale, PLOT, "kind", "change")
            for name in ("long", "two-cores"):  # select the first, deselect the second
                page.locator(".lab-campaigns").get_by_text(name).click()
            page.wait_for_function(f"document.querySelector('{PLOT}').data.length === 2")  # a line and the marks
            reader.click(1)
            page.locator(".lab-point-panel .main-svg .trace").first.wait_for()
            page.locator(POINT).scroll_into_view_if_needed()
            action = f"click on a point of {samples} samples: distribution"
            reader.print_times(action, reader.click, POINT, "data", "mouseup")
            views = reader.view("histogram", "over iterations")
            reader.print_times("another view of that point", views, POINT, "data", "click")
            reader.view("over iterations")(0)
            page.wait_for_timeout(1000)
            reader.print_times("zoom in its iterations", reader.zoom, POINT, "data", "mouseup")
            browser.close()


def main() -> None:
    """Print all times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--kernel", action="store_true", help="time the kernel alone")
    parser.add_argument("--start", action="store_true", help="time the start alone")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # started as users start it
    if not options.start:
        kernel(options)
    if not options.kernel:
        start(min(options.rounds, 5))
    if not options.kernel and not options.start:
        whole(options.samples, min(options.rounds, 9))


def crowded(summary: pd.DataFrame, points: int, lines: int = 40) -> pd.DataFrame:
    """Return a table of many points in some lines, whose values are random numbers."""
    sizes = points // lines
    rows = pd.concat([summary.head(1)] * (lines * sizes), ignore_index=True)
    rows["message_size_B"] = np.tile(np.arange(1, sizes + 1) * 8, lines)
    rows["ranks"] = np.repeat(np.arange(2, lines + 2), sizes)
    rows["fingerprint"] = [f"{number:016x}" for number in range(len(rows))]
    spread = np.random.default_rng(1).lognormal(size=len(rows))
    columns = [name for name in rows if name.startswith("latency_us_")]
    rows[columns] = rows[columns].mul(spread, axis=0)
    return rows


def kernel(options: argparse.Namespace) -> None:
    """Print the times of the kernel's side."""
    rng = np.random.default_rng(1)
    long = Long({f"rank {rank}": rng.lognormal(size=options.samples) for rank in range(2)}, live.POINTS // 2)
    figure = live.blank(380)
    figure.add_scatter(name="rank 0")
    figure.add_scatter(name="rank 1")
    print(f"{'':50}{'time':>11}{'computing':>12}")
    every = f"{options.samples} samples of 2 ranks, all of them"
    print_times(every, lambda: long.show(figure, 0, options.samples), options.rounds)
    ends = options.samples // 3, options.samples // 2
    print_times("the same, zoomed into a sixth", lambda: long.show(figure, *ends), options.rounds)

    example = str(campaign.find(EXAMPLE))
    shown, store = View(campaigns=(example,), benchmark="mpi.latency", metric="latency_us"), Store()
    plot = live.blank(430)
    print_times("first look at a campaign", lambda: store.summary([example], "mpi.latency"), 1)
    summary = store.summary([example], "mpi.latency")
    print_times(
        "another statistic or scale", lambda: live.redraw(plot, shown.figure(summary, hover=False)), options.rounds
    )

    many, crowd = crowded(summary, options.points), live.blank(430)
    for statistic in ("p50", "p99"):  # the first look splits the lines
        live.redraw(crowd, dataclasses.replace(shown, statistic=statistic).figure(many, hover=False))
    turn = itertools.cycle(dataclasses.replace(shown, statistic=name) for name in ("p50", "p99"))
    print_times(
        f"another statistic of {options.points} points",
        lambda: live.redraw(crowd, next(turn).figure(many, hover=False)),
        options.rounds,
    )
    print_times("a sorted page of their table", lambda: values.page(shown, many, sort=values.SHOWN), options.rounds)

    measured = next(s for s in campaign.Campaign(example).samples("mpi.latency") if s.n)
    times = rng.lognormal(7, size=(len(measured.ranks), options.samples)).astype(np.int64)
    big, point_plot = dataclasses.replace(measured, time_ns=times), live.blank(380)
    views: dict[str, Callable[[], go.Figure]] = {
        "distribution": lambda: figures.distribution([big], "latency_us"),
        "histogram": lambda: point.histogram(big, "latency_us"),
        "iterations": lambda: point.over_iterations(big)[0],
        "ranks": lambda: figures.per_rank([big]),
    }
    for name, draw in views.items():
        action = f"point of {options.samples} samples: {name}"
        print_times(action, lambda draw=draw: live.redraw(point_plot, draw()), options.rounds)  # type: ignore[misc]


if __name__ == "__main__":
    main()
