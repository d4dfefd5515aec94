"""Whether the numbers of plot A's benchmark are good: what their path allows, what limits it, what to check next."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from labkit import benchmarks, figures
from labkit.apps.explorer import judged as told
from labkit.apps.explorer import live, store
from labkit.apps.explorer.session import Session
from labkit.apps.explorer.view import View
from labkit.errors import LabkitError, SpecError
from labkit.figures import style
from labkit.judge import answer, checking, rules
from labkit.judge import view as judged
from labkit.judge.finding import Finding
from labkit.judge.rule import OBSERVED, PLAUSIBILITY
from labkit.judge.sentences import whole
from labkit.models import bounds, costs, limits
from labkit.models.bounds import Stated
from labkit.models.limits import METRICS_OF_LATENCY, Limit
from labkit.point.notes import joined
from labkit.read import records
from labkit.read.columnar import of_samples
from labkit.store import campaign

TITLE, PLACE, ORDER = "Bounds", "under", 4


def build(session: Session) -> Any:
    """The panel."""
    wide = {"style": {"description_width": "initial"}}
    link = widgets.Text(description="link", placeholder="100gbit", layout={"width": "190px"}, **wide)
    mtu = widgets.Text(description="mtu", placeholder="1500", layout={"width": "130px"}, **wide)
    pcie = widgets.Text(description="pcie", placeholder="3x16", layout={"width": "140px"}, **wide)
    delay = widgets.Text(description="delay", placeholder="300ns", layout={"width": "150px"}, **wide)
    start = widgets.Button(description="Judge", tooltip="compare the benchmark of plot A with what its path allows")
    result = widgets.HTML(layout={"max_height": "420px", "overflow": "auto"})
    figure, about = live.blank(style.HEIGHT), session.subject

    def cleared() -> None:
        """Remove the verdicts on other points."""
        nonlocal about
        if about != (about := session.subject):
            result.value, box.children = "", (row, shown)

    def judged(button: Any) -> None:
        nonlocal about
        view, about = session.views.get("A"), session.subject
        try:
            texts = {"link": link.value.strip(), "pcie": pcie.value.strip(), "delay": delay.value.strip()}
            stated = Stated(mtu=_mtu(mtu.value.strip()), **texts)
            stated.check()
            session.stated = stated
            text, drawn = _answer(session.campaigns, view.benchmark if view else "", stated)
            result.value = text
            live.redraw(figure, drawn)
            box.children = (row, shown, figure)
        except (LabkitError, OSError) as error:
            result.value = html.escape(str(error))
            box.children = (row, shown)

    start.on_click(judged)
    for widget, name in ((link, "link"), (mtu, "mtu"), (pcie, "pcie"), (delay, "delay"), (start, "judge")):
        widget.add_class(f"lab-bounds-{name}")
    row = widgets.HBox([link, mtu, pcie, delay, start], layout={"flex_flow": "row wrap"})
    shown = result.add_class("lab-bounds-result")
    box = widgets.VBox([row, shown])
    session.on("view", cleared)
    return box


def _mtu(text: str) -> int:
    """Bytes of a frame's payload; 0 if it is not stated.

    Raises
    ------
    SpecError
        If it is not a whole number.
    """
    if text and not (text.isascii() and text.isdigit()):
        raise SpecError(f"mtu={text}, but it must be a whole number of bytes. Enter 1500, or leave it empty.")
    return int(text or 0)


def _answer(campaigns: Sequence[str], benchmark: str, stated: Stated) -> tuple[str, Any]:
    """Return the verdicts on a benchmark in some campaigns as HTML, and the figure with the bounds."""
    if not benchmark or not campaigns:
        raise SpecError("Plot A shows no benchmark. Select a campaign and a benchmark above.")
    if not bounds.bounded(benchmark):
        known = ", ".join(bounds.every_bounded())
        raise SpecError(f"No bounds are known for {benchmark}. They are known for {known}.")
    rows: list[tuple[str, Finding]] = []
    notes: list[str] = []
    tables, curves, metric = [], list[Limit](), _metric(benchmark)
    for name in campaigns:
        source = store.opened(name)
        some = list(source.samples(benchmark))
        if not some:
            continue
        table, known_costs = records.table(some, campaign=name), costs.read(source)
        summary, read = records.summary(table), of_samples(some, table)
        rows += [(name, one) for one in answer.of_paths(read, summary, stated, known_costs)]
        seen = judged.View(name, read.records, summary, read)
        notes += [*map(whole, checking.check(seen, rules.about(PLAUSIBILITY, *OBSERVED)))]
        curves += limits.limit_curves(some, metric, known_costs, stated)
        tables.append(table)
    if not tables:
        raise SpecError(f"The campaigns on show have no points of {benchmark}. Select others above.")
    view = View(campaigns=tuple(campaigns), benchmark=benchmark, metric=metric)
    drawn = view.figure(records.summary(store.joined(tables)))
    titles = campaign.titles(campaigns)
    return _html([(titles[name], one) for name, one in rows], notes), figures.bounded(drawn, curves)


def _metric(benchmark: str) -> str:
    """The metric of a benchmark that its bounds are of."""
    if bounds.directions_of(benchmark):
        return "bandwidth_MBps"
    return next(name for name in METRICS_OF_LATENCY if name in benchmarks.get(benchmark).metrics)


def _html(rows: Sequence[tuple[str, Finding]], notes: Sequence[str]) -> str:
    """Write verdicts, what may be behind them, and what else the numbers show."""
    several = len({name for name, _ in rows}) > 1
    verdicts = (told.verdict(f"{name}: {one.level}" if several else one.level, one) for name, one in rows)
    formulas = (f"{one.values['what']}: {one.values['how']}" for _, one in rows if "how" in one.values)
    parts = {
        "verdicts": told.items(verdicts),
        "bounds": told.items(map(html.escape, formulas)),
        "next": told.items(map(told.todo, answer.Answer("", tuple(one for _, one in rows)).steps)),
        "observed": told.items(map(html.escape, notes)),
    }
    lists = "".join(f"<b>{title}</b>{each}" for title, each in parts.items() if each)
    must = joined(dict.fromkeys(rules.every()[one.code].must for _, one in rows))
    return f"{lists}<p>{html.escape(must)}.</p>"
