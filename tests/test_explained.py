"""Verdicts on collectives and storage, and causes that the data of a campaign speak for, exclude, or say nothing of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from labkit.judge.answer import answer
from labkit.judge.finding import Finding, Value
from labkit.judge.sentences import sentence
from labkit.judge.view import View
from labkit.models import schedules
from labkit.models.loggp_engine import finish, hockney
from labkit.point.spec import Spec
from labkit.read import records
from labkit.read.columnar import of_samples
from labkit.store.samples import Samples

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
    view = View("c", launches.records, records.summary(launches.records), launches)
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


@pytest.mark.parametrize(("time", "level"), [(4.0, "good"), (8.0, "doubtful"), (11.0, "bad")])
def test_a_small_collective_is_judged_by_latencies_one_after_the_other(time: float, level: str) -> None:
    (one,) = found("collective-of-messages", PAIR, point("mpi.allreduce", 8, time, ranks=4))
    assert one.level == level
    assert number(one, "times") == pytest.approx(time / 2)
    assert "2 latencies" in sentence(one)


def test_a_large_collective_is_judged_by_the_bytes_of_a_rank_and_the_worse_end_stands_for_a_setting() -> None:
    sizes = [point("mpi.alltoall", size, time, ranks=4) for size, time in ((8, 3.0), (1 << 20, 3000.0))]
    (one,) = found("collective-of-messages", PAIR, *sizes)
    assert one.level == "bad"
    assert number(one, "times") == pytest.approx(10, rel=0.01)
    assert "3 MiB through one rank" in sentence(one)


def test_messages_of_another_path_or_library_are_no_reference() -> None:
    for meta in ({"library": "MPICH 4.0.2"}, {"badges": ["loopback"]}):
        (one,) = found("collective-of-messages", PAIR, point("mpi.bcast", 8, 3.0, ranks=4, meta=meta))
        assert one.form == "no reference"
        assert one.command == "labkit explain c --decide"
        assert [(spec.benchmark, spec.size, spec.ranks) for spec in one.measure] == [
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


def test_a_collective_faster_than_messages_is_good() -> None:
    (one,) = found("collective-of-messages", PAIR, point("mpi.allreduce", 8, 1.5, ranks=4))
    assert one.level == "good"
    assert "is less than the 2 µs" in sentence(one)


# ---- causes ----------------------------------------------------------------------------------------------------------

LINE = point("micro.core_to_core", 0, 50.0, "line_transfer_ns", ranks=1, meta={"library": "none", "badges": []})
COPY = [
    *point("micro.memory_copy", 65536, 20e3, "bandwidth_MBps", ranks=1, meta={"library": "none", "badges": []}),
    *point("micro.memory_copy", 1 << 20, 20e3, "bandwidth_MBps", ranks=1, meta={"library": "none", "badges": []}),
]


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
    assert one.command.endswith("--factor env.OMPI_MCA_coll_tuned_allreduce_algorithm=3")


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
    assert number(one, "predicted") == pytest.approx(655.36)
    assert "64 KiB in each round trip of 100 µs" in sentence(one)
    assert one.measure[0].values["window"] == 4
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
    assert one.measure[0].environment == (("OMPI_MCA_btl_vader_eager_limit", str(4 * (8 << 15))),)


def test_without_a_jump_below_the_size_the_eager_limit_is_excluded_if_one_would_show() -> None:
    late = [*point("mpi.latency", 8, 0.5), *point("mpi.latency", 8 << 15, 100.1)]
    assert cause("eager-limit", "mpi.allreduce", late, jumping(8 << 12)) is None, "the smallest size is judged"
    peak = [one for step in range(12) for one in windowed(64, 1e3 * min(step + 1, 8) - 30 * step, size=512 << step)]
    one = cause("eager-limit", "mpi.bandwidth", COPY, peak)
    assert one is not None
    assert one.against
    early = [*point("mpi.latency", 8, 3.0), *point("mpi.latency", 8 << 15, 3.4)]
    assert cause("eager-limit", "mpi.allreduce", early, jumping(1 << 30), last=True) is None, "the largest size"


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
    assert one.command.endswith("-x 500")


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
    assert [spec.benchmark for spec in one.measure] == ["micro.memory_copy", "micro.system_call"]


def test_the_best_rate_of_a_device_judges_its_other_settings() -> None:
    first, best = found("storage-of-device", DIRECT, accessed(500.0, "none", cache="direct", depth=1))
    assert (first.level, best.form) == ("bad", "no reference")
    assert number(first, "share") == pytest.approx(0.25)
    (alone,) = found("storage-of-device", accessed(500.0, "all", cache="drop"))
    assert alone.form == "no reference"
    assert alone.measure[0].values["cache"] == "direct"


def test_a_queue_depth_that_moves_more_explains_a_slow_device() -> None:
    one = cause("few-outstanding", "storage.read", DIRECT, accessed(500.0, "none", cache="direct", depth=1))
    assert one is not None
    assert "depth=16 gives 2,000 MB/s" in sentence(one)


def test_reads_faster_than_the_device_came_from_the_page_cache() -> None:
    one = cause("page-cache", "storage.read", DIRECT, accessed(6000.0, "all", cache="drop"))
    assert one is not None
    assert one.supported
    assert one.measure[0].values["cache"] == "direct"
    one = cause("page-cache", "storage.read", DIRECT, accessed(6000.0, "none", cache="drop", pattern="random"))
    assert one is not None
    assert one.against
    assert cause("page-cache", "storage.read", DIRECT, accessed(900.0, "all", cache="drop")) is None


def test_writes_that_wait_for_the_disk_are_not_compared_with_those_that_do_not() -> None:
    direct = accessed(2000.0, "none", name="storage.write", sync="direct")
    synced = accessed(20.0, "none", name="storage.write", sync="fsync")
    assert [one.level for one in found("storage-of-device", direct, synced)] == ["unknown", "unknown"]
