"""Run JupyterLab with the Explorer: on this machine only, with a token, and executed before the page opens."""

from __future__ import annotations

import importlib
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from labkit import campaign, extras, outside, project, scratch, supervise
from labkit.errors import LaunchError, ReportError
from labkit.explorer import CAMPAIGN, VIEW, schemas, shown

NOTEBOOK = project.NOTEBOOKS / "explorer.ipynb"
SETTINGS = project.SHIPPED / "templates" / "jupyter"
FOLDER = "labkit-explore-"  # begins the name of a server's folder
_JUPYTERLAB = f"{schemas.HIDE}; from jupyterlab.labapp import main; sys.exit(main())"
# parts of the server that the page does not use; those of editors look for programs by means of npm
_LESS = ("--ServerApp.jpserver_extensions=jupyter_server_terminals=False", "--LanguageServerManager.autodetect=False")
BEGINS = 60.0  # s within which the server must answer
RUNS = 120.0  # s within which the cells must end


def environment() -> dict[str, str]:
    """Variables for JupyterLab: its buttons work after a reload, notebooks are shown as prose, and it reads no news."""
    return os.environ | {name: _before(name) for name in ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH")}


def _before(name: str) -> str:
    """Folders of a variable, after that of labkit's settings and extensions."""
    return os.pathsep.join([str(SETTINGS), *filter(None, [os.environ.get(name, "")])])


def command(folder: Path, words: Sequence[str]) -> list[str]:
    """Command line of JupyterLab on a folder, with further words for it."""
    root = ["--allow-root"] if os.geteuid() == 0 else []
    return [sys.executable, "-c", _JUPYTERLAB, "--ip=127.0.0.1", *root, f"--ServerApp.root_dir={folder}", *words]


def jupyter(folder: Path, words: Sequence[str]) -> int:
    """Run JupyterLab on a folder until it ends; it ends with this process in any case.

    Parameters
    ----------
    words : further ones for JupyterLab.

    Returns
    -------
    Its exit status.
    """
    extras.need("jupyterlab")
    with (
        _ended_by_signals(),
        supervise.start(command(folder, words), env=environment(), stdout=None, stderr=None, grace=4.0) as tree,
    ):
        try:
            while tree.poll() is None:
                time.sleep(0.3)
        except KeyboardInterrupt:
            return 0
        return int(tree.returncode or 0)


def explore(campaigns: Sequence[str], words: Sequence[str], say: Callable[[str], None], *, view: str = "") -> int:
    """Open the Explorer, and return when it ends.

    Parameters
    ----------
    campaigns : shown at the start.
    words : further ones for JupyterLab.
    say : called with its address at once, and with what it waits for until the page can be used.
    view : shown at the start: a saved one, by its name or file.

    Raises
    ------
    DataError
        If there is no such campaign.
    LaunchError, ReportError
        If the server does not start, or the notebook does not run.
    """
    extras.need("jupyterlab", "ipywidgets", "anywidget", "nbformat", "plotly")
    began, token = time.monotonic(), secrets.token_hex(24)
    names = os.pathsep.join(shown(name) for name in campaigns)
    variables = {CAMPAIGN: names, VIEW: _saved(view)}
    if not any(word.startswith(("--port", "--ServerApp", "--LabApp")) for word in words):
        port = _free_port()
        words = [*words, f"--port={port}", "--ServerApp.port_retries=0"]
        say(f"the Explorer comes up at\n\n    {_page(f'http://127.0.0.1:{port}/', token)}\n")
    with _ended_by_signals(), served(words, variables, token=token, tell=say) as (tree, url, token):
        page = _page(url, token)
        waited = f"after {time.monotonic() - began:.1f} s"
        say(f"the Explorer is ready {waited} at\n\n    {page}\n\nStop it with Ctrl-C; this also stops its runs.")
        if "--no-browser" not in words:
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
        while tree.poll() is None:
            time.sleep(0.3)
        return int(tree.returncode or 0)


def _page(url: str, token: str) -> str:
    """Address of the page."""
    return f"{url}doc/tree/{NOTEBOOK.name}?token={token}"


def _saved(view: str) -> str:
    """A saved view by its name or the whole path of its file; the server's kernel works in another folder."""
    from labkit.explorer import state

    if view:
        state.load(view)
    return str(outside.resolved(Path(view))) if view.endswith(".json") else view


def _free_port(first: int = 8888) -> int:
    """Return the first port from 8888 on that is free on this machine."""
    for port in [*range(first, first + 50), 0]:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise LaunchError("No port is free on 127.0.0.1. Name one: labkit explore --port 9000")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP end it as Ctrl-C does, so that nothing is left behind."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def served(
    words: Sequence[str], variables: dict[str, str], *, token: str = "", tell: Callable[[str], None] = lambda text: None
) -> Iterator[tuple[supervise.Tree, str, str]]:
    """Start a server in a new folder with the Explorer's notebook, executed in the kernel that its page will use.

    Parameters
    ----------
    words : further ones for JupyterLab.
    variables : of its environment.
    token : that the page asks for; a new one when left out.
    tell : called with what is waited for.

    Yields
    ------
    The server's processes, its address and its token.
    """
    with scratch.folder(FOLDER) as folder:
        token, runtime, pages = token or secrets.token_hex(24), folder / "runtime", folder / "pages"
        jupyter = {"JUPYTER_TOKEN": token, "JUPYTER_RUNTIME_DIR": str(runtime)}
        home = {campaign.HOME: str(outside.resolved(campaign.root()))}  # its kernel works in another folder
        env = environment() | home | variables | jupyter
        pages.mkdir()
        shutil.copy(NOTEBOOK, pages)
        argv = command(pages, ["--no-browser", *_LESS, *(word for word in words if word != "--no-browser")])
        tell("starting JupyterLab (1 of 2) …")
        with supervise.start(argv, env=env, stdout=supervise.DEVNULL, grace=4.0) as tree:
            _load()
            url = _address(tree, runtime)
            tell("reading the campaigns (2 of 2) …")
            _execute(url, token, runtime, pages / NOTEBOOK.name)
            yield tree, url, token


def _load() -> None:
    """Load what runs the notebook's cells while the server begins."""
    with schemas.quick():
        importlib.import_module("jupyter_client.blocking.client")
        importlib.import_module("nbformat")


def _address(tree: supervise.Tree, runtime: Path) -> str:
    """Wait until the server answers, and return its address."""
    until = time.monotonic() + BEGINS
    while time.monotonic() < until and tree.poll() is None:
        for path in runtime.glob("jpserver-*.json"):
            with suppress(OSError, ValueError, urllib.error.URLError):
                url = str(json.loads(path.read_text())["url"])
                urllib.request.urlopen(f"{url}api", timeout=2).read()
                return url
        time.sleep(0.05)
    raise LaunchError(
        f"JupyterLab did not answer within {BEGINS:.0f} s. Its output:\n{tree.stderr_tail(10)}",
        command=tree.argv,
    )


def _session(url: str, token: str, body: dict[str, Any]) -> dict[str, Any]:
    """Make a session in the server, and return its description."""
    head = {"Authorization": f"token {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}api/sessions", json.dumps(body).encode(), head)
    with urllib.request.urlopen(request, timeout=BEGINS) as response:
        session: dict[str, Any] = json.load(response)
    return session


def _ready(client: Any) -> None:
    """Wait until a kernel answers and its messages arrive; on a busy machine its heartbeat may be late."""
    import queue

    until = time.monotonic() + BEGINS
    while time.monotonic() < until:
        with suppress(queue.Empty, TimeoutError):
            client.kernel_info(reply=True, timeout=2)
            client.get_iopub_msg(timeout=1)
            return
    raise TimeoutError(f"its kernel did not answer within {BEGINS:.0f} s")


def _execute(url: str, token: str, runtime: Path, path: Path) -> None:
    """Run the notebook's cells in a kernel of the server, and save their outputs, so that every page shows them."""
    import nbformat
    from jupyter_client.blocking.client import BlockingKernelClient
    from nbformat.sign import NotebookNotary

    body = {"path": path.name, "name": path.name, "type": "notebook", "kernel": {"name": "python3"}}
    kernel = _session(url, token, body)["kernel"]["id"]
    client = BlockingKernelClient(connection_file=str(runtime / f"kernel-{kernel}.json"))
    client.load_connection_file()
    client.start_channels()
    book = nbformat.read(path, as_version=4)
    try:
        _ready(client)
        for cell in (cell for cell in book.cells if cell.cell_type == "code"):
            outputs: list[Any] = []

            def keep(message: dict[str, Any], outputs: list[Any] = outputs) -> None:
                if message["msg_type"] in ("execute_result", "display_data", "stream", "error"):
                    outputs.append(nbformat.v4.output_from_msg(message))

            reply = client.execute_interactive(cell.source, timeout=RUNS, output_hook=keep)
            cell.outputs, cell.execution_count = outputs, reply["content"]["execution_count"]
            if reply["content"]["status"] != "ok":
                raise ReportError(f"The Explorer did not start: {reply['content'].get('evalue')}.")
    except (TimeoutError, RuntimeError) as error:
        raise ReportError(f"The Explorer did not start: {error}. Try again on a less busy machine.") from error
    finally:
        client.stop_channels()
    nbformat.write(book, path)
    NotebookNotary().sign(book)
