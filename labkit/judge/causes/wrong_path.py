"""Messages take a slower path than the machine has."""

from __future__ import annotations

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._launches import marked
from labkit.judge.finding import Evidence, Finding, Value
from labkit.models import bounds
from labkit.point.adapters import interfaces
from labkit.point.spec import Spec
from labkit.point.units import format_number
from labkit.read.records import rerun


def test(case: Case) -> Finding | None:
    """Ranks share a host but not its memory, or a faster interface was left unused."""
    spec = case.samples.spec
    own = case.about.values.get("own")
    if case.about.form.startswith("other path"):
        asked = {"tcp": "asked", "shm": "against"}.get(spec.transport, "chosen")
        clues = [Evidence(code=asked, values={"transport": spec.transport})]
        shared = spec.replace(transport="shm")
        predicted = own if isinstance(own, Value) else None
        return CAUSE.found(case, clues, predicted=predicted, command=rerun.command(shared), measure=[shared])
    if not case.networked:
        return None
    # hosts of a testbed have interfaces of their own, which the samples do not describe
    nics = interfaces(case.samples.host) if spec.testbed == "local" else {}
    used = bounds.carrier(case.samples)
    rate = nics[used].rate if used in nics else 0.0
    others = [one for name, one in nics.items() if name not in (used, spec.device) and not one.down]
    faster = [one for one in others if 0 < rate < one.rate]
    mismatch = marked(case, "path-mismatch")
    if not faster:
        return CAUSE.found(case, mismatch, command="labkit doctor")
    best = max(faster, key=lambda one: one.rate)
    values = {"used": used, "faster": best.name, "rate": f"{format_number(best.rate / 1e6)} Mbit/s"}
    over = rerun.command(_over(spec, best.name))
    return CAUSE.found(case, [*mismatch, Evidence(code="interface", values=values)], command=over)


def _over(spec: Spec, device: str) -> Spec:
    """Return a spec over another interface; ranks take one over TCP only."""
    return spec.replace(device=device, transport="tcp" if benchmarks.get(spec.benchmark).mpi else spec.transport)


CAUSE = Cause(
    code="wrong-path",
    name="wrong path",
    seen="ranks on one host send over its loopback interface, or bytes cross a slower interface than the host has",
    excluded="the bytes took the fastest path that the host has",
    decides="the same point over the other path",
    clues={
        "marked": "in {marked} of {launches} the bytes did not take the path that was asked for",
        "asked": "transport={transport} was asked for",
        "chosen": "the library chose the loopback interface",
        "against": "shared memory was asked for, but the loopback interface carried as many bytes",
        "interface": "{used} carried the bytes, but {faster} has {rate}",
    },
    remedy="Leave --transport out, or choose shm; for other interfaces, set --device.",
    test=test,
)
