"""The library chose an algorithm that is slower than another one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from labkit import benchmarks
from labkit.benchmarks import CollectiveBenchmark
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.finding import Finding, Wanted
from labkit.store.samples.facts import LIBRARY

_CHOOSES = re.compile(r"env_OMPI_MCA_coll_|env_\w*(ALGORITHM|COLL_SELECTION|TUNING_FILE|COLL_TUNED)|option_algorithm$")


def test(case: Case) -> Finding | None:
    """Another algorithm of the collective was measured, and is faster."""
    if not isinstance(benchmarks.look_up(case.about.subject.benchmark), CollectiveBenchmark):
        return None
    other = others(case, lambda column: bool(_CHOOSES.match(column)))
    return CAUSE.found(case, other.evidence, other.against, without=other.without, command=other.command)


def points(case: Case) -> Iterator[Wanted]:
    """Yield the point with each algorithm that Open MPI has for any number of ranks; `labkit tune` knows all."""
    name = case.spec.benchmark.partition(".")[2]
    if LIBRARY.of(case.samples.meta).startswith("Open MPI"):
        for number in _OF_OPENMPI.get(name, ()):
            chosen = {_RULES: "1", f"OMPI_MCA_coll_tuned_{name}_algorithm": str(number)}
            yield Wanted(case.spec.replace(environment=dict(case.spec.environment) | chosen))


_RULES = "OMPI_MCA_coll_tuned_use_dynamic_rules"
_OF_OPENMPI = {  # collective → numbers in `ompi_info --param coll tuned --level 9`, 4.1 and 5.0
    "allgather": (2, 3, 4),  # Bruck, recursive doubling, ring
    "allreduce": (3, 4, 6),  # recursive doubling, ring, Rabenseifner
    "alltoall": (2, 3, 4),  # pairwise, modified Bruck, linear with synchronisation
    "barrier": (3, 4, 6),  # recursive doubling, Bruck, tree
    "bcast": (3, 6, 7),  # pipeline, binomial, k-nomial
    "gather": (1, 2, 3),  # linear, binomial, linear with synchronisation
    "reduce": (3, 5, 7),  # pipeline, binomial, Rabenseifner
    "reduce_scatter": (1, 2, 3),  # non-overlapping, recursive halving, ring
    "scatter": (1, 2),  # linear, binomial
}
CAUSE = Cause(
    code="algorithm",
    name="a badly chosen algorithm",
    seen="another algorithm of the library, set by a variable, is faster at the same size",
    excluded="no other algorithm that was measured is faster",
    decides="each algorithm of the library (labkit tune)",
    clues=CLUES,
    remedy="Let labkit tune look for the best algorithm at each size.",
    test=test,
    points=points,
    worth=True,
)
