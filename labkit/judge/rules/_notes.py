"""Notes of points, for rules about badges and warnings."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from labkit.judge.view import View
from labkit.judge.view.points import Row, holding
from labkit.point.notes import Note


def noted(view: View, column: str, codes: Collection[str]) -> Iterator[tuple[Row, Note]]:
    """Yield points with notes of some kinds, and the last note of each kind."""
    wanted = holding(view.column(column), lambda cell: any(one.code in codes for one in cell))
    for row in view.rows(wanted):
        for one in {one.code: one for one in row[column] if one.code in codes}.values():
            yield row, one
