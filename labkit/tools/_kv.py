"""labkit's client of key-value stores (``labkit/kernels/programs/kv_client.c``): its command line and its samples."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from labkit.errors import SpecError
from labkit.formats import kv_client as layout
from labkit.formats import ycsb
from labkit.kernels import programs
from labkit.options.kv import Loop, OpenLoop
from labkit.point.notes import Note, note
from labkit.point.spec import Effort, Scalar, Spec
from labkit.tools import _load, _servers, this_machine
from labkit.tools._invocation import Invocation, Parsed
from labkit.tools._tool import Tool

FIELDS = 10
_SAMPLES = "samples"
_MOST = 500_000  # operations of a closed loop
ABSENT = programs.how("kv_client", "a C compiler")
_LOADED_PER_S = 2000  # records at least, over a slow link


def invocation(
    tool: Tool, spec: Spec[Loop], effort: Effort, server: Sequence[str], paced: OpenLoop | None = None
) -> Invocation:
    """A run of the client against servers of a store.

    Parameters
    ----------
    tool : the store.
    server : its command line; ``@port@`` and ``@socket@`` represent where one of several listens.
    paced : the spec's options if operations are due at their rate.

    Raises
    ------
    SpecError
        If the spec asks for another store.
    """
    if spec.options.store != tool.name:
        raise SpecError(f"store={spec.options.store}, but this is {tool.name}. Set store={tool.name}.")
    count, unix = spec.options.servers, spec.transport == "unix"
    where = "unix:{socket}" if unix else "tcp:{address}:{port}"
    if count > 1:
        kind = "unix" if unix else "tcp"
        words = [sys.executable, "-I", "-S", _servers.__file__, str(count), kind, "{address}", "{port}", "{socket}"]
        server, where = [*words, *server], f"@{_servers.LIST}"
    else:
        server = [word.replace("@port@", "{port}").replace("@socket@", "{socket}") for word in server]
    arguments, seconds = _arguments(spec, effort, paced)
    load = spec.options.records / _LOADED_PER_S
    client = program()

    def parsed(text: str, folder: Path) -> Parsed:
        return _parsed(text, folder, effort, paced=paced is not None)

    counted = "from the moment when it was due" if paced else "from its first request"
    return Invocation(
        tool=tool,
        needs=(*tool.programs, client),
        server=tuple(server),
        client=(client, f"store={spec.options.store}", f"address={where}", *arguments, f"out={_SAMPLES}"),
        listens="unix" if unix else "tcp",
        parse=parsed,
        address="" if unix else this_machine(spec),
        definition=f"labkit kv_client, YCSB workload {spec.options.workload}: time of an operation {counted} to the "
        "end of its last answer.",
        duration=seconds + load,
        time_limit=3 * seconds + load + effort.time_limit,
    )


def _arguments(spec: Spec[Loop], effort: Effort, paced: OpenLoop | None) -> tuple[list[str], float]:
    """Arguments of the client, and the time of the run, s."""
    shares, distribution = ycsb.WORKLOADS[spec.options.workload]
    if spec.options.distribution != "auto":
        distribution = spec.options.distribution
    given: dict[str, Scalar] = {}
    if paced:
        given = {"rate": repr(float(paced.rate)), "arrivals": paced.arrivals}
    rate, poisson = (float(paced.rate), paced.arrivals == "poisson") if paced else (0.0, False)
    seconds, limit, expected = _load.bounds(effort, rate, _MOST, poisson=poisson)
    given |= {
        **shares,
        "distribution": distribution,
        "records": spec.options.records,
        "operations": expected or spec.options.records,
        "fields": FIELDS,
        "field_size": spec.size // FIELDS,
        "clients": spec.options.clients,
        "seconds": repr(seconds),
        "limit": limit,
        "seed": effort.seed,
    }
    return [f"{name}={value}" for name, value in given.items()], seconds


def _parsed(text: str, folder: Path, effort: Effort, *, paced: bool) -> Parsed:
    """Samples of a run, sorted by the due time of the operations.

    Raises
    ------
    DataError
        If the client's output is not a result, or no operation came after the warm-up.
    """
    file = folder / _SAMPLES
    found = layout.parse(text, file.read_bytes() if file.exists() else b"")
    doubts, done = list[Note](), len(found.end)
    if found.missing:
        text = f"{found.missing} of {done} operations did not find their key: the store has dropped records."
        doubts.append(note("missing-keys", text, missing=found.missing, done=done))
    doubts += _load.overload(found.due, found.start, found.unfinished, paced=paced)
    extras = {"operation": found.operation, "client": found.client}
    times = found.due, found.start, found.end
    return _load.parsed(*times, extras, effort, paced=paced, payload=found.payload, doubts=doubts)


def program() -> str:
    """Path of the client, or what is missing if it was not built."""
    path = programs.path("kv_client")
    return str(path) if path.exists() else ABSENT
