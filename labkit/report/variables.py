"""Compute every number in the report's own prose from the records."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit import benchmarks
from labkit.errors import SpecError
from labkit.point import units
from labkit.point.columns import METRICS, statistic_column
from labkit.point.notes import joined
from labkit.point.units import plural
from labkit.read.records import Value, by_benchmark, headline_metric, headline_statistic, sound, value_of
from labkit.read.records.factors import NONE, UNSTATED, differing, named
from labkit.read.records.factors import text as level_text
from labkit.read.records.factors import texts as levels
from labkit.report.sources import Source, read

if TYPE_CHECKING:
    import pandas as pd


_COLUMNS = ("transport", "ranks", "origin")  # of the table of key numbers


@dataclass(frozen=True)
class KeyNumber:
    """A headline value with its interval and other facts on its certainty.

    Parameters
    ----------
    campaign, benchmark, title : campaign, benchmark and its title.
    transport, ranks, options : transport, ranks and options of the point.
    ranks_assumed : whether labkit assumed the number of ranks, because a log does not state it.
    setting : other settings of which its benchmark has several levels, such as ``sync=osync, pattern=random``.
    size : B.
    which : ``smallest`` or ``largest`` size of its group, or ``only``.
    metric, statistic, unit : metric, statistic and unit of the value.
    value, low, high : in `unit`; ends are None without an interval.
    interval : kind of interval.
    n, launches : samples in total, and launches.
    basis : launches and sessions behind the value, in words.
    origin, badges : origin and badges of the point.
    step : resolution of the clock, in `unit`; NaN if unknown.
    """

    campaign: str
    benchmark: str
    title: str
    transport: str
    ranks: int
    ranks_assumed: bool
    options: str
    setting: str
    size: int
    which: str
    metric: str
    statistic: str
    unit: str
    value: float
    low: float | None
    high: float | None
    interval: str
    n: int
    launches: int
    basis: str
    origin: str
    badges: str
    step: float = math.nan

    @property
    def shown(self) -> Value:
        """The value with its interval, for formatting."""
        low, high = (math.nan if end is None else end for end in (self.low, self.high))
        return Value(self.metric, self.statistic, self.value, low, high, self.interval, self.step)

    @property
    def text(self) -> str:
        """Value for people, without its unit."""
        return self.shown.text

    @property
    def range(self) -> str:
        """Interval for people; a dash without one."""
        return self.shown.range


@lru_cache(8)  # of each campaign once, for the table, the prose and the file
def key_numbers(source: Source) -> list[KeyNumber]:
    """Return the headline metric at the smallest and the largest size, for each benchmark and path of the messages.

    Points with odd results are left out.
    """
    summary = source.summary
    kept = summary[~summary["fingerprint"].isin(source.doubted)] if len(summary) else summary
    return [one for rows in by_benchmark(kept).values() for one in _curves(source, rows)]


def _curves(source: Source, rows: pd.DataFrame) -> Iterator[KeyNumber]:
    """Yield the key numbers of every curve of a benchmark: of points that differ in their size only."""
    factors = differing(rows)
    texts = {name: levels(rows, name) for name in ("transport", *factors, "origin")}
    keys = [*texts.values(), rows["ranks"]]
    shown = [name for name in factors if name not in _COLUMNS]
    for _, group in rows.groupby(keys, sort=True):
        setting = ((named(name), texts[name][group.index[0]]) for name in shown)
        yield from _ends(
            source, group, ", ".join(f"{name}={text}" for name, text in setting if text not in (NONE, UNSTATED))
        )


def _ends(source: Source, group: pd.DataFrame, setting: str) -> Iterator[KeyNumber]:
    """Yield the key numbers of one curve."""
    metric = headline_metric(group)
    if not metric:
        return
    statistic = headline_statistic(group, metric)
    column = statistic_column(metric, statistic)
    present = sound(group[group[column].notna()], metric).sort_values("message_size_B", kind="stable")
    if not len(present):
        return
    rows = {"smallest": present.iloc[0], "largest": present.iloc[-1]} if len(present) > 1 else {"only": present.iloc[0]}
    for which, row in rows.items():
        name, value = str(row["benchmark"]), value_of(row, metric, statistic)
        yield KeyNumber(
            campaign=source.name,
            benchmark=name,
            title=title(name),
            transport=level_text(row, "transport"),
            ranks=int(row["ranks"]),
            ranks_assumed=bool(row["ranks_assumed"]),
            options=str(row["options"]),
            setting=setting,
            size=int(row["message_size_B"]),
            which=which,
            metric=metric,
            statistic=statistic,
            unit=METRICS[metric].unit,
            value=value.value,
            low=None if math.isnan(value.low) else value.low,
            high=None if math.isnan(value.high) else value.high,
            interval=value.label,
            n=int(row["n"]),
            launches=int(row["launches"]),
            basis=str(row["basis"]),
            origin=str(row["origin"]),
            badges=joined(row["badges"]),
            step=value.step,
        )


def title(benchmark: str) -> str:
    """Return the title of a benchmark; its name if this labkit does not know it."""
    try:
        return benchmarks.get(benchmark).title
    except SpecError:
        return benchmark


def sized(benchmark: str) -> bool:
    """Return whether a benchmark has sizes; True if this labkit does not know it."""
    try:
        return benchmarks.get(benchmark).sized
    except SpecError:
        return True


def variables(campaign: Path | Source) -> dict[str, Any]:
    """Return all variables of one campaign for the prose.

    Parameters
    ----------
    campaign : its folder, or the source read from it.

    Returns
    -------
    ``campaign`` (name, suite, date, labkit), ``host`` (its scalar facts), ``counts`` (points, launches, files,
    samples, benchmarks, failed), ``durations`` (measuring, as text and in s) and ``key``: benchmark → transport →
    smallest, largest or only → value, unit, low, high, interval, size, n, launches. Texts are ready to print.

    Raises
    ------
    DataError
        If the folder is not a campaign.
    """
    source = campaign if isinstance(campaign, Source) else read(campaign)
    facts = source.facts
    elapsed = float(source.records["elapsed_s"].sum()) if len(source.records) else 0.0
    return {
        "campaign": {
            "name": source.name,
            "suite": str(facts.get("suite") or "none"),
            "date": str(facts.get("created", ""))[:10],
            "labkit": str(facts.get("labkit", "")),
        },
        "host": {identifier(k): str(v) for k, v in source.host.items() if isinstance(v, str | int | float) and str(v)},
        "counts": {
            "points": plural(len(source.summary), "point"),
            "launches": plural(len(source.records), "launch"),
            "files": plural(len(source.files), "file"),
            "samples": f"{source.times.raw:,}",
            "benchmarks": plural(source.records["benchmark"].nunique() if len(source.records) else 0, "benchmark"),
            "failed": plural(len(source.failed), "point"),
        },
        "durations": {"measuring": units.format_duration(elapsed), "measuring_s": round(elapsed, 3)},
        "key": _tree(key_numbers(source)),
    }


def identifier(text: str) -> str:
    """Return a text as a valid part of a variable's name.

    Examples
    --------
    >>> identifier("mpi.latency"), identifier("95 % low")
    ('mpi_latency', '95_low')
    """
    return re.sub(r"[^\w-]+", "_", text).strip("_")


def _tree(numbers: list[KeyNumber]) -> dict[str, Any]:
    """Return the key numbers by name; only the first of each name."""
    tree: dict[str, Any] = {}
    for number in numbers:
        place = tree.setdefault(identifier(number.benchmark), {}).setdefault(identifier(number.transport), {})
        place.setdefault(number.which, _shown(number))
    return tree


def _shown(number: KeyNumber) -> Mapping[str, str]:
    return {
        "value": number.text,
        "unit": number.unit,
        "low": number.shown.ends[0],
        "high": number.shown.ends[1],
        "interval": number.interval,
        "size": units.format_size(number.size),
        "n": units.format_count(number.n),
        "launches": str(number.launches),
        "basis": number.basis,
    }


def as_json(numbers: list[KeyNumber]) -> list[dict[str, Any]]:
    """Return the key numbers with their raw values and printed texts."""
    rows = []
    for number in numbers:
        step = None if math.isnan(number.step) else number.step
        rows.append(asdict(number) | {"step": step, "text": number.text, "range": number.range})
    return rows
