"""The forms of a figure that a report shows: HTML, SVG and text, from which both engines can choose."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

from labkit.figures.parts import Described, Table, described
from labkit.figures.style import HEIGHT, MIME
from labkit.io import csv_export
from labkit.report import cleaning
from labkit.report.markdown import escape

PLOTLY = MIME
SVG = "image/svg+xml"
NOTE = "[Interactive figure: see the HTML report. Chromium, which draws figures for the PDF, was missing or failed.]"


def bundle(spec: Mapping[str, Any], svg: str = "", *, alt: str = "", link: str = "") -> dict[str, Any]:
    """Return the three forms of a figure from which both engines can choose.

    Parameters
    ----------
    spec : plotly figure.
    svg : its picture; empty where there is none.
    alt : what it shows, in words.
    link : address of the figure's data, relative to the page; empty for none.

    Returns
    -------
    ``text/html`` (drawn by report.js), ``image/svg+xml`` where there is one, and ``text/plain``, which the PDF
    shows where there is none.
    """
    height = float(spec.get("layout", {}).get("height") or HEIGHT)
    figure = {key: spec[key] for key in ("data", "layout", "config") if key in spec}
    body = json.dumps(figure, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    words = html.escape(alt)
    shown = f' role="group" aria-label="{words}"' if words else ""
    page = f'<div class="plot" style="height:{height:g}px"{shown}><script type="application/json">{body}</script></div>'
    if link:
        page += f'<p class="data"><a href="{html.escape(link)}" download>data (CSV)</a></p>'
    forms = {"text/html": page, "text/plain": NOTE}
    if svg:
        forms[SVG] = svg
    return forms


def as_csv(table: Table) -> str:
    """Return the data of a figure as CSV text, with units in the heads; empty where it holds none."""
    titles = [column.title for column in table.columns]
    return csv_export.of_rows(dict(zip(titles, row, strict=True)) for row in table.values)


def captioned(caption: str, file: str, label: str, about: Described | Mapping[str, Any]) -> str:
    """Return a picture as Markdown, with its caption, which is Markdown too, and what it shows in words.

    Parameters
    ----------
    about : description of the figure, or the figure as plotly's plain data; what is to see in it ends the caption.
    """
    about = about if isinstance(about, Described) else described(about)
    caption = f"{caption} {escape(about.seen)}" if about.seen else caption
    words = cleaning.spoken(about.alt) or "Figure"
    return f'![{caption}]({file}){{#{label} fig-alt="{words}"}}'
