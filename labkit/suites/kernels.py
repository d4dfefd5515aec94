"""Kernels of notebooks: a message ends them, and their connection file does not outlive its owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jupyter_client.manager import AsyncKernelManager

from labkit import scratch

FOLDER = "labkit-kernel-"


class NotInterrupted(AsyncKernelManager):
    """A kernel that gets no interrupt when it shall end.

    Jupyter's own manager sends SIGINT first. A kernel that has executed all cells then prints a traceback, although
    nothing is wrong.
    """

    async def _async_interrupt_kernel(self) -> None:
        if not self.shutting_down:
            await super()._async_interrupt_kernel()


@contextmanager
def connection_in_scratch() -> Iterator[type[NotInterrupted]]:
    """Give a class of kernels whose connection file lies in a temporary folder; remove the folder at the end."""
    with scratch.folder(FOLDER) as folder:
        yield _in(folder)


def _in(folder: Path) -> type[NotInterrupted]:
    class InFolder(NotInterrupted):
        def _connection_file_default(self) -> str:
            return str(folder / "kernel.json")

    return InFolder
