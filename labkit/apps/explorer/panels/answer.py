"""Whether the campaigns on show are good, why not, and what to do next, as `labkit explain` prints it."""

from __future__ import annotations

import asyncio
import html
import shlex
from typing import Any

import ipywidgets as widgets

from labkit.apps.explorer import judged, store
from labkit.apps.explorer.session import Session
from labkit.apps.explorer.store import Store
from labkit.errors import LabkitError

TITLE, PLACE, ORDER = "Answer", "main", -1
_LARGEST = 20_000  # points × launches of a campaign that is judged without being asked


def build(session: Session) -> Any:
    """The panel."""
    return _Answers(session).widget


class _Answers:
    """The answers about the campaigns on show, judged again when points arrive and the page is otherwise idle."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._task: asyncio.Task[None] | None = None  # the loop itself keeps none alive
        self.shown = widgets.HTML("…").add_class("lab-answers").add_class("lab-text")
        self.widget = widgets.VBox([self.shown])
        session.on("campaigns", self._again)
        session.on("data", self._again)

    def _again(self) -> None:
        """Judge what is on show; while a run adds points, wait for its end."""
        if self._session.running:
            return
        names = tuple(self._session.campaigns)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no page is served from here
            self.shown.value = _html(self._session.store, names)
            return
        if self._task is not None:
            self._task.cancel()
        self._task = loop.create_task(self._judge(loop, names))

    async def _judge(self, loop: asyncio.AbstractEventLoop, names: tuple[str, ...]) -> None:
        """Judge without making the page wait."""
        text = await loop.run_in_executor(None, _html, self._session.store, names)
        if names == tuple(self._session.campaigns):
            self.shown.value = text


def _html(read: Store, names: tuple[str, ...]) -> str:
    """Return the answers about campaigns, each as a line of verdicts and a fold with the reasons."""
    return "".join(_of_campaign(read, name, several=len(names) > 1) for name in names) or "Choose a campaign."


def _of_campaign(read: Store, name: str, *, several: bool) -> str:
    head = f"<b>{html.escape(name)}</b>: " if several else ""
    try:
        if len(store.opened(name).done()) > _LARGEST:
            command = html.escape(f"labkit explain {shlex.quote(name)}")
            return f"<p>{head}a large campaign: <code>{command}</code> judges it.</p>"
        found = read.answer(name)
    except LabkitError as error:
        return f"<p>{head}{html.escape(str(error))}</p>"
    if not found.topics:
        return f"<p>{head}nothing that has a verdict.</p>"
    chips = " · ".join(map(judged.chip, found.topics))
    told = judged.items(judged.lines(found))
    return f"<p>{head}{chips}</p><details><summary>why, and what to do next</summary>{told}</details>"
