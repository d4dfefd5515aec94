"""Give each series one colour in the whole report, and draw the static forms of figures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labkit.errors import LabkitWarning
from labkit.figures import looks
from labkit.figures.static import svgs
from labkit.figures.style import HEIGHT
from labkit.point.notes import joined
from labkit.point.units import plural
from labkit.report import figures


def unify(books: Sequence[Any]) -> list[dict[str, Any]]:
    """Give every series one colour and marker in all figures; return the changed figures.

    The first figure decides. Series in the same figure get different colours, if there are enough.

    Parameters
    ----------
    books : executed notebooks as they were read; they are changed.
    """
    shown = [bundle for book in books for bundle in _bundles(book)]
    chosen = _chosen([_series(bundle[figures.PLOTLY]) for bundle in shown])
    return [bundle for bundle in shown if looks.repaint(bundle[figures.PLOTLY], chosen)]


def heighten(books: Sequence[Any]) -> dict[int, dict[str, Any]]:
    """Return the static forms of low figures that have a page to themselves, by the identity of the figure."""
    changed = {}
    for bundle in (one for book in books for one in _bundles(book)):
        layout = bundle[figures.PLOTLY]["layout"]
        if float(layout.get("height") or HEIGHT) < _HIGH:
            changed[id(bundle)] = {**bundle[figures.PLOTLY], "layout": {**layout, "height": _HIGH}}
    return changed


_HIGH = 330  # px


def draw(
    books: Sequence[Any],
    changed: Sequence[Any],
    more: Sequence[Any] = (),
    other: Mapping[int, Mapping[str, Any]] | None = None,
) -> tuple[list[str | None], int, str]:
    """Draw the static forms of changed figures, and of figures without one, in one browser session.

    Parameters
    ----------
    books : executed notebooks; their figures get the static forms.
    changed : figures among them with an outdated static form.
    more : further figures, as plotly's plain data.
    other : identity of a figure among them → its static form as plotly's plain data, if it differs.

    Returns
    -------
    The svg of each of `more`, the number of figures that keep an outdated static form, and why figures could not be
    drawn; empty if all were drawn.
    """
    other = other or {}
    anew = {*map(id, changed), *other}
    shown = [one for book in books for one in _bundles(book) if id(one) in anew or not one.get(figures.SVG)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LabkitWarning)
        drawn = svgs([*(other.get(id(bundle), bundle[figures.PLOTLY]) for bundle in shown), *more])
    lost = 0
    for bundle, svg in zip(shown, drawn, strict=False):
        lost += svg is None and figures.SVG in bundle
        if svg:
            bundle[figures.SVG] = svg
    return drawn[len(shown) :], lost, joined(one.message for one in caught)


def warning(undrawn: int, lost: int, reason: str) -> list[str]:
    """Return a sentence on what the PDF shows instead of figures that could not be drawn; empty without any.

    Parameters
    ----------
    undrawn : figures that have no static form.
    lost : figures that keep the colours of another report.
    reason : as from `draw`.
    """
    parts = []
    if undrawn:
        parts.append(f"{plural(undrawn, 'figure')} {'is' if undrawn == 1 else 'are'} replaced by a note")
    if lost:
        parts.append(f"{plural(lost, 'figure')} may have other colours than in the HTML report")
    again = ", then run labkit report again" if "install it with" in reason else ""
    because = f", because {reason}{again}" if reason else ""
    return [f"In the PDF, {' and '.join(parts)}{because}."] if parts else []


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
    """Return the look of every series: that of its first figure, unless a neighbour in any figure has its colour."""
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
                chosen[series] = looks.free(series, near) if looks.Look(series, slot).colour in taken else slot
    return chosen
