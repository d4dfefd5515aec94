"""What the machine is, and what may spoil a number.

`describe`, `load_snapshot` and `Watch` look at the machine; everything else is a function of what they found:
`checks` for ``labkit doctor``, `warnings_for_run` and `badges` for a measurement, `identity` for its fingerprint.
"""

from labkit.host.checks import Check, badges, checks, warnings_for_run
from labkit.host.machine import describe, gpus, identity, lasting, load_snapshot
from labkit.host.others import Watch
from labkit.host.programs import PROGRAMS, VERSION, Program, browser, find, installed, kernels, present, ways

__all__ = [
    "PROGRAMS",
    "VERSION",
    "Check",
    "Program",
    "Watch",
    "badges",
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
    "warnings_for_run",
    "ways",
]
