"""The Jupyter kernel of `labkit explore`: it loads and reads while JupyterLab begins, and has the page when it starts.

    python -m labkit.explorer.kernel FOLDER [CONNECTION_FILE]

Without a connection file it waits for that of `attach.py`, which the server starts as its kernel. The page is a widget
of a fixed name (`MODEL`), so that a notebook can show it before it exists: the browser loads JupyterLab meanwhile, and
asks the kernel for its widgets once the kernel has made them all.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MODEL = "b1e2d0c49a5f4f0e8d3c7a6b5e4f3021"  # name of the page among the kernel's widgets
SOCKET, OPENED, FAILED = "kernel", "opened", "failed"  # files in a server's folder
NAME = "python3"  # of the kernel, as in the notebook


def described(folder: Path) -> None:
    """Describe the kernel to a server that has `folder` in its JUPYTER_PATH."""
    home = folder / "kernels" / NAME
    home.mkdir(parents=True)
    argv = [sys.executable, "-S", str(Path(__file__).with_name("attach.py")), str(folder), "{connection_file}"]
    words = {"argv": argv, "display_name": "Python 3", "language": "python", "interrupt_mode": "message"}
    (home / "kernel.json").write_text(json.dumps(words))


def notebook(source: Path) -> str:
    """Text of a notebook whose only cell has the page as its output."""
    book = json.loads(source.read_text())
    (cell,) = book["cells"]
    view = {"version_major": 2, "version_minor": 0, "model_id": MODEL}
    data = {"application/vnd.jupyter.widget-view+json": view, "text/plain": ["the Explorer"]}
    cell["outputs"] = [{"output_type": "execute_result", "execution_count": 1, "data": data, "metadata": {}}]
    cell["execution_count"] = 1
    return json.dumps(book, indent=1)


def main(folder: Path, connection: str = "") -> None:
    """Run a kernel until the server ends it."""
    waiting = _listening(folder) if not connection else None
    with _without_nbformat():
        from labkit import explorer

        explorer.prepare()
    if waiting is not None:
        connection = _attached(waiting)
    import ipywidgets
    from ipykernel.kernelapp import IPKernelApp
    from tornado.ioloop import IOLoop

    app: Any = IPKernelApp.instance()
    app.initialize(["-f", connection])
    ipywidgets.register_comm_target()  # else done when it is loaded in a kernel

    def begin() -> None:
        try:
            explorer.open(model=MODEL)
        except Exception as error:
            _tell(folder, FAILED, str(error))
            raise
        _tell(folder, OPENED, "")

    IOLoop.current().add_callback(begin)  # in the loop, before any message
    app.start()


def _tell(folder: Path, name: str, text: str) -> None:
    """Write a file that appears whole."""
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").replace(folder / name)


def _listening(folder: Path) -> socket.socket:
    """Listen in a folder; its name may be too long for a socket's."""
    before, made = Path.cwd(), socket.socket(socket.AF_UNIX)
    os.chdir(folder)
    try:
        made.bind(SOCKET)
    finally:
        os.chdir(before)
    made.listen(1)
    return made


def _attached(waiting: socket.socket) -> str:
    """Wait for the connection file of the server's kernel, and end with that kernel's process."""
    channel, _ = waiting.accept()
    waiting.close()  # another kernel is a process of its own
    words = b""
    while not words.endswith(b"\n"):
        more = channel.recv(4096)
        if not more:
            raise SystemExit("The server gave this kernel up before it began.")
        words += more

    def watch() -> None:
        channel.recv(1)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    return words.decode().strip()


@contextmanager
def _without_nbformat() -> Iterator[None]:
    """Hide nbformat: plotly loads it, for half a second, to show figures in a way that the page does not use."""
    hidden = "nbformat" not in sys.modules
    if hidden:
        sys.modules["nbformat"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if hidden:
            del sys.modules["nbformat"]


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
