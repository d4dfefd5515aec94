"""Name the counters of loss, pause and congestion that grew during points, a line for each point."""

from __future__ import annotations

import json

from labkit import benchmarks
from labkit.point.units import format_size, plural
from labkit.read.columnar import Launches
from labkit.store.samples.facts import COUNTERS

_SENT = "Tcp.OutSegs"  # kept beside segments sent again, but no sign of loss itself
_POINTS, _NAMES = 8, 6  # lines, and counters in one


def lines(launches: Launches) -> str:
    """Return a line for each point during which counters grew, most first, with sums over launches; empty if none did.

    Of many points and counters those are shown that grew most.
    """
    counted = launches.fact(COUNTERS)
    if not any(counted):
        return ""
    frame, sums = launches.records, dict[str, dict[str, int]]()
    labels: dict[str, str] = {}
    columns = ("benchmark", "message_size_B", "transport", "options", "testbed", "fingerprint")
    for (*label, fingerprint), grown in zip(zip(*map(frame.get, columns), strict=True), counted, strict=True):
        if grown:
            labels[fingerprint] = _label(*label)
            of_point = sums.setdefault(fingerprint, {})
            for name, by in grown.items():
                if not name.endswith(_SENT):
                    of_point[name] = of_point.get(name, 0) + by
    order = sorted(sums, key=lambda one: -max(sums[one].values()))
    shown = [f"  {labels[one]}: {_listed(sums[one])}" for one in order[:_POINTS]]
    more = [f"  and {plural(len(order) - _POINTS, 'further point')}"] if len(order) > _POINTS else []
    return "\n".join(["counters that grew during points, sums over launches:", *shown, *more])


def _label(benchmark: str, size: int, transport: str, options: str, testbed: str) -> str:
    """Return the point in a few words."""
    sized = [format_size(size)] if benchmarks.get(benchmark).sized else []
    path = [one for one in (transport, testbed) if one not in ("auto", "local")]
    usual = vars(benchmarks.get(benchmark).options())
    chosen = [f"{key}={value}" for key, value in json.loads(options).items() if usual.get(key) != value]
    return " ".join([benchmark, *sized, *path, *chosen])


def _listed(grown: dict[str, int]) -> str:
    """Return the counters that grew most, with the sum of each."""
    names = sorted(grown, key=lambda one: (-grown[one], one))
    more = f", {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(f"{name} {grown[name]:,}" for name in names[:_NAMES]) + more
