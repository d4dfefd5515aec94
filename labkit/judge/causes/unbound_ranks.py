"""Ranks that the kernel may move from core to core."""

from __future__ import annotations

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._launches import SCATTER, scattered
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.finding import Count, Evidence, Finding, Wanted
from labkit.read.records import in_effect
from labkit.store.samples.facts import RANK_AFFINITY


def test(case: Case) -> Finding | None:
    """Each rank may run on several cores, and its times scatter, or a binding makes them better."""
    affinity = RANK_AFFINITY.of(case.samples.meta)
    if not any(affinity) or in_effect.bound(case.samples):
        return None
    other = others(case, lambda column: column == "bind")
    clues = other.evidence or scattered(case)
    if not clues:
        return CAUSE.found(case, against=other.against)
    free = Evidence(code="free", values={"cores": Count(max(map(len, affinity)), "processor")})
    against = [*other.against, *([] if other.evidence else even(case))]
    return CAUSE.found(case, [free, *clues], against, without=other.without, command=other.command)


def points(case: Case) -> list[Wanted]:
    """Return the point with ranks that are bound to cores, if they were free and there are enough cores."""
    mpi, samples = benchmarks.get(case.spec.benchmark).mpi, case.samples
    free = mpi and not in_effect.bound(samples) and in_effect.enough_cores(samples)
    return [Wanted(case.spec.replace(bind="core"))] if free else []


CAUSE = Cause(
    code="unbound-ranks",
    name="unbound ranks",
    seen="each rank may run on several cores, and its times scatter or bound ranks are faster",
    excluded="bound ranks are not faster, or the value is even",
    decides="--bind core",
    clues={
        "free": "each rank may run on {cores}",
        **CLUES,
        **SCATTER,
        **EVEN,
    },
    remedy="Bind each rank to a core: --bind core.",
    test=test,
    weak=("free", *SCATTER),
    points=points,
    worth=True,
)
