"""What a table tells of how it was measured: ranks, options, doubts."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping, Sequence

from labkit.benchmarks import Benchmark
from labkit.errors import SpecError
from labkit.formats._table import Row, Table
from labkit.notes import Note, note
from labkit.spec import Scalar, Spec

_DATATYPES = {"MPI_CHAR": "uint8", "MPI_INT": "int32", "MPI_FLOAT": "float32", "MPI_DOUBLE": "float64"}
_WINDOWS = {
    "MPI_Win_create": "create",
    "MPI_Win_allocate": "allocate",
    "MPI_Win_create_dynamic": "dynamic",
    "MPI_Win_lock/unlock": "lock",
    "MPI_Win_flush": "flush",
    "MPI_Win_flush_local": "flush_local",
    "MPI_Win_lock_all/unlock_all": "lock_all",
    "MPI_Win_post/start/complete/wait": "pscw",
    "MPI_Win_fence": "fence",
}


def ranks_of(table: Table, benchmark: Benchmark, given: int) -> tuple[int, list[Note]]:
    """How many ranks took part, and a doubt where it had to be assumed."""
    told, (low, high) = table.parameters, benchmark.ranks
    if "#processes" in told:
        groups = int(told.get("groups", 1))
        text = f"{groups} groups ran at the same time (-multi) and shared the network"
        return int(told["#processes"]), [note("groups", text, groups=groups)] if groups > 1 else []
    pairs = told.get("pairs") or told.get("Pairs") or ""
    if pairs.isdigit():
        return 2 * int(pairs), []
    if low == high:
        return low, []
    if given and given < low:
        raise SpecError(
            f"--ranks {given}, but {benchmark.name} ({table.test}) needs at least {low}. Set --ranks {low}."
        )
    if given:
        return given, []
    text = f"the file does not name the number of ranks: assumed {max(low, 2)}. Set it with --ranks."
    return max(low, 2), [note("ranks-assumed", text, ranks=max(low, 2))]


def spec_of(
    benchmark: Benchmark, fixed: Mapping[str, Scalar], table: Table, row: Row, ranks: int, testbed: str
) -> Spec:
    """What was measured, as far as the text tells."""
    told, options = table.parameters, dataclasses.asdict(benchmark.options()) | dict(fixed)
    window = table.value(row, "Window") or told.get("window size") or told.get("window_size")
    datatype = told.get("Datatype") or told.get("MPI_Datatype for reductions") or ""
    if "window" in options and str(window).isdigit():
        options["window"] = int(str(window))
    if "threads" in options and told.get("threads", "").isdigit():
        options["threads"] = int(told["threads"])
    if "datatype" in options and datatype:
        options["datatype"] = _DATATYPES.get(datatype, datatype)
    for name, value in _calling(table).items():
        if name in options:
            options[name] = value
    if "MODE" in told:
        options["aggregate"] = told["MODE"] == "AGGREGATE"
    for name, word in (("Window creation", "memory"), ("Synchronization", "synchronisation")):
        if name in told:
            options[word] = _WINDOWS.get(told[name], told[name])
    where = [testbed]
    if "groups" in told:  # IMB's -multi: other groups are at work beside
        group = table.value(row, "Group")
        where += [f"groups={told['groups']}", *([f"group={group}"] if group is not None else [])]
    return Spec(
        benchmark=benchmark.name,
        size=0,
        ranks=max(ranks, 1),
        launcher="unknown",
        testbed=",".join(where),
        options=tuple(options.items()),
    )


def doubts_of(table: Table, checked: object) -> Sequence[Note]:
    """What is doubtful about a row."""
    found = [note("wrong-bytes", "validation failed: wrong bytes")] if checked == "Fail" else []
    if "Transmit Size" in table.columns:
        found.append(note("derived-datatype", "the run sent a derived datatype (-D), but the file does not name it"))
    return found


def _calling(table: Table) -> dict[str, Scalar]:
    """Options of IMB's collectives that its version, or its command line where it is printed, set.

    Until IMB 4.1 there was no barrier between the calls and the root moved on with each of them, by default.
    """
    if table.test.partition(" ")[0] not in ("IMB-MPI1", "IMB-NBC", "IMB-MPI4"):
        return {}
    year = re.match(r"\d+", table.version)
    old, words = year is not None and int(year[0]) < 2017, table.parameters.get("call", "").lower().split()
    said = dict(itertools.pairwise(words))
    answers = {"on": True, "1": True, "enable": True, "off": False, "0": False, "disable": False}
    apart = answers.get(said.get("-sync", ""), not old)
    found: dict[str, Scalar] = {"rotate": answers.get(said.get("-root_shift", ""), old)}
    return found if apart else found | {"cadence": "streaming"}
