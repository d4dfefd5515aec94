"""The sides of a comparison: the launches of campaigns with their factors, whole or by the levels of a factor."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.errors import SpecError, alike
from labkit.point.columns import METRICS, statistic_column
from labkit.read import columnar as reading
from labkit.read import records
from labkit.read.records import DECILES, GIVEN
from labkit.read.records.factors import ASSUMED, NONE, SETTING, distinct
from labkit.read.records.factors import level as level_text
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import BROUGHT

# where and for how long: these must be the same on all sides, but launches of one side may differ in them
CONDITIONS = ("host", "cpu_model", "nic", "kernel", "effort")
_UNSTATED = ("transport", "library", "launcher", "engine", "device", "hosts", "ppn", "bind")  # in printed tables
_NEEDED = (
    *SETTING,
    *("benchmark", "message_size_B", "host", "cpu_model", "launch", "fingerprint", "start", "session", "elapsed_s"),
    *("badges", "warnings", "n", "ranks_assumed"),
    *(statistic_column(metric, statistic) for metric in METRICS for statistic in (*records.HEADLINES, "step")),
)


@dataclass(frozen=True, eq=False)
class Launches:
    """Launches of one benchmark for a comparison.

    Parameters
    ----------
    benchmark : whose.
    rows : rows of the records.
    factors : name → level of each launch as text, (launches,); a dash if it is unknown.
    deciles : metric → deciles of the iterations of each launch, the slow end last, (launches, 9); NaN without samples.
    """

    benchmark: str
    rows: pd.DataFrame
    factors: Mapping[str, NDArray[np.object_]]
    deciles: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of launches."""
        return len(self.rows)

    def level(self, factor: str) -> NDArray[np.object_]:
        """Return the level of a factor for each launch, (launches,)."""
        return self.factors[factor] if factor in self.factors else np.full(len(self), NONE, object)

    def told(self, factor: str) -> NDArray[np.object_]:
        """Return the levels of a factor for people; a number of ranks that labkit assumed is marked."""
        levels = self.level(factor)
        return np.where(self.assumed, levels + ASSUMED, levels) if factor == "ranks" else levels

    @property
    def assumed(self) -> NDArray[np.bool_]:
        """Whether labkit assumed the number of ranks of each launch, (launches,)."""
        return np.asarray(self.rows["ranks_assumed"].to_numpy(bool))

    def where(self, chosen: NDArray[np.bool_]) -> Launches:
        """Return some of the launches."""
        factors = {name: levels[chosen] for name, levels in self.factors.items()}
        deciles = {name: values[chosen] for name, values in self.deciles.items()}
        return Launches(self.benchmark, self.rows[chosen].reset_index(drop=True), factors, deciles)


Side = Sequence[Launches]  # of several benchmarks, and of several campaigns


def together(side: Side, benchmark: str) -> Launches:
    """Return all launches of a benchmark on one side."""
    parts = [one for one in side if one.benchmark == benchmark]
    if len(parts) == 1:
        return parts[0]
    rows = pd.concat([one.rows for one in parts], ignore_index=True) if parts else pd.DataFrame()
    names = dict.fromkeys(name for one in parts for name in one.factors)
    factors = {name: np.concatenate([one.level(name) for one in parts]) for name in names}
    deciles = {
        name: np.concatenate([one.deciles.get(name, np.full((len(one), len(DECILES)), np.nan)) for one in parts])
        for name in dict.fromkeys(name for one in parts for name in one.deciles)
    }
    return Launches(benchmark, rows, factors, deciles)


def read(campaign: Campaign, benchmark: str = "*", metric: str = "") -> list[Launches]:
    """Read the launches of a campaign, all or those of the benchmarks that match a pattern.

    Parameters
    ----------
    metric : metric to take deciles of (default: the first of each benchmark).
    """
    return [
        launches
        for name in campaign.benchmarks(benchmark)
        for launches in _of(reading.read_campaigns(campaign, benchmark=name, columns=_needed, deciles=True), metric)
    ]


def _needed(name: str) -> bool:
    """Return whether a comparison needs a column of the records."""
    return name in _NEEDED or name.startswith(GIVEN)


def of_samples(samples: Sequence[Samples], metric: str = "") -> list[Launches]:
    """Make the launches of a comparison from samples.

    Parameters
    ----------
    metric : metric to take deciles of (default: the first of each benchmark).

    Returns
    -------
    Those of each benchmark.
    """
    return _of(reading.of_samples(samples), metric)


def _of(launches: reading.Launches, metric: str) -> list[Launches]:
    """Return the launches of each benchmark with what records do not have."""
    frame = launches.records
    if not len(frame):
        return []
    needed = [name for name in frame if _needed(str(name))]  # a row has hundreds of columns
    factors = _factors(frame)
    conditions = [_conditions(kind) for kind in launches.kinds]
    for name in dict.fromkeys(name for each in conditions for name in each):
        factors[name] = np.array([each.get(name, NONE) for each in conditions], object)[launches.kind]
    every = Launches("", frame[needed], factors, _deciles(launches, metric))
    names = frame["benchmark"].to_numpy(object)
    return [replace(every.where(names == name), benchmark=str(name)) for name in dict.fromkeys(names.tolist())]


def _conditions(one: Samples) -> dict[str, str]:
    """Return what the records do not have: kernel, network cards and effort."""
    if one.origin in BROUGHT:
        return {}
    nics = {
        " ".join(filter(None, map(str, (nic.get("driver"), nic.get("model"), nic.get("speed_Mbps")))))
        for nic in _tables(one.host.get("nics"))
        if nic.get("physical") and nic.get("state") == "up"
    }
    devices = {f"{device.get('type')} {device.get('rate')}" for device in _tables(one.host.get("rdma_devices"))}
    effort = one.effort.as_dict()
    given = [f"{name}={effort[name]}" for name in ("iterations", "warmup") if effort[name] is not None]
    if effort["iterations"] is None:
        given += [f"{name}={effort[name]:g}" for name in ("ci", "time_cap")]
    return {
        "kernel": str(one.host.get("kernel") or NONE),
        "nic": ", ".join(sorted(nics | devices)) or NONE,
        "effort": " ".join(given),
    }


def _tables(value: object) -> list[Mapping[str, Any]]:
    """Return the tables in a list of the host's facts; campaigns of others may hold anything there."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list | tuple) else []


def _deciles(launches: reading.Launches, metric: str) -> dict[str, NDArray[np.float64]]:
    """Return the deciles of the iterations of launches, values that occurred, (launches, 9), by their metrics."""
    sizes, found = launches.records["message_size_B"].to_numpy(np.int64), dict[str, NDArray[np.float64]]()
    of_kind = cache(launches.deciles)
    order = np.argsort(launches.kind, kind="stable")
    starts = np.flatnonzero(np.diff(launches.kind[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        spec = launches.kinds[launches.kind[rows[0]]].spec
        benchmark = benchmarks.runnable(spec.benchmark)
        name = metric or next(iter(benchmark.metrics if benchmark else ()), "")
        if not benchmark or name not in benchmark.metrics:
            continue
        times = of_kind(METRICS[name].kind)[rows]
        values = records.of_seconds(times, benchmark, name, spec, sizes[rows])
        found.setdefault(name, np.full((len(sizes), len(DECILES)), np.nan))[rows] = values
    return found


def _factors(frame: pd.DataFrame) -> dict[str, NDArray[np.object_]]:
    """Return the factors of launches with their levels."""
    given = {
        f"env.{name.removeprefix(GIVEN[1])}" if name.startswith(GIVEN[1]) else name.removeprefix(GIVEN[0]): name
        for name in frame
        if name.startswith(GIVEN)
    }
    columns = given | {name: name for name in (*SETTING, "host", "cpu_model")}
    factors = {name: _levels(frame[column]) for name, column in columns.items()}
    brought = frame["origin"].isin(BROUGHT).to_numpy(bool)
    if brought.any():
        factors |= {name: np.where(brought, NONE, factors[name]) for name in _UNSTATED}
    return factors


def _levels(column: pd.Series) -> NDArray[np.object_]:
    """Return the level of each row as text."""
    codes, values = distinct(column)
    return np.array([level_text(value) for value in values], object)[codes]


def restricted(sides: Mapping[str, Side], where: Mapping[str, Collection[str]]) -> dict[str, list[Launches]]:
    """Return the launches that have one of the given levels of each factor.

    Raises
    ------
    SpecError
        If no launch has such a factor or level.
    """
    chosen = {name: [*side] for name, side in sides.items()}
    for name, levels in where.items():
        every = [one for side in chosen.values() for one in side]
        known([name], every, "--where")
        chosen = {place: _having(side, name, levels) for place, side in chosen.items()}
        if not any(chosen.values()):
            present = ", ".join(sorted(_present(every, name)))
            raise SpecError(f"--where {name}={','.join(levels)}, but no point has that level. There are: {present}.")
    return chosen


def _having(side: Side, factor: str, levels: Collection[str]) -> list[Launches]:
    """Return the launches that have one of some levels of a factor."""
    chosen = (one.where(np.isin(one.level(factor), [*levels])) for one in side)
    return [one for one in chosen if len(one)]


def _present(launches: Side, factor: str) -> set[str]:
    """Return the levels of a factor that launches have."""
    return {str(level) for one in launches for level in pd.unique(one.level(factor))}


def known(names: Collection[str], launches: Side, word: str) -> None:
    """Refuse names of factors that no launch has."""
    present = {name for one in launches for name in one.factors} | {*SETTING, *CONDITIONS}
    for name in names:
        if name not in present:
            near = alike(name, sorted(present))
            raise SpecError(
                f"{word} {name}, but there is no such factor. {near}There are: {', '.join(sorted(present))}."
            )


def by_levels(launches: Side, factor: str, levels: Sequence[str] = ()) -> dict[str, list[Launches]]:
    """Divide launches into sides by the levels of a factor.

    Parameters
    ----------
    levels : sides in their order; the first is the base (default: all levels, sorted).

    Raises
    ------
    SpecError
        If there are fewer than two levels.
    """
    known([factor], launches, "--by")
    present = sorted(_present(launches, factor) - {NONE})
    chosen = list(levels) or present
    absent = [name for name in chosen if name not in present]
    if absent or len(set(chosen)) < 2:
        problem = f"no point has the level {absent[0]}" if absent else "a comparison needs two levels"
        raise SpecError(f"--by {factor}, but {problem}. There are: {', '.join(present) or 'none'}.")
    sides = [_having(launches, factor, [name]) for name in chosen]
    return {
        max(text for one in side for text in pd.unique(one.told(factor))): side for side in sides
    }  # the marked text is longer, and max takes it
