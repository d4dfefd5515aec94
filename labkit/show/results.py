"""Tables of results: one line a point."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from labkit import benchmarks, columns
from labkit.columns import METRICS, STATISTICS
from labkit.samples import Samples
from labkit.units import format_size

if TYPE_CHECKING:
    import pandas as pd


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Columns as wide as their content; those listed in `right` are flushed right."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(
            str(c).rjust(w) if i in right else str(c).ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def result_table(frame: pd.DataFrame, samples: Iterable[Samples] = ()) -> str:
    """One line a point: the median over launches with its interval, tails and what to know about it.

    Values over two sizes, such as iozone's, become a table each; they are taken from `samples`.
    """
    from labkit import records

    if frame.empty:
        return "no samples"
    parts, summary = [], records.summary(frame)
    for (name, *_), rows in summary.groupby(["benchmark", "testbed", "ranks"], sort=False):
        if any(_given(rows, metric) for metric in benchmarks.get(str(name)).metrics):
            parts.append(_benchmark_table(str(name), rows))
        else:
            for _, row in rows.iterrows():
                parts += _grids(row, [s for s in samples if s.meta.get("fingerprint") == row["fingerprint"]])
    return "\n\n".join(parts)


def _given(rows: pd.DataFrame, metric: str, statistics: Sequence[str] = ()) -> bool:
    """Whether any row has one of some statistics, or any that can stand for a metric."""
    from labkit import records

    names = [f"{metric}_{statistic}" for statistic in statistics or records.HEADLINES]
    return any(rows[name].notna().any() for name in names if name in rows)


def _benchmark_table(name: str, rows: pd.DataFrame) -> str:
    """Lines of one benchmark."""
    from labkit import records
    from labkit.analysis import doubts
    from labkit.records.factors import differing, level, named

    benchmark, first = benchmarks.get(name), rows.iloc[0]
    metrics = [m for m in benchmark.metrics if _given(rows, m)]
    factors = differing(rows, skip=("testbed", "ranks"))
    worst = "max" if METRICS[metrics[0]].kind == "cost" else "min"
    head = (["size"] if benchmark.sized else []) + [named(c) for c in factors]
    for metric in metrics:
        unit = METRICS[metric].unit
        head += [f"{METRICS[metric].label} ({unit})", "low", "high"]
        head += [f"p95 ({unit})", f"p99 ({unit})", f"{worst} ({unit})"] if metric == metrics[0] else []
    beside = [f"{metrics[0]}_osu_mean"] if _given(rows, metrics[0], ("osu_mean",)) else []
    for metric in (*benchmark.lanes.values(), *benchmark.derived):
        if _given(rows, metric):
            beside.append(f"{metric}_{records.headline_statistic(rows, metric)}")
    head += [_beside(column) for column in beside] + ["n", "launches"]
    heads = {metric: records.headline_statistic(rows, metric) for metric in metrics}
    body = []
    for _, row in rows.sort_values([*factors, "message_size_B"]).iterrows():
        cells = ([format_size(int(row["message_size_B"]))] if benchmark.sized else []) + [
            level(row[c]) for c in factors
        ]
        for metric in metrics:
            cells += [
                _digits(row.get(f"{metric}_{heads[metric]}")),
                _digits(row.get(f"{metric}_low")),
                _digits(row.get(f"{metric}_high")),
            ]
            if metric == metrics[0]:
                cells += [_digits(row.get(f"{metric}_{s}")) for s in ("p95", "p99", worst)]
        cells += [_digits(row[column]) for column in beside]
        body.append([*cells, str(row["n"]), str(row["launches"])])
    about = " · ".join([
        name, *dict.fromkeys(rows["library"]), first["testbed"], f"engine {', '.join(dict.fromkeys(rows['engine']))}",
        *dict.fromkeys(rows["host"]),
    ])  # fmt: skip
    notes = [f"low, high: {label}" for label in dict.fromkeys(rows["headline"]) if label]
    for metric in metrics:
        if (statistic := heads[metric]) != records.HEADLINES[0]:
            notes.append(f"{METRICS[metric].label}: {STATISTICS[statistic].label}")
    notes += [f"badges: {', '.join(text for text, _ in doubts.kinds(rows['badges']))}"]
    notes += [f"warning: {text}" for text, _ in doubts.kinds(rows["warnings"])]
    return "\n".join([about, text_table(head, body, right=range(len(head))), *notes])


def _beside(column: str) -> str:
    """Head of a column that stands beside the headline: what it is, and its unit."""
    metric, statistic = columns.split(column) or (column, "")
    label = STATISTICS[statistic].label if statistic == "osu_mean" else METRICS[metric].label
    return f"{label} ({METRICS[metric].unit})"


def _grids(row: pd.Series, samples: Sequence[Samples]) -> list[str]:
    """A table for each value over two labels: the median over launches."""
    from labkit import records

    cells = records.reported(samples)
    sizes = [column for column in cells if column.endswith("_size_B") and column != "message_size_B"]
    if len(sizes) != 2:
        return [cells.to_string(index=False)]
    others = [c for c in cells.columns[cells.columns.get_loc("t") + 1 :] if c not in sizes]
    found = []
    for key, group in cells.groupby(["name", "unit", *others], sort=False):
        grid = group.pivot_table(index=sizes[0], columns=sizes[1], values="value", aggfunc="median")
        head = [
            f"{sizes[0].removesuffix('_B').replace('_', ' ')} \\ {sizes[1].removesuffix('_B').replace('_', ' ')}",
            *map(format_size, grid.columns),
        ]
        body = [
            [format_size(int(size)), *map(_digits, line)]
            for size, line in zip(grid.index, grid.to_numpy(), strict=True)
        ]
        metric = METRICS[str(key[0])].label if key[0] in METRICS else str(key[0])
        what = f"{' '.join(map(str, key[2:]))} {metric} ({key[1]}), median of {row['launches']} launches"
        about = f"{row['benchmark']} {row['options']} · {row['library']} · {what}"
        found.append(f"{about}\n{text_table(head, body, right=range(len(head)))}")
    notes = [f"badges: {row['badges']}"] if row["badges"] else []
    return [*found, *notes]


def _digits(value: Any) -> str:
    """Four digits; a dash for nothing."""
    if value is None or not math.isfinite(float(value)):
        return "-"
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"
