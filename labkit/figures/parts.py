"""Parts: what a study returns and a report lays out. They pass from a notebook to its report as typed JSON.

A notebook's output holds a part beside the forms that JupyterLab shows: plotly's figure, or Markdown. The figure itself
is only in plotly's form; a part adds its data with units, its description, and its notes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from labkit.errors import DataError, SpecError
from labkit.figures import apart, data, small_print, unit
from labkit.figures.seen import seen
from labkit.figures.style import CONFIG, NOTE, settle
from labkit.figures.style import MIME as PLOTLY
from labkit.io import markdown
from labkit.point.notes import LONGEST, Note

if TYPE_CHECKING:
    import plotly.graph_objects as go

MIME = "application/vnd.labkit.part+json"
SCHEMA = 1  # of the JSON; a reader refuses any other


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : for programs, such as ``latency_us_p50``.
    title : for people, with the unit.
    align : l or r.
    """

    name: str
    title: str
    align: str = "l"


class _Shown:
    """What JupyterLab shows at the end of a cell."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return bundle(self)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Table(_Shown):
    """A table: columns and rows.

    Parameters
    ----------
    columns : in their order.
    rows : cells as Markdown, one per column.
    values : the same cells as plain values, for programs; empty if the texts are enough.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    values: tuple[tuple[Any, ...], ...] = ()

    @classmethod
    def of(cls, head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> Table:
        """Return a table of texts.

        Parameters
        ----------
        head : titles, which are the names too.
        align : l or r for each column; all columns are left-aligned by default.
        """
        sides = align or "l" * len(head)
        columns = tuple(Column(title, title, side) for title, side in zip(head, sides, strict=True))
        return cls(columns, tuple(map(tuple, rows)))

    def __str__(self) -> str:
        align = "".join(column.align for column in self.columns)
        return markdown.table([column.title for column in self.columns], self.rows, align=align)


@dataclass(frozen=True)
class Text(_Shown):
    """Prose, findings and notes.

    Parameters
    ----------
    body : Markdown.
    findings : sentences on what was found, as Markdown; they become a list.
    notes : what a reader must know, a list too; their texts are Markdown.
    """

    body: str = ""
    findings: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        lines = [f"- {one}" for one in (*self.findings, *self.notes)]
        return "\n\n".join(filter(None, (self.body, "\n".join(lines))))


@dataclass(frozen=True)
class Omitted(_Shown):
    """The reason why a part is not shown.

    Parameters
    ----------
    why : a sentence in Markdown.
    code : for programs: ``not-selected`` by the parameters, ``not-measured``, ``too-few``, ``nothing-found``.
    """

    why: str
    code: str = "not-measured"

    def __str__(self) -> str:
        return f"*Omitted: {self.why}*"


@dataclass(frozen=True)
class Warned(_Shown):
    """Warnings that came while a notebook measured or worked out other parts; a report lists them apart from these.

    Parameters
    ----------
    notes : a note for each warning.
    """

    notes: tuple[Note, ...]

    def __str__(self) -> str:
        return "\n".join(f"- {one}" for one in self.notes)


@dataclass(frozen=True)
class Figure(_Shown):
    """A figure with its notes.

    Parameters
    ----------
    plot : as plotly draws it; its small print is in its metadata too, see `labkit.figures.small_print`.
    caption : Markdown, for a cell of a notebook that has no caption of its own.
    """

    plot: go.Figure
    caption: str = ""

    @property
    def data(self) -> Any:
        """Traces of the plot."""
        return self.plot.data

    @property
    def layout(self) -> Any:
        """Layout of the plot."""
        return self.plot.layout

    @property
    def notes(self) -> tuple[Note, ...]:
        """Small print."""
        return small_print.notes_of(self.plot)


Part = Figure | Table | Text | Omitted


@dataclass
class Described:
    """What a report needs to know about a figure, apart from the plot itself.

    Parameters
    ----------
    alt : what it shows, in words.
    table : its data, a row for each point.
    instead : a table to show instead of a figure with a single x value.
    notes : small print; `axis` is the one above it, `title` its title without them.
    caption : as in `Figure`.
    seen : what it shows, in words.
    """

    alt: str = ""
    table: Table = field(default_factory=lambda: Table((), ()))
    instead: Table | None = None
    notes: tuple[Note, ...] = ()
    title: str = ""
    axis: str = "xaxis"
    caption: str = ""
    seen: str = ""


Read = Described | Table | Text | Omitted | Warned


def as_part(thing: Any) -> Part:
    """Return a part from what a notebook may show: a part, a plotly figure, or a text (`NOTHING` if empty).

    Raises
    ------
    SpecError
        For anything else.
    """
    if isinstance(thing, Figure | Table | Text | Omitted):
        return thing
    if isinstance(thing, str):
        return Text(thing) if thing.strip() else NOTHING
    if hasattr(thing, "to_plotly_json"):
        return Figure(thing)
    raise SpecError(f"show takes a part, a figure, text or a widget, but got {type(thing).__name__}.")


def listed(findings: Iterable[str]) -> Text | Omitted:
    """Return sentences as a part; `NOTHING` without one."""
    found = tuple(findings)
    return Text(findings=found) if found else NOTHING


NOTHING = Omitted("the parameters select nothing that is measured here.", "not-selected")


# ---- from a notebook to its report -----------------------------------------------------------------------------------


def bundle(part: Part | Warned) -> dict[str, Any]:
    """Return a part in all forms that the output of a cell holds."""
    if isinstance(part, Figure):
        spec = json.loads(part.plot.to_json())
        notes = part.notes
        if unit.readable(spec):
            notes = tuple(replace(one, text=unit.in_gigabytes(one.text, digits=3)) for one in notes)
        far = apart.shifts(spec)
        if far:
            notes = (*notes, apart.NOTE)
            small_print.rewrite(spec["layout"], notes)
        settle(spec["data"], spec["layout"])
        about = described(spec, notes, part.caption)
        apart.move(spec, far)
        return {PLOTLY: spec | {"config": dict(CONFIG)}, MIME: as_json(about), "text/plain": NOTE}
    return {"text/markdown": str(part), "text/plain": str(part), MIME: as_json(part)}


def described(spec: Mapping[str, Any], notes: Sequence[Note] = (), caption: str = "") -> Described:
    """Describe a figure of plotly's plain data.

    Parameters
    ----------
    spec : any figure, also one that labkit did not draw; values that are not arrays raise what Python raises.
    """
    meta = (spec.get("layout") or {}).get("meta")
    meta = meta if isinstance(meta, Mapping) else {}
    title, axis = str(meta.get(small_print.TITLE, "")), str(meta.get(small_print.AXIS, "xaxis"))
    rows, titles, instead = data.rows(spec), data.titles(spec), data.single(spec)
    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    columns = tuple(Column(name, titles.get(name, name)) for name in names)
    values = tuple(tuple(row.get(name, "") for name in names) for row in rows)
    return Described(
        data.words(spec),
        Table(columns, (), values),
        _quiet(*instead) if instead else None,
        tuple(notes),
        title,
        axis,
        caption,
        seen(spec),
    )


def _quiet(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    return Table.of([*map(markdown.quiet, head)], [[*map(markdown.quiet, row)] for row in rows], "lrl")


def as_json(part: Read) -> dict[str, Any]:
    """Return plain data, for JSON."""
    made: dict[str, Any] = {"schema": SCHEMA, "kind": _KINDS[type(part)]}
    match part:
        case Omitted():
            return made | {"why": part.why, "code": part.code}
        case Warned():
            return made | {"notes": [one.as_dict() for one in part.notes]}
        case Text():
            notes = [one.as_dict() for one in part.notes]
            return made | {"body": part.body, "findings": list(part.findings), "notes": notes}
        case Table():
            columns = [{"name": c.name, "title": c.title, "align": c.align} for c in part.columns]
            return made | {"columns": columns, "rows": _lists(part.rows), "values": _lists(part.values)}
    return made | {
        "alt": part.alt,
        "data": as_json(part.table),
        "instead": None if part.instead is None else as_json(part.instead),
        "notes": [one.as_dict() for one in part.notes],
        "title": part.title,
        "axis": part.axis,
        "caption": part.caption,
        "seen": part.seen,
    }


def _lists(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(row) for row in rows]


def read(given: object) -> Read:
    """Read a part from a notebook, which anybody may have written.

    Raises
    ------
    DataError
        If the data are not a part of this schema version.
    """
    schema = given.get("schema") if isinstance(given, Mapping) else None
    if not isinstance(given, Mapping) or schema != SCHEMA:
        raise DataError(
            f"A part has schema={str(schema)[:40]!r}, but this labkit reads {SCHEMA}. Run the notebook again."
        )
    kind = given.get("kind")
    if kind == "omitted":
        return Omitted(_text(given, "why"), _text(given, "code"))
    if kind == "text":
        return Text(_text(given, "body"), tuple(_list(given, "findings", str)), _notes(given))
    if kind == "warned":
        return Warned(_notes(given))
    if kind == "table":
        return _table(given)
    if kind != "figure":
        raise DataError(f"The part is a {str(kind)[:40]!r}, but it must be {', '.join(sorted(_KINDS.values()))}.")
    own, other = given.get("data"), given.get("instead")
    return Described(
        _text(given, "alt"),
        _table(own) if isinstance(own, Mapping) else Table((), ()),
        _table(other) if isinstance(other, Mapping) else None,
        _notes(given),
        _text(given, "title"),
        _text(given, "axis"),
        _text(given, "caption"),
        _text({"seen": "", **given}, "seen"),
    )


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise DataError(f"The part has {name}={str(value)[:40]!r}, but it must be a text.")
    return value


def _list(given: Mapping[str, Any], name: str, kind: type[Any]) -> list[Any]:
    value = given.get(name)
    if not isinstance(value, list) or not all(isinstance(one, kind) for one in value):
        raise DataError(f"The part has {name}={str(value)[:40]!r}, but it must be a list of {_WORDS[kind]}.")
    return value


def _notes(given: Mapping[str, Any]) -> tuple[Note, ...]:
    made = []
    for one in _list(given, "notes", dict):
        values = one.get("values")
        plain = values.items() if isinstance(values, dict) else ()
        kept = tuple((str(name), value) for name, value in plain if isinstance(value, str | int | float))
        made.append(Note(_text(one, "code")[:LONGEST], _text(one, "text"), kept))
    return tuple(made)


def _table(given: Mapping[str, Any]) -> Table:
    columns = tuple(
        Column(_text(one, "name"), _text(one, "title"), "r" if one.get("align") == "r" else "l")
        for one in _list(given, "columns", dict)
    )
    rows, values = _list(given, "rows", list), _list(given, "values", list)
    for row in (*rows, *values):
        if len(row) != len(columns) or not all(isinstance(cell, str | int | float | None) for cell in row):
            raise DataError(
                f"A table has the row {str(row)[:60]!r}, but it must have {len(columns)} plain values, one a column."
            )
    return Table(columns, tuple(tuple(map(str, row)) for row in rows), tuple(map(tuple, values)))


_WORDS: Mapping[type, str] = {str: "texts", dict: "objects", list: "lists"}
_KINDS: Mapping[type, str] = {Described: "figure", Table: "table", Text: "text", Omitted: "omitted", Warned: "warned"}
