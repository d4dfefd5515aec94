"""An adapter with a PCI Express link below the adapter's own limit."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._places import adapters
from labkit.judge.causes._predicted import MISSED, missed, of_bandwidth
from labkit.judge.finding import Evidence, Finding
from labkit.models import bounds, links
from labkit.point.adapters import Slot

_COMMAND = "sudo lspci -vv | grep -E 'LnkCap|LnkSta'   # then reseat the adapter, or use another slot"


def test(case: Case) -> Finding | None:
    """The adapter that carried the bytes runs with fewer lanes or slower than it can."""
    for adapter in adapters(case.samples) if case.networked else ():
        now, best = _link(adapter.slot), _link(adapter.best_slot)
        if now is None or best is None or now == best:
            continue
        values = {
            "adapter": adapter.name, "generation": str(now[0]), "lanes": str(now[1]),
            "best": str(best[0]), "most": str(best[1]),
        }  # fmt: skip
        clues = [Evidence(code="degraded", values=values)]
        if case.about.code != "bandwidth-of-path":
            return CAUSE.found(case, clues, command=_COMMAND)
        rate, efficiency = links.pcie(*now)
        directions = bounds.directions_of(case.samples.spec.benchmark)
        predicted = of_bandwidth(max(1, directions) * rate / 8 * efficiency.share)
        return CAUSE.found(case, clues, missed(case, predicted), predicted=predicted, command=_COMMAND)
    return None


def _link(slot: Slot) -> tuple[int, int] | None:
    """Return generation and lanes of an adapter's link; None if unknown."""
    generation = links.pcie_generation(slot.speed)
    return (generation, slot.width) if generation and slot.width else None


CAUSE = Cause(
    code="degraded-slot",
    name="degraded PCI Express link",
    seen="the adapter uses fewer lanes or an older generation than it supports",
    excluded="the link of the adapter carries far more as it is",
    decides="LnkCap and LnkSta of lspci -vv, and another slot",
    clues={
        "degraded": "{adapter} runs with generation {generation} and {lanes} lanes, but it can generation {best} and "
        "{most} lanes",
        **MISSED,
    },
    remedy="Reseat the adapter, or use another slot.",
    test=test,
)
