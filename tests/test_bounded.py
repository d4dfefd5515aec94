"""Bounds in figures: a line against size, named after what binds, or a note where a line would hide the values."""

from __future__ import annotations

import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from labkit import figures
from labkit.errors import SpecError
from labkit.figures import bounded, parts, small_print, style, with_bounds
from labkit.figures.bounded import _label
from labkit.judge.finding import Value
from labkit.models import bounds, limits
from labkit.models.inside import AND_COPIES, OWN_WORK
from labkit.models.limits import Limit
from labkit.point.columns import METRICS
from labkit.point.notes import badge, joined
from labkit.point.spec import Spec
from labkit.read import records
from labkit.report import answered, sources
from labkit.report.abstract import abstract
from labkit.report.content import Content
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import noted
from tests.made import samples, values

TOPOLOGY = {"nodes": 2, "per_leaf": 2, "rate_bps": 200e6}


def points(
    *sizes: int,
    metric: str = "bandwidth_MBps",
    benchmark: str = "mpi.bandwidth",
    mean: float = 20.0,
    transport: str = "tcp",
    **fields: Any,
) -> list[Any]:
    """A point of each size, over an emulated link."""
    fields = {"meta": {"testbed": TOPOLOGY}} | fields
    meta = {"library": "x", "engine": "c"} | fields.pop("meta")
    return [
        samples(
            Spec(benchmark=benchmark, size=size, transport=transport),
            reported=values(metric, mean=mean),
            meta={**meta, "fingerprint": f"{zlib.crc32(f'{benchmark}{size}{transport}'.encode()):016x}"},
            **fields,
        )
        for size in sizes
    ]


def drawn(measured: list[Any], metric: str = "bandwidth_MBps", curves: list[Limit] | None = None) -> go.Figure:
    """A figure of points with their bounds."""
    summary = records.summary(records.table(measured))
    figure = figures.versus_size(summary, metric, series=["benchmark"], tail=None)
    return bounded(figure, limits.limit_curves(measured, metric) if curves is None else curves)


def test_a_bandwidth_has_its_bound_as_a_line_with_a_name() -> None:
    figure = drawn(points(1024, 65536))
    line = figure.data[-1]
    assert line.name == "bound: link of a host"
    assert line.showlegend
    assert list(line.y) == pytest.approx([25 * 1448 / 1514] * 2)
    assert "1448 of 1514 B" in line.hovertemplate
    assert figure.layout.height > drawn(points(1024, 65536), curves=[]).layout.height


def test_directions_have_lines_of_their_own() -> None:
    both = points(1024, 65536) + points(1024, 65536, benchmark="mpi.bibandwidth")
    curves = limits.limit_curves(both, "bandwidth_MBps")
    assert [one.benchmarks for one in curves] == [("mpi.bandwidth",), ("mpi.bibandwidth",)]
    assert curves[1].values[1024] == pytest.approx(2 * curves[0].values[1024])
    names = [trace.name for trace in drawn(both).data]
    assert "bound: link of a host of mpi.bibandwidth" in names


def test_a_latency_has_its_floor() -> None:
    delayed = {"testbed": TOPOLOGY | {"delay": "10us"}}
    line = drawn(points(8, 65536, metric="latency_us", benchmark="mpi.latency", meta=delayed), "latency_us").data[-1]
    assert line.name == "floor: link of a host"
    assert list(line.y) == sorted(line.y)
    assert line.y[0] == pytest.approx(10)


def test_nothing_is_drawn_where_nothing_is_known() -> None:
    inside = points(1024, meta=noted([badge("shared memory")], []))
    assert limits.limit_curves(inside, "bandwidth_MBps") == []
    assert len(drawn(inside).data) == 1
    assert limits.limit_curves(points(1024), "message_rate_per_s") == []
    assert limits.limit_curves(points(1024, benchmark="mpi.allreduce"), "latency_us") == []


def test_a_line_far_away_is_a_note_so_that_the_values_stay_readable() -> None:
    far = Limit(
        name="copy by one core",
        benchmarks=("mpi.bandwidth",),
        kind="bound",
        metric="bandwidth_MBps",
        values={1024: 50_000.0, 65536: 40_000.0},
        formulas={1024: "", 65536: ""},
        measured=True,
    )
    figure = drawn(points(1024, 65536), curves=[far])
    assert len(figure.data) == 1
    assert "copy by one core (measured) lies far above: 40,000 to 50,000 MB/s" in joined(small_print.notes_of(figure))


def test_all_numbers_of_a_note_get_the_unit_of_the_figure_even_across_lines() -> None:
    far = Limit(
        name="copy by one core " * 4,
        benchmarks=("mpi.bandwidth",),
        kind="bound",
        metric="bandwidth_MBps",
        values={1024: 33_774.0, 65536: 91_683.0},
        formulas={1024: "", 65536: ""},
        measured=False,
    )
    text = f"bound: {far.name} lies far above: 33.8 to 91.7 GB/s"
    for shift in range(30):  # where the line breaks depends on what stands before
        figure = drawn(points(1024, 65536), curves=[replace(far, name=far.name + "x" * shift)])
        figure.data[0].y = [value * 1000 for value in figure.data[0].y]
        shown = parts.bundle(parts.Figure(figure))[style.MIME]["layout"]["xaxis"]["title"]["text"]
        told = re.sub(r"<[^>]*>", " ", shown)
        assert " ".join(text.replace(far.name, far.name + "x" * shift).split()) in " ".join(told.split())


def test_a_figure_of_another_kind_is_refused() -> None:
    with pytest.raises(SpecError, match=r"figures\.versus_size"):
        bounded(go.Figure(), limits.limit_curves(points(1024), "bandwidth_MBps"))


def in_windows(**fields: Any) -> list[Any]:
    """Points of three windows and two sizes over an emulated link."""
    meta = {"library": "x", "engine": "c", "testbed": TOPOLOGY} | fields
    return [
        samples(
            Spec(benchmark="mpi.bandwidth", size=size, transport="tcp", options={"window": window}),
            reported=values("bandwidth_MBps", mean=float(window)),
            meta={**meta, "fingerprint": f"{size}-{window}"},
        )
        for window in (4, 8, 16)
        for size in (1024, 65536)
    ]


def in_figure(draw: Any, measured: list[Any], *args: Any, **how: Any) -> go.Figure:
    """A figure of points with the bounds that labkit knows of them."""
    rows = records.summary(records.table(measured))
    return with_bounds(draw(rows, *args, series=["message_size_B"], **how), rows, measured, dict)


def test_figures_against_a_number_and_of_bars_have_the_bound_at_each_place() -> None:
    measured = in_windows()
    line = in_figure(figures.versus, measured, "option_window", shown="bandwidth_MBps").data[-1]
    assert (line.name, list(line.x)) == ("bound: link of a host", [4, 8, 16])
    assert list(line.y) == pytest.approx([25 * 1448 / 1514] * 3)
    marks = in_figure(figures.bars, measured, "option_window", "bandwidth_MBps").data[-1]
    assert (marks.name, marks.mode) == ("bound: link of a host", "markers")
    assert set(marks.x) == {"window 4", "window 8", "window 16"}
    assert list(marks.y) == list(line.y)


def copied(name: str, place: int, value: float, size: int) -> Limit:
    """A measured bound on the bandwidth of a size, MB/s, at one place of the axis."""
    return Limit(
        name=name,
        benchmarks=("mpi.bandwidth",),
        kind="bound",
        metric="bandwidth_MBps",
        values={place: value},
        formulas={place: ""},
        measured=True,
        sizes=(size,),
    )


def test_each_point_has_its_own_bound_and_lines_of_one_name_say_their_sizes() -> None:
    measured = in_windows(testbed=TOPOLOGY | {"rate_bps": 100e6})[:2] + in_windows()[2:]
    line = in_figure(figures.versus, measured, "option_window", shown="bandwidth_MBps").data[-1]
    assert list(line.y) == pytest.approx([12.5 * 1448 / 1514, 25 * 1448 / 1514, 25 * 1448 / 1514])
    apart = [copied("copy", 4, value, size) for size, value in ((1024, 20.0), (65536, 30.0))]
    rows = records.summary(records.table(measured))
    drawn_in = bounded(figures.versus(rows, "option_window", "bandwidth_MBps", series=["message_size_B"]), apart)
    assert [trace.name for trace in drawn_in.data[-2:]] == [
        "bound: copy, 1 KiB (measured)",
        "bound: copy, 64 KiB (measured)",
    ]
    assert len(drawn_in.data[-1].x) == 3, "a single point becomes a short line"


def test_no_two_bounds_of_a_figure_have_one_name() -> None:
    curves = [copied("copy by one core", 1024, value, 1024) for value in (20.0, 30.0, 40.0)]
    names = [trace.name for trace in drawn(points(1024), curves=curves).data if "bound" in (trace.meta or {})]
    assert len({*names}) == len(names) == 3
    assert names[0] == "bound: copy by one core, 20 MB/s (measured)"


def test_figures_of_other_quantities_stay_as_they_are() -> None:
    rows = records.summary(records.table(in_windows()))
    figure = figures.versus(rows, "option_window", "bandwidth_MBps", series=["message_size_B"])
    assert with_bounds(figure, rows.drop(columns="fingerprint"), in_windows(), dict) is figure
    assert with_bounds(go.Figure(), rows, in_windows(), dict).data == ()
    with pytest.raises(SpecError, match=r"figures\.bars"):
        figures.subject(figure)  # published numbers go into other figures


# ---- the report ------------------------------------------------------------------------------------------------------

CLUSTER = Path(__file__).parents[1] / "data" / "campaigns" / "examples" / "virtual-cluster"


@pytest.mark.slow
def test_the_first_page_says_how_near_the_numbers_come_to_their_bounds() -> None:
    source = sources.read(CLUSTER)
    content = Content([source], {})
    found = answered.of_source(content, source)
    assert found is answered.of_source(content, source), "worked out once"
    streams = [one for one in found.findings if one.subject.benchmark == "sockets.tcp_stream"]
    verdicts = [one for one in streams if one.kind == "verdict"]
    assert [one.level for one in verdicts] == ["good"] * 6
    assert all(isinstance(one.values["share"], Value) for one in verdicts)
    count = answered.overall(content, source)
    assert count.startswith(f"Of {len(found.topics)} topics, ")
    assert count in abstract(content)
    table = answered.answers(content)
    assert "{#tbl-answer}" in table
    assert table.count("**good**") == sum(one.verdict == "good" for one in found.topics[:12])
    steps = answered.steps(content)
    assert steps.startswith("To do next:")
    first = found.steps[0]
    assert (f"`{first.command}`" if first.runnable else first.command) in steps


def campaign(path: Path, measured: list[Any]) -> Content:
    """The content of a report on one campaign."""
    kept = Campaign(path)
    for one in measured:
        kept.save(one, one.meta["fingerprint"])
    return Content([sources.read(path)], {})


def test_of_a_topic_the_worst_is_named_and_a_defect_before_all(tmp_path: Path) -> None:
    """A bandwidth above its bound is wrong, and stands before the one that is good."""
    content = campaign(tmp_path / "c", [*points(1024, mean=30.0), *points(1024, mean=23.0, transport="auto")])
    (source,) = content.sources
    found = answered.of_source(content, source)
    (topic,) = found.topics
    assert [one.form for one in topic.findings] == ["defect", ""]
    assert [one.level for one in topic.findings] == ["bad", "good"]
    page = answered.answers(content)
    assert "**bad**" in page
    assert "is wrong" in page
    assert answered.overall(content, source) == "Of 1 topic, 1 is bad."
    assert answered.bad(content, source) == "Bad: MPI bandwidth over link of a host (mpi.bandwidth: cause unknown)."


def test_a_campaign_without_bounds_has_no_answer_on_the_first_page(tmp_path: Path) -> None:
    content = campaign(tmp_path / "c", points(1024, benchmark="apps.halo3d26", metric="latency_us"))
    (source,) = content.sources
    found = answered.of_source(content, source)
    assert found.topics == ()
    assert answered.overall(content, source) == answered.bad(content, source) == ""
    assert answered.answers(content) == ""
    assert answered.steps(content).startswith("To do next:"), "launches are missing"


@pytest.mark.parametrize(
    ("benchmark", "metric", "known"),
    [("mpi.bandwidth", "bandwidth_MBps", bounds.of_bandwidth), ("mpi.latency", "latency_us", bounds.of_latency)],
)
def test_lines_of_two_paths_are_the_references_of_their_own_points(benchmark: str, metric: str, known: Any) -> None:
    view = sources.read(Path(__file__).parents[1] / "data" / "campaigns" / "examples" / "two-cores").view
    samples = [*view.first_launches([*view.tables[benchmark].rows["fingerprint"]]).values()]
    curves = limits.limit_curves(samples, metric, view.costs)
    assert len({one.name for one in curves}) == len(curves) == 2
    lines = {one.name.removesuffix(AND_COPIES): one.values for one in curves}
    for one in samples:
        bound = known(one, None, view.costs)[0]
        line = lines[bound.reference_name.removesuffix(AND_COPIES)]
        assert line[one.spec.size] == bound.reference * METRICS[metric].factor
    labels = [_label(one, curves) for one in curves]
    assert any(OWN_WORK in one.name for one in curves)
    assert not any(OWN_WORK in label for label in labels), "the legend has no room for it"
