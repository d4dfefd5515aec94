"""No sentence about an effect that the launches do not show, and no part above its whole."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from labkit import benchmarks
from labkit.judge import effects, stated
from labkit.judge.effects import Effect, Measured
from labkit.models.breakdown import Breakdown, Level, by_difference, of_launches
from labkit.point.columns import METRICS
from labkit.stats.decision import OPEN, TOO_FEW
from labkit.studies import breakdown, what_if


def nested(*paths: list[float]) -> Breakdown:
    """Nested paths by difference, each with its launches."""
    levels = [
        Level(name=str(n), text=f"layer {n}", kind="", path="", time=of_launches(values))
        for n, values in enumerate(paths)
    ]
    return by_difference("message", "µs", levels)


SLOW, FAST = Measured(3.0, [2.9, 3.0, 3.0, 3.1]), Measured(2.0, [1.9, 2.0, 2.0, 2.1])
DAYS = [f"2026-01-0{day}T00:00:00+00:00" for day in range(1, 9)]


@pytest.mark.parametrize(
    ("value", "base", "why"),
    [
        (Measured(2.0), Measured(0.0), "a value is missing or zero"),
        (Measured(2.0), Measured(float("nan")), "a value is missing or zero"),
        (Measured(3.0, [3.0]), Measured(2.0, [2.0]), TOO_FEW),
        (Measured(3.0, [3.0] * 3), Measured(2.0, [2.0] * 3), TOO_FEW),
        (Measured(2.0, [2.0] * 6), Measured(2.0, [2.0] * 6), "they differ by less than 2 %"),
        (Measured(3.0, [1.0, 3.0, 3.0, 5.0]), Measured(2.0, [1.0, 2.0, 2.0, 4.0]), OPEN),
        (Measured(3.0, statistic="mean"), Measured(2.0, statistic="p50"), "one value is a mean"),
    ],
)
def test_no_difference_is_claimed_without_one(value: Measured, base: Measured, why: str) -> None:
    effect = Effect(value, base)
    assert effect.doubt.startswith(why)
    assert effect.said("it takes longer", "it takes 3, the other 2").startswith("it takes 3, the other 2; ")


def test_launches_that_do_not_decide_are_counted() -> None:
    open_ = Effect(Measured(3.0, [1.0, 3.0, 3.0, 5.0]), Measured(2.0, [1.0, 2.0, 2.0, 4.0]), tests=6)
    assert open_.said("", "A took 3 µs, B 2 µs") == (
        "A took 3 µs, B 2 µs; no difference is claimed, because 6 comparisons need at least 5 launches on each side."
    )
    alone = Effect(Measured(3.0, [3.0]), Measured(2.0, [2.0]))
    assert alone.said("", "A took 3 µs, B 2 µs") == "A took 3 µs, B 2 µs; a single launch decides nothing."


def test_a_difference_between_times_is_stated_with_its_reservation() -> None:
    later = dataclasses.replace(SLOW, starts=DAYS[4:]), dataclasses.replace(FAST, starts=DAYS[:4])
    assert Effect(*later).said("it takes 1.5 times as long", "it takes 3, the other 2") == (
        "it takes 1.5 times as long, but both were measured at different times, so the machine may have changed."
    )
    assert not Effect(*later).claimed


def test_launches_that_lie_apart_show_a_difference_of_one_pair_and_of_no_large_family() -> None:
    turns = dataclasses.replace(SLOW, starts=DAYS[::2]), dataclasses.replace(FAST, starts=DAYS[1::2])
    assert Effect(SLOW, FAST).more
    assert Effect(FAST, SLOW).less
    assert Effect(*turns).said("it takes longer", "both") == "it takes longer."
    assert Effect(SLOW, FAST, tests=2).doubt == TOO_FEW


@pytest.mark.parametrize("tests", [1, 3, 7])
def test_an_effect_is_claimed_where_the_rank_test_shows_it(tests: int) -> None:
    mannwhitneyu = pytest.importorskip("scipy.stats").mannwhitneyu
    chance, claimed = np.random.default_rng(7), 0
    for _ in range(200):
        base, value = (np.exp(chance.normal(level, 0.1, 6)) for level in (0.0, 0.15))
        one = Effect(Measured(float(np.median(value)), value), Measured(float(np.median(base)), base), tests)
        p = min(1.0, tests * mannwhitneyu(value, base, method="exact").pvalue)
        assert one.claimed == (p <= 0.05 and not 0.98 <= one.judgement.ratio <= 1.02)
        claimed += one.claimed
    assert 20 < claimed < 180, "the cases tell claims from none"


@pytest.mark.parametrize(("count", "sign"), [(1, 0), (5, 0), (6, 1), (12, 1)])
def test_a_time_is_above_zero_by_a_sign_test_over_its_launches(count: int, sign: int) -> None:
    assert Measured(2.0, [2.0] * count).sign == sign
    assert Measured(-2.0, [-2.0] * count).sign == -sign


@pytest.mark.parametrize("launches", [1, 3])
@pytest.mark.parametrize("paths", [(22010.0, 3.0, 6.7), (0.0, 0.0, 0.0), (5.0, 5.0, 5.0), (9.0, 4.0, 2.0)])
def test_layers_that_exceed_the_whole_add_and_save_nothing(paths: tuple[float, ...], launches: int) -> None:
    whole = nested(*([value] * launches for value in paths))
    said = " ".join(breakdown._added(part, whole) for part in whole.parts[1:])
    assert not re.search(r"is faster by|adds \d", said)
    change = what_if.what_if.Change(text="cheaper", parts=("1",), cheaper=50)
    saved = what_if._after(whole, [change])["saved"]
    assert saved == "not known" or float(saved.split()[0]) == 0


def test_a_share_is_between_nothing_and_all() -> None:
    assert [effects.share(part, 4.0) for part in (-1.0, 0.0, 4.0, 5.0)] == ["", "0 %", "100 %", ""]
    assert not effects.share(0.0, 0.0)


SET_BY_AN_OPTION = [
    ("mpi.file_iread", "overlap", "bandwidth_MBps"),
    ("mpi.availability", "compute_us", "message_rate_per_s"),
    ("mpi.hotspot_send", "window", "latency_us"),
    ("mpi.stencil", "dimensions", "latency_us"),
    ("apps.halo3d26", "neighbours", "exchange_us"),
    ("apps.halo3d26", "nx", "latency_us"),
    ("apps.fft_subcom3d", "size_y", "latency_us"),
    ("compute.hpcg", "nx", "run_time_s"),
    ("learning.training_step", "batch", "step_s"),
    ("learning.recommendation", "lookups", "operation_rate_per_s"),
    ("rpc.tensor_latency", "large", "round_trip_us"),
    ("rpc.parameter_server", "buffers", "transaction_rate_per_s"),
    ("storage.metadata", "write_size", "operation_rate_per_s"),
    ("storage.ior", "block_size", "run_time_s"),
    ("storage.stonewalled_write", "stonewall", "moved_MB"),
    ("storage.stonewalled_write", "wear_out", "run_time_s"),
    ("storage.bt_io", "interval", "io_percent"),
    ("verbs.write_bandwidth", "bidirectional", "message_rate_per_s"),
    ("sockets.udp_stream", "offered", "bandwidth_MBps"),
]
MEASURED = [
    ("mpi.bandwidth", "window", "bandwidth_MBps"),
    ("mpi.bandwidth", "buffers", "message_rate_per_s"),
    ("learning.training_step", "batch", "operation_rate_per_s"),
    ("learning.training_step", "bucket", "step_s"),
    ("storage.ior", "block_size", "bandwidth_MBps"),
    ("congestion.incast", "streams", "bandwidth_MBps"),
    ("kv.open_loop", "rate", "round_trip_us"),
    ("storage.read", "depth", "latency_us"),
    ("mpi.iallreduce", "tests", "latency_us"),
]


@pytest.mark.parametrize(("benchmark", "option", "metric"), SET_BY_AN_OPTION + MEASURED)
def test_levels_of_an_option_that_sets_a_metric_are_not_compared(benchmark: str, option: str, metric: str) -> None:
    one = benchmarks.get(benchmark)
    assert option in {field.name for field in dataclasses.fields(one.options)}
    assert metric in (*one.metrics, *one.phases.values(), *one.derived)
    expected = (benchmark, option, metric) in SET_BY_AN_OPTION
    assert stated.by_definition(f"option_{option}", metric) is expected


def test_every_option_that_sets_a_metric_belongs_to_a_benchmark_with_such_a_metric() -> None:
    known = {
        (field.name, each)
        for one in benchmarks.every().values()
        for field in dataclasses.fields(one.options)
        for metric in (*one.metrics, *one.phases.values(), *one.derived)
        for each in (metric, METRICS[metric].kind)
    }
    reached = {(name, "rate") for name in ("rate", "load", "message_rate")}  # tools report it beside the metrics
    for names, sets in stated._DECIDED:
        assert not [name for name in names if not {(name, one) for one in sets} & (known | reached)]


def test_links_with_another_throttle_differ_and_have_no_share_of_the_rate() -> None:
    plain, slow = ({"testbed": f"virtual-cluster:4,rate=200mbit{more}"} for more in ("", ",throttle=vc3:20mbit"))
    assert stated.links_differ(plain, slow)
    kind, share = stated.of_link(plain, "bandwidth_MBps", 2.4)
    assert (kind, f"{share}") == ("rate", "9.6 %")
    assert stated.of_link(slow, "bandwidth_MBps", 2.4) == ("", None)
