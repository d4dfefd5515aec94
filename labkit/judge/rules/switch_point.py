"""Sizes between which the time jumps, or bends to another line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labkit.judge import protocol
from labkit.judge.finding import SHARE, SIZE, Count, Evidence, Finding, Value, Values
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.models.limits import METRICS_OF_LATENCY
from labkit.point.columns import statistic_column
from labkit.read.records import has, headline_statistic
from labkit.read.records.factors import alike, differing


def check(view: View) -> Iterator[Finding]:
    """Yield sizes where the time jumps (another protocol or algorithm) or only bends."""
    for _, rows in view.by_benchmark():
        metric = next((one for one in METRICS_OF_LATENCY if has(rows, one)), "")
        if not metric or rows["message_size_B"].nunique() < protocol.MIN_SIZES:
            continue
        column = statistic_column(metric, headline_statistic(rows, metric))
        rows = rows[rows[column].notna()]
        sizes, times = rows["message_size_B"].to_numpy(np.float64), rows[column].to_numpy(np.float64)
        ordered = [group[np.argsort(sizes[group], kind="stable")] for group in alike(rows, differing(rows))]
        series = protocol.every([(sizes[group], times[group]) for group in ordered])
        for group, lines in zip(ordered, series, strict=True):
            if lines is None or not lines.breaks:  # None: too few sizes
                continue
            own = rows.iloc[group]
            subject = view.of_rows(own, view.setting(own.iloc[0].to_dict(), {"message_size_B", "fingerprint"}))
            fit: Values = {"sizes": Count(len(group), "size"), "scatter": Value(value=lines.scatter, unit=SHARE)}
            for change in lines.breaks:
                yield RULE.found(
                    subject,
                    form="jump" if change.abrupt else "bend",
                    evidence=(Evidence(code="fit", values=fit),),
                    after=Value(value=change.after, unit=SIZE),
                    before=Value(value=change.before, unit=SIZE),
                    jump=Value(value=change.jump, unit=SHARE),
                )


_SAYS = "between {after} and {before} the time"
RULE = Rule(
    code="switch-point",
    kind="observation",
    level="note",
    about="sizes",
    must="the time is a straight line over the size",
    why="a jump or bend shows another protocol or algorithm, or another limit",
    says={
        "jump": f"{_SAYS} jumps ({{jump:+}}): another protocol or algorithm",
        "bend": f"{_SAYS} bends to another line ({{jump:+}}), without a clear jump",
    },
    clues={"fit": "{sizes}, points scatter by {scatter}"},
    remedy="Measure sizes in between, or set the library's limit.",
    check=check,
)
