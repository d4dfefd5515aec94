"""Write tables of results, a line for each point."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import pandas as pd

from labkit import benchmarks, stats
from labkit.apps.show.texttable import text_table
from labkit.point import columns, doubts
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.notes import has, joined
from labkit.point.units import format_count, format_range, format_size, plural
from labkit.read import records
from labkit.read.records import resolution
from labkit.read.records.factors import ASSUMED, UNSTATED, differing, level, named, texts
from labkit.read.records.value import reasons, values_in
from labkit.store.samples import Samples
from labkit.store.samples.facts import BROUGHT, FINGERPRINT, SIZE_UNKNOWN


def result_table(frame: pd.DataFrame, samples: Iterable[Samples] = ()) -> str:
    """Return a line for each point: the headline over launches with its interval, tails and notes.

    Values over two sizes, such as iozone's, become a table each; they are taken from `samples`.
    """
    if frame.empty:
        return "no samples"
    parts, summary = [], records.summary(frame)
    brought = frame[frame["origin"].isin(BROUGHT)]
    of_point: dict[str, list[Samples]] = {}
    for (name, *_), rows in summary.groupby(["benchmark", "testbed", "ranks", "ranks_assumed"], sort=False):
        if any(records.has(rows, metric) for metric in benchmarks.get(str(name)).metrics):
            factors = _factors(rows)
            parts.append(_benchmark_table(str(name), rows, factors))
            parts += _further(brought[brought["fingerprint"].isin(rows["fingerprint"])], factors)
            continue
        if not of_point:  # samples are read only if they are needed
            for one in samples:
                of_point.setdefault(str(FINGERPRINT.of(one.meta)), []).append(one)
        for row in rows.to_dict("records"):
            parts += _grids(row, of_point.get(row["fingerprint"], []))
    return "\n\n".join(parts)


def points_json(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return what each point rests on, its headline and its warnings, for JSON."""
    summary = records.summary(frame)
    ends = [*columns.ENDS, *(f"{over}_{end}" for over in columns.OVER for end in columns.ENDS)]
    plain = ["benchmark", "message_size_B", "fingerprint", "origin", "campaign", "launches", "sessions", "span_s"]
    rows = []
    for row in summary.to_dict("records"):
        values = {name: row[name] for name in (*plain, "basis", "headline")}
        for metric in METRICS:
            if statistic := records.statistic_of(row, metric):
                names = (columns.statistic_column(metric, name) for name in (statistic, *ends))
                values |= {name: row[name] for name in names if name in row and not math.isnan(row[name])}
        rows.append(values | {"warnings": row["warnings"]})
    return rows


def _factors(rows: pd.DataFrame) -> list[str]:
    """Return the columns that label the lines of a table; its title shows the others."""
    return differing(rows, skip=("testbed", "ranks"))


def _further(brought: pd.DataFrame, factors: Sequence[str]) -> list[str]:
    """Return a table of the imported values that no column holds: of one rank, or under a name of the tool's own."""
    if not any(brought["further"]):
        return []
    benchmark = benchmarks.get(str(brought["benchmark"].iloc[0]))
    factors = list(dict.fromkeys([*(f"option_{name}" for name in benchmark.quantities), *factors]))
    brought = _sorted(brought, factors)
    levels = zip(*(texts(brought, factor) for factor in factors), strict=True) if factors else repeat(())
    columns = zip(_sizes(brought), brought["launch"].tolist(), levels, brought["further"], strict=False)
    each = [(size, launch, told, dict(note.values)) for size, launch, told, notes in columns for note in notes]
    own = ("name", "unit", "statistic", "value", "shown")
    labels = list(dict.fromkeys(name for *_, value in each for name in value if name not in own))
    launches = ["launch"] if brought["launch"].nunique() > 1 else []
    head = [*(["size"] if benchmark.sized else []), *map(named, factors), *launches, *labels]
    body = []
    for size, launch, told, value in each:
        cells = [*([size] if benchmark.sized else []), *told, *([str(launch)] if launches else [])]
        cells += [str(value.get(name, "-")) for name in labels]
        body.append([*cells, *(str(value[name]) for name in ("name", "statistic", "shown", "unit"))])
    title = f"{benchmark.name} · further values of {', '.join(dict.fromkeys(brought['library']))}"
    table = text_table([*head, "value", "statistic", "", "unit"], body, right=(*range(len(head)), len(head) + 2))
    bounds = any(str(value["shown"]).startswith(("≤", "≥")) for *_, value in each)
    return ["\n".join([title, table, *([resolution.MEANING] if bounds else [])])]


def _sorted(rows: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Return rows by their levels, then by size; levels of several types are sorted as texts."""
    return rows.sort_values(
        [*factors, "message_size_B"], kind="stable", key=lambda c: c.map(level) if c.dtype == object else c
    )


def _ranks(row: Mapping[Any, Any]) -> str:
    """Return the number of ranks of a row; marked if labkit assumed it."""
    return plural(int(row["ranks"]), "rank") + (ASSUMED if row["ranks_assumed"] else "")


def _sizes(rows: pd.DataFrame) -> list[str]:
    """Return the size of each row; a log may not state it."""
    return [
        UNSTATED if has(notes, SIZE_UNKNOWN) else format_size(size)
        for notes, size in zip(rows["warnings"], rows["message_size_B"].tolist(), strict=True)
    ]


_OVER = {"sessions": "range of sessions", "launches": "interval of launches"}
_SHORT = ("p95", "p99", "max", "min")  # statistics whose names need no words


def _benchmark_table(name: str, rows: pd.DataFrame, factors: Sequence[str]) -> str:
    """Return the table of one benchmark."""
    benchmark, first = benchmarks.get(name), rows.iloc[0]
    metrics = [m for m in benchmark.metrics if records.has(rows, m)]
    tails: tuple[str, ...] = ("p95", "p99", "max" if METRICS[metrics[0]].kind == "cost" else "min")
    if not (rows["n"] > 0).any():  # a source without samples: what it gives is shown, all of it
        usual = (records.headline_statistic(rows, metrics[0]), "osu_mean")
        tails = tuple(name for name in columns.SHOWN if name not in usual and records.has(rows, metrics[0], name))
    head = (["size"] if benchmark.sized else []) + [named(c) for c in factors]
    for metric in metrics:
        label, unit = METRICS[metric].label, METRICS[metric].unit
        beside_osu_mean = metric == metrics[0] and records.has(rows, metric, "osu_mean")
        if beside_osu_mean and records.headline_statistic(rows, metric) != "osu_mean" and benchmark.sampled[0]:
            label += f", {benchmark.sampled[0]}"
        head += [f"{label} ({unit})", "low", "high"]
        head += [f"{words} ({unit})" for over, words in _OVER.items() if records.has(rows, metric, f"{over}_low")]
        if metric == metrics[0]:
            head += [f"{STATISTICS[tail].label if tail not in _SHORT else tail} ({unit})" for tail in tails]
    beside = []
    if records.has(rows, metrics[0], "osu_mean") and records.headline_statistic(rows, metrics[0]) != "osu_mean":
        beside.append((metrics[0], "osu_mean"))
    for metric in (*benchmark.phases.values(), *benchmark.derived):
        if records.has(rows, metric):
            beside.append((metric, records.headline_statistic(rows, metric)))
    head += [_beside(*parts) for parts in beside] + ["n", "launches"]
    heads = {metric: records.headline_statistic(rows, metric) for metric in metrics}
    rows = _sorted(rows, factors)
    cells = [_sizes(rows)] if benchmark.sized else []
    cells += [texts(rows, c).tolist() for c in factors]
    for metric in metrics:
        cells += _headlines(rows, metric, heads[metric])
        if metric == metrics[0]:
            cells += [_tails(rows, metric, tail) for tail in tails]
    cells += [[value.text for value in values_in(rows, *parts)] for parts in beside]
    cells += [[*map(format_count, rows["n"].tolist())], [*map(str, rows["launches"].tolist())]]
    body = [*zip(*([cell.replace("–", "-") for cell in column] for column in cells), strict=True)]
    title = " · ".join(
        [
            name,
            *dict.fromkeys(rows["library"]),
            first["testbed"],
            *([] if benchmark.single else [_ranks(first)]),
            f"engine {', '.join(dict.fromkeys(rows['engine']))}",
            *filter(None, dict.fromkeys(rows["host"])),
        ]
    )
    notes = _notes(rows, heads, metrics[0], tails)
    if any(UNSTATED in line for line in body):
        notes.insert(0, f"{UNSTATED}: by the log that was imported")
    return "\n".join([title, text_table(head, body, right=range(len(head))), *notes])


def _headlines(rows: pd.DataFrame, metric: str, usual: str) -> list[list[str]]:
    """Return columns with a metric and the ends of its interval. Name a statistic that differs from the column's."""
    values = values_in(rows, metric)
    texts = [value.text + (f" {value.words}" if value.statistic not in (usual, "") else "") for value in values]
    over = [_range(rows, metric, name) for name in _OVER if records.has(rows, metric, f"{name}_low")]
    return [texts, *map(list, zip(*(value.ends for value in values), strict=True)), *over]


def _range(rows: pd.DataFrame, metric: str, over: str) -> list[str]:
    """Return a column with the ends of the ranges that a summary of few sessions has beside the interval."""
    ends = (rows[columns.statistic_column(metric, f"{over}_{end}")].tolist() for end in columns.ENDS)
    return [format_range(*pair) for pair in zip(*ends, strict=True)]


def _tails(rows: pd.DataFrame, metric: str, statistic: str) -> list[str]:
    """Return a column of a percentile or an extreme, with a star where fewer than 10 samples lie beyond it."""
    values = zip(values_in(rows, metric, statistic), rows["unreliable"], strict=True)
    return [
        value.text + ("*" if not math.isnan(value.value) and statistic in unreliable else "")
        for value, unreliable in values
    ]


def _notes(rows: pd.DataFrame, heads: Mapping[str, str], first: str, tails: Sequence[str]) -> list[str]:
    """Return the notes below a table: what its intervals are, what is missing and why, badges and warnings."""
    notes = [f"low, high: {label}" for label in dict.fromkeys(rows["headline"]) if label]
    present = [tail for tail in tails if records.has(rows, first, tail)]
    others = [tail if tail in _SHORT else STATISTICS[tail].label for tail in present]
    medians = f"; {', '.join(others)}: medians over launches" if others and (rows["launches"] > 1).any() else ""
    notes.append(f"based on: {records.bases(rows)}{medians}")
    for metric, statistic in heads.items():
        if statistic != records.HEADLINES[0]:
            notes.append(f"{METRICS[metric].label}: {STATISTICS[statistic].label}")
    if any(set(tails) & set(names) for names in rows["unreliable"]) and set(present) & set(stats.NEEDED):
        notes.append("*: fewer than 10 samples beyond this percentile")
    lacking: dict[str, dict[str, None]] = {}
    measured = rows[records.statistics_of(rows, first) != ""]
    for tail in tails:
        column = columns.statistic_column(first, tail)
        for reason in reasons(measured[measured[column].isna()] if column in measured else measured, first, tail):
            lacking.setdefault(reason, {})[STATISTICS[tail].label] = None
    notes += [f"no {', '.join(labels)}: {reason}" for reason, labels in lacking.items()]
    if badges := ", ".join(str(one) for one, _ in doubts.kinds(rows["badges"])):
        notes.append(f"badges: {badges}")
    if any(has(badges, resolution.CODE) for badges in rows["badges"]):
        notes.append(resolution.MEANING)
    return notes + [f"warning: {one}" for one, _ in doubts.kinds(rows["warnings"])]


def _beside(metric: str, statistic: str) -> str:
    """Return the title of a column beside the headline: its meaning and unit."""
    label = STATISTICS[statistic].label if statistic == "osu_mean" else METRICS[metric].label
    return f"{label} ({METRICS[metric].unit})"


def _listed(row: Mapping[Any, Any], cells: pd.DataFrame, sizes: Sequence[str]) -> str:
    """Return a table of values with labels: a line for each, a column for each quantity; medians over launches."""
    whole = cells[cells["rank"].isna() & cells["t"].isna()]  # neither of a rank nor of a moment
    cells = whole if len(whole) else cells
    kept = [c for c in cells.columns[cells.columns.get_loc("t") + 1 :] if cells[c].notna().any()]
    quantities = [_quantity(*one) for one in cells[["name", "statistic", "unit"]].itertuples(index=False)]
    cells = cells.assign(quantity=quantities)
    if kept:
        how = {"index": kept, "columns": "quantity", "sort": False}
        table, coarse = (
            cells.pivot_table(values=name, aggfunc=function, **how)
            for name, function in (("value", "median"), ("coarse", "mean"))
        )
    else:
        groups = cells.groupby("quantity", sort=False)
        table, coarse = groups["value"].median().to_frame().T, groups["coarse"].mean().to_frame().T
    units = cells.drop_duplicates("quantity").set_index("quantity")["unit"]
    labels = (
        [[one] if len(kept) == 1 else list(one) for one in table.index] if kept else [[] for _ in range(len(table))]
    )
    head = [name.removesuffix("_B").replace("_", " ") for name in kept] + [str(one) for one in table.columns]
    body = [
        [format_size(int(v)) if name in sizes else str(v) for name, v in zip(kept, label, strict=True)]
        + [
            resolution.text(value, units[name], share, none="-")
            for name, value, share in zip(table.columns, values, shares, strict=True)
        ]
        for label, values, shares in zip(labels, table.to_numpy(), coarse.to_numpy(), strict=True)
    ]
    title = f"{row['benchmark']} · {row['library']} · {row['testbed']} · {_medians(row)}"
    return f"{title}\n{text_table(head, body, right=range(len(head)))}"


def _medians(row: Mapping[Any, Any]) -> str:
    """Say over how many launches values are medians."""
    return "1 launch" if row["launches"] == 1 else f"median of {row['launches']} launches"


def _quantity(name: str, statistic: str, unit: str) -> str:
    """Return the head of a column of reported values."""
    label = METRICS[name].label if name in METRICS else name.replace("_", " ")
    words = STATISTICS[statistic].label if statistic in STATISTICS else statistic.replace("_", " ")
    return f"{label}, {words} ({unit})" if unit else f"{label}, {words}"


def _grids(row: Mapping[Any, Any], samples: Sequence[Samples]) -> list[str]:
    """Return a table for each value over two labels: the median over launches."""
    cells = records.reported(samples)
    sizes = [column for column in cells if column.endswith("_size_B") and column != "message_size_B"]
    if len(sizes) != 2:
        return [_listed(row, cells, sizes)]
    others = [c for c in cells.columns[cells.columns.get_loc("t") + 1 :] if c not in sizes]
    tables = []
    for key, group in cells.groupby(["name", "unit", *others], sort=False):
        grid, coarse = (
            group.pivot_table(index=sizes[0], columns=sizes[1], values=name, aggfunc=function)
            for name, function in (("value", "median"), ("coarse", "mean"))
        )
        head = [
            f"{sizes[0].removesuffix('_B').replace('_', ' ')} \\ {sizes[1].removesuffix('_B').replace('_', ' ')}",
            *map(format_size, grid.columns),
        ]
        body = [
            [
                format_size(int(size)),
                *(resolution.text(*cell, none="-") for cell in zip(line, [key[1]] * len(line), shares, strict=True)),
            ]
            for size, line, shares in zip(grid.index, grid.to_numpy(), coarse.to_numpy(), strict=True)
        ]
        metric = METRICS[str(key[0])].label if key[0] in METRICS else str(key[0])
        label = f"{' '.join(map(str, key[2:]))} {metric} ({key[1]}), {_medians(row)}"
        title = f"{row['benchmark']} {row['options']} · {row['library']} · {label}"
        tables.append(f"{title}\n{text_table(head, body, right=range(len(head)))}")
    notes = [f"badges: {joined(row['badges'])}"] if row["badges"] else []
    return [*tables, *notes, *([resolution.MEANING] if cells["coarse"].any() else [])]
