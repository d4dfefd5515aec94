"""Conditions of a host that are not as they should be; they hold for every point measured there."""

from __future__ import annotations

from labkit.models.bounds import UNREADABLE
from labkit.point.conditions import Check, of_machine
from labkit.store.samples import Samples


def doubtful(samples: Samples, *names: str) -> list[Check]:
    """Return the checks of some names that are not ok; none if nothing can read the description."""
    try:
        return [one for one in of_machine(samples.host) if one.name in names and one.state != "ok"]
    except UNREADABLE:
        return []
