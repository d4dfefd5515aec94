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
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any

from labkit import benchmarks, samples
from labkit.benchmarks import Benchmark
from labkit.formats._table import Meaning, Row, Table, Value
from labkit.importing.known import Known, Slot
from labkit.importing.telling import doubts_of, ranks_of, spec_of
from labkit.importing.text import Text
from labkit.importing.words import Notes
from labkit.samples import Samples
from labkit.spec import Effort, Scalar, Spec

SHOWN = 2048  # characters of a table up to which every point has all of it
_PATTERNS = 256  # kinds of tables that are remembered, and kinds of rows of each
_GAP = secrets.token_hex(8)  # no text can hold it
_SIZE, _LAUNCH, _NAME, _PLACE, _VALUES, _SOURCE = (f"{_GAP}{place}" for place in range(6))
_FLOATS = {float}
_END = json.dumps("\n")[1:]
_HELD = 320  # B that a point takes in memory besides its texts
# fingerprint, launch, gaps of its pattern, size, place, values, source: metadata are made only when they are written
Point = tuple[str, int, tuple[str, ...], int, str, str, str]
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

    def __init__(self, point: Samples, identity: Mapping[str, str], slots: Callable[[str, str], Slot]) -> None:
        self._benchmark, self._slots = point.spec.benchmark, slots
        spec = json.dumps([point.spec.as_dict() | {"size": _SIZE}, dict(sorted(identity.items()))], sort_keys=True)
        begin, _, self._end = spec.partition(json.dumps(_SIZE))
        self._begun = hashlib.sha256(begin.encode())
        header = samples.metadata(point)
        header |= {"launch": _LAUNCH, "source": _SOURCE, "reported": _VALUES}
        header["spec"]["size"] = _SIZE
        header["meta"] |= {"fingerprint": _NAME, "place": _PLACE}
        rest, gaps = json.dumps(header, allow_nan=False), list[str]()
        for word in (_SIZE, _LAUNCH, _NAME, _PLACE, _VALUES, _SOURCE):
            start, _, rest = rest.partition(json.dumps(word))
            gaps.append(start)
        self.gaps = (*gaps, rest)
        self.known: dict[int, Slot] = {}

    def slot(self, size: int) -> Slot:
        """Where points of a size belong."""
        found = self.known.get(size)
        if found is None:
            if len(self.known) >= _PATTERNS:
                self.known.clear()
            digest = self._begun.copy()
            digest.update(f"{size}{self._end}".encode())
            found = self.known[size] = self._slots(self._benchmark, digest.hexdigest()[:16])
        return found


class Kind:
    """Tables that tell the same but for their rows."""

    def __init__(self, text: Text, table: Table, test: Test, given: Given, slots: Callable[[str, str], Slot]) -> None:
        self._text, self._table, self._given, self._slots = text, table, given, slots
        self._benchmark, self._fixed = test
        self.benchmark = self._benchmark.name
        self._ranks, self.doubts = ranks_of(table, self._benchmark, given.ranks)
        alike = table.test.replace(" Multi-", " ")
        if alike in self._benchmark.unlike:
            self.doubts.append(f"{alike} is not quite {self._benchmark.name}: {self._benchmark.unlike[alike]}")
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
        self._key: Callable[[tuple[Value, ...]], object] = itemgetter(*places) if places else lambda values: None
        self._threads = int(table.parameters.get("threads", 1) or 1) if text.kind == "IMB" else 1

    def points(self, table: Table, notes: Notes, known: Known) -> tuple[list[Point], int, int]:
        """Points of the rows that have a value, how many were there before, and how many bytes the points are."""
        (whole, above), held = _sources(table), bool(known)
        digest, sized, windows = self._text.digest[:16], self._benchmark.sized, table.columns[0] == "Window"
        patterns, keyed, threads, of_size = self._patterns, self._key, self._threads, self._factors.get("size", 1)
        found, there, text, plain = list[Point](), 0, self._values.text, threads == 1 and of_size == 1 and sized
        for row in table.rows:
            values = text(row)
            if not values:
                why = row.remark.partition(";")[0].rstrip(".") or "none is finite"
                notes.add(f"no value: {why}. Left out", row.line)
                continue
            key = keyed(row.values)
            pattern = patterns.get(key) or self._pattern(key, row)
            size = row.size or 0 if plain else int((row.size or 0) // threads * of_size) if sized else 0
            slot = pattern.known.get(size) or pattern.slot(size)
            if held and (slot.fingerprint, digest, row.line) in known:
                there += 1
                continue
            place = f"{digest}:{row.line}:{row.values[0]}" if windows else f"{digest}:{row.line}"
            source = whole or f"{above}{encode_basestring_ascii(row.text)[1:-1]}{_END}"
            found.append((slot.fingerprint, slot.launch, pattern.gaps, size, place, values, source))
            slot.launch += 1
        return found, there, _held(found, whole)

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
            "engine": self._text.kind, "library": library, "verified": checked == "Pass", "stopped_by": "tool",
            "timing": options.get("timing", "total" if table.test.startswith(("IMB-IO", "IMB-RMA")) else "each"),
            "cadence": options.get("cadence", self._benchmark.cadence), "fingerprint": "",
            "badges": [], "warnings": [*self.doubts, *doubts_of(table, checked)], "test": table.test,
            "parameters": dict(told), "file": str(self._text.path), "place": "",
        }  # fmt: skip
        origin = "imported"
        if given.published:
            said = [*meta["warnings"], f"published, not measured here: {given.published}"]
            origin = "published"
            meta |= {"engine": "published", "library": "not told", "reference": given.published, "warnings": said}
        facts = {"architecture": told.get("Machine"), "kernel": told.get("Release")}
        effort = Effort(launches=1, iterations=count if isinstance(count, int) and count > 0 else None)
        host = {name: value for name, value in facts.items() if value}
        point = Samples(spec=spec, effort=effort, host=host, launch=0, origin=origin, meta=meta)
        identity = {"library": library, "text": "" if given.testbed else self._text.digest}
        return _Pattern(point, identity, self._slots)


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

    def text(self, row: Row) -> str:
        """Those of a row; empty where it has none."""
        if self._form and row.size and not row.remark:
            if self._only >= 0:
                value = row.values[self._only]
                return self._form % value if type(value) is float else self._each(row)
            values = self._pick(row.values)
            if set(map(type, values)) == _FLOATS:  # as nearly always
                return self._form % values
        return self._each(row)

    def _each(self, row: Row) -> str:
        """The same, value by value."""
        return ", ".join(
            f"{begin}{value!r}}}"
            for one, begin in zip(self._meanings, self._begins, strict=True)
            if (value := one.value(row)) is not None
        )


class Kinds:
    """What the tables of a text have in common, remembered as far as it recurs."""

    def __init__(self, text: Text, given: Given, slots: Callable[[str, str], Slot]) -> None:
        self._text, self._given, self._slots = text, given, slots
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
            self._known[key] = Kind(self._text, table, self._tests[name], self._given, self._slots)
        found = self._known[key]
        for text in found.doubts:
            notes.add(f"{table.test}: {text}", table.first)
        return found


def header(point: Point) -> str:
    """Metadata of a point, as `labkit.samples.save` would write them."""
    name, launch, (a, b, c, d, e, f, g), size, place, values, source = point
    return f'{a}{size}{b}{launch}{c}"{name}"{d}"{place}"{e}[{values}]{f}{source}{g}'


def _held(points: Sequence[Point], shared: str) -> int:
    """How many bytes points take in memory, B; `shared` is the source of all."""
    return (
        len(shared)
        + sum([len(one[5]) for one in points])
        + len(points) * _HELD
        + (0 if shared else sum([len(one[6]) for one in points]))
    )


def _begins(one: Meaning) -> str:
    """JSON of a reported value, up to the value."""
    return json.dumps({"name": one.name, "unit": one.unit, "statistic": one.statistic})[:-1] + ', "value": '


def _sources(table: Table) -> tuple[str, str]:
    """Lines of a table as JSON where they are few; else the beginning of a JSON text with those above each row."""
    if table.lines and sum(map(len, table.lines)) <= SHOWN:
        return json.dumps("".join(f"{line}\n" for line in table.lines)), ""
    above = [*table.preamble, *([table.head] if table.head else [])]
    return "", json.dumps("".join(f"{line}\n" for line in above)[-4 * SHOWN :])[:-1]
