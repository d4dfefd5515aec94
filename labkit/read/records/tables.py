"""Records and summaries as files. Notes are Arrow lists of structs; in printed rows they are one text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from labkit.errors import DataError
from labkit.io import safe_read
from labkit.point import notes
from labkit.point.columns import COLUMNS, SUMMARY
from labkit.read.records.launch_values import COLUMN as OF_LAUNCHES

_LISTS = {c.name: c.dtype for c in (COLUMNS | SUMMARY).values() if c.dtype.startswith("list")}
NOTED = tuple(name for name, dtype in _LISTS.items() if dtype == "list of notes")
MOST_ROWS, MOST_B = 10_000_000, 4 << 30  # of a table that is read
WORDS = (*(name for name in _LISTS if name not in NOTED), "stopped_by")  # a summary may have several reasons


def printed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with one text in place of several notes, for CSV and for people."""
    frame = frame.drop(columns=OF_LAUNCHES, errors="ignore")
    lists = {name: _texts(frame[name].tolist()) for name in (*NOTED, *WORDS) if name in frame}
    return frame.assign(**lists)


def _texts(cells: Sequence[object]) -> list[object]:
    """Return one text in place of each list; cells that are one object are joined once."""
    texts = {id(cell): notes.joined(cell) if isinstance(cell, tuple) else cell for cell in cells}
    return [texts[id(cell)] for cell in cells]


def arrow(frame: pd.DataFrame) -> pa.Table:
    """Convert records or a summary to an Arrow table; notes become lists of code, text and values (a JSON object)."""
    note = pa.struct([("code", pa.string()), ("text", pa.string()), ("values", pa.string())])
    types = {name: pa.list_(note) for name in NOTED} | {name: pa.list_(pa.string()) for name in WORDS}
    frame = frame.drop(columns=OF_LAUNCHES, errors="ignore")
    lists = [name for name in types if name in frame and _several(frame, name)]
    table = pa.Table.from_pandas(frame.drop(columns=lists), preserve_index=False)
    for place, name in enumerate(frame.columns):
        if name in lists:
            cells = [notes.packed(cell) if name in NOTED else list(cell) for cell in frame[name]]
            table = table.add_column(place, pa.field(name, types[name]), pa.array(cells, types[name]))
    return table


def _several(frame: pd.DataFrame, name: str) -> bool:
    """Return whether the cells of a column are lists; `stopped_by` of records holds texts."""
    return name in _LISTS or (len(frame) > 0 and isinstance(frame[name].iloc[0], tuple))


def parquet(frame: pd.DataFrame, about: Mapping[str, str] | None = None) -> bytes:
    """Return records or a summary as the bytes of a Parquet file.

    Parameters
    ----------
    about : facts for the metadata of the file.
    """
    table, sink = arrow(frame), pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **(about or {})}), sink)
    return bytes(sink.getvalue())


def frame(table: pa.Table) -> pd.DataFrame:
    """Convert an Arrow table to records or a summary.

    Raises
    ------
    ValueError
        If a cell holds neither notes nor texts.
    """
    rows: pd.DataFrame = table.to_pandas()
    for name in (*NOTED, *WORDS):
        if name not in rows or (name not in _LISTS and (rows.empty or isinstance(rows[name].iloc[0], str))):
            continue
        parse = notes.unpacked if name in NOTED else _words
        rows[name] = pd.Series([parse(cell) for cell in rows[name]], index=rows.index, dtype="object")
    return rows


def _words(cell: object) -> tuple[str, ...]:
    """Return the texts of a cell.

    Raises
    ------
    ValueError
        If it holds something else.
    """
    if isinstance(cell, str) or not isinstance(cell, Iterable):
        raise ValueError(f"no list of texts: {str(cell)[:80]!r}")
    return tuple(map(str, cell))


def read(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read records that labkit wrote as Parquet.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    try:
        with safe_read.regular(path).open("rb") as source, pq.ParquetFile(source) as file:
            size = sum(file.metadata.row_group(k).total_byte_size for k in range(file.metadata.num_row_groups))
            if file.metadata.num_rows > MOST_ROWS or size > MOST_B:
                raise ValueError(f"it has {file.metadata.num_rows:,} rows of {size:,} B, which labkit never writes")
            return frame(file.read(None if columns is None else list(columns)))
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read as records: {error}. Delete it: labkit makes them anew.") from error
