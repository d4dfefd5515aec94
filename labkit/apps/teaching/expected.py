"""The answer that a run gives to a question, with the interval of that run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from labkit import stats
from labkit.errors import DataError


@dataclass(frozen=True)
class Expected:
    """The answer that a run gives to a question.

    Parameters
    ----------
    centre : the value; a text for a question with choices.
    low, high : interval over launches; NaN for a choice.
    basis : what the ends are, such as ``95 % interval of 6 launches``.
    by : whose answer it is.
    also : further values that count as right, such as the result computed from medians over launches.
    mistakes : description of a typical mistake → the value that it gives.
    """

    centre: float | str
    low: float = math.nan
    high: float = math.nan
    basis: str = ""
    by: str = "this run"
    also: tuple[float, ...] = ()
    mistakes: Mapping[str, float] = field(default_factory=dict)

    def without(self, mistakes: Mapping[str, float]) -> Expected:
        """Return the answer with the values of further typical mistakes."""
        return replace(self, mistakes={**self.mistakes, **mistakes})


def aggregate(values: Iterable[float], also: Iterable[float] = ()) -> Expected:
    """Make an answer from one value of each launch: their median, and the interval over launches.

    Parameters
    ----------
    values : one for each launch.
    also : of `Expected`.

    Raises
    ------
    DataError
        If there are none.

    Examples
    --------
    >>> one = aggregate([1.0, 2.0, 4.0])
    >>> one.centre, one.low, one.high, one.basis
    (2.0, 1.0, 4.0, 'range of 3 launches')
    """
    numbers = [float(value) for value in values]
    headline = stats.headline(numbers)
    if headline.launches == 1:
        raise DataError("There is 1 launch, but an interval needs at least 2. Measure again with launches=6.")
    further = tuple(map(float, also))
    return Expected(headline.centre, headline.low, headline.high, headline.label, also=further)
