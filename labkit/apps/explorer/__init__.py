"""The Explorer: measure, compare and look into points in a page, with the same parts as the command line.

A panel is one file in ``labkit/apps/explorer/panels``; `labkit explore` opens the page.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from labkit import benchmarks
from labkit.errors import LabkitError
from labkit.store import campaign

CAMPAIGN = "LABKIT_EXPLORE"
VIEW = "LABKIT_EXPLORE_VIEW"
# the page, and what is read before it opens: one of the process, because a kernel is a process and has one page, and
# the cell that opens it is not the call that prepares it
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
    from labkit.apps.explorer import frame  # as in `prepare`

    if "page" not in _open:
        shown = [campaign.name_of(name) for name in names or _wanted()]
        _open["page"] = frame.page(shown, _open.pop("read", None), os.environ.get(VIEW, ""), model=model)
    return _open["page"]


def page(model: str) -> Any:
    """Return a new page of this process, for one more tab; it shares read campaigns and the run.

    Parameters
    ----------
    model : name of the widget.
    """
    from labkit.apps.explorer import frame, running  # as in `prepare`

    runs = _open.setdefault("runs", running.Runs())
    return frame.page(_wanted(), _open.get("read"), os.environ.get(VIEW, ""), model=model, runs=runs)


def wanted(campaigns: Sequence[str], view: str = "") -> None:
    """Note what the page of this process shows at its start.

    Raises
    ------
    DataError
        If there is no such campaign or view.
    """
    os.environ[CAMPAIGN] = os.pathsep.join(campaign.name_of(name) for name in campaigns)
    if view:
        from labkit.apps.explorer import state  # as in `prepare`

        state.load(view)
    os.environ[VIEW] = view


def _wanted() -> list[str]:
    """Campaigns that are shown at the start."""
    return [name for name in os.environ.get(CAMPAIGN, "").split(os.pathsep) if name]


def prepare() -> None:
    """Load the modules and the first data of the page; needs no event loop."""
    from labkit.apps.explorer import frame, panels, store, view  # noqa: F401  # 0.6 s, while the server answers

    panels.find()
    benchmarks.find()
    read = store.Store()
    with suppress(LabkitError):  # said when the page opens
        names = [campaign.name_of(name) for name in _wanted()]
        if first := view.first(read.benchmarks(names)):
            read.summary(names, first)
    _open["read"] = read
