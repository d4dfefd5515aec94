"""The values of plot A as a table beside it: sorted by any column, searched, and each row looked into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from labkit.apps.explorer import values
from labkit.apps.explorer.session import Session
from labkit.errors import LabkitError

TITLE, PLACE, ORDER = "Values", "main", 1
STEP = 60  # rows that are shown at first, and more at a time


def build(session: Session) -> Any:
    """The panel."""
    return widgets.VBox([Table(session)])


class Table(anywidget.AnyWidget):
    """The table in the page; the kernel sorts and searches, because the page holds the rows on show alone."""

    _esm = Path(__file__).parents[1] / "table.js"
    head: Any = traitlets.List().tag(sync=True)
    rows: Any = traitlets.List().tag(sync=True)
    count: Any = traitlets.List([0, 0]).tag(sync=True)
    order: Any = traitlets.List(["", False]).tag(sync=True)
    marked: Any = traitlets.List().tag(sync=True)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session, self._search, self._most = session, "", STEP
        self.on_msg(self._asked)
        session.on("view", self.show)
        session.on("point", self._mark)

    def show(self) -> None:
        """Show the rows of plot A."""
        view = self._session.views.get("A")
        if view is None or not view.metric:
            self.head, self.rows, self.count = [], [], [0, 0]
            return
        summary = self._session.store.summary(self._session.campaigns, view.benchmark)
        by, falling = self.order
        page = values.page(view, summary, search=self._search, sort=by, falling=falling, most=self._most)
        with self.hold_sync():
            self.head, self.rows, self.count = page.head, page.rows, [page.found, page.total]

    def _mark(self) -> None:
        """Mark the rows of the points that are looked into."""
        self.marked = [list(one.key) for one in self._session.marked]

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
