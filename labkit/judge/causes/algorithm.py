"""The library chose an algorithm that is slower than another one."""

from __future__ import annotations

import re

from labkit import benchmarks
from labkit.benchmarks import CollectiveBenchmark
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.finding import Finding

_CHOOSES = re.compile(r"env_OMPI_MCA_coll_|env_\w*(ALGORITHM|COLL_SELECTION|TUNING_FILE|COLL_TUNED)|option_algorithm$")


def test(case: Case) -> Finding | None:
    """Another algorithm of the collective was measured, and is faster."""
    if not isinstance(benchmarks.look_up(case.about.subject.benchmark), CollectiveBenchmark):
        return None
    other = others(case, lambda column: bool(_CHOOSES.match(column)))
    return CAUSE.found(case, other.evidence, other.against, without=other.without, command=other.command)


CAUSE = Cause(
    code="algorithm",
    name="a badly chosen algorithm",
    seen="another algorithm of the library, set by a variable, is faster at the same size",
    excluded="no other algorithm that was measured is faster",
    decides="the same point with each algorithm of the library (labkit tune)",
    clues=CLUES,
    remedy="Let labkit tune look for the best algorithm at each size.",
    test=test,
)
