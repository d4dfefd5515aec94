"""Compare published numbers with points that measure the same: arguments, path, size, quantity and statistic.

The ratio is measured divided by published. Its interval is that of the measured value, because papers print none. There
is no ratio if the number of ranks differs: times of several ranks depend on it, and so do their shares and quotients.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit import benchmarks
from labkit.point import notes
from labkit.point.columns import METRICS, statistic_column
from labkit.point.notes import Note
from labkit.point.units import parse_size, parse_sizes, plural
from labkit.read.records import Value, by_benchmark, value_of
from labkit.read.records.factors import NONE, OPEN, differing, level, path_name
from labkit.read.reference import ANY, LARGE, PATHS, SMALL, Entry, Number, matching

if TYPE_CHECKING:
    import pandas as pd

# how labkit measures, or where: no argument of an experiment
_NEUTRAL = ("timing", "tool", "gid", "directory", "hugepages")
_PATH = ("transport", "testbed")
_HOST = {"loopback": "loopback", "shared-memory": "shared memory"}  # badges of paths inside a host
_WITHIN = (*_HOST, "path-unknown")  # badges of points whose ranks were on one host
_CHOSEN = {
    "emulated-link": "the rate of an emulated link was chosen",
    "simulation": "the network is simulated",
    "oversubscription": "there are more ranks than processors",
}
# relation of a published value → relation of a ratio to it
_TURNED = {"": "", "about": "about ", "above": "< ", "below": "> ", "up to": "≥ ", "at least": "≤ "}
OF_WORDS = {SMALL: 8, LARGE: 2**20}  # B that labkit measures where a paper says small or large messages only
PATH_WORDS = {"tcp": "TCP", "rdma": "RDMA"}  # paths of numbers, for sentences
UNNAMED = "the paper does not say which statistic it is"


def with_arguments(rows: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows with these options, and the benchmark's defaults for all others.

    A log that does not state an option may have any value of it, unless `options` names it.

    Parameters
    ----------
    rows : rows of one benchmark, from `labkit.read.records.table` or `summary`.
    options : name → value, or `ANY`.
    """
    if rows.empty:
        return rows
    fields = dataclasses.fields(benchmarks.get(str(rows["benchmark"].iloc[0])).options)
    for field in fields:
        wanted = options.get(field.name, ANY if field.name in _NEUTRAL else field.default)
        column = f"option_{field.name}"
        if wanted == ANY or (column not in rows and field.name not in options):
            continue
        if column not in rows:
            return rows[:0]
        levels = rows[column].map(level)
        unstated = rows[column].isna() & (field.name not in options)
        rows = rows[(levels == level(_typed(wanted))) | unstated]
    return rows


def beside(rows: pd.DataFrame, metric: str) -> list[Entry]:
    """Return the published numbers of a metric with the same arguments as some of the rows; sizes may differ.

    Parameters
    ----------
    rows : rows of one benchmark, from `labkit.read.records.table` or `summary`.
    metric : as in `labkit.point.columns.METRICS`.
    """
    names = [str(name) for name in rows["benchmark"].unique()]
    return [one for one in matching(names, metric) if len(with_arguments(rows, one.number.options))]


def measured(number: Number, rows: pd.DataFrame, *, other_path: bool = False) -> pd.DataFrame:
    """Return the rows that a published number may be compared with.

    Where the paper speaks of small or large messages only, these are the rows of the smallest or the largest size.

    Parameters
    ----------
    number : number that is published.
    rows : rows of one benchmark, from `labkit.read.records.table` or `summary`.
    other_path : return those that differ in the path only, or whose path nobody knows.
    """
    column = statistic_column(number.metric, number.statistic) if number.statistic else ""
    if rows.empty or str(rows["benchmark"].iloc[0]) not in number.benchmarks or column not in rows:
        return rows[:0]
    rows = with_arguments(rows[rows[column].notna()], number.options)
    rows = rows[_of_path(number, rows) != other_path]
    return rows[_of_size(number, rows["message_size_B"])]


def _of_path(number: Number, rows: pd.DataFrame) -> pd.Series[bool]:
    """Say which points send over the number's path."""
    if not number.transport or rows.empty:
        return rows["message_size_B"].notna()
    names = ["benchmark", "transport", "testbed", *(["badges"] if "badges" in rows else [])]
    same = [path_of(row) == number.transport for row in rows[names].to_dict("records")]
    return rows["message_size_B"].notna() & np.array(same, bool)


def path_of(row: Mapping[str, Any]) -> str:
    """Return the path of a point as in `PATHS`, or its transport; empty if nobody knows it.

    A tool that names no transport uses sockets, unless the benchmark is of RDMA itself. If no transport is named, by
    the spec or by a log, the path is unknown, except inside one host and on the virtual cluster, which has no adapter.
    """
    transport, benchmark = str(row["transport"]), benchmarks.get(str(row["benchmark"]))
    if transport not in OPEN:
        return next((path for path, names in PATHS.items() if transport in names), transport)
    if not benchmark.mpi:
        return "rdma" if benchmark.name.startswith("verbs.") else "tcp"
    if notes.has(_badges(row), "shared-memory"):
        return "shm"
    if notes.has(_badges(row), "loopback") or str(row["testbed"]).startswith("virtual-cluster"):
        return "tcp"
    return ""


def _of_size(number: Number, sizes: pd.Series[int]) -> pd.Series[bool]:
    """Say which sizes are the number's."""
    if number.sizes:
        ends = [parse_size(size) for size in number.sizes]
        return (sizes >= ends[0]) & (sizes <= ends[-1])
    if number.size in (SMALL, LARGE):
        return sizes == (sizes.min() if number.size == SMALL else sizes.max())
    return sizes.notna()


def _typed(value: Any) -> Any:
    """Return a number as records hold it: as a float."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@dataclass(frozen=True)
class Point:
    """The arguments with which a benchmark measures a value that is comparable with a number.

    Parameters
    ----------
    benchmark : its name.
    sizes : sizes of messages, B: that of the number, or both ends of its range; 0 for a benchmark without sizes.
    options : options of the benchmark, those that the number names.
    transport : path of the messages, as a spec has it.
    processes : ranks of the paper, or the fewest of the benchmark where the paper does not say.
    """

    benchmark: str
    sizes: tuple[int, ...]
    options: Mapping[str, Any]
    transport: str
    processes: int


def points(number: Number) -> list[Point]:
    """Return the arguments of a number for each of its benchmarks: all that its link says."""
    return [_point(number, name) for name in number.benchmarks]


def _point(number: Number, name: str) -> Point:
    benchmark = benchmarks.get(name)
    known = {field.name for field in dataclasses.fields(benchmark.options)}  # others are of other benchmarks
    options = {key: value for key, value in number.options.items() if value != ANY and key in known}
    sizes = tuple(parse_size(size) for size in number.sizes)
    if not sizes:
        sizes = (OF_WORDS[number.size] if number.size else next(iter(parse_sizes(benchmark.sizes))),)
    ranks = number.processes if benchmark.mpi and number.processes else benchmark.ranks[0]
    return Point(name, sizes if benchmark.sized else (0,), options, _transport(number, benchmark), ranks)


def _transport(number: Number, benchmark: benchmarks.Benchmark) -> str:
    """Return the transport of a spec that takes the number's path."""
    if number.transport != "rdma":
        return number.transport or "auto"
    if benchmark.mpi:
        return "rc"
    ends = benchmark.ends
    return "auto" if not ends.transports else "rc" if ends.rdma == "ucx" else "verbs"


def settings(number: Number, rows: pd.DataFrame) -> tuple[list[pd.DataFrame], list[str]]:
    """Return the settings of rows, and what these differ in; those with the paper's number of processes come first.

    Parameters
    ----------
    rows : from `measured`, not empty.
    """
    rows = by_benchmark(rows)[str(rows["benchmark"].iloc[0])]
    others = [one for one in differing(rows) if one not in (*_PATH, "ranks", "fingerprint")]
    keys = [*_PATH, "ranks", *others]
    levels = [rows[key] if key == "ranks" else rows[key].map(level) for key in keys]
    parts = [part for _, part in rows.groupby(levels, sort=False)]
    parts.sort(key=lambda part: abs(math.log(part["ranks"].iloc[0] / (number.processes or part["ranks"].iloc[0]))))
    return parts, others


@dataclass(frozen=True)
class Comparison:
    """A published number beside the points of one setting.

    Parameters
    ----------
    number : number that is published, as the quantity that labkit measures.
    rows : one of each message size, the smallest first.
    """

    number: Number
    rows: tuple[Mapping[str, Any], ...]

    @cached_property
    def values(self) -> list[Value]:
        """The measured values in the unit of the number, lowest first."""
        return sorted((_in_unit(self.number, row) for row in self.rows), key=lambda one: one.value)

    @property
    def launches(self) -> int:
        """Launches behind each value; the fewest of several sizes."""
        return min(int(row["launches"]) for row in self.rows)

    @property
    def where(self) -> str:
        """Path of the messages in words, also where it stays inside a host; empty if it is not known."""
        row = self.rows[0]
        inside = [words for code, words in _HOST.items() if notes.has(_badges(row), code)]
        return ", ".join(dict.fromkeys(filter(None, [path_name(str(row["transport"]), str(row["testbed"])), *inside])))

    @property
    def inside(self) -> bool:
        """Whether all ranks were on one host."""
        return any(notes.has(_badges(row), code) for row in self.rows for code in _WITHIN)

    @property
    def path(self) -> str:
        """How the path differs from the paper's path; empty if it is the same."""
        number, path = self.number, path_of(self.rows[0])
        if number.transport and path != number.transport:
            here = f"other path: {PATH_WORDS.get(path) or path_name(path, 'local')}" if path else "path unknown"
            return f"{here}, the paper {PATH_WORDS[number.transport]}"
        if self.inside and (number.transport or number.nodes > 1):
            return "one host, without a network"
        apart = number.nodes == 1 and not self.inside and int(self.rows[0]["ranks"]) > 1
        return "not known to be on one host, as in the paper" if apart else ""

    @property
    def scale(self) -> str:
        """The number of measured ranks if the paper has another number.

        Else empty, also for a tool, which has no ranks.
        """
        ranks, benchmark = int(self.rows[0]["ranks"]), benchmarks.get(str(self.rows[0]["benchmark"]))
        low, high = benchmark.ranks
        if not benchmark.mpi or ranks == self.number.processes or (not self.number.processes and low == high):
            return ""
        return f"{plural(ranks, 'rank')}, the paper {self.number.processes or 'does not say how many'}"

    @property
    def chosen(self) -> str:
        """Values of the options that the number leaves open, if they are not the benchmark's own: ``n=2000``."""
        row = self.rows[0]
        fields = {one.name: one.default for one in dataclasses.fields(benchmarks.get(str(row["benchmark"])).options)}
        open_to = {name: row.get(f"option_{name}") for name, value in self.number.options.items() if value == ANY}
        told = {
            name: value for name, value in open_to.items() if name in fields and level(value) != level(fields[name])
        }
        return ", ".join(f"{name}={level(value)}" for name, value in told.items() if level(value) != NONE)

    @property
    def setting(self) -> str:
        """Path, scale and chosen options in words, without the contents of `why`; may be empty."""
        scale = "" if self.why == self.scale else self.scale
        return ", ".join(filter(None, (self.where, scale, self.chosen)))

    @property
    def measured(self) -> str:
        """The measured value, or the lowest and the highest of several sizes, without unit; with its interval."""
        first, last = self.values[0], self.values[-1]
        return f"{first.text} to {last.text}" if len(self.values) > 1 else f"{first.text}{_bracket(first)}"

    @property
    def why(self) -> str:
        """Why there is no ratio; empty if there is one."""
        badges = [one for row in self.rows for one in _badges(row)]
        if not all(end > 0 for end in self.number.ends):
            return "the published value is not a divisor"
        if any(value.coarse for value in self.values):
            return "the clock is too coarse"
        if different := self.path or self.scale:
            return different
        if doubt := next((one.text for one in badges if one.code in notes.NO_SPEED), ""):
            return doubt
        return next((words for code, words in _CHOSEN.items() if notes.has(badges, code)), "")

    @property
    def ratio(self) -> str:
        """Measured over published with its interval, or a dash and why there is none.

        Of a printed range, or of several sizes, these are the lowest and the highest ratio.
        """
        if self.why:
            return f"– ({self.why})"
        low, high = self.number.ends
        first, last = _over(self.values[0], high), _over(self.values[-1], low)
        sign = _TURNED[self.number.relation]
        if first.value == last.value:
            return f"{sign}{first.text}{_bracket(first)}"
        ends = dataclasses.replace(first, high=last.high) if len(self.values) == 1 else None
        return f"{sign}{first.text} to {last.text}{_bracket(ends) if ends else ''}"


def compare(number: Number, rows: pd.DataFrame, *, other_path: bool = False) -> list[Comparison]:
    """Return a published number beside each setting of the points that it may be compared with.

    Parameters
    ----------
    number : as the quantity that labkit measures, see `labkit.read.reference.Paper.measurable`.
    rows : rows of one benchmark, from `labkit.read.records.summary`.
    other_path : beside the points that differ from it in the path; these have no ratio.
    """
    rows = measured(number, rows, other_path=other_path)
    parts = settings(number, rows)[0] if len(rows) else []
    return [Comparison(number, tuple(part.sort_values("message_size_B").to_dict("records"))) for part in parts]


def first(number: Number, tables: Iterable[pd.DataFrame], *, other_path: bool = False) -> Comparison | None:
    """Return the best comparison of some tables: one with a ratio, else one over a network; None if there is none.

    Among equals, the earliest table wins, and within it the number of processes closest to the paper's.
    """
    found = [one for rows in tables for one in compare(number, rows, other_path=other_path)]
    return min(found, key=worth, default=None)


def worth(one: Comparison) -> tuple[bool, bool]:
    """Return by what the comparisons of a number are sorted, the best first."""
    return bool(one.why), one.inside


def not_measured(number: Number) -> str:
    """Return why a number has no measured value, if no point of its benchmarks may be compared with it."""
    return "no point has its size, options and path" if number.statistic else UNNAMED


def _badges(row: Mapping[str, Any]) -> Sequence[Note]:
    badges: Sequence[Note] = row.get("badges", ())
    return badges


def _bracket(value: Value) -> str:
    return "" if math.isnan(value.low) else f" [{value.range}]"


def _over(value: Value, divisor: float) -> Value:
    """Return a value over a constant, with its ends."""
    return dataclasses.replace(value, **{n: getattr(value, n) / divisor for n in ("value", "low", "high", "step")})


def _in_unit(number: Number, row: Mapping[str, Any]) -> Value:
    """Return the number's statistic of a row in the number's unit."""
    return _over(value_of(row, number.metric, number.statistic), number.in_unit(METRICS[number.metric].unit, 1.0))
