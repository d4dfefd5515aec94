"""Which campaigns are on show: a list to search in, and fields that add others."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

import ipywidgets as widgets

from labkit.apps.explorer import store
from labkit.apps.explorer.session import Session
from labkit.errors import LabkitError
from labkit.point.units import plural
from labkit.store import campaign

TITLE, PLACE, ORDER = "Campaigns", "side", 0
_MANY = 6  # campaigns from which a field to search in them appears


def build(session: Session) -> Any:
    """The panel."""
    return _Campaigns(session).widget


class _Campaigns:
    """A box for each campaign; a box stays the same one, so that a click on its way is not lost."""

    def __init__(self, session: Session) -> None:
        self._session, self._busy = session, False
        self._boxes: dict[str, Any] = {}
        self.chosen = widgets.VBox().add_class("lab-campaign-list")
        self.find = widgets.Text(placeholder="search in campaigns", continuous_update=True, layout={"width": "auto"})
        self.find.add_class("lab-find-campaign")
        self.note = widgets.HTML().add_class("lab-text")
        anew = widgets.Button(description="Refresh", tooltip="look for campaigns on disk", icon="refresh")
        anew.on_click(lambda button: session.tell("campaigns"))
        self.find.observe(lambda change: self._offer(), "value")
        session.on("campaigns", self._changed)
        self.widget = widgets.VBox([self.find, self.chosen, self.note, anew, _adder(session)])

    def _changed(self) -> None:
        self._offer()
        self._session.tell("data")

    def _offer(self) -> None:
        """Offer the campaigns on show, and those that have the words of the search."""
        shown = self._session.campaigns
        names = list(dict.fromkeys([*shown, *store.names()]))
        words = self.find.value.lower().split()
        found = [name for name in names if name in shown or all(word in name.lower() for word in words)]
        children = [self._box(name) for name in found]
        self._name(names)
        self._busy = True
        for name, box in self._boxes.items():
            box.value = name in shown
        self._busy = False
        if list(self.chosen.children) != children:
            self.chosen.children = children
        self.find.layout.display = "" if len(names) > _MANY else "none"
        self.note.value = "" if names else "There is no campaign yet. Measure one, or add one."
        if words and len(found) < len(names):
            self.note.value = f"{len(found)} of {plural(len(names), 'campaign')}"

    def _box(self, name: str) -> Any:
        if name not in self._boxes:
            box = self._boxes[name] = widgets.Checkbox(tooltip=name, indent=False, layout={"width": "auto"})
            box.observe(lambda change: None if self._busy else self._picked(), "value")
        return self._boxes[name]

    def _name(self, names: Iterable[str]) -> None:
        """Write the titles beside the boxes: those on show have the titles that the plot shows."""
        for name, title in (campaign.titles(names) | campaign.titles(self._session.campaigns)).items():
            self._box(name).description = title

    def _picked(self) -> None:
        """Show the selected campaigns, the latest selection last."""
        session, ticked = self._session, {name: box.value for name, box in self._boxes.items()}
        kept = [name for name in session.campaigns if ticked.get(name, True)]
        session.campaigns = [*kept, *(name for name, on in ticked.items() if on and name not in kept)]
        self._name(self._boxes)
        session.tell("data")
        session.remember()


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
