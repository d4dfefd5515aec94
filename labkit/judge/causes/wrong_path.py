"""Messages take a slower path than the machine has."""

from __future__ import annotations

from functools import partial
from operator import eq

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._launches import marked
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.finding import Evidence, Finding, Value, Wanted
from labkit.models import bounds
from labkit.point.adapters import Adapter, interfaces
from labkit.point.spec import Spec
from labkit.point.units import format_number


def test(case: Case) -> Finding | None:
    """Ranks share a host but not its memory, or a faster interface was left unused."""
    spec = case.spec
    own = case.about.values.get("own")
    if case.about.form.startswith("other path"):
        asked = {"tcp": "asked", "shm": "against"}.get(spec.transport, "chosen")
        other = others(case, partial(eq, "transport"), lambda row: row["transport"] == "shm")
        clues = [Evidence(code=asked, values={"transport": spec.transport}), *other.evidence]
        predicted = own if isinstance(own, Value) else None
        return CAUSE.found(case, clues, other.against, predicted=predicted, without=other.without)
    if not case.networked:
        return None
    mismatch, best = marked(case, "path-mismatch"), _faster(case)
    if best is None:
        return CAUSE.found(case, mismatch, command="labkit doctor")
    used = bounds.carrier(case.samples)
    values = {"used": used, "faster": best.name, "rate": f"{format_number(best.rate / 1e6)} Mbit/s"}
    other = others(case, ("device", "transport").__contains__, lambda row: row["device"] == best.name)
    clues = [*mismatch, Evidence(code="interface", values=values), *other.evidence]
    return CAUSE.found(case, clues, other.against, without=other.without)


def points(case: Case) -> list[Wanted]:
    """Return the point through shared memory, or over the faster interface."""
    if case.about.form.startswith("other path"):
        return [Wanted(case.spec.replace(transport="shm"))]
    best = _faster(case) if case.networked else None
    return [Wanted(_over(case.spec, best.name))] if best else []


def _faster(case: Case) -> Adapter | None:
    """Return the fastest interface that is faster than the one that carried the bytes; None without one.

    Hosts of a testbed have their own interfaces, which the samples do not describe.
    """
    nics = interfaces(case.samples.host) if case.spec.testbed == "local" else {}
    used = bounds.carrier(case.samples)
    rate = nics[used].rate if used in nics else 0.0
    left = [one for name, one in nics.items() if name not in (used, case.spec.device) and not one.down]
    return max((one for one in left if 0 < rate < one.rate), key=lambda one: one.rate, default=None)


def _over(spec: Spec, device: str) -> Spec:
    """Return a spec over another interface; ranks take one over TCP only."""
    return spec.replace(device=device, transport="tcp" if benchmarks.get(spec.benchmark).mpi else spec.transport)


CAUSE = Cause(
    code="wrong-path",
    name="wrong path",
    seen="ranks on one host send over its loopback interface, or bytes cross a slower interface than the fastest "
    "one of the host",
    excluded="the bytes took the host's fastest path",
    decides="the other path",
    clues={
        **CLUES,
        "marked": "in {marked} of {launches} the bytes did not take the path that was asked for",
        "asked": "transport={transport} was asked for",
        "chosen": "the library chose the loopback interface",
        "against": "shared memory was asked for, but the loopback interface carried as many bytes",
        "interface": "{used} carried the bytes, but {faster} has {rate}",
    },
    names={"asked": "the requested path is slower"},
    remedy="Take the faster path: leave --transport out or set it to shm, or name the faster interface with --device.",
    test=test,
    points=points,
)
