"""The answer that a run gives to a question, with the interval of that run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from labkit import stats
from labkit.errors import DataError


@dataclass(frozen=True)
class Expected:
    """The answer that a run gives to a question.

    Parameters
    ----------
    centre : the value; a text for a question with choices.
    low, high : ends of what counts as right; NaN for a choice.
    basis : what the ends are, such as ``95 % interval of 6 launches``.
    by : whose answer it is.
    """

    centre: float | str
    low: float = math.nan
    high: float = math.nan
    basis: str = ""
    by: str = "this run"


def aggregate(values: Iterable[float], also: Iterable[float] = ()) -> Expected:
    """Make an answer from one value of each launch: their median, and the interval over launches.

    Parameters
    ----------
    values : one for each launch.
    also : further values that count as right, such as the result computed from medians over launches.

    Raises
    ------
    DataError
        If there are none.

    Examples
    --------
    >>> aggregate([1.0, 2.0, 4.0])
    Expected(centre=2.0, low=1.0, high=4.0, basis='range of 3 launches', by='this run')
    """
    numbers = [float(value) for value in values]
    headline = stats.headline(numbers)
    if headline.launches == 1:
        raise DataError("There is 1 launch, but a tolerance needs at least 2. Measure again with launches=6.")
    ends = [headline.low, headline.high, *map(float, also)]
    return Expected(headline.centre, min(ends), max(ends), headline.label)
