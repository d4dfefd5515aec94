"""Messages of an import. Each is printed once, with its first line and how often it applies."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from labkit.formats._table import Table

MOST = 40  # different messages of a kind


@dataclass
class _Occurrence:
    """Lines that a message applies to: the first, the last, their number after the first, and rows of tables."""

    first: int
    last: int
    rows: int = 0
    further: int = 0


@dataclass
class Messages:
    """Messages about one file.

    Parameters
    ----------
    path : of the file.
    """

    path: Path
    _rows: dict[str, _Occurrence] = field(default_factory=dict)
    _tables: dict[str, _Occurrence] = field(default_factory=dict)
    _others: int = 0

    def add(self, text: str, line: int) -> None:
        """Add a message about a line; its text has no full stop."""
        self._count(self._rows, text, line)

    def table(self, text: str, table: Table) -> None:
        """Add a message about a table that is left out."""
        if occurrence := self._count(self._tables, text, table.first):
            occurrence.rows += len(table.rows)

    def _count(self, occurrences: dict[str, _Occurrence], text: str, line: int) -> _Occurrence | None:
        occurrence = occurrences.get(text)
        if occurrence is None:
            if len(occurrences) >= MOST:
                self._others += 1
                return None
            occurrences[text] = occurrence = _Occurrence(line, line)
        elif line != occurrence.last:
            occurrence.further, occurrence.last = occurrence.further + 1, line
        return occurrence

    def warnings(self, skipped: str) -> list[str]:
        """Return all messages as sentences.

        Parameters
        ----------
        skipped : the sentence of `labkit.formats._lines.Skipped` on lines that belong to no table.
        """
        warnings = []
        for text, occurrence in self._tables.items():
            count = f"its {occurrence.rows} rows are"
            if occurrence.further:
                count = f"the {occurrence.rows} rows of its {occurrence.further + 1} tables are"
            warnings.append(f"{self.path}, line {occurrence.first}: {text}, {count} left out.")
        for text, occurrence in self._rows.items():
            again = ""
            if occurrence.further:
                places = "place" if occurrence.further == 1 else "places"
                again = f" The same applies to {occurrence.further} further {places} on."
            end = "" if text.endswith(".") else "."
            warnings.append(f"{self.path}, line {occurrence.first}: {text}{end}{again}")
        if self._others:
            warnings.append(f"{self.path}: {self._others} further warnings of other kinds.")
        if skipped:
            warnings.append(f"{self.path}: {skipped}")
        return warnings
