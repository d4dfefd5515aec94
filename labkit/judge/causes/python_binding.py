"""The loop is written in Python, which takes longer than the library."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others, with_options
from labkit.judge.finding import Evidence, Finding, Wanted

_WORDS = {"buffers": "mpi4py with buffers", "pickle": "mpi4py with pickled objects"}


def test(case: Case) -> Finding | None:
    """The messages go through mpi4py; in C, the same point is faster, or no faster."""
    binding = str(case.spec.values.get("binding", "c"))
    if binding not in _WORDS:
        return None
    other = others(case, lambda column: column == "option_binding")
    clues = [] if other.against else [Evidence(code="python", values={"words": _WORDS[binding]}), *other.evidence]
    return CAUSE.found(case, clues, other.against, without=other.without, command=other.command)


def points(case: Case) -> list[Wanted]:
    """Return the point in C."""
    return [Wanted(with_options(case.spec, binding="c"))]


CAUSE = Cause(
    code="python-binding",
    name="a loop in Python",
    seen="messages go through mpi4py, and the same point in C is faster",
    excluded="the same point in C is no faster",
    decides="binding=c",
    clues={**CLUES, "python": "the loop is in {words}"},
    remedy="Measure with binding=c to judge the library; in programs, send buffers instead of objects.",
    test=test,
    points=points,
)
