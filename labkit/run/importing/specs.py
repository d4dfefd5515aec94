"""Finds out how a table was measured: ranks, options, doubts."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping, Sequence

from labkit import benchmarks
from labkit.benchmarks import Benchmark
from labkit.errors import SpecError
from labkit.formats import omb
from labkit.formats.reading.log import setting_name, whole
from labkit.formats.reading.table import Row, Table
from labkit.point.notes import Note, has, note
from labkit.point.spec import Scalar, Spec
from labkit.store.samples.facts import RANKS_ASSUMED

LONGEST = 200  # characters of a setting that a point keeps
Test = tuple[Benchmark, Mapping[str, Scalar]]
_MEMORIES = {"DEVICE": "device", "MANAGED": "managed", "HOST": "host"}  # as OMB calls them
_SIDE = rf"({'|'.join(_MEMORIES)}) \(\w\)"
_BUFFERS = re.compile(rf"# Send Buffer on {_SIDE} and Receive Buffer on {_SIDE}")
_DATATYPES = {"MPI_CHAR": "uint8", "MPI_INT": "int32", "MPI_FLOAT": "float32", "MPI_DOUBLE": "float64"}
_SET_BY_USERS = ("window", "datatype", "threads")  # not printed by every program and version
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
    """Return the number of ranks, and a doubt if it had to be assumed."""
    parameters, (low, high) = table.parameters, benchmark.ranks
    if "#processes" in parameters:
        groups = int(parameters.get("groups", 1))
        doubts: list[Note] = []
        if groups > 1:
            text = f"{groups} groups ran at the same time (-multi) and shared the network"
            doubts.append(note("groups", text, groups=groups))
        return int(parameters["#processes"]), doubts
    pairs = parameters.get("pairs") or parameters.get("Pairs") or ""
    if whole(pairs):
        return 2 * whole(pairs), []
    if low == high:
        return low, []
    if given and given < low:
        raise SpecError(
            f"--ranks {given}, but {benchmark.name} ({table.test}) needs at least {low}. Set --ranks {low}."
        )
    if given:
        return given, []
    return max(low, 2), [assumed(max(low, 2))]


def assumed(ranks: int) -> Note:
    """Return the doubt about a number of ranks that labkit assumes."""
    text = f"the log does not state the number of ranks: {ranks} assumed. Set it with --ranks."
    return note(RANKS_ASSUMED, text, ranks=ranks)


def identity(library: str, text: str, doubts: Sequence[Note]) -> dict[str, str]:
    """Return what distinguishes points with equal specs. It includes an assumed number of ranks, which may be wrong."""
    return {"library": library, "text": text} | ({"ranks": "assumed"} if has(doubts, RANKS_ASSUMED) else {})


def spec_of(
    benchmark: Benchmark, fixed: Mapping[str, Scalar], table: Table, row: Row, ranks: int, testbed: str
) -> Spec:
    """Return the spec of a row, as far as the text gives it."""
    parameters = table.parameters
    usual = dataclasses.asdict(benchmark.options())  # implied by the name of the test, except for what users set
    options: dict[str, Scalar] = usual | {name: None for name in _SET_BY_USERS if name in usual} | dict(fixed)
    window = table.value(row, "Window") or parameters.get("window size") or parameters.get("window_size")
    datatype = parameters.get("Datatype") or parameters.get("MPI_Datatype for reductions") or ""
    for name, text in (("window", str(window)), ("threads", parameters.get("threads", ""))):
        if name in options and whole(text):
            options[name] = whole(text)
    if "datatype" in options and datatype:
        options["datatype"] = _DATATYPES.get(datatype, datatype)
    for name, value in _calling(table).items():
        if name in options:
            options[name] = value
    if "call" in options and (call := table.value(row, "Operation")):
        options["call"] = str(call)
    if "MODE" in parameters:
        options["aggregate"] = parameters["MODE"] == "AGGREGATE"
    for name, option in (("Window creation", "memory"), ("Synchronization", "synchronisation")):
        if name in parameters:
            options[option] = _WINDOWS.get(parameters[name], parameters[name])
    options |= {name: value for name, value in _stated(table).items() if name not in options}
    places = [testbed]
    if "groups" in parameters:  # IMB's -multi: other groups run at the same time
        places.append(f"groups={parameters['groups']}")
        if (group := table.value(row, "Group")) is not None:
            places.append(f"group={group}")
    return Spec(
        benchmark=benchmark.name,
        size=0,
        ranks=max(ranks, 1),
        launcher="unknown",
        testbed=",".join(places),
        options=options,
    )


def accelerated(test: Test, table: Table) -> Test | None:
    """Return the benchmark of a table of OMB and its options; with memory of a GPU if its title states it.

    Returns
    -------
    None if no benchmark measures the test with the memory that the title names.
    """
    found = omb.ACCELERATOR.search(table.title)
    if not found:
        return test
    benchmark = benchmarks.find().get(f"gpu.{test[0].name.replace('.', '_')}")
    if "CUDA" not in found[1] or benchmark is None:
        return None
    sides = next((match for line in table.preamble if (match := _BUFFERS.match(line))), None)
    memory = "managed" if "MANAGED" in found[1] else "device"
    kinds = [_MEMORIES[side] for side in sides.groups()] if sides else [memory]
    options = {name: value for name, value in test[1].items() if hasattr(benchmark.options(), name)}
    options |= {"memory": kinds[0], "accelerator": "cuda"}
    if hasattr(benchmark.options(), "peer_memory"):
        options["peer_memory"] = kinds[-1]
    return benchmark, options


def doubts_of(table: Table, checked: object) -> Sequence[Note]:
    """Return the doubts about a row."""
    doubts: list[Note] = []
    if checked == "Fail":
        doubts.append(note("wrong-bytes", "validation failed: wrong bytes"))
    if "Transmit Size" in table.columns:
        doubts.append(note("derived-datatype", "the run sent a derived datatype (-D), but the file does not name it"))
    return doubts


# parameters that are not settings, have a separate option, or stand in the spec
_NO_SETTINGS = frozenset((
    "Date", "call", "Machine", "System", "Release", "Version", "Overall", "#processes", "processes", "nprocs",
    "pairs", "Pairs", "groups", "threads", "window size", "window_size", "Datatype", "MPI_Datatype for reductions",
    "Minimum message length in bytes", "Maximum message length in bytes", "MODE", "Window creation",
    "Synchronization", "Measured by",
))  # fmt: skip
_SIZES = ("-msglog", "-msglen", "-npmin", "-input", "-include", "-exclude")


def _stated(table: Table) -> dict[str, Scalar]:
    """Return the settings of a table for which labkit has no option: tables that differ in one are separate points.

    For IMB these are the flags of the command line that it prints, and the name of the program, because several IMB
    programs have a test of the same name.
    """
    parameters = {name: value for name, value in table.parameters.items() if name not in _NO_SETTINGS}
    found: dict[str, Scalar] = {setting_name(name): value[:LONGEST] for name, value in parameters.items()}
    program = table.test.partition(" ")[0]
    if program.startswith("IMB-"):
        found["program"] = program
    words = table.parameters.get("call", "").split()
    for flag, value in itertools.pairwise([*words, ""]):
        if re.fullmatch(r"-[a-z][\w-]*", flag) and flag.lower() not in _SIZES:
            found[f"imb_{setting_name(flag)}"] = "true" if value.startswith("-") or not value else value[:LONGEST]
    return found


def _calling(table: Table) -> dict[str, Scalar]:
    """Return the options of IMB's collectives that follow from its version or its printed command line.

    Until IMB 4.1, there was by default no barrier between the calls, and the root changed with each call.
    """
    if table.test.partition(" ")[0] not in ("IMB-MPI1", "IMB-NBC", "IMB-MPI4"):
        return {}
    year = re.match(r"\d+", table.version)
    old = year is not None and int(year[0]) < 2017
    words = table.parameters.get("call", "").lower().split()
    arguments = dict(itertools.pairwise(words))
    switches = {"on": True, "1": True, "enable": True, "off": False, "0": False, "disable": False}
    synchronised = switches.get(arguments.get("-sync", ""), not old)
    options: dict[str, Scalar] = {"rotate": switches.get(arguments.get("-root_shift", ""), old)}
    if not synchronised:
        options["cadence"] = "streaming"
    return options
