"""HPC Challenge: HPL, and with it in every run DGEMM, PTRANS, STREAM, RandomAccess, FFT, ping-pong and rings.

It has no switch for HPL alone. A run takes seconds beside HPL, on oversubscribed cores a minute. It appends to
``hpccoutf.txt``, so each run has its own folder. Its pattern of blocks and its other vectors follow from N.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

from labkit.errors import DataError
from labkit.formats import hpcc as layout
from labkit.formats import hpl
from labkit.formats.reading.log import CUT
from labkit.options.compute import Hpl
from labkit.point.spec import Effort, Reported, Spec
from labkit.tools import Invocation, Parsed, Tool, _hpl

_FILE, _OUTPUT = "hpccinf.txt", "hpccoutf.txt"
_MORE_S = 600.0  # the parts beside HPL, of which three are bounded by 60 s
_WHOLE_PASS = "Success=1"
# PTRANS takes half of HPL's N and the same block; no sizes beside these
_TAIL = (
    "##### This line (no. 32) is ignored (it serves as a separator). ######\n"
    "0            Number of additional problem sizes for PTRANS\n0            values of N\n"
    "0            number of additional blocking sizes for PTRANS\n0            values of NB\n"
)
_DEFINITION = (
    "HPL inside HPC Challenge: 2/3 N³ + 3/2 N² operations over the wall time of the solution; its other tests as HPCC "
    "defines them."
)


def _version() -> str:
    """Version of Debian's package: the program itself has no option that tells it, and takes any option for a run."""
    try:
        words = ["dpkg-query", "-W", "-f=${Version}", "hpcc"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.partition("-")[0] or "unknown"


TOOL = Tool(
    name="hpcc",
    commands=("hpcc",),
    read_version=_version,
    package="hpcc libopenblas0-pthread",
    programs=("hpcc",),
    format=layout,
    purpose="compute.hpl and the other tests of HPC Challenge",
    instead="an xhpl",
)


def solve(spec: Spec[Hpl], effort: Effort) -> Invocation:
    """One run of HPC Challenge with one system of HPL."""

    def parsed(text: str, folder: Path) -> Parsed:
        return parse((folder / _OUTPUT).read_text(errors="replace"), spec)

    return _hpl.invocation(
        TOOL,
        spec,
        program=TOOL.programs[0],
        file=_FILE,
        tail=_TAIL,
        parse=parsed,
        definition=_DEFINITION,
        more=_MORE_S,
        limit=effort.time_limit,
    )


def of_hpl(text: str) -> str:
    """Return the part of HPCC's output that HPL printed; HPL's head is also at the beginning of the whole output."""
    return text.rpartition("Begin of HPL section.")[2]


def parse(text: str, spec: Spec[Hpl]) -> Parsed:
    """Return the result of HPL, and every other value of the summary with its test as the label ``hpcc_test``.

    Raises
    ------
    DataError
        If HPCC ended early, HPL's residual or another check of HPCC failed, or it ran on another number of ranks.
    """
    summary, (row, *_) = layout.LOG.runs(text, _OUTPUT), hpl.LOG.runs(of_hpl(text), _OUTPUT)
    if cut := [doubt.text for doubt in summary[0].doubts if doubt.code == CUT.code]:
        raise DataError(f"HPCC ended early: {cut[0]}. Run it again.")
    seconds = re.search(r"^HPL_time=(\S+)$", text, re.MULTILINE)
    result = _hpl.result(row, spec, text, float(seconds[1]) if seconds else None)
    if summary[0].ranks != spec.ranks:
        raise DataError(
            f"HPCC ran on {summary[0].ranks} ranks instead of {spec.ranks}: the launcher and hpcc use different MPI "
            "libraries. Set --launcher to that of the library that hpcc is linked to."
        )
    if f"\n{_WHOLE_PASS}\n" not in text:
        failed = [line.strip() for line in text.splitlines() if re.search(r"fail", line, re.IGNORECASE)]
        raise DataError(f"HPCC did not find all its results right (Success=0): {failed[:3]}. Run it again.")
    others: list[Reported] = [
        replace(value, labels={"hpcc_test": str(run.options["test"])})
        for run in summary
        for value in run.values
        if run.options["test"] != "HPL"
    ]
    return replace(result, reported=(*result.reported, *others), output=text)
