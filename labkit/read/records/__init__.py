"""Tables made from samples: a row per point and launch, a summary row per point, a row per reported value.

`labkit.point.columns` defines the columns. This package computes every number in them from the samples, which are the
only truth. It never pools iterations of different launches.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from labkit import benchmarks, stats
from labkit.errors import DataError
from labkit.point import notes
from labkit.point.columns import COLUMNS, split
from labkit.read.records import describe, numbers, resolution
from labkit.read.records.aggregate import (
    GIVEN,
    HEADLINES,
    KEY,
    bases,
    by_benchmark,
    has,
    headline_metric,
    headline_statistic,
    order,
    quantities,
    statistic_of,
    statistics_of,
    summary,
)
from labkit.read.records.describe import Columns, Notes
from labkit.read.records.factors import stated
from labkit.read.records.launch_values import launches_of, standing_for, with_launches
from labkit.read.records.numbers import (
    DECILES,
    decile_names,
    deciles_of,
    of_seconds,
    seconds,
    seconds_of,
    values,
    values_of,
)
from labkit.read.records.resolution import coarse, sound
from labkit.read.records.value import Value, value_of, why_not
from labkit.store.samples import Samples
from labkit.store.samples.batch import Batch
from labkit.store.samples.facts import (
    ALLOCATION,
    BADGES,
    CADENCE,
    CAMPAIGN,
    ELAPSED,
    ENGINE,
    FINGERPRINT,
    LIBRARY,
    NOTES,
    RANKS_ASSUMED,
    SESSION,
    START,
    STOPPED_BY,
    TIMER_OVERHEAD_NS,
    TIMING,
    VERIFIED,
    WARNINGS,
)

MARK = "mark."  # how columns of marks begin
_DEPENDENT = f"iterations depend on each other: fewer than {stats.DEPENDENT * 100:.0f} % of them count as independent"

__all__ = [
    "DECILES",
    "GIVEN",
    "HEADLINES",
    "KEY",
    "Value",
    "bases",
    "by_benchmark",
    "coarse",
    "decile_names",
    "deciles_of",
    "has",
    "headline_metric",
    "headline_statistic",
    "launches_of",
    "of_seconds",
    "order",
    "quantities",
    "reported",
    "seconds",
    "seconds_of",
    "sound",
    "standing_for",
    "statistic_of",
    "statistics_of",
    "summary",
    "table",
    "typed",
    "value_of",
    "values",
    "values_of",
    "why_not",
    "with_launches",
]


def ticks(samples: Samples) -> float:
    """Return how many steps of the clock the median time of an iteration spans; NaN if no clock is known."""
    step = resolution.step_s(samples) if samples.origin not in resolution.NO_CLOCK else math.nan
    if numbers.timing(samples) == "total":  # the clock is read around all iterations of a chunk
        step /= float(np.mean(samples.extras.get("iterations", 1)))
    return float(np.median(seconds(samples))) / step if step > 0 else math.nan


def _identity(batch: Batch, campaign: str, time: Columns) -> Columns:
    """Columns that say what was measured, where and how.

    Parameters
    ----------
    time : from `numbers.of_times`; empty if a tool reported values only.
    """
    kind, spec, meta, host = batch.kind, batch.kind.spec, batch.kind.meta, batch.kind.host
    warnings, badges = _noted(batch, time)
    library, cpu = LIBRARY.of(meta), str(host.get("cpu_model") or "")
    benchmark = benchmarks.runnable(spec.benchmark)
    options = spec.values
    same = {
        "unreliable": (),
        "benchmark": spec.benchmark,
        **{name: getattr(spec, name) for name in ("ranks", "ppn", "testbed")},
        **stated({name: getattr(spec, name) for name in ("transport", "launcher", "bind")}, kind.origin),
        "device": spec.device,
        "hosts": ",".join(spec.hosts),
        "library": library,
        "engine": ENGINE.of(meta),
        "origin": kind.origin,
        "verified": VERIFIED.of(meta),
        "timing": numbers.timing(kind) if time else str(TIMING.of(meta) or ""),
        "cadence": str(CADENCE.of(meta) or options.get("cadence") or (benchmark.cadence if benchmark else "")),
        "options": json.dumps(options, sort_keys=True),
        "host": str(host.get("name") or host.get("hostname") or (spec.hosts[0] if spec.hosts else "")),
        "cpu_model": cpu,
        "allocation": str(ALLOCATION.of(meta).get("name") or ""),
        "campaign": str(CAMPAIGN.of(meta) or campaign),
        **{f"option_{name}": value for name, value in options.items()},
        **{f"env_{name}": value for name, value in spec.environment},
    }
    fingerprints = [
        str(value or batch.spec(row).fingerprint({"library": library, "cpu_model": cpu}))
        for row, value in enumerate(batch.fact(FINGERPRINT))
    ]
    return {name: [value] * len(batch) for name, value in same.items()} | {
        "message_size_B": batch.sizes,
        "ranks_assumed": [notes.has(each, RANKS_ASSUMED) for each in warnings],
        "launch": batch.launches,
        "n": time.get("n", [0] * len(batch)),
        "badges": badges,
        "warnings": warnings,
        "further": describe.further(batch),
        "stopped_by": batch.fact(STOPPED_BY),
        "timer_overhead_ns": batch.fact(TIMER_OVERHEAD_NS),
        "start": batch.fact(START),
        "session": batch.fact(SESSION),
        "elapsed_s": batch.fact(ELAPSED),
        "fingerprint": fingerprints,
    }


def _noted(batch: Batch, time: Columns) -> tuple[list[Notes], list[Notes]]:
    """Return warnings and badges of each launch; equal ones are one object."""
    none = [False] * len(batch)
    zero, dependent = (np.asarray(time.get(name, none)).tolist() for name in ("below", "dependent"))
    known: dict[str, tuple[Notes, Notes]] = {}
    out: list[tuple[Notes, Notes]] = []
    parts = zip(batch.fact(WARNINGS), batch.fact(BADGES), batch.fact(NOTES), zero, dependent, strict=True)
    for texts, marks, about, below, dependence in parts:
        key = repr((texts, marks, about, below, dependence))
        if key not in known:
            warnings = notes.known(texts, about) + (batch.kind.start.notes if batch.kind.start else ())
            if below:
                warnings += (notes.note("below-resolution", "a time of 0 ns is below the clock's resolution"),)
            if dependence:
                warnings += (notes.note("dependent-iterations", _DEPENDENT),)
            known[key] = warnings, notes.known(marks, about)
        out.append(known[key])
    return [warnings for warnings, _ in out], [badges for _, badges in out]


def table(samples: Iterable[Samples], *, campaign: str = "") -> pd.DataFrame:
    """Tabulate samples as records: one row per point and launch.

    Parameters
    ----------
    samples : any mix of benchmarks and origins.
    campaign : name for the column of that name.

    Returns
    -------
    Every column of `labkit.point.columns.COLUMNS`, then ``<metric>_<statistic>`` of the metrics that occur, then
    ``option_<name>`` and ``env_<NAME>``. Sorted by benchmark, size and launch.

    Raises
    ------
    DataError
        If times, badges or values cannot be correct.
    """
    return of_batches(map(Batch.of, samples), campaign=campaign)


def of_batches(batches: Iterable[Batch], *, campaign: str = "", deciles: bool = False) -> pd.DataFrame:
    """`table` of launches that are in batches, with columns of their marks behind it, and of `deciles_of` if wanted."""
    columns: dict[str, list[Any]] = {}  # name → values of each batch
    lengths: list[int] = []
    for batch in batches:
        rows = _rows(batch, campaign, deciles)
        for name in rows.keys() - columns.keys():
            columns[name] = [np.full(length, math.nan) for length in lengths]
        lengths.append(len(batch))
        for name, column in columns.items():
            column.append(rows[name] if name in rows else np.full(len(batch), math.nan))
    marks = sorted(name for name in columns if name.startswith(MARK))
    frame = pd.DataFrame({name: _joined(columns.pop(name)) for name in [*columns]})
    return typed(frame, frame.columns, marks=marks)


def _joined(parts: Sequence[Any]) -> Any:
    """Return the values of all batches as one column."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [value for part in parts for value in (part.tolist() if isinstance(part, np.ndarray) else part)]


def _rows(batch: Batch, campaign: str, deciles: bool) -> Columns:
    """Return the rows of a batch, as columns."""
    numbers.check(batch)
    time = numbers.of_times(batch) if batch.timed else {}
    columns = _identity(batch, campaign, time)
    if time:
        columns |= numbers.of_statistics(batch, time)
    else:
        reported_columns, columns["warnings"] = describe.consistent(describe.numbers(batch), columns["warnings"])
        columns |= reported_columns
    columns["badges"] = resolution.with_badges(batch, columns, time.get("clock"))
    marks = {name: values for name, values in time.items() if numbers.DECILE in name} if deciles else {}
    columns |= {f"{MARK}{name}": values for name, values in (marks | {**batch.marks}).items()}
    return columns


def typed(rows: pd.DataFrame, names: Iterable[str], *, marks: Sequence[str] = ()) -> pd.DataFrame:
    """Return rows as a table of records: columns in order and of their types, rows sorted.

    Parameters
    ----------
    names : names of all columns that are not marks.
    marks : names of further columns.
    """
    kinds = {name: column.kind for name, column in COLUMNS.items()}
    kinds |= {name: "float64" for name in rows.columns if split(name)}
    there = {str(name): rows[name] for name in rows.columns}
    nothing = pd.Series(math.nan, index=rows.index)

    def of_kind(name: str) -> pd.Series:
        values, kind = there.get(name, nothing), kinds.get(name)
        # astype of the whole table would copy all of it for each column
        return values if kind is None or values.dtype == kind else values.astype(kind)

    frame = pd.DataFrame({name: of_kind(name) for name in [*order([dict.fromkeys(names)]), *marks]}, index=rows.index)
    keys = ["benchmark", "message_size_B", "fingerprint", "launch"]
    # in one block of each type: hundreds take many times as long to filter
    return frame.sort_values(keys, ignore_index=True, kind="stable").copy()


def reported(samples: Iterable[Samples]) -> pd.DataFrame:
    """Return the values that tools reported, tidy: one row per value.

    Returns
    -------
    benchmark, message_size_B, launch, origin, host, badges, fingerprint, name, unit, statistic, value, coarse (whether
    the time behind it is shorter than ten steps of the clock), rank, t, and a column for each label, such as
    ``file_size_B`` of iozone's tables. `rank` and `t` are NaN if a value has none. A label must not be named like
    one of these columns.
    """
    point_columns = ["benchmark", "message_size_B", "launch", "origin", "host", "badges", "fingerprint"]
    columns = [*point_columns, "name", "unit", "statistic", "value", "coarse", "rank", "t"]
    rows: list[dict[str, Any]] = []
    for point in samples:
        batch = Batch.of(point)
        numbers.check(batch)
        identity = {name: values[0] for name, values in _identity(batch, "", {}).items() if name in point_columns}
        for place, value in enumerate(point.reported):
            if clash := set(value.labels) & set(columns):
                raise DataError(
                    f"{numbers.named(batch)} labels a value with {sorted(clash)}, which are columns already. "
                    "Rename the label."
                )
            statistic = {
                "name": value.name,
                "unit": value.unit,
                "statistic": value.statistic,
                "value": float(value.value),
                "coarse": bool(resolution.coarse_values(batch, place)[0]),
            }
            rows.append(identity | statistic | {"rank": value.rank, "t": value.t} | dict(value.labels))
    labels = dict.fromkeys(name for row in rows for name in row if name not in columns)
    return pd.DataFrame(rows, columns=[*columns, *labels]).astype({"rank": "float64", "t": "float64"})
