"""The values of plot A as a table beside it: sorted by any column, searched, and each row looked into."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from labkit.apps.explorer import selection, store, values
from labkit.apps.explorer.session import Session
from labkit.apps.explorer.view import View
from labkit.errors import LabkitError
from labkit.store.samples import Samples

TITLE, PLACE, ORDER = "Values", "main", 1
STEP = 60  # rows that are shown at first, and more at a time


def build(session: Session) -> Any:
    """The panel."""
    return widgets.VBox([Table(session)])


def _firsts(name: str, view: View, points: Collection[tuple[str, str]]) -> Iterator[Samples]:
    """Yield the first launch of each of the points that are in a campaign."""
    folder, first = store.opened(name), dict[str, int]()
    for _, fingerprint, launch in folder.done(view.benchmark):
        if (name, fingerprint) in points:
            first[fingerprint] = min(launch, first.get(fingerprint, launch))
    yield from folder.samples(view.benchmark, {*first.items()})


class Table(anywidget.AnyWidget):
    """The table in the page; the kernel sorts and searches, because the page holds the rows on show alone."""

    _esm = Path(__file__).parents[1] / "table.js"
    head: Any = traitlets.List().tag(sync=True)
    rows: Any = traitlets.List().tag(sync=True)
    count: Any = traitlets.List([0, 0]).tag(sync=True)
    order: Any = traitlets.List(["", False]).tag(sync=True)
    marked: Any = traitlets.List().tag(sync=True)
    boxed: Any = traitlets.Bool(False).tag(sync=True)  # whether only the points inside a box of the plot are shown
    commands: Any = traitlets.Unicode().tag(sync=True)  # that measure them

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session, self._search, self._most = session, "", STEP
        self.on_msg(self._asked)
        session.on("view", self.show)
        session.on("point", self._mark)
        session.on("brush", self._brushed)

    def show(self) -> None:
        """Show the rows of plot A."""
        view = self._session.views.get("A")
        if view is None or not view.metric:
            self.head, self.rows, self.count = [], [], [0, 0]
            return
        summary = self._session.store.summary(self._session.campaigns, view.benchmark)
        by, falling = self.order
        boxed = self._session.brushed & {*zip(summary["campaign"], summary["fingerprint"], strict=True)}
        page = values.page(view, summary, search=self._search, sort=by, falling=falling, most=self._most, only=boxed)
        with self.hold_sync():
            self.boxed, self.commands = bool(boxed), self.commands if boxed else ""
            self.head, self.rows, self.count = page.head, page.rows, [page.found, page.total]

    def _mark(self) -> None:
        """Mark the rows of the points that are looked into."""
        self.marked = [list(one.key) for one in self._session.marked]

    def _brushed(self) -> None:
        """Show the points inside the box, and the commands that measure them."""
        self._most = STEP
        boxed, view = self._session.brushed, self._session.views["A"]
        found = [one for name in dict.fromkeys(sorted(name for name, _ in boxed)) for one in _firsts(name, view, boxed)]
        self.commands = "\n".join(f"labkit {shlex.join(words)}" for words in selection.commands(found))
        self.show()

    def _asked(self, widget: Any, content: Any, buffers: Any) -> None:
        """Do what the page asks for."""
        question = content.get("ask") if isinstance(content, dict) else None
        if question == "sort":
            by, falling = self.order
            name = str(content.get("name"))
            self.order = [name, by == name and not falling]
        elif question == "search":
            self._search, self._most = str(content.get("text")), STEP
        elif question == "more":
            self._most += 4 * STEP
        elif question == "all":
            self._session.brush(())
            return
        elif question == "choose":
            self._choose(content.get("key"))
            return
        self.show()

    def _choose(self, key: Any) -> None:
        """Look into the point of a row."""
        view = self._session.views["A"]
        if isinstance(key, list) and len(key) == 2:
            try:
                point = self._session.point(str(key[0]), view.benchmark, str(key[1]), view.metric)
            except LabkitError:
                return
            if point is not None:
                self._session.choose(point)
