"""Collectives with an algorithm forced in Open MPI, to compare each with its prediction by a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from labkit.errors import SpecError
from labkit.point.spec import Spec
from labkit.run import launch
from labkit.tuning.openmpi import DYNAMIC

# benchmark → algorithm of labkit.models.schedules → its number in Open MPI (coll_tuned_*_decision.c of 4.1.4 and 5.0),
# which sends no segments by default
NUMBERS: Mapping[str, Mapping[str, int]] = {
    "mpi.bcast": {"binomial": 6, "linear": 1, "scatter and ring": 9},
    "mpi.reduce": {"binomial": 5, "linear": 1},
    "mpi.allreduce": {"recursive doubling": 3, "Rabenseifner": 6, "ring": 4},
    "mpi.allgather": {"ring": 4, "Bruck": 2},
    "mpi.alltoall": {"pairwise": 2, "linear": 1, "Bruck": 3},
}
_PREFIX = "OMPI_MCA_coll_tuned_"


def _variable(benchmark: str) -> str:
    return f"{_PREFIX}{benchmark.partition('.')[2]}_algorithm"


def forced(specs: Sequence[Spec]) -> Iterator[Spec]:
    """Yield each spec of a collective once for every algorithm that both Open MPI and the model know.

    Raises
    ------
    SpecError
        If the ranks do not run on Open MPI.
    """
    for spec in specs:
        library = launch.get(spec.launcher)
        if library.kind != "openmpi":
            raise SpecError(
                f"algorithms=True forces algorithms of Open MPI, but the ranks run on {library.library}. Set "
                "launcher=openmpi, or algorithms=False."
            )
        for number in NUMBERS.get(spec.benchmark, {}).values():
            variables = {f"OMPI_MCA_{DYNAMIC}": "1", _variable(spec.benchmark): str(number)}
            yield spec.replace(environment=dict(spec.environment) | variables)


def tagged(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of collectives with a forced algorithm, and its name in the column ``algorithm``."""
    parts = []
    for benchmark, numbers in NUMBERS.items():
        column = f"env_{_variable(benchmark)}"
        if column in rows:
            here = rows[rows["benchmark"] == benchmark]
            parts += [here[here[column] == str(number)].assign(algorithm=name) for name, number in numbers.items()]
    return pd.concat(parts, ignore_index=True) if parts else rows.iloc[:0].assign(algorithm="")


def free(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with an algorithm that the library chose."""
    columns = [name for name in rows if name.startswith(f"env_{_PREFIX}")]
    return rows[rows[columns].isna().all(axis=1)] if columns else rows
