"""Two hardware threads that share a core."""

from __future__ import annotations

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._launches import SCATTER, scattered
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.causes._places import cores, ranks_of_first_host
from labkit.judge.causes._settings import doubtful
from labkit.judge.finding import Evidence, Finding, Wanted
from labkit.read.records import in_effect


def test(case: Case) -> Finding | None:
    """Two ranks are on threads of one core; or they may meet there, and times scatter."""
    on = doubtful(case.samples, "SMT")
    if not on:
        return None
    places, ranks = cores(case.samples.host), ranks_of_first_host(case.samples)
    used = [{places.get(one, -1) for one in processors} for processors in ranks.values()]
    single = len(used) > 1 and all(len(own) == 1 and -1 not in own for own in used)
    other = others(case, lambda column: column == "bind")
    against = [*other.against, *([] if other.evidence else even(case))]
    if single and len(set().union(*used)) < len(used):
        first, second = _pair(used)
        names = [str(rank) for rank in ranks]
        values = {"first": names[first], "second": names[second]}
        clues = [Evidence(code="shared", values=values), *other.evidence]
        return CAUSE.found(case, clues, against, without=other.without, command=other.command)
    if not scattered(case):
        return None
    if single:
        return CAUSE.found(case, against=[Evidence(code="cores")])
    if in_effect.bound(case.samples):
        return None
    clues = [Evidence(code="on", values={"found": on[0].found}), *scattered(case), *other.evidence]
    return CAUSE.found(case, clues, against, without=other.without, command=other.command)


def points(case: Case) -> list[Wanted]:
    """Return the point with each rank on a core."""
    return [Wanted(case.spec.replace(bind="core"))] if benchmarks.get(case.spec.benchmark).mpi else []


def _pair(used: list[set[int]]) -> tuple[int, int]:
    """Return the first two places with the same core."""
    pairs = ((one, two) for two in range(len(used)) for one in range(two) if used[one] & used[two])
    return next(pairs)


CAUSE = Cause(
    code="smt",
    name="two threads on one core (SMT)",
    seen="ranks are bound to threads of one core; or they may share a core, and the times scatter",
    excluded="each rank is bound to a separate core",
    decides="--bind core",
    clues={
        "shared": "ranks {first} and {second} run on two threads of one core",
        "on": "{found}, and ranks are not bound to cores",
        "cores": "each rank is bound to a separate core",
        **CLUES,
        **SCATTER,
        **EVEN,
    },
    remedy="Bind each rank to a core: --bind core.",
    test=test,
    weak=("on", *SCATTER),
    points=points,
)
