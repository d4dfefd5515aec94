"""Claims of labkit about numbers: one record for verdicts, causes, violations, changes and observations.

A finding holds codes and typed values, never a sentence: `labkit.judge.sentences` makes these in one place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Literal, Protocol

from labkit import stats
from labkit.point.spec import Spec
from labkit.point.units import finite, format_number, format_range, format_share, format_size, plural

Kind = Literal["verdict", "cause", "violation", "change", "observation"]
Level = Literal["bad", "doubtful", "unknown", "good", "note"]
LEVELS: tuple[Level, ...] = ("bad", "doubtful", "unknown", "good", "note")  # in the order in which findings are shown
SHARE, TIMES, SIZE = "share", "times", "B"  # units that are written in their own way
DEFECT = "defect"  # form of a verdict on a value that its bound does not allow
EMULATED = "the emulated link"  # path of a verdict whose rate or delay was set
NEAR = 1.05  # times: below, two values are nearly the same
How = Literal["counted", "tested", "ranges", "one launch", "few launches", ""]
HOW: dict[How, str] = {  # surest first
    "counted": "a count, or an order that needs no statistics",
    "tested": "a test over launches, corrected for the number of comparisons",
    "ranges": "ranges over launches are far apart, but launches are too few for a test",
    "one launch": "one launch on a side: it may be chance",
    "few launches": "launches are too few to decide: it may be chance",
    "": "no comparison",
}


@dataclass(frozen=True, kw_only=True)
class Value:
    """A number behind a finding.

    Parameters
    ----------
    value : in `unit`.
    unit : ``µs``, ``MB/s``, …; `SHARE` of a part or a change, `TIMES` of a ratio, `SIZE` of a size.
    low, high : ends of its interval or range over launches; NaN without one.
    n, launches : samples and launches behind it; 0 if it was not measured.
    origin : ``measured``, ``simulated``, … of a measurement; ``stated`` or ``computed`` of others.
    of : what it describes: ``launch 2``, ``the link``.
    fingerprint : fingerprint of its point; empty without a point.
    sign : ``≤ ``, ``≥ `` or ``at least `` where it is only a bound.
    step : smallest difference that the clock resolves, in `unit`; NaN if unknown.
    functional : whether the device of its point shows function, not performance.

    Examples
    --------
    >>> latency = Value(value=9.0, unit="µs", low=8.8, high=9.2)
    >>> f"{latency}, {latency:interval}, {Value(value=-0.05, unit=SHARE):+}, {Value(value=4096, unit=SIZE)}"
    '9 µs, 9.00 µs [8.80 to 9.20], -5 %, 4 KiB'
    """

    value: float
    unit: str = ""
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    launches: int = 0
    origin: str = ""
    of: str = ""
    fingerprint: str = ""
    sign: str = ""
    step: float = math.nan
    functional: bool = False

    def __format__(self, how: str) -> str:
        """Return the number with its unit; ``interval`` adds its ends, ``named`` also what it is of, ``+`` a sign.

        A number says how many digits. ``about`` shows two, and three of a ratio near 1; ``alone`` shows as many as
        ``interval`` does; ``ratio`` is ``interval``, and ``about`` for a bound or without an interval.
        """
        if how == "ratio":
            how = "about" if self.sign or not self.bounded else "interval"
        if self.unit == SHARE:
            return format_share(self.value, sign=how == "+")
        if self.unit == SIZE:
            return format_size(int(self.value))
        if how == "named":
            return f"{self.of}: {self:interval}"
        if how in ("interval", "alone") and self.bounded:  # as exact as its ends, else it could seem to lie outside
            text = self.sign + format_number(self.value, self.unit, width=self.high - self.low, step=self.step)
            return (
                text
                if how == "alone" or self.sign in ("≤ ", "≥ ")
                else f"{text} [{format_range(self.low, self.high, step=self.step)}]"
            )
        digits = (2 if self.value >= NEAR else 3) if how == "about" else int(how) if how.isdigit() else 4
        return self.sign + format_number(self.value, self.unit, step=self.step, digits=digits)

    @property
    def bounded(self) -> bool:
        """Whether it has an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of its interval; both the value if it has none."""
        return (self.low, self.high) if self.bounded else (self.value, self.value)


@dataclass(frozen=True)
class Count:
    """A number of things.

    Examples
    --------
    >>> f"{Count(2, 'launch')}"
    '2 launches'
    """

    value: int
    noun: str

    def __format__(self, how: str) -> str:
        """Return the number with its noun; ``number`` leaves the noun out."""
        return f"{self.value:,}" if how == "number" else plural(self.value, self.noun)


@dataclass(frozen=True)
class Several:
    """Values of one kind; a sentence names the first ones.

    Parameters
    ----------
    first : values that the sentence names.
    more : number of further values.
    noun : for these: ``size``.

    Examples
    --------
    >>> sizes = Several((Value(value=8, unit=SIZE), Value(value=1024, unit=SIZE)), 1, "size")
    >>> f"{sizes}; {Several(('shm', 'tcp')): before }"
    '8 B, 1 KiB and 1 more size; shm before tcp'
    """

    first: tuple[Value | str, ...]
    more: int = 0
    noun: str = ""

    @classmethod
    def of(cls, values: Sequence[Value | str], noun: str, *, count: int = 0, most: int = 3) -> Several:
        """Return `count` values (default: all); a sentence names the first `most` of them."""
        return cls(tuple(values[:most]), max((count or len(values)) - most, 0), noun)

    def __format__(self, how: str) -> str:
        """Return the values with commas, or with other words, between them."""
        rest = f" and {plural(self.more, f'more {self.noun}')}" if self.more else ""
        return f"{(how or ', ').join(map(format, self.first))}{rest}"


class Dataclass(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Values = Mapping[str, "Value | Count | Several | str | Dataclass"]  # other dataclasses format themselves too


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Subject of a finding.

    Parameters
    ----------
    benchmark : its name; empty for the whole campaign.
    setting : how the points differ from others of the benchmark, in words; empty for all points.
    points : their fingerprints.
    imported : whether all points were imported, so labkit cannot measure them again.
    system : properties that make this another system, such as the number of ranks, and not only another setting.
    """

    benchmark: str = ""
    setting: str = ""
    points: tuple[str, ...] = ()
    imported: bool = False
    system: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.benchmark, self.setting)))


@dataclass(frozen=True, kw_only=True)
class Decided:
    """How a finding was decided.

    Parameters
    ----------
    how : one of `HOW`.
    test, correction : names; empty if no test was made.
    error : greatest probability of a false claim; NaN if unknown.
    """

    how: How = "counted"
    test: str = ""
    correction: str = ""
    error: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Evidence in the data for or against a claim.

    Parameters
    ----------
    code : key of its sentence among those of the rule or the cause, see `labkit.judge.sentences`.
    values : values that the sentence names.
    """

    code: str
    values: Values = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """A point to measure for a decision.

    Parameters
    ----------
    spec : spec of the point.
    launches : number of launches for a decision; with `warmup`, only launches with enough warm-up count.
    warmup : fewest untimed iterations of a launch that counts.
    """

    spec: Spec
    launches: int = stats.LAUNCHES
    warmup: int = 0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A claim about numbers.

    Parameters
    ----------
    code : code of the rule, or of the cause, that makes the claim.
    kind, level : kind of claim, and its severity.
    subject : what it is about.
    form : key of its sentence, of a rule with several.
    values : values that the sentence names.
    cost : factor by which it exceeds the necessary cost, at least 1; NaN if unknown.
    decided : how it was decided.
    evidence, against : evidence for it and against it.
    causes : findings of the kind ``cause`` that may explain it, the most likely first.
    command : command that confirms or repairs it; empty for none.
    measure : missing points to measure for a decision, on the machine of the campaign.
    """

    code: str
    kind: Kind
    level: Level
    subject: Subject
    form: str = ""
    values: Values = field(default_factory=dict)
    cost: float = math.nan
    decided: Decided = Decided()
    evidence: tuple[Evidence, ...] = ()
    against: tuple[Evidence, ...] = ()
    causes: tuple[Finding, ...] = ()
    command: str = ""
    measure: tuple[Wanted, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether it is based on enough launches."""
        return self.decided.how not in ("one launch", "few launches")

    @property
    def supported(self) -> bool:
        """Whether there is evidence for it and none against it."""
        return bool(self.evidence) and not self.against

    @property
    def likely(self) -> bool:
        """Whether it is a cause with evidence that healthy points rarely show."""
        return self.supported and self.level != "unknown"

    @property
    def explained(self) -> bool:
        """Whether one of its causes is likely."""
        return any(one.likely for one in self.causes)

    @property
    def behind(self) -> tuple[Value, ...]:
        """Measured values that its sentence names."""
        return tuple(one for one in self.values.values() if isinstance(one, Value) and one.launches)

    @property
    def launches(self) -> int:
        """The fewest launches behind one of these values; 0 without any."""
        return min((one.launches for one in self.behind), default=0)

    @property
    def samples(self) -> int:
        """The fewest samples behind one of these values; 0 if a tool reported it."""
        return min((one.n for one in self.behind), default=0)

    @property
    def functional(self) -> bool:
        """Whether the device of one of these values shows function, not performance."""
        return any(one.functional for one in self.behind)

    @property
    def claims(self) -> bool:
        """Whether it supports a claim about performance: from several launches, on a device that shows performance."""
        return self.launches > 1 and not self.functional

    def count(self, name: str) -> int:
        """Return how many things one of its values counts."""
        found = self.values[name]
        assert isinstance(found, Count), name
        return found.value

    def number(self, name: str) -> float:
        """Return one of its values as a number."""
        found = self.values[name]
        assert isinstance(found, Value), name
        return found.value

    def as_dict(self) -> dict[str, Any]:
        """Return plain values without the causes, for JSON; unknown numbers become None."""
        return {
            "code": self.code,
            "kind": self.kind,
            "level": self.level,
            "benchmark": self.subject.benchmark,
            "setting": self.subject.setting,
            "points": list(self.subject.points),
            "imported": self.subject.imported,
            "form": self.form,
            "values": _plain(self.values),
            "cost_times": finite(self.cost),
            "decided": {**vars(self.decided), "error": finite(self.decided.error)},
            "evidence": [{"code": one.code, "values": _plain(one.values)} for one in self.evidence],
            "against": [{"code": one.code, "values": _plain(one.values)} for one in self.against],
            "command": self.command,
        }


def _plain(values: Values) -> dict[str, Any]:
    return {name: _plain_value(one) for name, one in values.items()}


_NUMBERS = tuple(one.name for one in fields(Value) if one.type == "float")


def _plain_value(one: Any) -> Any:
    if isinstance(one, Value):  # nearly all are
        plain = dict(vars(one))
        for name in _NUMBERS:
            if not math.isfinite(plain[name]):
                plain[name] = None
        return plain
    if isinstance(one, float):
        return finite(one)
    if isinstance(one, tuple):
        return [*map(_plain_value, one)]
    return {key: _plain_value(each) for key, each in vars(one).items()} if is_dataclass(one) else one


def sound(one: Finding) -> bool:
    """Whether the numbers of a finding are possible: all are known, and no ratio is below zero."""
    return all(
        _possible(each) for values in (one.values, *(e.values for e in one.evidence)) for each in values.values()
    )


def _possible(one: Value | Count | Several | str | Dataclass) -> bool:
    if isinstance(one, Several):
        return all(map(_possible, one.first))
    return not isinstance(one, Value) or (math.isfinite(one.value) and not (one.unit == TIMES and one.value < 0))


def likeliest(one: Finding) -> Finding | None:
    """Return the likeliest cause of a finding; None if it is unknown."""
    return next((cause for cause in one.causes if cause.likely), None)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings in the order of display: by level, then by cost, then by certainty."""
    return tuple(sorted(findings, key=_rank))


def best(findings: Iterable[Finding]) -> Finding:
    """Return the last of some findings in that order; of equal ones the first."""
    return max(findings, key=_rank)


def _rank(one: Finding) -> tuple[int, float, int]:
    cost = -one.cost if math.isfinite(one.cost) else 0.0
    return LEVELS.index(one.level), cost, [*HOW].index(one.decided.how)


def by_rule(findings: Iterable[Finding]) -> Iterator[tuple[Finding, ...]]:
    """Yield the findings of each rule and level together, at the position of the first."""
    yield from _together(findings, lambda one: (one.code, one.level))


def grouped(findings: Iterable[Finding]) -> Iterator[tuple[Finding, ...]]:
    """Yield the findings of each rule, level and benchmark together, at the position of the first."""
    yield from _together(findings, lambda one: (one.code, one.level, one.subject.benchmark))


def _together(findings: Iterable[Finding], key: Callable[[Finding], Hashable]) -> Iterator[tuple[Finding, ...]]:
    groups: dict[Hashable, list[Finding]] = {}
    for one in findings:
        groups.setdefault(key(one), []).append(one)
    yield from map(tuple, groups.values())
