"""labkit's RPC servers and clients (``labkit/kernels/programs/rpc_*``): command lines, payloads and samples."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from labkit.errors import SpecError
from labkit.formats import rpc_client as layout
from labkit.kernels import programs
from labkit.options.rpc import Bulk, Call, Clients, InFlight, Paced, Payload, Workers
from labkit.point.spec import Effort, Spec, has
from labkit.tools import _load, _servers, this_machine
from labkit.tools._invocation import Invocation, Parsed
from labkit.tools._tool import Tool

_SAMPLES = "samples"
_MOST = 500_000  # calls of a closed loop
_SKEW = (0.1, 0.3, 0.6)  # shares of small, medium and large buffers, biased towards large ones; not from the survey


def at_once(options: object) -> tuple[int, int, int]:
    """Return the clients, the servers that each calls, and the calls of a client to a server that are under way."""
    window = options.window if has(options, InFlight) else 1
    if has(options, Workers):
        return options.workers, options.servers, window
    return (options.clients if has(options, Clients) else 1), 1, window


def buffers(spec: Spec) -> list[int]:
    """Sizes of the buffers of a payload, B: one of the spec's size, or those of TF-gRPC-Bench's schemes.

    Small, medium and large buffers take turns (``uniform``), are drawn with equal chances (``random``), or have shares
    of 10, 30 and 60 % (``skew``).
    """
    options = spec.options
    if not has(options, Payload):
        return [spec.size]
    sizes, count = [options.small, options.medium, options.large], options.buffers
    if options.scheme == "uniform":
        return [sizes[k % 3] for k in range(count)]
    if options.scheme == "random":
        return random.Random(options.draw).choices(sizes, k=count)
    ends = [round(count * sum(_SKEW[: k + 1])) for k in range(3)]
    return [size for size, begin, end in zip(sizes, [0, *ends], ends, strict=False) for _ in range(end - begin)]


def program(name: str, package: str) -> str:
    """Path of a program, or what is missing if it was not built."""
    return str(programs.path(name)) if programs.path(name).exists() else programs.how(name, package)


def version(name: str) -> str:
    """Version of the library that a program is linked to; ``unknown`` if it was not built, or does not start."""
    if not programs.path(name).exists():
        return "unknown"
    done = subprocess.run([programs.path(name), "--version"], capture_output=True, text=True, timeout=20, check=False)
    found = re.search(r"\(.+ (\d+(?:\.\d+)+[\w.-]*)\)", done.stdout)
    return found[1] if found else "unknown"


def invocation(
    tool: Tool,
    spec: Spec[Call],
    effort: Effort,
    command: Sequence[str],
    both: Mapping[str, object],
    server: Mapping[str, object],
    *,
    system: str = "",
) -> Invocation:
    """A run of a client against servers of an RPC system.

    Parameters
    ----------
    tool : tool that calls.
    command : the program that is both server and client, with what precedes its arguments.
    both, server : further arguments of both ends, and of the server.
    system : system of calls; the tool's name if empty.

    Raises
    ------
    SpecError
        If the spec asks for another system.
    """
    if spec.options.system != (system := system or tool.name):
        raise SpecError(f"system={spec.options.system}, but this is {system}. Set system={system}.")
    options, unix = spec.options, spec.transport == "unix"
    clients, count, window = at_once(options)
    where = "unix:{socket}" if unix else "tcp:{address}:{port}"
    words = [*command, "server", *(f"{key}={value}" for key, value in {**both, **server}.items())]
    if count > 1:
        kind, own = ("unix", "unix:@socket@") if unix else ("tcp", "tcp:{address}:@port@")
        several = [sys.executable, "-I", "-S", _servers.__file__, str(count), kind, "{address}", "{port}", "{socket}"]
        words, where = [*several, *words, f"address={own}"], f"@{_servers.LIST}"
    else:
        words.append(f"address={where}")
    paced, bulk = options if has(options, Paced) else None, options if has(options, Bulk) else None
    rate = float(paced.rate) if paced else 0.0
    poisson = paced is not None and paced.arrivals == "poisson"
    seconds, limit, _ = _load.bounds(effort, rate, _MOST, poisson=poisson)
    sizes = buffers(spec)
    arguments: dict[str, object] = {
        "address": where,
        "buffers": ",".join(map(str, sizes)),
        "method": spec.options.method,
        "clients": clients,
        **({"window": window} if window > 1 else {}),
        **({"rate": repr(rate), "arrivals": paced.arrivals} if paced and rate else {}),
        "seconds": repr(seconds),
        "limit": limit,
        "seed": effort.seed,
        **both,
        "out": _SAMPLES,
    }
    if bulk and bulk.bulk_clients:
        arguments |= {"bulk_clients": bulk.bulk_clients, "bulk_buffers": bulk.bulk_size}

    def parsed(text: str, folder: Path) -> Parsed:
        file = folder / _SAMPLES
        found = layout.parse(text, file.read_bytes() if file.exists() else b"")
        doubts = _load.overload(found.due, found.start, found.unfinished, paced=rate > 0)
        times, work = (found.due, found.start, found.end), window * count
        facts = {"client": found.client}
        return _load.parsed(
            *times, facts, effort, paced=rate > 0, work=work, payload=found.payload, doubts=doubts, bulk=moved(found)
        )

    def moved(found: layout.Result) -> tuple[float, int]:
        return (found.bulk / found.bulk_s, bulk.bulk_size) if bulk and found.bulk_s else (0.0, 0)

    counted = "the moment when it was due" if rate else "its begin"
    what = "a call" if window * count == 1 else f"{window * count} calls that are under way at once"
    return Invocation(
        tool=tool,
        needs=(command[0],),
        server=tuple(words),
        client=(*command, "client", *(f"{key}={value}" for key, value in arguments.items())),
        listens="unix" if unix else "tcp",
        parse=parsed,
        address="" if unix else this_machine(spec),
        definition=f"labkit {Path(command[-1]).name}: time of {what}, from {counted} to the end of the last answer.",
        duration=seconds,
        time_limit=3 * seconds + effort.time_limit,
    )
