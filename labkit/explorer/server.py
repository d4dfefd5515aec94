"""Run JupyterLab with the Explorer: on this machine only, with a token, and a kernel that begins beside it."""

from __future__ import annotations

import json
import os
import secrets
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
from labkit.explorer import CAMPAIGN, VIEW, kernel, schemas, shown

NOTEBOOK = project.NOTEBOOKS / "explorer.ipynb"
SETTINGS = project.SHIPPED / "templates" / "jupyter"
FOLDER = "labkit-explore-"  # begins the name of a server's folder
LESS = project.SHIPPED / "templates" / "explorer"  # settings that leave out what the page does not use
_JUPYTERLAB = f"{schemas.HIDE}; from jupyterlab.labapp import main; %s; sys.exit(main())"
_TRUST = "import nbformat, nbformat.sign; nbformat.sign.NotebookNotary().sign(nbformat.read({path!r}, as_version=4))"
# parts of the server that the page does not use; those of editors look for programs by means of npm
_LESS = ("--ServerApp.jpserver_extensions=jupyter_server_terminals=False", "--LanguageServerManager.autodetect=False")
BEGINS = 60.0  # s within which the server must answer
RUNS = 120.0  # s within which the kernel must have made the page


def environment() -> dict[str, str]:
    """Variables for JupyterLab: its buttons work after a reload, notebooks are shown as prose, and it reads no news."""
    return os.environ | {name: _before(name) for name in ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH")}


def _before(name: str) -> str:
    """Folders of a variable, after that of labkit's settings and extensions."""
    return os.pathsep.join([str(SETTINGS), *filter(None, [os.environ.get(name, "")])])


def command(folder: Path, words: Sequence[str], trusted: Path | None = None) -> list[str]:
    """Command line of JupyterLab on a folder, with further words for it, and a notebook whose output it may show."""
    root = ["--allow-root"] if os.geteuid() == 0 else []
    program = _JUPYTERLAB % (_TRUST.format(path=str(trusted)) if trusted else "pass")
    return [sys.executable, "-c", program, "--ip=127.0.0.1", *root, f"--ServerApp.root_dir={folder}", *words]


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

    def show(url: str) -> None:
        if "--no-browser" not in words:
            threading.Thread(target=webbrowser.open, args=(_page(url, token),), daemon=True).start()

    with _ended_by_signals(), served(words, variables, token=token, tell=say, show=show) as (tree, url, _):
        page, waited = _page(url, token), f"after {time.monotonic() - began:.1f} s"
        say(f"the Explorer is ready {waited} at\n\n    {page}\n\nStop it with Ctrl-C; this also stops its runs.")
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
    words: Sequence[str],
    variables: dict[str, str],
    *,
    token: str = "",
    tell: Callable[[str], None] = lambda text: None,
    show: Callable[[str], None] = lambda url: None,
) -> Iterator[tuple[supervise.Tree, str, str]]:
    """Start a server in a new folder with the Explorer's notebook, and the kernel that its page will use.

    Parameters
    ----------
    words : further ones for JupyterLab.
    variables : of its environment.
    token : that the page asks for; a new one when left out.
    tell : called with what is waited for.
    show : called with the server's address as soon as a browser can load the page; the page waits for its kernel.

    Yields
    ------
    The server's processes, its address and its token, when the kernel has made the page.
    """
    with scratch.folder(FOLDER) as folder:
        token, pages = token or secrets.token_hex(24), folder / "pages"
        book = pages / NOTEBOOK.name
        env = environment() | _home(folder, token) | variables
        pages.mkdir()
        kernel.described(folder)
        book.write_text(kernel.notebook(NOTEBOOK))
        argv = command(pages, ["--no-browser", *_LESS, *(word for word in words if word != "--no-browser")], book)
        waiting = [sys.executable, "-m", "labkit.explorer.kernel", str(folder)]
        tell("starting JupyterLab (1 of 2) …")
        with (
            supervise.start(argv, env=env, stdout=supervise.DEVNULL, grace=4.0) as tree,
            supervise.start(waiting, env=env, cwd=pages, stdout=supervise.DEVNULL, grace=4.0) as begun,
        ):
            url = _address(tree, folder / "runtime")
            _session(url, token)
            tell("reading the campaigns (2 of 2); a browser can load the page …")
            show(url)
            _opened(folder, tree, begun)
            yield tree, url, token


def _home(folder: Path, token: str) -> dict[str, str]:
    """Variables of a server that keeps its files in a folder; its kernel works in another one than this process."""
    before = environment()
    return {
        "JUPYTER_TOKEN": token,
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_CONFIG_PATH": os.pathsep.join([str(LESS), before["JUPYTER_CONFIG_PATH"]]),
        "JUPYTER_PATH": os.pathsep.join([str(folder), str(LESS), before["JUPYTER_PATH"]]),
        campaign.HOME: str(outside.resolved(campaign.root())),
    }


def _address(tree: supervise.Tree, runtime: Path, within: float = BEGINS) -> str:
    """Wait until the server answers, and return its address. It writes its record before it listens."""
    until = time.monotonic() + within
    while time.monotonic() < until and tree.poll() is None:
        for path in runtime.glob("jpserver-*.json"):
            with suppress(OSError, ValueError, urllib.error.URLError):
                url = str(json.loads(path.read_text())["url"])
                urllib.request.urlopen(f"{url}api", timeout=2).read()
                return url
        time.sleep(0.05)
    raise LaunchError(
        f"JupyterLab did not answer within {within:.0f} s. Its output:\n{tree.stderr_tail(10)}",
        command=tree.argv,
    )


def _session(url: str, token: str) -> None:
    """Make the session of the notebook in the server, which starts its kernel."""
    name = NOTEBOOK.name
    body = {"path": name, "name": name, "type": "notebook", "kernel": {"name": kernel.NAME}}
    head = {"Authorization": f"token {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}api/sessions", json.dumps(body).encode(), head)
    try:
        with urllib.request.urlopen(request, timeout=BEGINS) as response:
            response.read()
    except OSError as error:
        raise ReportError(f"The Explorer did not start: {error}. Try again on a less busy machine.") from error


def _opened(folder: Path, tree: supervise.Tree, begun: supervise.Tree) -> None:
    """Wait until the kernel has made the page."""
    until = time.monotonic() + RUNS
    while not (folder / kernel.OPENED).exists():
        if (folder / kernel.FAILED).exists():
            raise ReportError(f"The Explorer did not start: {(folder / kernel.FAILED).read_text()}")
        for process in (tree, begun):
            if process.poll() is not None:
                raise ReportError(f"The Explorer did not start. Its last output:\n{process.stderr_tail(10)}")
        if time.monotonic() > until:
            raise ReportError(
                f"The Explorer did not start: its kernel did not answer within {RUNS:.0f} s. Try again on a less busy "
                "machine."
            )
        time.sleep(0.05)
