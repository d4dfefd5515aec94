"""Records and summaries as files: notes are Arrow lists of structs, and one text only where rows are printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from labkit import notes
from labkit.columns import COLUMNS, SUMMARY
from labkit.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

_LISTS = {c.name: c.dtype for c in (COLUMNS | SUMMARY).values() if c.dtype.startswith("list")}
NOTED = tuple(name for name, dtype in _LISTS.items() if dtype == "list of notes")
WORDS = (*(name for name in _LISTS if name not in NOTED), "stopped_by")  # a summary may have several reasons


def printed(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows with one text where there are several notes; for CSV and for people."""
    lists = {name: [_text(cell) for cell in frame[name]] for name in (*NOTED, *WORDS) if name in frame}
    return frame.assign(**lists)


def _text(cell: object) -> object:
    return notes.joined(cell) if isinstance(cell, tuple) else cell


def arrow(frame: pd.DataFrame) -> pa.Table:
    """Records or a summary as an Arrow table, whose notes are lists of code, text and values (a JSON object)."""
    import pyarrow as pa

    note = pa.struct([("code", pa.string()), ("text", pa.string()), ("values", pa.string())])
    kinds = {name: pa.list_(note) for name in NOTED} | {name: pa.list_(pa.string()) for name in WORDS}
    held = [name for name in kinds if name in frame and _several(frame, name)]
    table = pa.Table.from_pandas(frame.drop(columns=held), preserve_index=False)
    for place, name in enumerate(frame.columns):
        if name in held:
            cells = [notes.packed(cell) if name in NOTED else list(cell) for cell in frame[name]]
            table = table.add_column(place, pa.field(name, kinds[name]), pa.array(cells, kinds[name]))
    return table


def _several(frame: pd.DataFrame, name: str) -> bool:
    """Whether the cells of a column are lists: `stopped_by` of records is a text."""
    return name in _LISTS or (len(frame) > 0 and isinstance(frame[name].iloc[0], tuple))


def parquet(frame: pd.DataFrame) -> bytes:
    """Bytes of a Parquet file of records or a summary."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(arrow(frame), sink)
    return bytes(sink.getvalue())


def frame(table: pa.Table) -> pd.DataFrame:
    """Records or a summary from an Arrow table, also from one of earlier versions, whose cells hold joined texts.

    Raises
    ------
    ValueError
        If a cell holds neither.
    """
    found: pd.DataFrame = table.to_pandas()
    for name in (*NOTED, *WORDS):
        if name not in found or (name not in _LISTS and (found.empty or isinstance(found[name].iloc[0], str))):
            continue
        read = notes.unpacked if name in NOTED else _words
        found[name] = pd.Series([read(cell) for cell in found[name]], index=found.index, dtype="object")
    return found


def _words(cell: object) -> tuple[str, ...]:
    """Texts of a cell."""
    return tuple(notes.parts(cell)) if isinstance(cell, str) else tuple(map(str, cell))  # type: ignore[call-overload]


def read(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Records that were written as Parquet, by this or an earlier version.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return frame(pq.read_table(path, columns=None if columns is None else list(columns)))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read as records: {error}. Delete it: labkit makes them anew.") from error
