"""The headline metric of a curve at its smallest and largest size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.judge import effects
from labkit.judge.finding import SIZE, TIMES, Decided, Finding, Value
from labkit.judge.rule import SETTINGS, Rule
from labkit.judge.rules._contrasts import in_words, measured, placed
from labkit.judge.rules._deciding import SHOWN
from labkit.judge.view import View
from labkit.judge.view.points import Columns, Row
from labkit.point.columns import statistic_column
from labkit.read.records import headline_metric, headline_statistic, quantities, sound
from labkit.read.records.factors import NONE, alike, differing, level

if TYPE_CHECKING:
    import pandas as pd


def of_rows(rows: pd.DataFrame) -> Finding | None:
    """Return the value at the smallest and at the largest size of the curve with the most points; None without any.

    Parameters
    ----------
    rows : rows of one benchmark, from `labkit.read.records.summary`.
    """
    metric = headline_metric(rows)
    column = statistic_column(metric, statistic := headline_statistic(rows, metric))
    known = sound(rows[rows[column] > 0], metric) if column in rows else rows[:0]
    if not len(known):
        return None
    curve = max(alike(known, differing(known, skip=["fingerprint"])), key=len)
    sizes, columns = known["message_size_B"].to_numpy()[curve], Columns(known)
    first, last = (Row(columns, int(curve[place])) for place in (sizes.argmin(), len(sizes) - 1 - sizes[::-1].argmax()))
    setting = [in_words(name, text)[0] for name in _apart(rows) if (text := level(first[name])) != NONE]
    small, large = (Value(value=int(row["message_size_B"]), unit=SIZE) for row in (first, last))
    given: dict[str, Any] = {"first": measured(first, metric, statistic), "form": "one"}
    if small.value == large.value:
        setting.append(placed(str(first["benchmark"]), int(small.value)))
    else:
        given |= {"last": measured(last, metric, statistic), "small": small, "large": large, "form": "two"}
        effect = effects.between(last, first, metric, statistic)
        if effect.claimed:
            judged, size = effect.judgement, large.value / max(small.value, 1)
            times = Value(value=effect.ratio, unit=TIMES, low=judged.ratio_low, high=judged.ratio_high)
            given |= {"times": times, "grown": Value(value=size, unit=TIMES), "form": "grown", "decided": SHOWN}
    subject = View.points(first, last, setting=", ".join(filter(None, setting)))
    return RULE.found(subject, **{"decided": Decided(how="")} | given)


def _apart(rows: pd.DataFrame) -> list[str]:
    """Return what tells the curves of a benchmark apart: the quantities first."""
    return [*dict.fromkeys([*quantities(rows), *differing(rows, skip=["fingerprint"])])]


RULE = Rule(
    code="run-over-sizes",
    kind="observation",
    level="note",
    about=SETTINGS,
    must="a curve has a value at its smallest and at its largest size",
    why="if nothing is compared, the report names these two",
    says={
        "one": "{first:interval}",
        "two": "{first:interval} at {small}, {last:interval} at {large}",
        "grown": "{first:interval} at {small}, {last:interval} at {large}; {times:about} for {grown:about} the size",
    },
)
