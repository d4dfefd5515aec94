"""The Explorer: measure, compare and look into points in a page, with the same parts as the command line.

A panel is one file in ``labkit/explorer/panels``; `labkit explore` opens the page.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from labkit import campaign

CAMPAIGN = "LABKIT_EXPLORE"
VIEW = "LABKIT_EXPLORE_VIEW"
_open: dict[str, Any] = {}


def open(*names: str) -> Any:
    """Return the Explorer of this kernel, a widget; every call returns the same one.

    Parameters
    ----------
    names : campaigns shown at the start; those of `labkit explore` when left out.

    Raises
    ------
    DataError
        If there is no campaign of that name.
    """
    if "page" not in _open:
        wanted = names or tuple(name for name in os.environ.get(CAMPAIGN, "").split(os.pathsep) if name)
        _open["page"] = page([shown(name) for name in wanted])
    return _open["page"]


def shown(name: str) -> str:
    """Name of a campaign in the page: below `labkit.campaign.root` its name there, elsewhere its path."""
    path, root = campaign.find(name).resolve(), campaign.root().resolve()
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def page(campaigns: Sequence[str]) -> Any:
    """Make a page: all panels, with a new session, in columns that follow the width of the page."""
    import ipywidgets as widgets

    from labkit.explorer import panels, state, theme
    from labkit.explorer.frame import Frame
    from labkit.explorer.session import Session

    session = Session(list(campaigns))
    places: dict[str, list[Any]] = {place: [] for place in panels.PLACES}
    for panel in panels.find():
        built = widgets.VBox([widgets.HTML(f"<h2>{panel.TITLE}</h2>"), panel.build(session)])
        built.add_class("lab-panel").add_class(f"lab-{panel.__name__.rpartition('.')[2]}")
        places[panel.PLACE].append(built)
    columns = [widgets.VBox(children).add_class(f"lab-{place}") for place, children in places.items()]
    style = widgets.HTML(theme.sheet(), layout={"display": "none"})
    made = widgets.VBox([style, Frame(session), widgets.VBox(columns).add_class("lab-grid")]).add_class("lab-explorer")
    session.tell("campaigns")
    if name := os.environ.get(VIEW, ""):
        session.show(state.load(name))
    session.remember()
    return made
