"""Records of a campaign's benchmarks, cached beside the samples because a large one takes long to compute.

`records/<benchmark>.parquet` is derived. It may be deleted, and labkit makes it anew when samples or labkit have
changed. labkit reads only files that the labkit of this user made; their signature lies beside them
(`labkit.campaign.signatures`).
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

import pandas as pd

from labkit import __version__, beneath, outside, writing
from labkit.campaign import Campaign, signatures
from labkit.errors import DataError
from labkit.records import tables
from labkit.samples.start import MISSING

WORTH = 200  # rows; fewer are computed each time
_MOST_B = 1 << 30  # of cached records
_SIGNATURE_B = 4096


def of(campaign: Campaign, benchmark: str = "*") -> pd.DataFrame:
    """Return the records of the benchmarks that match a pattern, as `labkit.records.table` makes them from samples."""
    from labkit import records

    frames = [frame for name in campaign.benchmarks(benchmark) if len(frame := _benchmark(campaign, name))]
    if len(frames) < 2:
        return frames[0] if frames else records.table([], campaign=campaign.name)
    rows = pd.concat([frame.astype(object) for frame in frames], ignore_index=True)
    return records.typed(rows.infer_objects(), [name for frame in frames for name in frame.columns])


def _benchmark(campaign: Campaign, benchmark: str) -> pd.DataFrame:
    """Return the records of one benchmark, from the cache or from its samples."""
    from labkit import records

    path = campaign.derived / "records" / f"{benchmark}.parquet"
    stamp = _stamp(campaign.path / "samples" / benchmark)
    if (frame := _read(path, stamp)) is not None:
        return frame
    frame = records.table(campaign.samples(benchmark), campaign=campaign.name)
    lacking = any(one.code == MISSING for notes in frame["warnings"] for one in notes)  # may be there the next time
    if len(frame) >= WORTH and not lacking:
        _keep(frame, path, stamp)
    return frame


def _stamp(folder: Path) -> bytes:
    """Return a hash of what records are made from: labkit, and the files with their sizes and times."""
    files: list[tuple[str, int, int]] = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        statuses = ((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
        files = sorted((name, status.st_size, status.st_mtime_ns) for name, status in statuses)
    sources = (__version__, _rules(), folder.parent.parent.name, files)
    return hashlib.sha256(repr(sources).encode()).hexdigest().encode()


@cache
def _rules() -> str:
    """Return a hash of the source that turns samples into records; labkit's version does not change every commit."""
    from labkit import benchmarks, columns, notes, records, stats
    from labkit.samples import facts

    parts = [
        *(Path(str(module.__file__)) for module in (columns, notes, facts)),
        *(p for m in (benchmarks, records, stats) for p in Path(str(m.__file__)).parent.rglob("*.py")),
    ]
    return hashlib.sha256(b"".join(part.read_bytes() for part in sorted(parts))).hexdigest()


def _read(path: Path, stamp: bytes) -> pd.DataFrame | None:
    """Return the cached records if they are still valid."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.is_symlink() or not path.is_file():
            return None
        content = outside.content(path, _MOST_B)
        if not signatures.signed(stamp + content, outside.text(_signature(path), most=_SIGNATURE_B)):
            return None
        frame = tables.frame(pq.read_table(pa.BufferReader(content)))
    except (OSError, ValueError, DataError, pa.ArrowException):
        return None
    return frame


def _signature(path: Path) -> Path:
    """Path of the signature of cached records."""
    return path.with_suffix(".signature")


def _keep(frame: pd.DataFrame, path: Path, stamp: bytes) -> None:
    """Cache records, if a file can hold them unchanged. A failure does no harm."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(OSError, DataError, pa.ArrowException):
        table = tables.arrow(frame)
        if not tables.frame(table).equals(frame):
            return
        with beneath.folder(path.parent.parent, path.parent.name, make=True) as place:
            kept = place / path.name
            with writing.aside(kept) as temporary:
                pq.write_table(table, temporary)
                signature = signatures.sign(stamp + temporary.read_bytes())
                if signature:
                    writing.move(temporary, kept)
                    writing.replace(_signature(kept), signature)
