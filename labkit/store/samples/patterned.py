"""Points without samples and with nearly equal metadata: a pattern with gaps, and the texts that fill them.

Format 2 of a compacted file (Parquet, zstd)
    One row for each point and launch, in the order of fingerprint and launch: ``fingerprint``, ``launch``, ``pattern``
    (metadata of a samples file with gaps), ``shared`` (a text that several points have), ``own`` (texts of this point,
    parted by `OWN`). A byte of `GAPS` in a pattern is a gap: `OWN` is the next text of ``own``, `SHARED` is ``shared``,
    `NAME` and `LAUNCH` are the point's own. JSON has no such bytes. Patterns and shared texts stand in dictionaries,
    once in a row group. Pages have checksums. File metadata under the key ``labkit-compacted``: ``{"format": 2}``.

Format 1 is for points with samples: `labkit.store.samples.compacted`.
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
from labkit.store.samples import Raw
from labkit.store.samples.header import MOST

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
    import pyarrow as pa  # 0.14 s

    text = pa.dictionary(pa.int32(), pa.binary())
    fields = {"fingerprint": pa.string(), "launch": pa.int32(), "pattern": text, "shared": text, "own": pa.binary()}
    return pa.schema(fields.items(), metadata={KEY: json.dumps({"format": FORMAT}).encode()})


@dataclass
class Points:
    """Points in the order of arrival; those of one fingerprint in the order of their launches.

    Parameters
    ----------
    names : the first 8 B of their fingerprints.
    patterns, shared_texts, own_texts : texts in ASCII, as in the columns ``pattern``, ``shared`` and ``own`` of a file.
    """

    names: list[bytes] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    shared_texts: list[str] = field(default_factory=list)
    own_texts: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        """Number of points."""
        return len(self.names)

    def add(self, more: Points) -> None:
        """Append further points."""
        self.names += more.names
        self.patterns += more.patterns
        self.shared_texts += more.shared_texts
        self.own_texts += more.own_texts

    def groups(self, launches: Callable[[NDArray[np.uint64]], NDArray[np.int32]]) -> Iterator[pa.RecordBatch]:
        """Yield the points as row groups, sorted by fingerprint.

        Parameters
        ----------
        launches : returns the launch of each point, given their fingerprints as sorted numbers.
        """
        import pyarrow as pa  # 0.14 s

        names = np.frombuffer(b"".join(self.names), ">u8").astype(np.uint64)
        order = np.argsort(names, kind="stable")
        names = names[order]
        own_texts, numbers = _texts(self.own_texts).take(pa.array(order)), launches(names)
        columns = [_indices(texts, order) for texts in (self.patterns, self.shared_texts)]
        for start in range(0, len(names), POINTS):
            here = slice(start, start + POINTS)
            arrays = [
                _named(names[here]),
                pa.array(numbers[here], pa.int32()),
                *(_dictionary(texts, places[here]) for texts, places in columns),
                own_texts[here],
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=layout())


def _texts(texts: Sequence[str]) -> pa.Array:
    """Return ASCII texts as an Arrow array of bytes, with as few copies as possible."""
    import pyarrow as pa  # 0.14 s

    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(texts), [None, pa.py_buffer(ends), pa.py_buffer("".join(texts).encode("ascii"))]
    )


def _named(names: NDArray[np.uint64]) -> pa.Array:
    """Return fingerprints as texts of sixteen hex digits."""
    import pyarrow as pa  # 0.14 s

    digits = names.astype(">u8").tobytes().hex().encode()
    ends = np.arange(len(names) + 1, dtype=np.int32) * 16
    return pa.Array.from_buffers(pa.string(), len(names), [None, pa.py_buffer(ends), pa.py_buffer(digits)])


def _indices(texts: Sequence[str], order: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int32]]:
    """Return the distinct texts, and the index of each point's text among them."""
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return list(places), np.fromiter(map(places.__getitem__, texts), np.int32, len(texts))[order]


def _dictionary(texts: Sequence[str], places: NDArray[np.int32]) -> pa.Array:
    """Return the texts of some points as an Arrow dictionary, each text once."""
    import pyarrow as pa  # 0.14 s

    used, indices = np.unique(places, return_inverse=True)
    dictionary = _texts([texts[place] for place in used.tolist()])
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), dictionary)


def loader(table: pa.Table, where: object) -> Callable[[int, str, int], Raw]:
    """Return the function that makes a point from its row, fingerprint and launch.

    Parameters
    ----------
    table : a row group.
    where : name of the file in errors.
    """
    patterns, shared, own_texts = (table[name].combine_chunks() for name in (*DICTIONARIES, "own"))
    pieces: list[list[bytes]] = [_GAP.split(pattern) for pattern in patterns.dictionary.to_pylist()]
    shared_texts = shared.dictionary.to_pylist()
    pattern_of, shared_of = patterns.indices, shared.indices  # a new object at every access

    def load(row: int, name: str, launch: int) -> Raw:
        texts: list[bytes] = own_texts[row].as_py().split(OWN.encode())
        pattern = pieces[pattern_of[row].as_py()]
        shared_text: bytes = shared_texts[shared_of[row].as_py()]
        fill = {SHARED.encode(): shared_text, NAME.encode(): name.encode(), LAUNCH.encode(): b"%d" % launch}
        gaps = pattern[1::2]
        if gaps.count(OWN.encode()) != len(texts) or len(gaps) - len(texts) > len(set(gaps) - {OWN.encode()}):
            raise DataError(
                f"{where}: the texts of point {name}, launch {launch} are not as many as the gaps of its pattern. "
                "Restore it from a copy, or delete it."
            )
        remaining = iter(texts)
        header = b"".join(
            fill[piece] if piece in fill else next(remaining) if piece == OWN.encode() else piece for piece in pattern
        )
        if len(header) > MOST:
            raise DataError(f"{where}: the metadata of point {name} are longer than {MOST:,} B. Delete the file.")
        return Raw(header, (), {"time_ns": _NONE})

    return load
