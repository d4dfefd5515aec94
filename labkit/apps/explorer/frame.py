"""The page around the panels: title, skip links, an address that holds the view, undo and redo."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

from labkit.apps.explorer import panels, state, theme
from labkit.apps.explorer.running import Runs
from labkit.apps.explorer.session import Session
from labkit.apps.explorer.store import Store
from labkit.errors import LabkitError


class Frame(anywidget.AnyWidget):
    """The title of the page, links to plot and Run for the keyboard, and the error of a link."""

    _esm = Path(__file__).with_name("frame.js")
    link = traitlets.Unicode().tag(sync=True)  # state of the page, for its address
    answered = traitlets.Int().tag(sync=True)  # number of the last view that the page asked for and got
    why = traitlets.Unicode().tag(sync=True)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.on_msg(self._asked)
        session.on("state", self._changed)

    def _changed(self) -> None:
        self.link, self.why = self._session.state.text, ""

    def _asked(self, widget: Any, content: Any, buffers: Any) -> None:
        """Do what the page asks for."""
        question = content.get("ask") if isinstance(content, dict) else None
        try:
            if question == "undo":
                self._session.undo()
            elif question == "redo":
                self._session.redo()
            elif question == "show" and content.get("text") != self.link:
                self._session.show(state.read(str(content.get("text"))))
        except LabkitError as error:
            self.why = html.unescape(str(error))
        if question == "show" and isinstance(number := content.get("number"), int):
            self.answered = number


def page(
    campaigns: Sequence[str],
    read: Store | None = None,
    view: str = "",
    *,
    model: str | None = None,
    runs: Runs | None = None,
) -> Any:
    """Make a page: all panels, with a new session, in columns that follow the width of the page.

    Parameters
    ----------
    campaigns : shown at the start.
    read : records that were read before.
    view : a saved view to show; empty for none.
    model : name of the widget; a new one when left out.
    runs : what this process measures, for all of its pages.
    """
    session = Session(list(campaigns), read, runs)
    places: dict[str, list[Any]] = {place: [] for place in panels.PLACES}
    for panel in panels.find():
        built = widgets.VBox([widgets.HTML(f"<h2>{panel.TITLE}</h2>").add_class("lab-title"), panel.build(session)])
        built.add_class("lab-panel").add_class(f"lab-{panel.__name__.rpartition('.')[2]}")
        places[panel.PLACE].append(built)
    columns = [widgets.VBox(children).add_class(f"lab-{place}") for place, children in places.items()]
    style = widgets.HTML(theme.sheet(), layout={"display": "none"})
    parts = [style, Frame(session), widgets.VBox(columns).add_class("lab-grid")]
    made = widgets.VBox(parts, model_id=model).add_class("lab-explorer")
    made.session = session
    session.tell("campaigns")
    if view:
        session.show(state.load(view))
    session.remember()
    return made
