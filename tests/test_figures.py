"""Figures by their data and labels, not their pixels."""

import asyncio
import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labkit import figures, stats
from labkit.errors import DataError, LabkitWarning
from labkit.figures import axes, iterations, parts, seen, static, style
from labkit.figures.cells import SCALE, contrast
from labkit.figures.plotly import go, sample_colours
from labkit.point.notes import badge
from labkit.point.spec import Reported, Spec
from labkit.read import records
from labkit.store.samples import ORIGINS, Samples

from . import made
from .layout import crowded

HOST = {"name": "node01", "cpu_model": "Test CPU"}


def latency(size: int = 8, transport: str = "shm", launch: int = 0, n: int = 1200, **changes) -> Samples:
    """Made-up times that differ from launch to launch and have a tail."""
    random = np.random.default_rng([size, launch, len(transport)])
    base = (1800 if transport == "shm" else 16_000) + size // 4
    times = base * (1 + 0.01 * launch) * (1 + random.exponential(0.05, n))
    meta = {"engine": "c", "library": "Open MPI v4.1.4", "badges": ["loopback"]}
    spec = Spec(benchmark="mpi.latency", size=size, transport=transport, options={"timing": "each"})
    return made.samples(spec, times, launch=launch, host=HOST, meta=meta, **changes)


def bandwidth(size: int, launch: int = 0) -> Samples:
    spec = Spec(benchmark="mpi.bandwidth", size=size, options={"window": 64})
    return made.samples(spec, np.full(300, 64 * (300 + size // 8) + launch), launch=launch, host=HOST)


def stated(origin: str, value: float = 2.0, statistic: str = "p50", **spec) -> Samples:
    given = made.values(**{statistic: value})
    return made.samples(Spec(benchmark="mpi.latency", **spec), origin=origin, reported=given)


def table(sizes=(0, 1, 1024, 4096), transports=("shm", "tcp"), launches: int = 6) -> pd.DataFrame:
    return records.table(latency(s, t, i) for s in sizes for t in transports for i in range(launches))


def text(figure) -> str:
    return figure.to_json()


# ---- style


def test_a_figure_carries_the_small_template_alone() -> None:
    for figure in (
        figures.versus_size(records.summary(table()), "latency_us"),
        figures.bars(records.summary(table(sizes=(8,))), "transport", "latency_us"),
        figures.distribution([latency()], "latency_us"),
    ):
        drawn = json.loads(figure.to_json())["layout"]["template"]
        assert len(json.dumps(drawn)) < 1024, "plotly's own templates have 6.5 kB"
        assert drawn["layout"]["font"]["family"].split(", ")[:2] == ["Liberation Sans", "Arial"], "of equal widths"
        assert "sendChartToCloud" in drawn["layout"]["modebar"]["remove"]


def test_every_origin_has_its_own_look() -> None:
    assert tuple(figures.ORIGINS) == ORIGINS
    assert len({(o.marker, o.dash, o.markers) for o in figures.ORIGINS.values()}) == len(ORIGINS)
    assert len({o.pattern for o in figures.ORIGINS.values()}) == len(ORIGINS)
    assert [name for name, o in figures.ORIGINS.items() if o.markers and not o.marker] == ["measured"]


def test_bundle_holds_data_only() -> None:
    bundle = parts.bundle(parts.as_part(figures.versus_size(records.summary(table()), "latency_us")))
    assert set(bundle) == {parts.PLOTLY, parts.MIME, "text/plain"}
    assert bundle[style.MIME]["config"]["displaylogo"] is False
    json.dumps(bundle, allow_nan=False)


def test_same_input_same_bytes() -> None:
    over = records.summary(table())
    assert text(figures.versus_size(over, "latency_us")) == text(figures.versus_size(over, "latency_us"))
    assert [trace.uid for trace in figures.versus_size(over, "latency_us").data] == ["t0", "t1", "t2", "t3"]


# ---- axes


def test_binary_ticks() -> None:
    axis = axes.sizes([2**i for i in range(23)], "message size (B)")
    assert axis["ticktext"] == ["1", "4", "16", "64", "256", "1Ki", "4Ki", "16Ki", "64Ki", "256Ki", "1Mi", "4Mi"]
    assert axis["tickvals"] == [4.0**i for i in range(12)]
    assert axis["type"] == "log"


@pytest.mark.parametrize(("low", "high"), [(1, 1), (64, 1024), (4096, 2**30), (1, 2**40), (3, 3000), (0, 0), (0, 8)])
def test_ticks_fit_and_lie_inside(low: int, high: int) -> None:
    axis = axes.sizes([low, high], "")
    assert 1 <= len(axis["ticktext"]) <= 14
    assert axis["range"][0] < math.log10(axes.place(low, high or 1)) <= math.log10(high or 1) < axis["range"][1]


@pytest.mark.parametrize(("low", "high"), [(0.5, 2.0), (0.9, 12.0), (7e-4, 6.5e4), (1e-9, 1e9), (3e-5, 4e-5)])
def test_round_ticks_of_a_logarithmic_axis_have_room(low: float, high: float) -> None:
    places = axes.rounds(low, high)
    assert len(places) <= 10
    assert all(low <= one <= high for one in places)
    assert len(places) >= 2 or high < 10 * low


def test_size_zero_has_a_place_of_its_own_and_is_not_joined() -> None:
    figure = figures.versus_size(records.summary(table(transports=("shm",))), "latency_us")
    line = figure.data[0]
    assert list(line.x) == [0.5, None, 1.0, 1024.0, 4096.0]
    assert line.y[1] is None
    assert figure.layout.xaxis.tickvals[0] == 0.5
    assert figure.layout.xaxis.ticktext[0] == "0"
    assert "size 0 is drawn left of the logarithmic axis" in re.sub("(<[^>]+>)+", " ", figure.layout.xaxis.title.text)


# ---- against size


def test_costs_are_logarithmic_and_rates_start_at_zero() -> None:
    cost = figures.versus_size(records.summary(table()), "latency_us").layout
    rate = figures.versus_size(records.summary(records.table([bandwidth(32), bandwidth(64)])), "bandwidth_MBps").layout
    assert (cost.yaxis.type, cost.yaxis.title.text) == ("log", "latency, median (µs)")
    assert (rate.yaxis.type, rate.yaxis.rangemode, rate.yaxis.title.text.replace("<br>", " ")) == (
        "linear",
        "tozero",
        "bandwidth, median (MB/s)",
    )
    assert cost.xaxis.title.text.startswith("message size (B)")


def test_rates_are_logarithmic_where_the_least_would_lie_at_the_foot_of_a_linear_axis() -> None:
    rows = records.summary(records.table([bandwidth(size) for size in (1, 64, 4096)]))
    low = rows.assign(transport="tcp", bandwidth_MBps_p50=rows["bandwidth_MBps_p50"] / 30)
    low = low.assign(bandwidth_MBps_low=np.nan, bandwidth_MBps_high=np.nan)
    spans = {2: "linear", 64: "log"}
    for last, kind in spans.items():
        one = records.summary(records.table([bandwidth(1), bandwidth(last)]))
        for draw in (figures.versus_size, figures.versus):
            drawn = draw(one, *(["message_size_B"] if draw is figures.versus else []), "bandwidth_MBps")  # type: ignore[operator]
            assert (drawn.layout.yaxis.type or "linear") == kind, (last, drawn.layout.yaxis)
    both = pd.concat([rows, low])
    assert figures.versus_size(both, "bandwidth_MBps", series=["transport"]).layout.yaxis.type == "log"
    drawn = figures.versus(both, "message_size_B", "bandwidth_MBps", series=["transport"])
    assert (drawn.layout.yaxis.type, drawn.layout.yaxis.dtick) == ("log", 1), (
        "labels of a step at 2 and 5 would overlap"
    )


@pytest.mark.parametrize(
    ("low", "high", "step"), [(1.05, 8.2, "L2"), (850, 7900, "D2"), (0.9, 11, "D2"), (3, 60, "D2")]
)
def test_a_logarithmic_axis_has_three_ticks_or_more(low: float, high: float, step: str) -> None:
    figure = go.Figure(go.Box(x=["0"], lowerfence=[low], q1=[low], median=[low], q3=[high], upperfence=[high]))
    figure.update_layout(yaxis={"type": "log"}, xaxis={"type": "category"})
    assert style.finish(figure).layout.yaxis.dtick == step


def test_three_points_are_not_joined_and_the_note_calls_their_tail_small() -> None:
    three, four = (records.summary(table(sizes=(1, 64, 1024, 4096)[:count])) for count in (3, 4))
    for draw in (
        figures.versus_size,
        lambda rows, metric, **how: figures.versus(rows, "message_size_B", metric, **how),
    ):
        modes = [{t.mode for t in draw(rows, "latency_us", series=["transport"]).data} for rows in (three, four)]
        assert modes == [{"markers"}, {"lines+markers"}]
    assert "small: 99th percentile" in figures.versus_size(three, "latency_us").layout.xaxis.title.text
    assert "thin: 99th percentile" in figures.versus_size(four, "latency_us").layout.xaxis.title.text


def test_on_a_logarithmic_axis_there_are_points_in_place_of_bars() -> None:
    figure = figures.bars(records.summary(table(sizes=(8,))), "transport", "latency_us", series=[], log=True)
    assert {(trace.type, trace.mode) for trace in figure.data} == {("scatter", "markers")}
    assert figure.layout.yaxis.type == "log"
    assert figures.bars(records.summary(table(sizes=(8,))), "transport", "latency_us").layout.yaxis.type != "log"
    far = records.summary(records.table([bandwidth(1), bandwidth(64)]))
    for log in (None, False):
        drawn = figures.bars(far, "message_size_B", "bandwidth_MBps", series=[], log=log)
        assert (drawn.layout.yaxis.type == "log") == (log is None), "no bar is too small to be seen"


@pytest.mark.slow
@pytest.mark.browser
def test_labels_of_axes_keep_apart_at_every_range_and_size() -> None:
    specs = []
    for high in (1.2, 4, 9, 40, 900, 3e4, 5e6):
        for width, height in ((720, 220), (351, 200), (720, 400)):
            figure = go.Figure(go.Scatter(x=[0.9, high], y=[0.9, high]))
            figure.update_layout(xaxis={"type": "log"}, yaxis={"type": "log"})
            specs.append(parts.bundle(parts.Figure(style.finish(figure, width=width, height=height)))[style.MIME])
    drawn = [str(svg) for svg in static.svgs(specs)]
    assert not [found for svg in drawn if (found := crowded(svg))]
    assert all(svg.count('class="ytick"') >= 2 for svg in drawn)
    for axis in (specs[13]["layout"]["xaxis"], specs[13]["layout"]["yaxis"]):
        axis["dtick"] = "D1"
    assert len(crowded(str(static.svgs(specs[13:14])[0]))) > 2, "so the measure finds what overlaps"


def spec_of(title: str, *traces: dict, **layout) -> dict:
    return {"data": list(traces), "layout": {"yaxis": {"title": {"text": title}}, **layout}}


def with_bars(name: str, y: list[float], length: float, **more) -> dict:
    return {
        "name": name,
        "x": [1, 2, 4],
        "y": y,
        "error_y": {"array": [length] * 3, "arrayminus": [length] * 3},
        **more,
    }


RANKS = {"xaxis": {"title": {"text": "ranks"}}}


@pytest.mark.parametrize(
    ("spec", "sight"),
    [
        (
            spec_of("latency (µs)", with_bars("a", [1, 2, 3], 0.1), with_bars("b", [2, 2, 12], 0.1), **RANKS),
            "Lower is better. Largest difference at 4 ranks: b (12.00 µs) and a (3.00 µs), 4 times.",
        ),
        (
            spec_of("bandwidth (MB/s)", with_bars("a", [1, 2, 3], 9), with_bars("b", [2, 3, 4], 9)),
            "Higher is better. The bars of all series overlap. Largest difference at 1: b (2.0 MB/s) and a (1.0 MB/s), 2 times, their bars overlap.",
        ),
        (
            spec_of("message rate (1/s)", with_bars("a", [50, 55, 60], 20), **RANKS),
            "Higher is better. No change is visible. From 50 1/s at 1 to 60 1/s at 4 ranks; the bars at the two ends overlap.",
        ),
        (
            spec_of("time (s)", {"type": "bar", "x": ["x", "y"], "y": [3.0, 3.01]}),
            "Lower is better. All series are nearly the same. Highest and lowest: y (3.01 s) and x (3 s), less than 1 % apart, without intervals.",
        ),
        (
            spec_of("message rate (1/s)", with_bars("a", [50, 90, 60], 20), **RANKS),
            "Higher is better. From 50 1/s at 1 to 60 1/s at 4 ranks, highest at 2: 90 1/s; the bars at the two ends overlap.",
        ),
        (
            spec_of("time (ms)", with_bars("median", [1, 2, 3], 0.1), with_bars("maximum", [9, 9, 9], 0.1)),
            "Lower is better. From 1.00 ms at 1 to 3.00 ms at 4.",
        ),
        (
            spec_of("time (s)", {"type": "bar", "x": ["x", "y"], "y": [3.0, 1.0]}),
            "Lower is better. Highest and lowest: x (3 s) and y (1 s), 3 times, without intervals.",
        ),
        (
            spec_of(
                "share of iterations at or below",
                {"name": "a", "mode": "lines", "x": [1, 2, 3], "y": [0.1, 0.6, 1]},
                xaxis={"title": {"text": "latency (µs)"}},
            ),
            "Further left is better. Half of the iterations take at most 2 µs.",
        ),
        (spec_of("", {"name": "a", "x": [0, 1], "y": [0, 1]}), ""),
        (spec_of("latency (µs)", {"name": "a", "x": [1], "y": [5.0]}), ""),
        (
            spec_of(
                "latency (µs)", with_bars("a", [1, 2, 3], 0.1), with_bars("bound", [9, 9, 9], 0, meta={"overlay": True})
            ),
            "Lower is better. From 1.00 µs at 1 to 3.00 µs at 4.",
        ),
    ],
)
def test_a_caption_ends_with_what_the_values_show(spec: dict, sight: str) -> None:
    assert seen.seen(spec) == sight


def test_a_caption_of_ratios_compares_them_with_one_and_not_with_each_other() -> None:
    table = pd.DataFrame(
        {
            "what": ["latency, 8 B", "bandwidth", "fast"],
            "words": ["mean"] * 3,
            "factor": [1.85, 1.02, 0.8],
            "low": [1.63, 0.95, 0.7],
            "high": [1.9, 1.7, 0.9],
            "label": ["range"] * 3,
        }
    )
    drawn = figures.factors(table, "what", "words", title="loaded over isolated (times)")
    said = seen.seen(json.loads(drawn.to_json()))
    assert said == (
        "Above 1: latency, 8 B (1.85 times). Below 1: fast (0.80 times). Undecided: bandwidth (1.02 times)."
    )


def test_bandwidths_above_9999_are_told_in_gigabytes_with_the_same_digits() -> None:
    slow = records.summary(records.table([bandwidth(size, n) for size in (64, 4096) for n in range(6)]))
    rows = slow.copy()
    for name in [name for name in rows if name.startswith("bandwidth_MBps")]:
        rows[name] = rows[name] * 100
    figure = figures.versus_size(rows, "bandwidth_MBps")
    spec = parts.bundle(parts.Figure(figure))[style.MIME]
    before, after = figure.to_plotly_json()["data"][0], spec["data"][0]
    assert spec["layout"]["yaxis"]["title"]["text"] == "bandwidth, median<br>(GB/s)"
    assert after["y"] == pytest.approx([value / 1000 for value in before["y"]])
    assert after["error_y"]["array"] == pytest.approx([value / 1000 for value in before["error_y"]["array"]])
    assert "GB/s</b>" in after["hovertemplate"]
    assert "MB/s" not in json.dumps(after)
    assert float(after["customdata"][0][0]) == pytest.approx(after["y"][0], rel=1e-3)
    low = parts.bundle(parts.Figure(figures.versus_size(slow, "bandwidth_MBps")))
    assert "(MB/s)" in low[style.MIME]["layout"]["yaxis"]["title"]["text"]


def test_a_long_title_of_the_upward_axis_is_folded() -> None:
    figure = go.Figure(go.Scatter(x=[1, 2, 3, 4, 5], y=[3, 4, 5, 6, 7]))
    figure.update_layout(yaxis_title_text="bandwidth, median or as named (MB/s)", showlegend=True)
    short = style.finish(go.Figure(figure)).layout.yaxis.title.text
    figure.update_layout(yaxis_title_text="bandwidth, 99th percentile over launches or as named (MB/s)")
    assert "<br>" in style.finish(figure).layout.yaxis.title.text
    assert "<br>" not in short
    low = go.Figure(go.Scatter(x=[1, 2], y=[3, 4]))
    low.update_layout(yaxis_title_text="bandwidth, median (GB/s)", showlegend=False)
    assert style.finish(low).layout.yaxis.title.text == "bandwidth, median<br>(GB/s)", "162 px, beside 155 px of room"


def test_a_figure_is_as_high_as_what_it_shows() -> None:
    few, many = ([1, 2, 3], list(range(9)))
    drawn = {
        name: style.finish(
            go.Figure(traces, {"showlegend": legend, "xaxis": {"title": {"text": "size"}}}), small
        ).layout.height
        for name, traces, legend, small in (
            ("few", [go.Scatter(x=few, y=few)], False, ""),
            ("many", [go.Scatter(x=many, y=many)], False, ""),
            (
                "named",
                [go.Scatter(x=many, y=many, name=f"a series with a long name {n}") for n in range(6)],
                True,
                "",
            ),
            ("noted", [go.Scatter(x=many, y=many)], False, "word " * 60),
        )
    }
    assert drawn["few"] < drawn["many"] < min(drawn["named"], drawn["noted"])


@pytest.mark.parametrize(
    ("launches", "says"),
    [(1, "1 launch each: no interval"), (3, "bars: range of 3 launches"), (6, "bars: 95 % interval of 6 launches")],
)
def test_error_bars_are_the_headline_interval_and_say_so(launches: int, says: str) -> None:
    over = records.summary(table(sizes=(8, 64), transports=("shm",), launches=launches))
    figure = figures.versus_size(over, "latency_us")
    line = figure.data[0]
    assert says in figure.layout.xaxis.title.text
    assert list(line.y) == over["latency_us_p50"].tolist()
    if launches == 1:
        assert line.error_y.array is None
    else:
        assert np.add(line.y, line.error_y.array).tolist() == pytest.approx(over["latency_us_high"].tolist())
        assert np.subtract(line.y, line.error_y.arrayminus).tolist() == pytest.approx(over["latency_us_low"].tolist())


def test_tail_is_thinner_and_in_no_legend() -> None:
    over = records.summary(table(transports=("shm",)))
    thick, thin = figures.versus_size(over, "latency_us").data
    assert thin.line.width < thick.line.width
    assert (thick.showlegend, thin.showlegend) == (True, False)
    assert [y for y in thin.y if y is not None] == over["latency_us_p99"].tolist()
    assert len(figures.versus_size(over, "latency_us", tail=None).data) == 1


def test_hover_says_n_launches_host_badges_and_interval() -> None:
    line = figures.versus_size(records.summary(table(transports=("shm",))), "latency_us").data[0]
    for words in (
        "n: 7,200",
        "launches: 6",
        "host: node01",
        "badges: loopback",
        "engine: c",
        "µs",
        "size: %{customdata",
    ):
        assert words in line.hovertemplate
    assert any("95 % interval of 6 launches" in str(cell) for cell in line.customdata[0])


def test_hover_text_is_no_wider_than_a_page() -> None:
    long = "; ".join(["2 ranks on 2 cores leave none for the system, the tail may be <false>"] * 4)
    said = style.hover([], {"warnings": [long]})["hovertemplate"].partition("<extra>")[0]
    assert max(map(len, said.split("<br>"))) < 100
    assert said.count("&lt;false&gt;") == 4


def test_hover_text_has_the_digits_of_every_table() -> None:
    summary = records.summary(table(transports=("shm",)))
    line = figures.versus_size(summary, "latency_us", tail=None).data[0]
    wanted = [records.value_of(row, "latency_us", "p50").text for row in summary.to_dict("records")]
    place = int(line.hovertemplate.partition("%{customdata[")[2].partition("]")[0])
    assert line.hovertemplate.startswith(f"<b>%{{customdata[{place}]}} µs</b>")
    given = [row[place] for row, y in zip(line.customdata, line.y, strict=True) if y is not None]
    assert given == wanted


def test_no_hover_text_leaves_the_digits_to_plotly() -> None:
    for path in Path(figures.__file__).parent.parent.rglob("*.py"):
        assert not re.search(r"%\{+[xyz][^}]*~r", path.read_text()), path


def test_long_words_do_not_push_the_hover_text_out_of_the_page() -> None:
    said = style.hover([], {"host": ["<" * 200]})["hovertemplate"].partition("<extra>")[0]
    assert max(len(line.replace("&lt;", "<")) for line in said.split("<br>")) < 100
    assert said.count("&lt;") == 200
    many = style.hover([], {"warnings": [tuple(badge(f"busy machine {n}") for n in range(99))]})["hovertemplate"]
    assert many.count("<br>") < 5
    assert " …" in many


def test_unreliable_percentile_says_so() -> None:
    over = records.summary(records.table([latency(8, n=100), latency(64, n=100)]))
    figure = figures.versus_size(over, "latency_us")
    assert "fewer than 10 samples beyond" in text(figure)
    assert [symbol.endswith("-open") for symbol in figure.data[1].marker.symbol] == [True, True]
    assert "open with fewer than 10 samples beyond" in figure.layout.xaxis.title.text
    assert not figures.versus_size(records.summary(table()), "latency_us").data[1].marker.symbol.endswith("-open")


def test_series_are_found_and_origins_never_mixed() -> None:
    parts = [latency(8, "shm"), latency(64, "shm"), *(stated(o, size=s) for o in ORIGINS[1:] for s in (8, 64))]
    figure = figures.versus_size(records.summary(records.table(parts)), "latency_us", series=["benchmark"], tail=None)
    assert len(figure.data) == len(ORIGINS)
    for trace in figure.data:
        origin = trace.name.partition("(")[2].rstrip(")") or "measured"
        look = figures.ORIGINS[origin]
        assert trace.line.dash == look.dash
        assert trace.mode == ("markers" if look.markers else "lines"), "two points are not joined"
        assert trace.marker.symbol.endswith(look.marker)


@pytest.mark.parametrize("order", [("shm", "tcp"), ("tcp", "shm")])
def test_series_are_drawn_in_the_order_of_the_table(order: tuple[str, str]) -> None:
    over = records.summary(table(transports=order)).sort_values("transport", ascending=order == ("shm", "tcp"))
    assert [trace.name for trace in figures.versus_size(over, "latency_us", tail=None).data] == list(order)
    assert [trace.name for trace in figures.bars(over, "message_size_B", "latency_us").data] == list(order)


def test_mean_stands_in_where_a_tool_gives_no_median() -> None:
    frame = records.summary(
        records.table([stated("reported", 5.0, "mean", size=8), stated("reported", 6.0, "mean", size=64)])
    )
    figure = figures.versus_size(frame, "latency_us")
    assert list(figure.data[0].y) == [5.0, 6.0]
    assert figure.layout.yaxis.title.text == "latency, mean (µs)"


def test_two_points_at_one_size_are_refused_with_what_differs() -> None:
    with pytest.raises(DataError, match="transport"):
        figures.versus_size(records.summary(table()), "latency_us", series=["benchmark"])


def test_bounds_carry_value_and_unit() -> None:
    over = records.summary(records.table([bandwidth(8), bandwidth(64)]))
    figure = figures.versus_size(over, "bandwidth_MBps", bounds={"link": 12_500.0})
    assert figure.layout.annotations[0].text == "link: 12,500 MB/s"
    assert figure.layout.shapes[0].y0 == 12_500.0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"metric": "latency_ms"}, "latency_us"),
        ({"metric": "iops_per_s"}, "The table has no"),
        ({"series": ["colour"]}, "'colour'"),
    ],
)
def test_wrong_requests_are_explained(change: dict, says: str) -> None:
    with pytest.raises(DataError, match=says):
        figures.versus_size(records.summary(table()), **{"metric": "latency_us", **change})


def test_no_rows_are_explained() -> None:
    with pytest.raises(DataError, match="no rows"):
        figures.versus_size(records.summary(table()).iloc[:0], "latency_us")


# ---- bars


def test_bars_are_categories_with_intervals() -> None:
    over = records.summary(table(sizes=(8,)))
    figure = figures.bars(over, "transport", "latency_us")
    assert {trace.type for trace in figure.data} == {"bar"}
    assert figure.layout.yaxis.rangemode == "tozero"
    assert sorted(x for trace in figure.data for x in trace.x) == ["shm", "tcp"]
    assert figure.data[0].error_y.array is not None
    assert "95 % interval of 6 launches" in figure.layout.xaxis.title.text


def test_bars_of_sizes_have_binary_labels_and_origins_patterns() -> None:
    rows = records.table([latency(1024), latency(4096), stated("published", size=1024)])
    figure = figures.bars(records.summary(rows), "message_size_B", "latency_us", series=[])
    assert [list(trace.x) for trace in figure.data] == [["1 KiB", "4 KiB"], ["1 KiB"]]
    assert [trace.name for trace in figure.data] == ["measured", "published"]
    assert figure.data[0].marker.pattern.shape is None
    assert figure.data[1].marker.pattern.shape == figures.ORIGINS["published"].pattern


def test_a_bar_stands_for_one_row() -> None:
    with pytest.raises(DataError, match="Several rows"):
        figures.bars(records.summary(table(sizes=(8, 64))), "transport", "latency_us", series=[])


# ---- iterations


def test_distribution_rises_to_one_and_marks_percentiles() -> None:
    one = latency()
    figure = figures.distribution([one, latency(launch=1)], "latency_us")
    line, marks = figure.data[:2]
    assert list(line.y) == sorted(line.y)
    assert line.y[-1] == 1.0
    assert list(line.x) == sorted(line.x)
    row = records.table([one]).iloc[0]
    assert list(marks.x) == pytest.approx([row[f"latency_us_{p}"] for p in ("p50", "p95", "p99")])
    assert list(marks.y) == [0.5, 0.95, 0.99]
    assert [trace.name for trace in figure.data[::2]] == ["launch 0", "launch 1"]
    assert figure.layout.xaxis.title.text.startswith("latency (µs)")


def test_launches_of_a_series_share_a_colour_and_a_line_of_the_legend() -> None:
    several = [latency(), latency(launch=1), latency(transport="tcp")]
    lines = figures.distribution(several, "latency_us", series=["shm", "shm", "tcp"]).data[::2]
    assert [line.name for line in lines if line.showlegend] == ["shm", "tcp"]
    assert lines[0].line.color == lines[1].line.color != lines[2].line.color


def test_distribution_of_a_rate_marks_the_slow_side() -> None:
    random = np.random.default_rng(5)
    one = replace(bandwidth(8), time_ns=random.integers(1000, 9000, (1, 5000)))
    line, marks = figures.distribution([one], "bandwidth_MBps").data
    row = records.table([one]).iloc[0]
    assert list(marks.x) == pytest.approx([row[f"bandwidth_MBps_{p}"] for p in ("p50", "p95", "p99")])
    assert list(marks.y) == pytest.approx([0.5, 0.05, 0.01])
    for x, y in zip(marks.x, marks.y, strict=True):
        assert np.interp(x, line.x, line.y) == pytest.approx(y, abs=0.02)


def test_open_marks_for_unreliable_percentiles() -> None:
    marks = figures.distribution([latency(n=300)], "latency_us").data[1]
    assert [symbol.endswith("-open") for symbol in marks.marker.symbol] == [False, False, True]


def test_long_distribution_keeps_its_extremes() -> None:
    one = latency(n=200_000)
    line = figures.distribution([one], "latency_us").data[0]
    each = records.values(one, "latency_us")
    assert len(line.x) < 600
    assert (line.x[0], line.x[-1]) == pytest.approx((each.min(), each.max()), rel=1e-5)


def test_values_without_samples_have_no_distribution() -> None:
    with pytest.raises(DataError, match="timing=each"):
        figures.distribution([stated("reported")], "latency_us")
    with pytest.raises(DataError, match="has no iterations, only reported values"):
        figures.over_iterations(stated("reported"))


def test_thinning_keeps_every_stretch_s_extremes() -> None:
    y = np.random.default_rng(7).exponential(size=123_457)
    y[77_777] = 1e6
    places, kept = iterations.thin(y, 5000)
    assert len(places) <= 5000
    assert np.all(np.diff(places) > 0)
    assert kept.tolist() == y[places].tolist()
    assert (kept.min(), kept.max()) == (y.min(), 1e6)
    assert iterations.thin(y[:10])[1].tolist() == y[:10].tolist()


@pytest.mark.parametrize(
    ("ranks", "names"),
    [(1, ["rank 0"]), (3, ["rank 0", "rank 1", "rank 2"]), (16, ["slowest rank", "median rank", "fastest rank"])],
)
def test_over_iterations_has_a_line_per_rank_or_the_envelope(ranks: int, names: list[str]) -> None:
    times = np.random.default_rng(2).integers(1000, 5000, (ranks, 40_000))
    spec = Spec(benchmark="mpi.allreduce", size=64, ranks=max(ranks, 2))
    figure = figures.over_iterations(made.samples(spec, times, launch=2, host=HOST))
    assert [trace.name for trace in figure.data] == names
    assert sum(len(trace.x) for trace in figure.data) <= iterations.POINTS
    assert max(max(trace.y) for trace in figure.data) == pytest.approx(times.max() * 1e-3, rel=1e-5)
    assert figure.layout.yaxis.title.text == "time of the iteration (µs)"
    assert "n=40,000" in figure.layout.xaxis.title.text


def test_launches_show_spread_within_and_between() -> None:
    rows = table(sizes=(8,), transports=("shm",))
    figure = figures.launches(rows, "latency_us")
    marks = figure.data[0]
    assert marks.mode == "markers"
    assert list(marks.y) == rows["latency_us_p50"].tolist()
    assert np.add(marks.y, marks.error_y.array).tolist() == pytest.approx(rows["latency_us_ci_high"].tolist())
    between = stats.relative_spread(rows["latency_us_p50"])
    assert f"between launches {100 * between:.2f} %" in figure.layout.xaxis.title.text
    low, high = figure.layout.yaxis.range
    assert low < rows["latency_us_ci_low"].min() <= rows["latency_us_ci_high"].max() < high


def test_launches_of_distant_series_are_drawn_in_per_cent() -> None:
    rows = table(sizes=(8,))
    figure = figures.launches(rows, "latency_us")
    assert figure.layout.yaxis.title.text == "latency, median:<br>difference from that<br>over launches (%)"
    for trace in figure.data:
        medians = rows[rows["transport"] == trace.name]["latency_us_p50"]
        assert list(trace.y) == pytest.approx((100 * (medians / medians.median() - 1)).tolist())
    assert "µs" in str(figure.data[0].customdata[0])


def test_launches_of_several_points_are_told_apart() -> None:
    figure = figures.launches(table(sizes=(8, 1024)), "latency_us")
    assert {trace.name for trace in figure.data} == {"8 B, shm", "8 B, tcp", "1 KiB, shm", "1 KiB, tcp"}
    with pytest.raises(DataError, match="message_size_B"):
        figures.launches(table(sizes=(8, 1024)), "latency_us", series=["transport"])


# ---- heat map


def cells(launches: int = 3) -> pd.DataFrame:
    points = []
    for launch in range(launches):
        values = tuple(
            Reported(
                "bandwidth_MBps",
                "MB/s",
                "value",
                f / r + launch,
                labels={"file_size_B": f, "record_size_B": r, "test": test},
            )
            for f in (2**16, 2**17, 2**18)
            for r in (2**12, 2**14, 2**17)
            for test in ("read", "write")
            if r <= f
        )
        spec = Spec(benchmark="storage.iozone", size=0, ranks=1)
        points.append(made.samples(spec, launch=launch, host=HOST, reported=values))
    return records.reported(points)


def test_heat_map_has_binary_labels_and_empty_cells() -> None:
    frame = cells()
    figure = figures.heat_map(frame[frame["test"] == "read"], "file_size_B", "record_size_B", "bandwidth_MBps")
    heat = figure.data[0]
    assert list(figure.layout.yaxis.ticktext) == ["64Ki", "128Ki", "256Ki"]
    assert list(figure.layout.xaxis.ticktext) == ["4Ki", "16Ki", "128Ki"]
    assert list(heat.x) == [12.0, 14.0, 17.0]
    assert heat.z[0][2] is None
    assert heat.text[0][2] == ""
    assert heat.z[0][0] == 2**16 / 2**12 + 1  # the median of three launches
    assert heat.text[2][0] == "65"
    assert heat.colorbar.title.text == "bandwidth (MB/s)"
    assert "median of 3 launches" in figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text == "file size (B)"
    assert "64 KiB × 4 KiB" in heat.customdata[0][0]


def test_texts_of_cells_contrast_with_their_colour() -> None:
    """The plotly default wrote dark grey on olive: 2.5 to 1."""
    frame = cells()
    read = frame[frame["test"] == "read"]
    read = read.assign(value=np.geomspace(1, 90, len(read)))
    one = figures.heat_map(read, "file_size_B", "record_size_B", "bandwidth_MBps")
    several = figures.heat_maps({"a": read, "b": read}, "file_size_B", "record_size_B", "bandwidth_MBps")
    for figure in (one, several):
        heats = [trace for trace in figure.data if trace.type == "heatmap"]
        texts = [trace for trace in figure.data if trace.type == "scatter"]
        assert sum(len(trace.x) for trace in texts) == sum(bool(t) for heat in heats for row in heat.text for t in row)
        assert {trace.textfont.color for trace in texts} == {"rgb(0, 0, 0)", "rgb(255, 255, 255)"}
        values = np.array([[np.nan if z is None else z for z in row] for row in heats[0].z], np.float64)
        low, high = np.nanmin(values), np.nanmax(values)
        for trace in texts:
            for x, y in zip(trace.x, trace.y, strict=True):
                z = values[list(heats[0].y).index(y)][list(heats[0].x).index(x)]
                (colour,) = sample_colours(SCALE, [(z - low) / (high - low)])
                assert contrast(trace.textfont.color, colour) >= 4.5


def test_heat_map_refuses_to_mix() -> None:
    frame = cells()
    with pytest.raises(DataError, match="differ in test"):
        figures.heat_map(frame, "file_size_B", "record_size_B", "bandwidth_MBps")
    read = frame[frame["test"] == "read"]
    with pytest.raises(DataError, match="no column 'block'"):
        figures.heat_map(read, "block", "record_size_B", "bandwidth_MBps")
    with pytest.raises(DataError, match="no value 'latency_us'"):
        figures.heat_map(read, "file_size_B", "record_size_B", "latency_us")
    with pytest.raises(DataError, match="no column 'unit'"):
        figures.heat_map(read.drop(columns="unit"), "file_size_B", "record_size_B", "value")


# ---- still pictures


def spec() -> dict:
    return json.loads(
        figures.versus_size(records.summary(table(sizes=(1, 8), transports=("shm",))), "latency_us").to_json()
    )


def test_the_chromium_without_windows_draws_where_there_is_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from choreographer.browsers.chromium import Chromium

    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setattr(Chromium, "find_browser", lambda **_: None)
    (tmp_path / "chromium-headless-shell").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert static.browser_identity().startswith(str(tmp_path / "chromium-headless-shell"))


def test_without_chromium_there_is_one_warning_and_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/nowhere")
    with pytest.warns(LabkitWarning, match="BROWSER_PATH=/nowhere is not a file: set it") as caught:
        assert figures.svgs([spec(), spec()]) == [None, None]
    assert len(caught) == 1
    monkeypatch.setattr(static.programs, "browser", lambda: "")
    monkeypatch.delenv("BROWSER_PATH")
    with pytest.warns(LabkitWarning, match="Chromium is missing: install it with '.*chromium-headless-shell'"):
        assert figures.svgs([spec()]) == [None]


@pytest.mark.browser
@pytest.mark.slow
def test_a_picture_is_the_same_whatever_was_drawn_before_and_is_drawn_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a"))
    one, other = spec(), spec() | {"data": [{"type": "bar", "name": "b", "x": [1, 2], "y": [3, 4]}]}
    first = figures.svgs([one, other])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert figures.svgs([other, one]) == first[::-1]
    monkeypatch.setattr(static, "_drawn", lambda specs, how: [None] * len(specs))
    assert figures.svgs([one, other]) == first
    assert figures.svgs([one | {"layout": {"height": 250}}]) == [None]


def test_nothing_needs_no_browser() -> None:
    assert figures.svgs([]) == []


@pytest.mark.slow
@pytest.mark.browser
def test_pictures_are_the_same_each_time_also_inside_a_running_loop() -> None:
    if not any(map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))):
        pytest.skip("needs Chromium")
    one, wide = spec(), spec()
    wide["layout"]["width"] = 500
    read = cells()[lambda frame: frame["test"] == "read"]
    heat = figures.heat_map(read, "file_size_B", "record_size_B", "bandwidth_MBps")
    bars = figures.bars(records.summary(records.table([latency(), stated("published")])), "benchmark", "latency_us")
    drawn = [one, wide, *(json.loads(text(figure)) for figure in (heat, bars))]
    first = figures.svgs(drawn)

    async def inside() -> list[str | None]:
        return figures.svgs(drawn)

    assert asyncio.run(inside()) == first
    assert first[0] is not None
    assert first[1] is not None
    assert 'width="720"' in first[0]
    assert 'width="500"' in first[1]
    assert "latency, median (µs)" in first[0]
    assert "Liberation Sans" in first[0]
    ids = [{part.split('"')[0] for part in svg.split('id="')[1:]} for svg in first if svg]
    assert len(ids) == 4
    assert not ids[0] & ids[1]


# ---- against anything


def windows(launches: int = 3) -> pd.DataFrame:
    return records.summary(
        records.table(
            made.samples(
                Spec(benchmark="mpi.bandwidth", size=size, options={"window": window}),
                np.full(300, 1000 * window + 100 * launch),
                launch=launch,
                host=HOST,
                meta={"fingerprint": f"{size}-{window}"},
            )
            for size in (8, 4096)
            for window in (64, 1, 4)
            for launch in range(launches)
        )
    )


def test_lines_against_a_window_have_its_values_as_ticks() -> None:
    figure = figures.versus(windows(), "option_window", "message_rate_per_s", series=["message_size_B"], log=True)
    assert [trace.name for trace in figure.data] == ["8 B", "4 KiB"]
    assert list(figure.data[0].x) == [1.0, 4.0, 64.0]
    assert list(figure.layout.xaxis.ticktext) == ["1", "4", "64"]
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert "bars: range of 3 launches" in figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text == "message rate, median (1/s)"
    near = windows()[windows()["message_size_B"] == 8]
    assert figures.versus(near, "option_window", "bandwidth_MBps").layout.yaxis.type is None


def test_zero_stands_apart_on_a_logarithmic_axis_only() -> None:
    over = windows()
    over["time_us"] = over["option_window"].replace({1: 0})
    figure = figures.versus(over, "time_us", "bandwidth_MBps", series=["message_size_B"], label="time (µs)")
    assert list(figure.data[0].x) == [2.0, None, 4.0, 64.0]
    assert figure.data[0].y[1] is None
    assert figure.layout.xaxis.ticktext[0] == "0"
    assert "0 is drawn left of the logarithmic axis" in figure.layout.xaxis.title.text
    even = figures.versus(over, "time_us", "bandwidth_MBps", series=["message_size_B"], even=True)
    assert list(even.data[0].x) == [0.0, 4.0, 64.0]


def test_quantities_of_one_unit_share_a_figure_and_each_has_its_own_bars() -> None:
    shown = {"median": "latency_us_p50", "mean": "latency_us_mean"}
    over = records.summary(table(transports=("shm",), launches=3))
    figure = figures.versus(over, "message_size_B", shown)
    assert [trace.name for trace in figure.data] == ["median", "mean"]
    for line, statistic in zip(figure.data, ("p50", "mean"), strict=True):
        tops = [y + up for y, up in zip(line.y, line.error_y.array, strict=True) if y is not None]
        assert tops == pytest.approx(over[f"latency_us_{statistic}_high"].tolist())
    assert figure.layout.yaxis.title.text == "latency (µs)"
    mixed = windows()
    with pytest.raises(DataError, match="The quantities are in 1/s and MB/s"):
        figures.versus(mixed, "option_window", {"a": "bandwidth_MBps_p50", "b": "message_rate_per_s_p50"})
    with pytest.raises(DataError, match="several points at option_window=1"):
        figures.versus(mixed, "option_window", "bandwidth_MBps")
    with pytest.raises(DataError, match="no column 'pairs'"):
        figures.versus(mixed, "pairs", "bandwidth_MBps")


def test_every_rank_has_a_box_in_every_launch() -> None:
    times = np.arange(1, 101) * np.array([[1000], [2000], [3000]])
    spec = Spec(benchmark="mpi.barrier", size=0, ranks=3)
    figure = figures.per_rank([made.samples(spec, times, launch=launch, host=HOST) for launch in (1, 0)])
    assert [trace.name for trace in figure.data] == ["launch 0", "launch 1"]
    assert list(figure.data[0].x) == ["0", "1", "2"]
    assert list(figure.data[0].median) == [50.5, 101.0, 151.5]
    assert figure.layout.yaxis.title.text == "time of an iteration (µs)"
    with pytest.raises(DataError, match="timing=each"):
        figures.per_rank([stated("imported")])


def test_metrics_of_one_unit_stand_in_one_figure() -> None:
    frame = rows_with(latency_us_p50=[1.0, 2.0], pure_us_p50=[0.5, 1.0])
    figure = figures.several_metrics(frame, {"latency_us": "both", "pure_us": "pure"}, "time")
    assert [trace.name for trace in figure.data] == ["both", "pure"]
    assert list(figure.data[1].y) == [0.5, 1.0]
    assert figure.layout.yaxis.title.text == "time, median (µs)"


def test_metrics_of_two_units_are_refused() -> None:
    frame = rows_with(latency_us_p50=[1.0, 2.0], bandwidth_MBps_p50=[5.0, 6.0])
    with pytest.raises(DataError, match="Draw those of one"):
        figures.several_metrics(frame, ["latency_us", "bandwidth_MBps"], "time")


def rows_with(**columns: list[float]) -> pd.DataFrame:
    """Two points of one benchmark with some statistics."""
    plain = {"benchmark": "mpi.iallreduce", "message_size_B": [8, 64], "origin": "measured", "headline": "", "n": 10}
    return pd.DataFrame(plain | columns)


def test_benchmarks_beside_one_another_are_not_told_by_options_that_only_one_has() -> None:
    both = [
        replace(latency(), spec=Spec(benchmark=name, size=64, options=options))
        for name, options in (("sockets.under_load", {"message_rate": 1000}), ("sockets.tcp_rr", {"congestion": ""}))
    ]
    drawn = figures.distribution(both, "round_trip_us").data
    assert [trace.name for trace in drawn if trace.mode == "lines"] == ["sockets.under_load", "sockets.tcp_rr"]
