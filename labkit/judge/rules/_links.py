"""Series along an option of an emulated link, for rules on loss, delay and rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from labkit.errors import SpecError
from labkit.judge.view import View
from labkit.judge.view.points import Series
from labkit.point.testbed import amount, parse

NONE = {"soft-roce": 0.0, "virtual-cluster": 0.0}  # without the option, these testbeds add no loss and no delay


def along(view: View, option: str, absent: Mapping[str, float], said: Callable[[float], str]) -> Iterator[Series]:
    """Yield the points that differ only in an option of their testbed.

    Parameters
    ----------
    absent : testbed → value of the option if it is not given.
    said : value → words.
    """
    return view.series(
        "testbed", partial(_setting, option, absent), said, replace={"testbed": partial(_without, option)}
    )


def _setting(option: str, absent: Mapping[str, float], testbed: str) -> float | None:
    """Return the value of an option of a testbed; None if that is not a number, or not known."""
    try:
        name, _, options = parse(testbed)
    except SpecError:
        return None
    value = amount(options[option]) if option in options else absent.get(name, math.nan)
    return None if math.isnan(value) else value


def _without(option: str, testbed: str) -> str:
    """Return a text that is the same for testbeds that differ in an option only."""
    try:
        name, argument, options = parse(testbed)
    except SpecError:
        return testbed
    return str((name, argument, sorted((key, value) for key, value in options.items() if key != option)))
