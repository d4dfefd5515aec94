"""mdtest: all ranks create, look at, open and remove files or directories. It comes with IOR; Debian has none."""

from __future__ import annotations

import shutil
from pathlib import Path

from labkit.errors import DataError
from labkit.formats import mdtest as layout
from labkit.kernels import programs
from labkit.options.storage import Mdtest
from labkit.point.spec import Effort, Spec
from labkit.point.storage import Access
from labkit.tools import Invocation, Parsed, Tool, _linked, fit, ior

TOOL = Tool(
    name="mdtest",
    commands=("mdtest",),
    read_version=lambda: _linked.written(programs.original("ior", "mdtest"), ior.VERSION) or "unknown",
    find_path=lambda: shutil.which(programs.original("ior", "mdtest")) or "",
    install=ior.TOOL.install,
    programs=("mdtest",),
    format=layout,
    purpose="storage.mdtest",
    instead="storage.metadata needs no mdtest",
)
_SLOWEST_PER_S = 200.0  # items of a rank to reckon with
_PHASES = 4
_INODE_B = 4096  # that an item takes, at most, beside its data


def operations(spec: Spec[Mdtest], effort: Effort) -> Invocation:
    """All phases of files or of directories; the spec says which of them is the result."""
    options, count = spec.options, effort.iterations or ior.REPETITIONS
    program = programs.original("ior", "mdtest")
    kind, folder = _linked.mpi(program)
    words = [program, "-n", str(options.items), "-i", str(count), "-d", "data"]
    words += [] if options.operation.startswith("tree") else ["-D" if "directory" in options.operation else "-F"]
    words += ["-u"] if options.unique else []
    words += ["-w", str(options.write_size), "-e", str(options.write_size)] if options.write_size else []
    words += ["-N", str(options.shift)] if options.shift else []
    access = Access(page_cache="answers and takes all that the file system keeps in memory", cached=True)
    seconds = count * _PHASES * options.items / _SLOWEST_PER_S + 1
    needs = options.items * spec.ranks * (options.write_size + _INODE_B)

    def parsed(text: str, folder: Path) -> Parsed:
        return parse(text, spec)

    return Invocation(
        tool=TOOL,
        needs=(program,),
        client=tuple(words),
        parse=parsed,
        mpi=kind,
        mpi_folder=folder,
        directory=options.directory,
        prepare=lambda where: fit(where, access, needs),
        definition="mdtest: items of all ranks over the time of the slowest; statistics over the iterations' rates.",
        duration=seconds,
        time_limit=seconds + effort.time_limit,
    )


def parse(text: str, spec: Spec[Mdtest]) -> Parsed:
    """Return the rates of the spec's operation.

    Raises
    ------
    DataError
        If it has none, or mdtest ran on another number of ranks.
    """
    runs = {run.options["operation"]: run for run in layout.LOG.runs(text, TOOL.name)}
    run = runs.get(spec.options.operation)
    if run is None:
        raise DataError(f"mdtest printed rates of {', '.join(map(str, runs))}, not of {spec.options.operation}.")
    if run.ranks != spec.ranks:
        raise DataError(
            f"mdtest ran on {run.ranks} ranks instead of {spec.ranks}: the launcher and mdtest use different MPI "
            "libraries. Put an mdtest that is linked to the launcher's library first on the PATH."
        )
    return Parsed(reported=run.values, warnings=run.remarks)
