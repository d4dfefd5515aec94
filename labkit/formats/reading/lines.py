"""Read a text line by line; skip and note the lines that launchers, batch systems and shells wrote."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

from labkit.errors import DataError
from labkit.formats.reading.values import CutError, malformed

Value = float | int | str | None
WHOLE, TWO_DECIMALS, NO_NUMBER = r"[0-9]{1,18}", r"[0-9]{1,18}\.[0-9][0-9]", r"-?(?:nan|inf)"
LONGEST = 1 << 16  # characters of a line: none of a benchmark has a hundredth of it
MOST_LINES = 1 << 12  # lines of a table that are remembered
BLOCK = 1 << 10  # rows of a table that are matched at once
KINDS = 8  # kinds of skipped lines to distinguish
# srun -l and mpiexec -l, mpirun --tag-output
_LABEL = re.compile(r" *(?:\d{1,7}:(?: |$)|\[\d{1,7}\] |\[\d+,\d+\]<std\w+>:? ?)")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}$")  # ends "# HOST/POSIX_MEMALIGN: allocated 8 bytes at 0x55abf4fc0000"
_NUMBER = rf"(?:[-+]?(?:\d[\d.,]*|\.\d+)|{NO_NUMBER})"  # a comma makes it a damaged one
_NUMBERS = re.compile(rf"{_NUMBER}(?:\s+{_NUMBER})*")
REMEDY = "Correct or delete that line or its table, and import the rest."


@dataclass
class Skipped:
    """Lines that belong to no table, by kind: how many there were, and the first of each.

    Parameters
    ----------
    kinds : what lines have in common → the first such line, its number, how many there were.
    others : lines of still other kinds, not distinguished.
    """

    kinds: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    others: int = 0

    def add(self, line: str, number: int) -> None:
        """Note a line; lines that differ in numbers only are of one kind."""
        kind = re.sub(r"\d+", "0", line.strip()[:60])
        if kind in self.kinds:
            first, at, count = self.kinds[kind]
            self.kinds[kind] = first, at, count + 1
        elif len(self.kinds) < KINDS:
            self.kinds[kind] = line.strip()[:80], number, 1
        else:
            self.others += 1

    def text(self) -> str:
        """Return a sentence that says what was skipped; empty if nothing was."""
        if not self.kinds:
            return ""
        count = self.others + sum(count for _, _, count in self.kinds.values())
        groups = [
            f"{first!r} (line {number}{f', {n} times' if n > 1 else ''})" for first, number, n in self.kinds.values()
        ]
        if self.others:
            groups.append(f"{self.others} other lines")
        lines = "1 line that belongs" if count == 1 else f"{count} lines that belong"
        return f"{lines} to no table skipped: {'; '.join(groups)}."


class Lines:
    """Lines of a text, taken one by one, without blanks at the end and labels of ranks at the beginning.

    Parameters
    ----------
    text : whole, or in pieces of any size.
    where : how errors call it, such as its path.
    belongs : whether a line that begins with neither ``#`` nor a digit belongs to the format.
    """

    def __init__(
        self, text: str | Iterable[str], where: str, belongs: Callable[[str], bool] = lambda line: False
    ) -> None:
        self._pieces, self.where, self._belongs = iter([text] if isinstance(text, str) else text), where, belongs
        self._rest, self._ended = "", False
        self._whole, self._raw = "", list[str]()  # whole lines of the piece in hand, and each of them
        self._at = self._read = self._begin = 0  # place in them; lines read of the text; character they begin at
        self._next: deque[tuple[int, str, str]] = deque()  # number, as it stands, without blanks and label
        self.cut, self.taken, self.skipped = 0, 0, Skipped()
        self.cuts: list[CutError] = []  # where the text ends too early, if something stands above
        self.table_lines: list[str] = []
        self.mark()

    def mark(self) -> None:
        """Begin a table at the next line. From here on `table_lines` holds the lines taken, untouched."""
        self.table_lines, self.first = [], self.taken + 1

    def _fill(self) -> bool:
        """Read on until there is another line; False at the end of the text."""
        while self._at >= len(self._raw):
            if self._ended:
                return False
            piece = next(self._pieces, None)
            if piece is None:
                self._ended = True
                self._whole, self._raw, self._rest = "", [self._rest] if self._rest else [], ""
                self.cut = self._read + 1 if self._raw else 0
            else:
                self._whole, end, self._rest = (self._rest + piece).rpartition("\n")
                self._whole += end
                self._raw = self._whole.split("\n")[:-1]
            self._at = self._begin = 0
            if len(self._rest) > LONGEST:
                number = self._read + len(self._raw) + 1
                raise malformed(self.where, number, self._rest, "lines of text. Name what a benchmark printed")
        return True

    def _peek(self, place: int) -> tuple[int, str, str] | None:
        """Return a line ahead, counted from 0; skip lines that cannot belong to a table."""
        while len(self._next) <= place and self._fill():
            raw = full = self._raw[self._at]
            self._at, self._read, self._begin = self._at + 1, self._read + 1, self._begin + len(raw) + 1
            if raw[-1:] == "\r":
                raw = full = raw[:-1]
            if (":" in raw or raw[:1] == "[") and (label := _LABEL.match(raw)):
                raw = raw[label.end() :]
            line = raw.rstrip()
            if line[:1].isspace() and line.lstrip()[0] == "#":  # a table in an indented part of a text
                line = line.lstrip()
            note = line[:1] == "#" and "0x" in line and _ADDRESS.search(line)
            if note or (line and line[0] != "#" and not _may_belong(line) and not self._belongs(line)):
                self.skipped.add(full, self._read)
            else:
                self._next.append((self._read, raw, line))
        return self._next[place] if place < len(self._next) else None

    @property
    def ahead(self) -> str | None:
        """The next line without blanks at its end; None at the end."""
        entry = self._next[0] if self._next else self._peek(0)
        return entry[2] if entry else None

    @property
    def number(self) -> int:
        """Number of the next line, from 1."""
        entry = self._peek(0)
        return entry[0] if entry else self._read + 1

    def take(self) -> str:
        """The next line, which there must be."""
        if not self._next:
            self._peek(0)
        self.taken, raw, line = self._next.popleft()
        if len(self.table_lines) < MOST_LINES:
            self.table_lines.append(raw)
        return line

    def skip(self) -> None:
        """Leave the next line out, and note it."""
        number, _, line = self._next.popleft()
        self.skipped.add(line, number)

    def bulk(self, form: re.Pattern[str], most: int) -> tuple[int, list[str], list[str]]:
        """Take lines as long as they have a form.

        Parameters
        ----------
        form : from `block_form`.
        most : lines that are taken.

        Returns
        -------
        Number of the first line, the lines, and the cells of all of them.
        """
        first, texts, cells = self._read + 1, list[str](), list[str]()
        while not self._next and len(texts) < most and self._fill() and not self._ended:
            room, matched = most - len(texts), form.match(self._whole, self._begin)
            assert matched is not None  # the pattern also matches no row at all
            block = matched[0]
            count = block.count("\n")
            if count > room:
                count, block = room, "\n".join([*self._raw[self._at : self._at + room], ""])
            texts += self._raw[self._at : self._at + count]
            cells += block.split()
            self._at, self._read, self._begin = self._at + count, self._read + count, self._begin + len(block)
            if self._at < len(self._raw) and count < BLOCK:
                break
        if texts:
            self.taken = self._read
            self.table_lines += texts[: max(0, MOST_LINES - len(self.table_lines))]
        return first, texts, cells

    def past_blanks(self) -> str | None:
        """The first line ahead that is not empty; nothing is taken."""
        place = 0
        while place < MOST_LINES and (entry := self._peek(place)) and not entry[2]:
            place += 1
        return entry[2] if entry else None

    def drop_blanks(self) -> None:
        """Leave out empty lines, as between two rows with a message between them."""
        while self.ahead == "":
            self._next.popleft()

    def row_follows(
        self,
        repeats_head: Callable[[str], bool],
        ends_table: Callable[[str], bool],
        resembles_row: Callable[[str], bool],
    ) -> bool:
        """Whether the table has another row. If so, it is the next line, and the lines above it are left out.

        Parameters
        ----------
        repeats_head : whether a line is the head of the table, printed a second time; it is left out.
        ends_table : whether a line ends the table.
        resembles_row : whether a line is a row, possibly a damaged one.
        """
        while ahead := self.past_blanks():
            head = repeats_head(ahead)
            if not head and ends_table(ahead):
                return False
            self.drop_blanks()
            if not head and resembles_row(ahead):
                return True
            self.skip()
        return False

    def wrong(self, wanted: str, remedy: str = REMEDY) -> DataError:
        """Return the error for the next line, or for the end of the text, which is a `CutError`."""
        number, line = self.number, self.ahead
        if number == self.cut:
            remedy = f"The text is truncated: its last line has no line end. {remedy}"
        error = malformed(self.where, number, "the end of the text" if line is None else line, wanted, remedy)
        return CutError(error, number, wanted if line is None else "") if line is None or number == self.cut else error

    def left_out(self, error: CutError) -> None:
        """Leave out the last line of a text that was cut, and note it."""
        self.cuts.append(error)
        self._next.clear()

    def ends_early(self, wanted: str) -> None:
        """Note that a run did not print its end, although another one follows."""
        self.cuts.append(CutError(self.wrong(wanted), self.number, wanted))

    def none(self, wanted: str) -> DataError:
        """Return the error for a text without anything wanted; it quotes the first line."""
        first = next(iter(self.skipped.kinds.values()), None)
        return malformed(self.where, first[1], first[0], wanted, REMEDY) if first else self.wrong(wanted)

    def value(self, text: str, form: str, wanted: str) -> Value:
        """Convert a number in the row ahead, which must not be taken yet; None for what is not finite."""
        if re.fullmatch(NO_NUMBER, text):
            return None
        if not re.fullmatch(form, text):
            raise self.wrong(f"{wanted} instead of {text[:40]!r}")
        return converter(form)(text)

    def whole_row(self, head: str, form: str) -> None:
        """Refuse a last row without its line end, because its last number may have lost digits."""
        if self.number == self.cut and form == WHOLE and len(self._next[0][1].rstrip()) < len(head.rstrip()):
            raise self.wrong("all digits of the last number")


def converter(form: str) -> Callable[[str], Value]:
    """Return the function that converts a cell of a form to its value."""
    return int if form == WHOLE else float if form == TWO_DECIMALS else str


def _may_belong(line: str) -> bool:
    """Whether a line may be a comment, a head or a row, be it a damaged one."""
    start = line.lstrip()
    if start[0] == "#" or _NUMBERS.fullmatch(start):
        return True
    fields = start.split()
    return fields[0].isdecimal() and (len(fields) < 3 or any(map(_NUMBERS.fullmatch, fields[1:])))


def is_row(line: str | None) -> bool:
    """Whether a line consists of several numbers, as only rows of tables do."""
    return line is not None and bool(_NUMBERS.fullmatch(line.strip())) and len(line.split()) > 1


def is_damaged_row(line: str, columns: int) -> bool:
    """Whether a line is a row with other text inside: it has a further number, or the words of a whole row."""
    fields = line.split()
    more = any(_NUMBERS.fullmatch(field) for field in fields[1:])
    return fields[0].isdecimal() and (len(fields) in (1, columns) or more)


@cache
def block_form(forms: tuple[str, ...]) -> re.Pattern[str]:
    """Pattern of rows whose cells have forms, for `Lines.bulk`."""
    return re.compile("(?: *" + " +".join(f"(?:{form})" for form in forms) + f"\n){{0,{BLOCK}}}")
