"""Run an invocation: make its folder, choose ports, start server and clients, and end all of them in any case."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import numpy as np

from labkit.errors import DataError, LaunchError, SpecError
from labkit.formats.reading import lines, log
from labkit.io import supervise
from labkit.io.scratch import folder as owned_folder
from labkit.io.supervise import leftovers
from labkit.point import storage
from labkit.point.notes import Note, badge, note
from labkit.tools._invocation import Facts, Invocation, Outcome, Parsed
from labkit.tools._tool import version

_GRACE_S = 1.0
_TAIL_B = 4000
_LEAD_S, _EACH_S = 0.3, 0.1  # until all clients wait for the agreed moment; an interpreter starts for each
# Waits for the agreed moment, then becomes the client. The cap is for a guest whose clock lies behind this machine's.
_AT = (
    "import os, sys, time; time.sleep(max(0.0, min(float(sys.argv[2]), float(sys.argv[1]) - time.time()))); "
    "os.execvp(sys.argv[3], sys.argv[3:])"
)
_READY_S = 30.0  # until a server must listen; one in an emulated guest takes its time
_REPORT_S = 10.0  # after its client, until a server that reports must end
_PORTS = 3  # attempts with fresh ports
_SOCKET = "server.sock"
_ACCEPTS = "00010000"  # net/unix: flags of a socket that listens
_LISTENING = {"tcp": "0A", "udp": "07"}  # include/net/tcp_states.h; a UDP socket is "closed" while it is bound


@dataclass(frozen=True)
class Place:
    """Where server and client run, for testbeds that put them apart.

    Parameters
    ----------
    address : address of the server as the client sees it; empty for the invocation's own.
    server, client : words before the command that run it there and become it, such as ``ip netns exec node0``.
    clients : the same for each of several clients; empty if all are at the place of `client`.
    server_words, client_words : what fills further placeholders of each end's command, such as ``{device}``.
    listens : whether the server listens, from protocol and port, if that cannot be read on this machine.
    loopback : whether the data stay in this machine; None to tell by the address.
    own_files : whether the hosts may have their own file systems, so that the folder of a run must be shared.
    lead : additional time to start several clients there, compared with this machine, s.
    """

    address: str = ""
    server: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    clients: tuple[tuple[str, ...], ...] = ()
    server_words: Mapping[str, str] = field(default_factory=dict)
    client_words: Mapping[str, str] = field(default_factory=dict)
    listens: Callable[[str, int], bool] | None = None
    loopback: bool | None = None
    own_files: bool = False
    lead: float = 0.0


def run(invocation: Invocation, *, place: Place | None = None, scratch: Path | None = None) -> Outcome:
    """Run an invocation in its own folder, which is deleted afterwards.

    The server listens on a free port. labkit reads from the kernel's table of sockets whether it does: some servers
    (iperf3, qperf) take a trial connection for their client. If the server ends before it listens, labkit tries a
    fresh port.

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
    _refuse_missing(invocation)
    parent = Path(invocation.directory or scratch or tempfile.gettempdir())
    if not (parent.is_dir() and os.access(parent, os.W_OK)):
        raise SpecError(f"directory={str(parent)!r} is not a writable folder. Create it, or set another.")
    place = place or Place()
    with owned_folder(leftovers.RUNS, parent) as folder:
        facts = {**invocation.facts, **invocation.prepare(folder)}
        address, commands, source, parsed = _repeated(invocation, place, folder)
    loopback = address in ("127.0.0.1", "::1") if place.loopback is None else place.loopback
    return _outcome(invocation, facts, source, parsed, commands, address, loopback)


def _repeated(
    invocation: Invocation, place: Place, folder: Path
) -> tuple[str, tuple[tuple[str, ...], ...], str, Parsed]:
    """Run servers and clients until the output is a result or no retry remains; add a warning for each repetition.

    Returns
    -------
    Address of the server, the commands that ran, what the clients printed, and the parsed result.
    """
    refused: list[Note] = []
    while True:
        try:
            with contextlib.ExitStack() as stack:
                served, clients = [], []
                for number, placeholders in enumerate(invocation.each):
                    words, server, said = stack.enter_context(_served(invocation, place, folder, placeholders))
                    if server:
                        served.append(server)
                    where = place.clients[number] if place.clients else place.client
                    clients.append((where, _filled(invocation.client, words | dict(place.client_words)), said))
                results = _outputs(invocation, clients, folder, _environment(invocation), place.lead)
            parsed = invocation.combine([part for _, part in results])
            commands = (*served, *((*where, *command) for where, command, _ in clients))
            source = "\n".join(text for text, _ in results)
            return words["address"], commands, source, replace(parsed, warnings=(*parsed.warnings, *refused))
        except LaunchError as error:
            if not isinstance(error.__cause__, DataError) or len(refused) == invocation.retries:
                raise
            text = f"a run of {invocation.tool.name} was repeated, because it gave no result: {error.__cause__}"
            refused.append(note("repeated", text, tool=invocation.tool.name))


def _outputs(
    invocation: Invocation,
    commands: Sequence[tuple[tuple[str, ...], tuple[str, ...], Callable[[], str]]],
    folder: Path,
    environment: dict[str, str],
    lead: float,
) -> list[tuple[str, Parsed]]:
    """Run all clients from an agreed moment on; return what each printed, and the parsed result.

    Parameters
    ----------
    commands : for each client, the words before its command that run it on its host, its command line, and what
        returns the server's part of the result.
    lead : as in `Place`.

    Raises
    ------
    LaunchError
        If one does not end in time, or its output is not a result.
    """
    lead += _LEAD_S + _EACH_S * len(commands)
    wait = (sys.executable, "-I", "-S", "-c", _AT, repr(time.time() + lead), repr(lead)) if len(commands) > 1 else ()
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in commands]
        trees = [
            stack.enter_context(
                supervise.start((*where, *wait, *command), cwd=folder, env=environment, stdout=file, grace=_GRACE_S)
            )
            for (where, command, _), file in zip(commands, files, strict=True)
        ]
        end = time.monotonic() + invocation.time_limit + (lead if wait else 0.0)
        statuses = [tree.wait(max(end - time.monotonic(), 0.0)) for tree in trees]
        for tree in trees:
            tree.stop()
        return [
            _read(invocation, (*where, *command), file, tree, status, folder, said)
            for (where, command, said), file, tree, status in zip(commands, files, trees, statuses, strict=True)
        ]


def _read(
    invocation: Invocation,
    command: tuple[str, ...],
    file: IO[bytes],
    tree: supervise.Tree,
    status: int | None,
    folder: Path,
    said: Callable[[], str],
) -> tuple[str, Parsed]:
    """Return what one client printed, its server's part of the result after it, and the parsed result."""
    source = _written(file)
    if status is None:
        advice = (
            invocation.hangs or "Set a longer time limit (--time-limit; in a notebook time_limit), or request less."
        )
        raise LaunchError(
            f"{invocation.tool.name} did not finish within {invocation.time_limit:g} s, so labkit killed it; the run "
            f"takes {invocation.duration:g} s. {advice}",
            command=command,
            stderr=tree.stderr_text(),
        )
    source += said()
    try:
        parsed = invocation.parse(source, folder)
        return parsed.output or source, parsed
    except (DataError, OSError) as error:
        full = storage.full(folder)
        stderr, why = tree.stderr_text() or ("" if full else source[-_TAIL_B:]), full or _reason(error)
        raise LaunchError(
            f"{invocation.tool.name} gave no result. {why}", command=command, exit_status=status, stderr=stderr
        ) from error


def _reason(error: Exception) -> str:
    """Return what is wrong with a tool's output; the advice for files that users import does not help here."""
    text = str(error)
    for advice in (lines.REMEDY, log.REMEDY):
        if text.endswith(advice):
            return f"{text.removesuffix(advice)}Read the output below: it ended early, or another program has its name."
    return text


def _written(file: IO[bytes]) -> str:
    """Return everything in a file that a program wrote."""
    file.seek(0)
    return file.read().decode(errors="replace")


def _refuse_missing(invocation: Invocation) -> None:
    """Refuse a run whose programs are not on the PATH."""
    tool, missing = invocation.tool, ", ".join(invocation.missing)
    if missing:
        raise LaunchError(f"{tool.name} needs {missing}. Install Debian package {tool.package}.")


@contextlib.contextmanager
def background(invocation: Invocation, place: Place) -> Iterator[supervise.Tree]:
    """Run server and client of an invocation until the end of the context, whatever they print; yield the client.

    Raises
    ------
    LaunchError
        If a program is missing, or the server does not come up.
    """
    _refuse_missing(invocation)
    with (
        owned_folder("labkit-served-") as folder,
        _served(invocation, place, folder, invocation.each[0]) as (words, *_),
    ):
        command = (*place.client, *_filled(invocation.client, words | dict(place.client_words)))
        nowhere = supervise.DEVNULL
        with supervise.start(command, cwd=folder, env=_environment(invocation), stdout=nowhere, grace=_GRACE_S) as tree:
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
    """Make the outcome of a run, with the fields of samples."""
    sampled = parsed.time_ns.size > 0
    badges = [*invocation.badges, *([badge("loopback")] if loopback else [])]
    if invocation.stands_in_for:
        badges.append(
            badge(
                f"{invocation.tool.name} stands in for {invocation.stands_in_for}",
                tool=invocation.tool.name,
                wanted=invocation.stands_in_for,
            )
        )
    badges += storage.badges(facts)
    meta = {
        **facts,
        **parsed.facts,
        "definition": invocation.definition,
        "stands_in_for": invocation.stands_in_for,
        "address": address,
    }
    return Outcome(
        version=version(invocation.tool.name),
        time_ns=parsed.time_ns.reshape(1, -1) if sampled else np.empty((0, 0), np.int64),
        ranks=(0,) if sampled else (),
        reported=parsed.reported,
        extras={name: values.reshape(1, -1) for name, values in parsed.extras.items()} if sampled else {},
        source=source,
        commands=commands,
        trial=invocation.trial,
        warnings=(*invocation.warnings, *parsed.warnings),
        badges=tuple(badges),
        meta={name: value for name, value in meta.items() if value not in ("", None)},
    )


@contextlib.contextmanager
def _served(
    invocation: Invocation, place: Place, folder: Path, placeholders: Mapping[str, str]
) -> Iterator[tuple[dict[str, str], tuple[str, ...], Callable[[], str]]]:
    """Run the server on free ports.

    Yields
    ------
    Values for the commands' placeholders, the server's command, and what returns its part of the result.
    """
    words = {"address": place.address or invocation.address, "own_address": invocation.address, **placeholders}
    if not invocation.server:
        yield words, (), str
        return
    for attempt in range(1, _PORTS + 1):
        ports = free_ports(words["address"], 2)
        words |= {"port": str(ports[0]), "data_port": str(ports[1]), "socket": _SOCKET}
        command = (*place.server, *_filled(invocation.server, words | dict(place.server_words)))
        with (
            tempfile.TemporaryFile() as output,
            supervise.start(command, cwd=folder, env=_environment(invocation), stdout=output, grace=_GRACE_S) as tree,
        ):
            if _ready(tree, words.get("listens", invocation.listens), ports[0], place):
                yield words, command, lambda: _report(tree, output) if invocation.server_reports else ""
                return
            status = tree.returncode
            tree.stop()
            stderr = f"{tree.stderr_text()}\n{_written(output)}"
        if status is None or attempt == _PORTS:
            why = (
                f"did not listen within {_READY_S:g} s"
                if status is None
                else f"ended {attempt} times before it listened"
            )
            text = f"The server of {invocation.tool.name} {why}."
            raise LaunchError(text, command=command, exit_status=status, stderr=stderr)


def _report(tree: supervise.Tree, output: IO[bytes]) -> str:
    """Return what a server printed until it ended, or until its client has waited long enough for that."""
    tree.wait(_REPORT_S)
    return _written(output)


def _ready(tree: supervise.Tree, protocol: str, port: int, place: Place) -> bool:
    """Wait until the server listens on the port; False if it ends or time is over."""
    end = time.monotonic() + _READY_S
    while time.monotonic() < end and tree.poll() is None:
        if place.listens is not None:
            listening = place.listens(protocol, port)
        else:
            listening = any(_listens(pid, protocol, port) for pid in _family(tree.pid))
        if listening:
            return True
        time.sleep(0.01)
    return False


def _family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    import psutil  # 0.02 s

    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


def _listens(pid: int, protocol: str, port: int) -> bool:
    """Whether this very process holds a socket that listens on the port, in its own network namespace."""
    with contextlib.suppress(OSError):
        sockets = {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}
        if protocol == "unix":
            rows = [line.split() for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]]
            return any(row[3] == _ACCEPTS and row[7:] == [_SOCKET] and f"socket:[{row[6]}]" in sockets for row in rows)
        for table in (protocol, f"{protocol}6"):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                _, local, _, state, *rest = line.split()
                bound = state == _LISTENING[protocol] and int(local.rpartition(":")[2], 16) == port
                if bound and f"socket:[{rest[5]}]" in sockets:
                    return True
    return False


def free_ports(address: str, count: int) -> list[int]:
    """Return TCP ports on which nothing listens now; of all addresses if `address` is not this machine's."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(family, socket.SOCK_STREAM)) for _ in range(count)]
        for sock in sockets:
            try:
                sock.bind((address, 0))
            except OSError:
                sock.bind(("", 0))
        return [int(sock.getsockname()[1]) for sock in sockets]


def _filled(command: Sequence[str], words: dict[str, str]) -> tuple[str, ...]:
    """Return the command with its placeholders replaced; other braces stay."""
    filled = []
    for word in command:
        for name, value in words.items():
            word = word.replace("{" + name + "}", value)
        filled.append(word)
    return tuple(filled)


def _environment(invocation: Invocation) -> dict[str, str]:
    """Return the environment of an invocation; LC_ALL=C, so that tools print numbers as the parsers read them."""
    return {**os.environ, **invocation.environment, "LC_ALL": "C"}
