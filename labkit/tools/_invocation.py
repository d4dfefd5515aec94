"""One run of a tool (`Invocation`), and its result (`Outcome`)."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labkit.options import frozen
from labkit.point.notes import Note
from labkit.point.spec import Reported, Scalar
from labkit.tools._tool import Tool

Facts = Mapping[str, Scalar]


@frozen
class Parsed:
    """What a parser made of a tool's output.

    Parameters
    ----------
    reported : values the tool worked out.
    time_ns : (iterations,) int64, ns; empty if the tool keeps its samples to itself.
    extras : further columns, each (iterations,).
    warnings : doubts about them.
    facts : for the metadata.
    output : content of the tool's output file, if it has one, instead of its standard output.
    """

    reported: tuple[Reported, ...] = ()
    time_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    extras: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    warnings: tuple[Note, ...] = ()
    facts: Facts = field(default_factory=dict)
    output: str = ""


@frozen
class Invocation:
    """One run of a tool.

    In both commands ``{port}``, ``{data_port}``, ``{socket}`` (a Unix socket in the folder) and ``{address}`` stand for
    what `run` chooses, and ``{own_address}`` for the IPv4 address of that end, which multicast needs. In those of RDMA,
    ``{device}``, ``{gid}`` and ``{rdma_address}`` (of the server) represent what the place has at that end.

    Parameters
    ----------
    tool : what runs.
    needs : what must be on the PATH; empty for the programs of the tool.
    client : command line whose output is the result; started in a separate empty folder.
    server : command line of the other end; empty for none.
    listens : protocol in which the server listens on ``{port}`` when it is ready; ``unix`` for ``{socket}``.
    server_reports : whether the server ends after its client, and its output is the rest of the result.
    each : words that fill further placeholders of both commands, a mapping for each pair of server and client. Several
        pairs run at once, every server on its own ports, the clients from an agreed moment on. The word ``listens``
        replaces the field for one pair.
    parse : from the client's standard output and the folder to values; raises DataError.
    combine : from what `parse` made of each of several clients to one.
    environment : variables of both commands, beside this process's.
    threads : threads that each rank computes with; with several, a rank is bound to no core, unless the spec names a
        binding.
    mpi : kind of the MPI library that the program is linked to, as `labkit.run.launch` calls it; empty if none, or
        unknown.
    mpi_folder : folder of that library.
    libraries : further ones that the numbers depend on, with their versions.
    address : address of the server, on this machine; empty without one.
    directory : where the folder is made; empty for the system's place for temporary files.
    prepare : looks at the folder before anything starts; returns facts, raises SpecError.
    stands_in_for : the tool that is meant to do this; empty if it is this one.
    definition : what the numbers are, and how they differ from those of the tool stood in for.
    duration : s it is expected to take.
    time_limit : s after which it is ended.
    hangs : why it may never end, and what to do, as sentences; empty if it always ends.
    trial : s that a reported rate holds for, of a tool that reports the best of several trials: 0 if nobody knows; None
        for the whole run.
    retries : further runs when its output is refused with DataError, for tools that now and then print no numbers.
    badges, warnings : what could mislead.
    facts : for the metadata.
    """

    tool: Tool
    needs: tuple[str, ...] = ()
    client: tuple[str, ...]
    server: tuple[str, ...] = ()
    listens: Literal["tcp", "udp", "rdma_cm", "unix"] = "tcp"
    server_reports: bool = False
    each: tuple[Mapping[str, str], ...] = ({},)
    parse: Callable[[str, Path], Parsed]
    combine: Callable[[Sequence[Parsed]], Parsed] = lambda parts: parts[0]
    environment: Mapping[str, str] = field(default_factory=dict)
    threads: int = 1
    mpi: str = ""
    mpi_folder: str = ""
    libraries: tuple[str, ...] = ()
    address: str = ""
    directory: str = ""
    prepare: Callable[[Path], Facts] = lambda folder: {}
    stands_in_for: str = ""
    definition: str
    duration: float
    time_limit: float
    hangs: str = ""
    trial: float | None = None
    retries: int = 0
    badges: tuple[Note, ...] = ()
    warnings: tuple[Note, ...] = ()
    facts: Facts = field(default_factory=dict)

    @property
    def programs(self) -> tuple[str, ...]:
        """What must be on the PATH."""
        return self.needs or self.tool.programs

    @property
    def missing(self) -> list[str]:
        """Programs that are not on the PATH."""
        return [name for name in self.programs if shutil.which(name) is None]


@frozen
class Outcome:
    """The result of one run of a tool; the fields are those of `labkit.store.samples.Samples`.

    Parameters
    ----------
    version : version of the tool.
    time_ns : (1, iterations) int64, ns, or (0, 0).
    ranks : rank of each row of `time_ns`.
    reported : values the tool worked out.
    extras : further columns, each (1, iterations).
    source : what the client printed, untouched; of several one after the other.
    commands : each command line that ran, servers first.
    trial : as in `Invocation`.
    warnings, badges, meta : for the metadata.
    """

    version: str
    time_ns: NDArray[np.int64]
    ranks: tuple[int, ...]
    reported: tuple[Reported, ...]
    extras: Mapping[str, NDArray[np.int64]]
    source: str
    commands: tuple[tuple[str, ...], ...]
    trial: float | None = None
    warnings: tuple[Note, ...] = ()
    badges: tuple[Note, ...] = ()
    meta: Facts = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The commands as a shell would take them: server in the background."""
        return " & ".join(shlex.join(command) for command in self.commands)

    @property
    def origin(self) -> str:
        """``measured`` with samples, else ``reported``."""
        return "measured" if self.time_ns.size else "reported"
