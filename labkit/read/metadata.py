"""Metadata of many launches at once: the distinct ones, and the facts in which launches of one kind differ.

The metadata of a launch are a JSON object of some kilobytes, and nearly all of it is the same in thousands of launches.
DuckDB takes out what differs; Python then parses and checks each distinct rest once.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.point import notes
from labkit.point.spec import Reported
from labkit.store import samples
from labkit.store.samples import Samples, facts
from labkit.store.samples import header as headers
from labkit.store.samples.batch import Batch
from labkit.store.samples.facts import Fact
from labkit.store.samples.start import DIGEST, KEY, Starts

if TYPE_CHECKING:
    import duckdb

_NUMBERS = (facts.ELAPSED, facts.TIMER_OVERHEAD_NS)
_TEXTS = (facts.START, facts.SESSION, facts.FINGERPRINT, facts.STOPPED_BY)
_FEW = (facts.BADGES, facts.WARNINGS, facts.NOTES)  # many launches have equal ones
_LISTS = (facts.LOOP_NS, facts.CHUNKS)
OWN = (*_NUMBERS, *_TEXTS, *_FEW, *_LISTS)  # facts that are read with every launch
LATER = (  # facts of the moment, which are read when somebody asks for them
    facts.LOAD_START,
    facts.LOAD_END,
    facts.TIMED_S,
    facts.INTERFACE_B,
    facts.HOST_B,
    facts.INVOLUNTARY_SWITCHES,
    facts.IDLEST_RANK,
    facts.IDLEST_SHARE,
    facts.PROCESSOR_QUOTA,
    facts.THROTTLED_SHARE,
    facts.CLOCK_ERROR_NS,
    facts.LATE_SHARE,
    facts.EVIDENCE,
    facts.EVIDENCE_ALONE,
    facts.COUNTERS,
    facts.ELAPSED_ALONE,
    facts.ELAPSED_BESIDE,
    facts.COMMANDS,
    facts.COMMUNICATION,
    facts.MESSAGES,
    facts.ORDER,
    facts.RESULTS,
)
_OF_HOST = ("load", "uptime_s", "memory_available_B", "shared_memory_free_B")
_FIRST = ("$.launch", "$.spec.size", "$.reported")
_PIECE = 1 << 20  # B of JSON in a query
_TYPED = ", ".join(f"'$.{name}'" for name in ("spec", "host", "meta", "source", "reported"))  # as the first of a kind
_THERE = ", ".join(f"'$.meta.{fact.name}'" for fact in (*OWN, *LATER))
_VALUE = re.compile(r'"value":(-?\d[\d.eE+-]*)')
_WIDTH = len(_FIRST) + len(OWN)


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    """Return the engine, which reads nothing but the tables that it is given."""
    import duckdb  # 0.1 s, and a small campaign does without

    return duckdb.connect(
        config={
            "threads": "1",
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )


_ALONE = Lock()  # threads of the Explorer read at the same time; the engine has one table of launches


@contextmanager
def reading() -> Iterator[None]:
    """Give back the memory of the engine after all reading, some 80 MB; its start takes 0.01 s, as long as a query."""
    try:
        yield
    finally:
        with _ALONE:
            if _engine.cache_info().currsize:
                _engine().close()
                _engine.cache_clear()


def _query(header: pa.Array, selection: str) -> pa.Table:
    """Return an expression over the JSON objects ``h`` in a column; NULL where DuckDB does not take it for JSON."""
    rows = max(1, len(header) * _PIECE // max(header.nbytes, 1))
    pieces = [_of_piece(header[begin : begin + rows], selection) for begin in range(0, len(header), rows)]
    return pa.concat_tables(pieces)


def _of_piece(header: pa.Array, selection: str) -> pa.Table:
    """`_query` of this many objects that the engine needs little memory: it takes some thirty times their size."""
    with _ALONE:
        engine = _engine()
        engine.register("launches", pa.table({"header": header}))
        try:
            parsed = "SELECT TRY_CAST(TRY(decode(header)) AS JSON) AS h FROM launches"
            return engine.sql(f"SELECT {selection} FROM ({parsed})").to_arrow_table()
        finally:
            engine.unregister("launches")


@cache
def _rest() -> str:
    """Return the JSON merge patch (RFC 7386) that takes out what differs between the launches of a kind."""
    gone: dict[str, Any] = {"launch": None, "reported": None, "source": None, "spec": {"size": None}}
    gone |= {"meta": {fact.name: None for fact in (*OWN, *LATER)}, "host": dict.fromkeys(_OF_HOST)}
    return json.dumps(gone)


@dataclass(frozen=True, eq=False)
class Metadata:
    """Metadata of some launches.

    Parameters
    ----------
    kind : (launches,), place of each among the kinds.
    launches, sizes : (launches,).
    own : name of a fact of `OWN` → its value in each launch, None if it is missing.
    reported : what a tool reported: the distinct lists, without their values.
    structure : (launches,), place of each among these.
    values : (launches,) lists of the values.
    """

    kind: NDArray[np.intp]
    launches: NDArray[np.int64]
    sizes: NDArray[np.int64]
    own: Mapping[str, Sequence[Any]]
    reported: Sequence[tuple[Reported, ...]]
    structure: NDArray[np.intp]
    values: Sequence[Sequence[float]]

    @property
    def alike(self) -> list[tuple[int, int]]:
        """What is equal for launches that can be in one batch, (launches,)."""
        return list(zip(self.kind.tolist(), self.structure.tolist(), strict=True))

    def batch(self, places: NDArray[np.intp], **parts: Any) -> Batch:
        """Return some launches as a batch.

        Parameters
        ----------
        parts : fields of the batch that are not metadata.
        """
        listed = places.tolist()
        return Batch(
            sizes=self.sizes[places],
            launches=self.launches[places],
            own={name: [values[place] for place in listed] for name, values in self.own.items()},
            reported=self.reported[self.structure[listed[0]]],
            values=[self.values[place] for place in listed] if self.reported[self.structure[listed[0]]] else (),
            **parts,
        )


class Kinds:
    """The distinct metadata of the launches of a benchmark.

    Parameters
    ----------
    starts : records of starts, to which metadata refer.
    """

    def __init__(self, starts: Starts) -> None:
        self._starts = starts
        self._places: dict[str, int] = {}
        self.kinds: list[Samples] = []
        self.headers: list[bytes] = []

    def add(self, header: bytes, where: object) -> None:
        """Add a kind: the metadata of a launch of it."""
        self.kinds.append(samples.described(header, where, self._starts))
        self.headers.append(header)

    def read(self, header: pa.Array, where: Sequence[object]) -> Metadata:
        """Read the metadata of some launches.

        Parameters
        ----------
        header : (launches,), JSON as bytes.
        where : (launches,), the file of each, for errors.

        Raises
        ------
        DataError
            If one of them is not as labkit writes it.
        """
        rows = _Rows(header, where, self._starts)
        listed = ", ".join(f"'{path}'" for path in (*_FIRST, *(f"$.meta.{fact.name}" for fact in OWN)))
        alike = [f"json_merge_patch(h, '{_rest()}')", f"json_type(h, [{_TYPED}])"]
        # launches of a kind have the same facts, whatever the values
        alike.append(f"list_transform(json_type(h, [{_THERE}]), lambda fact: coalesce(fact, 'NULL') = 'NULL')")
        rest = f"concat({', '.join(f'{one}::VARCHAR' for one in alike)}) AS rest"
        found = rows.query(f"{rest}, json_extract(h, [{listed}]) AS own")
        texts = pc.list_flatten(found["own"].combine_chunks()).cast(pa.string())
        columns = [texts.take(pa.array(np.arange(k, len(texts), _WIDTH))) for k in range(_WIDTH)]
        own: Iterator[tuple[Fact[Any], pa.Array]] = zip(OWN, columns[len(_FIRST) :], strict=True)
        values_of = {fact.name: rows.fact(fact, column) for fact, column in own if column.null_count < len(column)}
        rows.check_notes([values_of.get(fact.name) or [None] * len(header) for fact in _FEW])
        reported, structure, values = rows.reported(columns[2])
        return Metadata(
            kind=self._of(found["rest"].combine_chunks(), rows),
            launches=rows.whole(columns[0], 1 << 31),
            sizes=rows.whole(columns[1], 1 << 63),
            own=values_of,
            reported=reported,
            structure=structure,
            values=values,
        )

    def _of(self, rest: pa.Array, rows: _Rows) -> NDArray[np.intp]:
        """Return the kind of each launch, and remember those that are new."""
        encoded = rest.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        places = np.empty(len(codes), np.intp)
        first = np.full(len(encoded.dictionary), len(codes), np.intp)
        np.minimum.at(first, codes, np.arange(len(codes)))
        of_code = np.empty(len(encoded.dictionary), np.intp)
        for code, text in enumerate(encoded.dictionary.to_pylist()):
            if text not in self._places:
                self._places[text] = len(self.kinds)
                row = int(first[code])
                self.add(rows.header[row].as_py(), rows.where[row])
            of_code[code] = self._places[text]
        places[:] = of_code[codes]
        return places


def later(fact: Fact[Any], header: pa.Array, where: Sequence[object], starts: Starts) -> list[Any]:
    """Return a fact of `LATER` for each launch, from the launch or its start; None if it is missing."""
    rows = _Rows(header, where, starts)
    found = rows.query(f"json_extract(h, '$.meta.{fact.name}') AS fact, json_extract_string(h, '$.{KEY}') AS start")
    values = list(rows.fact(fact, found["fact"].combine_chunks().cast(pa.string())))
    for row, name in enumerate(found["start"].to_pylist()):
        if values[row] is None and name and DIGEST.fullmatch(name) and fact.given(meta := starts.get(name).meta):
            values[row] = fact.of(meta)
    return values


@dataclass(eq=False)
class _Rows:
    """Metadata of some launches as JSON texts.

    Parameters
    ----------
    header : (launches,), as bytes.
    where : (launches,), files.
    starts : records to which they refer.
    """

    header: pa.Array
    where: Sequence[object]
    starts: Starts

    def query(self, selection: str) -> pa.Table:
        """Return expressions over the objects ``h``; what only Python takes for JSON is written again first."""
        found = _query(self.header, f"{selection}, h IS NULL AS odd")
        odd = found["odd"].to_numpy()
        if odd.any():
            texts: list[bytes] = self.header.to_pylist()
            for row in np.flatnonzero(odd).tolist():
                self.refuse(row)  # if Python does not take it either
                texts[row] = json.dumps(_without_nan(headers.parsed(texts[row], self.where[row]))).encode()
            self.header = pa.array(texts, pa.binary())
            found = _query(self.header, selection)
        return found

    def refuse(self, row: int) -> Samples:
        """Decode the metadata of one launch.

        Raises
        ------
        DataError
            If they are not as labkit writes them; the message says why.
        """
        return samples.described(self.header[row].as_py(), self.where[row], self.starts)

    def _refuse_first(self, wrong: Callable[[str | None], bool], column: pa.Array) -> None:
        """Raise the error about the first launch with a wrong text."""
        for row, text in enumerate(column.to_pylist()):
            if wrong(text):
                self.refuse(row)
                raise DataError(
                    f"{self.where[row]}: its metadata hold {str(text)[:80]}, which labkit never writes there. "
                    "Restore it from a copy, or delete it."
                )

    def whole(self, column: pa.Array, limit: int) -> NDArray[np.int64]:
        """Return whole numbers from 0 to below a limit."""

        def wrong(text: str | None) -> bool:
            return text is None or not (text.isascii() and text.isdecimal()) or int(text) >= limit

        try:
            values = np.asarray(column.cast(pa.int64()).to_numpy())
        except (pa.ArrowInvalid, ValueError):
            values = None
        if (
            values is None
            or values.dtype != np.int64
            or (len(values) and not 0 <= values.min() <= values.max() < limit)
        ):
            self._refuse_first(wrong, column)
        return np.asarray(values, np.int64)

    def fact(self, fact: Fact[Any], column: pa.Array) -> Sequence[Any]:
        """Return the values of a fact; None if it is missing or null."""
        if fact.kind is float and (numbers := self._numbers(column)) is not None:
            return numbers
        if fact.kind is str and (texts := self._texts(column)) is not None:
            return texts
        encoded = column.dictionary_encode()
        values = [None if text is None else json.loads(text) for text in encoded.dictionary.to_pylist()]
        if not all(map(self._fits(fact), values)):
            self._refuse_first(lambda text: text is not None and not self._fits(fact)(json.loads(text)), column)
        codes = encoded.indices.fill_null(len(values)).to_pylist()
        values.append(None)
        return [values[code] for code in codes]

    def check_notes(self, noted: Sequence[Sequence[Any]]) -> None:
        """Refuse a launch with a badge or a warning that has no code.

        Parameters
        ----------
        noted : values of `_FEW` in each launch; equal ones are one object.
        """
        seen = set[tuple[int, ...]]()
        for row, parts in enumerate(zip(*noted, strict=True)):
            key = tuple(map(id, parts))
            if key not in seen:
                seen.add(key)
                badges, warnings, about = parts
                if why := notes.check(about or {}, badges or (), warnings or ()):
                    self.refuse(row)
                    raise DataError(f"{self.where[row]}: notes: {why}. Restore it from a copy, or delete it.")

    @staticmethod
    def _fits(fact: Fact[Any]) -> Callable[[Any], bool]:
        """Return the check of a fact's value, as of metadata that are decoded one by one."""
        if fact is facts.NOTES:
            return lambda value: value is None or not notes.check(value)
        if fact in (facts.BADGES, facts.WARNINGS):
            return lambda value: fact.fits(value) and all(isinstance(text, str) for text in value or ())
        return fact.fits

    @staticmethod
    def _numbers(column: pa.Array) -> list[float | None] | None:
        """Return numbers; None if a text is something else."""
        plain = pc.match_substring_regex(column, "^-?[0-9]")
        null = pc.equal(column, "null")
        if not pc.all(pc.or_(plain, null), min_count=0).as_py():
            return None
        return list(pc.if_else(plain, column, None).cast(pa.float64()).to_pylist())

    @staticmethod
    def _texts(column: pa.Array) -> list[str | None] | None:
        """Return what stands between the quotation marks; None if a text is none, or has escapes."""
        if not pc.all(pc.match_substring_regex(column, r'^"[^"\\]*"$'), min_count=0).as_py():
            return None
        return list(pc.utf8_slice_codeunits(column, 1, -1).to_pylist())

    def reported(self, column: pa.Array) -> tuple[list[tuple[Reported, ...]], NDArray[np.intp], list[list[float]]]:
        """Return what tools reported: the distinct lists, which one each launch has, and the values of each launch."""
        places: dict[str, int] = {}
        structures: list[tuple[Reported, ...]] = []
        structure, values = np.empty(len(column), np.intp), list[list[float]]()
        for row, text in enumerate(column.to_pylist()):
            numbers = _VALUE.findall(text or "")
            key = _VALUE.sub('"value":0', text or "")
            if len(structures[places[key]]) != len(numbers) if key in places else True:
                listed = json.loads(text) if text else None
                if not isinstance(listed, list):
                    self.refuse(row)
                entries = headers.reported(listed or [], self.where[row])
                if len(entries) != len(numbers):  # a label has such a name
                    key, numbers = text or "", [json.dumps(one.value) for one in entries]
                if key not in places:
                    places[key] = len(structures)
                    structures.append(entries)
            structure[row] = places[key]
            values.append(json.loads(f"[{','.join(numbers)}]"))
        return structures, structure, values


def _without_nan(value: Any) -> Any:
    """Return plain values with null in place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
