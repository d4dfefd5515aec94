"""Runs of tools whose servers labkit starts itself, and a socket between such a server and its clients."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from labkit import benchmarks, tools
from labkit.benchmarks import ToolBenchmark
from labkit.point.spec import Effort, Spec

SHORT = Effort(time_cap=0.3, time_limit=120)
SIZES = {"services.hdsearch": 512, "services.social_network": 256}  # B; 1000 of others that have a size
Change = Callable[[bytes, int], bytes]


def resolved(name: str, transport: str = "auto", size: int | None = None, **options: object) -> Spec:
    """A spec with all its options."""
    if size is None:
        size = SIZES.get(name, 1000) if benchmarks.get(name).sized else 0
    return benchmarks.resolve(Spec(benchmark=name, size=size, transport=transport, options=options))  # type: ignore[arg-type]


def job(name: str, effort: Effort = SHORT, transport: str = "auto", **options: object) -> tools.Invocation:
    """What the first tool that is installed would run."""
    benchmark = benchmarks.get(name)
    assert isinstance(benchmark, ToolBenchmark)
    return tools.available(benchmark.tools, resolved(name, transport, **options), effort)  # type: ignore[arg-type]


def run(name: str, effort: Effort = SHORT, transport: str = "auto", **options: object) -> tools.Outcome:
    """A run of it."""
    return tools.run(job(name, effort, transport, **options))


def same(data: bytes, number: int) -> bytes:
    return data


@contextmanager
def between(path: str, folder: Path, there: Change = same, back: Change = same) -> Iterator[str]:
    """A socket before a server; requests and answers pass through functions that get them and their number."""
    front = str(folder / "front.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(front)
        listener.listen()

        def relay(source: socket.socket, target: socket.socket, change: Change) -> None:
            number = 0
            with suppress(OSError):
                while data := source.recv(65536):
                    number += 1
                    target.sendall(change(data, number))
                target.shutdown(socket.SHUT_RDWR)

        def serve() -> None:
            near, _ = listener.accept()
            with near, socket.socket(socket.AF_UNIX) as far:
                far.connect(path)
                threading.Thread(target=relay, args=(near, far, there), daemon=True).start()
                relay(far, near, back)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield front
        thread.join(240)
