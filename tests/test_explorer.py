"""The Explorer's parts without a page: form, command, plot, job, downsampling."""

import asyncio
import dataclasses
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import nbformat
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import labkit
from labkit import benchmarks
from labkit.apps import cli, explorer
from labkit.apps.cli import fields
from labkit.apps.cli import measure as verb
from labkit.apps.explorer import availability, code, export, live, measurement, panels, server, store, view, wire
from labkit.apps.explorer.form import Choices, Form, levels
from labkit.apps.explorer.panels import answer as answer_panel
from labkit.apps.explorer.panels import bounds, campaigns, verdict, what_if
from labkit.apps.explorer.panels.measure import _Measure as Measure
from labkit.apps.explorer.panels.point import _edges
from labkit.apps.explorer.selection import Selection
from labkit.apps.explorer.session import Session
from labkit.apps.explorer.store import Store
from labkit.apps.explorer.view import View
from labkit.errors import DataError, SpecError
from labkit.io.project import SHIPPED
from labkit.judge import answer
from labkit.judge.sentences import sentence
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.report import sources
from labkit.run import launch
from labkit.store import archive, campaign
from labkit.store.samples import facts
from tests.waiting import commandline, until

from . import made
from .test_foreign import filled, forged
from .test_report import point

SHOWN = View(campaigns=("two-cores",), benchmark="mpi.latency", metric="latency_us")


@pytest.fixture(scope="module", autouse=True)
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = campaign.root() / "two-cores"
    if not folder.exists():
        shutil.copytree(SHIPPED / "data" / "campaigns" / "examples" / "two-cores", folder)
    return folder


@dataclasses.dataclass(frozen=True, kw_only=True)
class Some:
    """Options.

    Parameters
    ----------
    kind : one or the other.
    count : of things.
    """

    kind: Literal["a", "b"] = "a"
    count: int = 3
    limit: float | None = None
    each: bool = False


def test_a_form_has_the_fields_of_its_class_and_no_others() -> None:
    calls: list[int] = []
    form = Form(Some, "some", lambda: calls.append(1))
    assert form.value() == Some()
    assert form.fields["count"].tooltip == "count: of things."
    form.fields["count"].value, form.fields["limit"].value = 5, "0.5"
    assert form.value() == Some(count=5, limit=0.5)
    assert form.differing() == {"count": 5, "limit": 0.5}
    assert calls
    form.fields["limit"].value = "much"
    with pytest.raises(SpecError, match="limit='much'"):
        form.value()


@pytest.mark.parametrize("name", benchmarks.find())
def test_every_benchmark_has_a_form_that_gives_its_defaults(name: str) -> None:
    options = benchmarks.get(name).options
    assert Form(options, name, lambda: None).value() == options()


def test_the_forms_of_spec_and_effort_are_those_of_the_classes() -> None:
    assert Form(Effort, "effort", lambda: None).value() == Effort()
    assert Form(Spec, "setting", lambda: None, ("ppn", "bind")).raw == {"ppn": 0, "bind": "auto"}


def test_what_cannot_be_chosen_is_grey_and_says_why() -> None:
    choices = Choices("launchers", {"openmpi": "", "srun": "not installed"}, ["srun", "openmpi"], lambda: None)
    assert choices.value == ["openmpi"]
    assert choices.boxes["srun"].disabled
    assert choices.boxes["srun"].description == "srun (not installed)"


def test_what_cannot_be_measured_here_is_told_apart_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "rdma_devices", list)
    monkeypatch.setattr(availability, "_absent", lambda: frozenset({"MPI_Bcast_init"}))
    reasons = availability.reasons()
    assert "soft-roce" in reasons["verbs.write_latency"]
    assert reasons["mpi.bcast_persistent"] == "this MPI library has no MPI_Bcast_init"
    assert "mpi.latency" not in reasons
    panel = Measure(Session([]))
    assert set(dict(panel.benchmark.options).values()) == set(benchmarks.find()) - set(reasons)
    assert all(name in panel.absent.value for name in reasons)
    monkeypatch.setattr(launch, "installed", dict)
    assert availability.reasons()["mpi.latency"] == "no MPI launcher is installed"


def test_what_a_testbed_cannot_measure_is_not_offered() -> None:
    virtual, simulated = availability.reasons("virtual-cluster:2"), availability.reasons("simulated:fat-tree,nodes=16")
    assert "virtual hosts have none" in virtual["verbs.write_latency"]
    assert simulated["mpi.put_latency"].startswith("mpi.put_latency cannot be simulated.")
    assert "mpi.latency" not in virtual


def test_levels_are_whole_numbers() -> None:
    assert levels("2, 4", "ranks") == [2, 4]
    with pytest.raises(SpecError, match="ranks='two', but it must be whole numbers"):
        levels("two", "ranks")


@pytest.mark.parametrize(
    "chosen",
    [
        Selection(benchmark="mpi.latency"),
        Selection(benchmark="mpi.latency", sizes="8,4Ki", levels={"transport": ["shm", "tcp"], "ranks": [2]}),
        Selection(benchmark="mpi.allreduce", levels={"ranks": [2, 4], "bind": ["none"]}, effort=Effort(iterations=9)),
        Selection(benchmark="mpi.bandwidth", options={"window": 32}, environment=(("A", "b,c"),), hosts=("a:2", "b")),
    ],
)
def test_the_command_measures_what_the_form_says(chosen: Selection) -> None:
    given = cli.parser().parse_args(chosen.words())
    assert [benchmarks.resolve(s) for s in verb._specs(given)] == [benchmarks.resolve(s) for s in chosen.specs()]
    assert Effort(**fields.given(given, verb.EFFORT)) == chosen.effort


@pytest.mark.slow
def test_a_measured_point_tells_its_command() -> None:
    for one in list(campaign.Campaign(campaign.find("two-cores")).samples())[::3]:  # launches lie side by side
        if one.origin in ("measured", "reported"):
            given = cli.parser().parse_args(Selection.of(one).words())
            (spec,) = verb._specs(given)
            assert benchmarks.identity(benchmarks.resolve(spec)).options == benchmarks.identity(one.spec).options
            assert (spec.transport, spec.ranks) == (one.spec.transport, one.spec.ranks)


def test_a_problem_is_a_sentence() -> None:
    assert "needs exactly 2" in Selection(benchmark="mpi.latency", levels={"ranks": [3]}).problem()
    assert Selection(benchmark="mpi.latency", levels={"transport": []}).problem().startswith("No transport is selected")


def test_a_store_reads_a_campaign_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    source = campaign.Campaign(campaign.find("two-cores"))
    merged = campaign.Campaign(campaign.root() / "far" / "merged")
    for place, one in enumerate(source.samples("mpi.latency")):
        own = {"campaign": "another"} if place % 2 else {}
        merged.save(dataclasses.replace(one, meta={**one.meta, **own}), facts.FINGERPRINT.of(one.meta))
    expected = records.table(merged.samples("mpi.latency"), campaign="far/merged")
    monkeypatch.setattr(campaign.Campaign, "samples", None)  # it would make an object for each launch
    told = Store().records("far/merged", "mpi.latency")
    pd.testing.assert_frame_equal(told, expected, check_exact=True)
    assert {*told["campaign"]} == {"another", "far/merged"}
    shutil.rmtree(merged.path)


def test_a_store_reads_a_file_once_and_what_is_new(tmp_path: Path) -> None:
    growing = campaign.Campaign(campaign.root() / "growing")
    one, other = [s for s in campaign.Campaign(campaign.find("two-cores")).samples("mpi.latency") if s.n][:2]
    have = Store()
    growing.save(one, "0" * 16)
    assert len(have.records("growing", "mpi.latency")) == 1
    assert have.records("growing", "mpi.latency") is have.records("growing", "mpi.latency")
    growing.save(other, "1" * 16)
    assert len(have.records("growing", "mpi.latency")) == 2
    (growing.path / "samples" / "mpi.latency" / f"{'2' * 16}-0.parquet").write_text("no")
    assert len(have.records("growing", "mpi.latency")) == 2
    assert len(have.unreadable) == 1
    shutil.rmtree(growing.path)


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(SHOWN, marks=pytest.mark.slow),
        dataclasses.replace(SHOWN, statistic="p99", y_log=False),
        pytest.param(dataclasses.replace(SHOWN, published=True), marks=pytest.mark.slow),
        dataclasses.replace(SHOWN, published=True, x="ranks"),
    ],
)
def test_the_lines_draw_the_same_figure(shown: View) -> None:
    summary = Store().summary(shown.campaigns, shown.benchmark)
    text, space = code.code_for(shown, summary), {}  # type: ignore[var-annotated]
    exec(text, space)
    assert space["figure"].to_json() == shown.figure(summary).to_json()


def test_several_campaigns_have_lines_of_their_own_and_a_point_is_found(example: Path) -> None:
    shutil.copytree(example, example.with_name("twin"), dirs_exist_ok=True)
    shown = dataclasses.replace(SHOWN, campaigns=("two-cores", "twin"))
    summary = Store().summary(shown.campaigns, shown.benchmark)
    figure = shown.figure(summary)
    assert {trace.name.split(",")[0] for trace in figure.data} == {"two-cores", "twin"}
    trace = figure.data[-1]
    row = shown.row(summary, trace.name, trace.x[-1])
    assert (row["campaign"], row["message_size_B"]) == (trace.name.split(",")[0], trace.x[-1])
    assert row["latency_us_p50"] == trace.y[-1]
    shutil.rmtree(example.with_name("twin"))


def test_an_empty_plot_says_what_to_do() -> None:
    with pytest.raises(DataError, match="Measure, or select other campaigns"):
        SHOWN.figure(Store().summary((), "mpi.latency"))


def test_a_view_falls_back_to_what_there_is() -> None:
    summary = Store().summary(["two-cores"], "mpi.bandwidth")
    now = view.usual(["two-cores"], "mpi.bandwidth", summary, dataclasses.replace(SHOWN, x="ranks"))
    assert (now.metric, now.statistic, now.x) == ("bandwidth_MBps", "p50", "message_size_B")


@pytest.mark.slow
def test_the_lines_draw_it_in_a_python_of_its_own(tmp_path: Path) -> None:
    shown = dataclasses.replace(SHOWN, published=True)
    summary = Store().summary(shown.campaigns, shown.benchmark)
    path = export.write(shown, summary, "py", tmp_path)
    path.write_text(path.read_text() + "print(figure.to_json())\n")
    done = subprocess.run([sys.executable, "-W", "error", path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == shown.figure(summary).to_json()
    assert "Kenny et al. 2020 (published)" in done.stdout


@pytest.mark.slow
def test_archives_and_others_numbers_come_on_show(example: Path, tmp_path: Path) -> None:
    packed = archive.export(example, tmp_path / "friend.zip")
    assert store.brought(str(packed)) == "added-friend"
    assert len(store.opened("added-friend").done()) == len(store.opened("two-cores").done())
    printed = Path(__file__).parent / "golden" / "omb" / "opt_latency_c.txt"
    name = store.brought(str(printed))
    assert Store().benchmarks([name]) == ["mpi.latency"]
    with pytest.raises(DataError, match="There is no campaign 'nowhere'"):
        store.brought("nowhere")
    assert store.brought(str(example)) == "two-cores"
    for brought in ("added-friend", name):
        shutil.rmtree(campaign.root() / brought)


@pytest.mark.parametrize("values", [[5.0, 10, 10, 15, 400], [3.0, 3, 3], list(range(1000)), [0.1, 0.2, 0.3]])
def test_a_histogram_has_no_range_that_the_clock_leaves_empty(values: list[float]) -> None:
    taken = np.array(values)
    edges = _edges(taken, taken.min(), taken.max(), 80)
    assert np.histogram(taken, edges)[0].sum() == len(values)
    assert len(edges) <= 82
    if len(values) == 1000:
        assert np.ptp(np.histogram(taken, edges)[0][:-1]) == 0


@pytest.mark.parametrize("form", ["csv", "parquet", "py", "ipynb", "html"])
def test_an_export_lies_in_a_file(form: str, tmp_path: Path) -> None:
    summary = Store().summary(SHOWN.campaigns, SHOWN.benchmark)
    path = export.write(SHOWN, summary, form, tmp_path / "exports")
    assert path.name == f"mpi.latency-latency_us-two-cores.{form}"
    assert path.stat().st_size > 300
    assert path.name in export.link(path)
    if form == "html":
        assert '"remove":["sendChartToCloud"]' in path.read_text()
    if form == "ipynb":
        book = nbformat.read(path, as_version=4)
        nbformat.validate(book)
        assert [cell.source for cell in book.cells] == [code.code_for(SHOWN, summary)]


def test_long_series_keep_their_extremes_and_are_exact_on_zoom() -> None:
    y = np.random.default_rng(1).normal(size=100_000)
    y[77_777] = 50
    long = live.Long({"rank 0": y})
    x, seen = long.between(0, len(y))["rank 0"]
    assert len(x) <= live.POINTS
    assert (seen.max(), x[seen.argmax()]) == (50, 77_777)
    x, seen = long.between(1000, 1010)["rank 0"]
    assert (x == np.arange(999, 1012)).all()
    assert (seen == y[999:1012]).all()


def test_a_figure_that_comes_back_shows_what_it_showed_last() -> None:
    widget = live.blank(300)
    live.redraw(widget, SHOWN.figure(Store().summary(SHOWN.campaigns, SHOWN.benchmark)))
    assert len(widget.get_state()["_widget_data"]) == len(widget.data) > 0


def test_a_figure_that_changes_in_place_keeps_nothing_of_before() -> None:
    summary, widget = Store().summary(SHOWN.campaigns, SHOWN.benchmark), live.blank(300)
    for changed in ({}, {"statistic": "max"}, {"y_log": False}, {"statistic": "p99"}):
        drawn = dataclasses.replace(SHOWN, **changed).figure(summary)  # type: ignore[arg-type]
        live.redraw(widget, drawn)
        for shown, trace in zip(widget.data, drawn.data, strict=True):
            one, other = ({k: repr(v) for k, v in t.to_plotly_json().items() if k != "uid"} for t in (shown, trace))
            assert one == other


def test_axes_grow_with_the_points_of_a_run_unless_the_reader_zoomed() -> None:
    widget = live.blank(300)
    drawn = SHOWN.figure(Store().summary(SHOWN.campaigns, SHOWN.benchmark))
    full_range = drawn.layout.xaxis.range
    live.redraw(widget, go.Figure(drawn).update_xaxes(range=[-1, 0]))
    live.redraw(widget, drawn, keep_zoom=True)
    assert widget.layout.xaxis.range == full_range
    drawn.update_xaxes(range=None)
    live.redraw(widget, drawn)
    zoom = {"xaxis": {"range": [1, 2]}, "yaxis": {"range": [1, 2]}}  # by plotly itself, as the page tells it
    widget._js2py_layoutDelta = {"layout_delta": zoom, "layout_edit_id": widget._last_layout_edit_id}
    assert widget.layout.xaxis.range == (1, 2)
    live.redraw(widget, drawn, keep_zoom=True)
    assert widget.layout.xaxis.to_plotly_json().get("range") is None
    widget.plotly_relayout({"xaxis.range[0]": 3, "xaxis.range[1]": 4, "xaxis.autorange": False})
    live.redraw(widget, drawn, keep_zoom=True)
    assert list(widget.layout.xaxis.to_plotly_json()["range"]) == [3, 4]


def test_panels_are_files_and_the_page_holds_them_all() -> None:
    assert [p.__name__.rpartition(".")[2] for p in panels.find()] == [
        "answer",
        "campaigns",
        "compare",
        "measure",
        "point",
        "table",
        "export",
        "verdict",
        "bounds",
        "what_if",
    ]
    explorer._open.clear()
    first = explorer.open("examples/two-cores-limits")
    assert explorer.open() is first
    with pytest.raises(DataError, match="There is no campaign 'nowhere'"):
        campaign.name_of("nowhere")


def test_the_answer_above_the_plot_is_the_one_of_explain() -> None:
    session = Session(["examples/two-cores-limits"])
    session.views["A"] = View(benchmark="mpi.latency", metric="latency_us")
    made = answer_panel._Answers(session)
    session.tell("campaigns")
    source = sources.read(campaign.find("examples/two-cores-limits"))
    topics = answer.answer(source.view).topics
    assert topics
    shown = " ".join(one.value for one in made.why.children if hasattr(one, "value"))
    places = [shown.index(f"{html.escape(one.name)}: {one.verdict}") for one in topics]
    assert places == sorted(places)
    chips = [*made.chips.children, *(one for box in made.why.children[:1] for one in getattr(box, "children", ()))]
    assert [one.description[2:] for one in chips] == [f"{one.name}: {one.verdict}" for one in topics]
    for one in topics:
        assert html.escape(sentence(one.lead)) in shown
    session.campaigns = []
    session.views["A"] = View()
    session.tell("data")
    assert made.lead.value == "Choose a campaign."
    assert not made.chips.children


def test_a_verdict_selects_the_points_behind_it() -> None:
    session = Session(["examples/two-cores-limits"])
    for panel in panels.find():
        if panel.__name__.endswith(("compare", "table")):
            panel.build(session)
    made = answer_panel._Answers(session)
    session.tell("data")
    assert session.views["A"].benchmark == "mpi.latency"
    assert re.match(
        r'<p class="lab-led"><span>512 B, median:</span> <span><b>[\d.]+ µs</b> \([\d.]+ to [\d.]+\)', made.lead.value
    )
    assert "shared memory: no reference" in made.lead.value
    (chip,) = (one for one in made.chips.children if "MPI bandwidth over shared memory" in one.description)
    chip.click()
    assert session.views["A"].benchmark == "mpi.bandwidth"
    assert session.chosen is not None
    assert session.chosen.row["message_size_B"] == 64 << 10
    (marks,) = (trace for trace in session.figures["A"].data if trace.name == "marks")
    assert list(marks.x) == [64 << 10]


def test_the_launches_of_a_campaign_are_compared_by_a_factor() -> None:
    """The panel says what `labkit compare` says; what it cannot compare is a sentence."""
    session = Session(["two-cores"])
    panel = verdict._Verdict(session)
    panel.test.click()
    assert "Plot A shows no benchmark" in panel.result.value
    session.views["A"] = View(benchmark="mpi.latency")
    panel.test.click()
    assert "a comparison needs two" in panel.result.value
    panel.by.value = "transport=shm,tcp"
    panel.test.click()
    assert panel.base.value == "two-cores"
    assert "8 comparisons of tcp against shm: 8 slower. Order of launches: interleaved." in panel.result.value
    assert panel.result.value.count("<tr>") == 9
    assert session.compared.startswith("8 comparisons of tcp against shm")
    panel.by.value = "<b>"
    panel.test.click()
    assert "<b>" not in panel.result.value
    assert "--" not in panel.result.value, "the page has fields, no flags"
    panel.relevant.value = 2
    panel.test.click()
    assert "between 0 and 1" in panel.result.value
    session.views["A"] = View(benchmark="mpi.bandwidth")
    session.tell("view")
    assert not panel.result.value, "it was about another benchmark"
    assert not session.compared


def test_what_else_differs_is_a_box_to_tick_and_missing_launches_are_offered() -> None:
    for name, library in (("one", "MPICH 4.0"), ("other", "Open MPI 4.1.4")):
        some = (point("mpi.latency", 8, "shm", launch) for launch in range(6))
        made.campaign(
            campaign.root() / name, [dataclasses.replace(x, meta=x.meta | {"library": library}) for x in some]
        )
    session = Session(["one", "other"])
    session.views["A"] = View(benchmark="mpi.latency")
    panel = verdict._Verdict(session)
    session.tell("view")
    assert "differ in more than was declared" in session.compared
    (box,) = panel.allow.children
    assert box.description == "library differs (MPICH 4.0, Open MPI 4.1.4): compare nevertheless"
    box.value = True
    assert "1 comparison of other against one: 1 the same within" in session.compared
    assert session.compared in panel.result.value


def test_the_panel_of_bounds_says_what_explain_says() -> None:
    session = Session(["examples/virtual-cluster"])
    panel = bounds.build(session)
    (link, mtu, _, _, judge), result = panel.children[0].children, panel.children[1]
    judge.click()
    assert "Plot A shows no benchmark" in result.value
    session.views["A"] = View(benchmark="mpi.allreduce")
    judge.click()
    assert "No bounds are known for mpi.allreduce" in result.value
    assert len(panel.children) == 2
    session.views["A"] = View(benchmark="sockets.tcp_stream")
    judge.click()
    assert result.value.count("<b>good</b>. sockets.tcp_stream") == 6
    assert "link of a host, rate set to 200 Mbit/s: 0.2 Gbit/s / 8, 1448 of 1514 B" in result.value
    figure = panel.children[2]
    assert any(trace.name.startswith("bound: ") for trace in figure.data)
    link.value, mtu.value = "<1gbit>", "1500"
    judge.click()
    assert "link=&#x27;&lt;1gbit&gt;&#x27;, but it must read like" in result.value
    link.value, mtu.value = "1gbit", "1500 B"
    judge.click()
    assert "mtu=1500 B, but it must be a whole number of bytes" in result.value
    mtu.value = ""
    judge.click()
    assert result.value.count("<b>bad</b>. sockets.tcp_stream") == 6, "what a user states replaces what the samples say"
    session.tell("view")
    assert len(panel.children) == 3
    session.campaigns = []
    session.tell("view")
    assert (result.value, len(panel.children)) == ("", 2)


def test_a_campaign_is_judged_once_in_each_of_its_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []
    judge = answer.answer
    monkeypatch.setattr(answer, "answer", lambda view: judged.append(view.name) or judge(view))
    meta = {"fingerprint": f"{7:016x}", "start": "2026-01-01T00:00:00Z"}
    first, second = (made.samples("mpi.latency", [9000] * 9, launch=launch, meta=meta) for launch in range(2))
    held, read = made.campaign(tmp_path / "c", [first]), Store()
    for change, times in (
        (lambda: None, 1),
        (lambda: held.save(second, meta["fingerprint"]), 2),
        (lambda: held.update({"skipped": ["a point"]}), 3),
        (lambda: held.tell("failed", what="a point", reason="it is broken"), 4),
    ):
        change()
        assert read.answer(str(tmp_path / "c")) is read.answer(str(tmp_path / "c"))
        assert len(judged) == times


def test_a_cut_off_run_is_offered_again(tmp_path: Path) -> None:
    cut = campaign.Campaign(tmp_path / "cut")
    assert measurement.unfinished(cut.path) == []
    for state, wanted in (
        ("running", ["measure", "mpi.latency"]),
        ("stopped", ["measure", "mpi.latency"]),
        ("done", []),
    ):
        measurement.note(cut, ["measure", "mpi.latency"], state)
        seen = json.loads((cut.path / measurement.NOTE).read_text())
        (cut.path / measurement.NOTE).write_text(json.dumps(seen | {"pid": 2**22 + 1}))
        assert measurement.unfinished(cut.path) == wanted


@pytest.mark.slow
def test_nothing_is_left_when_it_is_told_to_end(tmp_path: Path) -> None:
    with server_of(tmp_path) as (process, _):
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=240) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


@contextmanager
def server_of(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`labkit explore` with a folder for temporary files, and the address that it prints."""
    command = [sys.executable, "-m", "labkit", "explore", "--no-browser", *words]
    env = os.environ | {"TMPDIR": str(folder)}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, next(line.strip() for line in process.stderr or () if "http://" in line)
        finally:
            process.kill()


def answered(address: str, cookie: str = "") -> tuple[int, str, str]:
    """Status of an answer, its text, and the cookie that it sets."""
    request = urllib.request.Request(address, headers={"Cookie": cookie} if cookie else {})
    try:
        with urllib.request.urlopen(request, timeout=240) as reply:
            return reply.status, reply.read().decode(), str(reply.headers.get("Set-Cookie", ""))
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), ""


def test_nothing_is_served_without_the_token(tmp_path: Path) -> None:
    with server_of(tmp_path) as (_, address):
        bare, _, token = address.partition("?token=")
        places = ["", "?token=", f"?token={token[:-1]}", "alive", "files/page.js", "wire", "plotly/1/widgetbundle.js"]
        for place in places:
            status, text, cookie = answered(f"{bare}{place}")
            assert (status, cookie) == (403, ""), place
            assert text == "This page asks for a token. Open the address that labkit explore printed."
        status, text, cookie = answered(address)
        assert status == 200
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert token not in text
        held = cookie.partition(";")[0]
        assert answered(f"{bare}files/page.js", held)[1] == (server.FILES / "page.js").read_text()
        for place in ("files/../server.py", "files/%2e%2e/server.py", "files/server.py", "plotly/1/datasets"):
            assert answered(f"{bare}{place}", held)[0] in (403, 404), place
        port = bare.rstrip("/").rpartition(":")[2]
        words = [sys.executable, "-m", "labkit", "explore", "--no-browser", "--port", port]
        done = subprocess.run(words, capture_output=True, text=True, timeout=240)
        assert done.returncode == 1
        assert f"Port {port} of 127.0.0.1 cannot be used" in done.stderr


def test_messages_keep_their_parts_and_have_no_numbers_that_browsers_refuse() -> None:
    message = {"kind": "comm_msg", "id": "a", "data": {"state": {"n": [float("nan"), 1.5, np.float64(2)], "ä": None}}}
    parts = [b"", bytes(range(5)), memoryview(np.arange(3.0))]
    read, back = wire.unpacked(wire.packed(message, parts))
    assert read["data"]["state"] == {"n": [None, 1.5, 2.0], "ä": None}
    assert [bytes(one) for one in back] == [bytes(one) for one in parts]
    assert wire.unpacked(wire.packed({"kind": "x"})) == ({"kind": "x"}, [])


def test_benchmarks_are_offered_when_it_is_known_which_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def reasons(testbed: str) -> dict[str, str]:
        asked.wait(240)
        return {"mpi.latency": "no luck"}

    monkeypatch.setattr(availability, "reasons", reasons)

    async def shown() -> None:
        panel = Measure(Session([]))
        assert panel.benchmark.disabled
        assert panel.run.disabled
        assert len(panel.benchmark.options) == 1
        assert "looking for benchmarks" in panel.why.value
        asked.set()
        await panel._finding
        assert not panel.benchmark.disabled
        assert "mpi.latency" not in dict(panel.benchmark.options).values()
        assert len(panel.benchmark.options) == len(benchmarks.find()) - 1
        assert "no luck" in panel.absent.value

    asyncio.run(shown())


@pytest.mark.mpi
@pytest.mark.slow
def test_a_panel_runs_and_its_points_come_into_the_plot() -> None:
    session = Session([])
    made = {p.__name__.rpartition(".")[2]: p.build(session) for p in panels.find() if p.__name__.endswith("compare")}
    panel = Measure(session)
    panel.sizes.value, panel.into.value = "8,64", "run"
    panel.effort.fields["launches"].value, panel.effort.fields["time_cap"].value = 1, 0.02
    assert not panel.run.disabled, panel.why.value
    panel.run.click()
    assert panel.run.disabled
    until(lambda: session.runs.tick() or not session.running)
    assert made
    assert panel.status.value == "done: 2 of 2 measurements"
    assert sum(len(trace.x) for trace in session.figures["A"].data) == 2
    assert session.campaigns == ["run"]
    assert store.names()[0] == "run"


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "../out",
        "a/../../out",
        "/tmp/out",
        "~/out",
        "~",
        ".",
        "",
        " ",
        "link/x",
        "loop",
        ".hidden",
        "a\0b",
        "x" * 300,
    ],
)
def test_keep_in_stays_below_the_folder_of_campaigns(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "campaigns"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    monkeypatch.setenv(campaign.HOME, str(root))
    with pytest.raises(SpecError, match=r"into .*Name another campaign"):
        store.place(name)
    assert store.place(" mine/one ") == root / "mine" / "one"


def test_a_form_that_would_write_elsewhere_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Measure(Session([]))
    made.into.value = "../elsewhere"
    assert made.run.disabled
    assert made.why.value == "Correct what is marked: into."
    (text,) = (one.value for one in made._form.children if "lab-beside-field" in one._dom_classes)
    assert "into &#x27;../elsewhere&#x27;" in text
    assert "lab-wrong" in made.into._dom_classes
    made._start(["measure", "mpi.latency"], "../elsewhere")
    assert made._session.runs.current is None
    made.into.value = "here"
    assert "lab-wrong" not in made.into._dom_classes
    assert not (campaign.root().parent / "elsewhere").exists()


def test_a_campaign_that_is_deleted_while_it_is_measured_into_frees_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Measure(Session([]))
    made._start(["measure", "micro.clock", "--launches", "500", "--time-cap", "0.5"], "deleted")
    one = made._session.runs.current
    assert one is not None
    shutil.rmtree(one.campaign.path)
    made._session.runs.tick()
    assert made._session.runs.current is None
    assert "so labkit stopped its run" in made.status.value
    assert "deleted" not in made._session.campaigns
    assert not made.run.disabled
    until(lambda: not one.running)
    one._tree.stdout.close()


def test_what_was_taken_away_before_is_never_overwritten(tmp_path: Path) -> None:
    summary = Store().summary(SHOWN.campaigns, SHOWN.benchmark)
    first = export.write(SHOWN, summary, "csv", tmp_path)
    before = first.read_bytes()
    assert export.write(SHOWN, summary, "csv", tmp_path) == first
    second = export.write(SHOWN, summary.head(3), "csv", tmp_path)
    assert (second.name, first.read_bytes()) == (f"{first.stem}-2.csv", before)
    assert sorted(tmp_path.iterdir()) == sorted([first, second])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
@pytest.mark.slow
def test_jupyterlab_ends_with_labkit_lab(number: int, tmp_path: Path) -> None:
    env = os.environ | {"JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    command = [sys.executable, "-m", "labkit", "lab", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as owner:
        servers = until(lambda: list((tmp_path / "runtime").glob("jpserver-*.json")), runs=owner)
        pid = int(servers[0].stem.removeprefix("jpserver-"))
        owner.send_signal(number)
        owner.wait(240)
        until(lambda: "jupyterlab" not in commandline(pid))


@pytest.mark.slow
def test_a_statistic_that_no_point_has_is_replaced_by_one_that_exists_and_the_page_says_so() -> None:
    """An empty plot explains nothing. The choice is kept and applies again as soon as points have the statistic."""
    session = Session(["two-cores"])
    for panel in panels.find():
        panel.build(session)
    session.tell("campaigns")
    (plot,) = [p for p in session._listeners["data"] if getattr(getattr(p, "__self__", None), "_letter", "") == "A"]  # type: ignore[attr-defined]
    fields = plot.__self__  # type: ignore[attr-defined]
    fields.benchmark.value = "sockets.tcp_stream"
    assert session.views["A"].statistic == "mean"  # all that its source gives
    fields.benchmark.value = "mpi.latency"
    assert session.views["A"].statistic == "p50"
    fields.benchmark.value = "sockets.tcp_rr"
    fields.statistic.value = "p999"
    figure = session.figures["A"]
    assert np.isfinite(np.concatenate([trace.y for trace in figure.data])).any()
    assert "no point has the statistic 99.9th percentile; shown is:" in fields.note.value
    fields.benchmark.value = "mpi.latency"
    fields.statistic.value = "p95"
    assert "no point has" not in fields.note.value
    fields.benchmark.value = "sockets.tcp_stream"
    assert session.views["A"].statistic == "mean"
    assert "no point has the statistic 95th percentile; shown is: mean" in fields.note.value
    assert "(none here)" in dict(map(reversed, fields.statistic.options))["p99"]  # type: ignore[call-overload]
    fields.benchmark.value = "mpi.latency"
    assert session.views["A"].statistic == "p95"


@pytest.mark.slow
def test_every_benchmark_of_an_example_draws_points_whatever_was_chosen_before() -> None:
    """Points are drawn whichever statistic was chosen for the benchmark before."""
    session = Session(["two-cores"])
    for name in session.benchmarks():
        summary = session.store.summary(session.campaigns, name)
        for statistic in ("p50", "p999", "max", "osu_mean"):
            now = view.usual(session.campaigns, name, summary, View(statistic=statistic))
            assert view.statistics_of(summary, now.metric) == [] or now.statistic in view.statistics_of(
                summary, now.metric
            )


def test_a_cheaper_part_is_tried_on_the_published_and_on_a_measured_message() -> None:
    session = Session(["examples/two-cores-labs"])
    box = what_if.build(session)
    of, size, start = box.children[0].children
    assert size.disabled, "the published message has its own"
    start.click()
    sliders = box.children[1]
    assert max(len(one.description) for one in sliders.cheaper.values()) <= 30, "its label is not cut"
    sliders.cheaper["switch"].value = 70
    assert "5.45 % saved" in sliders.result.value
    of.value = what_if.MEASURED
    start.click()
    assert "64 B over TCP, one way" in box.children[1].result.value
    size.value = 100
    start.click()
    assert "No campaign on show has a message of 100 B over TCP" in box.children[1].value


@pytest.mark.slow
def test_published_numbers_are_drawn_on_request_where_there_are_any() -> None:
    session = Session(["two-cores"])
    for panel in panels.find():
        panel.build(session)
    session.tell("campaigns")
    (plot,) = [p for p in session._listeners["data"] if getattr(getattr(p, "__self__", None), "_letter", "") == "A"]  # type: ignore[attr-defined]
    fields, figure = plot.__self__, session.figures["A"]  # type: ignore[attr-defined]
    fields.benchmark.value = "mpi.latency"
    assert not fields.published.disabled
    assert not any(trace.name.endswith("(published)") for trace in figure.data)
    fields.published.value = True
    assert sum(trace.name.endswith("(published)") for trace in figure.data) == 3
    assert "published: not measured here" in fields.note.value
    fields.benchmark.value = "mpi.bcast"
    assert fields.published.disabled
    assert not any(trace.name.endswith("(published)") for trace in figure.data)
    fields.benchmark.value = "mpi.latency"
    fields.published.value = False
    assert not any(trace.name.endswith("(published)") for trace in figure.data)


def test_points_that_differ_in_a_variable_only_are_lines_of_their_own() -> None:
    if not (campaign.root() / "two-cores-labs").exists():
        shutil.copytree(
            SHIPPED / "data" / "campaigns" / "examples" / "two-cores-labs", campaign.root() / "two-cores-labs"
        )
    names = ["two-cores", "two-cores-labs"]
    summary = Store().summary(names, "mpi.latency")
    drawn = dataclasses.replace(SHOWN, campaigns=tuple(names)).figure(summary)
    assert any("OMPI_MCA_btl_vader_eager_limit=16384" in trace.name for trace in drawn.data)
    assert sum(y is not None for trace in drawn.data for y in trace.y) == len(summary)
    engines = Store().summary(["two-cores"], "sockets.tcp_rr")
    tools = view.usual(["two-cores"], "sockets.tcp_rr", engines, View()).figure(engines)
    assert not any("sockperf, sockperf" in trace.name for trace in tools.data)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("evil.zip", "campaign.json: name is &#x27;../../x&#x27;: it has a /. It must be"),
        ("", "The field is empty"),
        ("~nobody-here/x", "There is no campaign &#x27;~nobody-here/x&#x27;"),
        ("x" * 5000, "Choose a shorter name"),
        ("not a\nbenchmark's output", "wanted the output of a benchmark"),
        ("<img src=x>", "There is no campaign &#x27;&lt;img src=x&gt;&#x27;"),
    ],
)
def test_what_cannot_be_added_is_refused_with_one_sentence(
    named: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "campaigns").mkdir()
    monkeypatch.setenv(campaign.HOME, str(tmp_path / "campaigns"))
    other = filled(tmp_path / "c", 2)
    files = {str(p.relative_to(other.path)): p.read_bytes() for p in other.path.rglob("*") if p.is_file()}
    forged(tmp_path, files | {"campaign.json": json.dumps({**other.facts, "name": "../../x"}).encode()})
    before, session = sorted(tmp_path.parent.rglob("*")), Session([])
    row, why = campaigns._adder(session).children
    row.children[0].value = str(tmp_path / named) if named.endswith(".zip") else named
    row.children[1].click()
    assert said in why.value
    assert why.value.count("damaged") <= 1
    assert ".." not in why.value.replace("../../x", "").replace("...", "")
    assert session.campaigns == []
    assert sorted(tmp_path.parent.rglob("*")) == before


def test_pasted_output_becomes_a_campaign_and_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(campaign.HOME, str(tmp_path))
    text = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n1                 1.10\n8                 1.25"
    session = Session([])
    row, why = campaigns._adder(session).children
    row.children[0].value = text
    row.children[1].click()
    assert why.value == ""
    (name,) = session.campaigns
    assert name.startswith("import-")
    assert row.children[0].value == ""
    table = labkit.load(text)
    assert table["latency_us_mean"].tolist() == labkit.load(name)["latency_us_mean"].tolist() == [1.10, 1.25]
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with pytest.raises(DataError, match="wanted the output of a benchmark"):
        labkit.load("no\noutput")


def test_what_a_page_tells_of_a_figure_takes_nothing_away() -> None:
    """The page reports the values of a trace; a reloaded page still receives them from the server."""
    figure = live.blank(300)

    def drawn(factor: float) -> go.Figure:
        made = go.Figure()
        made.add_scatter(x=np.arange(5.0) * factor, y=np.arange(5.0), name="line")
        made.add_scatter(x=[factor, 2 * factor, 3 * factor], y=[50, 95, 99], name="marks")
        return made

    live.redraw(figure, drawn(1.0))
    live.redraw(figure, drawn(2.0))
    deltas = [{"uid": trace.uid, "y": list(trace.y), "x": list(trace.x), "visible": True} for trace in figure.data]
    figure._handler_js2py_traceDeltas(
        {"new": {"trace_deltas": deltas, "trace_edit_id": figure._last_trace_edit_id}}  # as a page sends it
    )
    state = figure.get_state()["_widget_data"]
    assert state[1]["y"] == [50, 95, 99]
    assert all({"x", "y"} <= trace.keys() for trace in state)
