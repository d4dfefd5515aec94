"""Serve the Explorer's page: by this process, on this machine only, with a token.

The widgets of the page live in this process, and communicate with the page by `labkit.apps.explorer.wire`. The server
answers before anything heavy is loaded, so a browser loads the page's programs while this process reads the campaigns.
"""

from __future__ import annotations

import asyncio
import hmac
import html
import importlib.util
import secrets
import signal
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from http.cookies import SimpleCookie
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler, StaticFileHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from labkit.apps import explorer
from labkit.apps.explorer.wire import TAB, Wire, packed
from labkit.errors import LaunchError
from labkit.store import signatures

HOST, PORT, PORTS = "127.0.0.1", 8888, 50  # the first port to try, and how many
ROOT = "labkit-explorer"  # begins the name of a page's outermost widget
TABS = 12  # with kept widgets; the oldest without a page goes first
FILES = Path(__file__).with_name("page")
_POLICY = (
    "default-src 'self'; script-src 'self' blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>labkit Explorer</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<link rel="stylesheet" href="files/controls.css"><link rel="modulepreload" href="{plotly}">
<script type="module" src="files/page.js"></script></head>
<body><p class="lab-notice" role="alert" hidden></p>
<main aria-busy="true" data-plotly="{plotly}">
<p class="lab-waits" role="status">Reading the campaigns …</p></main></body></html>"""


def explore(
    campaigns: Sequence[str],
    say: Callable[[str], None],
    *,
    view: str = "",
    port: int | None = None,
    browser: bool = True,
) -> int:
    """Open the Explorer, and return when it ends.

    Parameters
    ----------
    campaigns : shown at the start.
    say : called with the page's address at once, and when the page can be used.
    view : shown at the start: a saved one, by its name or file.
    port : port of the server (default: the first free one, 8888 or above).
    browser : whether to open one.

    Raises
    ------
    DataError
        If there is no such campaign or view.
    LaunchError
        If the port is taken.
    """
    began = time.monotonic()
    explorer.wanted(campaigns, view)  # errors come before the server
    return asyncio.run(_serve(port, browser, say, began))


async def _serve(port: int | None, browser: bool, say: Callable[[str], None], began: float) -> int:
    """Serve the page until a signal ends it; return the exit status."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    heard: list[int] = []

    def end(number: int) -> None:
        heard.append(number)
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    sockets, found = _bound(port)
    token, reads = (_token(found, what) for what in ("", " to read"))
    tabs, ready = _Tabs(Wire()), loop.create_future()
    HTTPServer(_application((token, reads), found, tabs, ready)).add_sockets(sockets)
    url = f"http://{HOST}:{found}/?token={token}"
    say(f"the Explorer comes up at\n\n    {url}\n\na browser can load the page; reading the campaigns …")
    say(f"to share it for reading only: http://{HOST}:{found}/?token={reads}")
    if browser:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
    making = loop.create_task(_made(tabs, ready))
    waiting = loop.create_task(ended.wait())
    await asyncio.wait({making, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if making.done():
        making.result()
        waited = f"{time.monotonic() - began:.1f} s"
        say(f"the Explorer is ready after {waited}. Stop it with Ctrl-C; this also stops its runs.")
    await waiting
    if signal.SIGINT in heard:
        say("stopped. All measured points are kept.")
    return 128 + heard[0]


async def _made(tabs: _Tabs, ready: asyncio.Future[None]) -> None:
    """Load what the page needs and make it; the server answers meanwhile."""
    await asyncio.get_running_loop().run_in_executor(None, explorer.prepare)
    tabs.wire.connect()
    tabs.prepare()
    ready.set_result(None)


def _bound(port: int | None) -> tuple[list[Any], int]:
    """Listen on a port, or on the first that is free."""
    for number in [port] if port is not None else [*range(PORT, PORT + PORTS), 0]:
        try:
            sockets = bind_sockets(number, HOST)
        except (OSError, OverflowError) as error:
            why = error
        else:
            return sockets, int(sockets[0].getsockname()[1])
    raise LaunchError(
        f"Port {port} of {HOST} cannot be used: {why}. Name another one: labkit explore --port 9000"
    ) from why


def _application(tokens: tuple[str, str], port: int, tabs: _Tabs, ready: asyncio.Future[None]) -> Application:
    """The page, its files, and the wire to its widgets; all of them ask for the token."""
    package = Path(importlib.util.find_spec("plotly").origin or "").parent  # type: ignore[union-attr]
    plotly = f"plotly/{version('plotly')}/widgetbundle.js"
    return Application(
        [
            (r"/", _Page),
            (r"/alive", _Alive),
            (r"/files/([a-z]+\.(?:js|css))", _Files, {"path": str(FILES)}),
            (r"/plotly/[^/]+/(widgetbundle\.js)", _Plotly, {"path": str(package / "package_data")}),
            (r"/wire", _Socket, {"tabs": tabs, "ready": ready}),
            (r"/.*", _Nothing),
        ],
        tokens=tokens,
        cookie=f"labkit-{port}",
        page=_PAGE.format(plotly=html.escape(plotly)),
        log_function=lambda handler: None,
    )


def _token(port: int, what: str) -> str:
    """Return a token of this user at a port: the same at every start, so that links stay valid."""
    return signatures.sign(f"labkit explore {port}{what}".encode())[:48] or secrets.token_hex(24)


class _Tabs:
    """The pages of this process, one for each tab of a browser: what one shows, no other changes."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self._pages, self._spare = wire, dict[str, Any](), ""

    def prepare(self) -> None:
        """Make a page before a tab asks for it."""
        self._spare = self._new()

    def of(self, name: str, *, reads: bool = False) -> str:
        """Return the tab with the name that a browser kept; a new tab if the name is unknown or another page shows it.

        Parameters
        ----------
        reads : whether the page is for reading only.
        """
        kept = name in self._pages and name != self._spare and not self.wire.holds(name)
        if kept and self._pages[name].session.reads == reads:
            self._pages[name] = self._pages.pop(name)  # the last that was used
            return name
        found, self._spare = self._spare or self._new(), ""
        self._pages[found].session.reads = reads
        return found

    def _new(self) -> str:
        """Make the page of a new tab, and let the oldest one go that no page shows."""
        name = secrets.token_hex(8)
        within = TAB.set(name)
        try:
            self._pages[name] = explorer.page(f"{ROOT}-{name}")
        finally:
            TAB.reset(within)
        unseen = [one for one in self._pages if one != name and not self.wire.holds(one)]
        if len(self._pages) > TABS and unseen:
            self._close(unseen[0])
        return name

    def _close(self, name: str) -> None:
        from ipywidgets.widgets import widget  # as in `Wire.connect`

        self._pages.pop(name).session.end()
        for one in self.wire.drop(name):
            if one in widget._instances:
                widget._instances[one].close()


class _Asking:
    """A handler that demands the token, in the address or in the page's cookie."""

    def prepare(self: Any) -> None:
        """Refuse requests without a valid token; one in the address counts before the cookie."""
        cookies: SimpleCookie = self.request.cookies
        name = self.settings["cookie"]
        held = cookies[name].value if name in cookies else ""
        given = self.request.query_arguments.get("token", [b""])[-1]
        known = [
            token
            for one in (given, held.encode())
            for token in self.settings["tokens"]
            if hmac.compare_digest(one, token.encode())
        ]
        if not known:
            raise HTTPError(403)
        self.token = known[0]

    def set_default_headers(self: Any) -> None:
        """Say that no other page shows, reads or guesses what is served."""
        self.set_header("Content-Security-Policy", _POLICY)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")

    def write_error(self: Any, status_code: int, **words: Any) -> None:
        """Say what to do in a sentence."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        wants = "This page asks for a token. Open the address that labkit explore printed."
        self.finish(wants if status_code == 403 else f"Nothing is here ({status_code}).")


class _Page(_Asking, RequestHandler):
    """The page; its cookie lets it load the rest."""

    def get(self) -> None:
        """Send the page."""
        self.set_cookie(self.settings["cookie"], self.token, httponly=True, samesite="Strict")
        self.set_header("Cache-Control", "no-store")
        self.finish(self.settings["page"])


class _Alive(_Asking, RequestHandler):
    """Whether the process answers a page that knows its token."""

    def get(self) -> None:
        """Answer."""
        self.set_header("Cache-Control", "no-store")
        self.finish("alive")


class _Nothing(_Asking, RequestHandler):
    """Any other address."""

    def get(self) -> None:
        """Say so."""
        raise HTTPError(404)


class _Files(_Asking, StaticFileHandler):
    """Programs and style sheets of the page."""

    def set_extra_headers(self, path: str) -> None:
        """Let the browser ask whether they changed."""
        self.set_header("Cache-Control", "no-cache")


class _Plotly(_Asking, StaticFileHandler):
    """Plotly's program; its address has its version."""

    def set_extra_headers(self, path: str) -> None:
        """Let the browser keep it."""
        self.set_header("Cache-Control", "private, max-age=31536000, immutable")


class _Socket(_Asking, WebSocketHandler):
    """A page that is connected to its widgets."""

    def initialize(self, tabs: _Tabs, ready: asyncio.Future[None]) -> None:
        """Take the arguments of the route."""
        self._tabs, self._wire, self._ready, self.tab = tabs, tabs.wire, ready, ""

    def open(self, *args: str, **kwargs: str) -> None:
        """Connect it."""
        self.set_nodelay(True)

    def on_message(self, message: str | bytes) -> None:
        """Pass the message to the widgets, once they exist."""
        if self._ready.done():
            self._hear(message)
        else:
            self._ready.add_done_callback(lambda ready: None if ready.cancelled() else self._hear(message))

    def _hear(self, message: str | bytes) -> None:
        if not self.tab:
            reads = self.token != self.settings["tokens"][0]
            self.tab = self._tabs.of(str(self.get_query_argument("tab", "")), reads=reads)
            self._wire.join(self)
            self.tell(packed({"kind": "root", "id": f"{ROOT}-{self.tab}", "data": {"tab": self.tab}}))
        self._wire.hear(self, message)

    def on_close(self) -> None:
        """Forget it."""
        self._wire.leave(self)

    def tell(self, message: str | bytes) -> None:
        """Send it a message, unless it has just gone."""
        try:
            sent = self.write_message(message, binary=isinstance(message, bytes))
        except WebSocketClosedError:
            self._wire.leave(self)
        else:
            sent.add_done_callback(lambda done: done.cancelled() or done.exception())  # `on_close` comes too
