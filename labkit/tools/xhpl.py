"""HPL (High-Performance Linpack): ``xhpl`` on the PATH, else as ``make hpl`` built it. Debian has none."""

from __future__ import annotations

import shutil
from pathlib import Path

from labkit.formats import hpl as layout
from labkit.kernels import programs
from labkit.options.compute import Hpl
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Parsed, Tool, _hpl, _linked
from labkit.tools._hpl import chosen as chosen
from labkit.tools._hpl import wrong as wrong


def _program() -> str:
    return programs.original("hpl", "xhpl")


TOOL = Tool(
    name="xhpl",
    commands=("xhpl",),
    read_version=lambda: _linked.written(_program(), rb"HPLinpack (\d+[\d.]*)") or "unknown",
    find_path=lambda: shutil.which(_program()) or "",
    install=programs.from_source("hpl", "~/hpl-2.3"),
    programs=("xhpl",),
    format=layout,
    purpose="compute.hpl",
    instead="hpcc",
)
_MORE_S = 60.0  # matrix and check
_DEFINITION = (
    "HPL: 2/3 N³ + 3/2 N² operations over the wall time of the solution. The run time follows from the rate, which has "
    "more digits than the time that HPL prints."
)


def solve(spec: Spec[Hpl], effort: Effort) -> Invocation:
    """One run with one system."""

    def parsed(text: str, folder: Path) -> Parsed:
        (row, *_) = layout.LOG.runs(text, TOOL.name)
        return _hpl.result(row, spec, text)

    return _hpl.invocation(
        TOOL,
        spec,
        program=_program(),
        file="HPL.dat",
        tail="",
        parse=parsed,
        definition=_DEFINITION,
        more=_MORE_S,
        limit=effort.time_limit,
    )
