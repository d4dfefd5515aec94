"""What a reader of the Explorer does: tables, pins, units, comparisons, filters, links, files to take away."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pyarrow.parquet as pq
import pytest

from labkit import __version__, figures
from labkit.apps.explorer import (
    code,
    drawing,
    export,
    leading,
    measurement,
    origin,
    pace,
    panels,
    relation,
    state,
    store,
    theme,
    values,
    whole,
)
from labkit.apps.explorer.panels import answer as answers
from labkit.apps.explorer.panels import export as export_panel
from labkit.apps.explorer.panels import point as point_panel
from labkit.apps.explorer.panels.measure import _Measure as Measure
from labkit.apps.explorer.panels.verdict import _Verdict as Verdict
from labkit.apps.explorer.session import Session
from labkit.apps.explorer.store import Store
from labkit.apps.explorer.view import View, metrics_of
from labkit.apps.show import answered
from labkit.errors import DataError, LabkitError, SpecError
from labkit.figures import looks, small_print
from labkit.io.project import SHIPPED
from labkit.judge import sentences
from labkit.judge.answer import Topic
from labkit.judge.finding import Value
from labkit.point import units
from labkit.point.columns import METRICS
from labkit.run import estimate
from labkit.run.estimate import Estimate
from labkit.run.progress import Progress
from labkit.store import campaign
from tests import made
from tests.waiting import until

LATENCY = View(campaigns=("two-cores",), benchmark="mpi.latency", metric="latency_us", statistic="p50")


@pytest.fixture(autouse=True)
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of campaigns with one example."""
    monkeypatch.setenv(campaign.HOME, str(tmp_path / "campaigns"))
    return Path(shutil.copytree(SHIPPED / "data/campaigns/examples/two-cores", tmp_path / "campaigns" / "two-cores"))


class Page:
    """The panels without a browser."""

    def __init__(self, *names: str) -> None:
        self.session = Session(list(names or ("two-cores",)))
        wanted = ("campaigns", "compare", "point", "table")
        for panel in panels.find():
            if panel.__name__.rpartition(".")[2] in wanted:
                panel.build(self.session)
        self.session.tell("campaigns")
        self.session.remember()

    def part(self, event: Any, kind: str) -> Any:
        """A listener's owner by its class; of plots the first."""
        owners = (getattr(one, "__self__", None) for one in self.session._listeners[event])
        return next(one for one in owners if type(one).__name__ == kind)

    @property
    def plot(self) -> Any:
        return self.part("data", "_Plot")


def test_the_panel_shows_the_code_that_draws_the_plot() -> None:
    session = Session(["two-cores"])
    session.views["A"] = View(campaigns=("two-cores",), benchmark="mpi.latency", metric="latency_us")
    *_, folds = export_panel.build(session).children
    folds.buttons[0].value = True
    (lines,) = folds.children[1].children
    assert "figures.versus_size(summary, &#x27;latency_us&#x27;" in lines.value


@pytest.mark.slow
def test_points_are_read_pinned_and_told_in_words() -> None:
    page = Page()
    plot, point, table = page.plot, page.part("point", "_Point"), page.part("view", "Table")
    shm, tcp = (next(n for n, t in enumerate(plot.figure.data) if t.name == f"{path}, c") for path in ("shm", "tcp"))
    eight = list(plot.figure.data[shm].x).index(8)
    plot._pressed(shm, eight)
    text = point.facts.value
    for word in ("median", "95th percentile", "99th percentile", "maximum", "n = ", "one way: half of an iteration"):
        assert word in text
    assert "all lines at 8 B" in point.at.value
    assert {"shm, c", "tcp, c"} <= set(re.findall(r"'row'>([^<]*)<", point.at.value))
    ring = plot.figure.data[-1]
    assert (list(ring.x), list(ring.y)) == ([8.0], [plot.figure.data[shm].y[eight]])
    page.session.pin(page.session.chosen)
    plot._pressed(tcp, list(plot.figure.data[tcp].x).index(8))
    legend = [trace for trace in point.figure.data if trace.showlegend]
    assert [trace.name for trace in legend] == ["tcp: 6 launches", "shm: 6 launches"], "an entry a point"
    lines = [trace for trace in point.figure.data if trace.mode == "lines"]
    assert len(lines) == 12
    assert len({trace.line.color for trace in lines}) == 2
    assert len(plot.figure.data[-1].x) == len(table.marked) == 2
    page.session.pin(page.session.chosen)
    other = Page()
    other.session.show(page.session.state)
    assert other.session.pinned == page.session.pinned, "a pinned point that was clicked is there once"
    page.session.pin(page.session.chosen)
    point.pins.children[0].click()
    assert len(plot.figure.data[-1].x) == 1
    plot.unit.value = "ns"
    assert plot.figure.layout.yaxis.title.text == "latency, median (ns)"
    assert plot._said(shm, eight).splitlines()[1].startswith("8 B: ")
    assert table.head[3]["title"] == "median (ns)"
    point.shown.value = "over iterations"
    assert "whole iteration, which is a round trip" in point.meaning.value


def test_the_table_is_sorted_and_searched() -> None:
    summary = Store().summary(["two-cores"], "mpi.latency")
    every = values.page(LATENCY, summary, sort=values.SHOWN)
    shown = [one["name"] for one in every.head].index(values.SHOWN)
    medians = [float(one["cells"][shown].replace(",", "")) for one in every.rows]
    assert medians == sorted(medians)
    assert (every.found, every.total) == (len(summary), len(summary))
    falling = values.page(LATENCY, summary, sort=values.SHOWN, falling=True, most=1)
    assert len(falling.rows) == 1
    assert falling.rows[0]["key"] == every.rows[-1]["key"]
    found = values.page(LATENCY, summary, search="tcp 8 B")
    assert 0 < found.found < len(summary)
    assert all("tcp" in one["cells"] for one in found.rows)
    assert not values.page(LATENCY, summary, search="nothing like that").rows
    doubtful = values.page(LATENCY, summary, search="busy machine")
    assert 0 < doubtful.found < len(summary)
    assert all("busy machine" in one["cells"][-1] for one in doubtful.rows)


def test_the_axis_of_a_distribution_ends_where_few_iterations_are_left() -> None:
    page = Page()
    point, figure = page.part("point", "_Point"), page.plot.figure
    page.plot._pressed(next(n for n, trace in enumerate(figure.data) if trace.mode == "lines+markers"), 1)
    marks = [x for trace in point.figure.data if trace.mode == "markers" for x in trace.x]
    slowest = max(max(trace.x) for trace in point.figure.data if trace.mode == "lines")
    left, right = (10**end for end in point.figure.layout.xaxis.range)
    assert point.figure.layout.xaxis.dtick, "plotly's own ticks leave one label on an axis of less than a decade"
    assert left < min(marks)
    assert max(marks) < right < slowest
    assert "beyond the axis" in point.note.value
    point.shown.value = "tail"
    assert "beyond the axis" not in point.note.value
    alone = figures.distribution([made.samples("mpi.latency", [1000] * 100)], "latency_us")
    assert not point_panel._body(alone), "one value for all iterations leaves nothing out"
    few = figures.distribution([made.samples("mpi.latency", [0] * 98 + [1000, 2000])], "latency_us")
    assert not point_panel._body(few), "a logarithmic axis has no place for a time that the clock does not resolve"


@pytest.mark.slow
def test_pinned_points_can_be_told_apart_and_their_legend_fits(example: Path) -> None:
    shutil.copytree(SHIPPED / "data/campaigns/examples/virtual-cluster", example.with_name("virtual-cluster"))
    page = Page("two-cores", "virtual-cluster")
    point, figure = page.part("point", "_Point"), page.plot.figure
    cluster = "virtual-cluster, auto, c, virtual-cluster:4,per_leaf=2,rate=200mbit"
    wanted = ("two-cores, auto, pickle, local", "two-cores, auto, buffers, local", cluster)
    for name in wanted:
        curve = next(n for n, trace in enumerate(figure.data) if trace.name == name)
        page.plot._pressed(curve, 1)
        page.session.pin(page.session.chosen)
    names = [button.description for button in point.pins.children]
    assert [word in name for word, name in zip(("binding=pickle", "binding=buffers", "per_leaf=2"), names, strict=True)]
    assert len(set(names)) == 3
    legend = [trace.name for trace in point.figure.data if trace.showlegend]
    assert max(len(line) for name in legend for line in name.split("<br>")) <= 42
    assert point.figure.layout.height > 300
    assert "virtual-cluster:4" in re.sub(r"<[^>]*>", " ", point.facts.value)


@pytest.mark.slow
def test_lines_are_filtered_grouped_and_compared_with_a_base() -> None:
    page = Page()
    plot = page.plot
    assert "transport=shm" in [name for name, _ in plot.base.options]
    plot.base.value, plot.relation.value = "transport=shm", "ratio"
    assert not plot.why.value
    assert plot.figure.layout.yaxis.title.text == "latency, ratio to shm (times)"
    assert all(trace.name.partition(": ")[2] for trace in plot.figure.data[:-1]), "each series names its verdict"
    plot.relation.value = "difference"
    assert plot.figure.layout.yaxis.title.text == "latency, difference from shm (µs)"
    plot.relation.value = ""
    plot.filter.column.value = "transport"
    next(box for box in plot.filter.levels.children if box.description == "shm").value = False
    assert not any("shm" in trace.name for trace in plot.figure.data)
    for box in plot.filter.levels.children:
        box.value = False
    assert "The filter leaves no points" in plot.why.value
    plot.filter.levels.children[0].value = True
    plot.bounds.value = True
    assert "measured bounds are of the cores, caches and kernel" in plot.note.value
    plot.by.value = "option_binding"
    assert (
        page.session.views["A"].series(page.session.store.summary(["two-cores"], "mpi.latency"))[0] == "option_binding"
    )


@pytest.mark.parametrize(
    "shown",
    [
        dataclasses.replace(LATENCY, unit="ns", bounds=True, by="option_binding"),
        pytest.param(
            dataclasses.replace(LATENCY, where=(("transport", ("tcp", "auto")),), published=True),
            marks=pytest.mark.slow,
        ),
        pytest.param(dataclasses.replace(LATENCY, relation="ratio", base="transport=shm"), marks=pytest.mark.slow),
        dataclasses.replace(LATENCY, relation="difference", base="transport=tcp", unit="ns"),
    ],
)
def test_the_lines_draw_what_the_session_draws(shown: View) -> None:
    session = Session(["two-cores"])
    summary = session.store.summary(shown.campaigns, shown.benchmark)
    text, space = code.code_for(shown, summary), dict[str, Any]()
    assert text.endswith("figure.show()\n"), "run as a program, it opens in a browser"
    exec(text.removesuffix("figure.show()\n"), space)
    assert space["figure"].to_json() == session.figure(shown, summary).to_json()


@pytest.mark.slow
def test_what_is_shown_is_undone_linked_and_saved() -> None:
    page = Page()
    session, plot = page.session, page.plot
    first = session.chosen
    assert first is not None
    plot.unit.value = "ns"
    plot.statistic.value = "p99"
    plot._pressed(0, 0)
    link = session.state.text
    assert re.fullmatch(r"[\w-]+", link)
    assert session.steps == (3, 0)
    for _ in range(3):
        session.undo()
    assert (plot.unit.value, plot.statistic.value, session.chosen) == ("", "p50", first)
    session.redo()
    assert (plot.unit.value, plot.statistic.value, session.steps) == ("ns", "p50", (1, 2))
    other = Page()
    other.session.show(state.read(link))
    assert other.session.state.text == link
    assert other.plot.statistic.value == "p99"
    path = state.save("my view", other.session.state)
    assert (state.saved(), state.load("my view"), state.load(str(path))) == (["my view"], *[state.read(link)] * 2)
    with pytest.raises(DataError, match="There is a view 'my view' already"):
        state.save("my view", session.state)


@pytest.mark.parametrize("text", ["", "../x", "a" * 200_000, "AAAA", "eJyrVgIAAL8Avw", "eJwDAAAAAAE"])
def test_a_link_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(LabkitError):
        state.read(text)


@pytest.mark.parametrize("name", ["", "..", "../x", "/tmp/x", "a/b", "x" * 100, ".x"])
def test_a_view_has_a_plain_name(name: str) -> None:
    with pytest.raises(DataError, match="cannot be the name of a view"):
        state.save(name, state.State())


def test_what_is_taken_away_lies_in_a_folder_of_the_user(example: Path, tmp_path: Path) -> None:
    assert export.place("") == campaign.root() / "exports"
    assert export.place(str(tmp_path / "mine")) == tmp_path / "mine"
    with pytest.raises(DataError, match="belongs to an example"):
        export.place(str(SHIPPED / "data" / "campaigns" / "examples" / "two-cores"))
    with pytest.raises(DataError, match="inside the campaign"):
        export.place(str(example / "samples"))
    names = {
        export.stem(dataclasses.replace(LATENCY, **changed))
        for changed in (
            {},
            {"unit": "ns"},
            {"where": (("transport", ("tcp",)),)},
            {"relation": "ratio", "base": "transport=shm"},
            {"y_log": False},
            {"x_log": False},
            {"published": True},
            {"by": "transport"},
            {"campaigns": ("two-cores", "other")},
        )
    }
    assert len(names) == 9
    assert all(re.fullmatch(r"[\w.=+-]+", name, re.ASCII) for name in names)
    page = Page()
    first = page.session.chosen
    page.plot._pressed(0, 1)  # a gap
    assert page.session.chosen == first
    page.plot._pressed(0, 2)
    text = whole.page(page.session)
    assert text.count('class="plotly-graph-div"') == 2
    assert "<script src" not in text
    assert "0.1355" in text
    page.session.campaigns = []
    page.session.tell("campaigns")
    with pytest.raises(LabkitError, match="Nothing is shown"):
        whole.page(page.session)


@pytest.mark.slow
def test_a_campaign_that_goes_is_said_and_the_rest_stays(example: Path) -> None:
    shutil.copytree(example, example.with_name("twin"))
    page = Page("two-cores", "twin")
    lines = len(page.plot.figure.data)
    shutil.rmtree(example)
    page.session.tell("data")
    assert "The campaign two-cores was deleted, moved or renamed" in page.plot.why.value
    assert 1 < len(page.plot.figure.data) < lines
    (example.with_name("twin") / "campaign.json").write_text("{")
    page.session.tell("data")
    assert "twin: " in page.plot.why.value
    page.session.campaigns = []
    page.session.tell("campaigns")
    assert page.plot.why.value == "Nothing to draw yet. Choose campaigns, or measure."


@pytest.mark.slow
def beside(made: Measure) -> str:
    """What the form says beside its fields."""
    return " ".join(one.value for one in made._form.children if "lab-beside-field" in one._dom_classes)


def test_a_form_names_its_campaign_asks_and_tells_the_time(example: Path) -> None:
    made = Measure(Session(["two-cores"]))
    made.sizes.value = "8,64"
    assert f"--into {campaign.root() / made.into.value}" in made.same.value
    assert re.search(
        r"2 points, each in 6 launches: 12 measurements, about .* at the pace of two-cores, at most", made.time.value
    )
    made.into.value = "two-cores"
    assert made.run.disabled
    assert "measurements already" in beside(made)
    made.more.value = True
    assert not made.run.disabled
    made.find.value = "osu_bibw"
    assert [name for _, name in made.benchmark.options] == ["mpi.bibandwidth", "mpi.bibandwidth_persistent"]
    made.find.value = ""
    made.family.value = "micro"
    assert {name.partition(".")[0] for _, name in made.benchmark.options} == {"micro"}
    made.find.value = "fio"
    assert "The family micro has no such benchmark: " in beside(made)
    made.family.value = made.family.options[0]
    assert "storage.read" in [name for _, name in made.benchmark.options]
    made.find.value = "no such thing"
    assert "No benchmark has &#x27;no such thing&#x27; in its names or tools" in beside(made)
    made.find.value = ""
    made.sizes.value = " "
    assert not made.why.value
    made.sizes.value = "many"
    assert made.why.value == "Correct what is marked: sizes."
    assert "many" in beside(made)
    made.effort.fields["time_cap"].value = -1
    assert made.why.value == "Correct what is marked: sizes, time cap (s)."
    assert made._more.buttons[2].value, "its section is open"
    assert [label for label, _ in made.setting.fields["bind"].options] == ["auto", "core", "socket", "none"]
    assert made.effort.fields["ci"].description == "ci (of median)"


def test_units_are_of_one_quantity() -> None:
    assert {unit for others in units.OTHER_UNITS.values() for unit in others} & {m.unit for m in METRICS.values()}
    assert units.factor("MB/s", "Gbit/s") * 125 == pytest.approx(1)
    with pytest.raises(SpecError, match="can be shown in µs, ns, ms only"):
        units.factor("µs", "MB/s")


def test_a_level_with_commas_is_one_level(example: Path) -> None:
    shutil.copytree(SHIPPED / "data/campaigns/examples/virtual-cluster", example.parent / "virtual-cluster")
    names = ["two-cores", "virtual-cluster"]
    found = relation.bases(Store().summary(names, "mpi.latency"), ["testbed", "campaign"])
    assert found[:4] == [*names, "testbed=local", "testbed=virtual-cluster:4,per_leaf=2,rate=200mbit"]
    assert found[4].endswith("uplink=100mbit")
    compared = relation.against(names, "mpi.latency", "testbed=local", found, "latency_us")
    assert compared.sides[:2] == ("local", "virtual-cluster:4,per_leaf=2,rate=200mbit")


def test_bases_are_campaigns_and_levels() -> None:
    summary = Store().summary(["two-cores"], "mpi.latency")
    assert relation.bases(summary, ["transport"]) == ["transport=auto", "transport=shm", "transport=tcp"]
    compared = relation.against(["two-cores"], "mpi.latency", "transport=tcp", ["transport=shm"], "latency_us")
    assert compared.sides == ("tcp", "shm")
    every = relation.against(["two-cores"], "mpi.latency", *_shm_and_others(), "latency_us")
    assert every.sides == ("shm", "auto", "tcp")
    sizes = {side: {one.size for one in every.rows if one.side == side} for side in ("auto", "tcp")}
    assert sizes["auto"] < sizes["tcp"], "points count that only the base and one side have"


def _shm_and_others() -> tuple[str, list[str]]:
    return "transport=shm", ["transport=auto", "transport=shm", "transport=tcp"]


def _luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])


@pytest.mark.parametrize(("ground", "drawn"), [("#ffffff", {}), (theme.GROUND, theme.DARK)])
def test_twelve_lines_can_be_told_apart(ground: str, drawn: dict[str, str]) -> None:
    colours = [drawn.get(colour, colour) for colour in looks.COLOURS]
    assert len(set(colours)) == len(colours) == 12
    for colour in colours:
        light, dark = sorted((_luminance(colour), _luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= (1.9 if ground == "#ffffff" else 3), colour
    assert set(theme.DARK) <= set(looks.COLOURS)
    assert store.names() == ["two-cores"]


@pytest.mark.slow
def test_a_failed_run_says_why_without_what_was_printed_on_top() -> None:
    made = Measure(Session([]))
    made._start(["measure", "mpi.latency", "--ranks", "3"], "fails")
    until(lambda: made._session.runs.tick() or not made._session.running)
    text, _, raw = made.why.value.partition("<details>")
    assert text.startswith("The run did not measure: ")
    assert "needs exactly 2" in text
    assert "what was printed" in raw
    assert not made.run.disabled


def test_small_print_stands_apart_from_the_axis() -> None:
    long = "no 99th percentile where a launch has under 100 samples, and none at all where its source gives means only"
    figure = go.Figure(layout={"xaxis": {"title": {"text": "size"}}})
    small_print.write(figure, ["bars: range of 3 launches", long])
    assert figure.layout.xaxis.title.text.count("<br>") == 2
    assert drawing.apart(figure) == f"bars: range of 3 launches; {long}"
    assert figure.layout.xaxis.title.text == "size"


def test_the_answer_names_a_range_as_the_plot_does_and_no_interval_where_there_is_none() -> None:
    row = Store().summary(["two-cores"], "mpi.latency").iloc[:1]
    assert str(leading.values(LATENCY, row)).count("(") == 1
    two = row.assign(headline="range of 2 launches")
    assert "range of 2 launches)" in str(leading.values(LATENCY, two))
    assert "range of 2 launches" in drawing.said(LATENCY, "line", two.iloc[0].to_dict())
    ends = [name for name in row if name.startswith("latency_us") and name.endswith(("_low", "_high"))]
    one = row.assign(**dict.fromkeys(ends, float("nan")))
    assert ends
    assert "(" not in str(leading.values(LATENCY, one))


def test_during_a_run_its_own_time_left_is_the_only_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(["two-cores"])
    panel = Measure(session)
    assert "point" in panel.time.value
    monkeypatch.setattr(session.runs, "_ended", False)
    panel._changed()
    assert panel.time.value == ""
    monkeypatch.setattr(session.runs, "_ended", True)
    panel._changed()
    assert "at the pace of two-cores" in panel.time.value or "at most" in panel.time.value


def test_the_notes_of_a_row_name_a_doubt_once() -> None:
    row = {"badges": ["loopback", "busy machine"], "warnings": ["busy machine (0.91 of 2 cores): rerun when idle"]}
    assert values._notes(row) == "loopback; busy machine (0.91 of 2 cores): rerun when idle"
    assert values._notes({"badges": ["busy machine"], "warnings": []}) == "busy machine"
    assert values._notes({}) == ""


@pytest.mark.slow
def test_a_campaign_has_one_title_everywhere(example: Path, tmp_path: Path) -> None:
    paths = [str(shutil.copytree(example, tmp_path / day / "night")) for day in ("monday", "tuesday")]
    names, titles = ["two-cores", *paths], ["two-cores", "monday/night", "tuesday/night"]
    page = Page(*names)
    session, plot = page.session, page.plot
    verdict, answer = Verdict(session), answers.build(session)
    session.tell("campaigns")
    told = re.sub(r"<[^>]*>", "\n", answer.children[0].value)
    assert [box.description for box in page.part("campaigns", "_Campaigns").chosen.children] == titles
    assert list(verdict.base.options) == [*zip(titles, names, strict=True)]
    assert {*plot.base.options} >= {*verdict.base.options}
    legend = {trace.name.split(", ")[0] for trace in plot.figure.data if trace.name != drawing.MARKS}
    assert legend == set(titles)
    table = page.part("view", "Table")
    place = [one["name"] for one in table.head].index("campaign")
    assert {row["cells"][place] for row in table.rows} <= set(titles)
    assert all(f"{title}: 8 B" in told for title in titles)
    chips = [one.description for one in answer.children[1].children]
    assert all(one.startswith(tuple(titles)) for one in chips)
    point = page.part("point", "_Point")
    assert session.chosen is not None
    chosen = dict(zip(names, titles, strict=True))[session.chosen.key[0]]
    assert chosen in point.name.value
    assert f"{chosen} (measured)" in point.facts.value
    plot.filter.column.value = "campaign"
    assert [box.description for box in plot.filter.levels.children] == titles
    plot.filter.levels.children[0].value = False
    assert {trace.name.split(", ")[0] for trace in plot.figure.data[:-1]} == set(titles[1:])
    plot.filter.levels.children[0].value = True
    plot.relation.value, plot.base.value = "ratio", paths[0]
    assert plot.figure.layout.yaxis.title.text.replace("<br>", " ") == "latency, ratio to monday/night (times)"
    now = session.views["A"]
    assert export.stem(now) == "mpi.latency-latency_us-p50-two-cores-monday_night-1-more-ratio-to-monday_night"
    for shown in (now, dataclasses.replace(now, relation="", by="campaign", unit="ns")):
        summary = session.store.summary(names, shown.benchmark)
        space: dict[str, Any] = {}
        exec(code.code_for(shown, summary).removesuffix("figure.show()\n"), space)
        assert space["figure"].to_json() == session.figure(shown, summary).to_json()
        assert str(tmp_path) not in space["figure"].to_json()
    assert "<h1>two-cores, monday/night, tuesday/night</h1>" in whole.page(session)


def test_a_title_is_the_folder_and_as_much_above_as_makes_it_unique() -> None:
    assert campaign.titles(["node7-before", "/far/node7-after/"]) == {
        "node7-before": "node7-before",
        "/far/node7-after/": "node7-after",
    }
    assert [*campaign.titles(["night", "/a/night", "/b/x/night"]).values()] == ["night", "a/night", "x/night"]
    assert [*campaign.titles(["/night", "/a/b/night", "/c/b/night"]).values()] == ["/night", "a/b/night", "c/b/night"]


def test_the_table_names_a_range_as_a_range_and_percentiles_in_words() -> None:
    rows = Store().summary(["two-cores"], "mpi.latency").iloc[:2]

    def titles(*labels: str) -> list[str]:
        return [one["title"] for one in values.page(LATENCY, rows.assign(headline=labels)).head]

    assert "95 % interval of 6 launches (µs)" in titles(*["95 % interval of 6 launches"] * 2)
    assert "range of 2 launches (µs)" in titles(*["range of 2 launches"] * 2)
    assert "range of launches (µs)" in titles("range of 2 launches", "range of 3 launches")
    assert "interval or range (µs)" in titles("range of 2 launches", "95 % interval of 6 launches")
    assert "95th percentile (µs)" in titles("range of 2 launches", "range of 3 launches")
    assert not any("p95" in title for title in titles("range of 2 launches", "range of 2 launches"))


def test_an_estimate_is_one_rule_and_says_an_end_once(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = Estimate(points=12, starts=6, cap=2.0)
    assert (needed.most, needed.about(0.5), needed.about(9)) == (33, 15, 33)
    assert math.isnan(estimate.left(3.0, 0, 5))
    assert estimate.left(3.0, 2, 5) == 7.5

    def told(pace_s: float, name: str = "two-cores") -> str:
        monkeypatch.setattr(pace, "_pace", lambda *_: (pace_s, name))
        return pace.told(needed, [6, 6], "mpi.latency", Store(), ["two-cores"])

    text = "2 points, each in 6 launches: 12 measurements"
    assert told(0.5) == f"{text}, about 15 s at the pace of two-cores, at most about 33 s on an idle machine"
    assert told(9) == f"{text}, about 33 s"
    assert told(0.5, "") == f"{text}, at most about 33 s on an idle machine"


def test_time_left_beyond_the_most_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = object.__new__(measurement.Measurement)
    run.stopping = False
    monkeypatch.setattr(measurement.Measurement, "running", True)
    for remaining, text in ((20.0, "about 20 s left ·"), (40.0, "about 40 s left, more than on an idle machine ·")):
        now = Progress(2, 12, "mpi.latency 8 B", 4.0, remaining, most=30.0)
        monkeypatch.setattr(run, "progress", lambda now=now: now)
        assert text in run.state()


def test_every_export_carries_where_its_numbers_come_from(tmp_path: Path) -> None:
    have = Store().summary(LATENCY.campaigns, LATENCY.benchmark)
    host, day = have["host"].iloc[0], have["start"].min()[:10]
    line = f"mpi.latency · {host} · {day} · labkit {__version__}"
    assert origin.line(LATENCY, have) == line
    assert drawn_title(export.footed(LATENCY.figure(have), LATENCY, have)) == line
    assert line.replace("·", "\\u00b7") in export.write(LATENCY, have, "html", tmp_path).read_text()
    assert code.code_for(LATENCY, have).startswith(f"# {line}\n")
    table = pd.read_csv(export.write(LATENCY, have, "csv", tmp_path))
    assert set(table["benchmark"]) == {"mpi.latency"}
    assert set(table["host"]) == {host}
    assert set(table["start"].str[:10]) == {day}
    assert set(table["labkit"].astype(str)) == {__version__}
    about = pq.read_schema(export.write(LATENCY, have, "parquet", tmp_path)).metadata
    wanted = {"benchmark": "mpi.latency", "host": host, "date": day, "labkit": __version__}
    assert {name: about[name.encode()].decode() for name in wanted} == wanted
    evil = have.assign(host="a\nimport os")
    assert code.code_for(LATENCY, evil).splitlines()[0].endswith(f"a import os · {day} · labkit {__version__}")


def drawn_title(figure: go.Figure) -> str:
    """Line below a figure."""
    return str(figure.layout.title.text)


@pytest.mark.parametrize(
    "name",
    ["two-cores-launches", "two-cores-limits", "sixteen-hosts"]
    + [pytest.param(name, marks=pytest.mark.slow) for name in ("two-cores", "virtual-cluster")],
)
def test_the_answer_and_explain_say_the_same_about_the_same_points(name: str, example: Path) -> None:
    shutil.copytree(SHIPPED / "data/campaigns/examples" / name, example.with_name(name), dirs_exist_ok=True)
    have = Store()
    found = have.answer(name)
    explained = re.sub(r"\s+", " ", answered.table(found, everything=True))
    compared = 0
    for benchmark in have.benchmarks([name]):
        summary = have.summary([name], benchmark)
        view = View(campaigns=(name,), benchmark=benchmark)
        led = " · ".join(leading.judged(found, benchmark))
        for topic in found.topics:
            own = Topic(topic.name, tuple(one for one in topic.findings if one.subject.benchmark == benchmark))
            if not own.findings:
                continue
            lead = own.lead
            assert f"{lead.values.get('path', '') or topic.name}: {own.verdict}" in led
            assert f"{topic.name}: {topic.verdict}" in explained
            assert (f"; {topic.lead.subject.benchmark} is {topic.verdict}" in led) >= (topic.verdict != own.verdict)
            if own.verdict == "no reference":
                assert f"no reference, because {lead.values['reason']}" in led
                assert f"no reference, because {lead.values['reason']}" in explained
            elif own.verdict != "good":
                without = re.sub(r" \[[^]]*\]", "", explained)  # no interval
                assert sentences.claim(lead) in led
                assert f"{lead.subject}: {sentences.claim(lead)}" in without
            measured = lead.values.get("measured")
            row = summary[summary["fingerprint"].isin(lead.subject.points)]
            if isinstance(measured, Value) and len(row) == 1 and measured.fingerprint:
                views = [dataclasses.replace(view, metric=metric) for metric in metrics_of(row)]
                for shown in (one.values(row)[0] for one in views):
                    if shown.value == measured.value:
                        compared += 1
                        ends = "" if math.isnan(shown.low) else f" [{shown.range}]"
                        assert f"{measured:interval}" == f"{shown.text} {shown.unit}{ends}"
    assert compared


def test_verdicts_are_shown_before_their_causes_and_judged_once(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SHIPPED / "data/campaigns/examples/virtual-cluster", example.with_name("virtual-cluster"))
    session, seen = Session(["virtual-cluster"]), list[Any]()
    panel = answers._Answers(session)
    show = panel._show
    monkeypatch.setattr(panel, "_show", lambda found: (seen.append(found), show(found)))

    async def judge() -> None:
        session.tell("data")
        assert panel._task is not None
        await panel._task

    asyncio.run(judge())
    (first,), (second,) = seen
    assert (first.whole, second.whole) == (False, True)
    assert [(one.name, one.verdict) for one in first.answer.topics] == [
        (one.name, one.verdict) for one in second.answer.topics
    ]
    assert not any(one.lead.causes for one in first.answer.topics)
    assert any(one.lead.causes for one in second.answer.topics)
    assert [*answers._said(first, "mpi.alltoall")][-1] == "looking for causes …"
    said = " · ".join(answers._said(second, "mpi.alltoall"))
    assert "doubtful" in said
    assert "looking for causes" not in said
    asyncio.run(judge())
    assert len(seen) == 2, "what is known is not shown again"
