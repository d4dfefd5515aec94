"""NAS Parallel Benchmarks: the original programs, on the PATH or built by ``make npb`` from the user's source.

A program holds one class. NPB 3.4 names it ``cg.S.x``. NPB 3.3 with MPI also fixes the number of ranks (``cg.S.4``).
The versions for MPI, OpenMP and one processor share these names, so labkit reads the version from the program's title.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from math import isqrt
from pathlib import Path

from labkit.errors import DataError
from labkit.formats import npb as layout
from labkit.kernels import programs
from labkit.options.compute import Npb
from labkit.point import rank_counts
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Parsed, Tool, _linked

FOLDER = programs.path("npb")  # a folder of programs for each version
_VERSION = rb"NAS Parallel Benchmarks \(?(?:NPB)?(\d[\d.]*\d)"
_WITHOUT_MPI = rb"NAS Parallel Benchmarks \(NPB[\d.]*(-OMP|-SER|-MZ OpenMP|-MZ-OMP|-MZ-SER)"
_THREADED = re.compile(r"lib[gi]?omp\d*\.so")
_NAMED = re.compile(r"(?:[a-z]{2}|(?:bt|sp|lu)-mz)\.[SWA-F]\.(?:x|\d+)")
_WORK = {"S": 1, "W": 20, "A": 170, "B": 750, "C": 3e3, "D": 6e4, "E": 1.2e6, "F": 2e7}  # 10^9 operations, at most
_FAST, _SLOW = 0.5, 0.02  # 10^9 operations in a second of a core, to reckon with
_CLASSES = {"DT": "SWAB", "DC": "SWAB", "IS": "SWABCDE", "UA": "SWABCD"}  # with published results; others have all
_ZONES = {"S": 4, "W": 16, "A": 16, "B": 64, "C": 256, "D": 1024, "E": 4096, "F": 16384}  # of BT-MZ, SP-MZ
_NODES = {"S": (5, 12), "W": (11, 32), "A": (21, 80), "B": (43, 192)}  # of DT's graphs BH and WH, and of SH
_KEYS = {"D": (4, 1024), "E": (64, 1024), "S": (1, 128)}  # least and most ranks of IS


def _version() -> str:
    """Version of the first program that is here; `unknown` without one."""
    return next(filter(None, (_linked.written(path, _VERSION) for path in (*_on_path(), *_built()))), "unknown")


TOOL = Tool(
    name="npb",
    read_version=_version,
    install=programs.from_source("npb", "~/NPB3.4.3"),
    format=layout,
    purpose="compute.npb, from a source of your own",
    instead="compute.nas_*, labkit's own kernels",
)


def solve(spec: Spec[Npb], effort: Effort) -> Invocation:
    """One run of a program."""
    options = spec.options
    program = _program(options, spec.ranks)
    version = _linked.written(program, _VERSION)
    kind, folder = _linked.mpi(program) if options.model == "mpi" else ("", "")
    threaded = options.model == "openmp" or options.kernel.endswith("-MZ")
    work, cores = _WORK[options.npb_class], spec.ranks * options.threads

    def parsed(text: str, folder: Path) -> Parsed:
        return parse(text, spec)

    return Invocation(
        tool=TOOL,
        needs=(program,),
        client=(program, *([options.graph] if options.kernel == "DT" else [])),
        parse=parsed,
        environment={"OMP_NUM_THREADS": str(options.threads)} if threaded else {},
        threads=options.threads,
        mpi=kind,
        mpi_folder=folder,
        libraries=(f"NPB {version}",) if version and version != TOOL.read_version() else (),  # type: ignore[misc]
        directory=options.directory,
        definition="NPB: operations of the program's own formula over the time of its slowest rank, without the "
        "set-up, as it prints them.",
        duration=work / _FAST / cores,
        time_limit=work / _SLOW / cores + effort.time_limit,
    )


def _program(options: Npb, ranks: int) -> str:
    """Return the path of the program; if it is missing, its name, and which of the same kernel are here."""
    kernel = options.kernel.lower()
    wanted = (f"{kernel}.{options.npb_class}.x", f"{kernel}.{options.npb_class}.{ranks}")
    others = dict[str, None]()
    for path in (*_on_path(), *_built()):
        name = Path(path).name
        if not name.startswith(f"{kernel}."):
            continue
        model = _model(path)
        if name in wanted and model == options.model:
            return path
        if model:
            others[f"{name} for {model}"] = None
    here = ", ".join(others) or f"no {kernel}.*.x on the PATH or in {FOLDER}"
    return f"{wanted[0]}, built with CLASSES={options.npb_class} MODELS={options.model}; found {here}"


def _built() -> Iterator[str]:
    """Yield the programs that set-up built."""
    yield from map(str, sorted(FOLDER.glob("*/*.*.*")))


def _on_path() -> Iterator[str]:
    """Yield the programs on the PATH that are named like NPB's."""
    for folder in os.get_exec_path():
        try:
            names = sorted(entry.name for entry in os.scandir(folder) if _NAMED.fullmatch(entry.name))
        except OSError:  # the PATH names a folder that is not there, or not readable
            continue
        yield from filter(None, (shutil.which(name, path=folder) for name in names))


def _model(path: str) -> str:
    """Return the version of a program: mpi, openmp or serial; empty if it has no title of NPB's."""
    if Path(path).is_relative_to(FOLDER):
        return Path(path).parent.name
    if not _linked.written(path, _VERSION):
        return ""
    title = _linked.written(path, _WITHOUT_MPI)
    if not title:
        return "mpi"
    libraries = _linked.loaded(path)  # none if it is linked statically
    threaded = any(map(_THREADED.match, libraries)) if libraries else "SER" not in title
    return "openmp" if threaded else "serial"


def chosen(spec: Spec[Npb]) -> dict[str, str]:
    """Return the version that is left to labkit."""
    if spec.options.model != "auto":
        return {}
    return {"model": "openmp" if spec.options.kernel in ("UA", "DC") else "mpi"}


def wrong(spec: Spec[Npb]) -> str:
    """Say what a program cannot do; empty if it can."""
    options, kernel, letter = spec.options, spec.options.kernel, spec.options.npb_class
    classes = _CLASSES.get(kernel, "")
    if classes and letter not in classes:
        return (
            f"npb_class={letter}, but {kernel} has results to compare with for {', '.join(classes)}. Set one of these."
        )
    if options.model == "mpi" and kernel in ("UA", "DC"):
        return f"model=mpi, but {kernel} has no version for MPI. Set model=openmp and ranks=1."
    if options.model != "mpi" and kernel == "DT":
        return f"model={options.model}, but DT has a version for MPI alone. Set model=mpi."
    if options.graph != "BH" and kernel != "DT":
        return f"graph={options.graph}, but only DT has a graph. Leave it out, or set kernel=DT."
    if options.threads < 1:
        return f"threads={options.threads}, but a rank has 1 or more. Set threads=1."
    if options.threads > 1 and (options.model == "serial" or (options.model == "mpi" and not kernel.endswith("-MZ"))):
        return f"threads={options.threads}, but {kernel} for {options.model} has none. Set threads=1, or model=openmp."
    if options.model != "mpi":
        return "" if spec.ranks == 1 else f"ranks={spec.ranks}, but model={options.model} is one process. Set ranks=1."
    return _wrong_ranks(kernel, letter, options.graph, spec.ranks)


def _wrong_ranks(kernel: str, letter: str, graph: str, ranks: int) -> str:
    """Say why a program for MPI cannot use a number of ranks; empty if it can."""
    least, most = 1, ranks
    if kernel == "DT":
        least = most = _NODES[letter][graph == "SH"]
    elif kernel == "IS":
        least, most = _KEYS.get(letter, (1, 1024))
    elif kernel in ("BT-MZ", "SP-MZ"):
        most = _ZONES[letter]
    if not least <= ranks <= most:
        works = f"exactly {least}" if least == most else f"{least} to {most}"
        what = f"{kernel} with graph={graph}" if kernel == "DT" else kernel
        nearest = min(max(ranks, least), most)
        return f"ranks={ranks}, but class {letter} of {what} runs on {works}. Set ranks={nearest}."
    if kernel in ("BT", "SP"):
        return rank_counts.not_square(ranks, kernel)
    if kernel in ("IS", "CG", "MG", "FT"):
        return rank_counts.not_power_of_two(ranks, kernel)
    if kernel == "LU" and not any(ranks % y == 0 and ranks <= 2 * y * y for y in range(1, isqrt(ranks) + 1)):
        return f"ranks={ranks}, but LU needs a grid of ranks with one side at most twice the other. Set ranks=4."
    return ""


def parse(text: str, spec: Spec[Npb]) -> Parsed:
    """Return rate and time of a run that the program found right.

    Raises
    ------
    DataError
        If there is no result, the program's own verification did not pass, or it solved something else, or on another
        number of ranks or threads, than it was told.
    """
    options = spec.options
    runs = layout.LOG.runs(text, TOOL.name)
    run = runs[0]
    told: dict[str, object] = {"kernel": options.kernel, "npb_class": options.npb_class}
    told |= {"graph": options.graph} if options.kernel == "DT" else {}
    found = {name: run.options.get(name) for name in told}
    if found != told:
        raise DataError(f"NPB solved {found}, but was told {told}: the program has a wrong name. Build it again.")
    if len(runs) > 1 or run.ranks != spec.ranks:
        raise DataError(
            f"NPB printed {len(runs)} results of {run.ranks} ranks instead of one of {spec.ranks}: the launcher and "
            "the program use different MPI libraries, or it left ranks out. Build it with the launcher's library."
        )
    if run.options["threads"] not in (options.threads, None):
        raise DataError(
            f"NPB ran with {run.options['threads']} threads, but threads={options.threads}. Remove OMP_NUM_THREADS "
            "from the environment of the point, and build the program with OpenMP."
        )
    if not run.verified:
        raise DataError(
            f"NPB's check of {options.kernel} did not pass: Verification is not SUCCESSFUL. This machine, the compiler "
            "or its MPI computes wrongly. Run it again, and build it with less optimisation (FLAGS=-O1)."
        )
    return Parsed(reported=run.values, facts={"verified": True}, warnings=(*run.remarks, *run.doubts))
