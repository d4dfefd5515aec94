"""Verdicts on collectives and storage, and causes that the data of a campaign speak for, exclude, or say nothing of."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from labkit import benchmarks
from labkit.errors import LaunchError, SpecError
from labkit.judge import causes, rules
from labkit.judge.answer import answer
from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Evidence, Finding, Subject, Value, Wanted
from labkit.judge.rule import Rule
from labkit.judge.sentences import sentence
from labkit.judge.view import View
from labkit.models import bounds, schedules
from labkit.models.bounds import Stated
from labkit.models.loggp_engine import finish, hockney
from labkit.point.notes import note
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.read.columnar import of_samples
from labkit.run import measuring
from labkit.stats.modes import Modes
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT, noted

from . import made

SCATTER = (0.999, 1.0, 1.001)  # launches, as parts of the value
VERDICTS = ("bandwidth-of-path", "latency-of-path", "collective-of-messages", "storage-of-device")
HOST = {"name": "a", "cpu_threads": 4, "cpu_cores": 4}


def point(
    benchmark: str,
    size: int,
    value: float,
    metric: str = "latency_us",
    *,
    scatter: Iterable[float] = SCATTER,
    meta: Mapping[str, Any] | None = None,
    **fields: Any,
) -> list[Samples]:
    """The launches of a point inside one host, whose median was reported."""
    about = {"library": "Open MPI 4.1.4", "engine": "c", "badges": ["shared memory"]} | dict(meta or {})
    spec = Spec(benchmark=benchmark, size=size, **{"launcher": "openmpi"} | fields)
    identity = {name: str(about[name]) for name in ("library", "badges")}
    return [
        made.samples(
            spec,
            launch=launch,
            host=HOST,
            origin="measured",
            reported=made.values(metric, p50=value * part),
            meta=about | {"fingerprint": spec.fingerprint(identity)},
        )
        for launch, part in enumerate(scatter)
    ]


def found(code: str, *points: list[Samples]) -> list[Finding]:
    """Findings of a rule in a campaign with some points."""
    launches = of_samples([one for some in points for one in some])
    view = View("c", launches.records, records.summary(launches.records), launches, here=True)
    return list(answer(view, [code]).findings)


def number(one: Finding, name: str) -> float:
    """A value of a finding."""
    value = one.values[name]
    assert isinstance(value, Value)
    return value.value


# ---- collectives -----------------------------------------------------------------------------------------------------

PAIR = [*point("mpi.latency", 8, 1.0), *point("mpi.latency", 1 << 20, 101.0)]  # 1 µs, and 1 MiB in 100 µs more


@pytest.mark.parametrize("collective", schedules.ALGORITHMS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 8])
def test_no_algorithm_takes_less_than_the_messages_that_a_collective_needs(collective: str, ranks: int) -> None:
    size = 5040 if collective != "mpi.barrier" else 0
    for alpha, beta in ((1e-6, 0.0), (0.0, 1e-9), (1e-6, 1e-9)):
        rounds, count = schedules.least(collective, ranks, size)
        for name in schedules.algorithms(collective):
            costs = hockney(alpha=alpha, beta=beta)
            took = finish(schedules.schedule(collective, name, ranks, size), ranks, costs).max()
            assert took >= max(rounds * alpha, count * beta) * (1 - 1e-9), name


@pytest.mark.parametrize(("time", "level"), [(5.0, "good"), (8.0, "doubtful"), (12.0, "bad")])
def test_a_small_collective_is_judged_by_latencies_one_after_the_other(time: float, level: str) -> None:
    (one,) = found("collective-of-messages", PAIR, point("mpi.allreduce", 8, time, ranks=4))
    assert one.level == level
    assert number(one, "times") == pytest.approx(time / 2.25), "2 latencies, and the library's own work"
    assert "2 latencies" in sentence(one)


def test_a_large_collective_is_judged_by_the_bytes_of_a_rank_and_the_worse_end_stands_for_a_setting() -> None:
    sizes = [point("mpi.alltoall", size, time, ranks=4) for size, time in ((8, 3.0), (1 << 20, 3000.0))]
    (one,) = found("collective-of-messages", PAIR, *sizes)
    assert one.level == "bad"
    assert number(one, "times") == pytest.approx(10, rel=0.01)
    assert "3 MiB that one rank moves" in sentence(one)


def test_messages_of_another_path_or_library_are_no_reference() -> None:
    for meta in ({"library": "MPICH 4.0.2"}, {"badges": ["loopback"]}):
        (one,) = found("collective-of-messages", PAIR, point("mpi.bcast", 8, 3.0, ranks=4, meta=meta))
        assert one.form == "no reference"
        assert one.command == "labkit explain c --decide"
        assert [(each.spec.benchmark, each.spec.size, each.spec.ranks) for each in one.measure] == [
            ("mpi.latency", 8, 2),
            ("mpi.latency", 65536, 2),
        ]


def test_a_large_collective_has_no_reference_beside_small_messages_alone() -> None:
    small, large = point("mpi.latency", 8, 1.0), point("mpi.bcast", 1 << 20, 3.0, ranks=4)
    (one,) = found("collective-of-messages", small, large)
    assert one.form == "no reference"
    (other,) = found("collective-of-messages", small, point("mpi.barrier", 0, 3.0, ranks=4))
    assert other.level == "good"


def test_ranks_of_which_some_share_a_host_have_no_reference() -> None:
    meta = {"rank_hosts": ["a", "a", "b", "b"], "badges": []}
    between = [point("mpi.latency", size, time, meta={"badges": []}) for size, time in ((8, 1.0), (1 << 20, 101.0))]
    (one,) = found("collective-of-messages", *between, point("mpi.bcast", 8, 3.0, ranks=4, meta=meta))
    assert one.form == "no reference"
    assert "share a host" in sentence(one)


def test_a_message_of_one_size_is_a_reference_of_few_bytes_and_of_bytes_alone() -> None:
    (one,) = found("collective-of-messages", point("mpi.latency", 8, 1.0), point("mpi.allreduce", 8, 12.0, ranks=4))
    assert (one.level, number(one, "times")) == ("bad", pytest.approx(12 / 2.25))
    large = point("mpi.latency", 1 << 15, 100.0)
    (one,) = found("collective-of-messages", large, point("mpi.allreduce", 1 << 15, 1000.0, ranks=4))
    assert number(one, "times") == pytest.approx(1000 / 150.25), "1.5 times the bytes of the message"
    (one,) = found("collective-of-messages", large, point("mpi.barrier", 0, 1000.0, ranks=4))
    assert one.form == "no reference", "such a message says nothing of a latency"


def test_a_collective_faster_than_messages_is_good() -> None:
    (one,) = found("collective-of-messages", PAIR, point("mpi.allreduce", 8, 1.5, ranks=4))
    assert one.level == "good"
    assert "is less than the 2.250 µs [2.248 to 2.252]" in sentence(one), "with the interval of the message between two"


# ---- causes ----------------------------------------------------------------------------------------------------------

LINE = point("micro.core_to_core", 0, 50.0, "line_transfer_ns", ranks=1, meta={"library": "none", "badges": []})
COPY = [
    *point("micro.memory_copy", 65536, 20e3, "bandwidth_MBps", ranks=1, meta={"library": "none", "badges": []}),
    *point("micro.memory_copy", 1 << 20, 20e3, "bandwidth_MBps", ranks=1, meta={"library": "none", "badges": []}),
    *point("micro.core_to_core_copy", 65536, 20e3, "bandwidth_MBps", ranks=1, meta={"library": "none", "badges": []}),
    *point("micro.core_to_core_copy", 1 << 20, 20e3, "bandwidth_MBps", ranks=1, meta={"library": "none", "badges": []}),
]
FAST_COPY = [replace(one, reported=made.values("bandwidth_MBps", p50=100e3)) for one in COPY]


def cause(code: str, benchmark: str, *points: list[Samples], last: bool = False) -> Finding | None:
    """What the data say of a cause of the first verdict on a benchmark that is not good, or of the last."""
    launches = of_samples([one for some in points for one in some])
    view = View("c", launches.records, records.summary(launches.records), launches)
    asking = [
        one
        for one in answer(view, VERDICTS).findings
        if one.subject.benchmark == benchmark and one.level in ("bad", "doubtful") and one.kind == "verdict"
    ]
    assert asking, "nothing to explain"
    return next((one for one in asking[-1 if last else 0].causes if one.code == code), None)


ALGORITHM: dict[str, Any] = {"environment": {"OMPI_MCA_coll_tuned_allreduce_algorithm": "3"}}
SLOW = point("mpi.allreduce", 8, 30.0, ranks=4)
SIX = (0.999, 1.0, 1.001, 0.9995, 1.0005, 1.0)


def test_an_algorithm_that_is_faster_explains_a_slow_collective() -> None:
    fast = point("mpi.allreduce", 8, 3.0, ranks=4, **ALGORITHM)
    one = cause("algorithm", "mpi.allreduce", PAIR, SLOW, fast)
    assert one is not None
    assert one.supported
    assert "OMPI_MCA_coll_tuned_allreduce_algorithm=3 gives 3 µs" in sentence(one)
    assert number(one, "without") == pytest.approx(3.0)
    assert one.command.endswith("--factor env.OMPI_MCA_coll_tuned_allreduce_algorithm=3 --launches 6"), "it has three"


def test_an_algorithm_that_is_no_faster_excludes_it_and_without_one_nothing_is_said() -> None:
    slower = point("mpi.allreduce", 8, 40.0, ranks=4, **ALGORITHM)
    one = cause("algorithm", "mpi.allreduce", PAIR, SLOW, slower, last=True)
    assert one is not None
    assert one.against
    assert cause("algorithm", "mpi.allreduce", PAIR, SLOW) is None
    other = point("mpi.allreduce", 8, 3.0, ranks=4, environment={"OMPI_MCA_btl_vader_eager_limit": "64"})
    assert cause("algorithm", "mpi.allreduce", PAIR, SLOW, other) is None


def test_another_library_or_a_build_for_debugging_explains() -> None:
    mpich = {"library": "MPICH 4.0.2"}
    pair = [one for size in (8, 1 << 20) for one in point("mpi.latency", size, 1.0, meta=mpich)]
    fast = point("mpi.allreduce", 8, 3.0, ranks=4, meta=mpich)
    one = cause("library-build", "mpi.allreduce", PAIR, pair, SLOW, fast)
    assert one is not None
    assert "library=MPICH 4.0.2 gives 3 µs" in sentence(one)
    same = point("mpi.allreduce", 8, 30.0, ranks=4, meta=mpich, scatter=SIX)
    slow = point("mpi.allreduce", 8, 30.0, ranks=4, scatter=SIX)
    one = cause("library-build", "mpi.allreduce", PAIR, pair, slow, same)
    assert one is not None
    assert one.against
    assert cause("library-build", "mpi.allreduce", PAIR, SLOW) is None


@pytest.mark.parametrize(
    ("options", "debug"),
    [
        ("--enable-g=dbg", True),
        ("'--enable-error-checking=all'", True),
        ("--enable-debug", True),
        ("--enable-g=none", False),
        ("--enable-error-checking=no", False),
        ("--enable-fast=O3", False),
    ],
)
def test_what_a_library_was_configured_with_tells_a_build_for_debugging(options: str, debug: bool) -> None:
    built = point("mpi.allreduce", 8, 30.0, ranks=4, meta={"mpi_library": f"MPICH Configure: {options} --prefix=/usr"})
    one = cause("library-build", "mpi.allreduce", PAIR, built)
    assert (one is not None and one.supported) is debug


def test_another_cadence_explains_or_is_excluded() -> None:
    streaming: dict[str, Any] = {"options": {"cadence": "streaming"}}
    isolated: dict[str, Any] = {"options": {"cadence": "isolated"}}
    slow = point("mpi.allreduce", 8, 30.0, ranks=4, scatter=SIX, **isolated)
    one = cause("cadence", "mpi.allreduce", PAIR, slow, point("mpi.allreduce", 8, 3.0, ranks=4, **streaming))
    assert one is not None
    assert one.supported
    equal = point("mpi.allreduce", 8, 30.0, ranks=4, scatter=SIX, **streaming)
    one = cause("cadence", "mpi.allreduce", PAIR, slow, equal)
    assert one is not None
    assert one.against
    assert cause("cadence", "mpi.allreduce", PAIR, SLOW) is None


def windowed(window: int, value: float, size: int = 65536, **fields: Any) -> list[Samples]:
    """A bandwidth with a window of messages."""
    return point("mpi.bandwidth", size, value, "bandwidth_MBps", options={"window": window}, **fields)


def test_a_larger_window_that_moves_more_explains_a_low_bandwidth() -> None:
    one = cause("few-outstanding", "mpi.bandwidth", COPY, windowed(1, 1e3), windowed(64, 9.5e3))
    assert one is not None
    assert one.supported
    assert "window=64 gives 9,500 MB/s" in sentence(one)
    one = cause("few-outstanding", "mpi.bandwidth", COPY, windowed(1, 1e3, scatter=SIX), windowed(64, 1e3, scatter=SIX))
    assert one is None or one.against
    assert cause("few-outstanding", "mpi.bandwidth", COPY, windowed(64, 1e3)) is None


def test_a_smaller_window_says_nothing_of_too_few_messages() -> None:
    assert cause("few-outstanding", "mpi.bandwidth", COPY, windowed(64, 1e3), windowed(16, 9.5e3)) is None


def test_a_window_in_each_round_trip_predicts_the_bandwidth() -> None:
    trip = point("mpi.latency", 8, 50.0)  # half of it
    one = cause("window-of-round-trip", "mpi.bandwidth", COPY, trip, windowed(1, 640.0))
    assert one is not None
    assert one.supported
    assert number(one, "predicted") == pytest.approx(65536 / (100.25 + 65536 / 10_000)), "and the copies of the window"
    assert "64 KiB per round trip of 100 µs" in sentence(one)
    assert one.measure[0].spec.values["window"] == 4
    one = cause("window-of-round-trip", "mpi.bandwidth", COPY, trip, windowed(8, 640.0))
    assert one is not None
    assert one.against
    far = cause("window-of-round-trip", "mpi.bandwidth", COPY, trip, windowed(64, 640.0))
    assert far is None, "what allows 64 times as much is not worth a word"
    assert cause("window-of-round-trip", "mpi.bandwidth", COPY, windowed(1, 640.0)) is None
    elsewhere = point("mpi.latency", 8, 50.0, meta={"badges": ["loopback"]})
    assert cause("window-of-round-trip", "mpi.bandwidth", COPY, elsewhere, windowed(1, 640.0)) is None


def jumping(limit: int, **fields: Any) -> list[Samples]:
    """An allreduce over 16 sizes, whose time jumps by 40 µs above a limit."""
    sizes = [8 << step for step in range(16)]
    times = [20 + size / 1e4 + (40 if size > limit else 0) for size in sizes]
    return [
        one
        for size, time in zip(sizes, times, strict=True)
        for one in point("mpi.allreduce", size, time, ranks=4, **fields)
    ]


def test_a_jump_of_the_time_just_below_a_size_is_its_eager_limit() -> None:
    early = [*point("mpi.latency", 8, 10.0), *point("mpi.latency", 8 << 15, 10.4)]  # the largest size is the worse
    one = cause("eager-limit", "mpi.allreduce", early, jumping(8 << 12))
    assert one is not None
    assert one.supported
    assert "between 32 KiB and 64 KiB" in sentence(one)
    assert number(one, "without") == pytest.approx(20 + (8 << 15) / 1e4, rel=0.01)
    assert one.measure[0].spec.environment == (("OMPI_MCA_btl_vader_eager_limit", str(4 * (8 << 15))),)


def test_without_a_jump_below_the_size_the_eager_limit_is_excluded_if_one_would_show() -> None:
    late = [*point("mpi.latency", 8, 0.5), *point("mpi.latency", 8 << 15, 100.1)]
    assert cause("eager-limit", "mpi.allreduce", late, jumping(8 << 12)) is None, "the smallest size is judged"
    peak = [one for step in range(12) for one in windowed(64, 400 * min(step + 1, 8) - 12 * step, size=512 << step)]
    one = cause("eager-limit", "mpi.bandwidth", COPY, peak)
    assert one is not None
    assert one.against
    early = [*point("mpi.latency", 8, 3.0), *point("mpi.latency", 8 << 15, 3.4)]
    assert cause("eager-limit", "mpi.allreduce", early, jumping(1 << 30), last=True) is None, "the largest size"


@pytest.mark.parametrize(("below", "possible"), [(0.2, True), (0.9, False)])
def test_a_fixed_cost_above_the_time_of_smaller_messages_may_be_an_eager_limit(below: float, possible: bool) -> None:
    sweep = [(8, below), (2048, below), (4096, 2.1), (65536, 8.0)]
    one = cause(
        "eager-limit", "mpi.latency", LINE, COPY, *(point("mpi.latency", size, time) for size, time in sweep), last=True
    )
    assert (one is not None) == possible
    if one is not None:
        assert one.supported
        assert not one.likely
        assert "from 4 KiB on, the fixed cost of a message exceeds the whole time of one of 2 KiB" in sentence(one)


@pytest.mark.parametrize(("larger", "code"), [(39.5, "copy-instruction"), (12.0, None)])
def test_a_latency_of_one_byte_in_each_cycle_is_copied_byte_by_byte_unless_larger_ones_are_faster(
    larger: float, code: str | None
) -> None:
    """At 2.6 GHz, 32 KiB take 9.6 µs at 1.3 bytes in each cycle; 128 KiB four times as long, or hardly longer."""
    slow = [
        replace(one, host={**one.host, "architecture": "x86_64", "frequency_nominal_MHz": 2600.0})
        for size, time in ((8, 0.1), (32768, 9.9), (131072, larger))
        for one in point("mpi.latency", size, time, ranks=2)
    ]
    one = cause("copy-instruction", "mpi.latency", LINE, FAST_COPY, slow)
    assert (one.code if one else None) == code


def test_another_eager_limit_that_was_measured_decides() -> None:
    raised: dict[str, Any] = {"environment": {"OMPI_MCA_btl_vader_eager_limit": "65536"}}
    slow = point("mpi.allreduce", 8, 30.0, ranks=4, scatter=SIX)
    one = cause("eager-limit", "mpi.allreduce", PAIR, slow, point("mpi.allreduce", 8, 3.0, ranks=4, **raised))
    assert one is not None
    assert "OMPI_MCA_btl_vader_eager_limit=65536 gives 3 µs" in sentence(one)
    one = cause(
        "eager-limit", "mpi.allreduce", PAIR, slow, point("mpi.allreduce", 8, 30.0, ranks=4, scatter=SIX, **raised)
    )
    assert one is not None
    assert one.against


def timed(first: float, rest: float, spread: float = 0.0, count: int = 1000) -> list[Samples]:
    """A latency whose first 50 iterations take another time, µs; the others are spread evenly around theirs."""
    spec = Spec(benchmark="mpi.latency", size=8, launcher="openmpi")
    parts = np.random.default_rng(1).permutation(np.linspace(-spread, spread, count))
    times = (rest + parts) * 2000 + np.arange(count) % 7
    times[:50] = first * 2000
    about = {"library": "Open MPI 4.1.4", "engine": "c", "badges": ["shared memory"], "timing": "each"}
    return [
        made.samples(spec, times, launch=launch, host=HOST, meta=about | {"fingerprint": "x"}) for launch in range(3)
    ]


def test_slow_first_iterations_that_change_the_median_are_a_short_warm_up() -> None:
    one = cause("short-warm-up", "mpi.latency", LINE, timed(9.0, 3.0, spread=2.0))
    assert one is not None
    assert one.supported
    assert number(one, "without") == pytest.approx(3.0, rel=0.02)
    assert "the first 50 iterations take 3.03 times the rest" in sentence(one)
    assert one.command.endswith("-x 500 --launches 6")


def test_slow_first_iterations_are_excluded_if_the_median_is_the_same_without_them() -> None:
    one = cause("short-warm-up", "mpi.latency", LINE, timed(9.0, 3.0))
    assert one is not None
    assert one.against
    assert "the same" in sentence(one)
    assert cause("short-warm-up", "mpi.latency", LINE, timed(3.0, 3.0)) is None


def averaged(mean: float, longest: float) -> list[Samples]:
    """A latency of 100 iterations in each launch, of which a tool reported mean and maximum."""
    spec = Spec(benchmark="mpi.latency", size=8, launcher="openmpi")
    about = {"library": "Open MPI 4.1.4", "engine": "c", "badges": ["shared memory"], "fingerprint": "m"}
    return [
        made.samples(
            spec,
            launch=launch,
            host=HOST,
            reported=made.values(mean=mean * part, max=longest),
            meta=about | {"iterations": 100},
        )
        for launch, part in enumerate(SCATTER)
    ]


def test_a_mean_is_explained_by_its_slowest_iteration_only_if_that_is_much_of_it() -> None:
    one = cause("mean-of-outliers", "mpi.latency", LINE, averaged(1.0, 90.0))
    assert one is not None
    assert one.supported
    assert number(one, "without") == pytest.approx(10 / 99)
    assert "makes up 90 % of the mean" in sentence(one)
    one = cause("mean-of-outliers", "mpi.latency", LINE, averaged(9.0, 8.1))
    assert one is not None
    assert one.against
    assert cause("mean-of-outliers", "mpi.latency", LINE, averaged(9.0, 90.0)) is None
    assert cause("mean-of-outliers", "mpi.latency", LINE, point("mpi.latency", 8, 9.0)) is None


def test_a_median_that_another_tool_found_of_the_point_shows_that_a_mean_has_outliers() -> None:
    def trips(tool: str, **value: float) -> list[Samples]:
        some = point("sockets.tcp_rr", 1, 1.0, "round_trip_us", ranks=1, options={"tool": tool}, meta={"library": tool})
        return [replace(one, reported=made.values("round_trip_us", **value)) for one in some]

    mean, median = trips("netperf", mean=190.0), trips("sockperf", p50=25.0)
    launches = of_samples([*mean, *median])
    view = View("c", launches.records, records.summary(launches.records), launches)
    about = Finding(
        code="latency-of-path", kind="verdict", level="bad", cost=10.0,
        subject=Subject(benchmark="sockets.tcp_rr", points=(FINGERPRINT.of(mean[0].meta),)),
        values={"measured": view.value(next(r for r in view.summary.to_dict("records") if r["library"] == "netperf"),
                                       "round_trip_us", "mean"), "path": "x"},
    )  # fmt: skip
    one = causes.every()["mean-of-outliers"].test(Case(about=about, view=view, samples=mean[0]))
    assert one is not None
    assert one.likely
    assert "another tool found a median of 25 µs" in sentence(one)


def brought(value: float) -> list[Samples]:
    """A bandwidth that was imported."""
    spec = Spec(benchmark="verbs.write_bandwidth", size=65536, launcher="unknown")
    about = {"library": "perftest", "engine": "perftest", "fingerprint": f"w{value}", "badges": ["shared memory"]}
    return [
        made.samples(
            spec, launch=launch, host=HOST, origin="imported", reported=made.values("bandwidth_MBps", mean=value * part),
            meta=about,
        )
        for launch, part in enumerate(SCATTER)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "units"), [(8.0, "bits and bytes"), (1 / 8, "bits and bytes"), (1 / 1e3, "prefixes")]
)
def test_a_ratio_of_two_units_to_another_benchmark_names_them(ratio: float, units: str) -> None:
    one = cause("units", "mpi.bandwidth", COPY, windowed(64, 500.0), brought(500.0 * ratio))
    assert one is not None
    assert units in sentence(one)
    assert number(one, "predicted") == pytest.approx(500.0)


def test_units_are_named_of_brought_numbers_and_exact_ratios_only() -> None:
    assert cause("units", "mpi.bandwidth", COPY, windowed(64, 500.0), brought(500.0 * 8.2)) is None
    measured = point("mpi.bibandwidth", 65536, 4000.0, "bandwidth_MBps")
    assert cause("units", "mpi.bandwidth", COPY, windowed(64, 500.0), measured) is None
    agreeing = point("mpi.put_bandwidth", 65536, 500.0, "bandwidth_MBps")
    one = cause("units", "mpi.bandwidth", COPY, windowed(64, 500.0), brought(4000.0), agreeing)
    assert one is not None
    assert one.against


@pytest.mark.parametrize(
    ("value", "received", "units"),
    [
        (2.9, 40_000_000, "bits and bytes"),  # 23.2 MB/s, and 21.3 MB/s over the whole time
        (0.0232, 40_000_000, "prefixes"),
        (2.9, 5_000_000, ""),  # it may be so slow
        (2.9, 0, ""),  # nobody counted the bytes
        (5.0, 40_000_000, ""),  # no two units have this ratio
    ],
)
def test_a_tool_that_reports_less_than_the_receivers_got_has_a_wrong_unit(
    value: float, received: int, units: str
) -> None:
    meta = {"received_B": received, "elapsed": 1.88}
    stream = far("sockets.tcp_stream", 65536, value, RATE, options={"tool": "iperf3"}, meta=meta, **STREAM)
    stream = [replace(one, origin="reported") for one in stream]
    launches = of_samples(stream)
    view = View("c", launches.records, records.summary(launches.records), launches, stated=Stated(link="200mbit"))
    (one,) = answer(view, ["bandwidth-of-path"]).findings
    found = [each for each in one.causes if each.code == "units"]
    assert bool(found) is bool(units)
    if found:
        assert f"is that of {units}" in sentence(found[0])
        assert "by their counters, the receivers got at least 21.3 MB/s" in sentence(found[0])


@pytest.mark.parametrize(("large", "likely"), [(4.943, "rate-limit"), (9.0, "small-messages")])
def test_a_limit_that_a_delay_hides_shows_in_what_very_large_messages_of_two_benchmarks_would_reach(
    large: float, likely: str
) -> None:
    """As measured over a link of 60 Mbit/s with a delay, which was said to have 200 Mbit/s and none."""
    ranks = {65536: 4.99, 262144: 6.466}
    stream = {65536: 2.66, 262144: large}
    where: dict[str, Any] = {"testbed": "virtual-cluster:2"}
    tool = {**where, **STREAM, "options": {"tool": "iperf3"}}
    points = [far("mpi.bandwidth", size, value, **where) for size, value in ranks.items()]
    points += [far("sockets.tcp_stream", size, value, **tool) for size, value in stream.items()]
    launches = of_samples([one for some in points for one in some])
    view = View("c", launches.records, records.summary(launches.records), launches, stated=Stated(link="200mbit"))
    found = {one.subject.benchmark: one for one in answer(view, ["bandwidth-of-path"]).findings}
    assert found["mpi.bandwidth"].causes[0].code == likely
    if likely == "rate-limit":
        assert found["sockets.tcp_stream"].causes[0].code == likely
        said = sentence(found["mpi.bandwidth"].causes[0])
        assert "without a fixed cost of each message it would reach 7.17 MB/s, and sockets.tcp_stream 6.9" in said


# ---- storage ---------------------------------------------------------------------------------------------------------

CALL = point("micro.system_call", 0, 200.0, "system_call_ns", ranks=1, meta={"library": "none", "badges": []})


def accessed(value: float, cacheable: str, *, size: int = 65536, name: str = "storage.read", **options: Any) -> Any:
    """Reads or writes of a file on one device."""
    meta: dict[str, Any] = {
        "library": "fio 3.33",
        "engine": "fio",
        "badges": [],
        "device": "/dev/sda",
        "filesystem": "ext4",
    }
    meta |= {"cacheable": cacheable, "page_cache": "as set", "o_direct": "direct" in options.values()}
    return point(name, size, value, "bandwidth_MBps", ranks=1, launcher="none", options=options, meta=meta)


DIRECT = accessed(2000.0, "none", cache="direct", depth=16)


@pytest.mark.parametrize(("value", "level"), [(9000.0, "good"), (5000.0, "doubtful"), (1000.0, "bad")])
def test_reads_that_memory_answers_are_judged_by_copy_and_system_call(value: float, level: str) -> None:
    (one,) = found("storage-of-device", COPY, CALL, accessed(value, "all", cache="warm"))
    assert one.level == level
    assert number(one, "limit") == pytest.approx(65536 / (65536 / 20e9 + 200e-9) / 1e6)
    (one,) = found("storage-of-device", COPY, accessed(value, "all", cache="warm"))
    assert one.form == "no reference"
    assert [each.spec.benchmark for each in one.measure] == ["micro.memory_copy", "micro.system_call"]


def test_the_best_rate_of_a_device_judges_its_other_settings() -> None:
    first, best = found("storage-of-device", DIRECT, accessed(500.0, "none", cache="direct", depth=1))
    assert (first.level, best.form) == ("bad", "no reference")
    assert number(first, "share") == pytest.approx(0.25)
    (alone,) = found("storage-of-device", accessed(500.0, "all", cache="drop"))
    assert alone.form == "no reference"
    assert alone.measure[0].spec.values["cache"] == "direct"


def test_a_queue_depth_that_moves_more_explains_a_slow_device() -> None:
    one = cause("few-outstanding", "storage.read", DIRECT, accessed(500.0, "none", cache="direct", depth=1))
    assert one is not None
    assert "depth=16 gives 2,000 MB/s" in sentence(one)


def test_a_queue_past_the_page_cache_explains_reads_through_it_one_at_a_time() -> None:
    one = cause("few-outstanding", "storage.read", DIRECT, accessed(500.0, "none", cache="drop", depth=1))
    assert one is not None
    assert "cache=direct, depth=16 gives 2,000 MB/s" in sentence(one)


@pytest.mark.parametrize(("value", "code"), [(3400.0, "copy-instruction"), (1500.0, None), (300.0, None)])
def test_one_byte_in_each_cycle_makes_copies_byte_by_byte_possible(value: float, code: str | None) -> None:
    """At 2.6 GHz; processors run up to 1.8 times as fast."""
    slow = [
        replace(one, host={**one.host, "architecture": "x86_64", "frequency_nominal_MHz": 2600.0})
        for one in point("mpi.put_bandwidth", 65536, value, "bandwidth_MBps", ranks=2)
    ]
    one = cause("copy-instruction", "mpi.put_bandwidth", COPY, slow)
    assert (one.code if one else None) == code
    assert one is None or (one.supported and not one.likely)


def test_requests_of_all_sizes_with_one_rate_are_limited_and_more_of_them_would_not_help() -> None:
    deep = accessed(1000.0, "none", cache="direct", depth=16)
    even = [accessed(10.0, "none", size=size, cache="direct", depth=4) for size in (65536, 1 << 20)]
    growing = [
        accessed(rate, "none", size=size, cache="direct", depth=4) for size, rate in ((65536, 10.0), (1 << 20, 90.0))
    ]
    one = cause("device-limit", "storage.read", deep, *even)
    assert one is not None
    assert one.likely
    few = cause("few-outstanding", "storage.read", deep, *even)
    assert few is not None
    assert few.against
    assert cause("device-limit", "storage.read", deep, *growing) is None


def test_reads_faster_than_the_device_came_from_the_page_cache() -> None:
    one = cause("page-cache", "storage.read", DIRECT, accessed(6000.0, "all", cache="drop"))
    assert one is not None
    assert one.supported
    assert one.measure[0].spec.values["cache"] == "direct"
    one = cause("page-cache", "storage.read", DIRECT, accessed(6000.0, "none", cache="drop", pattern="random"))
    assert one is not None
    assert one.against
    assert cause("page-cache", "storage.read", DIRECT, accessed(900.0, "all", cache="drop")) is None


@pytest.mark.parametrize(("overall", "form"), [(440.0, "mostly"), (4000.0, "faster")])
def test_a_few_slow_requests_after_many_fast_ones_are_not_hidden_by_the_median(overall: float, form: str) -> None:
    reads = accessed(6000.0, "all", cache="drop", pattern="random")
    reads = [replace(one, reported=made.values("bandwidth_MBps", p50=6000.0, mean=overall)) for one in reads]
    uneven, _best = found("storage-of-device", DIRECT, reads)
    assert (uneven.form, uneven.level) == (form, "doubtful")
    assert number(uneven, "measured") == overall
    assert ("half of the requests reach 6,000 MB/s" in sentence(uneven)) == (form == "mostly")
    one = cause("page-cache", "storage.read", DIRECT, reads)
    assert one is not None
    assert one.supported


def test_sequential_reads_beyond_random_ones_were_read_ahead() -> None:
    ahead = accessed(6000.0, "all", cache="drop", pattern="sequential")
    one, _best = found("storage-of-device", DIRECT, ahead)
    assert (one.form, one.level) == ("ahead", "doubtful")
    assert "the kernel read ahead" in sentence(one)
    why = cause("page-cache", "storage.read", DIRECT, ahead)
    assert why is not None
    assert why.supported
    direct = accessed(2000.0, "none", cache="direct", depth=16, pattern="sequential")
    one, _best = found("storage-of-device", direct, ahead)
    assert one.form == "faster"


def test_writes_that_wait_for_the_disk_are_not_compared_with_those_that_do_not() -> None:
    direct = accessed(2000.0, "none", name="storage.write", sync="direct")
    synced = accessed(20.0, "none", name="storage.write", sync="fsync")
    assert [one.level for one in found("storage-of-device", direct, synced)] == ["unknown", "unknown"]


# ---- what is measured to decide --------------------------------------------------------------------------------------

NODES = {**HOST, "cpus_usable": 4, "numa_cpus": {"0": "0-1", "1": "2-3"}, "core_cpus": ["0,2", "1,3"], "smt": True}
NODES |= {"cpu_threads": 4, "cpu_cores": 2, "ptrace_scope": 1}
TOGETHER: dict[str, Any] = {"rank_hosts": ["a", "a"]}
FREE: dict[str, Any] = {**TOGETHER, "rank_affinity": [[0, 1, 2, 3]] * 2}
NICS = [{"name": name, "speed_Mbps": mbit, "state": "up"} for name, mbit in (("eth0", 1000), ("lo", 9000))]
APART: dict[str, Any] = {"rank_hosts": ["a", "b"], "badges": []}
WIDE = (0.8, 0.85, 1.0, 1.0, 1.2, 1.3)
RATE, TIME, ROUND = "bandwidth_MBps", "latency_us", "round_trip_us"


@dataclass(frozen=True)
class Deciding:
    """A cause that a measurement decides.

    Parameters
    ----------
    code : of the cause.
    some : launches of a campaign, those of the finding's first point first.
    holds, fails : what each wanted point gives if the cause holds, and if it does not: a number, or launches.
    metric : of these numbers.
    rule : of the finding.
    path : of the verdict; other verdicts on it stand beside it.
    values : of the finding.
    points : how many of them the finding is about.
    meta : of later launches.
    evidence : of the finding.
    """

    code: str
    some: Sequence[list[Samples]]
    holds: Any
    fails: Any
    metric: str = RATE
    rule: str = "bandwidth-of-path"
    path: str = "interface eth0"
    form: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    points: int = 1
    meta: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()


def told(case: Deciding, later: Sequence[Samples], again: bool = False) -> tuple[Finding | None, tuple[Wanted, ...]]:
    """What a cause says with some more launches, and which points it lacks.

    Parameters
    ----------
    again : whether the rule of a violation finds it at the later launches too.
    """
    name = FINGERPRINT.of(case.some[0][0].meta)
    modes = {(name, number): Modes(1e-6, 3e-6, 0.5) for number in range(6)} if case.rule == "two-modes" else {}
    view = made.view([*(one for some in case.some for one in some), *later], (), modes)
    verdicts = rules.every()[case.rule].kind == "verdict"
    names = [FINGERPRINT.of(some[0].meta) for some in case.some]
    about = _about(view, case, names[: case.points])
    beside = [FINGERPRINT.of(one.meta) for one in later if one.launch in (0, 100)]
    others = [_about(view, case, [name]) for name in (*names[case.points :], *beside)] if verdicts else []
    if again:
        others = [replace(about, subject=replace(about.subject, points=(name,))) for name in beside]
    samples = view.first_launches([names[0]])[names[0]]
    judged = Case(about=about, view=view, samples=samples, others=(about, *others))
    one = causes.every()[case.code].test(judged)
    assert one is None or sentence(one)
    return one, causes.every()[case.code].lacking(judged)


def _about(view: View, case: Deciding, names: Sequence[str]) -> Finding:
    row = view.row(names[0])
    assert row is not None
    pairs = [(one, statistic) for one in (RATE, TIME, ROUND) for statistic in ("p50", "mean")]
    metric, statistic = next(pair for pair in pairs if row.get("_".join(pair), np.nan) > 0)
    measured = view.value(row, metric, statistic)
    values: dict[str, Any] = {"measured": measured, "path": case.path, **case.values}
    if len(names) > 1:
        other = view.row(names[1])
        assert other is not None
        values["other"] = view.value(other, metric, "p50")
    limit = case.values.get("limit")
    cost = max(1.0, measured.value / limit.value if metric == TIME else limit.value / measured.value) if limit else 4.0
    subject = Subject(benchmark=str(row["benchmark"]), points=tuple(names))
    kind = rules.every()[case.rule].kind
    return Finding(
        code=case.rule, kind=kind, level="bad", form=case.form, subject=subject, values=values, cost=cost,
        evidence=case.evidence,
    )  # fmt: skip


def measured(case: Deciding, one: Wanted, gives: Any) -> list[Samples]:
    """The launches of a wanted point."""
    there = [each for some in case.some for each in some if each.spec == one.spec]
    if callable(gives):
        return list(gives(one))
    meta = {"library": "Open MPI 4.1.4", "engine": "c", "badges": [], **there[0].meta} if there else {**case.meta}
    base = dict(dict(case.some[0][0].meta) | meta, fingerprint=FINGERPRINT.of(there[0].meta) if there else repr(one))
    return [
        made.samples(
            one.spec, launch=(100 if there else 0) + launch, host=NODES, origin="measured",
            reported=made.values(case.metric, p50=gives * part), meta=base | {"start": f"2026-01-01T01:00:{launch:02}Z"},
        )
        for launch, part in enumerate(SIX * 2)
        if launch < one.launches
    ]  # fmt: skip


def far(
    benchmark: str = "mpi.bandwidth", size: int = 65536, value: float = 500.0, metric: str = RATE, **more: Any
) -> Any:
    """The launches of a point between two hosts, or with other metadata."""
    options = {"scatter": SIX} | {name: more.pop(name) for name in ("scatter",) if name in more}
    meta = {**APART, **more.pop("meta", {})}
    found = point(benchmark, size, value, metric, meta=meta, **options, **more)
    return [
        replace(one, host=NODES, meta={**one.meta, "fingerprint": repr(one.spec), "start": f"2026-01-01T00:00:0{n}Z"})
        for n, one in enumerate(found)
    ]


def over_far(*points: list[Samples]) -> list[str]:
    """Verdicts and forms of bandwidths over a link of 200 Mbit/s whose round trip takes 6 ms: it holds 143 KB."""
    launches = of_samples([one for some in points for one in some])
    stated = Stated(link="200mbit", delay="3ms")
    view = View("c", launches.records, records.summary(launches.records), launches, stated=stated)
    return [f"{one.level} {one.form}".strip() for one in answer(view, ["bandwidth-of-path"]).findings]


@pytest.mark.parametrize(
    ("value", "moved", "more", "says"),
    [
        (25.1, 60_000, {}, "good"),  # the first segments pass at once: 5 % more
        (25.1, 24_000_000, {}, "bad defect"),
        (8.2, 310_000, {}, "unknown started"),  # 4 round trips until the path is full, and 13 ms for the bytes
        (23.0, 310_000, {}, "good"),
        (4.0, 310_000, {}, "bad"),  # half of that is a fault
        (8.2, 24_000_000, {}, "bad"),  # of a second of sending, 24 ms are little
        (2.4, 60_000, {"socket_buffer": 16384}, "bad"),  # a longer stream would be no faster
        (2.4, 0, {}, "bad"),  # nobody counted the bytes
    ],
)
def test_a_stream_that_ends_in_its_slow_start_says_nothing_of_the_link(
    value: float, moved: int, more: dict[str, Any], says: str
) -> None:
    meta = {"received_B": moved, "segment_B": 1448}
    one = far("sockets.tcp_stream", 65536, value, RATE, options={"tool": "iperf3", **more}, meta=meta, **STREAM)
    assert over_far(one) == [says]


def test_each_launch_of_a_stream_has_its_own_bytes() -> None:
    """As measured: the receiver of the first launch saw a fifth more before the sender ended."""
    stream = far("sockets.tcp_stream", 65536, 8.2, RATE, options={"tool": "iperf3"}, **STREAM)
    moved = [380_824, *[315_000] * (len(stream) - 1)]
    launches = [
        replace(one, meta=one.meta | {"received_B": n, "segment_B": 1448}) for one, n in zip(stream, moved, strict=True)
    ]
    assert over_far(launches) == ["unknown started"]


@pytest.mark.parametrize(
    ("benchmark", "delay", "value", "says"),
    [
        ("sockets.tcp_rr", "1ms", 2744.0, "unknown asleep"),  # as measured: 365 µs for each of two wake-ups
        ("sockets.tcp_rr", "1ms", 2100.0, "good"),
        ("sockets.tcp_rr", "1ms", 3400.0, "bad"),
        ("mpi.latency", "1ms", 1600.0, "bad"),  # a library polls
    ],
)
def test_programs_that_sleep_long_may_take_long_to_wake_up(benchmark: str, delay: str, value: float, says: str) -> None:
    options: dict[str, Any] = STREAM if benchmark.startswith("sockets") else {}
    metric = "round_trip_us" if options else TIME
    one = far(benchmark, 8, value, metric, meta={}, **options)
    launches = of_samples(one)
    view = View(
        "c", launches.records, records.summary(launches.records), launches, stated=Stated(link="200mbit", delay=delay)
    )
    (found,) = answer(view, ["latency-of-path"]).findings
    assert f"{found.level} {found.form}".strip() == says


@pytest.mark.parametrize(
    ("window", "value", "says"),
    [
        (4, 18.7, "unknown answered"),  # 1 MiB in 44 ms, and 2 round trips
        (8, 18.0, "doubtful"),  # 2 MiB in 88 ms, and 2 round trips: 20.9 MB/s
        (64, 18.7, "doubtful"),  # of 700 ms, 12 ms are little
        (1, 8.0, "bad"),  # below a limit that a larger window would pass; the cause says so
    ],
)
def test_windows_that_wait_for_answers_of_a_long_path_say_nothing_of_its_rate(
    window: int, value: float, says: str
) -> None:
    assert over_far(far(size=1 << 18, value=value, options={"window": window})) == [says]


LIMIT = {"limit": Value(value=2000.0, unit="MB/s")}
ALLREDUCE: dict[str, Any] = {"metric": TIME, "rule": "collective-of-messages", "path": ""}
STREAM: dict[str, Any] = {"launcher": "none", "ranks": 1}
JUMPS = [
    [one for one in jumping(8 << 12, scatter=SIX) if one.spec.size == 8 << step] for step in (15, *range(15))
]  # the largest size first


def warmed(some: Sequence[Samples], one: Wanted) -> list[Samples]:
    """Six launches with so much warm-up as is wanted, and the times of others."""
    meta = {**some[0].meta, "warmup": one.warmup}
    return [replace(some[0], launch=100 + launch, meta=meta) for launch in range(6)]


def tailed(mean: float) -> list[Samples]:
    """A round trip of 100 iterations in each launch, of which a tool reported mean and maximum."""
    made_of = far("sockets.tcp_rr", 64, 9.0, ROUND, **STREAM, meta={"iterations": 100})  # sockperf needs 14 B
    return [replace(one, reported=tuple(made.values(ROUND, mean=mean, max=50 * mean))) for one in made_of]


def kept(median: float, one: Wanted) -> list[Samples]:
    """Six launches of which a tool reported median and mean."""
    some = tailed(9.0)
    return [
        replace(each, spec=one.spec, meta={**each.meta, "fingerprint": "kept"},
                reported=tuple(made.values(ROUND, p50=median, mean=9.0)))
        for each in some
    ]  # fmt: skip


def lost() -> list[Samples]:
    """A latency whose rank 0 lost its processor often, and whose ranks were free."""
    spec = Spec(benchmark="mpi.latency", size=8, launcher="openmpi")
    meta = {**FREE, "library": "Open MPI 4.1.4", "engine": "c", "involuntary_switches": 900, "fingerprint": "lost"}
    return [made.samples(spec, np.full(1000, 9000), launch=launch, host=NODES, meta=meta) for launch in range(6)]


GROWING = {1 << 20: 700.0, 1 << 22: 1200.0, 1 << 24: 1900.0}
NAGLE: dict[str, Any] = {"options": {"nodelay": False}, **STREAM}
DECIDED = [
    Deciding("algorithm", [far("mpi.allreduce", 8, 30.0, TIME, ranks=4)], 3.0, 31.0, **ALLREDUCE),
    Deciding("cadence", [far("mpi.allreduce", 8, 30.0, TIME, ranks=4)], 3.0, 31.0, **ALLREDUCE),
    Deciding("library-build", [far("mpi.allreduce", 8, 30.0, TIME, ranks=4)], 3.0, 31.0, **ALLREDUCE,
             meta={"library": "MPICH 4.2"}),
    Deciding("few-outstanding", [far(options={"window": 8})], 1900.0, 499.0),
    Deciding("copy-instruction", [far(meta={**TOGETHER, "badges": ["shared memory"]})], 1900.0, 499.0),
    Deciding("unbound-ranks", [far(meta=FREE, scatter=WIDE)], 1900.0, 300.0, meta={"rank_affinity": [[0], [1]]}),
    Deciding("smt", [far(meta={**TOGETHER, "rank_affinity": [[0], [2]]})], 1900.0, 499.0),
    Deciding("numa-distance", [far(bind="core", meta={**TOGETHER, "rank_affinity": [[0], [2]]})], 1900.0, 499.0),
    Deciding("one-processor", [far("sockets.tcp_stream", options={"streams": 1}, **STREAM)], 1900.0, 499.0,
             meta={"library": "iperf3 3.12", "engine": "iperf3"}),  # netperf has one stream only
    Deciding("python-binding", [far(options={"binding": "buffers"})], 1900.0, 499.0),
    Deciding("window-of-round-trip", [far(options={"window": 1}), far("mpi.latency", 8, 65.0, TIME)], 1900.0, 499.0),
    Deciding("wrong-path", [far(transport="tcp", meta=TOGETHER)], 1900.0, 499.0, form="other path"),
    Deciding("oversubscription", [far("mpi.allreduce", 8, 30.0, TIME, ranks=8, meta={
        "rank_hosts": ["a"] * 8, "rank_affinity": [[0, 1, 2, 3]] * 8})], 3.0, 31.0, **ALLREDUCE,
        values={"limit": Value(value=2.0, unit="µs")}),
    Deciding("rate-limit", [far(), far(size=32768)], 501.0, 1900.0),
    Deciding("path-delay", [far("mpi.latency", size, 1010.0, TIME, transport="tcp") for size in (8, 64, 512)],
             2010.0, 20.0, metric="round_trip_us", rule="latency-of-path", values={"limit": Value(value=10.0, unit="µs")}),
    Deciding("small-messages", [far(), far(size=32768, value=300.0)], GROWING, 500.0),
    Deciding("page-cache", [accessed(6000.0, "all", cache="drop")], 900.0, 6000.0, rule="storage-of-device", form="faster"),
    Deciding("token-bucket", [far("mpi.latency", 65536, 4000.0, TIME, testbed="virtual-cluster:2,rate=80mbit")],
             10.0, 30.0, rule="above-link", values={"limit": Value(value=6553.6, unit="µs")}),
    Deciding("eager-limit", JUMPS, 3.0, 900.0, **ALLREDUCE),
    Deciding("short-warm-up", [timed(9.0, 3.0, spread=2.0)], partial(warmed, timed(3.0, 3.0, spread=2.0)),
             partial(warmed, timed(9.0, 3.0, spread=2.0)), rule="latency-of-path"),
    Deciding("mean-of-outliers", [tailed(9.0)], partial(kept, 2.0), partial(kept, 8.8), rule="latency-of-path"),
    Deciding("mixed-iterations", [far("mpi.buffer_reuse", 8, 9.0, TIME, options={"reuse": 50})], 5.0, "again", metric=TIME,
             rule="two-modes"),
    Deciding("lost-processor", [lost()], 5.0, "again", metric=TIME, rule="two-modes", meta={"rank_affinity": [[0], [1]]}),
    Deciding("histogram", [far("sockets.tcp_rr", 64, 9.0, ROUND, **STREAM)], 5.0, "again", metric=ROUND, rule="tail-order",
             evidence=(Evidence(code="ignored", values={"note": "classes"}),)),
    Deciding("measured-apart", [
        far("mpi.latency", 64, 9.0, TIME),
        [replace(one, meta=one.meta | {"start": "2026-01-01T00:30:00Z"}) for one in far("mpi.latency", 1024, 3.0, TIME)],
    ], None, 5.0, metric=TIME, rule="size-order", points=2),
    Deciding("rotating-root", [far("mpi.bcast", 8, 9.0, TIME, options={"rotate": True})], 5.0, "again", metric=TIME,
             rule="two-modes"),
    Deciding("limited-link", [far("verbs.write_latency", 8, 9.0, TIME, testbed="soft-roce,rate=8mbit", ranks=1,
                                  launcher="none")], 5.0, "again", metric=TIME, rule="lossless"),
    Deciding("timer", [far("sockets.tcp_rr", size, time, ROUND, **NAGLE) for size, time in ((8, 40e3), (4, 5.0))],
             {8: 6.0, 4: 5.0}, {8: 40e3, 4: 5.0}, metric=ROUND, rule="size-jump", points=2),
    Deciding("cache-size", [
        far(size=1 << 16, value=500.0, options={"window": 64, "buffers": "multiple"}),
        far(size=1 << 15, value=900.0, options={"window": 64, "buffers": "multiple"}),
    ], {1 << 16: 950.0, 1 << 15: 900.0}, {1 << 16: 500.0, 1 << 15: 900.0}, rule="size-order", points=2),
]  # fmt: skip


@pytest.mark.parametrize("case", DECIDED, ids=[one.code for one in DECIDED])
def test_what_a_cause_wants_to_be_measured_decides_it(case: Deciding) -> None:
    before, wanted = told(case, [])
    assert wanted
    if before is not None:
        assert before.supported
        assert before.measure == wanted
    for gives, holds in ((case.holds, True), (case.fails, False)):
        if gives is None:
            continue
        numbers = {one: gives[one.spec.size] if isinstance(gives, dict) else gives for one in wanted}
        later = [each for one in wanted for each in measured(case, one, 9.0 if gives == "again" else numbers[one])]
        after, lacking = told(case, later, again=gives == "again")
        assert lacking == (), "what is measured is not proposed again"
        assert after is not None
        assert after.supported is holds, sentence(after)
        assert bool(after.against) is not holds
        assert after.measure == ()
        if holds and before is not None:
            assert {*map(repr, after.evidence)} - {*map(repr, before.evidence)}, "the measurement speaks for it"


def variants(name: str) -> Iterator[Spec]:
    """The specs of a benchmark that labkit can measure: with its defaults, and each with another value of an option."""
    known, fields = benchmarks.get(name), itertools.product((2, 4, 8), (4096, 64, 8, 0), ("auto", "tcp"))
    every = (
        Spec(benchmark=name, size=min(size, known.max_size), ranks=ranks, transport=path)
        for ranks, size, path in fields
    )
    usual = next(filter(benchmarks.possible, every))
    yield benchmarks.resolve(usual)
    for option, kind in get_type_hints(known.options).items():
        others = [*get_args(kind)] if get_origin(kind) is Literal else []
        for value in others:
            one = usual.replace(options={**usual.values, option: value})
            if benchmarks.possible(one):
                yield benchmarks.resolve(one)


def refused(spec: Spec) -> str:
    """Why labkit would not measure a spec, whatever is installed here; empty if it would."""
    try:
        measuring.expand([spec], Effort(), [0])
    except SpecError as error:
        return str(error)
    except LaunchError:  # what is not installed here may be elsewhere
        pass
    return ""


QUICK = ("mpi.allreduce", "mpi.bandwidth", "sockets.tcp_rr", "storage.read", "verbs.send_latency")  # one of each kind
JUDGED = [*bounds.every_bounded(), "mpi.allreduce", "mpi.bcast", "mpi.barrier", "storage.read", "storage.write"]


@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.slow] * (one not in QUICK)) for one in JUDGED])
def test_labkit_can_measure_what_a_cause_wants_to_be_measured(name: str) -> None:
    wanted: dict[Spec, str] = {}
    for spec in variants(name):
        host, meta = {**NODES, "nics": NICS}, {**FREE, "library": "Open MPI 4.1.4", "fingerprint": "one"}
        some = made.samples(spec, host=host, reported=made.values(RATE, p50=9.0), meta=meta)
        view = made.view([some, replace(some, meta={**some.meta, "fingerprint": "two"})])
        for code, cause in causes.every().items():
            for rule in (one for one in rules.every().values() if {one.kind, one.code} & {*cause.explains}):
                about = _asking(name, rule, "other path" if code == "wrong-path" and benchmarks.get(name).mpi else "")
                wanted |= {one.spec: code for one in cause.lacking(Case(about=about, view=view, samples=some))}
    assert wanted
    assert {code: text for one, code in wanted.items() if (text := refused(one))} == {}


@pytest.mark.parametrize(("name", "direct"), [("storage.read", "cache"), ("storage.write", "sync")])
@pytest.mark.parametrize(("engine", "queues"), [("auto", "libaio"), ("psync", "libaio"), ("io_uring", "io_uring")])
def test_more_requests_under_way_to_a_file_need_an_engine_that_queues(
    name: str, direct: str, engine: str, queues: str
) -> None:
    usual = benchmarks.resolve(Spec(benchmark=name, size=4096, options={"engine": engine}))
    some = made.samples(usual, reported=made.values(RATE, p50=9.0), meta={"fingerprint": "one"})
    case = Case(about=_asking(name, rules.every()["storage-of-device"], ""), view=made.view([some]), samples=some)
    (one,) = causes.every()["few-outstanding"].lacking(case)
    assert (one.spec.values["depth"], one.spec.values["engine"]) == (4, queues)
    assert one.spec.values.get(direct) == ("direct" if queues == "libaio" else some.spec.values.get(direct))


def test_the_unit_of_a_value_that_no_column_has_shows_whether_more_is_better() -> None:
    """As of writes whose launches have different statistics; the answer ended with a KeyError."""
    spec = benchmarks.resolve(Spec(benchmark="storage.write", size=4096))
    busy = noted([], [note("busy-machine", "busy machine", processors=1.0, cores=2)])
    some = made.samples(spec, reported=made.values(RATE, mean=8.0), meta={"fingerprint": "one", **busy})
    about = _asking("storage.write", rules.every()["storage-of-device"], "")
    case = Case(about=about, view=made.view([some]), samples=some)
    assert case.metric == ""
    assert case.rate
    assert causes.every()["busy-machine"].test(case) is not None


def _asking(name: str, rule: Rule, form: str) -> Finding:
    """A finding of a rule that asks for causes: of two points, unless it is a verdict."""
    subject = Subject(benchmark=name, points=("one", "two")[: 1 + (rule.kind != "verdict")])
    values = {"measured": Value(value=9.0, unit="MB/s"), "limit": Value(value=90.0, unit="MB/s")}
    return Finding(code=rule.code, kind=rule.kind, level="bad", form=form, subject=subject, values=values)


def test_a_bad_number_that_nothing_explains_asks_for_what_could_explain_it() -> None:
    (one,) = found("collective-of-messages", PAIR, SLOW)
    assert (one.level, one.causes) == ("bad", ())
    assert one.command == "labkit explain c --decide"
    assert {each.spec.launcher for each in one.measure} == {"openmpi", "mpich"}
    assert {each.spec.values.get("cadence") for each in one.measure} == {None, "streaming"}
    numbers = {dict(each.spec.environment).get("OMPI_MCA_coll_tuned_allreduce_algorithm") for each in one.measure}
    assert numbers == {None, "3", "4", "6"}


def test_a_jump_that_benchmarks_share_asks_for_the_size_in_between_in_all_of_them() -> None:
    points = [far(name, size, 9.0, TIME) for name in ("mpi.latency", "mpi.bcast") for size in (8192, 4096)]
    view = made.view([one for some in points for one in some])
    both = []
    for some in (points[:2], points[2:]):
        values = {"measured": Value(value=9.0, unit="µs", of="8 KiB"), "other": Value(value=1.0, unit="µs", of="4 KiB")}
        subject = Subject(benchmark=some[0][0].spec.benchmark, points=tuple(repr(one[0].spec) for one in some))
        both.append(Finding(code="size-jump", kind="violation", level="doubtful", subject=subject, values=values))
    case = Case(about=both[0], view=view, samples=points[0][0], others=tuple(both))
    one = causes.every()["protocol-change"].test(case)
    assert one is not None
    assert {(each.spec.benchmark, each.spec.size) for each in one.measure} == {
        ("mpi.latency", 6144),
        ("mpi.bcast", 6144),
    }


def test_each_cause_that_asks_for_points_is_decided_by_them_in_a_test() -> None:
    without = Cause.__dataclass_fields__["points"].default
    asking = {code for code, one in causes.every().items() if one.points is not without}
    elsewhere = {"protocol-change", "slow-part"}  # tested with their own data
    assert asking == {one.code for one in DECIDED} | elsewhere
