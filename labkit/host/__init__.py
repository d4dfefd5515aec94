"""The machine, and conditions that may distort a number.

`describe`, `load_snapshot` and `Watch` look at the machine; everything else is a function of what they found:
`checks` for ``labkit doctor``, `identity` for the fingerprint of a point. Warnings and badges are made in
`labkit.point.conditions`.
"""

from labkit.host.checks import checks
from labkit.host.machine import describe, gpus, identity, lasting, load_snapshot
from labkit.host.others import Watch
from labkit.host.software import installed, kernels
from labkit.io.programs import PROGRAMS, VERSION, Program, browser, find, present, ways

__all__ = [
    "PROGRAMS",
    "VERSION",
    "Program",
    "Watch",
    "browser",
    "checks",
    "describe",
    "find",
    "gpus",
    "identity",
    "installed",
    "kernels",
    "lasting",
    "load_snapshot",
    "present",
    "ways",
]
