"""What a machine costs without a network, from the points of the family micro that a campaign has of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from labkit.point.columns import METRICS, statistic_column
from labkit.point.units import format_number, format_range, format_size
from labkit.read import columnar as reading
from labkit.read import records
from labkit.read.records import headline_statistic
from labkit.store.campaign import Campaign


@dataclass(frozen=True, kw_only=True)
class Cost:
    """A measured cost or rate.

    Parameters
    ----------
    metric : as in `labkit.point.columns.METRICS`.
    value, low, high : headline statistic and its interval over launches, s or B/s; NaN ends for a single launch.
    launches : behind it.
    """

    metric: str
    value: float
    low: float
    high: float
    launches: int

    def __str__(self) -> str:
        factor, unit = METRICS[self.metric].factor, METRICS[self.metric].unit
        ends = "" if math.isnan(self.low) else f" ({format_range(self.low * factor, self.high * factor)})"
        word = "launch" if self.launches == 1 else "launches"
        value = format_number(self.value * factor, width=(self.high - self.low) * factor)
        return f"{value} {unit}{ends} in {self.launches} {word}"


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Costs of one machine.

    Parameters
    ----------
    copies : size in B → rate at which one core copies it (micro.memory_copy).
    crossings : size in B → rate at which a core copies it that another one wrote (micro.core_to_core_copy).
    line : a line of cache from one core to another (micro.core_to_core).
    system_call : micro.system_call.
    wake_ups : option `cores` → micro.wake_up.
    messages : size in B → time of a message over the loopback interface from a thread to itself (micro.loopback).
    """

    copies: Mapping[int, Cost] = field(default_factory=dict)
    crossings: Mapping[int, Cost] = field(default_factory=dict)
    line: Cost | None = None
    system_call: Cost | None = None
    wake_ups: Mapping[str, Cost] = field(default_factory=dict)
    messages: Mapping[int, Cost] = field(default_factory=dict)

    def copy(self, size: int) -> tuple[int, Cost] | None:
        """The rate of a copy of a size (see `_near`); with the size that was measured."""
        return _near(self.copies, size)

    def crossing(self, size: int) -> tuple[int, Cost] | None:
        """The same of a copy that another core wrote."""
        return _near(self.crossings, size)

    def message(self, size: int) -> tuple[str, Cost] | None:
        """The time of a loopback message of a size, which is named with the measured sizes that it follows from.

        Between two measured sizes, and beyond the largest two, the time follows the line through both; beyond a single
        one it is at least as long. None below the smallest one; a byte represents no bytes.
        """
        size = max(size, 1)
        known = sorted(self.messages)
        if not known or size < known[0]:
            return None
        above = next((one for one in known if one >= size), known[-1])
        below = max((one for one in known if one < above), default=above)
        first, second = self.messages[below], self.messages[above]
        if above == size or below == above:
            return format_size(above), second
        part = (size - below) / (above - below)
        times = {name: (1 - part) * getattr(first, name) + part * getattr(second, name) for name in _TIMES}
        words = f"{format_size(size)} (by {format_size(below)} and {format_size(above)})"
        return words, replace(first, **times, launches=min(first.launches, second.launches))

    def passing(self, size: int) -> tuple[str, Cost] | None:
        """The same for a rate; None beyond a single measured size, too."""
        return self.message(size) if len(self.messages) > 1 or size in self.messages else None

    @property
    def wake_up(self) -> Cost | None:
        """The cheapest wake-up, if that on one core was measured too: the scheduler may choose either."""
        between = {cores for cores in self.wake_ups if not _on_one(cores)}
        if not between or between == set(self.wake_ups):
            return None
        return min(self.wake_ups.values(), key=lambda cost: cost.value)

    @property
    def slowest_wake_up(self) -> Cost | None:
        """The slowest wake-up: usually on another core, which is unavoidable if the scheduler chooses it."""
        return max(self.wake_ups.values(), key=lambda cost: cost.value, default=None)


def _on_one(cores: str) -> bool:
    """Whether an option `cores` of micro.wake_up means one core: ``one``, or the same core twice, as ``3-3``."""
    return cores == "one" or len({*cores.split("-")}) <= cores.count("-")


def measured_costs(summary: pd.DataFrame) -> dict[str, Costs]:
    """Host → its costs, from a summary; rows of other benchmarks than `BENCHMARKS` are left out."""
    costs: dict[str, Costs] = {}
    for host, rows in summary.groupby("host", sort=False) if "host" in summary else ():
        lines, calls = _costs(rows, "micro.core_to_core"), _costs(rows, "micro.system_call")
        wakes = _costs(rows, "micro.wake_up")
        copies = {size: cost for size, _, cost in _costs(rows, "micro.memory_copy")}
        crossings = {size: cost for size, _, cost in _costs(rows, "micro.core_to_core_copy")}
        costs[str(host)] = Costs(
            copies=copies,
            crossings=crossings,
            line=min((cost for *_, cost in lines), key=lambda cost: cost.value, default=None),
            system_call=min((cost for *_, cost in calls), key=lambda cost: cost.value, default=None),
            wake_ups={cores: cost for _, cores, cost in wakes},
            messages={size: cost for size, _, cost in _costs(rows, "micro.loopback") if size},
        )
    return costs


_TIMES = ("value", "low", "high")
BENCHMARKS = {  # → metric
    "micro.core_to_core": "line_transfer_ns",
    "micro.core_to_core_copy": "bandwidth_MBps",
    "micro.loopback": "latency_us",
    "micro.memory_copy": "bandwidth_MBps",
    "micro.system_call": "system_call_ns",
    "micro.wake_up": "wake_up_us",
}


def read(campaign: Campaign) -> dict[str, Costs]:
    """Host → its costs, of a campaign."""
    tables = [table for name in BENCHMARKS if len(table := reading.read_campaigns(campaign, benchmark=name).records)]
    return measured_costs(pd.concat([records.summary(table) for table in tables], ignore_index=True)) if tables else {}


def _near(rates: Mapping[int, Cost], size: int) -> tuple[int, Cost] | None:
    """The higher rate of the two measured sizes around a size; with that size.

    Between them, the rate cannot be read: it rises while calls cost, and falls where a cache ends.
    """
    below = max((one for one in rates if one <= size), default=None)
    above = min((one for one in rates if one >= size), default=None)
    near = {one: rates[one] for one in (below, above) if one is not None}
    return max(near.items(), key=lambda one: one[1].value) if near else None


def _costs(rows: pd.DataFrame, benchmark: str) -> list[tuple[int, str, Cost]]:
    """Size, option `cores` and cost of each point of a benchmark; what costs nothing was not measured."""
    rows, metric = rows[rows["benchmark"] == benchmark], BENCHMARKS[benchmark]
    if not len(rows):
        return []
    column, factor = statistic_column(metric, headline_statistic(rows, metric)), METRICS[metric].factor
    costs = []
    needed = {column, f"{metric}_low", f"{metric}_high", "launches", "options", "message_size_B"}
    known = records.sound(rows[rows[column].notna()], metric)
    for row in known[[name for name in known if name in needed]].to_dict("records"):
        value, low, high = (float(row[name]) / factor for name in (column, f"{metric}_low", f"{metric}_high"))
        if not 0 < value < math.inf or low <= 0:
            continue
        cost = Cost(metric=metric, value=value, low=low, high=high, launches=int(row["launches"]))
        options = json.loads(row.get("options") or "{}")
        costs.append((int(row["message_size_B"]), str(options.get("cores", "")), cost))
    return costs
