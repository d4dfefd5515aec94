"""Write tables as CSV, which people open in spreadsheets. No other module writes CSV.

Names of campaigns, hosts and options may come from anybody. A spreadsheet takes a text that begins with ``=``, ``+``,
``-`` or ``@`` for a formula and executes it. Such texts therefore get an apostrophe in front, as OWASP advises.
Numbers do not change.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# a tab or a line end may stand in front of a formula; some spreadsheets take the wide forms of East Asia as well
_FORMULA = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def harmless(cell: Any) -> Any:
    """Change a cell so that no spreadsheet takes it for a formula; return anything but text as it is.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-1.5"), harmless("-"), harmless(-1.5)
    ("'=1+1", '-1.5', '-', -1.5)
    """
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\r\n", "\n").replace("\r", "\n")  # csv quotes no lone \r, which would begin a row
    return f"'{text}" if len(text) > 1 and text.startswith(_FORMULA) and not _is_number(text) else text


def _harmless(cells: pd.Series) -> pd.Series:
    """Return the cells of a column as `harmless` changes them; each text is looked at once."""
    changed = {text: harmless(text) for text in cells.unique() if isinstance(text, str)}
    return cells.map(lambda cell: changed[cell] if isinstance(cell, str) else cell)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def of_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """CSV with a column for each key of any row, in the order of their first occurrence; empty without rows."""
    all_rows = list(rows)
    columns = list(dict.fromkeys(key for row in all_rows for key in row))
    text = io.StringIO()
    if all_rows:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(harmless, columns))
        writer.writerows([harmless(row.get(key, "")) for key in columns] for row in all_rows)
    return text.getvalue()


def of_frame(frame: pd.DataFrame) -> str:
    """CSV of a data frame without its index."""
    texts = frame.select_dtypes(exclude=["number", "bool"])
    safe = frame.assign(**{name: _harmless(texts[name]) for name in texts}).rename(columns=harmless)
    return str(safe.to_csv(index=False, lineterminator="\n"))
