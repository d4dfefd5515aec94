"""Settings with levels that differ in cost: the most important one of each benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labkit.judge import effects, stated
from labkit.judge.comparison.judging import PAIRED
from labkit.judge.finding import NEAR, SHARE, SIZE, TIMES, Decided, Evidence, Finding, Value
from labkit.judge.rule import SETTINGS, Rule
from labkit.judge.rules._contrasts import Contrast, End, contrast, in_words
from labkit.judge.rules._deciding import OPEN, SHOWN
from labkit.judge.view import View
from labkit.point.columns import METRICS, statistic_column
from labkit.read.records import headline_metric
from labkit.read.records.factors import named
from labkit.stats.decision import RELEVANT, TOO_FEW, enough

if TYPE_CHECKING:
    import pandas as pd

APART = ", apart"  # ends the form of a difference between values that were measured at different times
_RELEVANT = Value(value=RELEVANT, unit=SHARE)
_OF_LINK = {  # what a value is beside what its link allows
    "alone": "",
    "rate": ", which is {LINK} of the link's rate",
    "delay": ", {LINK:3} the link's delay",
    "bytes": ", of which the bytes of a message take {LINK} at the link's rate",
}


def check(view: View) -> Iterator[Finding]:
    """Yield the setting that matters most in each benchmark, if the launches show a difference."""
    for _, rows in view.by_benchmark():
        most = int(rows["launches"].max())
        found = of_rows(rows) if enough(most, most) else None
        if found is not None and found.claims and math.isfinite(found.cost):
            yield found


def of_rows(rows: pd.DataFrame, factors: Sequence[str] = ()) -> Finding | None:
    """Return the costs of the levels of a setting, also if they do not differ; None without two levels.

    Parameters
    ----------
    rows : rows of one benchmark, from `labkit.read.records.summary`.
    factors : columns to compare, in this order (default: those in which the rows differ).
    """
    metric = headline_metric(rows)
    one = contrast(rows, metric, factors) if metric else None
    return _found(one) if one else None


def _found(one: Contrast) -> Finding:
    """Return the finding of a contrast: which level costs more, how many times, and whether it depends on the size."""
    end = one.main
    (best, worst), (good, bad) = in_words(one.factor, end.best, end.worst), end.values
    pair: dict[str, Any] = {"best": best, "worst": worst, "good": replace(good, of=best), "bad": replace(bad, of=worst)}
    if one.factor == "testbed" and stated.links_differ(*end.rows):  # a ratio would only restate the setting
        given = _beside_links(one)
    elif end.effect.apart:
        claimed = _claimed(one)
        given = claimed | {"form": f"{claimed['form']}{APART}", "cost": math.nan}
    elif end.effect.doubt:
        evidence = (Evidence(code="values", values=pair),)
        given = {"form": "open", "doubt": _doubt(end), "decided": _undecided(end), "evidence": evidence}
        given |= {"form": "same", "relevant": _RELEVANT} if end.effect.same else {}
    else:
        given = _claimed(one)
    size, rows = Value(value=end.size, unit=SIZE), reversed(end.rows)
    return RULE.found(View.points(*rows, setting=one.setting), factor=named(one.factor), size=size, **pair, **given)


def _beside_links(one: Contrast) -> dict[str, Any]:
    """Return the values beside what the links of their levels allow."""
    kinds, values = ["links"], dict[str, Value]()
    for name, row, value in zip(("good", "bad"), one.main.rows, one.main.values, strict=True):
        kind, beside = stated.of_link(row, one.metric, value.value)
        kinds.append(kind or "alone")
        values |= {f"{name}_link": beside} if beside else {}
    return {"form": ", ".join(kinds), "decided": Decided(how=""), **values}


def _claimed(one: Contrast) -> dict[str, Any]:
    """Return how many times the levels differ, and whether they do at the other end of the sizes."""
    end, metric = one.main, METRICS[one.metric]
    timed = metric.kind in ("cost", "rate")
    near = timed and end.ratio < NEAR
    return {
        "form": (metric.kind if timed else "other") + ", nearly" * near,
        "metric": metric.label,
        "times": _times(end),
        "cost": end.least,
        "decided": _decided(end),
        "evidence": (*_by_means(one), *_at_other_end(one), *_crowded(one)),
    } | ({"more": Value(value=end.ratio - 1, unit=SHARE)} if near else {})


def _by_means(one: Contrast) -> Iterator[Evidence]:
    """Yield how many times the means differ, if that is far from the ratio of the medians: few operations are slow."""
    columns = [statistic_column(one.metric, statistic) for statistic in ("p50", "mean")]
    medians, means = ([float(row.get(column, math.nan)) for row in one.main.rows] for column in columns)
    if not all(math.isfinite(value) and value > 0 for value in (*medians, *means)):
        return
    by_median, by_mean = (max(pair) / min(pair) for pair in (medians, means))
    reversed_ = (medians[0] < medians[1]) != (means[0] < means[1])
    if not reversed_ and max(by_median, by_mean) >= _UNEVEN * min(by_median, by_mean):
        yield Evidence(code="means", values={"times": Value(value=by_mean, unit=TIMES)})
    elif reversed_ and by_mean >= NEAR:
        yield Evidence(code="means reversed", values={"times": Value(value=by_mean, unit=TIMES)})


_UNEVEN = 2  # between the ratios of medians and of means, from which both are told


def _crowded(one: Contrast) -> Iterator[Evidence]:
    """Yield that only with more ranks the ranks share processors: then the difference shows the scheduler, too."""
    crowded = [any(note.code == "oversubscription" for note in row["badges"]) for row in one.main.rows]
    if one.factor in ("ranks", "ppn") and crowded == [False, True]:
        yield Evidence(code="crowded")


def _decided(end: End) -> Decided:
    return replace(SHOWN, test="Wilcoxon") if end.effect.judgement.basis == PAIRED else SHOWN


def _undecided(end: End) -> Decided:
    if end.effect.doubt != TOO_FEW:
        return _decided(end)
    return OPEN if min(one.launches for one in end.values) > 1 else Decided(how="one launch")


def _doubt(end: End) -> str:
    """Return why no difference is claimed; of too few launches, how many the comparisons need."""
    if end.effect.doubt != TOO_FEW:
        return end.effect.doubt
    return effects.needed(end.tests, paired=end.effect.judgement.basis == PAIRED)


def _times(end: End) -> Value:
    """Return how many times the levels differ, at least."""
    low, high = end.interval
    bound = "at least " if end.least < end.ratio else ""
    return Value(value=end.least, unit=TIMES, low=low, high=high, sign=bound)


def _at_other_end(one: Contrast) -> Iterator[Evidence]:
    """Yield how the levels compare at the other end of the sizes, and how the difference in time changes."""
    if (end := one.other) is None:
        return
    size = Value(value=end.size, unit=SIZE)
    if end.effect.same:
        yield Evidence(code="same there", values={"size": size, "relevant": _RELEVANT})
    elif end.effect.apart:
        yield Evidence(code="apart there", values={"size": size, "times": _times(end)})
    elif not end.effect.claimed:
        yield Evidence(code="open there", values={"size": size, "doubt": end.effect.doubt})
    elif one.reversed:
        yield Evidence(code="reversed", values={"size": size, "times": Value(value=end.ratio, unit=TIMES)})
    else:
        yield Evidence(code="there" if end.ratio >= NEAR else "near", values={"size": size, "times": _times(end)})
        if one.growth:
            cost = METRICS[one.metric].kind == "cost"
            unit = METRICS[one.metric].unit if cost else "µs"
            ends = (Value(value=each.difference, unit=unit) for each in one.ends)
            code = one.growth if cost else f"{one.growth} per message"
            yield Evidence(code=code, values=dict(zip(("small", "large"), ends, strict=True)))


def _beside(level: str, value: str, kind: str) -> str:
    """Return the template of a level with its value beside what its link allows."""
    return f"{{{value}:interval}} with {{{level}}}{_OF_LINK[kind].replace('LINK', f'{value}_link')}"


_AGAINST, _BEST_FIRST = " ({bad:interval} against {good:interval})", " ({good:interval} against {bad:interval})"
_CLAIMS = {
    "cost": "{worst} takes {times:ratio} as long as {best}" + _AGAINST,
    "cost, nearly": "{worst} takes {more} more time than {best}" + _AGAINST,
    "rate": "{best} reaches {times:ratio} the {metric} of {worst}" + _BEST_FIRST,
    "rate, nearly": "{best} has {more} more {metric} than {worst}" + _BEST_FIRST,
    "other": "{metric} differs most between {best} and {worst}" + _BEST_FIRST,
}
RULE = Rule(
    code="setting-matters",
    kind="observation",
    level="note",
    about=SETTINGS,
    must="the levels of a setting do not differ, all else being equal",
    why="if they differ, choose the setting and report it with the number",
    says=_CLAIMS
    | {f"{form}{APART}": f"{claim}, {effects.LATER}" for form, claim in _CLAIMS.items()}
    | {
        "same": "{best} and {worst} do not differ by {relevant} or more",
        "open": "{best} and {worst}: no difference is claimed, because {doubt}",
    }
    | {
        f"links, {one}, {two}": f"{_beside('best', 'good', one)}; {_beside('worst', 'bad', two)}"
        for one in _OF_LINK
        for two in _OF_LINK
    },
    clues={
        "values": "{good:interval} against {bad:interval}",
        "means": "by their means {times:2}",
        "means reversed": "by their means the order is reversed ({times:2})",
        "same there": "at {size} they do not differ by {relevant} or more",
        "apart there": "at {size} {times:about}, but measured at different times",
        "open there": "at {size} no difference is claimed, because {doubt}",
        "crowded": "with more ranks than cores, a part of the longer time is waiting for a core",
        "reversed": "at {size} the order is reversed ({times:about})",
        "there": "at {size} {times:about}",
        "near": "at {size} they are nearly the same",
        "constant": "the difference is nearly the same at both sizes",
        "growing": "the difference grows from {small} to {large}",
        "shrinking": "the difference shrinks from {small} to {large}",
        "constant per message": "the difference in time per message is nearly the same at both sizes",
        "growing per message": "the difference in time per message grows from {small:3} to {large:3}",
        "shrinking per message": "the difference in time per message shrinks from {small:3} to {large:3}",
    },
    check=check,
)
