"""Questions of labs, and the check of an answer against the run that the learner reads."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.results import Results
from labkit.apps.teaching.slips import Slips
from labkit.errors import SpecError
from labkit.point.units import format_number

Given = float | str | None
_COMMA = re.compile(r"\s*([+-]?\d+),(\d+)\s*")
_TIMES = ("s", "ms", "µs", "ns")
FLOOR = 0.03  # of the value: how far a right answer may always lie from it
WIDEST = 0.1  # of the value: how far at most, where the interval is wide
OF_BASE = 0.005  # of the base of a gain or a loss: likewise, as FLOOR
SCATTERS = 2.0  # largest over smallest value of an interval: a larger one is noted


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question, or something to predict.

    Parameters
    ----------
    name : by which a notebook calls it.
    text : what is asked.
    of : the answer that results give.
    unit : unit of a number; empty for a pure number, and for choices.
    choices : texts to choose from; none for a number.
    hints : from a first thought to nearly the answer.
    points : for grading.
    why : why the number is what it is, or why the choice is right, shown after a right answer.
    base : what an answer of 0 represents, in the unit of the answer: 100 where the answer is a gain or a loss in %.
    after : whether it predicts something that the measurement shows first; the first value then is the prediction.
    slips : description of a typical mistake → what it makes of the right value.
    """

    name: str
    text: str
    of: Callable[[Results], Expected]
    unit: str = ""
    choices: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    points: int = 1
    why: str = ""
    base: float = 0.0
    after: bool = False
    slips: Slips = field(default_factory=dict)

    def named(self, expected: Expected) -> Expected:
        """Return the answer with the values of all typical mistakes: the run's own, and `slips`."""
        return expected.without({words: of(float(expected.centre)) for words, of in self.slips.items()})


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and the text for the learner."""

    right: bool
    text: str


_ANSWERS: WeakKeyDictionary[Results, dict[str, Expected]] = WeakKeyDictionary()


def answer(question: Question, results: Results) -> Expected:
    """Return the answer that results give to a question, worked out once."""
    known = _ANSWERS.setdefault(results, {})
    if question.name not in known:
        known[question.name] = question.of(results)
    return known[question.name]


def tolerance(expected: Expected, base: float = 0.0) -> list[tuple[float, float]]:
    """Return the bounds of right answers, a pair for each way to compute one from the run.

    An answer may differ from the value by 3 %, and by half a unit of its second digit. The interval of the run widens
    this to at most 10 %, however much the run scatters.

    Parameters
    ----------
    base : base of `Question`; a half per cent of it is allowed too.

    Examples
    --------
    >>> tolerance(Expected(0.262, 0.261, 0.263)), tolerance(Expected(10.0, 1.0, 90.0, also=(20.0,)))
    ([(0.25414, 0.26986)], [(9.0, 11.0), (19.4, 20.6)])
    """
    centre = float(expected.centre)
    least, most = _rounding(centre, base), WIDEST * abs(centre)
    low = min(centre - least, max(expected.low, centre - most))
    high = max(centre + least, min(expected.high, centre + most))
    further = [(way - _rounding(way, base), way + _rounding(way, base)) for way in expected.also]
    return [(round(low, 12), round(high, 12)) for low, high in [(low, high), *further]]


def _rounding(value: float, base: float) -> float:
    """Return how far an answer may always lie from a value."""
    return max(FLOOR * abs(value), _unit(value, 2) / 2, OF_BASE * base)


def _unit(value: float, digits: int) -> float:
    """Return a unit of the last of this many digits of a value."""
    return float(10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits)) if value else 0.0


def mistake(expected: Expected, given: float) -> str:
    """Return the mistake with the value nearest to an answer; empty if the right value is nearer, or the same.

    Examples
    --------
    >>> expected = Expected(100.0, 90.0, 110.0).without({"the mean": 104.0, "the maximum": 100.5})
    >>> mistake(expected, 103.0), mistake(expected, 101.0)
    ('the mean', '')
    """
    far = min(abs(given - way) for way in (float(expected.centre), *expected.also))
    hidden = _same(expected)
    near = {words: abs(given - value) for words, value in expected.mistakes.items() if words not in hidden}
    return min((words for words in near if near[words] < far), key=near.__getitem__, default="")


def _same(expected: Expected) -> list[str]:
    """Return the mistakes that give what is right, to three digits."""
    ways = (float(expected.centre), *expected.also)
    return [
        words for words, value in expected.mistakes.items() if any(abs(value - way) <= _unit(way, 3) for way in ways)
    ]


def scatter(expected: Expected, base: float = 0.0) -> float:
    """Return the largest over the smallest value of an interval: infinite across 0, 1 for a choice.

    Examples
    --------
    >>> scatter(Expected(10.0, 5.0, 15.0)), scatter(Expected(0.0, -10.0, 10.0)), scatter(Expected(0.0, 0.0, 0.0), 100)
    (3.0, inf, 1.0)
    """
    if isinstance(expected.centre, str):
        return 1.0
    low, high = expected.low + base, expected.high + base
    return 1.0 if low == high else high / low if low > 0 else math.inf


def credit(question: Question, tries: int) -> float:
    """Return the points for a right answer at the n-th try.

    The first try earns all points. A number earns half of them at the second try and a quarter later. A choice earns
    less with each wrong one, and nothing once all wrong ones were tried.

    Examples
    --------
    >>> question = Question(name="q", text="?", of=lambda r: Expected(1))
    >>> [credit(question, tries) for tries in (0, 1, 2, 3, 4)]
    [0.0, 1.0, 0.5, 0.25, 0.25]
    """
    if tries < 1:
        return 0.0
    if question.choices:
        return question.points * max(0.0, 1 - (tries - 1) / (len(question.choices) - 1))
    return float(question.points * max(0.25, 0.5 ** (tries - 1)))


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
        If the answer is not a number where one is requested, below 0 if no number can be, or none of the choices.
    """
    if question.choices:
        if given is None:
            raise SpecError("No answer is chosen. Choose one, then submit.")
        if given not in question.choices:
            raise SpecError(f"The answer is {given!r}, but it must be one of: {'; '.join(question.choices)}.")
        if given == expected.centre:
            return Verdict(True, f"right. {question.why}".strip())
        return Verdict(False, f"not what {expected.by} say{'s' * (expected.by == 'this run')}")
    value, bounds, expected = number_of(given), tolerance(expected, question.base), question.named(expected)
    if value < 0 <= min(low for low, _ in bounds):
        what = "a time" if question.unit in _TIMES else "this number"
        raise SpecError(
            f"The answer is {format_number(value)}, but {what} is not below 0. Check the sign, and what is subtracted "
            "from what."
        )
    slip = mistake(expected, value)
    inside = any(low <= value <= high for low, high in bounds)
    if inside and not slip:
        same = _same(expected)
        also = f" In this run, it is also {' and '.join(same)}." if same else ""
        return Verdict(True, f"right. {question.why}{also}".strip())
    if inside and any(value == float(f"{way:.2g}") for way in (expected.centre, *expected.also)):
        raise SpecError(
            f"The answer is {format_number(value)}, but a typical mistake gives almost that. Give 3 digits."
        )
    if slip and (inside or _is(value, expected.mistakes[slip])):
        return Verdict(False, f"no, this is {slip}")
    side = "high" if value > float(expected.centre) else "low"
    far = value / float(expected.centre) if expected.centre else math.nan
    if far > 0 and not 1 / 3 <= far <= 3:
        return Verdict(False, f"too {side}, by more than a factor of 3: check the unit and the division")
    return Verdict(False, f"too {side} for {expected.by}")


def _is(given: float, value: float) -> bool:
    """Whether an answer is this value, with two digits or more."""
    return abs(given - value) <= max(_unit(value, 2) / 2, 1e-9)


def marked(question: Question, expected: Expected) -> str:
    """Return a sentence about a run that scatters too much for a general answer; empty for one that does not."""
    times = scatter(expected, question.base)
    if times <= SCATTERS:
        return ""
    far = "includes 0" if math.isinf(times) else f"spans a factor of {format_number(times, digits=2)}"
    return (
        f"This run scatters: its {expected.basis or 'interval'} {far}. Compute the answer from this run. Another run "
        f"may give a very different one."
    )


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
