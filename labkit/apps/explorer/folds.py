"""Sections that open by mouse, Enter or space: an accordion of ipywidgets takes no focus from the keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

CLOSED, OPEN = "▸", "▾"


class Folds(widgets.VBox):  # type: ignore[misc]
    """Widgets below each other, each behind a button with its title; all are closed at first.

    Parameters
    ----------
    sections : widgets that the buttons open.
    titles : titles of the sections.
    """

    def __init__(self, sections: Sequence[Any], titles: Sequence[str]) -> None:
        self.buttons, children = [], []
        for section, title in zip(sections, titles, strict=True):
            button = widgets.ToggleButton(description=f"{CLOSED} {title}").add_class("lab-fold")
            box = widgets.VBox([section], layout={"display": "none"}).add_class("lab-folded")
            button.observe(lambda change, box=box: self._turn(change["owner"], box), "value")
            self.buttons.append(button)
            children += [button, box]
        super().__init__(children)

    def name(self, place: int, title: str) -> None:
        """Change the title of a section."""
        button = self.buttons[place]
        button.description = f"{OPEN if button.value else CLOSED} {title}"

    def _turn(self, button: Any, box: Any) -> None:
        box.layout.display = "" if button.value else "none"
        button.description = (OPEN if button.value else CLOSED) + button.description[1:]
