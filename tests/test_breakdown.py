"""The models of Breaking Band to the printed digits, breakdowns with their intervals, and what cheaper parts save."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import figures
from labkit.errors import DataError, SpecError
from labkit.figures.parts import NOTHING
from labkit.figures.sliders import Sliders
from labkit.io import project
from labkit.judge import layers
from labkit.models import breakdown, breaking_band, what_if
from labkit.models.breakdown import Breakdown, Level, Part, Time
from labkit.models.what_if import Change
from labkit.read import reference
from labkit.studies.what_if import Study

EXAMPLES = project.SHIPPED / "data" / "campaigns" / "examples"
PAPER = reference.load(breaking_band.PAPER)
C = breaking_band.published()
NAMES = [field.name for field in dataclasses.fields(C) if field.name != "per_completion"]
MODELS = {
    "injection_llp": breaking_band.injection_llp,
    "injection": breaking_band.injection,
    "latency_llp": breaking_band.latency_llp,
    "latency": breaking_band.latency,
}
times = st.floats(0, 1e6)
components = st.builds(breaking_band.Components, **dict.fromkeys(NAMES, times))


# ---- the paper -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "printed"),
    [("injection_llp", "295.73"), ("latency_llp", "1135.80"), ("injection", "264.97"), ("latency", "1387.02")],
)
def test_the_models_give_the_printed_digits(name: str, printed: str) -> None:
    assert f"{MODELS[name](C):.2f}" == printed
    assert f"{breaking_band.breakdown(name).whole.value:.2f}" == printed
    assert float(printed) == PAPER[name].value
    assert PAPER.sum(name) == pytest.approx(MODELS[name](C))


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (C.llp_post, 175.42),
        (C.misc, 58.68),
        (C.network, 382.81),
        (C.hlp_post, 26.56),
        (C.post, 201.98),
        (C.hlp_rx_prog, 224.66),
        (C.wait_mpich + C.wait_ucp, 443.8),
    ],
)
def test_sums_that_the_paper_prints(value: float, printed: float) -> None:
    assert value == pytest.approx(printed, abs=0.006)  # 26.56 is the printed sum of 24.37 and 2.19


def test_of_two_printed_numbers_the_models_use_the_one_that_gives_the_printed_sum() -> None:
    text = dataclasses.replace(C, busy_post=PAPER["misc_text"].value, update=0.0)
    assert round(breaking_band.injection_llp(text), 2) == 293.63 != PAPER["injection_llp"].value
    wait = dataclasses.replace(C, wait_mpich=PAPER["wait_mpich_text"].value)
    assert round(wait.wait_mpich + wait.wait_ucp, 2) == 444.5 != PAPER["wait"].value
    assert breaking_band.latency(wait) == breaking_band.latency(C), "it enters no sum"


def test_how_many_posts_lie_between_two_polls() -> None:
    assert breaking_band.gen_completion(C) == pytest.approx(2 * (137.49 + 382.81) + 240.96)
    assert breaking_band.least_posts(C) == 8
    assert breaking_band.least_posts(C, write=500.0) == 9
    assert PAPER["posts_per_poll"].value >= breaking_band.least_posts(C), "put_bw meets the bound"
    for batch in (8, 16, 64):
        assert breaking_band.cpu_time(C, batch, batch * C.misc) == pytest.approx(breaking_band.injection_llp(C))
    with pytest.raises(SpecError, match="batch=7, but a poll waits unless 8 posts lie between"):
        breaking_band.cpu_time(C, 7, 0.0)
    with pytest.raises(SpecError, match="LLP_post is 0"):
        breaking_band.least_posts(breaking_band.Components(pcie=1.0))
    assert breaking_band.message_injection(C) == pytest.approx(295.73 + 137.49)


def test_percentages_of_the_figures_are_what_the_text_states() -> None:
    shares = breaking_band.figures()
    for figure, parts in shares.items():
        assert sum(parts.values()) == pytest.approx(100), figure
    assert {f"Figure {n}" for n in (4, 8, 10, 11, 12, 13, 14, 15, 16)} == {name.split(":")[0] for name in shares}
    assert shares["Figure 4: LLP_post"]["PIO copy"] > 50
    assert shares["Figure 12: injection with MPI"]["Post"] > 70
    category = shares["Figure 15: latency by category"]
    assert round(category["network"], 1) == 27.6
    assert round(category["software"] + category["I/O"], 1) == 72.4
    assert max(category.values()) < 50, "none dominates"
    assert shares["Figure 15: network"]["wire"] > 50
    assert abs(shares["Figure 15: software"]["LLP"] - 50) < 4
    assert abs(shares["Figure 15: I/O"]["RC-to-MEM"] - 50) < 4
    assert shares["Figure 16: on the nodes"]["target"] > 50
    assert shares["Figure 16: target"]["I/O"] > 50
    assert shares["Figure 16: I/O of the target"]["RC-to-MEM"] > 50
    assert shares["Figure 16: initiator"]["software"] > 50
    for progress in ("send", "receive"):
        assert shares[f"Figure 14: progress of a {progress}"]["HLP"] > 50
    assert C.llp_tx_prog < 1, "less than a nanosecond of Post_prog is UCT's"
    assert math.floor(100 * (C.hlp_rx_prog + C.llp_prog) / C.post_prog) / 100 == PAPER["rx_over_tx"].value


def test_what_section_7_states_follows() -> None:
    injection, latency = breaking_band.breakdown("injection"), breaking_band.breakdown("latency")
    adapter = what_if.to("PIO", injection, "pio_copy", 15)
    assert round(adapter.cheaper) == 84
    assert what_if.saved(injection, adapter).value > 25
    assert what_if.saved(latency, adapter).value > 5
    assert what_if.saving(latency, breaking_band.IO, 50) > 15
    assert f"{what_if.saving(latency, ['switch'], 70):.2f}" == "5.45"
    assert round(what_if.to("switch", latency, "switch", 30).cheaper) == 72
    assert what_if.saving(injection, breaking_band.HLP, 20) == pytest.approx(6.44, abs=0.01)
    assert what_if.saving(injection, breaking_band.LLP, 20) == pytest.approx(13.33, abs=0.02)
    for parts in (breaking_band.HLP, breaking_band.LLP):
        assert what_if.saving(latency, parts, 20) < 5
    assert breaking_band.breakdown("injection").off == pytest.approx(100 * (264.97 / 263.91 - 1))


def test_lines_of_figure_17_lie_as_the_text_says() -> None:
    for total, lines in breaking_band.FIGURE_17.values():
        curves = what_if.curves(breaking_band.breakdown(total), lines)
        for curve in curves.values():
            assert [step for step, _ in curve] == [10, 30, 50, 70, 90]
            assert [time.value for _, time in curve] == pytest.approx([curve[0][1].value * n for n in (1, 3, 5, 7, 9)])
        if "HLP" in curves:
            assert all(
                curves["HLP"][n][1].value >= curves[name][n][1].value
                for name in curves
                for n in range(5)
                if "HLP_" in name
            )
            assert all(curves["LLP"][n][1].value >= curves["LLP_post"][n][1].value for n in range(5))


# ---- properties ------------------------------------------------------------------------------------------------------


@given(components, st.sampled_from(NAMES), times)
def test_a_dearer_component_never_shortens_anything(c: breaking_band.Components, name: str, more: float) -> None:
    dearer = dataclasses.replace(c, **{name: getattr(c, name) + more})
    for model in (*MODELS.values(), breaking_band.gen_completion, breaking_band.message_injection):
        assert model(dearer) >= model(c)


@given(components)
def test_a_layer_more_never_shortens_the_path(c: breaking_band.Components) -> None:
    assert breaking_band.latency(c) >= breaking_band.latency_llp(c)
    assert breaking_band.latency_llp(c) >= breaking_band.latency_llp(dataclasses.replace(c, switch=0.0))
    for name, model in MODELS.items():
        assert breaking_band.breakdown(name, c).whole.value == pytest.approx(model(c), abs=1e-6)


part_times = st.lists(times, min_size=1, max_size=4).map(lambda v: Time(value=v[0], launches=tuple(v[1:])))
wholes = st.lists(part_times, min_size=1, max_size=5).map(
    lambda them: Breakdown(
        title="x",
        unit="µs",
        origin="measured",
        parts=tuple(Part(name=f"p{n}", text="", kind="k", time=time) for n, time in enumerate(them)),
    )
)


@given(wholes, st.floats(0, 100), st.floats(0, 100))
def test_cheaper_parts_never_lengthen_a_whole_and_more_saves_more(whole: Breakdown, one: float, other: float) -> None:
    less, more = sorted((one, other))
    left = [what_if.after(whole, Change(text="", parts=("p0",), cheaper=share)).value for share in (less, more)]
    assert whole.whole.value + 1e-6 >= left[0] >= left[1] - 1e-6
    assert left[1] >= whole.whole.value - whole.sum(["p0"]).value - 1e-6


@given(st.lists(st.lists(st.floats(0.1, 1e3), min_size=3, max_size=3), min_size=1, max_size=5))
def test_differences_of_neighbours_sum_to_the_longest_path(paths: list[list[float]]) -> None:
    levels = [
        Level(name=str(n), text="", kind="", path=str(n), time=breakdown.of_launches(values))
        for n, values in enumerate(paths)
    ]
    whole = breakdown.by_difference("x", "µs", levels)
    assert whole.whole.value == pytest.approx(levels[-1].time.value)
    assert whole.whole.launches == pytest.approx(levels[-1].time.launches)


# ---- intervals -------------------------------------------------------------------------------------------------------


def test_a_formula_is_applied_launch_by_launch() -> None:
    a = breakdown.of_launches([4, 5, 6, 7, 8, 9])
    b = Time(value=2.0)
    both = breakdown.combine(lambda x, y: x - y, a, b)
    assert both.value == 4.5
    assert list(both.launches) == [2, 3, 4, 5, 6, 7]
    assert list(both.interval) == [2, 7]
    assert both.basis == "95 % interval of 6 launches"
    short = breakdown.combine(lambda x, y: x + y, a, breakdown.of_launches([1, 1]))
    assert list(short.launches) == [5, 6], "launches that both have"
    assert math.isnan(breakdown.of_launches([1.0]).interval[0])
    assert breakdown.of_launches([1.0]).basis == ""


@pytest.mark.parametrize("launches", [6, 9, 20])
def test_intervals_of_parts_contain_the_true_ones_95_percent_of_the_time(launches: int) -> None:
    """Nested paths of 3, 5 and 9 µs with 5 % noise in each launch: parts of 3, 2 and 4 µs, and a share of 4/9."""
    chance, trials = np.random.default_rng(1), 400
    covered = np.zeros(4)
    for _ in range(trials):
        paths = [center * chance.normal(1, 0.05, launches) for center in (3.0, 5.0, 9.0)]
        levels = [
            Level(name=str(n), text="", kind="", path="", time=breakdown.of_launches(values))
            for n, values in enumerate(paths)
        ]
        whole = breakdown.by_difference("x", "µs", levels)
        ends = [*(part.time.interval for part in whole.parts), whole.share(["2"]).interval]
        covered += [low <= true <= high for (low, high), true in zip(ends, (3, 2, 4, 400 / 9), strict=True)]
    assert (covered >= trials * (0.95 - 3 * math.sqrt(0.95 * 0.05 / trials))).all()


def test_a_part_that_may_be_nothing_is_doubtful() -> None:
    paths = {"a": 3 * [3, 4], "b": 3 * [5, 5], "c": 3 * [4.9, 5.2], "d": [6.0] * 6, "e": [9.0]}
    levels = [Level(name=name, text="", kind="", path="", time=breakdown.of_launches(v)) for name, v in paths.items()]
    assert breakdown.by_difference("x", "µs", levels).doubtful == ["c", "e"], "c may be nothing, and e has one launch"


def test_what_no_part_explains_is_a_part_of_its_own() -> None:
    post = Part(name="post", text="post", kind="processor", time=breakdown.of_launches([2, 3, 2]))
    whole = breakdown.attributed("one way", "µs", breakdown.of_launches([10, 12, 11]), [post])
    assert whole.names == ["post", breakdown.REST]
    assert list(whole.parts[-1].time.launches) == [8, 9, 9]
    assert whole.whole.value == 11
    assert whole.share([breakdown.REST]).value == pytest.approx(100 * 9 / 11)
    saved = what_if.saved(whole, Change(text="", parts=("post",), cheaper=50))
    assert saved.value == pytest.approx(100 / 11)
    assert saved.interval == pytest.approx((100 * 1 / 11, 100 * 1.5 / 12))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: breaking_band.Components(wire=-1.0), "wire=-1.0, but a component takes at least 0"),
        (lambda: breaking_band.Components(wire=math.nan), "wire=nan, but a component takes at least 0"),
        (
            lambda: breaking_band.breakdown("latncy"),
            "There is no model 'latncy'. Did you mean latency or latency_llp? There are:",
        ),
        (lambda: Change(text="x", parts=(), cheaper=101), "x: 101 % cheaper, but it must be at most 100 %"),
        (lambda: what_if.to("x", breaking_band.breakdown("latency"), "cable", 1), "There is no part 'cable'"),
        (
            lambda: what_if.to("x", breaking_band.breakdown("latency"), "wire", -1),
            "x: -1 ns, but a part takes at least 0",
        ),
        (lambda: Breakdown(title="x", unit="", origin="measured", parts=()), "x has no parts"),
        (
            lambda: Study(measure=False, campaign="x", changes="wire=5"),
            "each change must read NAME: 15 ns or NAME: -50 %",
        ),
        (lambda: Study(measure=False, campaign="x", changes="io: 5 ns"), "only one published part has a time"),
        (lambda: Study(measure=False, campaign="x", own="kernel: 5 ns"), "only one published part has a time"),
    ],
)
def test_wrong_input_is_one_clear_error(call: Any, error: str) -> None:
    with pytest.raises(SpecError, match=re.escape(error)):
        call()


def test_a_time_is_a_number() -> None:
    with pytest.raises(DataError, match="each must be a finite number"):
        Time(value=math.inf)


# ---- measured paths --------------------------------------------------------------------------------------------------


def rows(**trips: list[float]) -> pd.DataFrame:
    """Records of the paths of a message over TCP: half of what is given are the times."""
    names = {"kernel": "sockets.unix_rr", "ip": "sockets.udp_rr", "order": "sockets.tcp_rr"}
    made = []
    for name, values in trips.items():
        for launch, value in enumerate(values):
            row: dict[str, Any] = {
                "launch": launch,
                "message_size_B": 64,
                "fingerprint": name,
                "option_tool": "sockperf",
            }
            if name == "memory":
                row |= {"benchmark": "mpi.latency", "transport": "shm", "latency_us_p50": value}
            else:
                row |= {"benchmark": names[name], "round_trip_us_p50": 2 * value}
            made.append(row)
    return pd.DataFrame(made)


def test_nested_paths_of_records() -> None:
    table = rows(memory=[1, 1, 1], kernel=[4, 5, 6], ip=[7, 7, 7], order=[8, 8, 8])
    own, missing = layers.nested(table, "one way", layers.sockets(64))
    assert own is not None
    assert not missing
    assert [part.time.value for part in own.parts] == [1, 4, 2, 1]
    assert list(own.parts[1].time.interval) == [3, 5]
    assert own.parts[1].source == "half a round trip of a Unix socket less MPI through shared memory"


def test_a_path_that_was_not_measured_is_named_and_the_next_part_spans_it() -> None:
    own, missing = layers.nested(rows(memory=[1], order=[8]), "one way", layers.sockets(64))
    assert own is not None
    assert missing == ["half a round trip of a Unix socket", "half a round trip over UDP"]
    assert own.parts[-1].source == "half a round trip over TCP less MPI through shared memory"
    nothing, all_missing = layers.nested(rows(memory=[1])[:0], "one way", layers.sockets(64))
    assert nothing is None
    assert len(all_missing) == 4


# ---- figure and sliders ----------------------------------------------------------------------------------------------


def test_savings_of_measured_parts_have_intervals_and_published_ones_have_none() -> None:
    own, _ = layers.nested(rows(memory=[1, 1], order=[8, 9]), "one way", layers.sockets(64))
    assert own is not None
    one = figures.saving({own.title: what_if.curves(own, {name: (name,) for name in own.names})})
    assert all(trace.name.endswith("(modelled)") for trace in one.data)
    assert one.data[1].error_y.array
    paper = breaking_band.breakdown("latency")
    other = figures.saving({paper.title: what_if.curves(paper, {"wire": ("wire",)})})
    assert other.data[0].error_y.array is None
    assert list(other.data[0].x) == list(what_if.STEPS)


def test_sliders_show_what_remains_and_that_nothing_is_measured() -> None:
    sliders = Sliders([breaking_band.breakdown("latency")], {"wire": ("wire",), "switch": ("switch",)})
    assert "1,387 → 1,387 ns: nothing saved" in sliders.result.value
    sliders.cheaper["wire"].value = 90
    assert "1,387 → 1,140 ns: 17.8 % saved, 1.22 times as fast" in sliders.result.value
    assert "not measured" in sliders.result.value
    sliders.reset.click()
    assert "nothing saved" in sliders.result.value


def test_without_samples_the_notebook_still_has_the_published_message() -> None:
    study = Study(campaign=str(EXAMPLES / "virtual-cluster"), measure=False)
    assert study.own is None
    assert study.own_changes().empty
    assert study.own_figure() == NOTHING
    assert "Not measured: MPI through shared memory" in str(study.findings())
    assert len(study.figure_17().data) == sum(len(lines) for _, lines in breaking_band.FIGURE_17.values())
    assert len(study.claims()) == len(PAPER.claims)
    assert study.claims()["computed (% saved)"].iloc[-1] == "5.62; 5.45 by 70 %"  # as the findings say


def test_the_recorded_message_is_broken_down_with_its_intervals() -> None:
    study = Study(campaign=str(EXAMPLES / "two-cores-labs"), measure=False)
    table = study.own_changes()
    assert "Not measured" not in str(study.findings())
    assert all("range of 3 launches" in text for text in table["saved"])
    assert next(iter(study.published_changes()["saved"])).startswith("29.9")


def test_a_legend_of_many_kinds_is_broken_into_lines() -> None:
    kinds = ("processor", "measurement", "not attributed", "the whole", "MPI", "Python")
    parts = [figures.Part(kind, 1.0, kind) for kind in kinds]
    few, many = (figures.stacked([figures.Stack("x", some, "measured")], "µs") for some in (parts[:2], parts))
    assert "<br>" not in few.layout.annotations[0].text
    assert many.layout.annotations[0].text.count("<br>") == 1
    assert many.layout.margin.t > few.layout.margin.t
    assert all(f"{kind} (measured)" in many.layout.annotations[0].text for kind in kinds)


def test_an_interval_much_longer_than_the_bars_does_not_shrink_them() -> None:
    short = [figures.Part("a", 4.0, "k", 3.5, 4.5), figures.Part("b", 2.0, "k", 1.0, 3.0)]
    long = [*short, figures.Part("c", -1.0, "k", -7000.0, 6000.0)]
    assert figures.stacked([figures.Stack("x", short, "measured")], "µs").layout.xaxis.range is None
    figure = figures.stacked([figures.Stack("x", long, "measured")], "µs", "Bars: range.")
    assert list(figure.layout.xaxis.range) == [-6.0, 12.0]
    assert "go on beyond it" in figure.to_json()
    texts = next(trace for trace in figure.data if trace.type == "scatter" and trace.mode == "text")
    assert max(texts.x) == 12.0
