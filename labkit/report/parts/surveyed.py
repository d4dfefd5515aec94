"""The survey's tables of benchmarks: which of them labkit runs, as what, and which this report measured."""

from __future__ import annotations

from collections.abc import Sequence

from labkit import tools
from labkit.report import literature, markdown
from labkit.report.content import Content
from labkit.report.literature import Surveyed
from labkit.report.markdown import code, escape
from labkit.units import plural

_NAMED = 3  # benchmarks that a cell names


def surveyed(content: Content) -> str:
    """Return a section with a table for each table of the survey."""
    measured = names(content)
    return "\n\n".join(
        f"## {escape(title)} {{#sec-surveyed-{number}}}\n\n{_table(number, title, rows, measured)}"
        for number, (title, rows) in literature.surveyed().items()
        if rows
    )


def counts(content: Content) -> str:
    """Return sentences on how many of the surveyed benchmarks labkit has, and how many were measured."""
    rows = [row for _, group in literature.surveyed().values() for row in group]
    measured = names(content)
    runs = [row for row in rows if row.runs]
    here = [row for row in runs if set(row.benchmarks) & measured]
    return (
        f"The survey names {plural(len(rows), 'benchmark or group', 'benchmarks and groups')} of them. labkit runs "
        f"{len(runs)}, and this report measured {len(here)}."
    )


def names(content: Content) -> set[str]:
    """Return the benchmarks that the report measured."""
    return {str(name) for source in content.sources if len(source.records) for name in source.records["benchmark"]}


def _table(number: int, title: str, rows: Sequence[Surveyed], measured: set[str]) -> str:
    cells = []
    for row in rows:
        here = [name for name in row.benchmarks if name in measured]
        shown = f"{len(here)} of {len(row.benchmarks)}" if len(row.benchmarks) > 1 else "yes"
        cells.append([escape(row.name), escape(row.about), _runs(row), shown if here else "no"])
    caption = f"Table {number} of the survey: {escape(title[:1].lower() + title[1:])}. {{#tbl-surveyed-{number}}}"
    if title.startswith(("OSU", "NAS", "Intel", "TF-", "IO", "EC-")):
        caption = f"Table {number} of the survey: {escape(title)}. {{#tbl-surveyed-{number}}}"
    return markdown.table(["benchmark", "measures", "runs here", "measured in this report"], cells, caption=caption)


def _runs(row: Surveyed) -> str:
    """Say whether labkit runs a benchmark, as what, and what differs."""
    if not row.runs:
        reason = row.reason or "labkit has no such benchmark"
        return escape(f"no: {reason}") + (" (its output is imported)" if row.imported else "")
    equal = row.counterparts
    text = f"yes, {len(equal)} of {len(row.tests)} tests" if row.tests else "yes"
    if program := row.tool if row.tool in tools.programs() else "":
        text += f", the program {code(program)}"
    benchmarks = row.benchmarks
    if benchmarks:
        rest = f" and {len(benchmarks) - _NAMED} more" if len(benchmarks) > _NAMED else ""
        text += f", as {', '.join(map(code, benchmarks[:_NAMED]))}{rest}"
    missing = [test for test in row.tests if test not in equal]
    text += f"; not {escape(', '.join(missing))}" if missing and equal else ""
    return text + (f" ({escape(row.note)})" if row.note else "")


BLOCKS = {"surveyed": surveyed, "surveyed-counts": counts}
