"""A library that copies each byte twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import others
from labkit.judge.causes._predicted import MISSED, missed, of_bandwidth
from labkit.judge.finding import Evidence, Finding, Value, Wanted
from labkit.models import bounds
from labkit.models.inside import TWICE
from labkit.store.samples.facts import LIBRARY


def test(case: Case) -> Finding | None:
    """The bandwidth of shared memory is near that of two copies, one after the other."""
    samples = case.samples
    if case.about.code != "bandwidth-of-path" or bounds.inside(samples) != "shared-memory":
        return None
    bound = next(iter(bounds.of_bandwidth(samples, case.view.stated, case.view.costs)), None)
    if bound is None or bound.reference_name != TWICE:
        return None
    once, twice = of_bandwidth(bound.value), of_bandwidth(bound.reference)
    scope = samples.host.get("ptrace_scope")
    clues = [Evidence(code="near", values={"once": once, "twice": twice})]
    if isinstance(scope, int) and scope > 0:
        clues.append(Evidence(code="forbidden", values={"scope": str(scope)}))
    other = others(case, lambda column: column.startswith("env_") and "single_copy" in column, _without)
    slower = other.against and not other.evidence and _far(case, other.against[0])
    once_then = [Evidence(code="slower", values=other.against[0].values)] if slower else []
    if other.against and not slower:
        clues.append(Evidence(code="no slower", values=other.against[0].values))
    command = "" if CAUSE.lacking(case) else "cat /proc/sys/kernel/yama/ptrace_scope   # 1 or more forbids CMA"
    return CAUSE.found(case, clues, [*missed(case, twice), *once_then], predicted=twice, command=command)


def points(case: Case) -> list[Wanted]:
    """Return the point with a library that must copy twice: if it is no slower, it copied twice before."""
    library = LIBRARY.of(case.samples.meta)
    if not library.startswith("Open MPI 4"):  # the name that others give to this variable is not known
        return []
    return [Wanted(case.spec.replace(environment=dict(case.spec.environment) | {_VARIABLE: "none"}))]


def _without(row: Mapping[str, Any]) -> bool:
    return row.get(f"env_{_VARIABLE}") == "none"


def _far(case: Case, clue: Evidence) -> bool:
    """Whether a value is far below that of the point."""
    value = clue.values["value"]
    return isinstance(value, Value) and value.value * _MUCH < case.measured.value


_VARIABLE, _MUCH = "OMPI_MCA_btl_vader_single_copy_mechanism", 1.1
CAUSE = Cause(
    code="two-copies",
    name="two copies",
    seen="ranks on one host are as fast as two copies, one after the other, and slower than one copy",
    excluded="the bandwidth is far below that of two copies, or above it",
    decides="the same point with a library that must copy twice, or with one that reads the memory of another process "
    "(CMA, XPMEM, KNEM)",
    clues={
        "near": "one copy reaches {once}, two copies {twice}",
        "forbidden": "ptrace_scope={scope} forbids a process to read the memory of another one",
        "no slower": "with two copies ({setting}) it reaches {value}, the same",
        "slower": "with two copies ({setting}) it reaches {value} only",
        **MISSED,
    },
    remedy="Let the library read the memory of another process: CMA (kernel.yama.ptrace_scope=0), XPMEM or KNEM.",
    test=test,
    points=points,
)
