"""The file with MPICH's selection of collective algorithms by ranks and size.

``MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`` names it. It replaces MPICH's own selection as a whole, and MPICH ends
where the file has no answer. So labkit takes the selection that is compiled into the library, and puts rules into it.
The layout is that of src/mpi/coll/src/csel.c, and the names of algorithms are those of csel_container.c (4.0.2 and
5.0.1).

Notes
-----
A key of an object is a condition. MPICH takes the first one that holds, and tries no other one after it. It reads the
file with mmap and expects a zero after its last byte, so the length must not be a multiple of the page.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit.errors import DataError
from labkit.host import printed
from labkit.tuning.openmpi import COLLECTIVES, reach

FILE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"

Tree = dict[str, Any]  # condition → what holds then; algorithm → its parameters

_AVERAGE = ("allreduce", "alltoall", "bcast", "reduce")  # their size is one rank's message
_OWN = re.compile(rb'\{"collective=bcast":\{"comm_type=intra":[^\0]*\}(?=\0)')
_ALGORITHM = re.compile(rb"algorithm=(MPIR_\w+)(?=\0)")
# these have parameters that the file would have to set: their variables do not hold for it
_PARAMETERS = re.compile(r"tree|ring_tree|recexch|multiplying|(?:^|_)k_|ccl")
_WHOLE = ("reduce_scatter_allgather", "reduce_scatter_gather")  # need an element for each of a power of two of ranks


@dataclass(frozen=True, order=True)
class Choice:
    """MPICH's algorithm for some sizes of a collective at one number of ranks.

    Parameters
    ----------
    collective : such as ``allreduce``.
    ranks : ranks of the communicator.
    size : size that was measured, as labkit counts it, B.
    algorithm : in the file, such as ``MPIR_Bcast_intra_binomial``; empty leaves it to the library.
    """

    collective: str
    ranks: int
    size: int
    algorithm: str = ""


@dataclass(frozen=True)
class Own:
    """The selection that is compiled into a library.

    Parameters
    ----------
    tree : its conditions.
    algorithms : names that the library accepts in a file.
    """

    tree: Tree
    algorithms: frozenset[str]


@cache
def own(program: str) -> Own | None:
    """Return the selection that is compiled into the MPICH of a launcher; None if labkit does not find it."""
    for library in printed.libraries(program, "mpivars"):
        with Path(library).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for match in _OWN.finditer(content):
                if b'"algorithm=MPIR_Bcast' in match[0] and b"composition=" not in match[0]:
                    names = frozenset(name.decode() for name in _ALGORITHM.findall(content))
                    return Own(json.loads(match[0]), names)
    return None


def choice(benchmark: str, ranks: int, size: int, algorithm: str, known: Own) -> Choice | None:
    """Return the rule for an algorithm by its short name, empty for the library's own; None if there can be none."""
    collective = benchmark.partition(".")[2]
    if collective not in COLLECTIVES or f"collective={collective}" not in known.tree or _PARAMETERS.search(algorithm):
        return None
    name = f"MPIR_{collective.capitalize()}_{'allcomm' if algorithm == 'nb' else 'intra'}_{algorithm}"
    if algorithm and name not in known.algorithms:
        return None
    return Choice(collective, ranks, size, name if algorithm else "")


def text(known: Own, choices: Sequence[Choice]) -> str:
    """Return the library's own selection with rules, as a file; what no rule is about does not change."""
    tree = dict(known.tree)
    for name in sorted({one.collective for one in choices}):
        kinds = dict(tree[f"collective={name}"])
        kinds["comm_type=intra"] = _of_collective(
            kinds["comm_type=intra"], [o for o in choices if o.collective == name]
        )
        tree[f"collective={name}"] = kinds
    content = json.dumps(tree, indent=1) + "\n"
    return content if len(content) % mmap.PAGESIZE else content + "\n"


def chosen(content: str, collective: str, ranks: int, size: int) -> str:
    """Return the algorithm that MPICH takes from a file without regard to hosts, for an operation of MPI's own.

    Parameters
    ----------
    content : content of the file.
    size : as labkit counts it, B.

    Raises
    ------
    DataError
        If the file has no answer.
    """
    node = json.loads(content)[f"collective={collective}"]["comm_type=intra"]
    seen = {"comm_size": ranks, "avg_msg_size": size, "count": size, "total_msg_size": _seen(collective, ranks, size)}
    flags = {"is_commutative=yes", "is_op_built_in=yes", "is_sendbuf_inplace=no", "is_node_consecutive=yes"}
    while not (name := next(iter(node), "")).startswith("algorithm="):
        name = next((one for one in node if one in flags or _holds(one, seen)), "")
        if not name:
            raise DataError(f"The selection has no algorithm for {collective} on {ranks} ranks. Tune again.")
        node = node[name]
    return name.removeprefix("algorithm=")


def _holds(condition: str, seen: dict[str, int]) -> bool:
    """Whether a condition on a number holds."""
    if condition.endswith("=any"):
        return True
    match = re.fullmatch(r"(\w+)(<=?|=)(\w+)", condition)
    if match is None or match[1] not in seen:
        return False
    value, ranks = seen[match[1]], seen["comm_size"]
    if match[3] == "pow2":
        return value & (value - 1) == 0 if match[2] == "=" else value < 1 << (ranks.bit_length() - 1)
    return match[3].isdecimal() and value < int(match[3]) + (match[2] == "<=")


def _seen(collective: str, ranks: int, size: int) -> int:
    """Return the size that MPICH compares, B."""
    return size * (ranks if COLLECTIVES[collective].scaled and collective not in _AVERAGE else 1)


def _of_collective(plain: Tree, choices: Sequence[Choice]) -> Tree:
    """Return the conditions of a collective with rules for some numbers of ranks."""
    tree: Tree = {}
    before = 0
    for ranks in sorted({one.ranks for one in choices}):
        if ranks > before + 1:
            tree[f"comm_size<{ranks}"] = plain
        tree[f"comm_size<={ranks}"] = _of_ranks(_at(plain, ranks), sorted(o for o in choices if o.ranks == ranks))
        before = ranks
    return tree | {"comm_size=any": plain}


def _of_ranks(plain: Tree, choices: Sequence[Choice]) -> Tree:
    """Return the conditions of a collective at one number of ranks with rules for some sizes."""
    name = choices[0].collective
    if name == "barrier":
        return _guarded(choices[0], plain)
    key = "avg_msg_size" if name in _AVERAGE else "total_msg_size"
    tree: Tree = {}
    for one, (low, high) in zip(choices, reach([_seen(name, o.ranks, o.size) for o in choices]), strict=True):
        if one.algorithm:
            tree.setdefault(f"{key}<{low}", plain)
            tree[f"{key}<{high}"] = _guarded(one, plain)
    return tree | {f"{key}=any": plain}


def _guarded(one: Choice, plain: Tree) -> Tree:
    """Return the algorithm of a rule if it is allowed, and the library's own elsewhere.

    The restrictions are those of src/mpi/coll/coll_algorithms.txt. MPICH heeds them for its variables, but not here.
    """
    if not one.algorithm:
        return plain
    tree: Tree = {f"algorithm={one.algorithm}": {}}
    if one.algorithm.endswith(_WHOLE):
        tree = {"count<pow2": plain, "count=any": tree}
    if one.algorithm.endswith("_smp"):
        tree = {"comm_hierarchy=parent": tree, "comm_hierarchy=any": plain}
    if one.collective in ("allreduce", "reduce"):
        tree = {"is_op_built_in=no": plain, "is_op_built_in=yes": tree}
    if one.collective in ("reduce_scatter", "reduce_scatter_block"):
        tree = {"is_commutative=no": plain, "is_commutative=yes": tree}
    if one.collective == "alltoall":
        tree = {"is_sendbuf_inplace=yes": plain, "is_sendbuf_inplace=no": tree}
    return tree


def _at(tree: Tree, ranks: int) -> Tree:
    """Return conditions without those on the number of ranks.

    MPICH itself decides them when a communicator is made, but only those above all others. It decides deeper ones at
    the call, and there 5.0.1 takes ``<`` for ``<=``.
    """
    out: Tree = {}
    for condition, then in tree.items():
        if not re.match(r"comm_size(?!=node)", condition):
            out[condition] = _at(then, ranks)
        elif _holds(condition, {"comm_size": ranks}):
            rest = _at(then, ranks)
            return out | {"comm_size=any": rest} if out else rest
    return out
