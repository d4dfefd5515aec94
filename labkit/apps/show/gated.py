"""Write the verdicts of `labkit.judge.gate` for people, for programs and for services that run pipelines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from labkit.apps.show.texttable import text_table
from labkit.io import markdown
from labkit.io.sanitize import plain
from labkit.judge import sentences
from labkit.judge.finding import Value
from labkit.point.notes import joined
from labkit.point.units import finite, format_share, plural
from labkit.read.records import resolution

if TYPE_CHECKING:
    from labkit.judge.finding import Finding
    from labkit.judge.gate import Compared, Result

_HEAD = (
    "verdict",
    "benchmark",
    "point",
    "new",
    "usual",
    "change",
    "limit",
    "launches beyond it",
    "fails from",
    "history",
    "campaigns",
)
_BARS = "▁▂▃▄▅▆▇█"
_SHOWN = 16  # campaigns that are drawn
_NO_XML = re.compile(r"[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def line(text: object) -> str:
    """Return a text on one line, without anything that a terminal or a page acts on."""
    words = str(text)
    if not (words.isascii() and words.isprintable()):  # nearly all are, and then nothing is to be removed
        words = _NO_XML.sub("", plain(words))
    return " ".join(words.split())


PASSING = 40  # comparisons that pass are rows of a table, at most


def sparkline(values: Sequence[float], *ends: float) -> str:
    """Return a bar for each value, from the smallest to the largest of values and ends (Tufte, 2006).

    Parameters
    ----------
    ends : other values that the scale contains.

    Examples
    --------
    >>> sparkline([1.0, 1.2, 2.0]), sparkline([1.0, 1.1], 8.0), sparkline([3.0, 3.0])
    ('▁▂█', '▁▁', '▁▁')
    """
    low, high = min(*values, *ends), max(*values, *ends)
    last, wide = len(_BARS) - 1, high - low if high > low else math.inf
    return "".join([_BARS[min(int((value - low) / wide * len(_BARS)), last)] for value in values])


def _drawn(one: Compared, allowed: float) -> str:
    """Return the last campaigns as bars, the new one last; the limit, if there is one, is in their scale."""
    shown = [value for value in one.campaigns if math.isfinite(value)][-_SHOWN:]
    return sparkline(shown, *filter(math.isfinite, [one.usual, allowed])) if len(shown) > 1 else "-"


def _cells(verdict: Finding, one: Compared) -> tuple[str, ...]:
    """Return a verdict as the cells of a row."""
    allowed, beyond = one.decisive
    limit = Value(value=allowed, unit=one.measure.unit)
    numbers = [f"{each}" if math.isfinite(each.value) else "-" for each in (*one.new_and_usual, limit)]
    return (
        verdict.form,
        one.benchmark,
        line(one.name),
        numbers[0],
        numbers[1],
        format_share(one.change, sign=True, none="-"),
        numbers[2],
        beyond or "-",
        format_share(one.smallest, sign=True, none="-"),
        one.past,
        _drawn(one, allowed),
    )


def warnings(result: Result) -> list[str]:
    """Return the limits of the verdicts, and what to do."""
    return [sentences.sentence(one) for one in result.doubts]


def text(result: Result) -> str:
    """Return the verdicts as a table, with the differences from the past below it; long lists of passes are cut."""
    compared = [*result.compared]
    passed = [one for one in compared if one[0].form == "pass"][PASSING:]
    left = {id(one) for one in passed}
    rows = [_cells(*one) for one in compared if id(one) not in left]
    more = [f"… and {plural(len(passed), 'more comparison')} that pass; --format json has all"] * bool(passed)
    table = [text_table(_HEAD, rows, right=(3, 4, 5, 6, 7, 8))] if rows else []
    parts = ["\n".join([*table, *more]), line(sentences.gated(result))]
    if short := next((one for one in result.verdicts if one.form == "not enough history"), None):
        parts.append(line(f"not enough history: {sentences.sentence(short)}"))
    below = "\n".join([*parts[1:], *_common(result), *_bounds(result), *map(line, sentences.unlike(result))])
    return "\n\n".join(filter(None, [parts[0], below]))


def _common(result: Result) -> list[str]:
    """Return what the points of each transport have in common, and which campaigns are not in the reference."""
    return [line(sentences.whole(one)) for one in (*(each.finding for each in result.common), *result.outside)]


def _bounds(result: Result) -> list[str]:
    """Return what the signs before values mean, if there are any."""
    return [resolution.MEANING] if any(any(one.coarse) for _, one in result.compared) else []


def as_json(result: Result) -> str:
    """Return ``{"campaign", "failed", "false_alarms", "comparisons", "history", "common_factors", "verdicts", …}``."""
    verdicts = [
        {
            "benchmark": one.benchmark,
            "point": one.point,
            "metric": one.metric,
            "statistic": one.statistic,
            "unit": one.measure.unit,
            "better": one.measure.better,
            "verdict": verdict.form,
            "level": verdict.level,
            "sentence": sentences.sentence(verdict),
            "value": finite(one.value),
            "usual": finite(one.usual),
            "common_factor": one.common,
            "drift": {
                "campaigns": one.drift.campaigns,
                "past": one.drift.past,
                "change": finite(one.drift.change),
                "limit": finite(one.drift.allowed),
                "failed": one.drift.failed,
            }
            if one.drift
            else None,
            "campaigns": list(map(finite, one.campaigns)),
            "coarse": one.coarse[0],
            "usual_coarse": one.coarse[1],
            "change": finite(one.change),
            "limit": finite(one.allowed),
            "limit_by": "campaigns" if one.limit.by_campaigns else "launches",
            "launches": one.launches,
            "beyond": one.beyond,
            "beyond_to_fail": one.limit.beyond,
            "smallest_change_that_fails": finite(one.smallest),
            "worse": one.worse or None,
            "worse_launches": one.over,
            "history_launches": one.limit.launches,
            "history_campaigns": one.limit.campaigns,
            "history_needed": one.limit.needed,
            "differs": list(one.differs),
        }
        for verdict, one in result.compared
    ]
    whole = {
        "campaign": result.name,
        "failed": result.failed,
        "false_alarms": finite(result.false_alarms),
        "comparisons": result.comparisons,
        "blind": result.blind,
        "history": list(result.history),
        "history_rejected": dict(result.rejected),
        "history_waiting": list(result.waiting),
        "common_factors": [
            {
                "points": one.name,
                "tail": one.tail,
                "count": one.points,
                "history_campaigns": one.campaigns,
                "times": finite(one.times),
                "removed": one.removed,
            }
            for one in result.common
        ],
        "verdicts": verdicts,
        "warnings": warnings(result),
    }
    return json.dumps(whole, indent=1, allow_nan=False)


def junit(result: Result) -> str:
    """Return the verdicts as JUnit's XML: a suite for each benchmark, a case for each statistic of a point."""
    rows: list[tuple[str, str, str, str, str]] = [
        (one.benchmark, one.name, verdict.form, sentences.sentence(verdict), joined(one.differs))
        for verdict, one in result.compared
    ]
    if result.inconclusive:  # a pipeline that reads nothing else would take skipped cases for a success
        said, why = sentences.gated(result), joined(warnings(result))
        rows.append(("gate", "enough data for a verdict", "inconclusive", said, why))
    return cases(f"labkit gate {result.name}", rows)


def cases(name: str, rows: Sequence[tuple[str, str, str, str, str]]) -> str:
    """Return JUnit's XML.

    Parameters
    ----------
    name : name of the document.
    rows : suite, case, verdict, a sentence on it, and details of a failure.
    """
    root = ET.Element("testsuites", {"name": line(name), **_counts(rows)})
    for suite_name in dict.fromkeys(row[0] for row in rows):
        within = [row for row in rows if row[0] == suite_name]
        suite = ET.SubElement(root, "testsuite", {"name": line(suite_name), **_counts(within)})
        for _, case_name, outcome, sentence, details in within:
            case = ET.SubElement(suite, "testcase", {"classname": line(suite_name), "name": line(case_name)})
            if outcome == "fail":
                ET.SubElement(case, "failure", {"message": line(sentence)}).text = line(details)
            elif outcome == "inconclusive":
                ET.SubElement(case, "error", {"type": outcome, "message": line(sentence)}).text = line(details)
            elif outcome == "pass":
                ET.SubElement(case, "system-out").text = line(sentence)
            else:
                ET.SubElement(case, "skipped", {"message": line(f"{outcome}: {sentence}")})
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


_COUNTED = {"pass": "passed", "fail": "failures", "inconclusive": "errors"}


def _counts(rows: Sequence[tuple[str, ...]]) -> dict[str, str]:
    """Return what JUnit counts."""
    found = [_COUNTED.get(row[2], "skipped") for row in rows]
    return {"tests": str(len(rows))} | {kind: str(found.count(kind)) for kind in ("failures", "errors", "skipped")}


def as_markdown(result: Result) -> str:
    """Return the verdicts as a pipe table, for the summary of a job or a comment; names are code."""
    rows = [
        [verdict, in_code(benchmark), in_code(point), *numbers]
        for verdict, benchmark, point, *numbers in (_cells(*one) for one in result.compared)
    ]
    states = {"failed": result.failed, "undecided": result.undecided, "blind": result.blind, "passed": result.judged}
    state = next((word for word, holds in states.items() if holds), "no verdict")
    unlike = "".join(f"\n- {in_code(words)}" for words in map(line, sentences.unlike(result)))
    table = markdown.table(_HEAD, rows, align="lllrrrrrrll")
    below = "".join(f"\n\n{meaning}" for meaning in [*map(in_code, _common(result)), *_bounds(result)]) + (
        unlike and f"\n{unlike}"
    )
    return f"**labkit gate: {state}** {in_code(sentences.gated(result))}\n\n{table}{below}"


def in_code(text: str) -> str:
    """Return a text as code, so that no markup acts. A bar becomes a slash, because GitHub ends cells there."""
    return f"`{line(text).replace('`', chr(39)).replace('|', '/')}`"


def github(result: Result) -> str:
    """Return GitHub workflow annotations for each failure, difference and warning, and for the counts."""
    failed = [(one.subject, sentences.sentence(one)) for one in result.verdicts if one.level == "bad"]
    removed = [sentences.whole(one.finding) for one in result.common if one.removed]
    lines = [annotation("error", f"{about.benchmark} {about.setting}", words) for about, words in failed]
    lines += [annotation("notice", "labkit gate", words) for words in [*removed, *map(line, sentences.unlike(result))]]
    lines += [annotation("warning", "labkit gate", words) for words in warnings(result) if result.inconclusive]
    whole = annotation("notice" if result.judged else "warning", "labkit gate", sentences.gated(result))
    return "\n".join([*lines, whole])


def annotation(kind: str, title: str, words: str) -> str:
    """Return an annotation of GitHub's workflows on one line, with everything escaped that ends a part of it.

    Examples
    --------
    >>> annotation("error", "a: 8 B, p50", "5 % slower")
    '::error title=a%3A 8 B%2C p50::5 %25 slower'
    """
    head, body = (line(part).replace("%", "%25") for part in (title, words))
    return f"::{kind} title={head.replace(':', '%3A').replace(',', '%2C')}::{body}"


FORMATS: Mapping[str, Callable[[Result], str]] = {
    "table": text,
    "json": as_json,
    "junit": junit,
    "markdown": as_markdown,
    "github": github,
}
