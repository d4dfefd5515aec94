"""Give a series the same colour in a whole report, whose notebooks were executed independently."""

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
    """Give every series one colour and marker in all figures; draw static forms of changed figures anew.

    The first figure decides. Series that share any figure get different colours, as long as there are enough.

    Parameters
    ----------
    books : executed notebooks as they were read; they are changed.

    Returns
    -------
    Warnings for readers of the report.
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
    if not lost:
        return []
    reasons = joined(one.message for one in caught)
    return [f"In the PDF, {lost} figures keep colours that differ from those of their series elsewhere: {reasons}"]


def _bundles(book: Any) -> Iterator[dict[str, Any]]:
    """Yield the figures of a notebook in all their forms."""
    for cell in book.cells:
        for output in cell.get("outputs", []):
            if figures.PLOTLY in output.get("data", {}):
                yield output["data"]


def _series(spec: dict[str, Any]) -> dict[str, int]:
    """Return the series of a figure with their looks in it."""
    drawn = [look for trace in spec.get("data", []) if (look := looks.drawn(trace))]
    return {look.series: look.slot for look in drawn}


def _chosen(figures: Sequence[dict[str, int]]) -> dict[str, int]:
    """Return the look of every series: that of its first figure, unless a series beside it anywhere has its colour."""
    beside: dict[str, set[str]] = {}
    for slots in figures:
        for series in slots:
            beside.setdefault(series, set()).update(slots.keys() - {series})
    chosen = dict(looks.FIXED)
    for slots in figures:
        for series, slot in slots.items():
            if series not in chosen:
                near = [chosen[other] for other in beside[series] if other in chosen]
                taken = {looks.Look(series, other).colour for other in near}
                chosen[series] = looks.free(near) if looks.Look(series, slot).colour in taken else slot
    return chosen
