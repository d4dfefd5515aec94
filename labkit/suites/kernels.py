"""Kernels of notebooks: a message ends them, and their connection file does not outlive its owner."""

from __future__ import annotations

import os
import queue
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop, run_sync

from labkit.io import project, scratch
from labkit.store import lease
from labkit.studies import Given

FOLDER = "labkit-kernel-"
ARGUMENTS = ("--log-level=ERROR",)
_PATIENCE = 20.0  # s for a kernel to forget a notebook
_FORGET = """
import warnings
from labkit.figures import looks
looks.forget()
with warnings.catch_warnings():
    pass  # what was warned of once is warned of again
get_ipython().reset(new_session=True)
"""


K = TypeVar("K", bound="NotInterrupted")


class NotInterrupted(AsyncKernelManager):
    """A kernel that gets no interrupt when it shall end.

    Jupyter's own manager sends SIGINT first. A kernel that has executed all cells then prints a traceback, although
    nothing is wrong.
    """

    async def _async_interrupt_kernel(self) -> None:
        if not self.shutting_down:
            await super()._async_interrupt_kernel()


def variables(given: Given) -> dict[str, str]:
    """Return the environment of a run's kernel: the run's settings for the study, and the shared leases."""
    return given.variables() | lease.shared()


@contextmanager
def prepared(kind: type[K], environment: Mapping[str, str]) -> Iterator[type[K]]:
    """Give a class of kernels whose connection file lies in a temporary folder; remove the folder at the end.

    Parameters
    ----------
    environment : what a kernel gets beside the environment of this process.
    """
    with scratch.folder(FOLDER) as folder:
        yield _in(folder, kind, environment)


def _in(folder: Path, kind: type[K], environment: Mapping[str, str]) -> type[K]:
    class Prepared(kind):  # type: ignore[valid-type,misc]
        def _connection_file_default(self) -> str:
            return str(folder / "kernel.json")

        async def _async_pre_start_kernel(self, **options: Any) -> Any:
            options["env"] = {**(options.get("env") or os.environ), **environment}
            return await super()._async_pre_start_kernel(**options)

    return Prepared


class Kept(NotInterrupted):
    """A kernel that runs several notebooks, each as if it were the first."""

    _client: Any = None

    def client(self, **facts: Any) -> Any:
        """Return a new client, and remember it, because running a notebook leaves its channels open."""
        self._client = super().client(**facts)
        return self._client

    def clear(self) -> bool:
        """Make the kernel forget the last notebook; return whether it can run another."""
        if self._client is None or not self.has_kernel:
            return False
        try:
            return bool(run_sync(_forgotten)(self._client))
        except (TimeoutError, RuntimeError, OSError, queue.Empty):
            return False
        finally:
            self._client.stop_channels()
            self._client = None

    def end(self) -> None:
        """End the kernel."""
        with suppress(RuntimeError, OSError):
            run_sync(_ended)(self)


async def _forgotten(client: Any) -> bool:
    """Make the kernel of a client forget what it executed; return whether it does."""
    reply = await client.execute(_FORGET, silent=True, reply=True, timeout=_PATIENCE)
    return bool(reply["content"]["status"] == "ok")


async def _started(manager: AsyncKernelManager) -> None:
    """Start a kernel in the project's folder.

    papermill would change the working folder of this process, which threads share.
    """
    await manager.start_kernel(cwd=str(project.home()), extra_arguments=list(ARGUMENTS))


async def _ended(manager: AsyncKernelManager) -> None:
    """End a kernel."""
    if manager.has_kernel:
        await manager.shutdown_kernel(now=True)


def close_loop() -> None:
    """Close the event loop that jupyter_client made for a thread which ends."""
    ensure_event_loop().close()


@contextmanager
def kept(environment: Mapping[str, str]) -> Iterator[Kept]:
    """Give a kernel that runs several notebooks, and end it.

    It listens on sockets in its own folder: two that start at once would take the same port now and then.

    Parameters
    ----------
    environment : what it gets beside the environment of this process.
    """
    with prepared(Kept, environment) as kind:
        kernel = kind(kernel_name="python3", transport="ipc")
        kernel.ip = kernel.connection_file.removesuffix(".json")
        run_sync(_started)(kernel)
        try:
            yield kernel
        finally:
            kernel.end()
