"""The five deficits of benchmarks that the survey finds, and the data of this report on each.

They are: stable numbers, reference numbers, instructions, warnings, and uniform calculation.
"""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

from labkit import stats
from labkit.point import testbed_words
from labkit.point.units import format_share, format_size, plural
from labkit.report import caveats, markdown
from labkit.report.blocks import repeated, surveyed
from labkit.report.campaigns import Member, all_members
from labkit.report.choosing import intervals, relative_widths
from labkit.report.content import Content
from labkit.report.markdown import code, escape, needing
from labkit.report.variables import title
from labkit.store.samples.facts import COMMAND, COMMANDS

_WIDE = 0.1  # of the value: an interval that is wider is called wide
_WORST = 5  # points that the table shows
_COMPARED = ("library", "transport", "testbed", "launcher", "host", "cpu_model")  # what may differ between campaigns


def stability(content: Content) -> str:
    """Return sentences on the widths of intervals over launches, with the widest."""
    parts, worst = [], []
    for member in all_members(content):
        if not len(member.summary):
            continue
        tables = [member.of(name) for name in sorted(set(member.summary["benchmark"]))]
        widths = relative_widths(tables)
        parts.append(_prefix(member, content) + _widths(member, [one[0] for one in widths], len(intervals(tables))))
        worst += _worst(member, content, [one[:2] for one in widths[:_WORST]])
    if worst:
        head = ["benchmark", "size", "path", "width", "launches"]
        caption = "Points whose intervals or ranges over launches are widest, as a part of the value. {#tbl-unstable}"
        parts.append(markdown.differing(head, worst, align="lllrr", caption=caption))
    return "\n\n".join(parts)


def _widths(member: Member, widths: list[float], points: int) -> str:
    single = int((member.summary["launches"] == 1).sum())
    alone = f" {plural(single, 'point')} had one launch, so nothing shows how stable they are." if single else ""
    if not widths:
        return f"No point has an interval over launches.{alone}"
    wide = sum(one > _WIDE for one in widths)
    enough = int((member.summary["launches"] >= stats.LAUNCHES).sum())
    others = f" ({points - len(widths)} more are shares or 0)" if points > len(widths) else ""
    return (
        f"Of {plural(len(widths), 'point')} with an interval or a range over launches{others}, {wide} "
        f"({format_share(wide / len(widths))}) spread over more than {format_share(_WIDE)} of their value; the median "
        f"is {format_share(statistics.median(widths))}. {plural(enough, 'point') if enough else 'No point'} had "
        f"{stats.LAUNCHES} launches or more.{alone}"
    )


def _worst(member: Member, content: Content, widest: list[tuple[float, dict[str, Any]]]) -> list[list[str]]:
    rows = []
    for width, row in widest:
        name = title(str(row["benchmark"]))
        name = f"{member.name}: {name}" if len(all_members(content)) > 1 else name
        size = format_size(int(row["message_size_B"])) if row["message_size_B"] else "–"
        path = str(row["transport"]) if row["testbed"] == "local" else testbed_words.in_words(str(row["testbed"]))
        rows.append([escape(name), size, escape(path), format_share(width), str(row["launches"])])
    return rows


def references(content: Content) -> str:
    """Return a sentence on the number of published values that are compared with the report's own."""
    if not (said := repeated.compared(content)):
        return ""
    return (
        f"{repeated.counts(content)} {said} Published values come from other machines, so they show the expected "
        "order of magnitude, and no error of either side."
    )


def instructions(content: Content) -> str:
    """Return a sentence on the number of points with their command line."""
    points = [point for source in content.sources for point in source.points]
    known = sum(bool(COMMAND.of(one.meta) or COMMANDS.of(one.meta)) for one in points)
    if not points:
        return ""
    return (
        f"{known:,} of {plural(len(points), 'launch')} hold the command line that made them"
        + needing(
            "sec-commands sec-again",
            "; @sec-commands prints these commands as a shell reads them, and @sec-again repeats the whole report",
        )
        + "."
    )


def warnings(content: Content) -> str:
    """Return a sentence on the launches with a badge or a warning, and the most frequent ones."""
    parts = []
    for member in all_members(content):
        rows = member.records.to_dict("records") if len(member.records) else []
        marked = sum(bool(row["badges"] or row["warnings"]) for row in rows)
        count = Counter(name for row in rows for name in caveats.groups_of(row))
        if not count:
            continue
        named = ", ".join(f"{name} ({format_share(n / len(rows))})" for name, n in count.most_common(3))
        parts.append(
            f"{_prefix(member, content)}labkit marked {marked} of {plural(len(rows), 'launch')} with a "
            f"condition that may spoil a number. The most frequent: {escape(named)}."
        )
    if parts:
        parts.append(needing("sec-caveats", "@sec-caveats gives each condition with its remedy."))
    return "\n\n".join(parts)


def uniformity(content: Content) -> str:
    """Return sentences on numbers with labkit's definition, and on those that a program defines."""
    parts = []
    for member in all_members(content):
        if not len(member.summary):
            continue
        origins = Counter(str(one) for one in member.summary["origin"])
        shown = ", ".join(f"{escape(name)} ({plural(n, 'point')})" for name, n in origins.most_common())
        text = f"{_prefix(member, content)}Origins: {shown}."
        reported = member.summary[member.summary["origin"] == "reported"]
        if len(reported):
            programs = ", ".join(map(code, sorted({str(name) for name in reported["library"]})))
            text += (
                f" Values that are reported follow the definitions of {programs}; compare them with each other only."
            )
        cadences = sorted({str(one) for one in member.summary["cadence"]} - {"", "nan", "-", "None"})
        if len(cadences) > 1:
            text += f" Iterations are {', '.join(cadences)}; numbers of different cadence are not comparable."
        parts.append(text)
    if parts:
        parts.append(
            needing("sec-definitions", "@sec-definitions gives each definition.") + " " + surveyed.counts(content)
        )
    return "\n\n".join(parts)


def comparability(content: Content) -> str:
    """Return a sentence on the differences of the campaigns; empty for one campaign."""
    members = [one for one in all_members(content) if len(one.records)]
    if len(members) < 2:
        return ""
    rows = []
    for name in _COMPARED:
        kind = name == "testbed"  # without its options, which would fill a page
        every = [[str(v) for v in one.records[name]] for one in members]
        levels = [sorted({testbed_words.in_words(v.partition(",")[0]) if kind else v for v in some}) for some in every]
        if any(one != levels[0] for one in levels):
            rows.append([escape(name.replace("_", " ")), *(escape(", ".join(one)) for one in levels)])
    if not rows:
        return "The campaigns share host, processor, libraries, paths and testbeds."
    head = ["factor", *(escape(one.name) for one in members)]
    return markdown.table(head, rows, caption="Factors in which the campaigns differ. {#tbl-factors}")


def _prefix(member: Member, content: Content) -> str:
    return f"**{escape(member.name)}**: " if len(all_members(content)) > 1 else ""


BLOCKS = {
    "stability": stability,
    "reference-numbers": references,
    "instructions": instructions,
    "warnings-share": warnings,
    "uniformity": uniformity,
    "comparability": comparability,
}
