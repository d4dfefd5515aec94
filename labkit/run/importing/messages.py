"""Messages of an import. Each is printed once, with its first line and how often it applies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from labkit.formats.reading.table import Table
from labkit.point.units import plural

MOST = 40  # different messages of a kind
FEW = 2  # files that a message names one by one
_NAMED = 6  # tests that the message of many files names
_TEST = re.compile(r"([\w.-]+): (.*)", re.DOTALL)  # a message about a test begins with its name


@dataclass(frozen=True)
class Warned:
    """A message about a file: its place, its text, and the number of repetitions."""

    place: str
    text: str
    again: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.text}{self.again}"


def grouped(warned: Iterable[Warned]) -> list[str]:
    """Return messages as sentences; one that holds for many files, of the same test or of others, stands once."""
    same: dict[str, list[tuple[str, Warned]]] = {}
    for one in warned:
        test, text = match.groups() if (match := _TEST.fullmatch(one.text)) else ("", one.text)
        same.setdefault(text, []).append((test, one))
    sentences = []
    for text, found in same.items():
        if len(found) <= FEW:
            sentences += [str(one) for _, one in found]
            continue
        tests = list(dict.fromkeys(test for test, _ in found if test))
        further = f" and {plural(len(tests) - _NAMED, 'further test')}" if len(tests) > _NAMED else ""
        of = f" of {', '.join(tests[:_NAMED])}{further}" if tests else ""
        sentences.append(f"{len(found)} files{of}: {text} The first is {found[0][1].place}.")
    return list(dict.fromkeys(sentences))


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
    where : how messages call the text.
    """

    where: str
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

    def warnings(self, skipped: str) -> list[Warned]:
        """Return all messages.

        Parameters
        ----------
        skipped : the sentence of `labkit.formats.reading.lines.Skipped` on lines that belong to no table.
        """
        warned = []
        for text, occurrence in self._tables.items():
            of = f" of its {occurrence.further + 1} tables" if occurrence.further else ""
            count = plural(occurrence.rows, "row")
            warned.append(Warned(f"{self.where}, line {occurrence.first}", f"{text}; left out: {count}{of}."))
        for text, occurrence in self._rows.items():
            again = ""
            if occurrence.further:
                again = f" The same applies to {plural(occurrence.further, 'further place')} on."
            end = "" if text.endswith(".") else "."
            warned.append(Warned(f"{self.where}, line {occurrence.first}", f"{text}{end}", again))
        if self._others:
            warned.append(Warned(self.where, f"{plural(self._others, 'further warning')} of other kinds."))
        if skipped:
            warned.append(Warned(self.where, skipped))
        return warned
