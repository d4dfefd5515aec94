"""The Explorer: measure, compare and look into points in a page, with the same parts as the command line.

A panel is one file in ``labkit/explorer/panels``; `labkit explore` opens the page.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from labkit import campaign

CAMPAIGN = "LABKIT_EXPLORE"
_STYLE = """<style>
.lab-explorer {--jp-widgets-font-size: 14px; --jp-widgets-input-border-color: #767676; color: #222; gap: 8px}
.lab-explorer h2 {font-size: 16px; margin: 4px 0 2px; line-height: 1.3}
.lab-explorer .lab-panel {border: 1px solid #c8ced6; border-radius: 4px; padding: 6px 10px 8px; background: #fff;
  overflow: visible}
.lab-explorer :is(button, input, select, textarea, a):focus-visible {outline: 3px solid #0072b2; outline-offset: 1px}
.lab-explorer .jupyter-button {width: auto; min-width: 72px}
.lab-explorer .lab-columns {gap: 8px}
.lab-explorer button.lab-fold {width: 100%; text-align: left; font-weight: 600; background: #eef1f5; color: #222;
  box-shadow: none; border: 1px solid #c8ced6; margin: 2px 0}
.lab-explorer .lab-folded {padding: 2px 0 6px 10px}
.lab-explorer .widget-html-content {line-height: 1.4}
.lab-explorer .lab-why {color: #8c2d00; white-space: normal}
.lab-explorer .lab-same {color: #222}
.lab-explorer .lab-off {color: #666}
.lab-explorer .lab-text p {margin: 2px 0 6px}
.lab-explorer .lab-text {white-space: normal}
.lab-explorer .lab-python {max-height: 340px}
.lab-explorer pre {font: 12px/1.35 var(--jp-code-font-family, monospace); margin: 2px 0; white-space: pre-wrap;
  word-break: normal; overflow-wrap: anywhere; max-height: 190px; overflow-y: auto}
.lab-explorer input:disabled, .lab-explorer select:disabled, .lab-explorer button:disabled {opacity: .5}
.lab-explorer .lab-choice:has(input:disabled) {opacity: .55}
</style>"""
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
    """Make a page: all panels, with a new session."""
    import ipywidgets as widgets

    from labkit.explorer import panels
    from labkit.explorer.session import Session

    session, places = Session(list(campaigns)), {"side": [], "main": []}  # type: ignore[var-annotated]
    for panel in panels.find():
        built = widgets.VBox([widgets.HTML(f"<h2>{panel.TITLE}</h2>"), panel.build(session)])
        built.add_class("lab-panel").add_class(f"lab-{panel.__name__.rpartition('.')[2]}")
        places[panel.PLACE].append(built)
    columns = [
        widgets.VBox(places["side"], layout={"width": "372px", "flex": "0 0 372px"}),
        widgets.VBox(places["main"], layout={"flex": "1 1 0%", "min_width": "0", "overflow": "visible"}),
    ]
    body = widgets.HBox(columns, layout={"width": "100%", "align_items": "flex-start"})
    for box in (body, *columns):
        box.add_class("lab-columns")
    made = widgets.VBox([widgets.HTML(_STYLE, layout={"display": "none"}), body]).add_class("lab-explorer")
    session.tell("campaigns")
    return made
