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
from labkit.judge.causes._sizes import curve, later, may_be_slow_start
from labkit.judge.finding import SHARE, SIZE, Count, Evidence, Finding, Value, Wanted
from labkit.store.samples.facts import LIBRARY

_SETS = re.compile(r"env_\w*(eager|EAGER|RNDV_THRESH|IQUEUE_CELL_SIZE)")
_NEAR = 4  # times the size behind the jump, up to which the handshake counts
_RAISED = 4  # times the size to which a command raises the limit
_STEP = 2.0  # times that the fixed cost of larger messages is the whole time of smaller ones, at least


def test(case: Case) -> Finding | None:
    """The time jumps just below the size, or by a round trip of a long path; or another limit was measured.

    A sweep of few sizes shows no jump, but that larger messages have a higher fixed cost.
    """
    if case.about.subject.benchmark.partition(".")[0] not in ("mpi", "verbs", "shmem") or not case.metric:
        return None
    other = others(case, lambda column: bool(_SETS.match(column)))
    clues, without = list(other.evidence), other.without
    against = list(other.against)
    sizes, values = curve(case, case.metric)
    size = int(case.row["message_size_B"])
    below = int((sizes < size).sum())
    possible = bool((values > 0).all())
    times = sizes / values if case.rate and possible else values
    (found,) = protocol.every([(sizes, times)]) if possible else (None,)
    step = later(case)
    jumps = [one for one in found.breaks if one.abrupt and one.jump > 0 and one.before <= size] if found else []
    if found is not None and jumps and below >= protocol.SHORTEST and size <= _NEAR * jumps[-1].before:
        jump = jumps[-1]
        before = found.lines[found.breaks.index(jump)]
        if without is None and (time := before.at(size)) > 0:
            without = replace(case.measured, value=size / time if case.rate else time, origin="computed")
        between = {"after": jump.after, "before": jump.before}
        ends = {name: Value(value=end, unit=SIZE) for name, end in between.items()}
        clues.append(Evidence(code="jump", values={**ends, "jump": Value(value=jump.jump, unit=SHARE)}))
    elif not clues and step is None and possible and (fixed := _fixed(sizes, times, size)):
        clues.append(fixed)
    elif not clues and found is not None and min(below, len(sizes) - below) >= protocol.SHORTEST:
        against.append(Evidence(code="none", values={"sizes": Count(below, "smaller size")}))
    if step is not None:
        code = "trips or start" if may_be_slow_start(case, step) else "trips"
        clues, against = [*clues, Evidence(code=code, values=step.values)], [*other.against]
        if without is None:
            without = replace(case.measured, value=case.measured.value - step.more.value, origin="computed")
    return CAUSE.found(case, clues, against, without=without, command=other.command)


def _fixed(sizes: NDArray[np.float64], times: NDArray[np.float64], size: int) -> Evidence | None:
    """Return a clue if the fixed cost of messages of about this size exceeds the whole time of smaller ones."""
    place = int(np.searchsorted(sizes, size))
    if place + 1 >= len(sizes):
        return None
    cost = times[place] - size * max(0.0, (times[place + 1] - times[place]) / (sizes[place + 1] - size))
    quick = np.flatnonzero(_STEP * times[:place] < cost)
    if not len(quick) or size > _NEAR * sizes[quick[-1] + 1]:
        return None
    ends = {"after": sizes[quick[-1]], "before": sizes[quick[-1] + 1]}
    return Evidence(code="fixed", values={name: Value(value=int(end), unit=SIZE) for name, end in ends.items()})


def points(case: Case) -> list[Wanted]:
    """Return the point with a higher limit; nothing if the name of the variable is not known."""
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
    seen="the time jumps just below this size, where the library begins to wait for the receiver; on a long path it "
    "jumps by whole round trips at any smaller size; or its fixed cost exceeds the whole time of smaller messages",
    excluded="the time does not jump at smaller sizes, or another eager limit changes nothing",
    decides="a higher eager limit",
    clues={
        **CLUES,
        "jump": "the time jumps by {jump} between {after} and {before}",
        "fixed": "from {before} on, the fixed cost of a message exceeds the whole time of one of {after}",
        "trips": "from {before} on a message takes {step} more than up to {after}: {trips} of the path",
        "trips or start": "from {before} on a message takes {step} more than up to {after}: {trips} of the path, as "
        "many as the slow start of TCP",
        "none": "it jumps at none of {sizes}",
    },
    remedy="Raise the library's eager limit above this size.",
    test=test,
    points=points,
    weak=("trips or start", "fixed"),
)
