"""What measures points: one protocol for ranks, tools, two jobs at once, and simulations.

A runner alone starts and stops what measures. Launchers, tools, testbeds and the supervisor stand behind it; the
orchestrator knows none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from labkit import benchmarks, testbeds
from labkit.point.spec import Effort, Spec
from labkit.run.point import Failure, Point
from labkit.run.progress import Counter
from labkit.store.campaign import Campaign
from labkit.testbeds import Testbed


class Runner(Protocol):
    """One way to measure points. The `runner` of a benchmark names it; a simulated network has its own."""

    def launched(self, spec: Spec, effort: Effort) -> tuple[Spec, str]:
        """Return a resolved spec with its launcher's name, and the library or tool behind it, with its version.

        It starts nothing but version queries.

        Raises
        ------
        SpecError
            If the launcher, the tool or the testbed cannot do what the spec asks.
        LaunchError
            If what the spec needs is not installed.
        """

    def shell(self, points: Sequence[Point], effort: Effort) -> list[str]:
        """Return the command lines of points that share a start, as a shell takes them; starts nothing."""

    def run(
        self, points: Sequence[Point], effort: Effort, campaign: Campaign, testbed: Testbed, counter: Counter
    ) -> Iterator[Failure]:
        """Measure points that share a start, keep their samples in the campaign, and yield those that failed.

        Nothing that it started runs on when it ends, is closed, or raises an error.
        """


# module of each; a point loads its own, and the others would take 0.01 s
RUNNERS: Mapping[str, str] = {
    "ranks": "ranks",
    "tools": "programs",
    "two jobs": "interference",
    "simulation": "simulations",
}

if TYPE_CHECKING:
    from labkit.run import interference, programs, ranks, simulations

    _CHECKED: tuple[Runner, ...] = (ranks, programs, interference, simulations)


def get(name: str) -> Runner:
    """Return the runner of a name in `RUNNERS`."""
    runner: Runner = importlib.import_module(f"{__package__}.{RUNNERS[name]}")
    return runner


def runner_of(spec: Spec) -> Runner:
    """Return the runner that measures a spec."""
    simulated = testbeds.outline(spec.testbed).network is not None
    return get("simulation" if simulated else benchmarks.get(spec.benchmark).runner)
