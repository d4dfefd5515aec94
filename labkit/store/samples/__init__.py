"""The samples file: spec, host and raw values of one point and launch. The only bridge between measuring and reading.

Format 1 (Parquet, zstd) Columns ``rank`` int32, ``iteration`` int32, ``time_ns`` int64 and extras of the same length;
    one row per iteration and rank. Values a tool reports stand in the metadata, with zero rows. File metadata under the
    key ``labkit``: one JSON object with ``format``, ``spec``, ``effort``, ``host``, ``launch``, ``origin``, ``meta``,
    ``reported``, ``source``. Under ``labkit-sha256`` its checksum; pages of values have Parquet's own. Facts that all
    points of a start share need not be in it: ``start_record`` then names a file with them
    (`labkit.store.samples.start`), and `decode` joins the two.

Format 2
    As format 1, with a further column ``kind``: statistics over all ranks beside the samples of some
    (`labkit.store.samples.many_ranks`). Only points that keep no sample of most ranks are written so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.io import atomic, safe_read
from labkit.point.notes import Note
from labkit.point.spec import Effort, Reported, Spec
from labkit.stats.across_ranks import OverRanks
from labkit.store.samples import facts, many_ranks, start
from labkit.store.samples import header as headers
from labkit.store.samples.header import ORIGINS as ORIGINS
from labkit.store.samples.start import Start, Starts

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FORMAT, OF_MANY_RANKS = 1, 2
_KEY, _SUM = b"labkit", b"labkit-sha256"
FIXED = ("rank", "iteration", "time_ns")  # columns that every file has
ROWS, COLUMNS = 1 << 27, 256  # of one file: what memory surely holds


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Everything measured for one point and launch.

    Parameters
    ----------
    spec, effort : what was measured, and for how long.
    host : `labkit.host.describe` at the start.
    launch : which fresh start, from 0.
    origin : one of `ORIGINS`.
    time_ns : (ranks, iterations) int64, ns; ranks that were not timed are absent.
    ranks : (ranks,) which rank each row of `time_ns` belongs to; thread t of rank r is r * threads + t.
    reported : values the tool gave instead of samples.
    meta : facts of the run: engine, library, verified, badges, warnings, stopped_by, timer_overhead_ns…
    source : text the tool printed, untouched.
    extras : further columns, each (ranks, iterations).
    over : statistics over all ranks, where `ranks` are only a part of those that were timed; None if they are all.
    start : record of the start that measured it, which has a part of `host` and `meta`; None for a point without one.
    """

    spec: Spec
    effort: Effort
    host: Mapping[str, Any]
    launch: int
    origin: str = "measured"
    time_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 0), np.int64))
    ranks: tuple[int, ...] = ()
    reported: tuple[Reported, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    over: OverRanks | None = None
    start: Start | None = None

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time of every iteration, (ranks, iterations), s. The one place where ns become s.

        With ``timing=total`` a sample is the time of a whole chunk and `extras["iterations"]` says how many
        iterations it held; the value is then their mean.
        """
        iterations = self.extras.get("iterations", 1)
        seconds: NDArray[np.float64] = self.time_ns * 1e-9 / iterations
        return seconds

    @property
    def phases(self) -> dict[str, NDArray[np.int64]]:
        """All times of every iteration by name, (ranks, iterations), ns."""
        return {"time_ns": self.time_ns} | {k: v for k, v in self.extras.items() if k.endswith("_ns")}

    @property
    def badges(self) -> tuple[Note, ...]:
        """Badges: conditions that could mislead a reader of the numbers."""
        return facts.badges(self.meta)

    @property
    def warnings(self) -> tuple[Note, ...]:
        """Warnings during the measurement, and one where the record of its start cannot be read."""
        return facts.warnings(self.meta) + (self.start.notes if self.start else ())

    @property
    def n(self) -> int:
        """Number of iterations of one rank."""
        return int(self.time_ns.shape[1])


def save(samples: Samples, path: Path) -> None:
    """Write a samples file, whole and durable (`labkit.io.atomic`); the campaign writes the record of its start."""
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.replace(path, encoded(samples), durable=True)


def encoded(samples: Samples) -> bytes:
    """Return the content of the samples file of a point.

    Raises
    ------
    DataError
        If its origin is unknown.
    """
    import pyarrow as pa  # 0.14 s
    import pyarrow.parquet as pq

    if samples.origin not in ORIGINS:
        raise DataError(f"origin={samples.origin!r}, but it must be one of {', '.join(ORIGINS)}.")
    rows, iterations = samples.time_ns.shape
    columns = {
        "rank": np.repeat(np.asarray(samples.ranks, np.int32), iterations),
        "iteration": np.tile(np.arange(iterations, dtype=np.int32), rows),
        "time_ns": np.ascontiguousarray(samples.time_ns, np.int64).ravel(),
    }
    columns |= {name: np.ascontiguousarray(values).ravel() for name, values in samples.extras.items()}
    if samples.over:
        columns["kind"] = np.zeros(rows * iterations, np.int8)
        further = many_ranks.columns(samples.over, samples.extras)
        columns = {name: np.concatenate([values, further[name]]) for name, values in columns.items()}
    table = pa.table(columns)
    text = json.dumps(metadata(samples), allow_nan=False, separators=(",", ":")).encode()
    keys = {_KEY: text, _SUM: hashlib.sha256(text).hexdigest().encode()}
    sink = pa.BufferOutputStream()
    # store_schema=False: else pyarrow keeps the metadata a second time, as part of its own schema
    with pq.ParquetWriter(
        sink, table.schema, compression="zstd", use_dictionary=["rank"], store_schema=False, write_page_checksum=True
    ) as out:
        out.write_table(table)
        out.add_key_value_metadata(keys)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def metadata(samples: Samples) -> dict[str, Any]:
    """Return the metadata that the samples file of a point holds."""
    whole = {
        "format": OF_MANY_RANKS if samples.over else FORMAT,
        "spec": samples.spec.as_dict(),
        "effort": samples.effort.as_dict(),
        "host": dict(samples.host),
        "launch": samples.launch,
        "origin": samples.origin,
        "meta": dict(samples.meta),
        "reported": [value.as_dict() for value in samples.reported],
        "source": samples.source,
    }
    return samples.start.apart(whole) if samples.start else whole


def content(samples: Samples, without: Collection[str] = ()) -> str:
    """Return the SHA-256 of a point's content, which depends neither on its file nor on the number of its launch.

    Parameters
    ----------
    without : keys of `meta` that do not count.
    """
    header = metadata(samples) | {"launch": 0, "meta": {k: v for k, v in samples.meta.items() if k not in without}}
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, allow_nan=False).encode())
    digest.update(repr((samples.ranks, samples.time_ns.shape if samples.n else ())).encode())
    for name, values in sorted({**samples.phases, **samples.extras}.items()):
        digest.update(f"{name} {values.dtype}".encode())
        digest.update(np.ascontiguousarray(values).data)
    if samples.over:
        for name, values in many_ranks.columns(samples.over, samples.extras).items():
            digest.update(f"over {name} {values.dtype}".encode())
            digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Raw:
    """Content of a samples file, not yet decoded.

    Parameters
    ----------
    header : the metadata, byte for byte.
    ranks : (ranks,).
    columns : ``time_ns`` and extras, each (ranks * iterations,), rank after rank.
    regular : whether columns rank and iteration count ranks and iterations in order, as in every file of labkit.
    over : columns of the rows that are not samples, in a file of format 2.
    """

    header: bytes
    ranks: tuple[int, ...]
    columns: Mapping[str, NDArray[Any]]
    regular: bool = True
    over: Mapping[str, NDArray[Any]] | None = None


def read(path: Path, *, checked: bool = False) -> Raw:
    """Read a samples file without decoding its metadata; `checked` also compares the checksums of its pages.

    Raises
    ------
    DataError
        If the file is unreadable, not labkit's, or its metadata is not what was written.
    """
    import pyarrow as pa  # 0.14 s
    import pyarrow.parquet as pq

    if path.exists():
        safe_read.regular(path)  # pyarrow would wait for a pipe for ever
    try:
        with pq.ParquetFile(path, page_checksum_verification=checked) as file:
            _plain(file, path)
            table = file.read()
    except (OSError, pa.ArrowException) as error:
        raise DataError(
            f"{path} cannot be read as Parquet: {error}. Delete it; labkit then measures its point again."
        ) from error
    metadata = table.schema.metadata or {}
    if _KEY not in metadata:
        raise DataError(
            f"{path} is a Parquet file, but not from labkit: it has no 'labkit' metadata. Move it out of samples/."
        )
    if hashlib.sha256(metadata[_KEY]).hexdigest().encode() != metadata.get(_SUM):
        _readable(headers.parsed(metadata[_KEY], path), path)  # a later format may have another checksum
        raise DataError(
            f"{path}: its metadata were changed. Restore it, or delete it; labkit then measures its point again."
        )
    if not set(FIXED) <= set(table.column_names):
        return Raw(metadata[_KEY], (), {}, regular=False)
    if any(table[name].null_count for name in table.column_names):
        raise DataError(f"{path} has empty cells, which labkit never writes. Restore it from a copy, or delete it.")
    cells = {name: numbers(table[name].combine_chunks()) for name in table.column_names}
    over = None
    if "kind" in cells:
        plain = cells["kind"] == many_ranks.SAMPLE
        over = {name: values[~plain] for name, values in cells.items()}
        cells = {name: values[plain] for name, values in cells.items() if name != "kind"}
    rank, iteration = cells["rank"], cells["iteration"]
    starts = np.flatnonzero(np.diff(rank, prepend=rank[:1] - 1))  # of runs: a rank has millions of rows
    ranks = tuple(dict.fromkeys(rank[starts].tolist()))
    iterations = len(rank) // len(ranks) if ranks else 0
    regular = bool(
        iterations * len(ranks) == len(rank)
        and (rank == np.repeat(np.asarray(ranks, rank.dtype), iterations)).all()
        and (iteration == np.tile(np.arange(iterations, dtype=iteration.dtype), len(ranks))).all()
    )
    columns = {name: values for name, values in cells.items() if name not in FIXED[:2]}
    return Raw(metadata[_KEY], ranks, columns, regular, over)


def _plain(file: pq.ParquetFile, path: Path) -> None:
    """Refuse what labkit never writes, before reading it: columns of other types, more rows than memory holds."""
    import pyarrow as pa  # 0.14 s

    schema, metadata = file.schema_arrow, file.metadata
    if _KEY not in (schema.metadata or {}):
        return  # not labkit's: `read` says so
    if metadata.num_columns > COLUMNS or metadata.num_rows > ROWS:
        raise DataError(
            f"{path} has {metadata.num_columns} columns and {metadata.num_rows:,} rows, but labkit writes at most "
            f"{COLUMNS} and {ROWS:,}. Move it out of samples/."
        )
    kinds = {"rank": pa.int32(), "iteration": pa.int32(), "time_ns": pa.int64(), "kind": pa.int8()}
    for column in schema:
        extra = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        if not (column.type == kinds[column.name] if column.name in kinds else extra):
            _readable(headers.parsed(schema.metadata[_KEY], path), path)  # a later format has a right to other columns
            wanted = kinds.get(column.name, "a number")
            raise DataError(f"{path}: column {column.name!r} is of type {column.type}, not {wanted}. Delete the file.")


def numbers(array: pa.Array) -> NDArray[Any]:
    """Return the values of an Arrow array without a copy; pyarrow's own `to_numpy` would load pandas."""
    kinds = {"int32": np.int32, "int64": np.int64, "double": np.float64}
    if array.null_count or str(array.type) not in kinds:
        return np.asarray(array.to_numpy(zero_copy_only=False))
    kind = np.dtype(kinds[str(array.type)])
    buffer = array.buffers()[1]
    return np.frombuffer(buffer, kind, len(array), array.offset * kind.itemsize) if buffer else np.empty(0, kind)


def decode(raw: Raw, where: object, starts: Starts | None = None) -> Samples:
    """Decode the content of a samples file.

    Parameters
    ----------
    where : name of the file in errors.
    starts : records of starts of its campaign; without them, the facts of the start count as missing.

    Raises
    ------
    DataError
        If the file is of another format, or not as labkit writes it.
    """
    about, version = _described(raw.header, where, starts)
    if "time_ns" not in raw.columns:
        raise DataError(f"{where} lacks one of the columns {', '.join(FIXED)}. Restore it, or delete it.")
    iterations = len(raw.columns["time_ns"]) // len(raw.ranks) if raw.ranks else 0
    unequal = [name for name, values in raw.columns.items() if len(values) != iterations * len(raw.ranks)]
    if unequal or not raw.regular or raw.columns["time_ns"].dtype != np.int64:
        problem = "its rows are not whole numbers, rank after rank"
        if unequal:
            problem = f"column {unequal[0]} has another length"
        raise DataError(f"{where}: {problem}, as labkit writes them. Restore it from a copy, or delete it.")
    columns = {name: values.reshape(len(raw.ranks), iterations) for name, values in raw.columns.items()}
    over = None
    if (raw.over is not None) != (version == OF_MANY_RANKS):
        raise DataError(f"{where}: its format and its column 'kind' disagree. Restore it from a copy, or delete it.")
    if raw.over is not None:
        try:
            over = many_ranks.decode(raw.over, iterations)
        except ValueError as error:
            raise DataError(
                f"{where}: {error}, as labkit writes them. Restore it from a copy, or delete it."
            ) from error
    return replace(about, time_ns=columns.pop("time_ns"), ranks=raw.ranks, extras=columns, over=over)


def described(header: bytes, where: object, starts: Starts | None = None) -> Samples:
    """Decode metadata: samples without values.

    Raises
    ------
    DataError
        If they are of another format, or not as labkit writes them.
    """
    return _described(header, where, starts)[0]


def _described(text: bytes, where: object, starts: Starts | None) -> tuple[Samples, int]:
    """Decode metadata; return also their format."""
    header = headers.parsed(text, where)
    _readable(header, where)
    if record := start.start_of(header, where, starts):
        header = record.joined(header)
    return Samples(start=record, **headers.checked(header, where)), header["format"]


def _readable(header: Mapping[str, Any], where: object) -> None:
    """Refuse metadata of another format."""
    if (version := header.get("format")) not in (FORMAT, OF_MANY_RANKS):
        raise DataError(
            f"{where} has format {str(version)[:20]}, but this version of labkit reads {FORMAT} and "
            f"{OF_MANY_RANKS}. Update labkit, or "
            "measure again."
        )


def load(path: Path) -> Samples:
    """Read a samples file of a campaign.

    Raises
    ------
    DataError
        If the file is unreadable, not labkit's, or of another format.
    """
    return decode(read(path), path, start.beside(path))
