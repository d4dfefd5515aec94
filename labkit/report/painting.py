"""The same colours through a whole report: its notebooks were executed apart from one another, each by itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from labkit.errors import LabkitWarning
from labkit.figures import looks
from labkit.figures.static import svgs
from labkit.notes import joined
from labkit.report import figures


def unify(books: Sequence[Any]) -> list[str]:
    """Give every series one colour and marker in all figures; static forms of figures that change are drawn anew.

    The first figure decides. Series that share any figure get different colours, as long as there are enough.

    Parameters
    ----------
    books : executed notebooks as they were read; they are changed.

    Returns
    -------
    What a reader of the report has to know.
    """
    shown = [bundle for book in books for bundle in _bundles(book)]
    chosen = _chosen([_series(bundle[figures.PLOTLY]) for bundle in shown])
    changed = [bundle for bundle in shown if looks.repaint(bundle[figures.PLOTLY], chosen) and bundle.get(figures.SVG)]
    if not changed:
        return []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LabkitWarning)
        drawn = svgs([bundle[figures.PLOTLY] for bundle in changed])
    for bundle, svg in zip(changed, drawn, strict=True):
        bundle[figures.SVG] = svg or bundle[figures.SVG]
    lost = sum(svg is None for svg in drawn)
    why = joined(one.message for one in caught)
    return (
        [f"In the PDF, {lost} figures keep colours that differ from those of their series elsewhere: {why}"]
        if lost
        else []
    )


def _bundles(book: Any) -> Iterator[dict[str, Any]]:
    """Figures of a notebook in all their forms."""
    for cell in book.cells:
        for output in cell.get("outputs", []):
            if figures.PLOTLY in output.get("data", {}):
                yield output["data"]


def _series(spec: dict[str, Any]) -> dict[str, int]:
    """Series of a figure with the looks they have in it."""
    found = [look for trace in spec.get("data", []) if (look := looks.drawn(trace))]
    return {look.series: look.slot for look in found}


def _chosen(figures: Sequence[dict[str, int]]) -> dict[str, int]:
    """Look of every series: what its first figure has, unless a series beside it in any figure has that colour."""
    beside: dict[str, set[str]] = {}
    for held in figures:
        for series in held:
            beside.setdefault(series, set()).update(held.keys() - {series})
    chosen = dict(looks.FIXED)
    for held in figures:
        for series, slot in held.items():
            if series not in chosen:
                near = [chosen[other] for other in beside[series] if other in chosen]
                taken = {looks.Look(series, other).colour for other in near}
                chosen[series] = looks.free(near) if looks.Look(series, slot).colour in taken else slot
    return chosen
