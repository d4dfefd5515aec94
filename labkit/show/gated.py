"""Write the verdicts of `labkit.analysis.gate` for people, for programs and for services that run pipelines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from labkit import markdown
from labkit.columns import METRICS
from labkit.show.results import text_table
from labkit.terminal import plain
from labkit.units import format_number, format_share

if TYPE_CHECKING:
    from labkit.analysis.gate import Result, Verdict

_HEAD = ("verdict", "benchmark", "point", "new", "usual", "change", "limit", "launches beyond it", "history")
_NO_XML = re.compile(r"[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _line(text: object) -> str:
    """Return a text on one line, without anything that a terminal or a page acts on."""
    return " ".join(_NO_XML.sub("", plain(str(text))).split())


def _cells(one: Verdict) -> tuple[str, ...]:
    """Return a verdict as the cells of a row."""
    unit = METRICS[one.metric].unit
    numbers = [format_number(value, unit, none="-") for value in (one.value, one.usual, one.limit.value)]
    beyond = f"{one.beyond} of {one.launches} (fails at {one.limit.beyond})" if math.isfinite(one.limit.value) else "-"
    return (
        one.outcome,
        one.benchmark,
        _line(one.name),
        numbers[0],
        numbers[1],
        format_share(one.change, sign=True, none="-"),
        numbers[2],
        beyond,
        f"{one.limit.launches} launches, {one.limit.campaigns} campaigns",
    )


def text(result: Result) -> str:
    """Return the verdicts as a table, with what differs from the past below it."""
    parts = [text_table(_HEAD, [_cells(one) for one in result.verdicts], right=(3, 4, 5, 6, 7)), _line(result.sentence)]
    if short := next((one for one in result.verdicts if one.outcome == "not enough history"), None):
        parts.append(_line(f"not enough history: {short.sentence}"))
    differences: dict[str, int] = {}
    for one in result.verdicts:
        for words in one.differs:
            differences[_line(words)] = differences.get(_line(words), 0) + 1
    parts += [f"unlike the past: {words} ({count} verdicts)" for words, count in differences.items()]
    return "\n\n".join([parts[0], "\n".join(parts[1:])])


def as_json(result: Result) -> str:
    """Return ``{"campaign", "failed", "false_alarms", "comparisons", "history", "verdicts", "warnings"}``."""
    verdicts = [
        {
            "benchmark": one.benchmark,
            "point": one.point,
            "metric": one.metric,
            "statistic": one.statistic,
            "unit": METRICS[one.metric].unit,
            "better": METRICS[one.metric].better,
            "verdict": one.outcome,
            "value": _number(one.value),
            "usual": _number(one.usual),
            "change": _number(one.change),
            "limit": _number(one.limit.value),
            "limit_by": "campaigns" if one.limit.by_campaigns else "launches",
            "launches": one.launches,
            "beyond": one.beyond,
            "beyond_to_fail": one.limit.beyond,
            "history_launches": one.limit.launches,
            "history_campaigns": one.limit.campaigns,
            "history_needed": one.limit.needed,
            "differs": list(one.differs),
        }
        for one in result.verdicts
    ]
    whole = {
        "campaign": result.name,
        "failed": result.failed,
        "false_alarms": result.chance,
        "comparisons": result.comparisons,
        "history": list(result.history),
        "verdicts": verdicts,
        "warnings": result.warnings,
    }
    return json.dumps(whole, indent=1, allow_nan=False)


def _number(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return value if math.isfinite(value) else None


def junit(result: Result) -> str:
    """Return the verdicts as JUnit's XML: a suite for each benchmark, a case for each statistic of a point."""
    root = ET.Element("testsuites", {"name": f"labkit gate {_line(result.name)}", **_counts(result.verdicts)})
    for benchmark in dict.fromkeys(one.benchmark for one in result.verdicts):
        verdicts = [one for one in result.verdicts if one.benchmark == benchmark]
        suite = ET.SubElement(root, "testsuite", {"name": benchmark, **_counts(verdicts)})
        for one in verdicts:
            case = ET.SubElement(suite, "testcase", {"classname": benchmark, "name": _line(one.name)})
            if one.outcome == "fail":
                failure = ET.SubElement(case, "failure", {"message": _line(one.sentence)})
                failure.text = _line("; ".join(one.differs))
            elif one.outcome == "pass":
                ET.SubElement(case, "system-out").text = _line(one.sentence)
            else:
                ET.SubElement(case, "skipped", {"message": _line(f"{one.outcome}: {one.sentence}")})
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def _counts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return what JUnit counts."""
    failures = sum(one.outcome == "fail" for one in verdicts)
    skipped = sum(one.outcome not in ("pass", "fail") for one in verdicts)
    return {"tests": str(len(verdicts)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}


def as_markdown(result: Result) -> str:
    """Return the verdicts as a pipe table, for the summary of a job or a comment; names are code."""
    rows = [
        [_code(cell) if place in (1, 2) else cell for place, cell in enumerate(_cells(one))] for one in result.verdicts
    ]
    title = f"**labkit gate: {'failed' if result.failed else 'passed' if result.judged else 'no verdict'}**"
    return f"{title} {_code(result.sentence)}\n\n{markdown.table(_HEAD, rows, align='lllrrrrrl')}"


def _code(text: str) -> str:
    """Return a text as code, in which nothing acts; a bar becomes a slash, because GitHub ends cells there."""
    return f"`{_line(text).replace('`', chr(39)).replace('|', '/')}`"


def github(result: Result) -> str:
    """Return an annotation of GitHub's workflows for each failure and a notice with the counts."""
    lines = [
        f"::error title={_property(f'{one.benchmark} {one.name}')}::{_message(one.sentence)}"
        for one in result.verdicts
        if one.outcome == "fail"
    ]
    kind = "notice" if result.judged else "warning"
    return "\n".join([*lines, f"::{kind} title=labkit gate::{_message(result.sentence)}"])


def _message(text: str) -> str:
    """Escape the text of an annotation."""
    return _line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a property of an annotation."""
    return _message(text).replace(":", "%3A").replace(",", "%2C")


FORMATS: Mapping[str, Callable[[Result], str]] = {
    "table": text,
    "json": as_json,
    "junit": junit,
    "markdown": as_markdown,
    "github": github,
}
