"""Savings by cheaper parts of a message: of the published message, and of a message measured in a campaign on show."""

from __future__ import annotations

import html
from typing import Any

import ipywidgets as widgets

from labkit.apps.explorer import store
from labkit.apps.explorer.session import Session
from labkit.errors import LabkitError, SpecError
from labkit.figures.sliders import Sliders
from labkit.models.breaking_band import breakdown
from labkit.studies.what_if import COMPONENTS, Study

TITLE, PLACE, ORDER = "What if", "under", 5
PUBLISHED, MEASURED = "the published message (Zambre et al. 2019)", "a message over TCP of a campaign on show"


def build(session: Session) -> Any:
    """The panel."""
    wide = {"style": {"description_width": "initial"}}
    of = widgets.Dropdown(options=[PUBLISHED, MEASURED], description="of", layout={"width": "380px"}, **wide)
    size = widgets.BoundedIntText(64, min=1, max=65507, description="size (B)", layout={"width": "160px"}, **wide)
    start = widgets.Button(description="Show sliders", tooltip="make parts cheaper, and see what remains")
    row = widgets.HBox([of, size, start], layout={"flex_flow": "row wrap"})
    box = widgets.VBox([row])

    def shown(button: Any) -> None:
        try:
            sliders = _sliders(session, of.value, size.value)
        except (LabkitError, OSError) as error:
            sliders = widgets.HTML(html.escape(str(error)))
        box.children = (row, sliders.add_class("lab-what-if-result"))

    def sized(change: Any = None) -> None:
        size.disabled = of.value == PUBLISHED  # it has a separate size

    of.observe(sized, "value")
    sized()
    start.on_click(shown)
    for widget, name in ((of, "of"), (size, "size"), (start, "show")):
        widget.add_class(f"lab-what-if-{name}")
    return box


def _sliders(session: Session, of: str, size: int) -> Sliders:
    """Return the sliders of a message.

    Raises
    ------
    SpecError
        If no campaign on show measured it.
    """
    if of == PUBLISHED:
        return Sliders([breakdown("injection"), breakdown("latency")], dict(COMPONENTS.values()))
    for name in session.campaigns:
        sliders = Study(campaign=str(store.opened(name).path), measure=False, size=size).own_sliders()
        if isinstance(sliders, Sliders):
            return sliders
    raise SpecError(
        f"No campaign on show has a message of {size} B over TCP by sockperf. Run notebook 83-what-if, or show another."
        if session.campaigns
        else "No campaign is on show. Select one above."
    )
