"""A network that SimGrid simulates: fat tree, dragonfly, torus, or the tree of Kenny et al. 2020.

Nothing is measured on it: its numbers have the origin ``simulated`` for ever, and the badge *simulation*. It needs
neither hosts nor MPI, but SimGrid (Debian package libsimgrid-dev).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from labkit import host
from labkit.notes import badge
from labkit.simulation import network_of
from labkit.testbeds import Testbed
from labkit.tools import smpirun

ARGUMENT = "topology"


def absent() -> list[str]:
    """Return the packages that are missing."""
    return [] if host.find(smpirun.TOOL) else [smpirun.TOOL.package]


def outline(argument: str, options: Mapping[str, str]) -> Testbed:
    """Return the simulated network."""
    network = network_of(argument, options)
    return Testbed(f"simulated:{network.topology}", badges=(badge("simulation"),), facts=network.facts, network=network)


@contextmanager
def open(argument: str, options: Mapping[str, str]) -> Iterator[Testbed]:
    """Yield the testbed; there is nothing to bring up.

    Raises
    ------
    LaunchError
        If SimGrid is not installed.
    """
    smpirun.require()
    yield outline(argument, options)
