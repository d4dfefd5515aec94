"""What an import has to say: each thing once, with how often and where it first was, however long the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from labkit.formats._table import Table

MOST = 40  # things that are told apart


@dataclass
class _Note:
    """One thing, and where it was."""

    first: int
    last: int
    rows: int = 0
    more: int = 0


@dataclass
class Notes:
    """What is to be said of one file.

    Parameters
    ----------
    path : of the file.
    """

    path: Path
    _rows: dict[str, _Note] = field(default_factory=dict)
    _tables: dict[str, _Note] = field(default_factory=dict)
    _others: int = 0

    def add(self, text: str, line: int) -> None:
        """Something about a line, which ends without a full stop."""
        self._note(self._rows, text, line)

    def table(self, text: str, table: Table) -> None:
        """A table that is left out, and why."""
        if note := self._note(self._tables, text, table.first):
            note.rows += len(table.rows)

    def _note(self, known: dict[str, _Note], text: str, line: int) -> _Note | None:
        note = known.get(text)
        if note is None:
            if len(known) >= MOST:
                self._others += 1
                return None
            known[text] = note = _Note(line, line)
        elif line != note.last:
            note.more, note.last = note.more + 1, line
        return note

    def warnings(self, skipped: str) -> list[str]:
        """All of it in sentences.

        Parameters
        ----------
        skipped : lines that belong to no table, as `labkit.formats._lines.Skipped` tells them.
        """
        found = []
        for text, note in self._tables.items():
            what = (
                f"its {note.rows} rows are"
                if not note.more
                else f"the {note.rows} rows of its {note.more + 1} tables are"
            )
            found.append(f"{self.path}, line {note.first}: {text}, {what} left out.")
        for text, note in self._rows.items():
            often = f" The same applies to {note.more} further {'place' if note.more == 1 else 'places'} on."
            end = "" if text.endswith(".") else "."
            found.append(f"{self.path}, line {note.first}: {text}{end}{often if note.more else ''}")
        found += [f"{self.path}: {self._others} further warnings of other kinds."] if self._others else []
        return found + ([f"{self.path}: {skipped}"] if skipped else [])
