"""Write published numbers: a table for people, JSON and CSV for programs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from labkit import benchmarks
from labkit.apps.show.texttable import text_table
from labkit.io import csv_export
from labkit.point.units import finite
from labkit.read import reference
from labkit.read.records import by_benchmark, summary
from labkit.read.reference import UNMEASURED, Entry, Paper, comparing

if TYPE_CHECKING:
    import pandas as pd

_HEAD = ("value", "what", "conditions", "where", "measured by", "name")
_WIDTH = 120  # of notes


def text(entries: Sequence[Entry], form: str) -> str:
    """Return numbers as ``table``, ``json`` or ``csv``."""
    if form == "json":
        return json.dumps([row(one) for one in entries], indent=1, ensure_ascii=False, allow_nan=False)
    if form == "csv":
        return csv_export.of_rows(_flat(row(one)) for one in entries).rstrip()
    return "\n\n".join(_of_paper(list(group)) for _, group in groupby(entries, key=lambda one: one.file))


def row(entry: Entry) -> dict[str, Any]:
    """Return the facts about a number, with its value also in SI units; None if the paper does not state a fact."""
    number, paper = entry.number, entry.paper
    return {
        "paper": entry.file,
        "short": paper.short,
        "title": paper.title,
        "doi": paper.doi,
        "name": number.name,
        "text": number.text,
        "value": number.value,
        "to": number.to,
        "unit": number.unit,
        "relation": number.relation,
        "uncertainty": number.uncertainty,
        "si_value": float(f"{number.si:.12g}"),
        "si_unit": number.measures,
        "read_from": number.read,
        "where": number.where,
        "page": number.page or None,
        "network": number.network,
        "library": number.library,
        "message_size": number.size,
        "message_size_B": number.size_B,
        "processes": number.processes or None,
        "nodes": number.nodes or None,
        "conditions": number.conditions,
        "paper_conditions": paper.conditions,
        "benchmarks": list(number.benchmarks),
        "metric": number.metric,
        "unmeasured": number.unmeasured,
        "statistic": number.statistic,
        "options": dict(number.options),
        "used_instead": number.instead,
        "note": number.note,
    }


def papers(form: str) -> str:
    """Return the papers that there are, with how many numbers each has."""
    loaded = {name: reference.load(name) for name in reference.names()}
    if form != "table":
        rows = [
            {"paper": name, "numbers": len(reference.entries(file=name)), "title": one.title, "authors": one.authors}
            | {"published": one.published, "doi": one.doi, "conditions": one.conditions}
            for name, one in loaded.items()
        ]
        return json.dumps(rows, indent=1, ensure_ascii=False) if form == "json" else csv_export.of_rows(rows).rstrip()
    lines = [(name, str(len(reference.entries(file=name))), one.short, one.title) for name, one in loaded.items()]
    return text_table(("paper", "numbers", "cited as", "title"), lines, right=(1,))


def beside(frame: pd.DataFrame) -> str:
    """Return a table of the published numbers of the benchmarks in a table of records, for people.

    Each has the measured value of the same arguments, size and statistic, or the reason why there is none.
    """
    entries = _matching(frame)
    if not entries:
        return "No published number of these benchmarks has these options. `labkit reference` lists the papers."
    tables = by_benchmark(summary(frame))
    rows = []
    for name, one in entries:
        best = comparing.first(one.number, [tables[name]])
        said = comparing.not_measured(one.number) if best is None else ""
        value = f"{best.measured} {one.number.unit}" if best else "-"
        statistic = one.number.statistic_words or ("-" if one.number.statistic else "not named")
        launches = str(best.launches) if best else "-"
        where = best.setting if best else ""
        ratio = best.ratio if best else f"- ({said})"
        conditions = one.number.circumstances or "-"
        rows.append((name, one.number.stated, statistic, value, launches, ratio, where or "-", conditions, one.place))
    head = (
        "benchmark",
        "published",
        "statistic",
        "measured",
        "launches",
        "ratio",
        "measured over",
        "conditions",
        "place",
    )
    table = text_table(head, rows, right=(1, 3, 4))
    return f"Published numbers beside measured ones; the ratio is measured divided by published:\n{table}"


def rows_beside(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the published numbers of the benchmarks in a table of records, for programs."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    tables = by_benchmark(summary(frame)) if len(frame) else {}
    for name, one in _matching(frame):
        best = comparing.first(one.number, [tables[name]])
        if best or (one.file, one.number.name) not in found:
            found[one.file, one.number.name] = row(one) | {"compared": _compared(one, best)}
    return list(found.values())


def _compared(one: Entry, best: comparing.Comparison | None) -> dict[str, Any]:
    """Return the measured side of a comparison and the ratio; null without one, with the reason."""
    if best is None:
        return {"measured": None, "ratio": None, "why_not": comparing.not_measured(one.number)}
    ends = ("value", "low", "high")
    return {
        "measured": [{name: finite(getattr(value, name)) for name in ends} for value in best.values],
        "interval": best.values[0].label,
        "unit": one.number.unit,
        "launches": best.launches,
        "ranks": int(best.rows[0]["ranks"]),
        "path": best.where,
        "ratio": None if best.why else best.ratio,
        "why_not": best.why or None,
    }


def _matching(records: pd.DataFrame) -> list[tuple[str, Entry]]:
    """Each benchmark of a table with the published numbers of it that have the same arguments."""
    return [
        (name, one)
        for name, rows in by_benchmark(records).items()
        for metric in _metrics(name)
        for one in comparing.beside(rows, metric)
    ]


def _metrics(name: str) -> list[str]:
    """Return all metrics of a benchmark, also those that it derives."""
    benchmark = benchmarks.get(name)
    return [*benchmark.metrics, *benchmark.phases.values(), *benchmark.derived]


def _flat(cells: dict[str, Any]) -> dict[str, Any]:
    """A row with lists and options as texts, and empty texts for missing values."""
    return {key: _text(value) for key, value in cells.items()}


def _text(value: Any) -> Any:
    """A cell of a spreadsheet."""
    if isinstance(value, dict):
        value = [f"{name}={one}" for name, one in value.items()]
    return "" if value is None else " ".join(value) if isinstance(value, list) else value


def _of_paper(entries: Sequence[Entry]) -> str:
    """Return the numbers of one paper as a table below its name, with notes and conditions after it."""
    paper = entries[0].paper
    rows = [
        (one.number.stated, one.number.text, one.number.circumstances or "-", _place(one), _by(one), one.number.name)
        for one in entries
    ]
    codes = dict.fromkeys(one.number.unmeasured for one in entries if one.number.unmeasured)
    reasons = [f"{code}: {UNMEASURED[code]}." for code in codes]
    below = [*_notes(entries), *reasons, f"Conditions: {paper.conditions}"]
    wrapped = (textwrap.fill(line, _WIDTH, subsequent_indent="  ") for line in below)
    return "\n".join([_title(paper), "", text_table(_HEAD, rows), "", *wrapped])


def _title(paper: Paper) -> str:
    doi = f", doi {paper.doi}" if paper.doi else ""
    return f"{paper.short}: {paper.title}. {paper.published}{doi}"


def _by(entry: Entry) -> str:
    """Return the benchmarks that measure a number, or the code of why there is none."""
    return " ".join(entry.number.benchmarks) or entry.number.unmeasured or "-"


def _place(entry: Entry) -> str:
    """Return the place in the paper, without its name."""
    return entry.place.removeprefix(f"{entry.paper.short}, ")


def _notes(entries: Sequence[Entry]) -> list[str]:
    """Return a line for each note; equal notes share one."""
    names: dict[str, list[str]] = {}
    for one in entries:
        words = [f"The models use {one.number.instead}."] if one.number.instead else []
        if note := " ".join(filter(None, [one.number.note, *words])):
            names.setdefault(note, []).append(one.number.name)
    return [f"{', '.join(those)}: {note}" for note, those in names.items()]
