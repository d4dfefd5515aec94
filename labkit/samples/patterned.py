"""Points without samples whose metadata differ in little: a pattern with gaps, and what each point puts into them.

Format 2 of a compacted file (Parquet, zstd)
    One row for each point and launch, in the order of fingerprint and launch: ``fingerprint``, ``launch``, ``pattern``
    (metadata of a samples file with gaps), ``shared`` (a text that several points have), ``own`` (texts of this point,
    parted by `OWN`). A byte of `GAPS` in a pattern is a gap: `OWN` is the next text of ``own``, `SHARED` is ``shared``,
    `NAME` and `LAUNCH` are the point's own. JSON has no such bytes. Patterns and shared texts stand in dictionaries,
    once in a row group. Pages have checksums. File metadata under the key ``labkit-compacted``: ``{"format": 2}``.

History of the format
    2 : first of this kind; 1 is that of `labkit.samples.compacted`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.samples import Raw
from labkit.samples.header import MOST

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
KEY = b"labkit-compacted"
POINTS = 1 << 14  # of a row group
OWN, SHARED, NAME, LAUNCH = GAPS = "\0\1\2\3"
DICTIONARIES = ["pattern", "shared"]
_GAP = re.compile(rb"([\0-\3])")
_NONE = np.empty(0, np.int64)


@cache
def layout() -> pa.Schema:
    """Columns of a file."""
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.binary())
    fields = {"fingerprint": pa.string(), "launch": pa.int32(), "pattern": text, "shared": text, "own": pa.binary()}
    return pa.schema(fields.items(), metadata={KEY: json.dumps({"format": FORMAT}).encode()})


@dataclass
class Points:
    """Points in the order in which they came, those of a fingerprint by launch.

    Parameters
    ----------
    names : the first 8 B of their fingerprints.
    patterns, shared, own : texts in ASCII, as in the columns of a file.
    """

    names: list[bytes] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        """How many they are."""
        return len(self.names)

    def add(self, more: Points) -> None:
        """Take further points."""
        self.names += more.names
        self.patterns += more.patterns
        self.shared += more.shared
        self.own += more.own

    def groups(self, launches: Callable[[NDArray[np.uint64]], NDArray[np.int32]]) -> Iterator[pa.RecordBatch]:
        """Row groups of them.

        Parameters
        ----------
        launches : number of each point from their names as numbers, which are sorted.
        """
        import pyarrow as pa

        names = np.frombuffer(b"".join(self.names), ">u8").astype(np.uint64)
        order = np.argsort(names, kind="stable")
        names = names[order]
        own, numbers = _texts(self.own).take(pa.array(order)), launches(names)
        columns = [_indices(texts, order) for texts in (self.patterns, self.shared)]
        for start in range(0, len(names), POINTS):
            here = slice(start, start + POINTS)
            arrays = [
                _named(names[here]),
                pa.array(numbers[here], pa.int32()),
                *(_dictionary(texts, places[here]) for texts, places in columns),
                own[here],
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=layout())


def _texts(texts: Sequence[str]) -> pa.Array:
    """Texts in ASCII as an array of their bytes, copied as rarely as can be."""
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(texts), [None, pa.py_buffer(ends), pa.py_buffer("".join(texts).encode("ascii"))]
    )


def _named(names: NDArray[np.uint64]) -> pa.Array:
    """Fingerprints in sixteen hex digits each."""
    import pyarrow as pa

    digits = names.astype(">u8").tobytes().hex().encode()
    ends = np.arange(len(names) + 1, dtype=np.int32) * 16
    return pa.Array.from_buffers(pa.string(), len(names), [None, pa.py_buffer(ends), pa.py_buffer(digits)])


def _indices(texts: Sequence[str], order: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int32]]:
    """Different texts, and which of them each point has."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return list(places), np.fromiter(map(places.__getitem__, texts), np.int32, len(texts))[order]


def _dictionary(texts: Sequence[str], places: NDArray[np.int32]) -> pa.Array:
    """Some points' texts, each text once."""
    import pyarrow as pa

    some, indices = np.unique(places, return_inverse=True)
    found = _texts([texts[place] for place in some.tolist()])
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), found)


def loader(table: pa.Table, where: object) -> Callable[[int, str, int], Raw]:
    """What makes a point of a row, its fingerprint and its launch.

    Parameters
    ----------
    table : a row group.
    where : how an error calls the file.
    """
    patterns, shared = ((one.dictionary.to_pylist(), one.indices) for one in map(_combined, _of(table, DICTIONARIES)))
    (own,) = map(_combined, _of(table, ["own"]))
    pieces = [_GAP.split(pattern) for pattern in patterns[0]]

    def load(row: int, name: str, launch: int) -> Raw:
        parts, common = own[row].as_py().split(OWN.encode()), shared[0][shared[1][row].as_py()]
        form = pieces[patterns[1][row].as_py()]
        fill = {SHARED.encode(): common, NAME.encode(): name.encode(), LAUNCH.encode(): b"%d" % launch}
        gaps = form[1::2]
        if gaps.count(OWN.encode()) != len(parts) or len(gaps) - len(parts) > len(set(gaps) - {OWN.encode()}):
            raise DataError(
                f"{where}: the texts of point {name}, launch {launch} are not as many as the gaps of its pattern. "
                "Restore it from a copy, or delete it."
            )
        texts = iter(parts)
        found = b"".join(fill[piece] if piece in fill else next(texts) if piece == b"\0" else piece for piece in form)
        if len(found) > MOST:
            raise DataError(f"{where}: the metadata of point {name} are longer than {MOST:,} B. Delete the file.")
        return Raw(found, (), {"time_ns": _NONE})

    return load


def _of(table: pa.Table, names: Sequence[str]) -> list[pa.ChunkedArray]:
    return [table[name] for name in names]


def _combined(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()
