"""Verdicts on collectives and storage, and causes that the data of a campaign speak for, exclude, or say nothing of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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
