"""Records of a campaign's benchmarks with the metadata behind them, kept because a large one takes long to read.

`records/<benchmark>.parquet` is derived. It may be deleted, and labkit makes it again when samples or labkit have
changed. labkit reads only files that the labkit of this user made; their signature lies beside them
(`labkit.store.signatures`). Columns of lists and the metadata are in dictionaries: each text is there once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from labkit import __version__, benchmarks, stats
from labkit.errors import DataError
from labkit.io import atomic, beneath, safe_read
from labkit.point import columns, notes
from labkit.read import records
from labkit.read.records import MARK
from labkit.read.records.tables import NOTED, WORDS
from labkit.store import samples, signatures
from labkit.store.campaign import Campaign

WORTH = 6  # rows, the launches of one point: reading them takes half as long as computing them
_MOST_B = 1 << 30  # of kept records
_SIGNATURE_B = 4096
ALWAYS = ("benchmark", "message_size_B", "fingerprint", "launch", "options", "header", f"{MARK}kind", f"{MARK}place")
_HEADER = "header"  # column of the metadata; the places of records' marks stand in columns of their own names


def stamp(campaign: Campaign, benchmark: str) -> bytes:
    """Return a hash of what records are made from: labkit, and the files with their sizes and times."""
    folders = (campaign.path / "samples" / benchmark, campaign.path / "starts")
    files: list[tuple[str, int, int]] = []
    for folder in folders:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
            statuses = ((entry.name, entry.stat(follow_symlinks=False)) for entry in entries)
            files += sorted((name, status.st_size, status.st_mtime_ns) for name, status in statuses)
    sources = (__version__, _rules(), campaign.name, files)
    return hashlib.sha256(repr(sources).encode()).hexdigest().encode()


@cache
def _rules() -> str:
    """Return a hash of the source that turns samples into records; labkit's version does not change every commit."""
    parts = [
        *(Path(str(module.__file__)) for module in (columns, notes)),
        *(p for m in (benchmarks, records, samples, stats) for p in Path(str(m.__file__)).parent.rglob("*.py")),
        *Path(__file__).parent.glob("*.py"),
    ]
    return hashlib.sha256(b"".join(part.read_bytes() for part in sorted(parts))).hexdigest()


def path(campaign: Campaign, benchmark: str) -> Path:
    """Path of the kept records of a benchmark."""
    return campaign.derived / "records" / f"{benchmark}.parquet"


def every(column: str) -> bool:
    """Return that a column is needed."""
    return True


def read(
    place: Path, valid: bytes, columns: Callable[[str], bool] = every, *, coded: bool = False
) -> tuple[pd.DataFrame, Sequence[int], list[bytes]] | None:
    """Return the kept records, the kind of each row, and the metadata of the kinds, if they are valid.

    Parameters
    ----------
    columns : returns whether a column is read; those of `ALWAYS` are.
    coded : whether columns of texts are categories.
    """
    try:
        if place.is_symlink() or not place.is_file():
            return None
        content = safe_read.content(place, _MOST_B)
        if not signatures.signed(valid + content, safe_read.text(_signature(place), most=_SIGNATURE_B)):
            return None
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            names = [name for name in file.schema_arrow.names if columns(name) or name in ALWAYS]
            if not coded:
                return _unpacked(file.read(names, use_threads=False))
            texts = _texts(file.schema_arrow)
        with pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts) as file:
            return _unpacked(file.read(names, use_threads=False), texts)
    except (OSError, ValueError, DataError, pa.ArrowException):
        return None


def keep(frame: pd.DataFrame, kind: Sequence[int], headers: Sequence[bytes], place: Path, valid: bytes) -> None:
    """Keep records, if a file can hold them unchanged. A failure does no harm."""
    with suppress(OSError, DataError, pa.ArrowException):
        table = _packed(frame, kind, headers)
        if not _unpacked(table)[0].equals(frame):
            return
        with beneath.folder(place.parent.parent, place.parent.name, make=True) as folder:
            kept = folder / place.name
            with atomic.aside(kept) as temporary:
                dictionaries = [name for name in table.column_names if pa.types.is_dictionary(table[name].type)]
                pq.write_table(
                    table,
                    temporary,
                    compression="zstd",
                    use_dictionary=[*dictionaries, *_texts(table.schema)],
                    dictionary_pagesize_limit=1 << 30,
                    row_group_size=max(len(frame), 1),
                )
                signature = signatures.sign(valid + temporary.read_bytes())
                if signature:
                    atomic.move(temporary, kept)
                    atomic.replace(_signature(kept), signature)


def _texts(schema: pa.Schema) -> list[str]:
    """Columns of texts."""
    return [name for name in schema.names if pa.types.is_large_string(schema.field(name).type)]


def _packed(frame: pd.DataFrame, kind: Sequence[int], headers: Sequence[bytes]) -> pa.Table:
    """Return records as an Arrow table."""
    lists = [name for name in (*NOTED, *WORDS) if name in frame and frame[name].dtype == object]
    table = pa.Table.from_pandas(frame.drop(columns=lists), preserve_index=False)
    for name in lists:
        table = table.append_column(name, _dictionary(frame[name].tolist(), _as_text))
    indices, dictionary = pa.array(kind, pa.int32()), pa.array(headers, pa.binary())
    table = table.select(list(frame.columns))
    return table.append_column(_HEADER, pa.DictionaryArray.from_arrays(indices, dictionary))


def _as_text(cell: tuple[Any, ...]) -> str:
    """Return notes or texts as JSON."""
    return json.dumps([one.as_dict() if isinstance(one, notes.Note) else one for one in cell])


def _dictionary(cells: Sequence[Any], function: Callable[[Any], str]) -> pa.DictionaryArray:
    """Return the texts of cells, each once; cells that are the same object are converted once."""
    known: dict[int, str] = {}
    for cell in cells:
        if id(cell) not in known:
            known[id(cell)] = function(cell)
    return pa.array([known[id(cell)] for cell in cells]).dictionary_encode()


def _unpacked(table: pa.Table, coded: Collection[str] = ()) -> tuple[pd.DataFrame, Sequence[int], list[bytes]]:
    """Return records, kinds and metadata from such a table; columns of texts that are `coded` become categories."""
    headers = table[_HEADER].combine_chunks()
    lists = [name for name in (*NOTED, *WORDS) if name in table.column_names]
    lists = [name for name in lists if name not in coded and pa.types.is_dictionary(table[name].type)]
    frame: pd.DataFrame = table.drop_columns([*lists, _HEADER]).to_pandas(use_threads=False)
    for name in lists:
        column = table[name].combine_chunks()
        values = [tuple(map(_from_plain, json.loads(text))) for text in column.dictionary.to_pylist()]
        frame[name] = pd.Series([values[place] for place in column.indices.to_pylist()], dtype="object")
    frame = frame[[name for name in table.column_names if name != _HEADER]]
    return frame, headers.indices.to_numpy(), headers.dictionary.to_pylist()


def _from_plain(one: Any) -> Any:
    return notes.Note(one["code"], one["text"], tuple(one["values"].items())) if isinstance(one, dict) else one


def _signature(place: Path) -> Path:
    """Path of the signature of kept records."""
    return place.with_suffix(".signature")
