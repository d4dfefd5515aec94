"""Launches selected by their metadata, for rules about their documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from labkit.judge.view import View
from labkit.judge.view.points import Columns, Row, in_files
from labkit.store.samples import Samples

T = TypeVar("T")


def launches_with(view: View, function: Callable[[Samples], T | None]) -> Iterator[tuple[Row, T]]:
    """Yield launches in file order with the result of a function of their metadata if it is not None."""
    if view.launches:
        found, kind, columns = [*map(function, view.launches.kinds)], view.launches.kind, Columns(view.records)
        rows = np.flatnonzero(np.array([one is not None for one in found], bool)[kind])
        for row in in_files(columns, rows).tolist() if len(rows) else ():
            made = found[kind[row]]
            assert made is not None
            yield Row(columns, row), made
