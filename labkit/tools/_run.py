"""Runs an invocation: folder, ports, server, client, and the end of all of them whatever happens."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from labkit import supervise
from labkit.errors import DataError, LaunchError, SpecError
from labkit.notes import Note, badge, note
from labkit.tools._clients import GRACE_S, outputs, written
from labkit.tools._invocation import Facts, Invocation, Outcome, Parsed
from labkit.tools._tool import version

_READY_S = 30.0  # until a server must listen; one in an emulated guest takes its time
_PORTS = 3  # attempts with fresh ports
_LISTENING = {"tcp": "0A", "udp": "07"}  # include/net/tcp_states.h; a UDP socket is "closed" while it is bound


@dataclass(frozen=True)
class Place:
    """Where server and client run, for testbeds that put them apart.

    Parameters
    ----------
    address : of the server as the client sees it; empty for the invocation's own.
    server, client : words before the command that run it there and become it, such as ``ip netns exec node0``.
    clients : the same for each of several clients; empty where all are at the place of `client`.
    server_words, client_words : what fills further placeholders of each end's command, such as ``{device}``.
    listens : whether the server listens, from protocol and port, where that cannot be read on this machine.
    loopback : whether the data stay in this machine; None to tell by the address.
    """

    address: str = ""
    server: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    clients: tuple[tuple[str, ...], ...] = ()
    server_words: Mapping[str, str] = field(default_factory=dict)
    client_words: Mapping[str, str] = field(default_factory=dict)
    listens: Callable[[str, int], bool] | None = None
    loopback: bool | None = None


def run(invocation: Invocation, *, place: Place | None = None, scratch: Path | None = None) -> Outcome:
    """Run an invocation in a folder of its own, which is gone afterwards.

    The server listens on a free port; whether it does is read from the kernel's table of sockets, for some servers
    (iperf3, qperf) take a connection made to try as their client. If it ends before it listens, a fresh port is tried.

    Parameters
    ----------
    invocation : from `available`.
    place : None for this machine.
    scratch : where the folder is made if the invocation names no directory; None for the system's place.

    Raises
    ------
    SpecError
        If the directory is not there or cannot serve.
    LaunchError
        If a program is missing, the server does not come up, the client does not end in time, or its output is not a
        result; with command, exit status and the end of stderr.
    """
    if invocation.missing:
        raise LaunchError(
            f"{invocation.tool} needs {', '.join(invocation.missing)}. Install Debian package {invocation.package}."
        )
    parent = Path(invocation.directory or scratch or tempfile.gettempdir())
    if not (parent.is_dir() and os.access(parent, os.W_OK)):
        raise SpecError(f"directory={str(parent)!r} is not a writable folder. Create it, or set another.")
    place = place or Place()
    with tempfile.TemporaryDirectory(prefix="labkit-", dir=parent) as name:
        folder = Path(name)
        facts = {**invocation.facts, **invocation.prepare(folder)}
        address, commands, source, parsed = _repeated(invocation, place, folder)
    loopback = address in ("127.0.0.1", "::1") if place.loopback is None else place.loopback
    return _outcome(invocation, facts, source, parsed, commands, address, loopback)


def _repeated(
    invocation: Invocation, place: Place, folder: Path
) -> tuple[str, tuple[tuple[str, ...], ...], str, Parsed]:
    """Run servers and clients until the output is a result, or no retry is left; a repetition is a warning.

    Returns
    -------
    Address of the server, the commands that ran, what the clients printed, and what that says.
    """
    refused: list[Note] = []
    while True:
        try:
            with contextlib.ExitStack() as stack:
                served, clients = [], []
                for number, own in enumerate(invocation.each):
                    words, server = stack.enter_context(_served(invocation, place, folder, own))
                    served += [server] if server else []
                    where = place.clients[number] if place.clients else place.client
                    clients.append((where, _filled(invocation.client, words | dict(place.client_words))))
                found = outputs(invocation, clients, folder, _environment())
            parsed = invocation.combine([one for _, one in found])
            commands = (*served, *((*where, *command) for where, command in clients))
            source = "\n".join(text for text, _ in found)
            return words["address"], commands, source, replace(parsed, warnings=(*parsed.warnings, *refused))
        except LaunchError as error:
            if not isinstance(error.__cause__, DataError) or len(refused) == invocation.retries:
                raise
            text = f"a run of {invocation.tool} was repeated, because it gave no result: {error.__cause__}"
            refused.append(note("repeated", text, tool=invocation.tool))


@contextlib.contextmanager
def background(invocation: Invocation, place: Place) -> Iterator[supervise.Tree]:
    """Have server and client of an invocation run until the end of the context, whatever they print; yields the client.

    Raises
    ------
    LaunchError
        If a program is missing, or the server does not come up.
    """
    if invocation.missing:
        raise LaunchError(
            f"{invocation.tool} needs {', '.join(invocation.missing)}. Install Debian package {invocation.package}."
        )
    with tempfile.TemporaryDirectory(prefix="labkit-") as name:
        folder = Path(name)
        with _served(invocation, place, folder, invocation.each[0]) as (words, _):
            command = (*place.client, *_filled(invocation.client, words | dict(place.client_words)))
            nowhere = supervise.DEVNULL
            with supervise.start(command, cwd=folder, env=_environment(), stdout=nowhere, grace=GRACE_S) as tree:
                yield tree


def _outcome(
    invocation: Invocation,
    facts: Facts,
    source: str,
    parsed: Parsed,
    commands: tuple[tuple[str, ...], ...],
    address: str,
    loopback: bool,
) -> Outcome:
    """Everything a run gave, in the shape of samples."""
    sampled = parsed.time_ns.size > 0
    badges = [*invocation.badges, *([badge("loopback")] if loopback else [])]
    if invocation.stands_in_for:
        badges.append(
            badge(
                f"{invocation.tool} stands in for {invocation.stands_in_for}",
                tool=invocation.tool,
                wanted=invocation.stands_in_for,
            )
        )
    if facts.get("filesystem") in ("tmpfs", "ramfs"):
        badges.append(badge("memory file system"))
    meta = {
        **facts,
        **parsed.facts,
        "definition": invocation.definition,
        "stands_in_for": invocation.stands_in_for,
        "address": address,
    }
    return Outcome(
        tool=invocation.tool,
        version=version(invocation.tool),
        time_ns=parsed.time_ns.reshape(1, -1) if sampled else np.empty((0, 0), np.int64),
        ranks=(0,) if sampled else (),
        reported=parsed.reported,
        extras={name: values.reshape(1, -1) for name, values in parsed.extras.items()} if sampled else {},
        source=source,
        commands=commands,
        warnings=(*invocation.warnings, *parsed.warnings),
        badges=tuple(badges),
        meta={name: value for name, value in meta.items() if value not in ("", None)},
    )


@contextlib.contextmanager
def _served(
    invocation: Invocation, place: Place, folder: Path, own: Mapping[str, str]
) -> Iterator[tuple[dict[str, str], tuple[str, ...]]]:
    """Have the server run, on ports that were free; yields what fills the commands, and the server's command."""
    words = {"address": place.address or invocation.address, **own}
    if not invocation.server:
        yield words, ()
        return
    for attempt in range(1, _PORTS + 1):
        ports = free_ports(words["address"], 2)
        words |= {"port": str(ports[0]), "data_port": str(ports[1])}
        command = (*place.server, *_filled(invocation.server, words | dict(place.server_words)))
        with (
            tempfile.TemporaryFile() as output,
            supervise.start(command, cwd=folder, env=_environment(), stdout=output, grace=GRACE_S) as tree,
        ):
            if _ready(tree, invocation, ports[0], place):
                yield words, command
                return
            status = tree.returncode
            tree.stop()
            said = f"{tree.stderr_text()}\n{written(output)}"
        if status is None or attempt == _PORTS:
            why = (
                f"did not listen within {_READY_S:g} s"
                if status is None
                else f"ended {attempt} times before it listened"
            )
            text = f"The server of {invocation.tool} {why}."
            raise LaunchError(text, command=command, exit_status=status, stderr=said)


def _ready(tree: supervise.Tree, invocation: Invocation, port: int, place: Place) -> bool:
    """Wait until the server listens on the port; False if it ends or time is over."""
    end = time.monotonic() + _READY_S
    while time.monotonic() < end and tree.poll() is None:
        if place.listens is not None:
            there = place.listens(invocation.listens, port)
        else:
            there = any(_listens(pid, invocation.listens, port) for pid in _family(tree.pid))
        if there:
            return True
        time.sleep(0.01)
    return False


def _family(pid: int) -> list[int]:
    """A process and all its descendants."""
    import psutil

    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


def _listens(pid: int, protocol: str, port: int) -> bool:
    """Whether this very process holds a socket that listens on the port, in its own network namespace."""
    with contextlib.suppress(OSError):
        held = {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}
        for table in (protocol, f"{protocol}6"):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                _, local, _, state, *rest = line.split()
                bound = state == _LISTENING[protocol] and int(local.rpartition(":")[2], 16) == port
                if bound and f"socket:[{rest[5]}]" in held:
                    return True
    return False


def free_ports(address: str, count: int) -> list[int]:
    """TCP ports that nobody listens on at this moment; of all addresses if this one is not this machine's."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(family, socket.SOCK_STREAM)) for _ in range(count)]
        for one in sockets:
            try:
                one.bind((address, 0))
            except OSError:
                one.bind(("", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def _filled(command: Sequence[str], words: dict[str, str]) -> tuple[str, ...]:
    """The command with its placeholders replaced; other braces are left alone."""
    filled = []
    for word in command:
        for name, value in words.items():
            word = word.replace("{" + name + "}", value)
        filled.append(word)
    return tuple(filled)


def _environment() -> dict[str, str]:
    """This process's environment, with numbers printed the way the parsers read them."""
    return {**os.environ, "LC_ALL": "C"}
