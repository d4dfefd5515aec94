"""Questions of labs, and the check of an answer against the run that the learner reads."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.results import Results
from labkit.errors import SpecError
from labkit.point.units import format_number

Given = float | str | None
_COMMA = re.compile(r"\s*([+-]?\d+),(\d+)\s*")
_TIMES = ("s", "ms", "µs", "ns")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question, or something to predict.

    Parameters
    ----------
    name : by which a notebook calls it.
    text : what is asked.
    of : the answer that results give.
    unit : of a number; empty for a pure number, and for choices.
    choices : texts to choose from; none for a number.
    hints : from a first thought to nearly the answer.
    points : for grading.
    after : whether it predicts something that the measurement shows first; the first value then is the prediction.
    """

    name: str
    text: str
    of: Callable[[Results], Expected]
    unit: str = ""
    choices: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    points: int = 1
    after: bool = False


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and what to say to the learner."""

    right: bool
    text: str


def tolerance(expected: Expected) -> tuple[float, float]:
    """Return the ends of what counts as right: the interval, widened so that two digits are always enough.

    Examples
    --------
    >>> tolerance(Expected(0.262, 0.261, 0.263))
    (0.257, 0.267)
    """
    centre = float(expected.centre)
    half = 0.5 * 10 ** (math.floor(math.log10(abs(centre))) - 1) if centre else 0.0
    return min(expected.low, round(centre - half, 12)), max(expected.high, round(centre + half, 12))


def number_of(given: Any) -> float:
    """Convert what a learner gave, a number or text with one, to a number.

    Raises
    ------
    SpecError
        If it is none.
    """
    if given is None or (isinstance(given, str) and not given.strip()):
        raise SpecError("The field is empty. Write a number without its unit.")
    if isinstance(given, str) and (comma := _COMMA.fullmatch(given)):
        whole, part = comma.groups()
        either = f" or {whole}{part}" if len(part) == 3 else ""  # it may have separated thousands
        raise SpecError(f"The answer is {given.strip()!r}, with a comma. Write {whole}.{part}{either}.")
    try:
        value = float(given) if not isinstance(given, bool) else math.nan
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise SpecError(f"The answer is {given!r}, but it must be a number. Give a number without its unit.")
    return value


def plain(question: Question, given: Any) -> float | str:
    """Convert an answer to the form that is kept: a choice as its text, a number as a float."""
    return str(given) if question.choices else number_of(given)


def judge(question: Question, expected: Expected, given: Any) -> Verdict:
    """Check an answer; the message never reveals the solution.

    Raises
    ------
    SpecError
        If the answer is no number where one is asked for, below 0 where no number can be, or none of the choices.
    """
    if question.choices:
        if given is None:
            raise SpecError("No answer is chosen. Choose one, then submit.")
        if given not in question.choices:
            raise SpecError(f"The answer is {given!r}, but it must be one of: {'; '.join(question.choices)}.")
        return Verdict(
            given == expected.centre,
            "right" if given == expected.centre else f"not what {expected.by} say{'s' * (expected.by == 'this run')}",
        )
    value = number_of(given)
    low, high = tolerance(expected)
    if value < 0 <= low:
        what = "a time" if question.unit in _TIMES else "this number"
        raise SpecError(
            f"The answer is {format_number(value)}, but {what} is not below 0. Check the sign, and what is subtracted "
            "from what."
        )
    if low <= value <= high:
        return Verdict(True, f"right: inside the {expected.basis or 'tolerance'} of {expected.by}")
    side = "high" if value > high else "low"
    far = value / float(expected.centre) if expected.centre else math.nan
    if far > 0 and not 1 / 3 <= far <= 3:
        return Verdict(False, f"too {side}, by more than a factor of 3: check the unit and the division")
    return Verdict(False, f"too {side}: outside the {expected.basis or 'tolerance'} of {expected.by}")


def compared(question: Question, expected: Expected, given: Any) -> str:
    """Compare a prediction with the result, in words; unlike a verdict, it names the result."""
    if given is None:
        return "no prediction"
    if question.choices:
        return "as predicted" if given == expected.centre else "not as predicted"
    value, centre = number_of(given), float(expected.centre)
    if expected.low <= value <= expected.high:
        return "inside the interval"
    if value <= 0 or centre <= 0:
        return f"off by {format_number(abs(value - centre), digits=3)}"
    times = max(value / centre, centre / value)
    return (
        f"{format_number(times, digits=2)} times too {'high' if value > centre else 'low'}"
        if times >= 1.05
        else f"close{', outside the interval' if expected.low < expected.high else ''}"
    )
