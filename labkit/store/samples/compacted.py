"""Compacted files: the finished points of one benchmark in one file, instead of a file for each point.

Format 1 (Parquet, zstd)
    One row for each point and launch, in the order of fingerprint and launch: ``fingerprint``, ``launch``, ``header``
    (metadata of its samples file, byte for byte), ``ranks`` list of int32, ``time_ns`` list of int64, rank after rank,
    ``extras`` map from name to such a list. Pages have checksums. File metadata under the key ``labkit-compacted``:
    ``{"format": 1}``.

Names are separate columns, so listing the points reads nothing else. A row group ends with the point that makes it
`GROUP` values long. Reading and writing keep one row group in memory, not the whole file.

Format 2
    Holds points without samples, see `labkit.store.samples.patterned`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.io import atomic, safe_read
from labkit.stats.lists import Lists
from labkit.store.samples import ROWS, Raw, numbers, patterned
from labkit.store.samples import header as headers
from labkit.store.samples.patterned import Points

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FORMAT = 1
PREFIX = "compacted-"
GROUP = 1 << 20  # values; 8 MiB of times
POINTS = 1024  # of a row group
FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_KEY = patterned.KEY

Name = tuple[str, int]  # fingerprint and launch


def layout() -> pa.Schema:
    """Columns of a file."""
    import pyarrow as pa  # 0.14 s

    values = pa.list_(pa.int64())
    fields = {
        "fingerprint": pa.string(),
        "launch": pa.int32(),
        "header": pa.binary(),
        "ranks": pa.list_(pa.int32()),
        "time_ns": values,
        "extras": pa.map_(pa.string(), values),
    }
    return pa.schema(fields.items(), metadata={_KEY: json.dumps({"format": FORMAT}).encode()})


def fits(raw: Raw) -> bool:
    """Return whether a file of format 1 holds a point without loss: regular rows, whole numbers of 64 bits."""
    return raw.regular and raw.over is None and all(values.dtype == np.int64 for values in raw.columns.values())


def _batch(points: list[tuple[Name, Raw]]) -> pa.Table:
    """Return points as rows of a file."""
    import pyarrow as pa  # 0.14 s

    def lists(parts: list[Any], kind: type) -> pa.ListArray:
        offsets = np.cumsum([0, *map(len, parts)]).astype(np.int32)
        return pa.ListArray.from_arrays(offsets, np.concatenate([np.empty(0, kind), *parts]).astype(kind))

    extras = [[(k, v) for k, v in raw.columns.items() if k != "time_ns"] for _, raw in points]
    flat = [pair for pairs in extras for pair in pairs]
    columns = [
        pa.array([name[0] for name, _ in points]),
        pa.array([name[1] for name, _ in points], pa.int32()),
        pa.array([raw.header for _, raw in points], pa.binary()),
        lists([raw.ranks for _, raw in points], np.int32),
        lists([raw.columns["time_ns"] for _, raw in points], np.int64),
        pa.MapArray.from_arrays(
            np.cumsum([0, *map(len, extras)]).astype(np.int32),
            pa.array([k for k, _ in flat], pa.string()),
            lists([v for _, v in flat], np.int64),
        ),
    ]
    return pa.Table.from_arrays(columns, schema=layout())


def _add(digest: Any, name: Name, raw: Raw) -> None:
    """Add a point to the digest that `write` uses to compare the written data with what it reads back."""
    digest.update(f"{name[0]}-{name[1]} {len(raw.header)} {raw.ranks} {list(raw.columns)}".encode())
    digest.update(raw.header)
    for values in raw.columns.values():
        digest.update(np.ascontiguousarray(values))


def write(points: Iterable[tuple[Name, Raw]], folder: Path) -> tuple[Path, int]:
    """Write points, sorted by fingerprint and launch, to a temporary file; read it back, compare, and rename it.

    Returns
    -------
    The file, named after its own checksum, and how many points there were.

    Raises
    ------
    DataError
        If what is read back is not what was written; the file is not there then.
    """
    import pyarrow.parquet as pq  # 0.14 s

    count, digest_given, digest_read = 0, hashlib.sha256(), hashlib.sha256()
    with atomic.aside(folder / f"{PREFIX}.parquet") as temporary:
        with (
            temporary.open("xb") as file,
            pq.ParquetWriter(
                file, layout(), compression="zstd", use_dictionary=["extras.key_value.key"], write_page_checksum=True
            ) as out,
        ):
            group: list[tuple[Name, Raw]] = []
            values = 0
            for name, raw in points:
                _add(digest_given, name, raw)
                group.append((name, raw))
                count, values = count + 1, values + sum(map(len, raw.columns.values()))
                if len(group) == POINTS or values > GROUP:
                    out.write_table(_batch(group))
                    group, values = [], 0
            if group:
                out.write_table(_batch(group))
        for name, raw in read(temporary, checked=True):
            _add(digest_read, name, raw)
        if digest_given.digest() != digest_read.digest():
            raise DataError(f"{temporary} does not hold what labkit wrote to it. Check the disk; nothing was deleted.")
        path = folder / f"{PREFIX}{digest(temporary)}.parquet"
        atomic.move(temporary, path, durable=True)
    return path, count


def write_patterned(points: Points, folder: Path, launches: Callable[[NDArray[np.uint64]], NDArray[np.int32]]) -> Path:
    """Write points without samples to a temporary file of format 2; read it back, compare, and rename it.

    Parameters
    ----------
    launches : as in `labkit.store.samples.patterned.Points.groups`.

    Returns
    -------
    The file, named after its own checksum.

    Raises
    ------
    DataError
        If what is read back is not what was written; the file is not there then.
    """
    import pyarrow as pa  # 0.14 s
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    names = ["fingerprint", "launch"]  # bounds of the other columns are of no use
    with pq.ParquetWriter(
        sink,
        patterned.layout(),
        compression="zstd",
        use_dictionary=[*names[:1], *patterned.DICTIONARIES],
        dictionary_pagesize_limit=1 << 30,
        write_statistics=names,
        write_page_checksum=True,
    ) as out:
        for group in points.groups(launches):
            out.write_batch(group, row_group_size=patterned.POINTS)
    content = sink.getvalue()
    with atomic.aside(folder / f"{PREFIX}.parquet") as temporary:
        temporary.write_bytes(content)
        name = digest(temporary)
        if not hashlib.sha256(content).hexdigest().startswith(name):
            raise DataError(f"{temporary} does not hold what labkit wrote to it. Check the disk.")
        path = folder / f"{PREFIX}{name}.parquet"
        atomic.move(temporary, path, durable=True)
    return path


def digest(path: Path) -> str:
    """Return the first sixteen hex digits of a file's SHA-256, after which a compacted file is named."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def opened(path: Path, checked: bool = False) -> pq.ParquetFile:
    """Open a compacted file and check its format."""
    import pyarrow as pa  # 0.14 s
    import pyarrow.parquet as pq

    if path.exists():
        safe_read.regular(path)
    try:
        file = pq.ParquetFile(path, page_checksum_verification=checked)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error
    try:
        _check(file, path)
    except DataError:
        file.close()
        raise
    return file


def _check(file: pq.ParquetFile, path: Path) -> None:
    """Refuse another format or schema, or row groups too large for memory, before any points are read."""
    schema = file.schema_arrow
    version = headers.parsed((schema.metadata or {}).get(_KEY, b"{}"), path).get("format")
    known = {FORMAT: (layout(), POINTS), patterned.FORMAT: (patterned.layout(), patterned.POINTS)}
    if not isinstance(version, int) or version not in known:
        raise DataError(
            f"{path} has format {str(version)[:20]}, but this version of labkit reads {FORMAT} and "
            f"{patterned.FORMAT} of compacted "
            "points. Update labkit."
        )
    wanted, points = known[version]
    if schema.names != wanted.names or any(not schema.field(n).type.equals(wanted.field(n).type) for n in wanted.names):
        raise DataError(f"{path} has other columns than compacted points. Restore it from a copy, or delete it.")
    for group in range(file.num_row_groups):
        metadata = file.metadata.row_group(group)
        if metadata.num_rows > points or any(metadata.column(i).num_values > ROWS for i in range(metadata.num_columns)):
            raise DataError(f"{path}: row group {group} is longer than labkit writes them. Restore it, or delete it.")


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(
        f"{path} cannot be read as Parquet: {error}. Restore it from a copy; or delete it, and its points are measured "
        "again."
    )


def names(path: Path) -> list[Name]:
    """Return fingerprint and launch of every point in a file, in its order."""
    import pyarrow as pa  # 0.14 s

    with opened(path) as file:
        try:
            table = file.read(["fingerprint", "launch"])
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(path, error) from error
    return _names(table, path)


def _names(table: pa.Table, path: Path) -> list[Name]:
    """Return fingerprint and launch of every row; check them, because they become names of files."""
    names = list(zip(table["fingerprint"].to_pylist(), table["launch"].to_pylist(), strict=True))
    for fingerprint, launch in names:
        if not isinstance(fingerprint, str) or not FINGERPRINT.fullmatch(fingerprint) or launch is None or launch < 0:
            raise DataError(
                f"{path} holds a point named {fingerprint!r}, launch {launch!r}, but names are sixteen hex digits and "
                "a number, 0 or more. Restore it from a copy, or delete it."
            )
    return names


@dataclass(frozen=True, eq=False)
class Group:
    """Launches of a row group, as its columns.

    Parameters
    ----------
    names : fingerprint and launch of each.
    header : (launches,), metadata as bytes.
    ranks, time_ns : a list for each launch.
    labels : names of further columns, those of a launch after those of the one before; the launch of place k has those
        from ``label_starts[k]`` on.
    extras : a list for each label.
    """

    names: Sequence[Name]
    header: pa.Array
    ranks: Lists
    time_ns: Lists
    labels: Sequence[str]
    label_starts: NDArray[np.int64]
    extras: Lists

    def raw(self, row: int) -> Raw:
        """Return one launch."""
        extras = {self.labels[i]: self.extras[i] for i in range(self.label_starts[row], self.label_starts[row + 1])}
        return Raw(self.header[row].as_py(), tuple(self.ranks[row].tolist()), {"time_ns": self.time_ns[row]} | extras)


def groups(
    path: Path, wanted: Collection[Name] | None = None, *, checked: bool = False, described: bool = True
) -> Iterator[Group]:
    """Yield the row groups of a file, or those that hold a `wanted` launch.

    Parameters
    ----------
    described : whether the metadata are read; without them, `Group.header` is empty texts.

    Raises
    ------
    DataError
        If the file is unreadable, or of another format.
    """
    import pyarrow as pa  # 0.14 s

    with opened(path, checked) as file:
        for group in range(file.num_row_groups):
            try:
                if wanted is not None:  # names are read fast, and spare most groups the reading of 8 MiB of times
                    keys = file.read_row_group(group, ["fingerprint", "launch"]).to_pydict()
                    if not any(key in wanted for key in zip(keys["fingerprint"], keys["launch"], strict=True)):
                        continue
                names = [name for name in file.schema_arrow.names if described or name != "header"]
                table = file.read_row_group(group, names)
                if any(table[name].null_count for name in table.column_names):
                    raise DataError(f"{path} has empty cells. Restore it from a copy, or delete it.")
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(path, error) from error
            yield _group(table, path)


def _group(table: pa.Table, path: Path) -> Group:
    """Return the launches of a row group."""
    import pyarrow as pa  # 0.14 s

    names = _names(table, path)
    if "pattern" in table.column_names:
        make = patterned.loader(table, path)
        return of_raws(names, [make(row, *name) for row, name in enumerate(names)])
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    extras = columns["extras"]

    def lists(array: pa.ListArray) -> Lists:
        return Lists(numbers(array.values), numbers(array.offsets).astype(np.int64))

    return Group(
        names,
        columns["header"] if "header" in columns else pa.array([b""] * len(names), pa.binary()),
        lists(columns["ranks"]),
        lists(columns["time_ns"]),
        extras.keys.to_pylist(),
        numbers(extras.offsets).astype(np.int64),
        lists(extras.items),
    )


def of_raws(names: Sequence[Name], raws: Sequence[Raw]) -> Group:
    """Return launches of several files as a group."""
    import pyarrow as pa  # 0.14 s

    def lists(parts: Sequence[Any], kind: type) -> Lists:
        starts = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return Lists(np.concatenate([np.empty(0, kind), *parts]).astype(kind), starts)

    extras = [[(k, v) for k, v in raw.columns.items() if k != "time_ns"] for raw in raws]
    flat = [pair for pairs in extras for pair in pairs]
    return Group(
        names,
        pa.array([raw.header for raw in raws], pa.binary()),
        lists([raw.ranks for raw in raws], np.int32),
        lists([raw.columns["time_ns"] for raw in raws], np.int64),
        [k for k, _ in flat],
        np.cumsum([0, *map(len, extras)], dtype=np.int64),
        lists([v for _, v in flat], np.int64),
    )


def read(path: Path, wanted: Collection[Name] | None = None, *, checked: bool = False) -> Iterator[tuple[Name, Raw]]:
    """Yield the points of a file, or those `wanted`, in its order. Reads only the row groups that hold them.

    Raises
    ------
    DataError
        If the file is unreadable, or of another format.
    """
    for name, load in each(path, wanted, checked=checked):
        yield name, load()


def each(
    path: Path, wanted: Collection[Name] | None = None, *, checked: bool = False
) -> Iterator[tuple[Name, Callable[[], Raw]]]:
    """Yield the name of every point, or of those `wanted`, with a function that makes it."""
    for group in groups(path, wanted, checked=checked):
        for row, name in enumerate(group.names):
            if wanted is None or name in wanted:
                yield name, partial(group.raw, row)
