"""Another MPI library, version or build is faster."""

from __future__ import annotations

import re
from collections.abc import Iterator

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.finding import Evidence, Finding, Wanted
from labkit.store.samples.facts import MPI_LIBRARY

_KINDS = ("library", "launcher", "engine", "option_tool")
_DEBUG = re.compile(r"--enable-(?:g|debug|error-checking)(?:=(?!no\b|none\b|fast\b)[\w,]+)?(?=['\s]|$)")


def test(case: Case) -> Finding | None:
    """The same point with another library is faster, or the library is a debug build."""
    debug = _DEBUG.search(MPI_LIBRARY.of(case.samples.meta))
    clues = [Evidence(code="debug", values={"word": debug.group()})] if debug else []
    other = others(case, lambda column: column in _KINDS)
    evidence = [*clues, *other.evidence]
    return CAUSE.found(case, evidence, other.against, without=other.without, command=other.command)


def points(case: Case) -> Iterator[Wanted]:
    """Yield the point with other MPI libraries; one that is not installed is not measured."""
    if benchmarks.get(case.spec.benchmark).mpi and case.spec.launcher in _LIBRARIES:
        for name in _LIBRARIES:
            if name != case.spec.launcher:
                yield Wanted(case.spec.replace(launcher=name, environment=()))


_LIBRARIES = ("openmpi", "mpich")
CAUSE = Cause(
    code="library-build",
    name="library or build",
    seen="another library, version or tool is faster on the same path, or the library was built for debugging",
    excluded="other libraries or tools on the same path are no faster",
    decides="another library",
    clues={**CLUES, "debug": "the library was configured with {word}"},
    remedy="Use a library that was built without debugging and with support for the network.",
    test=test,
    points=points,
    worth=True,
)
