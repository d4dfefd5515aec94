"""Iterations are spaced in another way than those that they are compared with."""

from __future__ import annotations

from collections.abc import Iterator

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others, with_options
from labkit.judge.finding import Finding, Wanted
from labkit.options.ranks import Cadence
from labkit.point.spec import has


def test(case: Case) -> Finding | None:
    """The same point with another cadence is better."""
    other = others(case, lambda column: column in ("option_cadence", "cadence"))
    return CAUSE.found(case, other.evidence, other.against, without=other.without, command=other.command)


def points(case: Case) -> Iterator[Wanted]:
    """Yield the point with iterations back to back, or after a barrier."""
    spec = benchmarks.typed(case.spec)
    if has(spec.options, Cadence):
        other = "isolated" if spec.options.cadence == "streaming" else "streaming"
        yield Wanted(with_options(case.spec, cadence=other))


CAUSE = Cause(
    code="cadence",
    name="cadence",
    seen="iterations back to back, after a barrier or from agreed moments give other values",
    excluded="another cadence gives the same",
    decides="the same point with another cadence",
    clues=CLUES,
    remedy="Compare points of one cadence only: a barrier before each iteration lets ranks start at different moments.",
    test=test,
    points=points,
    worth=True,
)
