"""HPL (High-Performance Linpack) as a site or a user has built it: ``xhpl`` on the PATH. Debian has none."""

from __future__ import annotations

from pathlib import Path

from labkit.formats import hpl as layout
from labkit.options.compute import Hpl
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Parsed, Tool, _hpl
from labkit.tools._hpl import chosen as chosen
from labkit.tools._hpl import wrong as wrong

TOOL = Tool(
    name="xhpl",
    commands=("xhpl",),
    read_version=lambda: "unknown",  # it prints its version in a run only
    install="module load hpl   # or build HPL with the site's MPI and BLAS, and put xhpl on the PATH",
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
        (row, *_) = layout.runs(text, TOOL.name)
        return _hpl.result(row, spec, text)

    return _hpl.invocation(
        TOOL,
        spec,
        file="HPL.dat",
        tail="",
        parse=parsed,
        definition=_DEFINITION,
        more=_MORE_S,
        limit=effort.time_limit,
    )
