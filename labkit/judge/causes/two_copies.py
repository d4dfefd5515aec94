"""A library that copies each byte twice."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._predicted import MISSED, missed, of_bandwidth
from labkit.judge.finding import Evidence, Finding
from labkit.models import bounds
from labkit.models.inside import TWICE


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
    command = "cat /proc/sys/kernel/yama/ptrace_scope   # 1 or more forbids CMA"
    return CAUSE.found(case, clues, missed(case, twice), predicted=twice, command=command)


CAUSE = Cause(
    code="two-copies",
    name="two copies",
    seen="ranks on one host are as fast as two copies, one after the other, and slower than one copy",
    excluded="the bandwidth is far below that of two copies, or above it",
    decides="the same point with a library that reads the memory of another process (CMA, XPMEM, KNEM)",
    clues={
        "near": "one copy reaches {once}, two copies {twice}",
        "forbidden": "ptrace_scope={scope} forbids a process to read the memory of another one",
        **MISSED,
    },
    remedy="Let the library read the memory of another process: CMA (kernel.yama.ptrace_scope=0), XPMEM or KNEM.",
    test=test,
)
