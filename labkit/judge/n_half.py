"""The message size from which half of the highest bandwidth is reached: N½ of Hockney (1994), for measured curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.point.units import format_size


@dataclass(frozen=True)
class Half:
    """Sizes at which a curve of bandwidth is above half of its highest value.

    Parameters
    ----------
    size : smallest size, B, from which on all sizes reach half; None if the largest does not.
    first : smallest size that reaches half.
    below : sizes above `first` that do not reach half.
    """

    size: int | None
    first: int
    below: tuple[int, ...]

    @property
    def sentence(self) -> str:
        """Clause for a sentence about the highest bandwidth."""
        if not self.below:
            return f"half of it is reached from {format_size(self.first)} on"
        where = " and ".join(map(format_size, self.below)) if len(self.below) < 3 else f"{len(self.below)} larger sizes"
        again = "" if self.size is None else f", and reached again from {format_size(self.size)} on"
        first = f"half of it is first reached at {format_size(self.first)}, lost at {where}"
        return f"the curve is not monotonic: {first}{again}"


def half_of(sizes: Sequence[int], rates: Sequence[float]) -> Half:
    """Find the sizes that reach half of the highest rate.

    Parameters
    ----------
    sizes : sizes of messages, B, ascending.
    rates : rate at each size, or NaN; at least one is a number.

    Examples
    --------
    >>> half_of([1, 2, 4, 8], [1.0, 6.0, 2.0, 10.0]).sentence
    'the curve is not monotonic: half of it is first reached at 2 B, lost at 4 B, and reached again from 8 B on'
    """
    known = [(int(size), rate) for size, rate in zip(sizes, rates, strict=True) if not math.isnan(rate)]
    least = max(rate for _, rate in known) / 2
    first = next(size for size, rate in known if rate >= least)
    below = tuple(size for size, rate in known if size > first and rate < least)
    lasting = first if not below else next((size for size, _ in known if size > below[-1]), None)
    return Half(lasting, first, below)
