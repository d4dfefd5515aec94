"""Records of a campaign's benchmarks, kept beside the samples so that a large one need not be worked out each time.

`records/<benchmark>.parquet` is derived: it may be deleted, and is made anew when samples or labkit have changed.
labkit reads only what this user's labkit made: its signature lies beside it (`labkit.campaign.own`).
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

import pandas as pd

from labkit import __version__, writing
from labkit.campaign import Campaign, own
from labkit.errors import DataError
from labkit.records import tables

WORTH = 200  # rows from which on records are kept


def of(held: Campaign, benchmark: str = "*") -> pd.DataFrame:
    """Records of the benchmarks of a campaign that a pattern names, as `labkit.records.table` makes them of samples."""
    from labkit import records

    frames = [frame for name in held.benchmarks(benchmark) if len(frame := _one(held, name))]
    if len(frames) < 2:
        return frames[0] if frames else records.table([], campaign=held.name)
    rows = pd.concat([frame.astype(object) for frame in frames], ignore_index=True)
    return records.typed(rows.infer_objects(), [name for frame in frames for name in frame.columns])


def _one(held: Campaign, benchmark: str) -> pd.DataFrame:
    """Records of one benchmark."""
    from labkit import records

    path = held.derived / "records" / f"{benchmark}.parquet"
    stamp = _stamp(held.path / "samples" / benchmark)
    if (kept := _read(path, stamp)) is not None:
        return kept
    frame = records.table(held.samples(benchmark), campaign=held.name)
    if len(frame) >= WORTH:
        _keep(frame, path, stamp)
    return frame


def _stamp(folder: Path) -> bytes:
    """Names what records are made from: labkit, and the files with their sizes and times."""
    files: list[tuple[str, int, int]] = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        about = ((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
        files = sorted((name, one.st_size, one.st_mtime_ns) for name, one in about)
    made = (__version__, _rules(), folder.parent.parent.name, files)
    return hashlib.sha256(repr(made).encode()).hexdigest().encode()


@cache
def _rules() -> str:
    """What turns samples into records: its source, for a version of labkit does not change with every commit."""
    from labkit import benchmarks, columns, notes, records, stats
    from labkit.samples import facts

    parts = [
        *(Path(str(module.__file__)) for module in (columns, notes, facts)),
        *(p for m in (benchmarks, records, stats) for p in Path(str(m.__file__)).parent.rglob("*.py")),
    ]
    return hashlib.sha256(b"".join(part.read_bytes() for part in sorted(parts))).hexdigest()


def _read(path: Path, stamp: bytes) -> pd.DataFrame | None:
    """Records that were kept, if they are still right."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        if not own.signed(stamp + content, _signature(path).read_text() if content else ""):
            return None
        frame = tables.frame(pq.read_table(pa.BufferReader(content)))
    except (OSError, ValueError, pa.ArrowException):
        return None
    return frame


def _signature(path: Path) -> Path:
    """Where the signature of kept records lies."""
    return path.with_suffix(".signature")


def _keep(frame: pd.DataFrame, path: Path, stamp: bytes) -> None:
    """Keep records where that is possible without changing any; they are only a saving."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(OSError, DataError, pa.ArrowException):
        table = tables.arrow(frame)
        if not tables.frame(table).equals(frame):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing.aside(path) as fresh:
            pq.write_table(table, fresh)
            signature = own.sign(stamp + fresh.read_bytes())
            if signature:
                writing.move(fresh, path)
                writing.replace(_signature(path), signature)
