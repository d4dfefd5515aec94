"""Which campaigns are on show: a list to search in, and fields that add others."""

from __future__ import annotations

import html
from typing import Any

import ipywidgets as widgets

from labkit.apps.explorer import store
from labkit.apps.explorer.session import Session
from labkit.errors import LabkitError
from labkit.point.units import plural

TITLE, PLACE, ORDER = "Campaigns", "side", 0
_MANY = 6  # campaigns from which a field to search in them appears


def build(session: Session) -> Any:
    """The panel."""
    chosen = widgets.VBox().add_class("lab-campaign-list")
    find = widgets.Text(placeholder="search in campaigns", continuous_update=True, layout={"width": "auto"})
    find.add_class("lab-find-campaign")
    anew = widgets.Button(description="Refresh", tooltip="look for campaigns on disk", icon="refresh")
    note = widgets.HTML().add_class("lab-text")
    boxes: dict[str, Any] = {}  # a box stays the same one, so that a click on its way is not lost
    busy = [False]

    def box_of(name: str) -> Any:
        if name not in boxes:
            box = boxes[name] = widgets.Checkbox(description=name, tooltip=name, indent=False, layout={"width": "auto"})
            box.observe(picked, "value")
        return boxes[name]

    def offered() -> None:
        names, shown = list(dict.fromkeys([*session.campaigns, *store.names()])), session.campaigns
        words = find.value.lower().split()
        found = [name for name in names if name in shown or all(word in name.lower() for word in words)]
        children = [box_of(name) for name in found]
        busy[0] = True
        for name, box in boxes.items():
            box.value = name in shown
        busy[0] = False
        if list(chosen.children) != children:
            chosen.children = children
        find.layout.display = "" if len(names) > _MANY else "none"
        note.value = "" if names else "There is no campaign yet. Measure one, or add one."
        if words and len(found) < len(names):
            note.value = f"{len(found)} of {plural(len(names), 'campaign')}"

    def changed() -> None:
        offered()
        session.tell("data")

    def picked(change: Any) -> None:
        if busy[0]:
            return
        listed = {box.description: box.value for box in chosen.children}
        kept = [name for name in session.campaigns if listed.get(name, True)]
        session.campaigns = [*kept, *(name for name, on in listed.items() if on and name not in kept)]
        session.tell("data")
        session.remember()

    anew.on_click(lambda button: session.tell("campaigns"))
    find.observe(lambda change: offered(), "value")
    session.on("campaigns", changed)
    return widgets.VBox([find, chosen, note, anew, _adder(session)])


def _adder(session: Session) -> Any:
    """Make the fields that add a campaign from elsewhere, or results of other programs."""
    place = widgets.Textarea(placeholder="folder, file or output", rows=1, layout={"flex": "1 1 0", "width": "auto"})
    place.tooltip = "the path of a campaign, an archive or a file, or what a benchmark printed"
    bring = widgets.Button(
        description="Add", tooltip="show a campaign, an archive, or what a benchmark printed", icon="plus"
    )
    why = widgets.HTML().add_class("lab-why")

    def brought(button: Any) -> None:
        why.value = ""
        try:
            session.refuse()
            session.add(store.brought(place.value.strip()))
            place.value = ""
        except LabkitError as error:
            why.value = html.escape(str(error))

    bring.on_click(brought)
    return widgets.VBox([widgets.HBox([place.add_class("lab-add-place"), bring.add_class("lab-add")]), why])
