"""Rows as points: what was measured as far as the text tells, and the metadata of their samples files.

Rows of a table differ in little, so their metadata are made from one pattern with gaps. It is the same text that
`labkit.samples.save` would write.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any

from labkit import benchmarks, samples
from labkit.benchmarks import Benchmark
from labkit.formats._lines import Value
from labkit.formats._table import Meaning, Row, Table
from labkit.importing.known import Known
from labkit.importing.telling import doubts_of, ranks_of, spec_of
from labkit.importing.text import Text
from labkit.importing.words import Notes
from labkit.notes import note
from labkit.samples import Samples
from labkit.samples.facts import complete, noted
from labkit.samples.patterned import LAUNCH, NAME, OWN, SHARED, Points
from labkit.spec import Effort, Scalar, Spec

SHOWN = 2048  # characters of a table up to which every point has all of it
_PATTERNS = 256  # kinds of tables that are remembered, and kinds of rows of each
_GAP = secrets.token_hex(8)  # no text can hold it
_SIZE, _LAUNCH, _NAME, _PLACE, _VALUES, _SOURCE = (f"{_GAP}{place}" for place in range(6))
_FLOATS = {float}
_HELD = 150  # B that a point takes in memory besides the characters of its own texts
Test = tuple[Benchmark, Mapping[str, Scalar]]


@dataclass(frozen=True)
class Given:
    """What the user told.

    Parameters
    ----------
    ranks : how many there were; 0 for not known.
    testbed : where it was measured; empty for not known.
    published : where numbers were published; empty where they were not.
    """

    ranks: int = 0
    testbed: str = ""
    published: str = ""


class _Pattern:
    """Metadata of the rows of a table that differ in size, values and place only."""

    def __init__(self, point: Samples, identity: Mapping[str, str]) -> None:
        spec = json.dumps([point.spec.as_dict() | {"size": _SIZE}, dict(sorted(identity.items()))], sort_keys=True)
        begin, _, end = spec.partition(json.dumps(_SIZE))
        self._begin, self._end = begin.encode(), end.encode()
        header = samples.metadata(point)
        header |= {"launch": _LAUNCH, "source": _SOURCE, "reported": _VALUES}
        header["spec"]["size"] = _SIZE
        place: str = header["meta"]["place"]
        header["meta"] |= {"fingerprint": _NAME, "place": _PLACE}
        form = json.dumps(header, allow_nan=False)
        for word, gap in (
            (_SIZE, OWN),
            (_LAUNCH, LAUNCH),
            (_NAME, f'"{NAME}"'),
            (_PLACE, f'"{place}:{OWN}"'),
            (_VALUES, f"[{OWN}]"),
        ):
            form = form.replace(json.dumps(word), gap)
        self.whole = form.replace(json.dumps(_SOURCE), SHARED)  # the source is that of all rows of a table
        self.above = form.replace(json.dumps(_SOURCE), SHARED + OWN + json.dumps("\n")[1:])  # or ends with the row
        self.known: dict[int, bytes] = {}

    def name(self, size: int) -> bytes:
        """The first 8 B of the fingerprint of points of a size."""
        if len(self.known) >= _PATTERNS:
            self.known.clear()
        found = self.known[size] = hashlib.sha256(b"%b%d%b" % (self._begin, size, self._end)).digest()[:8]
        return found


class Kind:
    """Tables that tell the same but for their rows."""

    def __init__(self, text: Text, table: Table, test: Test, given: Given) -> None:
        self._text, self._table, self._given = text, table, given
        self._benchmark, self._fixed = test
        self.benchmark = self._benchmark.name
        self._ranks, self.doubts = ranks_of(table, self._benchmark, given.ranks)
        alike = table.test.replace(" Multi-", " ")
        if alike in self._benchmark.unlike:
            why = f"{alike} is not quite {self._benchmark.name}: {self._benchmark.unlike[alike]}"
            self.doubts.append(note("unlike", why, test=alike))
        how = self._benchmark.converted.get(alike)
        self._factors = how(self._spec(table.rows[0])) if how and table.rows else {}
        self._values = _Values(
            [
                dataclasses.replace(one, factor=one.factor * self._factors.get(one.name, 1))
                for one in text.form.meanings(table)
            ]
        )
        self._patterns: dict[object, _Pattern] = {}
        names = ("Window", "Group", "Validation", "Iterations", "#repetitions")
        places = [table.columns.index(name) for name in names if name in table.columns]
        self._key: Callable[[tuple[Value, ...]], object] | None = itemgetter(*places) if places else None
        self._threads = int(table.parameters.get("threads", 1) or 1) if text.kind == "IMB" else 1
        self._plain = self._benchmark.sized and self._threads == 1 and self._factors.get("size", 1) == 1

    def points(self, table: Table, notes: Notes, known: Known) -> tuple[Points, int, int]:
        """Points of the rows that have a value, how many were there before, and how many bytes the points are."""
        (whole, above), digest, rows = _sources(table), self._text.digest[:16], table.rows
        values = self._values.texts(rows)
        if not all(values):
            self._note(rows, values, notes)
            rows, values = tuple(compress(rows, values)), list(filter(None, values))
        patterns = self._of(rows)
        sizes = [row.size or 0 for row in rows] if self._plain else [self._size(row) for row in rows]
        names = [pattern.known.get(size) or pattern.name(size) for pattern, size in zip(patterns, sizes, strict=True)]
        windows = table.columns[0] == "Window"
        places = [f"{row.line}:{row.values[0]}" for row in rows] if windows else [row.line for row in rows]
        told = zip(sizes, places, values, rows, strict=True)
        if whole:
            own = [f"{size}{OWN}{place}{OWN}{value}" for size, place, value, _ in told]
        else:
            own = [
                f"{size}{OWN}{place}{OWN}{value}{OWN}{encode_basestring_ascii(row.text)[1:-1]}"
                for size, place, value, row in told
            ]
        forms = [pattern.whole for pattern in patterns] if whole else [pattern.above for pattern in patterns]
        found, there = Points(names, forms, [whole or above] * len(names), own), 0
        if names and digest in known:
            found, there = _without(found, known.present(digest, names, [row.line for row in rows]))
        return found, there, len(whole) + sum(map(len, found.own_texts)) + len(found) * _HELD

    def _of(self, rows: Sequence[Row]) -> list[_Pattern]:
        """The pattern of each row."""
        if not self._key:
            return [self._patterns.get(None) or self._pattern(None, rows[0])] * len(rows) if rows else []
        keys, patterns = [self._key(row.values) for row in rows], self._patterns
        return [patterns.get(key) or self._pattern(key, row) for key, row in zip(keys, rows, strict=True)]

    def _note(self, rows: Sequence[Row], values: Sequence[str], notes: Notes) -> None:
        """Say which rows have no value."""
        for row, value in zip(rows, values, strict=True):
            if not value:
                why = row.remark.partition(";")[0].rstrip(".") or "none is finite"
                notes.add(f"no value: {why}. Left out", row.line)

    def _size(self, row: Row) -> int:
        """Size of a message of a row, B, where it is not as printed."""
        if not self._benchmark.sized:
            return 0
        return int((row.size or 0) // self._threads * self._factors.get("size", 1))

    def _pattern(self, key: object, row: Row) -> _Pattern:
        if len(self._patterns) >= _PATTERNS:
            self._patterns.clear()
        self._patterns[key] = made = self._made(row)
        return made

    def _spec(self, row: Row) -> Spec:
        """What a row measured, without its size."""
        where = self._given.testbed or self._text.path.name
        return spec_of(self._benchmark, self._fixed, self._table, row, self._ranks, where)

    def _made(self, row: Row) -> _Pattern:
        """The pattern of rows like this one."""
        table, given = self._table, self._given
        spec = self._spec(row)
        told, options = table.parameters, dict(spec.options)
        measured_by = told.get("Measured by", "").partition(";")[0]  # a line of labkit's own
        library = measured_by or " ".join(filter(None, [self._text.kind, table.version]))
        count = table.value(row, "Iterations") or table.value(row, "#repetitions")
        checked = table.value(row, "Validation")
        meta: dict[str, Any] = {
            "engine": self._text.kind,
            "library": library,
            "verified": checked == "Pass",
            "stopped_by": "tool",
            "timing": options.get("timing", "total" if table.test.startswith(("IMB-IO", "IMB-RMA")) else "each"),
            "cadence": options.get("cadence", self._benchmark.cadence),
            "fingerprint": "",
            "test": table.test,
            "parameters": dict(told),
            "file": str(self._text.path),
            "place": self._text.digest[:16],
        }
        origin, doubts = "imported", [*self.doubts, *doubts_of(table, checked)]
        if given.published:
            doubts.append(note("published", f"published, not measured here: {given.published}"))
            origin = "published"
            meta |= {"engine": "published", "library": "not told", "reference": given.published}
        meta |= noted([], doubts)
        facts = {"architecture": told.get("Machine"), "kernel": told.get("Release")}
        effort = Effort(launches=1, iterations=count if isinstance(count, int) and count > 0 else None)
        host = {name: value for name, value in facts.items() if value}
        meta = complete(meta, origin)
        point = Samples(spec=spec, effort=effort, host=host, launch=0, origin=origin, meta=meta)
        identity = {"library": library, "text": "" if given.testbed else self._text.digest}
        return _Pattern(point, identity)


class _Values:
    """JSON of the values of rows."""

    def __init__(self, meanings: Sequence[Meaning]) -> None:
        self._meanings = meanings
        self._begins = [_begins(one) for one in meanings]
        plain = all(one.factor == 1 and not one.above_zero for one in meanings)
        escaped = [begin.replace("%", "%%") for begin in self._begins]
        self._form = ", ".join(f"{begin}%r}}" for begin in escaped) if plain else ""
        places = [one.place for one in meanings]
        self._only = places[0] if len(meanings) == 1 else -1
        self._pick = itemgetter(*places) if len(meanings) > 1 else lambda values: ()

    def texts(self, rows: Sequence[Row]) -> list[str]:
        """Those of each row; empty where it has none."""
        form, each = self._form, self._each
        if not form:
            return [each(row) for row in rows]
        if self._only >= 0:
            place = self._only
            return [
                form % value if row.size and not row.remark and type(value := row.values[place]) is float else each(row)
                for row in rows
            ]
        pick = self._pick
        return [
            form % values
            if row.size and not row.remark and set(map(type, values := pick(row.values))) == _FLOATS
            else each(row)
            for row in rows
        ]

    def _each(self, row: Row) -> str:
        """The same, value by value."""
        return ", ".join(
            f"{begin}{value!r}}}"
            for one, begin in zip(self._meanings, self._begins, strict=True)
            if (value := one.value(row)) is not None
        )


class Kinds:
    """What the tables of a text have in common, remembered as far as it recurs."""

    def __init__(self, text: Text, given: Given) -> None:
        self._text, self._given = text, given
        self._tests: dict[str, Test] = {
            test: (b, options) for b in benchmarks.find().values() for test, options in b.equivalents.items()
        }
        self._known: OrderedDict[object, Kind] = OrderedDict()

    def of(self, table: Table, notes: Notes) -> Kind | None:
        """What reads the rows of a table; None where no benchmark has its test, which is noted."""
        name = table.test.replace(" Multi-", " ")
        if name not in self._tests or not table.columns:
            what = table.test or repr(table.title)
            why = "prints no number" if not table.columns else "has no benchmark in labkit"
            notes.table(f"{what} {why}", table)
            return None
        key = (table.test, table.version, table.columns, tuple(table.parameters.items()))
        if key not in self._known:
            if len(self._known) >= _PATTERNS:
                self._known.popitem(last=False)
            self._known[key] = Kind(self._text, table, self._tests[name], self._given)
        found = self._known[key]
        for text in found.doubts:
            notes.add(f"{table.test}: {text}", table.first)
        return found


def _without(points: Points, there: Sequence[bool]) -> tuple[Points, int]:
    """Points without those that are there, and how many these are."""
    new = [not one for one in there]
    texts = [list(compress(column, new)) for column in (points.patterns, points.shared_texts, points.own_texts)]
    return Points(list(compress(points.names, new)), *texts), sum(there)


def _begins(one: Meaning) -> str:
    """JSON of a reported value, up to the value."""
    return json.dumps({"name": one.name, "unit": one.unit, "statistic": one.statistic})[:-1] + ', "value": '


def _sources(table: Table) -> tuple[str, str]:
    """Lines of a table as JSON where they are few; else the beginning of a JSON text with those above each row."""
    if table.lines and sum(map(len, table.lines)) <= SHOWN:
        return json.dumps("".join(f"{line}\n" for line in table.lines)), ""
    above = [*table.preamble, *([table.head] if table.head else [])]
    return "", json.dumps("".join(f"{line}\n" for line in above)[-4 * SHOWN :])[:-1]
