"""A network that SimGrid simulates: fat tree, dragonfly, torus, or the tree of Kenny et al. 2020.

Nothing is measured on it: its numbers have the origin ``simulated`` for ever, and the badge *simulation*. It needs
neither hosts nor MPI, but SimGrid (Debian package libsimgrid-dev).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from labkit import host
from labkit.errors import SpecError
from labkit.point.notes import badge
from labkit.testbeds import Kind, Testbed
from labkit.testbeds.simulation import calibration, measured, network_of
from labkit.tools import smpirun


def absent() -> list[str]:
    """Return the packages that are missing."""
    return [] if host.find(smpirun.TOOL) else [smpirun.TOOL.package]


def settled(options: Mapping[str, str]) -> dict[str, str]:
    """Return options with times in place of the campaign that they come from.

    A point then keeps its calibration even if that campaign changes or is deleted.

    Raises
    ------
    SpecError
        If the campaign has no such times, or the options do not say what a message costs apart from them.
    """
    given = dict(options)
    folder, path = given.pop("calibrate", ""), given.pop("path", "")
    if not folder:
        if path:
            raise SpecError(f"path={path} selects times of a campaign. Set calibrate to the campaign, or leave it out.")
        return given
    for name in ("pingpong", "overhead"):
        if name in given:
            raise SpecError(f"calibrate sets what {name} says. Leave one of the two out.")
    if "rate" not in given:
        raise SpecError(
            "calibrate needs the rate of the links: the times do not say what of them is the link's, which messages "
            "share. Set rate, as in rate=100gbit."
        )
    return given | {"pingpong": calibration.text(measured.table(folder, path))}


def outline(argument: str, options: Mapping[str, str]) -> Testbed:
    """Return the simulated network."""
    network = network_of(argument, settled(options))
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


TESTBED = Kind(open=open, outline=outline, argument="topology", absent=absent, settled=settled)
