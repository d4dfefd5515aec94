"""Summary of a plot: a value on each path, the verdict, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from labkit.apps.explorer.view import SIZE, View
from labkit.figures.lines import HEADLINE, column
from labkit.judge.answer import NO_REFERENCE, Answer, Topic
from labkit.judge.finding import Finding
from labkit.judge.sentences import claim, name_of
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.units import format_size, plural
from labkit.read.records import headline_statistic
from labkit.read.records.factors import path_name

SMALL = 8  # B of the message whose latency stands for a path, as in tables of latencies
_DEFAULT = "the library's default path"
_MOST = 3  # paths that a line names


@dataclass(frozen=True)
class Values:
    """The best value of each path at one message size; false without any.

    Parameters
    ----------
    what : the size and the statistic.
    of_paths : for each path its value with the unit, and the interval and the path in words.
    more : paths that are left out.
    """

    what: str = ""
    of_paths: tuple[tuple[str, str], ...] = ()
    more: int = 0

    def __bool__(self) -> bool:
        return bool(self.of_paths)

    @property
    def rest(self) -> str:
        """How many paths are left out; empty if none."""
        return plural(self.more, "more path") if self.more else ""

    def __str__(self) -> str:
        parts = [value + words for value, words in self.of_paths]
        return f"{self.what}: {', '.join([*parts, self.rest] if self.more else parts)}" if self else ""


def values(view: View, summary: pd.DataFrame) -> Values:
    """Return the best value of each path at one message size: 8 B for a cost, the largest size for a rate."""
    by_path: dict[str, dict[str, Any]] = {}
    for row in rows(view, summary):
        by_path.setdefault(path_name(str(row.get("transport", "")), str(row.get("testbed", "local"))), row)
    if not by_path:
        return Values()
    shown, unit = _statistic(view, summary), view.unit or METRICS[view.metric].unit
    parts = []
    for path, row in [*by_path.items()][:_MOST]:
        value = view.value(row, shown)
        about = f", {value.label}" if value.label.startswith("range") else ""  # fewer launches than an interval needs
        interval = "" if math.isnan(value.low) else f" ({value.range}{about})"
        over = f" over {path or _DEFAULT}" if len(by_path) > 1 or path else ""
        parts.append((f"{value.text} {unit}", interval + over))
    size = int(next(iter(by_path.values())).get(SIZE) or 0)
    what = f"{f'{format_size(size)}, ' if size else ''}{STATISTICS[shown].label}"
    return Values(what, tuple(parts), max(0, len(by_path) - _MOST))


def rows(view: View, summary: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the points that represent a view, all of one size and the best first; empty without any."""
    found = view.rows(summary) if view.metric else summary[:0]
    if found.empty:
        return []
    heights, cost = column(found, view.metric, _statistic(view, summary)), METRICS[view.metric].kind == "cost"
    places = np.flatnonzero(~np.isnan(heights))
    if SIZE in found and len(places):
        sizes = found[SIZE].to_numpy()[places]
        every = sorted(set(sizes.tolist()))
        size = next((one for one in every if one >= SMALL), every[-1]) if cost else every[-1]
        places = places[sizes == size]
    order = np.argsort(heights[places] if cost else -heights[places], kind="stable")
    ordered: list[dict[str, Any]] = found.iloc[places[order]].to_dict("records")
    return ordered


def _statistic(view: View, summary: pd.DataFrame) -> str:
    return headline_statistic(view.rows(summary), view.metric) if view.statistic == HEADLINE else view.statistic


def verdicts(found: Answer, benchmark: str) -> Iterator[str]:
    """Yield the verdict on a benchmark on each path."""
    for topic in found.topics:
        own = tuple(one for one in topic.findings if one.subject.benchmark == benchmark)
        if own:
            yield _verdict(topic, Topic(topic.name, own))


def judged(found: Answer, benchmark: str) -> Iterator[str]:
    """Yield the sentences about a benchmark: the verdict on each path, and its tail."""
    yield from verdicts(found, benchmark)
    tails = {name for one in found.of_method if _of_tail(one, benchmark) for name in one.subject.points}
    if tails:
        yield f"tail doubtful at {plural(len(tails), 'point')}"


def step(found: Answer, benchmark: str) -> str:
    """Return what to do next about a benchmark; empty if nothing."""
    own = (one for topic in found.topics for one in topic.findings if one.subject.benchmark == benchmark)
    about = {name for one in own for name in one.subject.points}
    wanted = (
        one.command
        for one in found.steps
        if any(why.subject.benchmark == benchmark or about & {*why.subject.points} for why in one.why)
    )
    return next(wanted, "")


def _of_tail(one: Finding, benchmark: str) -> bool:
    return one.code == "doubtful-tail" and one.subject.benchmark == benchmark


def _verdict(whole: Topic, topic: Topic) -> str:
    """Return path and verdict, and of one that is not good its reason and likeliest cause.

    Parameters
    ----------
    whole : with the findings about other benchmarks too.
    topic : with the findings about one benchmark.
    """
    one = topic.lead
    text = f"{one.values.get('path', '') or topic.name}: {topic.verdict}"
    if topic.verdict == NO_REFERENCE:
        text += f", because {one.values['reason']}" if "reason" in one.values else ""
    elif topic.verdict != "good":
        text += f", {one.subject.setting}: {claim(one)}" if one.subject.setting else f": {claim(one)}"
        text += f" ({name_of(topic.cause)})" if topic.cause else ""
    if whole.verdict != topic.verdict:
        text += f"; {whole.lead.subject.benchmark} is {whole.verdict}"
    return text
