"""Export what a plot shows: the figure, its data, and the Python code that draws it."""

from __future__ import annotations

import html
from typing import Any

import ipywidgets as widgets

from labkit.errors import LabkitError
from labkit.explorer import export, store
from labkit.explorer.folds import Folds
from labkit.explorer.session import Session

TITLE, PLACE, ORDER = "Take away", "main", 2


def build(session: Session) -> Any:
    """The panel."""
    letter = widgets.Dropdown(options=["A", "B"], description="plot", layout={"width": "130px"})
    letter.style.description_width = "initial"
    letter.add_class("lab-export-plot")
    note, lines = widgets.HTML().add_class("lab-exported").add_class("lab-text"), widgets.HTML().add_class("lab-lines")

    def show_lines() -> None:
        view = session.views.get(letter.value)
        if view is None or not view.metric:
            lines.value = ""
            return
        summary = session.store.summary(session.campaigns, view.benchmark)
        lines.value = f"<pre class='lab-python' tabindex='0'>{html.escape(view.lines(summary))}</pre>"

    def write(form: str) -> None:
        view = session.views[letter.value]
        if not view.metric:
            note.value = "Nothing to export: the plot is empty."
            return
        note.value = f"Writing {form} …"
        try:
            summary = session.store.summary(session.campaigns, view.benchmark)
            folder = store.opened(view.campaigns[0]).derived / "exports"
            path = export.write(view, summary, form, folder)
            note.value = f"{export.link(path)} in <code>{html.escape(str(folder))}</code>"
        except (LabkitError, OSError) as error:
            note.value = html.escape(str(error))

    buttons = []
    for form, about in export.FORMS.items():
        button = widgets.Button(description=form.upper(), tooltip=about).add_class(f"lab-export-{form}")
        button.on_click(lambda pressed, form=form: write(form))
        buttons.append(button)
    letter.observe(lambda change: show_lines(), "value")
    session.on("view", show_lines)
    row = widgets.HBox([letter, *buttons], layout={"flex_flow": "row wrap"})
    return widgets.VBox([row, note, Folds([lines], ["the Python code that draws it"])])
