"""A device that software emulates."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._launches import marked
from labkit.judge.finding import Finding


def test(case: Case) -> Finding | None:
    """A badge of the point marks a device that shows function, not performance."""
    return CAUSE.found(case, marked(case, "functional", "gpu-stand-in"), predicted=case.measured)


CAUSE = Cause(
    code="emulated-device",
    name="emulated device",
    seen="software emulates the device",
    excluded="the device is hardware",
    decides="a real adapter or GPU",
    clues={"marked": "{marked} of {launches} used a device that shows function, not performance"},
    remedy="Measure with an adapter, or a GPU: an emulated device shows function, not performance.",
    test=test,
    explains=("verdict", "lossless"),
)
