"""Sentences on what a campaign found: each follows from a rule over its records, with n, launches and interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.judge import effects, reasons, stated
from labkit.judge.contrast import Contrast, End, contrast, quantities
from labkit.point.columns import METRICS, statistic_column
from labkit.point.notes import NO_SPEED
from labkit.point.units import format_count, format_number, format_share, format_size, plural
from labkit.read.records import Value, by_benchmark, headline_statistic, sound, value_of
from labkit.read.records.factors import NONE, differing, level, named
from labkit.report.choosing import widest
from labkit.report.markdown import escape
from labkit.report.variables import headline_metric, sized, title
from labkit.stats.decision import RELEVANT, TOO_FEW

if TYPE_CHECKING:
    import pandas as pd

    from labkit.store.samples import Samples

_LEVELS = {
    "shm": "shared memory",
    "tcp": "TCP",
    "c": "C",
    "buffers": "mpi4py with buffers",
    "pickle": "mpi4py with pickle",
    "osync": "O_SYNC",
}
_GROWTH = {  # of the difference in time
    "constant": "nearly the same difference{of} at both sizes",
    "growing": "the difference{of} grows from {small} to {large}",
    "shrinking": "the difference{of} shrinks from {small} to {large}",
}
_WIDE = 3.0  # times: from this ratio of what the medians and what the end of the interval say, the latter is given
_NEAR = 1.05  # times: below, values are nearly the same


@dataclass(frozen=True)
class Statement:
    """One sentence in Markdown, and what decides whether it matters.

    Parameters
    ----------
    text : the sentence.
    weight : how far apart the values are, as the logarithm of their ratio; 0 where that is not certain.
    certain : whether the launches show a difference; None where they are too few, or nothing is compared.
    launches : the fewest launches behind it.
    n : the fewest samples behind it; 0 where a tool reported a value.
    brief : the sentence without launches and samples, for who gives them elsewhere.
    short : the comparison alone, without intervals.
    functional : whether a value behind it is of a device that shows function and not performance.
    """

    text: str
    weight: float
    certain: bool | None
    launches: int
    n: int = 0
    brief: str = ""
    short: str = ""
    functional: bool = False

    @property
    def doubtful(self) -> str:
        """Why it supports no claim about performance; empty if it does."""
        if self.functional:
            return "the device shows function and not performance"
        return "there is one launch" if self.launches < 2 else ""


def of_topic(
    summary: pd.DataFrame,
    benchmarks: Sequence[str],
    focus: Sequence[tuple[str, str]] = (),
    points: Sequence[Samples] = (),
) -> Statement | None:
    """Return what matters most of a topic; None where nothing of it was measured.

    The first contrast in `focus` that the rows allow is taken, else the most distinct one of its benchmarks, else how
    the first curve runs. One that supports no claim is taken only if there is no other.

    Parameters
    ----------
    summary : from `labkit.read.records.summary`.
    benchmarks : of the topic, the most important first.
    focus : benchmark and factor to look at first.
    points : samples, whose counters may speak for a reason; their values may be left out.
    """
    every = by_benchmark(summary)
    tables = {name: every[name] for name in dict.fromkeys([*(b for b, _ in focus), *benchmarks]) if name in every}
    asked = [(name, (factor,)) for name, factor in focus if name in tables]
    first = [of_contrast(each, points) for name, factor in asked if (each := _contrast(tables[name], factor))]
    contrasts = [of_contrast(each, points) for rows in tables.values() if (each := _contrast(rows))]
    runs = [one for name, rows in tables.items() if (one := _run(name, rows))]
    ranked = [*first, *sorted(contrasts, key=lambda one: -one.weight), *runs]
    return next((one for one in ranked if not one.doubtful), ranked[0] if ranked else None)


def _contrast(rows: pd.DataFrame, factors: Sequence[str] = ()) -> Contrast | None:
    metric = headline_metric(str(rows["benchmark"].iloc[0]), rows)
    return contrast(rows, metric, factors) if metric else None


def of_contrast(one: Contrast, points: Sequence[Samples] = ()) -> Statement:
    """Say which level costs more, how many times, how sure that is, whether it depends on the size, and why."""
    end = one.main
    what = ", ".join(filter(None, (_what(one.benchmark, end.size, one.quantity), escape(one.held))))
    best, worst = _levels(one.factor, end.best, end.worst)
    sure = _least(end)
    weight = abs(math.log(sure)) if end.effect.claimed else 0.0
    values, counts = (end.bad, end.good), f"; {_counts(end)}"
    if one.factor == "testbed" and stated.links_differ(*end.rows):
        return _beside_links(one, what)
    if end.effect.doubt:
        both = [
            f"{what}: {best} and {worst}{_undecided(end)}{more}."
            for more in (f" ({_against(values)}{counts})", f" ({_against(values)})", "")
        ]
        certain = None if end.effect.doubt == TOO_FEW else False
        return Statement(both[0], 0.0, certain, end.launches, end.n, both[1], both[2], functional=_functional(end.rows))
    times = _at_least(end)
    if METRICS[one.metric].kind == "rate":
        label = METRICS[one.metric].label
        much = f"has {more} {label} than" if (more := _more(end.ratio)) else f"reaches {times} the {label} of"
        text = f"{what}: {best} {much} {worst}"
        values = (end.good, end.bad)
    elif METRICS[one.metric].kind == "cost":
        much = f"takes {more} time than" if (more := _more(end.ratio)) else f"takes {times} as long as"
        text = f"{what}: {worst} {much} {best}"
    else:
        text = f"{what}: {METRICS[one.metric].label} differs most between {best} and {worst}"
    full, brief = (f"{text} ({_against(values)}{more}){_and_then(one)}." for more in (counts, ""))
    short = f"{text} ({_against(values, bare=True)})."
    if reason := reasons.reason_for(one, points):
        full += f" {escape(reason.sentence)}"
    return Statement(full, weight, True, end.launches, end.n, brief, short, _functional(end.rows))


def _undecided(end: End) -> str:
    """Say that no difference is claimed, and why."""
    if end.effect.same:
        return f" do not differ by {format_share(RELEVANT)} or more"
    return f": no difference is claimed, because {end.effect.doubt}"


def _beside_links(one: Contrast, what: str) -> Statement:
    """Compare values with the rate or delay of their links, because their ratio would only restate the setting."""
    end = one.main
    each = []
    for row, value, name in zip(end.rows, (end.good, end.bad), _levels(one.factor, end.best, end.worst), strict=True):
        beside = stated.beside_link(row, value)
        each.append(tuple(f"{name} {shown}{beside and f', {beside}'}" for shown in (_number(value), _bare(value))))
    full, bare = (f"{what}: {'; '.join(texts)}" for texts in zip(*each, strict=True))
    text = f"{full} ({_counts(end)})."
    return Statement(text, 0.0, None, end.launches, end.n, f"{full}.", f"{bare}.", _functional(end.rows))


def _functional(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a point bears a badge that denies statements about performance."""
    return any(note.code in NO_SPEED for row in rows for note in row["badges"])


def _least(end: End) -> float:
    """Return how many times two levels differ; where the interval of that is wide, its nearer end."""
    if not end.effect.claimed:
        return end.ratio
    judged = end.effect.judgement
    least = judged.ratio_low if judged.ratio > 1 else 1 / judged.ratio_high
    return least if end.ratio > _WIDE * least else end.ratio


def _at_least(end: End) -> str:
    """Return how many times two levels differ, in words."""
    least = _least(end)
    return f"{'at least ' if least < end.ratio else ''}{_times(least)}"


def _against(values: Sequence[Value], *, bare: bool = False) -> str:
    """Return two values, with their intervals or bare."""
    return " against ".join(_bare(one) if bare else _number(one) for one in values)


def _bare(value: Value) -> str:
    """Return a value with its unit alone."""
    return _hard(f"{value.text} {escape(value.unit)}")


def _and_then(one: Contrast) -> str:
    """Compare with the other end of the sizes, and interpret."""
    if one.other is None:
        return ""
    at = _hard(format_size(one.other.size))
    if one.other.effect.same:
        return f"; at {at} they do not differ by {_hard(format_share(RELEVANT))} or more"
    if not one.other.effect.claimed:
        return f"; at {at} no difference is claimed, because {one.other.effect.doubt}"
    if one.reversed:
        return f"; at {at} the order is reversed ({_times(one.other.ratio)})"
    much = _at_least(one.other) if one.other.ratio >= _NEAR else "nearly the same"
    growth = _growth(one)
    return f"; at {at} {much}" + (f": {growth}" if growth else "")


def _growth(one: Contrast) -> str:
    """Say how the difference in time changes with the size; empty where no time is known."""
    if one.other is None or not (growth := one.growth):
        return ""
    ends = sorted((one.main, one.other), key=lambda end: end.size)
    cost = METRICS[one.metric].kind == "cost"
    unit, digits = (METRICS[one.metric].unit, 4) if cost else ("µs", 3)
    small, large = (_hard(f"{format_number(end.difference, digits=digits)} {escape(unit)}") for end in ends)
    return _GROWTH[growth].format(of="" if cost else " in time per message", small=small, large=large)


def _run(name: str, rows: pd.DataFrame) -> Statement | None:
    """Say how the headline metric runs over the sizes, or what it is where there is one."""
    metric = headline_metric(name, rows)
    if not metric:
        return None
    statistic = headline_statistic(rows, metric)
    known = sound(rows[rows[statistic_column(metric, statistic)] > 0], metric)
    if known.empty:
        return None
    curve = widest(known, ())[0]
    where = [_level(column, text) for column in _setting(rows) if (text := level(curve[column].iloc[0])) != NONE]
    what = ", ".join([escape(_capital(title(name))), *where])
    ends = sorted(curve.to_dict("records"), key=lambda row: int(row["message_size_B"]))
    first, last = value_of(ends[0], metric, statistic), value_of(ends[-1], metric, statistic)
    counts = _counts_of(ends[:1] + ends[-1:])
    launches, n = (min(int(row[key]) for row in (ends[0], ends[-1])) for key in ("launches", "n"))
    functional = _functional((ends[0], ends[-1]))
    if int(ends[0]["message_size_B"]) == int(ends[-1]["message_size_B"]):
        size = _hard(format_size(int(ends[0]["message_size_B"]))) if sized(name) else ""
        brief = f"{', '.join(filter(None, (what, size)))}: {_number(first)}"
        return Statement(f"{brief} ({counts}).", 0.0, None, launches, n, f"{brief}.", functional=functional)
    grown = int(ends[-1]["message_size_B"]) / max(int(ends[0]["message_size_B"]), 1)
    effect = effects.between(ends[-1], ends[0], metric, statistic)
    run = f": {_times(effect.ratio)} for {_times(grown)} the size" if effect.claimed else ""
    full, brief = (
        f"{what}: {_number(first)} at {_hard(format_size(int(ends[0]['message_size_B'])))}, "
        f"{_number(last)} at {_hard(format_size(int(ends[-1]['message_size_B'])))}{more}{run}."
        for more in (f" ({counts})", "")
    )
    return Statement(full, 0.0, None, launches, n, brief, functional=functional)


def _setting(rows: pd.DataFrame) -> list[str]:
    """Return what tells the curves of a benchmark apart: the quantities first."""
    first = quantities(rows)
    return [*first, *(name for name in differing(rows, skip=["fingerprint"]) if name not in first)]


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _what(benchmark: str, size: int, quantity: str = "") -> str:
    name = escape(", ".join(filter(None, (_capital(title(benchmark)), quantity))))
    return f"{name}, {_hard(format_size(size))}" if sized(benchmark) else name


def _levels(factor: str, *levels: str) -> list[str]:
    """Return levels in words; those of testbeds say only in what they differ.

    Examples
    --------
    >>> _levels("testbed", "virtual-cluster:4,rate=50mbit,loss=1", "virtual-cluster:4,rate=50mbit")
    ['virtual-cluster:4 with loss=1', 'virtual-cluster:4']
    """
    parts = [text.split(",") for text in levels]
    if factor != "testbed" or len({names[0] for names in parts}) > 1:
        return [_level(factor, level) for level in levels]
    shared = set(parts[0]).intersection(*parts)
    rests = [listed([escape(name) for name in names if name not in shared]) for names in parts]
    return [escape(names[0]) + (f" with {rest}" if rest else "") for names, rest in zip(parts, rests, strict=True)]


def _level(factor: str, level: str) -> str:
    """Return a level in words; with its factor where the level alone says nothing."""
    if level in _LEVELS:
        return _LEVELS[level]
    bare = factor in ("transport", "testbed", "library", "launcher", "engine", "device")
    return escape(level if bare else f"{named(factor)}={level}")


def _number(value: Value) -> str:
    """Return a value with its unit and, in brackets, its interval."""
    interval = "" if math.isnan(value.low) else f"\u00a0{escape(f'[{value.range}]')}"
    return _bare(value) + interval


def _counts(end: End) -> str:
    return _counts_of(end.rows)


def _counts_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the fewest launches and samples; a tool's values have no samples of labkit's."""
    launches, n = (min(int(row[name]) for row in rows) for name in ("launches", "n"))
    samples = f"n\u00a0≥\u00a0{format_count(n)}" if n else "reported by a tool"
    return f"{_hard(plural(launches, 'launch'))}, {samples}"


def _times(ratio: float) -> str:
    """Return a ratio in words."""
    if not math.isfinite(ratio):
        return "an unknown number of times"
    return f"{format_number(ratio, digits=2 if ratio >= _NEAR else 3)}\u00a0times"


def _more(ratio: float) -> str:
    """Return in words how much more a ratio near 1 is; empty for others."""
    return f"{format_share(ratio - 1)} more".replace(" ", "\u00a0", 1) if 1 <= ratio < _NEAR else ""


def _hard(text: str) -> str:
    """Return a number and its unit as a text that is not broken between them."""
    return text.replace(" ", "\u00a0")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
