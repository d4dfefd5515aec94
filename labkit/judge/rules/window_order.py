"""Windows of messages that move fewer bytes per time than the same messages one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from labkit.judge.finding import TIMES, Count, Evidence, Finding, Value
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, REMEDY, beyond, level_of
from labkit.judge.view import View
from labkit.judge.view.points import Point
from labkit.read.records import GIVEN
from labkit.read.records.factors import SETTING, worded

_WINDOW, _SINGLE = ("mpi.bandwidth", "bandwidth_MBps"), ("mpi.latency", "latency_us")
_OWN = {"launcher", "cadence", "timing"}  # columns of settings in which both benchmarks may differ


def check(view: View) -> Iterator[Finding]:
    """Yield for each setting the clearest case of a window that is slower than a ping-pong of the same size."""
    for pairs, tests in _settings(view):
        found = [(*pair, how) for pair in pairs if (how := beyond(pair[1], pair[0], tests))]
        if not found:
            continue
        window, single, decision = min(found, key=lambda one: (one[2].decided.how != "tested", -one[2].times))
        clues = [Evidence(code="sizes", values={"sizes": Count(len(found), "size"), "of": str(tests)})]
        yield RULE.found(
            view.points(window.row, single.row, setting=view.subject(window.row).setting),
            level=level_of(decision.decided),
            cost=decision.times,
            decided=decision.decided,
            evidence=tuple(clues),
            command=view.again(window.row, single.row),
            measured=window.value,
            other=single.value,
            times=Value(value=decision.times, unit=TIMES),
        )


def _settings(view: View) -> Iterator[tuple[list[tuple[Point, Point]], int]]:
    """Yield the pairs of points of each setting that both benchmarks have, one for each size, and their number.

    The rate of a ping-pong is the message size divided by half the round-trip time.
    """
    windows, singles = (view.tables.get(name) for name, _ in (_WINDOW, _SINGLE))
    if windows is None or singles is None:
        return
    apart = [str(name) for name in windows.rows if name in singles.rows and _tells_apart(str(name))]
    parts = [_worded(table.rows, apart) for table in (windows, singles)]
    both = pd.merge(*parts, on=[*apart, "message_size_B"], suffixes=("", "_single"))
    for _, rows in both[both["message_size_B"] > 0].groupby(apart, sort=False):
        found = []
        for size, window, single in rows[["message_size_B", "place", "place_single"]].itertuples(index=False):
            first, second = windows.point(window, _WINDOW[1]), singles.point(single, _SINGLE[1])
            if first is None or second is None or first.statistic != second.statistic:
                continue
            rate = replace(second, values=size / second.values, metric=_WINDOW[1])  # B per µs are MB/s
            found.append((first, rate))
        if found:
            yield found, len(found)


def _tells_apart(column: str) -> bool:
    """Whether points that differ in a column are not compared."""
    stated = column in SETTING and column not in _OWN
    return stated or column in ("host", "campaign") or column.startswith(GIVEN)


def _worded(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns as text, which tables of two benchmarks can share, with sizes and the places of the rows."""
    words = {}
    for name in columns:
        codes, levels = worded(rows, name)
        words[name] = np.array(levels, object)[codes]
    return pd.DataFrame({**words, "message_size_B": rows["message_size_B"].to_numpy(), "place": np.arange(len(rows))})


RULE = Rule(
    code="window-order",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must="a window of messages moves as many bytes per time as the same messages one by one",
    why="a library could send them one by one",
    says="a window moves {measured:interval}, but a ping-pong of the same size {other:interval}; {times:2}",
    clues={"sizes": "so at {sizes} of {of}"},
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
