"""The samples file: spec, host and raw values of one point and launch. The only bridge between measuring and reading.

Format 1 (Parquet, zstd)
    Columns ``rank`` int32, ``iteration`` int32, ``time_ns`` int64 and extras of the same length; one row per
    iteration and rank. Values a tool reports stand in the metadata, with zero rows. File metadata
    under the key ``labkit``: one JSON object with ``format``, ``spec``, ``effort``, ``host``, ``launch``,
    ``origin``, ``meta``, ``reported``, ``source``.

History of the format
    1 : first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.spec import Effort, Reported, Spec

FORMAT = 1
ORIGINS = ("measured", "reported", "imported", "published", "simulated", "modelled")
_KEY = b"labkit"


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Everything one point and launch left behind.

    Parameters
    ----------
    spec, effort : what was asked for.
    host : `labkit.host.describe` at the start.
    launch : which fresh start, from 0.
    origin : one of `ORIGINS`.
    time_ns : (ranks, iterations) int64, ns; ranks that were not timed are absent.
    ranks : (ranks,) which rank each row of `time_ns` belongs to; thread t of rank r is r * threads + t.
    reported : values the tool gave instead of samples.
    meta : facts of the run: engine, library, verified, badges, warnings, stopped_by, timer_overhead_ns…
    source : text the tool printed, untouched.
    extras : further columns, each (ranks, iterations).
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

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time of every iteration, (ranks, iterations), s. The one place where ns become s.

        With ``timing=total`` a sample is the time of a whole chunk and `extras["iterations"]` says how many
        iterations it held; the value is then their mean.
        """
        held = self.extras.get("iterations", 1)
        seconds: NDArray[np.float64] = self.time_ns * 1e-9 / held
        return seconds

    @property
    def lanes(self) -> dict[str, NDArray[np.int64]]:
        """All times kept of every iteration by name, (ranks, iterations), ns."""
        return {"time_ns": self.time_ns} | {k: v for k, v in self.extras.items() if k.endswith("_ns")}

    @property
    def n(self) -> int:
        """Iterations, not counted once more for each rank."""
        return int(self.time_ns.shape[1])


def save(samples: Samples, path: Path) -> None:
    """Write a samples file: first aside, then renamed, so that no reader ever sees half of one."""
    import pyarrow as pa
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
    header = {
        "format": FORMAT,
        "spec": samples.spec.as_dict(),
        "effort": samples.effort.as_dict(),
        "host": dict(samples.host),
        "launch": samples.launch,
        "origin": samples.origin,
        "meta": dict(samples.meta),
        "reported": [value.as_dict() for value in samples.reported],
        "source": samples.source,
    }
    table, metadata = pa.table(columns), {_KEY: json.dumps(header, allow_nan=False).encode()}
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            # store_schema=False: else pyarrow keeps the metadata a second time, as part of its own schema
            with pq.ParquetWriter(
                file, table.schema, compression="zstd", use_dictionary=["rank"], store_schema=False
            ) as out:
                out.write_table(table)
                out.add_key_value_metadata(metadata)
            file.flush()
            os.fsync(file.fileno())
        aside.rename(path)
    finally:
        aside.unlink(missing_ok=True)


def _header(path: Path, metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Metadata of a samples file, checked."""
    raw = (metadata or {}).get(_KEY)
    if raw is None:
        raise DataError(
            f"{path} is a Parquet file, but not labkit's: it has no 'labkit' metadata. Take it out of samples/."
        )
    header: dict[str, Any] = json.loads(raw)
    if header.get("format") != FORMAT:
        raise DataError(
            f"{path} has format {header.get('format')}, but this labkit reads {FORMAT}. "
            "Update labkit, or measure again."
        )
    return header


def load(path: Path) -> Samples:
    """Read a samples file.

    Raises
    ------
    DataError
        If the file is unreadable, not labkit's, or of another format.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(
            f"{path} cannot be read as Parquet: {error}. Delete it, and its point is measured again."
        ) from error
    header = _header(path, table.schema.metadata)
    rank = table["rank"].to_numpy()
    ranks = tuple(int(r) for r in dict.fromkeys(rank.tolist()))
    shape = (len(ranks), len(rank) // len(ranks)) if ranks else (0, 0)
    extras = {
        name: table[name].to_numpy().reshape(shape)
        for name in table.column_names
        if name not in ("rank", "iteration", "time_ns")
    }
    return Samples(
        spec=Spec.from_dict(header["spec"]),
        effort=Effort(**header["effort"]),
        host=header["host"],
        launch=header["launch"],
        origin=header["origin"],
        time_ns=table["time_ns"].to_numpy().reshape(shape),
        ranks=ranks,
        reported=tuple(Reported(**value) for value in header["reported"]),
        meta=header["meta"],
        source=header["source"],
        extras=extras,
    )
