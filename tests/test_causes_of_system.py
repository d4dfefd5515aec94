"""Causes in the machine and in its links: when they are found, when they are excluded, and when nothing is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from labkit.judge import causes
from labkit.judge.cause import Case
from labkit.judge.finding import Finding, Subject, Value
from labkit.judge.sentences import sentence
from labkit.judge.view import View
from labkit.models.bounds import Stated
from labkit.point.notes import badge, note
from labkit.point.spec import Spec
from labkit.read import columnar, records
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT, noted
from tests import made

MPI = Spec(benchmark="mpi.bandwidth", size=1 << 20, transport="tcp", hosts=("a", "b"))
STREAM = Spec(benchmark="sockets.tcp_stream", size=1 << 20, hosts=("a", "b"))
HOST = {
    "hostname": "a", "virtualisation": "none", "cpu_threads": 8, "cpu_cores": 8, "cpus_usable": 8, "smt": False,
    "governor": "performance", "frequency_max_MHz": 3000.0, "load": {"frequency_MHz": 3000.0}, "container": "none",
    "numa_nodes": 2, "numa_balancing": False, "numa_cpus": {"0": "0-3", "1": "4-7"}, "core_cpus": [*map(str, range(8))],
    "nics": [{"name": "eth0", "speed_Mbps": 10_000, "mtu": 1500, "state": "up", "numa_node": 1}],
}  # fmt: skip
EVEN, WIDE = [500.0] * 6, [400.0, 420.0, 500.0, 500.0, 600.0, 640.0]  # MB/s of launches


def launches(spec: Spec, rates: Sequence[float], host: Mapping[str, Any] = {}, **meta: Any) -> list[Samples]:
    """Launches of a point that reach some bandwidths, MB/s."""
    where = {"rank_hosts": ["a", "b"], **meta}
    return [
        made.samples(
            spec, launch=launch, host={**HOST, **host}, reported=made.values("bandwidth_MBps", p50=rate),
            meta={"fingerprint": repr(spec), "start": f"2026-01-01T00:00:0{launch}Z", **where},
        )
        for launch, rate in enumerate(rates)
    ]  # fmt: skip


def marks(*codes: str) -> dict[str, Any]:
    """Metadata with badges, or warnings, of some codes."""
    return noted([badge(code) for code in codes], [note(code, code) for code in codes])


def judged(
    code: str, *points: list[Samples], rule: str = "bandwidth-of-path", path: str = "interface eth0",
    limit: float = 1000.0, stated: Stated | None = None,
) -> Finding | None:  # fmt: skip
    """What a cause says of the first of some points; the others are verdicts beside it."""
    some = [one for point in points for one in point]
    read = columnar.of_samples(some)
    view = View("c", read.records, records.summary(read.records), read, stated=stated)
    verdicts = [_verdict(view, point[0], rule, path, limit) for point in points]
    case = Case(about=verdicts[0], view=view, samples=points[0][0], others=tuple(verdicts[1:]))
    found = causes.every()[code].test(case)
    if found is not None:
        assert sentence(found)  # each clue has a template, and each of its values is there
    return found


def _verdict(view: View, one: Samples, rule: str, path: str, limit: float) -> Finding:
    name = FINGERPRINT.of(one.meta)
    row = view.summary.set_index("fingerprint").loc[name]
    metric = next(m for m in ("bandwidth_MBps", "round_trip_us", "latency_us") if row.get(f"{m}_p50", np.nan) > 0)
    unit = "MB/s" if metric == "bandwidth_MBps" else "µs"
    value, low, high = (float(row[f"{metric}_{end}"]) for end in ("p50", "low", "high"))
    measured = Value(value=value, unit=unit, low=low, high=high, launches=int(row["launches"]))
    values = {"measured": measured, "limit": Value(value=limit, unit=unit), "path": path}
    subject = Subject(benchmark=one.spec.benchmark, points=(name,))
    return Finding(code=rule, kind="verdict", level="bad", subject=subject, values=values)


def supported(found: Finding | None) -> bool:
    """Whether a cause is named."""
    assert found is not None
    return found.supported


def excluded(found: Finding | None) -> bool:
    """Whether the data contradict a cause."""
    return found is not None and bool(found.against)


# ---- disturbances: others that agree deny them -----------------------------------------------------------------------

DISTURBED: tuple[tuple[str, dict[str, Any], dict[str, Any], list[float]], ...] = (
    ("busy-machine", {}, marks("busy-machine"), WIDE),
    ("oversubscription", {}, marks("oversubscription"), WIDE),
    ("oversubscription", {}, marks("no-core-left"), WIDE),
    ("oversubscription", {}, {"rank_hosts": ["a", "a"], "rank_affinity": [[0], [0]]}, WIDE),
    ("unbound-ranks", {}, {"rank_affinity": [[0, 1, 2, 3]] * 2}, WIDE),
    ("frequency", {}, marks("frequency-drift"), WIDE),
    ("frequency", {"governor": "powersave"}, {}, WIDE),
    ("smt", {"smt": True, "cpu_threads": 16}, {"rank_affinity": [[*range(8)]] * 2}, WIDE),
    ("smt", {"smt": True, "core_cpus": ["0,1", "2,3"], "cpu_threads": 16},
     {"rank_hosts": ["a", "a"], "rank_affinity": [[0], [1]]}, WIDE),
    ("virtual-machine", {}, marks("stolen-time"), WIDE),
    ("virtual-machine", {"virtualisation": "kvm"}, {}, WIDE),
)  # fmt: skip
HOLDS_ALWAYS = ("unbound-ranks", "frequency", "smt", "virtual-machine")  # of every point of a campaign


@pytest.mark.parametrize(("code", "host", "meta", "rates"), DISTURBED)
def test_a_disturbance_is_named_where_something_in_the_data_speaks_for_it(
    code: str, host: dict[str, Any], meta: dict[str, Any], rates: list[float]
) -> None:
    assert supported(judged(code, launches(MPI, rates, host, **meta)))
    assert judged(code, launches(MPI, rates)) is None, "nothing is said where the data do not show it"


@pytest.mark.parametrize(("code", "host", "meta", "rates"), DISTURBED)
def test_a_disturbance_is_not_named_where_another_benchmark_has_the_same_value(
    code: str, host: dict[str, Any], meta: dict[str, Any], rates: list[float]
) -> None:
    found = judged(code, launches(MPI, EVEN, host, **meta), launches(STREAM, EVEN, host))
    assert found is None or excluded(found)


@pytest.mark.parametrize("host", [{"virtualisation": "kvm"}, {"governor": "powersave"}, {"smt": True}])
def test_a_condition_that_holds_for_every_point_explains_nothing_by_itself(host: dict[str, Any]) -> None:
    free = {"rank_affinity": [[*range(8)]] * 2}
    for code in HOLDS_ALWAYS:
        assert judged(code, launches(MPI, EVEN, host, **free)) is None


def test_unbound_ranks_are_found_by_a_binding_that_is_faster_and_excluded_by_one_that_is_not() -> None:
    free, bound = {"rank_affinity": [[0, 1, 2, 3]] * 2}, {"rank_affinity": [[0], [1]]}
    loose, core = MPI.replace(bind="none"), MPI.replace(bind="core")
    found = judged("unbound-ranks", launches(loose, EVEN, **free), launches(core, [900.0] * 6, **bound))
    assert found is not None
    assert found.supported
    predicted = found.values["predicted"]
    assert isinstance(predicted, Value)
    assert predicted.value == pytest.approx(900)
    assert "--bind core" in found.command
    same = judged("unbound-ranks", launches(loose, EVEN, **free), launches(core, EVEN, **bound))
    assert excluded(same)
    assert judged("unbound-ranks", launches(core, WIDE, **bound)) is None


def test_ranks_on_cores_of_their_own_exclude_smt() -> None:
    host = {"smt": True, "core_cpus": ["0,1", "2,3"], "cpu_threads": 16}
    assert excluded(judged("smt", launches(MPI, WIDE, host, rank_hosts=["a", "a"], rank_affinity=[[0], [2]])))


def test_ranks_on_two_numa_nodes() -> None:
    apart, together = [[0], [4]], [[0], [1]]
    near: dict[str, Any] = {"rank_hosts": ["a", "a"]}
    one, two = MPI.replace(bind="core", hosts=("a",)), MPI.replace(bind="socket", hosts=("a",))
    found = judged("numa-distance", launches(one, EVEN, **near, rank_affinity=apart), path="shared memory")
    assert found is not None
    assert found.supported
    assert "node 0, rank 1 on node 1" in sentence(found)
    assert judged("numa-distance", launches(one, EVEN, **near, rank_affinity=together)) is None
    assert judged("numa-distance", launches(one, EVEN, {"numa_cpus": None}, **near, rank_affinity=apart)) is None
    others = launches(two, EVEN, **near, rank_affinity=together)
    assert excluded(judged("numa-distance", launches(one, EVEN, **near, rank_affinity=apart), others))


def test_a_rank_far_from_its_adapter() -> None:
    spec = MPI.replace(device="eth0")
    found = judged("numa-distance", launches(spec, EVEN, rank_affinity=[[0], [0]]))
    assert found is not None
    assert "eth0 on node 1" in sentence(found)
    assert judged("numa-distance", launches(spec, EVEN, rank_affinity=[[5], [0]])) is None


# ---- one processor ---------------------------------------------------------------------------------------------------


def streams(number: int, rate: float) -> list[Samples]:
    """Launches with some streams."""
    return launches(STREAM.replace(options={"streams": number}), [rate] * 6)


def test_one_processor_is_the_limit_where_more_streams_are_faster() -> None:
    assert supported(judged("one-processor", streams(1, 500), streams(4, 1500)))
    assert supported(judged("one-processor", streams(4, 1500), streams(1, 500)))
    assert excluded(judged("one-processor", streams(1, 500), streams(4, 510)))


def test_one_stream_alone_asks_for_more() -> None:
    found = judged("one-processor", launches(STREAM, EVEN))
    assert found is not None
    assert found.supported
    assert found.command.endswith("--factor streams=1,2,4")
    assert excluded(judged("one-processor", launches(STREAM, EVEN), launches(MPI, EVEN)))
    assert judged("one-processor", launches(STREAM, [4.0] * 6)) is None, "a processor is no limit of a slow link"
    assert judged("one-processor", launches(MPI, EVEN)) is None


@pytest.mark.parametrize(("micros", "holds"), [(1500.0, True), (50.0, False)])
def test_one_processor_is_compared_with_what_a_thread_passes_to_itself(micros: float, holds: bool) -> None:
    micro = [
        made.samples("micro.loopback", launch=launch, host=HOST, reported=made.values("latency_us", p50=micros),
                     meta={"fingerprint": "m"})
        for launch in range(6)
    ]  # fmt: skip
    micro = [one.__class__(**{**vars(one), "spec": one.spec.replace(size=1 << 20)}) for one in micro]
    found = _with_costs("one-processor", launches(STREAM, EVEN), micro)
    assert found.supported is holds
    assert bool(found.against) is not holds


def _with_costs(code: str, point: list[Samples], costs: list[Samples]) -> Finding:
    read = columnar.of_samples([*point, *costs])
    view = View("c", read.records, records.summary(read.records), read)
    about = _verdict(view, point[0], "bandwidth-of-path", "interface eth0", 1000)
    found = causes.every()[code].test(Case(about=about, view=view, samples=point[0]))
    assert found is not None
    assert sentence(found)
    return found
