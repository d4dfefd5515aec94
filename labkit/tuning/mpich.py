"""MPICH's collectives: their algorithms, as its control variables describe them.

The algorithm of a collective is the variable ``MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM`` (maint/gen_coll.py in MPICH makes
it from src/mpi/coll/coll_algorithms.txt). It holds for all sizes and ranks. Where an algorithm does not fit the call,
such as one for powers of two, MPICH takes its own choice and says nothing (``MPIR_CVAR_COLLECTIVE_FALLBACK=silent``).
"""

from __future__ import annotations

import re
from functools import cache

from labkit.errors import LaunchError, SpecError, known
from labkit.host import printed

# 4.0 prints the lines of a description without the ends of lines between them; so a name may follow the last word of
# the line before, which is one of these
_NAMED = re.compile(r"(?:^|algorithm|Tree|Allgather|Ring|\))([a-z][a-z0-9_]*) +- Force", re.MULTILINE)


def variable(benchmark: str) -> str:
    """Return the variable that chooses the algorithm of a collective.

    Examples
    --------
    >>> variable("mpi.allreduce")
    'MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM'
    """
    return f"MPIR_CVAR_{benchmark.partition('.')[2].upper()}_INTRA_ALGORITHM"


@cache
def algorithms(program: str, benchmark: str) -> tuple[str, ...]:
    """Return the algorithms of a collective in the MPICH of a launcher, without ``auto``.

    Raises
    ------
    LaunchError
        If the mpivars beside the launcher does not run.
    SpecError
        If it lists none.
    """
    text, reason = printed.by_neighbour(program, "mpivars")
    if not text:
        raise LaunchError(f"{reason}. It lists the algorithms. Name one: --factor env.{variable(benchmark)}=A,B.")
    names = listed(text, benchmark)
    if not names:
        raise SpecError(
            f"--factor algorithm, but mpivars lists none for {benchmark}. Name a variable of MPICH: --factor "
            "env.NAME=A,B."
        )
    return names


def listed(text: str, benchmark: str) -> tuple[str, ...]:
    """Return the algorithms of a collective in what ``mpivars`` prints; none if it has no such collective."""
    block = re.search(rf"^\t{variable(benchmark)} *=(.*\n(?:[^\t].*\n)*)", text, re.MULTILINE)
    return tuple(dict.fromkeys(_NAMED.findall(block[1]))) if block else ()


def checked(level: str, names: tuple[str, ...]) -> str:
    """Return an algorithm that is among the names.

    Raises
    ------
    SpecError
        If it is not.
    """
    if level not in names:
        raise known("algorithm", level, list(names))
    return level
