"""The forms of a figure in a report, from which the engines choose: HTML, SVG and text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from labkit.figures.parts import Described, Table, described
from labkit.figures.style import HEIGHT, MIME
from labkit.io import csv_export
from labkit.report import cleaning
from labkit.report.markdown import escape

PLOTLY = MIME
SVG = "image/svg+xml"
NOTE = "[Interactive figure: see the HTML report. Chromium, which draws figures for the PDF, was missing or failed.]"


_STILL = re.compile(r'<noscript><img src="(static/[^"]+)"')


@dataclass(frozen=True)
class Picture:
    """A figure of a chapter in Markdown: interactive in HTML, its svg in the PDF.

    Parameters
    ----------
    name : name of its files, without extension.
    label : label of the figure.
    caption : as Markdown; it ends with a description of the figure.
    spec : plotly's plain data.
    svg : its static form; empty if it could not be drawn.
    """

    name: str
    label: str
    caption: str
    spec: Mapping[str, Any]
    svg: str = ""

    @cached_property
    def _about(self) -> Described:
        about = described(self.spec)
        return replace(about, alt=f"{about.alt} {about.seen}".strip())

    @property
    def file(self) -> str:
        """Address of its svg."""
        return f"figures/{self.name}.svg"

    @property
    def shown(self) -> str:
        """The figure as Markdown."""
        return captioned(self.caption, self.file, self.label, self._about)

    @property
    def live(self) -> str:
        """What the page shows instead of the svg."""
        link = f"data/{self.label}.csv" if self.csv else ""
        return str(bundle(self.spec, self.svg, alt=self._about.alt, link=link, still=self.file)["text/html"])

    @cached_property
    def csv(self) -> str:
        """Its data."""
        return as_csv(self._about.table)


def bundle(spec: Mapping[str, Any], svg: str = "", *, alt: str = "", link: str = "", still: str = "") -> dict[str, Any]:
    """Return the three forms of a figure.

    Parameters
    ----------
    spec : plotly figure.
    svg : its picture; empty without one.
    alt : description in words.
    link : address of the figure's data, relative to the page; empty for none.
    still : address of its picture, for pages without scripts.

    Returns
    -------
    ``text/html`` (drawn by report.js), ``image/svg+xml`` if there is a picture, and ``text/plain`` for a PDF without
    the picture.
    """
    height = float(spec.get("layout", {}).get("height") or HEIGHT)
    figure = {key: spec[key] for key in ("data", "layout", "config") if key in spec}
    body = json.dumps(figure, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    words = html.escape(alt)
    shown = f' role="group" aria-label="{words}"' if words else ""
    page = f'<div class="plot" style="height:{height:g}px"{shown}><script type="application/json">{body}</script></div>'
    if svg and still:
        page += f'<noscript><img src="{html.escape(still)}" alt="{words}"></noscript>'
    if link:
        page += f'<p class="data"><a href="{html.escape(link)}" download>data (CSV)</a></p>'
    forms = {"text/html": page, "text/plain": NOTE}
    if svg:
        forms[SVG] = svg
    return forms


def still(data: Mapping[str, Any]) -> str:
    """Return the address of the picture in the HTML of a `bundle`; empty without one."""
    found = _STILL.search(data.get("text/html", ""))
    return found[1] if found else ""


def as_csv(table: Table) -> str:
    """Return the data of a figure as CSV text, with units in the heads; empty without data."""
    titles = [column.title for column in table.columns]
    return csv_export.of_rows(dict(zip(titles, row, strict=True)) for row in table.values)


def captioned(caption: str, file: str, label: str, about: Described) -> str:
    """Return a picture as Markdown, with its caption (Markdown) and description.

    Parameters
    ----------
    about : description of the figure; it ends the caption.
    """
    caption = f"{caption} {escape(about.seen)}" if about.seen else caption
    words = cleaning.spoken(about.alt) or "Figure"
    return f'![{caption}]({file}){{#{label} fig-alt="{words}"}}'
