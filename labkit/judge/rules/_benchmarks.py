"""The points of each benchmark, for rules that need its metrics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from labkit.judge.view import View


def of_benchmarks(view: View) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the name of each benchmark and which points are of it."""
    names = view.column("benchmark")
    for name in dict.fromkeys(names.tolist()):
        yield name, names == name
