"""The library sends messages of this size by rendezvous, because they exceed its eager limit."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.judge import protocol
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.causes._sizes import curve
from labkit.judge.finding import SHARE, SIZE, Count, Evidence, Finding, Value, Wanted
from labkit.models import bounds
from labkit.models.bounds import Stated
from labkit.point.columns import METRICS
from labkit.store.samples.facts import LIBRARY

_SETS = re.compile(r"env_\w*(eager|EAGER|RNDV_THRESH|IQUEUE_CELL_SIZE)")
_NEAR = 4  # times the size behind the jump, up to which the handshake counts
_WHOLE = 0.15  # part by which a number of round trips may differ from a whole one: hosts have some work with each
_RAISED = 4  # times the size to which a command raises the limit


def test(case: Case) -> Finding | None:
    """The time jumps just below the size, or by a round trip of a long path; or another limit was measured."""
    if case.about.subject.benchmark.partition(".")[0] not in ("mpi", "verbs", "shmem") or not case.metric:
        return None
    other = others(case, lambda column: bool(_SETS.match(column)))
    clues, without = list(other.evidence), other.without
    against = list(other.against)
    sizes, values = curve(case, case.metric)
    size = int(case.row["message_size_B"])
    below = int((sizes < size).sum())
    (found,) = protocol.every([(sizes, sizes / values if case.rate else values)]) if (values > 0).all() else (None,)
    if found is not None and below >= protocol.SHORTEST:
        jumps = [one for one in found.breaks if one.abrupt and one.jump > 0 and one.before <= size]
        if jumps and size <= _NEAR * jumps[-1].before:
            jump = jumps[-1]
            before = found.lines[found.breaks.index(jump)]
            if without is None and (time := before.at(size)) > 0:
                without = replace(case.measured, value=size / time if case.rate else time, origin="computed")
            between = {"after": jump.after, "before": jump.before}
            ends = {name: Value(value=end, unit=SIZE) for name, end in between.items()}
            clues.append(Evidence(code="jump", values={**ends, "jump": Value(value=jump.jump, unit=SHARE)}))
        elif not clues and len(sizes) - below >= protocol.SHORTEST:  # a jump just below the last sizes would not show
            against.append(Evidence(code="none", values={"sizes": Count(below, "smaller size")}))
    if waits := _waiting(case, sizes, values):
        clues, against = [*clues, *waits], [*other.against]
        step = waits[0].values["step"]
        if without is None and isinstance(step, Value):
            without = replace(case.measured, value=case.measured.value - step.value, origin="computed")
    return CAUSE.found(case, clues, against, without=without, command=other.command)


def _waiting(case: Case, sizes: NDArray[np.float64], values: NDArray[np.float64]) -> list[Evidence]:
    """Return that messages from some size on take whole round trips of the path more than smaller ones.

    A question whether the receiver is ready, and its answer, take one. Times are compared without those of the bytes.
    """
    wire, size = bounds.path(case.samples, case.view.stated or Stated()), int(case.row["message_size_B"])
    if case.about.code != "latency-of-path" or wire is None or not wire.delay or size not in sizes:
        return []
    crossings, factor = bounds.crossings_of(case.about.subject.benchmark), METRICS[case.metric].factor
    seconds = values / factor / crossings - sizes / wire.efficiency.share * 8 / wire.rate
    own, trip = seconds[sizes == size][0], 2 * wire.delay
    quick = np.flatnonzero((sizes < size) & (seconds < own - trip / 2))
    if not len(quick):
        return []
    more = (own - seconds[quick[-1]]) / trip
    if not round(more) or abs(more - round(more)) > _WHOLE * round(more):
        return []
    ends = {name: Value(value=float(sizes[quick[-1] + k]), unit=SIZE) for name, k in (("after", 0), ("before", 1))}
    step = Value(value=float(more * trip * crossings * factor), unit=case.measured.unit, origin="computed")
    return [Evidence(code="trips", values={**ends, "step": step, "trips": Count(round(more), "round trip")})]


def points(case: Case) -> list[Wanted]:
    """Return the point with a higher limit; nothing where the name of the variable is not known."""
    spec, library = case.spec, LIBRARY.of(case.samples.meta)
    if not benchmarks.get(spec.benchmark).mpi:  # a tool gets no variables
        return []
    if spec.transport in ("rc", "ud"):
        name = "UCX_RNDV_THRESH"
    elif library.startswith("Open MPI"):
        shared = "sm" if library.startswith("Open MPI 5") else "vader"
        name = f"OMPI_MCA_btl_{'tcp' if spec.transport == 'tcp' else shared}_eager_limit"
    else:
        return []
    return [Wanted(spec.replace(environment=dict(spec.environment) | {name: str(_RAISED * spec.size)}))]


CAUSE = Cause(
    code="eager-limit",
    name="eager limit",
    seen="the time jumps between sizes just below this one, where the library begins to wait for the receiver; over a "
    "long path, at any smaller size, by whole round trips",
    excluded="the time does not jump at smaller sizes, or another limit changes nothing",
    decides="the same point with a higher eager limit",
    clues={
        **CLUES,
        "jump": "the time jumps by {jump} between {after} and {before}",
        "trips": "from {before} on a message takes {step} more than up to {after}: {trips} of the path",
        "none": "it jumps at none of {sizes}",
    },
    remedy="Raise the library's eager limit above this size.",
    test=test,
    points=points,
)
