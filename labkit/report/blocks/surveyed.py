"""The survey's tables of benchmarks, with labkit's counterparts, and those that this report measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from labkit.point.notes import joined, listed
from labkit.point.units import plural
from labkit.report import literature, markdown
from labkit.report.content import Content
from labkit.report.literature import Surveyed, Table
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
    """Return the survey's tables of benchmarks with labkit's counterparts, with notes and the measured ones below."""
    ran = _ran(content)
    parts: list[str] = []
    group: list[Table] = []  # below one heading
    every = [table for table in literature.tables() if table.rows[0].kind]
    for table, following in zip(every, [*every[1:], None], strict=True):
        if not group:
            parts.append(f"## {escape(table.title)} {{#sec-surveyed-{key_of(table)}}}")
        group.append(table)
        parts.append(printed(table, {"labkit": [KINDS[row.kind] for row in table.rows]}))
        if following is None or following.number or following.section != table.section:
            parts.append(_here(group, ran))
            group = []
    return "\n\n".join(parts)


def key_of(table: Table) -> str:
    """Return the end of the labels of a table."""
    return str(table.number) if table.number else f"section-{table.section.replace('.', '-')}"


def printed(table: Table, further: Mapping[str, Sequence[str]]) -> str:
    """Return a table of the survey with further columns.

    Parameters
    ----------
    table : as the survey prints it.
    further : cells for each row, by column.
    """
    head = [*table.columns, *further]
    rows = [[*row.cells, *cells] for row, *cells in zip(table.rows, *further.values(), strict=True)]
    lines = [[escape(cell) for cell in line] for line in (head, *rows)]
    if table.turned:
        lines = [list(line) for line in zip(*lines, strict=True)]
    where = f"section {table.section} of the survey"
    what = f"Table {table.number} in {where}" if table.number else f"Named in {where}"
    caption = f"{what}: {escape(table.title)} [@li2022]. {{#tbl-surveyed-{key_of(table)}}}"
    return markdown.table(lines[0], lines[1:], align="" if table.turned else table.align, caption=caption)


def scope(content: Content) -> str:
    """Return the number of benchmarks in each section of the survey, and of labkit's counterparts."""
    ran, rows = _ran(content), literature.surveyed()
    lines = []
    for section, title in literature.sections().items():
        some = [row for row in rows if row.section == section or row.section.startswith(f"{section}.")]
        kinds: Counter[str] = Counter(row.kind for row in some)
        measured = sum(bool(_measured(row, ran)) for row in some)
        counts = [len(some), *(kinds[kind] for kind in KINDS), measured]
        lines.append([f"{section} {escape(title)}", *(str(count) for count in counts)])
    head = ["section of the survey", "described", *KINDS.values(), "measured in this report"]
    caption = "What the survey's Figure 1 shows, in numbers: benchmarks by section, and what labkit has. {#tbl-scope}"
    return markdown.table(head, lines, align="l" + "r" * (len(head) - 1), caption=caption)


def counts(content: Content) -> str:
    """Return sentences on labkit's counterparts of the surveyed benchmarks, and the number of measured ones."""
    rows = literature.surveyed()
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


def _here(group: Sequence[Table], ran: Mapping[str, set[str]]) -> str:
    """Return as what labkit has the benchmarks of some tables, and which of them this report measured."""
    rows = [row for table in group for row in table.rows]
    cells = []
    for row in rows:
        here, every = _measured(row, ran), row.benchmarks
        shown = "no" if not here else f"{len(here)} of {len(every)}" if len(every) > 1 else "yes"
        cells.append([escape(row.name), detail(row), shown])
    where = listed([f"@tbl-surveyed-{key_of(table)}" for table in group])
    caption = f"What labkit has of the benchmarks in {where}. {{#tbl-labkit-{key_of(group[0])}}}"
    return markdown.table(["benchmark", "labkit", "measured in this report"], cells, caption=caption)


def detail(row: Surveyed) -> str:
    """Return the kind of labkit's counterpart of a benchmark, and the differences."""
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


BLOCKS = {"surveyed": surveyed, "surveyed-counts": counts, "surveyed-scope": scope}
