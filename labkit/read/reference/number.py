"""One published number, and the claim of a paper about what a cheaper part would save."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from labkit import benchmarks
from labkit.errors import SpecError, alike, unknown_name
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.units import format_exact, format_number, format_size, parse_size
from labkit.read.reference._units import RELATIONS, UNITS

ANY = "*"  # value of an option that does not matter
SMALL, LARGE = "small", "large"  # message sizes that a paper leaves open
PATHS: Mapping[str, tuple[str, ...]] = {"tcp": ("tcp",), "rdma": ("rc", "ud", "verbs")}  # path → transports of a spec
UNMEASURED = {  # why no benchmark of labkit measures a number
    "setting": "a property of the system or a setting, no result",
    "stated": "taken from makers, lists or other papers, or assumed",
    "derived": "computed from other numbers of the paper",
    "comparison": "a difference, a ratio or a turning point of several measurements",
    "instrument": "takes a profiler in the library, a PCIe analyzer or counters of switches",
    "definition": "labkit measures it by another definition",
}


@dataclass(frozen=True, kw_only=True)
class Number:
    """One published number.

    Parameters
    ----------
    name : name by which other numbers refer to it.
    text : what it is.
    value : value as printed, in its unit.
    where : table, figure or section.
    page : page of the paper, counted from its first; 0 if unknown.
    unit : as in `UNITS`; that of the paper if left out. ``1`` is a count.
    decimals : digits after the point of the printed value; those in which the file writes it if left out.
    to : upper end, where the paper prints a range that begins with `value`.
    relation : relation of the number: it is exact, ``about`` this, ``above`` or ``below`` it, ``up to`` or ``at least``
        it.
    uncertainty : uncertainty of a number from a figure: half the width of what it may be, in its unit; 0 if the figure
        prints it.
    kind : class of the component, such as ``I/O``; empty if it is not a component.
    network, library : network and library that it was measured over and with.
    size : message size: ``4Mi``, a range ``1Ki:1Mi``, or ``small`` or ``large`` where the paper leaves it open.
    processes, nodes : how many; 0 if the paper does not say.
    conditions : further ones, beside those of the paper.
    benchmarks, metric : benchmarks and metric of labkit, where its definition is the same. They make the number appear
        in figures.
    unmeasured : why there is no such benchmark, as in `UNMEASURED`.
    statistic : statistic of the metric, as in `labkit.point.columns.STATISTICS`; empty if the paper names none.
    options : options of the benchmark, that make its arguments those of the paper; the others have their default. ``*``
        is any.
    transport : path of the messages, as in `PATHS`, which a measured value must have too; empty if it does not matter.
    over : name of a number: labkit measures this number divided by that one, as in ``beside over alone``.
    of : name of a number: this one is a share of it, and labkit measures the share as a quantity.
    needs : what the arguments take beside their processes; the suite ``papers`` leaves the number out.
    parts : names of the numbers that it is the sum of, in order; a part that counts twice has its name there twice.
    ratio : names of two numbers; it is the first over the second, or that in %.
    saving : names of two numbers; it is the part of the first, in %, by which the second is less.
    observed : name of the number that its authors compare it with.
    instead : name of the number that the models use where the paper prints the same quantity twice.
    note : what to know about it.
    """

    name: str
    text: str
    value: float
    where: str
    page: int = 0
    unit: str = ""
    decimals: int | None = None
    to: float | None = None
    relation: Literal["", "about", "above", "below", "up to", "at least"] = ""
    uncertainty: float | None = None
    kind: str = ""
    network: str = ""
    library: str = ""
    size: str = ""
    processes: int = 0
    nodes: int = 0
    conditions: str = ""
    benchmarks: tuple[str, ...] = ()
    metric: str = ""
    unmeasured: Literal["", "setting", "stated", "derived", "comparison", "instrument", "definition"] = ""
    statistic: str = ""
    options: Mapping[str, str | bool | int | float] = dataclasses.field(default_factory=dict)
    transport: Literal["", "tcp", "rdma"] = ""
    over: str = ""
    of: str = ""
    needs: str = ""
    parts: tuple[str, ...] = ()
    ratio: tuple[str, ...] = ()
    saving: tuple[str, ...] = ()
    observed: str = ""
    instead: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        self._check_value()
        self._check_meaning()

    def _check_value(self) -> None:
        if self.unit not in UNITS:
            raise SpecError(f"{self.name}: unit={self.unit!r}. {alike(self.unit, list(UNITS))}Take {', '.join(UNITS)}.")
        if self.to is not None and self.to <= self.value:
            raise SpecError(f"{self.name}: to={self.to:g} must be above value={self.value:g}.")
        if (self.uncertainty or 0) < 0 or (self.read == "figure" and self.uncertainty is None):
            raise SpecError(
                f"{self.name}: a number from a figure needs its uncertainty: half the width of what it may be, in its "
                "unit, or 0 if the figure prints it."
            )
        for size in self.sizes:
            parse_size(size)

    def _check_meaning(self) -> None:
        if bool(self.benchmarks) != bool(self.metric):
            raise SpecError(f"{self.name}: benchmarks and metric go together. Set both, or none.")
        if self.benchmarks and self.unmeasured:
            raise SpecError(
                f"{self.name}: unmeasured={self.unmeasured!r}, but it has benchmarks. Leave one of them out."
            )
        if (self.transport or self.over or self.of or self.needs) and not self.benchmarks:
            raise SpecError(
                f"{self.name}: transport, over, of and needs go with benchmarks. Name one, or leave them out."
            )
        if self.of and self.measures != "%":
            raise SpecError(f"{self.name}: of={self.of!r}, but only a share in % is a part of another number.")
        if self.statistic and self.statistic not in STATISTICS:
            raise unknown_name("statistic", self.statistic, list(STATISTICS))
        options = {field.name for name in self.benchmarks for field in dataclasses.fields(benchmarks.get(name).options)}
        for option in self.options:
            if option not in options:
                raise unknown_name(f"option of {' or '.join(self.benchmarks)}", option, sorted(options))
        for name in self.benchmarks:
            benchmark = benchmarks.get(name)
            metrics = [*benchmark.metrics, *benchmark.phases.values(), *benchmark.derived]
            if self.metric not in metrics:
                raise unknown_name(f"metric of {name}", self.metric, metrics)
            if not (self.over or self.of) and self.measures != UNITS[METRICS[self.metric].unit][0]:
                raise SpecError(f"{self.name}: {self.metric} is not a number in {self.unit}.")
        for field in ("ratio", "saving"):
            if len(getattr(self, field)) not in (0, 2):
                raise SpecError(f"{self.name}: {field} takes two names.")

    def against(self, other: Number) -> Number:
        """Return the quantity that labkit measures: this number divided by another one, or as a share of it.

        Parameters
        ----------
        other : the number that `over` or `of` names.
        """
        if self.over:
            value, unit, word = self.si / other.si, "times", "over"
            decimals: int | None = max(0, 2 - math.floor(math.log10(value)))
        else:
            value, unit, word = self.value / 100 * other.value, other.unit, "of"
            decimals = None
        return dataclasses.replace(
            self,
            text=f"{self.text}: {self.stated} {word} {other.stated}",
            value=round(value, 9),
            unit=unit,
            decimals=decimals,
            to=None,
            uncertainty=None,
            over="",
            of="",
        )

    @property
    def sizes(self) -> tuple[str, ...]:
        """Ends of the message sizes; one if it is a single size, none if the paper leaves it open."""
        return () if self.size in ("", SMALL, LARGE) else tuple(self.size.split(":", 1))

    @property
    def size_B(self) -> int | None:  # noqa: N802 - a unit
        """Message size, B; None without a single size."""
        return parse_size(self.sizes[0]) if len(self.sizes) == 1 else None

    @property
    def measures(self) -> str:
        """Unit of `si`: s, B, B/s, Hz, 1/s, %, times or 1."""
        return UNITS[self.unit][0]

    @property
    def si(self) -> float:
        """Value in s, B, B/s and so on: see `measures`."""
        return self.value * UNITS[self.unit][1]

    def in_unit(self, unit: str, value: float | None = None) -> float:
        """Return the value, or another one in the unit of this number, in another unit of the same kind."""
        return (self.value if value is None else value) * UNITS[self.unit][1] / UNITS[unit][1]

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the printed range, or of the reading of a figure, in the unit; twice the value if it has none."""
        if self.to is not None:
            return self.value, self.to
        return self.value - (self.uncertainty or 0), self.value + (self.uncertainty or 0)

    @property
    def read(self) -> Literal["table", "figure", "text"]:
        """Where it was read."""
        begins = self.where[:3].casefold()
        return "table" if begins == "tab" else "figure" if begins == "fig" else "text"

    @property
    def stated(self) -> str:
        """Value with its relation, range and unit, as the paper states it."""
        return self._words(self.unit, format_exact, decimals=self.decimals)

    def stated_in(self, unit: str) -> str:
        """Value with its relation and range in another unit of the same kind, to four digits."""
        return self.stated if unit == self.unit else self._words(unit, format_number)

    def _words(self, unit: str, written: Callable[[float], str], decimals: int | None = None) -> str:
        value = self.in_unit(unit)
        words = RELATIONS[self.relation] + (written(value) if decimals is None else f"{value:.{decimals}f}")
        if self.to is not None:
            words += f" to {written(self.in_unit(unit, self.to))}"
        if self.uncertainty:
            words += f" ± {written(self.in_unit(unit, self.uncertainty))}"
        return f"{words} {unit}" if unit != "1" else words

    @property
    def statistic_words(self) -> str:
        """Its statistic in words; empty for one value, and if the paper names none."""
        other = {"": "", "value": "", "osu_mean": "mean over ranks"}
        return other[self.statistic] if self.statistic in other else STATISTICS[self.statistic].label

    @property
    def arguments(self) -> str:
        """Options that set a benchmark's arguments to the paper's, as ``preset=ethernet2020``."""
        return ", ".join(f"{name}={value}" for name, value in self.options.items() if value != ANY)

    @property
    def circumstances(self) -> str:
        """Network, library, size, processes, arguments and further conditions in words."""
        sizes = " to ".join(format_size(parse_size(one)) for one in self.sizes)
        size = sizes or (self.size and f"{self.size} messages")
        counts = [f"{count} {word}" for count, word in ((self.processes, "processes"), (self.nodes, "nodes")) if count]
        return ", ".join(filter(None, [self.network, self.library, size, *counts, self.arguments, self.conditions]))


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper: how much of a total would be saved if some of its parts became cheaper.

    Parameters
    ----------
    text : what becomes cheaper.
    total, parts : names of numbers.
    cheaper : by how much, %.
    saved : part of the total that is saved, %, as printed.
    where : table or section.
    page : page of the paper; 0 if unknown.
    relation : relation of `saved`: it is exact, ``above`` or ``up to`` it.
    to : what the part would take then, in the unit of the total; `cheaper` is rounded. 0 if the paper names none.
    drawn : point of the paper's figure that `saved` belongs to, % cheaper; 0 if it is `cheaper` itself.
    note : what to know about it.
    """

    text: str
    total: str
    parts: tuple[str, ...]
    cheaper: float
    saved: float
    where: str
    page: int = 0
    relation: Literal["", "above", "up to"] = ""
    to: float = 0
    drawn: float = 0
    note: str = ""

    @property
    def number(self) -> Number:
        """The saving, as a number."""
        return Number(
            name="_".join(("saved", self.total, *self.parts)),
            text=f"{self.total} saved by a cheaper part: {self.text}",
            value=self.saved,
            unit="%",
            relation=self.relation,
            where=self.where,
            page=self.page,
            conditions=f"{self.cheaper:g} % cheaper, modelled",
            unmeasured="derived",
            note=self.note,
        )
