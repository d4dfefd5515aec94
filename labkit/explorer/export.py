"""Write what a plot shows as files: figure, data and Python code."""

from __future__ import annotations

import base64
import html
import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import plotly.io

from labkit import spreadsheet, writing
from labkit.errors import ReportError
from labkit.explorer.view import View
from labkit.figures import static
from labkit.figures.style import CONFIG
from labkit.records import tables

WIDTH = 900  # px of a picture
FORMS: Mapping[str, str] = {
    "svg": "picture for print",
    "png": "picture for slides, two dots per pixel",
    "html": "interactive page that works offline",
    "csv": "the rows behind the points",
    "parquet": "the same rows with types, for pandas",
    "py": "Python that draws the same figure",
}
_LARGEST = 6_000_000  # B of a file that the page itself can contain
_KINDS = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "html": "text/html",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "py": "text/x-python",
}


def write(view: View, summary: pd.DataFrame, form: str, folder: Path) -> Path:
    """Write a plot in one form and return its path; a number is added if another file has that name.

    Parameters
    ----------
    view : what is shown.
    summary : its data.
    form : one of `FORMS`.
    folder : made when it is not there.

    Raises
    ------
    DataError
        If there is nothing to draw.
    ReportError
        If a picture cannot be made.
    """
    stem = "-".join(part for part in (view.benchmark, view.metric, view.statistic) if part)
    folder.mkdir(parents=True, exist_ok=True)
    data = _content(view, summary, form)
    for count in itertools.count(1):  # earlier exports stay
        path = folder / (f"{stem}.{form}" if count == 1 else f"{stem}-{count}.{form}")
        if path.is_file() and path.read_bytes() == data:
            return path
        if not os.path.lexists(path):
            with writing.opened(path) as file:
                file.write(data)
            return path
    raise AssertionError


def _content(view: View, summary: pd.DataFrame, form: str) -> bytes:
    """Bytes of a form."""
    if form == "csv":
        return spreadsheet.of_frame(tables.printed(summary)).encode()
    if form == "parquet":
        return tables.parquet(summary)
    if form == "py":
        return view.lines(summary).encode()
    figure = view.figure(summary)
    if form == "html":
        return str(plotly.io.to_html(figure, config=dict(CONFIG), include_plotlyjs=True, full_html=True)).encode()
    spec = json.loads(figure.update_layout(width=WIDTH).to_json())
    drawn = static.pngs([spec])[0] if form == "png" else (static.svgs([spec])[0] or "").encode()
    if not drawn:
        raise ReportError(f"A figure as {form} needs Chromium. Install Chromium, or choose html.")
    return drawn


def link(path: Path) -> str:
    """Link that downloads a file, as HTML; only its name if it is too large for a page."""
    name = html.escape(path.name)
    if path.stat().st_size > _LARGEST:
        return f"<b>{name}</b>"
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<a download="{name}" href="data:{_KINDS[path.suffix[1:]]};base64,{data}"><b>{name}</b></a>'
