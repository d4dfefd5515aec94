"""What the notebooks show of the recorded campaigns: captions promise what is drawn, legends tell lines apart."""

from __future__ import annotations

import copy
import itertools
import re
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.figures import data, lines, looks, seen, style
from labkit.judge.n_half import half_of
from labkit.report import painting
from tests.shown import Shown, shown

QUICK = ("10-latency", "51-completion")


@pytest.fixture(
    scope="module",
    params=[
        "two-cores",
        pytest.param("two-cores-all", marks=pytest.mark.slow),
        pytest.param("virtual-cluster", marks=pytest.mark.slow),
    ],
)
def drawn(request: pytest.FixtureRequest) -> list[Shown]:
    """Figures of a recorded campaign."""
    displayed = (
        shown("two-cores", *QUICK) if request.param == "two-cores" else shown(request.param.removesuffix("-all"))
    )
    figures = [one for one in displayed if one.spec]
    assert len(figures) > 4
    return figures


def test_a_legend_names_each_line_once_and_no_word_twice(drawn: list[Shown]) -> None:
    for one in drawn:
        traces = [trace for trace in one.spec["data"] if trace.get("name") and trace.get("showlegend") is not False]
        names = Counter(trace["name"] for trace in traces)
        assert not [name for name, count in names.items() if count > 1], (one.label, names)
        for name in names:
            words = re.split(r"[,;] | ", name)
            assert not any(a == b for a, b in itertools.pairwise(words)), (one.label, name)


def test_a_caption_promises_only_what_is_drawn(drawn: list[Shown]) -> None:
    for one in drawn:
        caption = one.caption.lower()
        bars = [trace for trace in one.spec["data"] if any((trace.get(f"error_{a}") or {}).get("array") for a in "xy")]
        assert bars or "interval" not in caption, (one.label, one.caption)
        assert "bars:" not in one.small or bars, (one.label, one.small)
        assert "hover" not in caption + one.small, one.label
        names = " ".join(str(trace.get("name")) for trace in one.spec["data"])
        assert "percentile" not in caption or "percentile" in one.small + names, one.label
        assert "open markers" not in caption or "-open" in str(one.spec["data"]), one.label


def test_lines_of_a_figure_have_looks_of_their_own(drawn: list[Shown]) -> None:
    for one in drawn:
        drawn_looks = [looks.drawn(trace) for trace in one.spec["data"]]
        slots = {look.series: look.slot for look in drawn_looks if look}
        assert len(set(slots.values())) == len(slots), one.label
        assert len({looks.Look("", slot).colour for slot in slots.values()}) == min(len(slots), 12), one.label


def test_a_series_has_one_look_through_a_report(drawn: list[Shown]) -> None:
    specs = [copy.deepcopy(one.spec) for one in drawn]
    books = [SimpleNamespace(cells=[{"outputs": [{"data": {style.MIME: spec}}]}]) for spec in specs]
    painting.unify(books)
    by_series: dict[str, looks.Look] = {}
    for spec in specs:
        here = {look.series: look for trace in spec["data"] if (look := looks.drawn(trace))}
        assert len({look.colour for look in here.values()}) == min(len(here), 12)
        for trace in spec["data"]:
            if look := looks.drawn(trace):
                assert by_series.setdefault(look.series, look) == look
                colours = {trace.get(part, {}).get("color", look.colour) for part in ("marker", "line")}
                assert colours == {look.colour}
    assert len(by_series) > 5
    assert {by_series[path].slot for path in looks.FIXED if path in by_series} <= {*looks.FIXED.values()}


def test_marks_say_what_they_mean(drawn: list[Shown]) -> None:
    """No bar on a logarithmic axis, no line through three points, no thin line without an explanation."""
    for one in drawn:
        layout = one.spec["layout"]
        for trace in one.spec["data"]:
            axis = layout.get(f"yaxis{str(trace.get('yaxis') or 'y')[1:]}", {})
            assert trace["type"] != "bar" or axis.get("type") != "log", one.label
            if {"series", "look"} <= (trace.get("meta") or {}).keys() and "lines" in (trace.get("mode") or ""):
                measured = "(" not in str(trace.get("name")) and (trace.get("line") or {}).get("dash") == "solid"
                assert not measured or len(data.values(trace["x"])) > lines.FEW, (one.label, trace["name"])
            if trace.get("opacity", 1) < 1 and trace["type"] == "scatter":
                assert re.search(r"\b(thin|small|faint)\b", one.small + one.caption), one.label


def test_a_caption_can_end_with_what_there_is_to_see(drawn: list[Shown]) -> None:
    for one in drawn:
        sight = seen.seen(one.spec)
        bare = one.label.endswith("topology") or len(data.rows(one.spec)) < 4
        assert bare or (sight.endswith(".") and "nan" not in sight and "<" not in sight), (one.label, sight)
        title = data.title(one.spec["layout"], "yaxis")
        direction = re.search(r"\((µs|ms|s|MB/s|GB/s|1/s)\)$", title) and not title.startswith("share")
        assert bare or not direction or " is better." in sight, (one.label, sight)


def test_no_axis_of_a_bandwidth_exceeds_9999_mb_per_s(drawn: list[Shown]) -> None:
    for one in drawn:
        if "(MB/s)" in data.title(one.spec["layout"], "yaxis"):
            heights = [y for trace in one.spec["data"] for y in data.values(trace.get("y")) if isinstance(y, float)]
            assert max(heights, default=0) <= 9999, one.label


@given(st.lists(st.floats(0.1, 1e4), min_size=1, max_size=30))
def test_from_the_size_named_on_all_sizes_reach_half(rates: list[float]) -> None:
    sizes = [2**n for n in range(len(rates))]
    half = half_of(sizes, rates)
    reached = {size for size, rate in zip(sizes, rates, strict=True) if rate >= max(rates) / 2}
    assert min(reached) == half.first
    if half.size is None:
        assert sizes[-1] not in reached
    else:
        assert {size for size in sizes if size >= half.size} <= reached
        assert half.size == sizes[0] or half.size // 2 not in reached
    assert ("not monotonic" in half.sentence) == bool(half.below)


def test_a_curve_that_falls_again_is_said_to() -> None:
    sentence = half_of([1024, 2048, 4096, 8192], [7000.0, 9000.0, 2219.0, 11439.0]).sentence
    assert sentence == (
        "the curve is not monotonic: half of it is first reached at 1 KiB, lost at 4 KiB, and reached again from 8 KiB on"
    )
    assert half_of([1, 2, 4], [1.0, 2.0, 3.0]).sentence == "half of it is reached from 2 B on"
