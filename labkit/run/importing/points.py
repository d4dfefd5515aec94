"""Converts rows to points: their spec, as far as the text gives it, and the metadata of their samples files.

Rows of a table differ in little, so their metadata come from one pattern with gaps. The result is the text that
`labkit.store.samples.save` would write.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any

from labkit import benchmarks, formats
from labkit.formats.reading.lines import Value
from labkit.formats.reading.table import Meaning, Row, Table
from labkit.point.notes import Note, note
from labkit.point.ranges import shown
from labkit.point.spec import Effort, Spec
from labkit.run.importing.known import Known
from labkit.run.importing.messages import Messages
from labkit.run.importing.specs import Test, accelerated, doubts_of, identity, ranks_of, spec_of
from labkit.run.importing.text import Text
from labkit.store import samples
from labkit.store.samples import Samples
from labkit.store.samples.facts import CLOCK_NS, complete, noted
from labkit.store.samples.patterned import LAUNCH, NAME, OWN, SHARED, Points

SHOWN = 2048  # characters of a table up to which every point has all of it
_PATTERNS = 256  # converters in memory, and patterns of each
_GAP = secrets.token_hex(8)  # no text can hold it
_SIZE, _LAUNCH, _NAME, _PLACE, _VALUES, _SOURCE = (f"{_GAP}{place}" for place in range(6))
_FLOATS = {float}
_NAMED = 120  # characters of a test or a title in a message
_OVERHEAD_B = 150  # of a point in memory, beside the characters of its own texts


@dataclass(frozen=True)
class Given:
    """Facts about the measurement that the text does not state.

    Parameters
    ----------
    ranks : number of ranks; 0 if unknown.
    testbed : where it was measured; empty if unknown.
    published : where the numbers were published; empty if they were not.
    host, meta : metadata of the points, if labkit ran the program.
    badges, doubts : badges and doubts of the points, for the same reason.
    """

    ranks: int = 0
    testbed: str = ""
    published: str = ""
    host: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    badges: Sequence[Note] = ()
    doubts: Sequence[Note] = ()


class Pattern:
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
        # the source of a point: all lines of its table; or, in a long table, the lines above it and its own
        self.form_with_table = form.replace(json.dumps(_SOURCE), SHARED)
        self.form_with_row = form.replace(json.dumps(_SOURCE), SHARED + OWN + json.dumps("\n")[1:])
        self.names: dict[int, bytes] = {}

    def name(self, size: int) -> bytes:
        """Return the first 8 B of the fingerprint of points of a size."""
        if len(self.names) >= _PATTERNS:
            self.names.clear()
        name = self.names[size] = hashlib.sha256(b"%b%d%b" % (self._begin, size, self._end)).digest()[:8]
        return name


class Converter:
    """Converts the rows of tables that have the same head."""

    def __init__(self, text: Text, table: Table, test: Test, given: Given) -> None:
        self._text, self._table, self._given = text, table, given
        self._benchmark, self._options = test
        self.benchmark = self._benchmark.name
        self._ranks, self.doubts = ranks_of(table, self._benchmark, given.ranks)
        test_name = table.test.replace(" Multi-", " ")
        if test_name in self._benchmark.unlike:
            difference = f"{test_name} is not quite {self._benchmark.name}: {self._benchmark.unlike[test_name]}"
            self.doubts.append(note("unlike", difference, test=test_name))
        convert = self._benchmark.converted.get(test_name)
        self._factors = convert(self._usual(self._spec(table.rows[0]))) if convert and table.rows else {}
        self._values = _Values(
            [
                dataclasses.replace(meaning, factor=meaning.factor * self._factors.get(meaning.name, 1))
                for meaning in text.form.meanings(table)
            ]
        )
        self._patterns: dict[object, Pattern] = {}
        names = ("Window", "Group", "Operation", "Validation", "Iterations", "#repetitions")
        places = [table.columns.index(name) for name in names if name in table.columns]
        self._key: Callable[[tuple[Value, ...]], object] | None = itemgetter(*places) if places else None
        self._threads = int(table.parameters.get("threads", 1) or 1) if text.kind == "IMB" else 1
        self._sizes_as_printed = self._benchmark.sized and self._threads == 1 and self._factors.get("size", 1) == 1

    def points(self, table: Table, messages: Messages, known: Known) -> tuple[Points, int, int]:
        """Convert the rows that have a value.

        Returns
        -------
        The new points, how many other points were imported before, and the size of the new ones, B.
        """
        (table_source, head_source), digest, rows = _sources(table), self._text.digest[:16], table.rows
        values = self._values.texts(rows)
        if not all(values):
            self._note(rows, values, messages)
            rows, values = tuple(compress(rows, values)), list(filter(None, values))
        patterns = self._patterns_of(rows)
        sizes = [row.size or 0 for row in rows] if self._sizes_as_printed else [self._size(row) for row in rows]
        names = [pattern.names.get(size) or pattern.name(size) for pattern, size in zip(patterns, sizes, strict=True)]
        windows = table.columns[0] == "Window"
        places = [f"{row.line}:{row.values[0]}" for row in rows] if windows else [row.line for row in rows]
        fields = zip(sizes, places, values, rows, strict=True)
        if table_source:
            forms = [pattern.form_with_table for pattern in patterns]
            own_texts = [f"{size}{OWN}{place}{OWN}{value}" for size, place, value, _ in fields]
        else:
            forms = [pattern.form_with_row for pattern in patterns]
            own_texts = [
                f"{size}{OWN}{place}{OWN}{value}{OWN}{encode_basestring_ascii(row.text)[1:-1]}"
                for size, place, value, row in fields
            ]
        points, present = Points(names, forms, [table_source or head_source] * len(names), own_texts), 0
        if names and digest in known:
            points, present = _without(points, known.present(digest, names, [row.line for row in rows]))
        return points, present, len(table_source) + sum(map(len, points.own_texts)) + len(points) * _OVERHEAD_B

    def _patterns_of(self, rows: Sequence[Row]) -> list[Pattern]:
        """Return the pattern of each row."""
        if not rows:
            return []
        if not self._key:
            return [self._patterns.get(None) or self._pattern(None, rows[0])] * len(rows)
        keys, patterns = [self._key(row.values) for row in rows], self._patterns
        return [patterns.get(key) or self._pattern(key, row) for key, row in zip(keys, rows, strict=True)]

    def _note(self, rows: Sequence[Row], values: Sequence[str], messages: Messages) -> None:
        """Note which rows have no value."""
        for row, value in zip(rows, values, strict=True):
            if not value:
                reason = row.remark.partition(";")[0].rstrip(".") or "none is finite"
                messages.add(f"no value: {reason}. Left out", row.line)

    def _size(self, row: Row) -> int:
        """Return the message size of a row, B, if it is not as printed."""
        if not self._benchmark.sized:
            return 0
        return int((row.size or 0) // self._threads * self._factors.get("size", 1))

    def _pattern(self, key: object, row: Row) -> Pattern:
        if len(self._patterns) >= _PATTERNS:
            self._patterns.clear()
        self._patterns[key] = pattern = self._new_pattern(row)
        return pattern

    def _spec(self, row: Row) -> Spec:
        """Return the spec of a row, without its size."""
        testbed = self._given.testbed or self._text.name
        return spec_of(self._benchmark, self._options, self._table, row, self._ranks, testbed)

    def _usual(self, spec: Spec) -> Spec:
        """Return a spec with labkit's values for settings that the text omits because the test's name implies them."""
        usual = dataclasses.asdict(self._benchmark.options())
        return spec.replace(options={k: usual.get(k) if v is None else v for k, v in spec.values.items()})

    def _new_pattern(self, row: Row) -> Pattern:
        """Return the pattern of rows like this one."""
        table, given = self._table, self._given
        spec = self._spec(row)
        parameters, options = table.parameters, spec.values
        measured_by = parameters.get("Measured by", "").partition(";")[0]  # a line of labkit's own
        library = measured_by or " ".join(filter(None, [self._text.kind, table.version]))
        count = table.value(row, "Iterations") or table.value(row, "#repetitions")
        checked = table.value(row, "Validation")
        meta: dict[str, Any] = {
            "engine": self._text.kind,
            "library": library,
            "verified": checked == "Pass",
            "stopped_by": "tool",
            "timing": options.get("timing") or ("total" if table.test.startswith(("IMB-IO", "IMB-RMA")) else "each"),
            "cadence": options.get("cadence") or self._benchmark.cadence,
            "fingerprint": "",
            "test": table.test,
            "parameters": dict(parameters),
            "file": str(self._text.path),
            "place": self._text.digest[:16],
        }
        meta |= clock_of(1e6 if table.test == "osu_init" else formats.clock_ns(self._text.kind))  # it prints whole ms
        meta, origin = meta_of(meta, [*self.doubts, *doubts_of(table, checked), *self._text.doubts], given)
        facts = {"architecture": parameters.get("Machine"), "kernel": parameters.get("Release")}
        effort = Effort(launches=1, iterations=count if isinstance(count, int) and count > 0 else None)
        host = {**given.host, **{name: value for name, value in facts.items() if value}}
        point = Samples(spec=spec, effort=effort, host=host, launch=0, origin=origin, meta=meta)
        return Pattern(point, identity(library, "" if given.testbed else self._text.digest, self.doubts))


def clock_of(step_ns: float) -> dict[str, float]:
    """Return the step of the printed times as metadata; empty if unknown."""
    return {} if math.isnan(step_ns) else {CLOCK_NS.name: step_ns}


def meta_of(meta: Mapping[str, Any], doubts: Sequence[Note], given: Given) -> tuple[dict[str, Any], str]:
    """Return the metadata of a point with its doubts, and its origin: imported or published."""
    origin, meta, doubts = "imported", {**meta, **given.meta}, [*doubts, *given.doubts]
    if given.published:
        doubts.append(note("published", f"published, not measured here: {given.published}"))
        origin = "published"
        meta |= {"engine": "published", "library": "not told", "reference": given.published}
    return complete(meta | noted(given.badges, doubts), origin), origin


class _Values:
    """JSON of the values of rows."""

    def __init__(self, meanings: Sequence[Meaning]) -> None:
        self._meanings = meanings
        self._begins = [_begins(meaning) for meaning in meanings]
        unscaled = all(meaning.factor == 1 and not meaning.above_zero for meaning in meanings)
        escaped = [begin.replace("%", "%%") for begin in self._begins]
        self._form = ", ".join(f"{begin}%r}}" for begin in escaped) if unscaled else ""
        places = [meaning.place for meaning in meanings]
        self._only = places[0] if len(meanings) == 1 else -1
        self._pick = itemgetter(*places) if len(meanings) > 1 else lambda values: ()

    def texts(self, rows: Sequence[Row]) -> list[str]:
        """Return the JSON of each row's values; empty for a row without one."""
        form, slow = self._form, self._each
        if not form:
            return [slow(row) for row in rows]
        if self._only >= 0:
            place = self._only
            return [
                form % value if row.size and not row.remark and type(value := row.values[place]) is float else slow(row)
                for row in rows
            ]
        pick = self._pick
        return [
            form % values
            if row.size and not row.remark and set(map(type, values := pick(row.values))) == _FLOATS
            else slow(row)
            for row in rows
        ]

    def _each(self, row: Row) -> str:
        """Return the JSON of a row's values, value by value."""
        return ", ".join(
            f"{begin}{value!r}}}"
            for meaning, begin in zip(self._meanings, self._begins, strict=True)
            if (value := meaning.value(row)) is not None
        )


class Converters:
    """The converters of the tables of a text, one for all tables with the same head."""

    def __init__(self, text: Text, given: Given) -> None:
        self._text, self._given = text, given
        self._tests: dict[str, Test] = {
            test: (b, options)
            for b in benchmarks.every().values()
            for test, options in {**b.logs, **b.equivalents}.items()
        }
        self._converters: OrderedDict[object, Converter] = OrderedDict()

    def of(self, table: Table, messages: Messages) -> Converter | None:
        """Return the converter of a table; None, and a message, if no benchmark has its test."""
        name = table.test.replace(" Multi-", " ")
        if name not in self._tests or not table.columns:
            subject = table.test[:_NAMED] or shown(table.title, _NAMED)
            problem = "has no benchmark in labkit" if table.columns else "prints no number"
            messages.table(f"{subject} {problem}", table)
            return None
        test = accelerated(self._tests[name], table)
        if test is None:
            messages.table(f"{table.title[:_NAMED]} has no benchmark in labkit", table)
            return None
        setting = (test[0].name, tuple(test[1].items()), tuple(table.parameters.items()))
        # an excerpt states no version, and its units follow from its rows
        units = () if table.version else tuple(meaning.factor for meaning in self._text.form.meanings(table))
        key = (table.test, table.version, table.columns, setting, units)
        if key not in self._converters:
            if len(self._converters) >= _PATTERNS:
                self._converters.popitem(last=False)
            self._converters[key] = Converter(self._text, table, test, self._given)
        converter = self._converters[key]
        for text in converter.doubts:
            messages.add(f"{table.test}: {text}", table.first)
        return converter


def _without(points: Points, present: Sequence[bool]) -> tuple[Points, int]:
    """Remove points that are present; return the others, and how many were removed."""
    new = [not known for known in present]
    texts = [list(compress(column, new)) for column in (points.patterns, points.shared_texts, points.own_texts)]
    return Points(list(compress(points.names, new)), *texts), sum(present)


def _begins(meaning: Meaning) -> str:
    """Return the JSON of a reported value, up to the value."""
    return json.dumps({"name": meaning.name, "unit": meaning.unit, "statistic": meaning.statistic})[:-1] + ', "value": '


def _sources(table: Table) -> tuple[str, str]:
    """Return two JSON texts, one of them empty: all lines of a short table, or the lines above the rows of a long one.

    The second text has no closing quote; the line of each row follows.
    """
    if table.lines and sum(map(len, table.lines)) <= SHOWN:
        return json.dumps("".join(f"{line}\n" for line in table.lines)), ""
    above = [*table.preamble]
    if table.head:
        above.append(table.head)
    return "", json.dumps("".join(f"{line}\n" for line in above)[-4 * SHOWN :])[:-1]
