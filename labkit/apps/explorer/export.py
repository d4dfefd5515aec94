"""Write what a plot shows as files: figure, data and Python code."""

from __future__ import annotations

import base64
import html
import itertools
import json
import os
import re
import shlex
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import plotly.io

from labkit import __version__
from labkit.apps.explorer import code, origin
from labkit.apps.explorer.view import HEIGHT, View
from labkit.errors import DataError, LabkitWarning, ReportError
from labkit.figures import parts, static, style
from labkit.figures.lines import HEADLINE
from labkit.figures.provenance import Provenance
from labkit.figures.style import CONFIG
from labkit.io import atomic, beneath, csv_export
from labkit.point.notes import joined
from labkit.read.records import tables
from labkit.store import campaign, derived

WIDTH = 900  # px of a picture
FORMS: Mapping[str, str] = {
    "svg": "picture for print",
    "pdf": "picture for LaTeX",
    "png": "picture for slides, two dots per pixel",
    "html": "interactive page that works offline",
    "csv": "the rows behind the points",
    "parquet": "the same rows with types, for pandas",
    "py": "Python that draws the same figure",
    "ipynb": "notebook with one cell that draws the same figure",
}
_SCALE = {True: "log", False: "linear"}
_FOOT = 22  # px of the line below a figure
_LONGEST = 180  # characters of a name, without its end
_LARGEST = 6_000_000  # B of a file that the page itself can contain
_KINDS = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "html": "text/html",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "py": "text/x-python",
    "ipynb": "application/x-ipynb+json",
}


def folder() -> Path:
    """Folder for exported files: beside the campaigns, never inside one."""
    return campaign.root() / "exports"


def place(text: str) -> Path:
    """Folder that a reader names; the usual one if the text is empty.

    Raises
    ------
    DataError
        If it is one of labkit's examples or inside a campaign, or cannot be read as a path.
    """
    try:
        path = Path(text.strip()).expanduser() if text.strip() else folder()
        path = path if path.is_absolute() else folder() / path
        bundled = derived.bundled(path)
        inside = next((one for one in (path, *path.parents) if (one / "campaign.json").exists()), None)
    except (OSError, RuntimeError, ValueError) as error:
        raise DataError(f"{text[:80]!r} is not a folder: {error}. Name another.") from error
    if bundled:
        raise DataError(f"{path} belongs to an example, and labkit never changes that. Name a folder of your own.")
    if inside is not None:
        raise DataError(f"{path} is inside the campaign {inside}, which holds measurements alone. Name another folder.")
    return path


def stem(view: View) -> str:
    """Name for the files of a view, from everything that differs from the usual plot of its benchmark."""
    usual = View()
    titles = campaign.titles(view.campaigns)
    names = [*titles.values()]
    told = [*names[:2], f"{len(names) - 2}-more"] if len(names) > 2 else names
    words = [view.benchmark, view.metric, "" if view.statistic == HEADLINE else view.statistic]
    words += [f"by-{view.x}" if view.x != usual.x else "", view.unit.replace("/", "p")]
    words += ["x-" + _SCALE[view.x_log] if view.x_log is not None else ""]
    words += ["y-" + _SCALE[view.y_log] if view.y_log is not None else ""]
    words += [f"{column}={'+'.join(titles.get(one, one) for one in levels)}" for column, levels in view.where]
    base = titles.get(view.base, view.base)
    words += [f"grouped-{view.by}" if view.by else "", f"{view.relation}-to-{base}" if view.relation else ""]
    words += ["published"] * view.published + ["bounds"] * view.bounds
    text = "-".join(part for part in (*words[:3], *told, *words[3:]) if part)
    return re.sub(r"[^\w.=+-]+", "_", text, flags=re.ASCII)[:_LONGEST].strip("._-") or "plot"


def write(
    view: View,
    summary: pd.DataFrame,
    form: str,
    folder: Path,
    draw: Callable[[], go.Figure] | None = None,
) -> Path:
    """Write a plot in one form and return its path; a number is added if another file has that name.

    Parameters
    ----------
    view : what is shown.
    summary : its data.
    form : one of `FORMS`.
    folder : made when it is not there.
    draw : draws it with what the session knows beside the data; the view alone when left out.

    Raises
    ------
    DataError
        If there is nothing to draw.
    ReportError
        If a picture cannot be made.
    """
    return kept(folder, stem(view), form, _content(view, summary, form, draw or (lambda: view.figure(summary))))


def kept(folder: Path, stem: str, form: str, data: bytes) -> Path:
    """Write a file that replaces none, and return its path; the same content is not written twice."""
    with beneath.folder(folder.parent, folder.name, make=True) as place:
        for count in itertools.count(1):  # earlier exports stay
            name = f"{stem}.{form}" if count == 1 else f"{stem}-{count}.{form}"
            if _holds(place / name, data):
                return folder / name
            if not os.path.lexists(place / name):
                atomic.replace(place / name, data, durable=True)
                return folder / name
    raise AssertionError


def _holds(path: Path, data: bytes) -> bool:
    """Return whether a file has this content."""
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _content(view: View, summary: pd.DataFrame, form: str, draw: Callable[[], go.Figure]) -> bytes:
    """Bytes of a form."""
    if form in ("csv", "parquet"):
        return _data(view, summary, form)
    if form == "py":
        return code.code_for(view, summary).encode()
    if form == "ipynb":
        return code.notebook(view, summary).encode()
    figure = footed(draw(), view, summary)
    if form == "html":
        return str(plotly.io.to_html(figure, config=dict(CONFIG), include_plotlyjs=True, full_html=True)).encode()
    spec = json.loads(figure.update_layout(width=WIDTH).to_json())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LabkitWarning)
        drawn = _picture(spec, form, _provenance(view, spec))
    if not drawn:
        reason = joined(one.message for one in caught)
        raise ReportError(f"The figure cannot be saved as {form}. {reason}, or save the figure as html.")
    return drawn


def _data(view: View, summary: pd.DataFrame, form: str) -> bytes:
    """Rows with the titles of their campaigns; a column of the CSV has labkit's version, because it has no metadata."""
    rows = view.rows(summary)
    rows = rows.assign(campaign=view.titled(rows["campaign"]))
    if form == "parquet":
        return tables.parquet(rows, origin.facts(view, summary))
    return csv_export.of_frame(tables.printed(rows).assign(labkit=__version__)).encode()


def footed(figure: go.Figure, view: View, summary: pd.DataFrame) -> go.Figure:
    """Write below a figure where its numbers come from; the figure is changed."""
    words = style.plain(origin.line(view, summary))
    below = {"text": words, "xref": "container", "x": 0.99, "xanchor": "right", "font": {"size": 10}}
    below |= {"yref": "container", "y": 0.006, "yanchor": "bottom", "automargin": False}
    bottom = figure.layout.margin.b or figure.layout.template.layout.margin.b or 80
    height = (figure.layout.height or HEIGHT) + _FOOT
    return figure.update_layout(title=below, height=height, margin={"b": bottom + _FOOT})


def _picture(spec: Mapping[str, Any], form: str, about: Provenance) -> bytes:
    """Return a picture that says where it comes from; empty if it cannot be drawn."""
    if form == "svg":
        svg = static.svgs([spec])[0]
        return about.in_svg(svg).encode() if svg else b""
    (drawn,) = static.pngs([spec]) if form == "png" else static.pdfs([spec])
    return (about.in_png(drawn) if form == "png" else about.in_pdf(drawn)) if drawn else b""


def _provenance(view: View, spec: Mapping[str, Any]) -> Provenance:
    """Return the provenance of the picture of a view; its command opens the Explorer on the same campaigns."""
    names = [shlex.quote(name) for name in view.campaigns]
    told = ", ".join(campaign.titles(view.campaigns).values())
    return Provenance(campaign=told, command=" ".join(["labkit explore", *names]), caption=parts.described(spec).alt)


def link(path: Path) -> str:
    """Link that downloads a file, as HTML; only its name if it is too large for a page."""
    name = html.escape(path.name)
    if path.stat().st_size > _LARGEST:
        return f"<b>{name}</b>"
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<a download="{name}" href="data:{_KINDS[path.suffix[1:]]};base64,{data}"><b>{name}</b></a>'
