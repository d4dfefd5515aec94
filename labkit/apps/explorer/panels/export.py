"""Export what the page shows, and save views: figures, data, Python code, the whole page, links."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from labkit.apps.explorer import export, state, whole
from labkit.apps.explorer.code import code_for
from labkit.apps.explorer.folds import Folds
from labkit.apps.explorer.session import Session
from labkit.apps.explorer.view import View
from labkit.errors import LabkitError

TITLE, PLACE, ORDER = "Take away and share", "under", 2
_WHOLE = "the whole page: plots, points, values, in one file to send; needs no network"


def build(session: Session) -> Any:
    """The panel."""
    letter = widgets.Dropdown(options=["A", "B"], description="plot", layout={"width": "110px"})
    letter.style.description_width = "initial"
    letter.add_class("lab-export-plot")
    folder = widgets.Text(
        description="into", placeholder=str(export.folder()), continuous_update=False, layout={"width": "380px"}
    ).add_class("lab-export-folder")
    folder.tooltip, folder.style.description_width = "folder for the files, outside of campaigns", "initial"
    note, lines = widgets.HTML().add_class("lab-exported").add_class("lab-text"), widgets.HTML().add_class("lab-lines")

    def show_lines() -> None:
        view = session.views.get(letter.value)
        if view is None or not view.metric or not code.buttons[0].value:  # nobody sees it
            lines.value = ""
            return
        summary = session.store.summary(session.campaigns, view.benchmark)
        lines.value = f"<pre class='lab-python' tabindex='0'>{html.escape(code_for(view, summary))}</pre>"

    def write(form: str) -> None:
        view = session.views[letter.value]
        if not view.metric:
            note.value = "Nothing to export: the plot is empty."
            return
        summary = session.store.summary(session.campaigns, view.benchmark)
        _told(note, form, lambda: written(view, summary, form))

    def written(view: View, summary: pd.DataFrame, form: str) -> Path:
        session.refuse()
        make = lambda: session.figure(view, summary)  # noqa: E731
        return export.write(view, summary, form, export.place(folder.value), make)

    def page() -> Path:
        session.refuse()
        data = whole.page(session).encode()
        return export.kept(export.place(folder.value), f"page-{export.stem(session.views['A'])}", "html", data)

    buttons = []
    for form, about in export.FORMS.items():
        button = widgets.Button(description=form.upper(), tooltip=about).add_class(f"lab-export-{form}")
        button.on_click(lambda pressed, form=form: write(form))
        buttons.append(button)
    every = widgets.Button(description="Whole page", button_style="primary", tooltip=_WHOLE).add_class(
        "lab-export-whole"
    )
    every.on_click(lambda pressed: _told(note, "html", page))
    code = Folds([lines], ["the Python code that draws it"])
    code.buttons[0].observe(lambda change: show_lines(), "value")
    letter.observe(lambda change: show_lines(), "value")
    session.on("view", show_lines)
    row = widgets.HBox([every, letter, *buttons, folder], layout={"flex_flow": "row wrap"})
    return widgets.VBox([row, note, _views(session), code])


def _told(note: Any, form: str, write: Callable[[], Path]) -> None:
    """Write a file, and say where it is or why there is none."""
    note.value = f"Writing {form} …"
    try:
        path = write()
        note.value = f"{export.link(path)} in <code>{html.escape(str(path.parent))}</code>"
    except (LabkitError, OSError) as error:
        note.value = html.escape(str(error))


def _views(session: Session) -> Any:
    """Make the fields that save what the page shows, and show it again."""
    name = widgets.Text(placeholder="name of a view", layout={"width": "180px"}).add_class("lab-view-name")
    keep = widgets.Button(description="Save view", tooltip="keep what the page shows under this name")
    choose = widgets.Dropdown(description="saved", layout={"width": "220px"}).add_class("lab-view-saved")
    choose.style.description_width = "initial"
    again = widgets.Button(description="Open view", tooltip="show what was saved")
    note = widgets.HTML().add_class("lab-text").add_class("lab-view-note")
    note.value = "The address of this page is a link to what it shows."

    def offered() -> None:
        before, choose.options = choose.value, state.saved()
        choose.value = before if before in choose.options else next(iter(choose.options), None)
        choose.disabled = again.disabled = not choose.options

    def saved(button: Any) -> None:
        try:
            session.refuse()
            path = state.save(name.value, session.state)
            offered()
            choose.value = path.stem
            note.value, name.value = f"saved: <code>labkit explore --view {html.escape(path.stem)!r}</code>", ""
        except (LabkitError, OSError) as error:
            note.value = html.escape(str(error))

    def opened(button: Any) -> None:
        try:
            session.show(state.load(choose.value))
        except (LabkitError, OSError) as error:
            note.value = html.escape(str(error))

    keep.on_click(saved)
    again.on_click(opened)
    session.on("campaigns", offered)
    offered()
    row = [name, keep.add_class("lab-view-save"), choose, again.add_class("lab-view-open")]
    return widgets.VBox([widgets.HBox(row, layout={"flex_flow": "row wrap"}), note])
