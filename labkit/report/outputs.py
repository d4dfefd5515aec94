"""Return the outputs of a cell in the forms that a report shows: cleaned, and figures with their data as a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from labkit.report import cleaning, figures

STRANGE = "[This output cannot be shown in a report.]"


def tidy(book: Any) -> int:
    """Clean the figures of a notebook before anything draws them; return how many outputs are no figures.

    Parameters
    ----------
    book : it is changed.
    """
    count = 0
    for cell in book.cells:
        for out in cell.get("outputs", []):
            if figures.PLOTLY not in out.get("data", {}):
                continue
            spec = cleaning.figure(out.data[figures.PLOTLY])
            out.data = {"text/plain": STRANGE} if spec is None else {**out.data, figures.PLOTLY: spec}
            count += spec is None
    return count


def form(kind: str, value: Any) -> str:
    """Return one form of an output, cleaned; empty where a report does not show it."""
    if not isinstance(value, str) or len(value) > cleaning.LARGEST:
        return ""
    cleaned = {
        "text/plain": cleaning.text,
        "text/markdown": cleaning.markdown,
        "text/html": cleaning.html,
        "image/svg+xml": cleaning.svg,
    }
    if kind in ("image/png", "image/jpeg"):
        return value if re.fullmatch(r"[A-Za-z0-9+/=\s]+", value) else ""
    return cleaned[kind](value) if kind in cleaned else ""


def figure_forms(spec: Mapping[str, Any], forms: Mapping[str, str], name: str, csv: dict[str, str]) -> dict[str, Any]:
    """Return the forms of a figure, and add its data to `csv` as a file."""
    taken = sum(1 for file in csv if file.startswith(f"{name}."))
    file = f"{name}.csv" if not taken else f"{name}.{taken + 1}.csv"
    try:
        text = figures.as_csv(spec)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, MemoryError):
        text = ""  # not real arrays: the figure shows what plotly makes of them
    if text:
        csv[file] = text
    bundle = {figures.PLOTLY: spec, figures.SVG: forms.get(figures.SVG, "")}
    return figures.bundle(bundle, link=f"data/{file}" if text else "")
