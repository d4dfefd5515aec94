"""Kernels of notebooks: ended by a message alone, with a connection file that does not outlive its owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jupyter_client.manager import AsyncKernelManager

from labkit import scratch

FOLDER = "labkit-kernel-"


class Quiet(AsyncKernelManager):
    """A kernel that is not interrupted when it shall end.

    Jupyter's own sends SIGINT first. A kernel that has executed all cells then prints a traceback of its own, though
    nothing is wrong.
    """

    async def _async_interrupt_kernel(self) -> None:
        if not self.shutting_down:
            await super()._async_interrupt_kernel()


@contextmanager
def kept() -> Iterator[type[Quiet]]:
    """Kind of kernel whose connection file lies in a folder of its own, as long as this lasts."""
    with scratch.folder(FOLDER) as folder:
        yield _in(folder)


def _in(folder: Path) -> type[Quiet]:
    class Own(Quiet):
        def _connection_file_default(self) -> str:
            return str(folder / "kernel.json")

    return Own
