"""The log of a tool: runs as typed data, and their readers.

A format that `labkit import` reads as a log exports `LOG`: how its text is recognised, and the function that makes a
`Run` of each point. The benchmark of a run is the one that lists its test under `logs`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.errors import DataError
from labkit.formats.reading.values import malformed
from labkit.formats.reading.wrapped import COLOUR
from labkit.point.notes import Note, note
from labkit.point.spec import Reported, Scalar
from labkit.store.samples import facts

LARGEST = 64 << 20  # B of a log; tools write some kB
SHOWN = 2048  # characters of a log that a point keeps
_LABEL = re.compile(r" *(?:\d{1,7}: |\[\d+,\d+\]<std\w+>:? ?)")  # srun -l and mpiexec -l, mpirun --tag-output
_FORM = r"[-+]?(?:\d{1,300}\.?\d{0,40}|\.\d{1,40})(?:[eE][-+]?\d{1,3})?"
NUMBER = rf"(?:{_FORM}|[-+]?(?:nan|inf)(?:inity)?)"
_NUMBER = re.compile(_FORM)
ODD_NUMBER = re.compile(r"[-+]?\d[\d.]*[,'’]\d[\d.,'’]*")  # with a decimal comma, or a mark between thousands
_FACTORS = {"": 1, "k": 10**3, "K": 10**3, "m": 10**6, "M": 10**6, "g": 10**9, "G": 10**9, "T": 10**12}
BINARY = {"": 1, "K": 2**10, "k": 2**10, "M": 2**20, "m": 2**20, "G": 2**30, "g": 2**30, "T": 2**40, "t": 2**40}
# of a rate's unit in 1 MB/s: what `-f` of iperf 2 and iperf3 prints, bits of 10^3 and bytes of 2^10
IN_A_MB: dict[str, float] = {
    **{f"{prefix}bits": 8e6 / 1000**k for k, prefix in enumerate(("", "K", "M", "G", "T"))},
    **{f"{prefix}Bytes": 1e6 / 1024**k for k, prefix in enumerate(("", "K", "M", "G", "T"))},
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """Values of a log about one point.

    Parameters
    ----------
    test : tool and test in the tool's words: ``netperf TCP_RR``, ``STREAM``.
    values : statistics that the tool printed, in labkit's units; at least one.
    line : where it stands in the text, from 1; for JSON the number of the run.
    size : size of a message, request or record, B; 0 without one, or if the log does not state it.
    ranks : number of processes; 0 if the log does not say.
    options : further coordinates, as the options of the benchmark.
    stated : settings that the log states beside the options. Runs that differ in one are not launches of one point.
    parameters : other facts in the log about the run.
    version : version of the tool, empty if it is not printed.
    verified : whether the tool checked its results and found them right.
    remarks : explanations of the numbers, if their names are not enough.
    doubts : what may be wrong or missing; the import prints these too.
    source : the lines, untouched.
    clock_ns : step of the clock that the log states, ns; NaN without one.
    """

    test: str
    values: tuple[Reported, ...]
    line: int
    size: int = 0
    ranks: int = 1
    options: Mapping[str, Scalar] = field(default_factory=dict)
    stated: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    verified: bool = False
    remarks: tuple[Note, ...] = ()
    doubts: tuple[Note, ...] = ()
    source: str = ""
    clock_ns: float = math.nan


REMEDY = "Name a file with the complete output, or delete what was added to it."


@dataclass(frozen=True)
class Log:
    """A kind of log.

    Parameters
    ----------
    name : name of the tool, as people call it.
    marks : texts of which a log of this kind has at least one; they are looked for before `begins`.
    begins : matches a line that only this kind of log has.
    read : makes the runs of a text; the second argument is the name of the file, for errors.
    holds : kinds of logs whose lines this one holds as a part.
    joins : whether several JSON documents make one run.
    rows : whether a line is a row of the table; asked where no line of a text begins a log, as in an excerpt.
    """

    name: str
    marks: tuple[str, ...]
    begins: re.Pattern[str]
    read: Callable[[str, str], list[Run]]
    holds: tuple[str, ...] = ()
    joins: bool = False
    rows: Callable[[str], object] = lambda line: None

    def runs(self, text: str, where: str) -> list[Run]:
        """Return the runs of a text.

        Raises
        ------
        DataError
            If a line does not fit, or there is no run; names file and line.
        """
        runs = self.read(text, where)
        if not runs:
            raise malformed(where, 0, (text.strip() or "nothing")[-80:], f"a result of {self.name}", REMEDY)
        return runs


class Lines:
    """Lines of a log without colours and labels of ranks, one after the other.

    Parameters
    ----------
    text : whole.
    where : name of the file, for errors.
    """

    def __init__(self, text: str, where: str) -> None:
        self.where, self.raw = where, text.splitlines()
        self.texts = [_plain(line) for line in self.raw]

    def __len__(self) -> int:
        """Number of lines."""
        return len(self.texts)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield number, from 1, and text of each line."""
        return iter(enumerate(self.texts, 1))

    def source(self, first: int, last: int) -> str:
        """Return lines `first` to `last`, from 1, as they stand in the file, up to `SHOWN` characters."""
        return "".join(f"{line}\n" for line in self.raw[first - 1 : last])[:SHOWN]

    def wrong(self, number: int, wanted: str) -> DataError:
        """Return the error for a line; number 0 represents the whole text."""
        line = self.texts[number - 1] if 0 < number <= len(self) else "the end of the text"
        return malformed(self.where, number, line, wanted, REMEDY)

    def number(self, text: str, number: int) -> float:
        """Convert a number in a line.

        Raises
        ------
        DataError
            If it is none, or not finite.
        """
        if not _NUMBER.fullmatch(text.strip()) or not math.isfinite(value := float(text)):
            raise self.wrong(number, f"a number instead of {text.strip()[:40]!r}")
        return value

    def blocks(self, begins: re.Pattern[str]) -> Iterator[tuple[int, int, re.Match[str]]]:
        """Yield first and last line of each block, and the match of the line that begins it."""
        starts = [(number, match) for number, line in self if (match := begins.match(line))]
        for place, (first, match) in enumerate(starts, 1):
            yield first, starts[place][0] - 1 if place < len(starts) else len(self), match

    def find(self, pattern: str, first: int, last: int) -> tuple[int, re.Match[str]] | None:
        """Return number and match of the first line of a block that a pattern matches from its begin."""
        form = re.compile(pattern)
        for number in range(first, last + 1):
            if match := form.match(self.texts[number - 1]):
                return number, match
        return None

    def need(self, pattern: str, first: int, last: int, wanted: str) -> tuple[int, re.Match[str]]:
        """Return number and match of the first line of a block that a pattern matches; it must have one."""
        if hit := self.find(pattern, first, last):
            return hit
        raise malformed(self.where, last, self.texts[last - 1], f"{wanted} by here, the end of the run", REMEDY)


_PAIR = re.compile(
    r"(?P<name>[A-Za-z][\w#()/.+-]*(?: [\w#()/.+-]+){0,5}) *[:=] *(?P<value>[^\s|,;=][^|\t;,]*?)(?= {2,}|\t|[|,;]|$)"
)
# differs between runs with the same settings: addresses, times and random numbers
_VOLATILE = re.compile(
    r"address|\b[lg]id\b|qpn|psn|rkey|vaddr|\bpid\b|(?<!dual-)\bport\b|cookie|uuid|\bdate\b|\btime\b|began|started|finished"
    r"|\bhost\b|hostname|local|remote|\bseed\b|socket$",
    re.IGNORECASE,
)


def settings(texts: Iterable[str]) -> dict[str, str]:
    """Return the settings that lines above a result state, as ``name : value`` or ``name=value``.

    Addresses, times of day and the like are left out, because they differ between runs with the same settings.

    Examples
    --------
    >>> settings([" CQ Moderation   : 64", " Dual-port : OFF  Device : dev0", " local address: LID 0x01 QPN 0x88"])
    {'cq_moderation': '64', 'dual_port': 'OFF', 'device': 'dev0'}
    """
    found = {}
    for line in texts:
        for pair in _PAIR.finditer(line):
            if not _VOLATILE.search(pair["name"]):
                found[setting_name(pair["name"])] = pair["value"].strip()[:200]
    return {name: value for name, value in found.items() if name and value}


def flat(document: Mapping[str, Any], *leave_out: str) -> dict[str, str]:
    """Return the scalars of a section of settings in JSON, by name; nested names are joined by an underscore."""
    found: dict[str, str] = {}
    for name, value in document.items():
        if name in leave_out or _VOLATILE.search(name):
            continue
        if isinstance(value, Mapping):
            found |= {f"{setting_name(name)}_{key}": text for key, text in flat(value).items()}
        elif isinstance(value, str | int | float):
            found[setting_name(name)] = str(value).lower() if isinstance(value, bool) else str(value)[:200] or "true"
    return found


def whole(text: str) -> int:
    """Return a whole number of at most 18 digits; 0 if a text is none.

    Examples
    --------
    >>> whole("64"), whole("64 B"), whole("9" * 5000)
    (64, 0, 0)
    """
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0


def setting_name(text: str) -> str:
    """Return the name of a setting in lower case, with underscores for characters that a name cannot have."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:60]


def _plain(line: str) -> str:
    """Return a line without colours, the label of a rank, and blanks at its end."""
    if "\x1b" in line:
        line = COLOUR.sub("", line)
    if label := _LABEL.match(line):
        line = line[label.end() :]
    return line.rstrip()


def decimal(text: str, prefix: str) -> float:
    """Convert a number with a prefix of 10^3: ``decimal("1.5", "k")`` is 1500."""
    return float(text) * _FACTORS[prefix]


def binary(text: str, prefix: str) -> float:
    """Convert a number with a prefix of 2^10: ``binary("4", "K")`` is 4096."""
    return float(text) * BINARY[prefix]


def over_repeats(name: str, unit: str, most: float, least: float, mean: float) -> list[Reported]:
    """Return the statistics of a rate over the repeats of one run; the mean is that of the rates."""
    return [Reported(name, unit, *pair) for pair in (("max", most), ("min", least), ("mean", mean))]


MEAN_OF_RATES = note(
    "mean-of-rates", "the mean is that of the rates of the repetitions, not all work over all time", statistic="mean"
)


def inside(lines: Lines, first: int, last: int, parse: Callable[[str], list[Reported]]) -> list[Reported]:
    """Parse a block with the function that reads labkit's own runs of the tool; errors name file and line."""
    try:
        return parse("".join(f"{line}\n" for line in lines.texts[first - 1 : last]))
    except DataError as error:
        raise malformed(lines.where, first, lines.texts[first - 1], f"a whole run: {error.brief}") from error


SIZE_UNKNOWN = note(facts.SIZE_UNKNOWN, "the log does not state the message size, so it is recorded as 0")
CUT = note(
    "cut", "the last lines of the log are missing: it may be truncated, and the settings in these lines are unknown"
)
HEAD_MISSING = note(
    "head-missing",
    "the head of the table is missing: its columns follow from their number and values, its settings are unknown",
)
SHORTENED = note(
    "shortened", "a line of dots stands for lines that somebody left out: settings and rows may be missing"
)
UNTITLED = note("untitled", "the lines above the table are missing, so its settings are unknown")
SIZE_CUT = "size-cut"  # code of a size that is printed without its last digits
APART = frozenset(
    (SIZE_UNKNOWN.code, SIZE_CUT, HEAD_MISSING.code, SHORTENED.code, UNTITLED.code)
)  # such runs are not launches of one point
FEW_DIGITS = note("few-digits", "the tool printed three digits", digits=3)
