"""What the page around the panels does: its address is a link to what it shows, and keys undo and redo."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from labkit.apps.explorer import state
from labkit.apps.explorer.session import Session
from labkit.errors import LabkitError


class Frame(anywidget.AnyWidget):
    """A part of the page that shows nothing but what went wrong with a link."""

    _esm = Path(__file__).with_name("frame.js")
    link = traitlets.Unicode().tag(sync=True)  # state of the page, for its address
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
