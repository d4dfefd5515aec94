"""Open MPI's tuned collectives: their algorithms, and the file with rules that chooses among them.

The layout of the file and its definition of a message's size follow `coll_tuned_dynamic_file.c` and
`coll_tuned_decision_dynamic.c` in ompi/mca/coll/tuned (4.1.4 and 5.0.0, which read the same file). The numbers of
collectives are those of `COLLTYPE` in ompi/mca/coll/base/coll_base_functions.h.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from labkit.errors import DataError, LaunchError, SpecError, unknown_name
from labkit.host import printed
from labkit.point.units import format_size, parse_count

DYNAMIC, RULES = "coll_tuned_use_dynamic_rules", "coll_tuned_dynamic_rules_filename"
FILES = "mca_base_param_files"  # which files with parameters Open MPI reads, separated by commas
VARIABLE = re.compile(r"OMPI_MCA_coll_tuned_(?P<name>[a-z_]+?)_algorithm(?P<part>_\w+)?")
FANOUT = 4  # of trees and chains, unless a parameter sets it: coll_tuned_init_tree_fanout, …_chain_fanout


@dataclass(frozen=True)
class Collective:
    """A collective that a rules file can decide by ranks and size.

    Parameters
    ----------
    number : number of the collective in the file.
    scaled : whether the file's size counts all ranks' messages: labkit's size times the number of ranks.
    fanout : the parameter that gives a forced algorithm the number that the file has as "fan in/out".
    """

    number: int
    scaled: bool
    fanout: str = "tree"


# without allgatherv and alltoallv, where ranks may differ, and without scan and exscan, whose count 4.1 leaves out
COLLECTIVES: Mapping[str, Collective] = {
    "allgather": Collective(0, True),
    "allreduce": Collective(2, False),
    "alltoall": Collective(3, True),
    "barrier": Collective(6, False),
    "bcast": Collective(7, False, "chain"),
    "gather": Collective(9, True),
    "reduce": Collective(11, False, "chain"),
    "reduce_scatter": Collective(12, False, "chain"),
    "reduce_scatter_block": Collective(13, True, "chain"),
    "scatter": Collective(15, True, "chain"),
}


@dataclass(frozen=True, order=True)
class Rule:
    """Rules of one collective for some sizes at one number of ranks.

    Parameters
    ----------
    collective : as in `COLLECTIVES`.
    ranks : ranks of the communicator.
    size : size that was measured, as labkit counts it, B.
    algorithm : number; 0 leaves it to the library.
    fanout, segment : fanout and segment of the algorithm; segment in B, 0 for whole messages.
    label : comment for readers of the file.
    """

    collective: str
    ranks: int
    size: int
    algorithm: int
    fanout: int = FANOUT
    segment: int = 0
    label: str = ""


def collective(benchmark: str) -> str:
    """Return the collective of a benchmark that a rules file can decide, such as ``allreduce``; empty for others."""
    family, _, name = benchmark.partition(".")
    return name if family == "mpi" and name in COLLECTIVES else ""


@cache
def algorithms(program: str, name: str) -> Mapping[str, int]:
    """Return the algorithms of a collective in the Open MPI of a launcher, by name, without ``ignore``.

    Raises
    ------
    LaunchError
        If ``ompi_info`` in the launcher's folder does not list them.
    """
    text, reason = printed.by_neighbour(program, "ompi_info", "--param", "coll", "tuned", "--level", "9", "--parsable")
    if not text:
        raise LaunchError(f"{reason}. Write the numbers of algorithms instead of names, or reinstall Open MPI.")
    return listed(text, name)


def listed(text: str, name: str) -> Mapping[str, int]:
    """Return the algorithms of a collective in what ``ompi_info --parsable`` prints.

    Raises
    ------
    LaunchError
        If it lists none.
    """
    pattern = rf":param:coll_tuned_{name}_algorithm:enumerator:value:(\d+):(.+)$"
    rows = {row[2]: int(row[1]) for row in re.finditer(pattern, text, re.MULTILINE)}
    rows.pop("ignore", None)
    if not rows:
        raise LaunchError(f"ompi_info lists no algorithms of {name}. Write their numbers: --factor algorithm=1,2.")
    return rows


def numbered(level: str, names: Mapping[str, int], name: str) -> int:
    """Return the number of an algorithm that is given by name or number.

    Raises
    ------
    SpecError
        If there is none.
    """
    number = parse_count(level)
    if number is not None and number in names.values():
        return number
    if level not in names:
        listing = ", ".join(f"{number} {word}" for word, number in names.items())
        if number is not None:
            raise SpecError(f"algorithm={level}, but {name} has: {listing}. Set algorithm=all for all of them.")
        raise unknown_name("algorithm", level, list(names))
    return names[level]


def param_files(program: str) -> tuple[str, ...]:
    """Return the parameter files that this Open MPI reads; the first one that sets a parameter wins.

    Raises
    ------
    LaunchError
        If ``ompi_info`` in the launcher's folder does not list them.
    """
    text, reason = printed.by_neighbour(program, "ompi_info", "--all", "--parsable", "--level", "9")
    match = re.search(rf":param:{FILES}:value:(.*)$", text, re.MULTILINE)
    if not match:
        raise LaunchError(
            f"{reason or f'ompi_info lists no {FILES}'}, so it is unknown which parameter files Open MPI reads. "
            "A variable that names another file would replace them. Reinstall Open MPI, so that ompi_info works."
        )
    return tuple(one for one in match[1].split(",") if one)


def seen_size(rule: Rule) -> int:
    """Return the size that Open MPI compares with the file's, B."""
    return rule.size * (rule.ranks if COLLECTIVES[rule.collective].scaled else 1)


def reach(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return for each size, in rising order, the first size it represents and the first that it does not.

    A size represents sizes from its half to below its double, at most to the geometric mean with the next tuned size.

    Examples
    --------
    >>> reach([1024, 2048, 65536])
    [(512, 1449), (1449, 4096), (32768, 131072)]
    """
    middles = [int((one * other) ** 0.5) + 1 for one, other in pairwise(sizes)]
    lows = [0, *middles]
    highs = [*middles, 0]
    return [
        (max(low, -(-size // 2)), min(high or 2 * size, 2 * size) or 1)
        for size, low, high in zip(sizes, lows, highs, strict=True)
    ]


def text(rules: Sequence[Rule], head: Sequence[str] = ()) -> str:
    """Return the rules as a file; what no rule is about stays with the library.

    Parameters
    ----------
    rules : rules with all sizes that were tuned; those where the library decides have algorithm 0.
    head : lines of comment at the beginning.
    """
    lines = [f"# {line}" for line in head]
    names = sorted({one.collective for one in rules}, key=lambda name: COLLECTIVES[name].number)
    lines.append(f"{len(names)} # collectives")
    for name in names:
        lines += _of_collective(name, [one for one in rules if one.collective == name])
    return "\n".join(lines) + "\n"


def _of_collective(name: str, rules: Sequence[Rule]) -> list[str]:
    """Return the lines of one collective: communicators with rules, and between them the library's own choice."""
    counts = sorted({one.ranks for one in rules})
    parts: list[list[str]] = []
    for ranks, after in zip([0, *counts], [*counts, 0], strict=True):
        if ranks:
            parts.append(_of_ranks(name, ranks, sorted(one for one in rules if one.ranks == ranks)))
        if ranks + 1 != after:  # Open MPI takes the rules of the next smaller number of ranks
            first = ranks + 1 if ranks else 0
            parts.append([f"{first} # ranks, and more: the library decides", "1 # size", "0 0 0 0"])
    head = [f"{COLLECTIVES[name].number} # MPI_{name.capitalize()}", f"{len(parts)} # numbers of ranks"]
    return [*head, *(line for part in parts for line in part)]


def _of_ranks(name: str, ranks: int, rules: Sequence[Rule]) -> list[str]:
    """Return the lines of one number of ranks: size from, algorithm, fan in/out, segment."""
    rows = {0: "0 0 0 0"}  # Open MPI refuses a file whose first size is not 0
    for rule, (low, high) in zip(rules, reach([seen_size(one) for one in rules]), strict=True):
        if rule.algorithm:
            what = f"{format_size(rule.size)}: {rule.label}" if rule.size else rule.label
            rows[low] = f"{low} {rule.algorithm} {rule.fanout} {rule.segment} # {what}".rstrip(" #:")
        else:
            rows[low] = f"{low} 0 0 0"
        rows[high] = f"{high} 0 0 0"
    lines = [rows[size] for size in sorted(rows)]
    changes = [lines[0], *(after for before, after in pairwise(lines) if not (_plain(before) and _plain(after)))]
    return [f"{ranks} # ranks", f"{len(changes)} # sizes", *changes]


def _plain(line: str) -> bool:
    """Whether a line leaves its sizes to the library."""
    return line.endswith(" 0 0 0")


def chosen(content: str, name: str, ranks: int, size: int) -> tuple[int, int, int]:
    """Return algorithm, fan in/out and segment that Open MPI takes from a file, (0, 0, 0) for the library's own.

    Parameters
    ----------
    content : content of the file.
    size : as labkit counts it, B.

    Raises
    ------
    DataError
        If the file is not one.
    """
    words = [word for line in content.splitlines() for word in line.partition("#")[0].split()]
    try:
        numbers = iter([int(word) for word in words])
        table: dict[int, list[tuple[int, list[tuple[int, ...]]]]] = {}
        for _ in range(next(numbers)):
            number = next(numbers)
            table[number] = [
                (next(numbers), [tuple(next(numbers) for _ in range(4)) for _ in range(next(numbers))])
                for _ in range(next(numbers))
            ]
        if next(numbers, None) is not None:
            raise ValueError("numbers follow the last rule")
    except (ValueError, StopIteration, RuntimeError) as error:
        raise DataError(f"The rules file is not of Open MPI's layout: {error or 'it ends early'}.") from error
    of_ranks = [rows for count, rows in table.get(COLLECTIVES[name].number, []) if count <= ranks]
    if not of_ranks:
        return 0, 0, 0
    compared = seen_size(Rule(name, ranks, size, 0))
    row = [row for row in of_ranks[-1] if row[0] <= compared][-1]
    return (row[1], row[2], row[3]) if row[1] else (0, 0, 0)
