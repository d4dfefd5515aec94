"""The survey's tables of benchmarks: what labkit has of each, and which this report measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from labkit.point.notes import joined
from labkit.point.units import plural
from labkit.report import literature, markdown
from labkit.report.content import Content
from labkit.report.literature import Surveyed
from labkit.report.markdown import code, escape

_NAMED = 3  # benchmarks that a cell names
KINDS = {
    "program": "the program itself",
    "definition": "same definition",
    "stand-in": "stand-in",
    "import": "import only",
    "none": "none",
}


def surveyed(content: Content) -> str:
    """Return a section with a table for each table of the survey."""
    ran = _ran(content)
    return "\n\n".join(
        f"## {escape(title)} {{#sec-surveyed-{number}}}\n\n{_table(number, title, rows, ran)}"
        for number, (title, rows) in literature.surveyed().items()
        if rows
    )


def counts(content: Content) -> str:
    """Return sentences on what labkit has of the surveyed benchmarks, and how many of them were measured."""
    rows = [row for _, group in literature.surveyed().values() for row in group]
    ran = _ran(content)
    kinds = Counter(row.kind for row in rows)
    return (
        f"The survey names {plural(len(rows), 'benchmark or group', 'benchmarks and groups')} of them. labkit runs the "
        f"program itself for {kinds['program']}. For {kinds['definition']} it has its own code of the same definition, "
        f"checked against the original, and for {kinds['stand-in']} a stand-in that differs as the tables show. For "
        f"{kinds['import']} it imports logs only, and {kinds['none']} it does not have. This report measured "
        f"{sum(bool(_measured(row, ran)) for row in rows)}."
    )


def names(content: Content) -> set[str]:
    """Return the benchmarks that the report measured."""
    return set(_ran(content))


def _ran(content: Content) -> dict[str, set[str]]:
    """Return the benchmarks that the report measured, each with the programs or libraries that ran."""
    ran: dict[str, set[str]] = {}
    for source in content.sources:
        if len(source.records):
            for name, library in source.records[["benchmark", "library"]].drop_duplicates().itertuples(index=False):
                ran.setdefault(str(name), set()).add(str(library).partition(" ")[0])
    return ran


def _measured(row: Surveyed, ran: Mapping[str, set[str]]) -> list[str]:
    """Return the benchmarks of a row that were measured; of a program those that the program itself ran."""
    if not row.runs:
        return []
    own = [name for name in row.benchmarks if name in ran]
    return [name for name in own if ran[name] & set(row.tools)] if row.kind == "program" else own


def _table(number: int, title: str, rows: Sequence[Surveyed], ran: Mapping[str, set[str]]) -> str:
    cells = []
    for row in rows:
        here, every = _measured(row, ran), row.benchmarks
        shown = "no" if not here else f"{len(here)} of {len(every)}" if len(every) > 1 else "yes"
        name = escape(row.name) + (f" ({escape(row.where)})" if row.where else "")
        cells.append([name, escape(row.about), KINDS[row.kind], detail(row), shown])
    caption = f"Table {number} of the survey: {escape(title[:1].lower() + title[1:])}. {{#tbl-surveyed-{number}}}"
    if title.startswith(("OSU", "NAS", "Intel", "TF-", "IO", "EC-", "PerfZero", "DeathStar")):
        caption = f"Table {number} of the survey: {escape(title)}. {{#tbl-surveyed-{number}}}"
    return markdown.table(
        ["benchmark", "measures", "labkit has", "as", "measured in this report"], cells, caption=caption
    )


def detail(row: Surveyed) -> str:
    """Return as what labkit has a benchmark, and what differs."""
    if row.kind == "none":
        return escape(row.reason)
    equal, benchmarks = row.counterparts, row.benchmarks
    parts = [f"{len(equal)} of {plural(len(row.tests), 'test')}"] if row.tests else []
    programs = " or ".join(map(code, row.tools))
    parts += [f"{'by ' if row.kind == 'stand-in' else ''}the program {programs}"] if programs else []
    rest = f" and {len(benchmarks) - _NAMED} more" if len(benchmarks) > _NAMED else ""
    parts += [f"{', '.join(map(code, benchmarks[:_NAMED]))}{rest}"]
    missing = [test for test in row.tests if test not in equal]
    parts += [f"not {escape(', '.join(missing))}"] if missing else []
    parts += [f"{escape(', '.join(row.unlike))} in part"] if row.unlike else []
    parts += [escape(row.note)] if row.note else []
    parts += [f"without {escape(', '.join(row.lacks))}"] if row.lacks else []
    parts += ["its logs are imported"] if row.imported else []
    return joined(parts)


BLOCKS = {"surveyed": surveyed, "surveyed-counts": counts}
