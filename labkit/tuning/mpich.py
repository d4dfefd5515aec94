"""MPICH's collectives: their algorithms, as its control variables describe them.

The algorithm of a collective is the variable ``MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM`` (maint/gen_coll.py in MPICH makes
it from src/mpi/coll/coll_algorithms.txt). It holds for all sizes and ranks. Where an algorithm does not fit the call,
such as one for powers of two, MPICH takes its own choice and says nothing (``MPIR_CVAR_COLLECTIVE_FALLBACK=silent``).

The algorithm ``nb`` runs the nonblocking collective's algorithm, which ``MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM``
chooses. Those of the generic transport (``tsp_``) have parameters, as blocking trees of 5.0 have; they are
``nb_tsp_tree`` here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from labkit.errors import LaunchError, SpecError, unknown_name
from labkit.host import printed

# 4.0 prints the lines of a description without the ends of lines between them; so a name may follow the last word of
# the line before, which is one of these
_NAMED = re.compile(r"(?:^|algorithm|Tree|Allgather|Ring|\))([a-z][a-z0-9_]*) +- Force", re.MULTILINE)
# end of a variable → the algorithms that read it (cvar_params of coll_algorithms.txt)
_READ_BY = {
    "TREE_KVAL": r"(?:^|_)tree$",
    "TREE_PIPELINE_CHUNK_SIZE": r"(?:^|_)tree$",
    "RING_CHUNK_SIZE": r"^tsp_ring$",
    "SCATTERV_KVAL": r"^tsp_scatterv_recexch_allgatherv$",
    "ALLGATHERV_RECEXCH_KVAL": r"^tsp_scatterv_recexch_allgatherv$",
    "RECEXCH_KVAL": r"recexch|^k_reduce_scatter_allgather$",
    "BRUCKS_KVAL": r"^(?:tsp|k)_brucks$",
    "DISSEM_KVAL": r"^k_dissemination$",
    "RECURSIVE_MULTIPLYING_KVAL": r"^recursive_multiplying$",
}
_ENDS = {"segment": "CHUNK_SIZE", "fanout": "KVAL"}  # factor → how its variables end


def variable(benchmark: str, nonblocking: bool = False) -> str:
    """Return the variable that chooses the algorithm of a collective, or of its nonblocking form.

    Examples
    --------
    >>> variable("mpi.allreduce")
    'MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM'
    """
    return f"{_prefix(benchmark, nonblocking)}INTRA_ALGORITHM"


def _prefix(benchmark: str, nonblocking: bool) -> str:
    return f"MPIR_CVAR_{'I' if nonblocking else ''}{benchmark.partition('.')[2].upper()}_"


def chosen(benchmark: str, algorithm: str) -> dict[str, str]:
    """Return the variables that choose an algorithm.

    Examples
    --------
    >>> chosen("mpi.bcast", "nb_tsp_tree")
    {'MPIR_CVAR_BCAST_INTRA_ALGORITHM': 'nb', 'MPIR_CVAR_IBCAST_INTRA_ALGORITHM': 'tsp_tree'}
    """
    if not algorithm.startswith("nb_"):
        return {variable(benchmark): algorithm}
    return {variable(benchmark): "nb", variable(benchmark, nonblocking=True): algorithm.removeprefix("nb_")}


def unread(benchmark: str, variables: Mapping[str, str]) -> set[str]:
    """Return the parameters of algorithms among variables that the chosen algorithm does not read.

    Examples
    --------
    >>> sorted(unread("mpi.bcast", chosen("mpi.bcast", "nb_tsp_ring") | {"MPIR_CVAR_IBCAST_TREE_KVAL": "4"}))
    ['MPIR_CVAR_IBCAST_TREE_KVAL']
    """
    nonblocking = variables.get(variable(benchmark)) == "nb"
    algorithm = variables.get(variable(benchmark, nonblocking), "")
    out = set()
    for kind in (False, True):
        for end, names in _READ_BY.items():
            name = _prefix(benchmark, kind) + end
            if name in variables and (kind != nonblocking or not re.search(names, algorithm)):
                out.add(name)
    return out


def algorithms(program: str, benchmark: str) -> tuple[str, ...]:
    """Return the algorithms of a collective in the MPICH of a launcher, without ``auto``.

    Raises
    ------
    LaunchError
        If the mpivars beside the launcher does not run.
    SpecError
        If it lists none.
    """
    names = listed(_text(program, benchmark), benchmark)
    if not names:
        raise SpecError(
            f"--factor algorithm, but mpivars lists none for {benchmark}. Name a variable of MPICH: --factor "
            "env.NAME=A,B."
        )
    return names


def nonblocking(program: str, benchmark: str) -> tuple[str, ...]:
    """Return the algorithms of the generic transport that ``nb`` can run, such as ``nb_tsp_tree``.

    Raises
    ------
    LaunchError
        If the mpivars beside the launcher does not run.
    """
    block = _block(_text(program, benchmark), variable(benchmark, nonblocking=True))
    return tuple(dict.fromkeys(f"nb_{name}" for name in re.findall(r"(tsp_[a-z0-9_]+) +- Force", block)))


def parameters(program: str, benchmark: str, factor: str) -> tuple[str, ...]:
    """Return the variables with the segment or the fan-out of a collective's algorithms; none if there are none.

    Raises
    ------
    LaunchError
        If the mpivars beside the launcher does not run.
    """
    names = [
        _prefix(benchmark, kind) + end for end in _READ_BY if end.endswith(_ENDS[factor]) for kind in (False, True)
    ]
    text = _text(program, benchmark)
    return tuple(name for name in names if _block(text, name))


@cache
def _text(program: str, benchmark: str) -> str:
    """Return the output of the mpivars in a launcher's folder."""
    text, reason = printed.by_neighbour(program, "mpivars")
    if not text:
        raise LaunchError(f"{reason}. It lists the algorithms. Name one: --factor env.{variable(benchmark)}=A,B.")
    return text


def listed(text: str, benchmark: str) -> tuple[str, ...]:
    """Return the algorithms of a collective in what ``mpivars`` prints; none if it has no such collective."""
    return tuple(dict.fromkeys(_NAMED.findall(_block(text, variable(benchmark)))))


def _block(text: str, name: str) -> str:
    """Return what is printed of a variable; empty if it is not."""
    match = re.search(rf"^\t{name} *=(.*\n(?:[^\t].*\n)*)", text, re.MULTILINE)
    return match[1] if match else ""


def checked(level: str, names: tuple[str, ...]) -> str:
    """Return an algorithm that is among the names.

    Raises
    ------
    SpecError
        If it is not.
    """
    if level not in names:
        raise unknown_name("algorithm", level, list(names))
    return level
