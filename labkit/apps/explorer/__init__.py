"""The Explorer: measure, compare and look into points in a page, with the same parts as the command line.

A panel is one file in ``labkit/apps/explorer/panels``; `labkit explore` opens the page.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from labkit.errors import LabkitError
from labkit.store import campaign

CAMPAIGN = "LABKIT_EXPLORE"
VIEW = "LABKIT_EXPLORE_VIEW"
_open: dict[str, Any] = {}


def open(*names: str, model: str | None = None) -> Any:
    """Return the Explorer of this kernel, a widget; every call returns the same one.

    Parameters
    ----------
    names : campaigns shown at the start; those of `LABKIT_EXPLORE` when left out.
    model : name of the widget; a new one when left out.

    Raises
    ------
    DataError
        If there is no campaign of that name.
    """
    if "page" not in _open:
        _open["page"] = page([campaign.name_of(name) for name in names or _wanted()], model=model)
    return _open["page"]


def wanted(campaigns: Sequence[str], view: str = "") -> None:
    """Note what the page of this process shows at its start.

    Raises
    ------
    DataError
        If there is no such campaign or view.
    """
    os.environ[CAMPAIGN] = os.pathsep.join(campaign.name_of(name) for name in campaigns)
    if view:
        from labkit.apps.explorer import state

        state.load(view)
    os.environ[VIEW] = view


def _wanted() -> list[str]:
    """Campaigns that are shown at the start."""
    return [name for name in os.environ.get(CAMPAIGN, "").split(os.pathsep) if name]


def prepare() -> None:
    """Load what the page needs, and read what it shows first; needs no event loop."""
    from labkit import benchmarks
    from labkit.apps.explorer import frame, panels, state, store, theme, view  # noqa: F401

    panels.find()
    benchmarks.find()
    read = store.Store()
    with suppress(LabkitError):  # said when the page opens
        names = [campaign.name_of(name) for name in _wanted()]
        if first := view.first(read.benchmarks(names)):
            read.summary(names, first)
    _open["read"] = read


def page(campaigns: Sequence[str], *, model: str | None = None) -> Any:
    """Make a page: all panels, with a new session, in columns that follow the width of the page."""
    import ipywidgets as widgets

    from labkit.apps.explorer import panels, state, theme
    from labkit.apps.explorer.frame import Frame
    from labkit.apps.explorer.session import Session

    session = Session(list(campaigns), _open.pop("read", None))
    places: dict[str, list[Any]] = {place: [] for place in panels.PLACES}
    for panel in panels.find():
        built = widgets.VBox([widgets.HTML(f"<h2>{panel.TITLE}</h2>"), panel.build(session)])
        built.add_class("lab-panel").add_class(f"lab-{panel.__name__.rpartition('.')[2]}")
        places[panel.PLACE].append(built)
    columns = [widgets.VBox(children).add_class(f"lab-{place}") for place, children in places.items()]
    style = widgets.HTML(theme.sheet(), layout={"display": "none"})
    parts = [style, Frame(session), widgets.VBox(columns).add_class("lab-grid")]
    made = widgets.VBox(parts, model_id=model).add_class("lab-explorer")
    session.tell("campaigns")
    if name := os.environ.get(VIEW, ""):
        session.show(state.load(name))
    session.remember()
    return made
