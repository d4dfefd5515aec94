"""The sides of a comparison: the launches of campaigns with their factors, whole or by the levels of a factor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, records
from labkit.analysis.comparison.judging import DECILES
from labkit.campaign import Campaign
from labkit.columns import METRICS, statistic_column
from labkit.errors import SpecError, alike
from labkit.records import GIVEN
from labkit.records.factors import ASSUMED, NONE, SETTING
from labkit.records.factors import level as level_text
from labkit.samples import Samples
from labkit.samples.facts import BROUGHT, FINGERPRINT, TIMING

# where and for how long: these must be the same on all sides, but launches of one side may differ in them
CONDITIONS = ("host", "cpu_model", "nic", "kernel", "effort")
_UNSTATED = ("transport", "library", "launcher", "engine", "device", "hosts", "ppn", "bind")  # in printed tables
_NEEDED = (
    *SETTING,
    *("benchmark", "message_size_B", "host", "cpu_model", "launch", "fingerprint", "start", "elapsed_s"),
    *("badges", "warnings", "n", "ranks_assumed"),
    *(statistic_column(metric, statistic) for metric in METRICS for statistic in (*records.HEADLINES, "step")),
)


@dataclass(frozen=True)
class Launch:
    """One launch of a point, as far as a comparison needs it.

    Parameters
    ----------
    benchmark, size : of the point.
    factors : name → level as text; a dash where it is not stated.
    row : of the records.
    deciles : metric → deciles of its iterations, the slow side last; empty without samples.
    """

    benchmark: str
    size: int
    factors: Mapping[str, str]
    row: Mapping[str, Any]
    deciles: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def told(self, factor: str) -> str:
        """Return the level of a factor for people; a number of ranks that labkit assumed is marked."""
        assumed = factor == "ranks" and bool(self.row.get("ranks_assumed"))
        return self.factors.get(factor, NONE) + (ASSUMED if assumed else "")

    @property
    def name(self) -> tuple[Any, ...]:
        """What makes it one and the same launch in several campaigns."""
        row = self.row
        return self.benchmark, self.size, row["fingerprint"], row["start"], row["elapsed_s"], row["origin"]


def read(campaign: Campaign, benchmark: str = "*", metric: str = "") -> list[Launch]:
    """Read the launches of a campaign, all or those of the benchmarks that match a pattern.

    Parameters
    ----------
    metric : to take deciles of (default: the first of each benchmark).
    """
    return [
        launch
        for name in campaign.benchmarks(benchmark)
        for launch in of_samples(campaign.samples(name), campaign.name, metric)
    ]


def of_samples(samples: Iterable[Samples], campaign: str = "", metric: str = "") -> list[Launch]:
    """Make the launches of a comparison from samples, which are read once and not kept.

    Parameters
    ----------
    campaign : name of the campaign they are from.
    metric : to take deciles of (default: the first of each benchmark).
    """
    beside: dict[tuple[str, int], tuple[dict[str, str], dict[str, NDArray[np.float64]]]] = {}

    def watched() -> Iterator[Samples]:
        for one in samples:
            beside[str(FINGERPRINT.of(one.meta)), one.launch] = _conditions(one), _deciles(one, metric)
            yield one

    frame = records.table(watched(), campaign=campaign)
    needed = [name for name in frame if name in _NEEDED or name.startswith(GIVEN)]  # a row has hundreds of columns
    launches = []
    for row in frame[needed].to_dict("records"):
        conditions, deciles = beside.get((row["fingerprint"], row["launch"]), ({}, {}))
        factors = _factors(row) | conditions
        launches.append(Launch(row["benchmark"], int(row["message_size_B"]), factors, row, deciles))
    return launches


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


def _deciles(one: Samples, metric: str) -> dict[str, NDArray[np.float64]]:
    """Return the deciles of the iterations of a launch, values that occurred."""
    benchmark = benchmarks.find().get(one.spec.benchmark)
    name = metric or next(iter(benchmark.metrics if benchmark else ()), "")
    if not one.n or not benchmark or name not in benchmark.metrics or TIMING.of(one.meta) == "total":
        return {}
    parts = np.array(DECILES) / 100
    parts = 1 - parts if METRICS[name].kind == "rate" else parts
    return {name: np.quantile(records.values(one, name), parts, method="inverted_cdf")}


def _factors(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the factors of a launch with their levels."""
    given = {
        f"env.{name.removeprefix(GIVEN[1])}" if name.startswith(GIVEN[1]) else name.removeprefix(GIVEN[0]): value
        for name, value in row.items()
        if name.startswith(GIVEN)
    }
    factors = {name: level_text(value) for name, value in given.items()}
    factors |= {name: level_text(row[name]) for name in (*SETTING, "host", "cpu_model")}
    if row["origin"] in BROUGHT:
        factors |= dict.fromkeys(_UNSTATED, NONE)
    return factors


def restricted(launches: Sequence[Launch], where: Mapping[str, Collection[str]]) -> list[Launch]:
    """Return the launches that have one of the given levels of each factor.

    Raises
    ------
    SpecError
        If no launch has such a factor or level.
    """
    for name, levels in where.items():
        known([name], launches, "--where")
        present = sorted({one.factors.get(name, NONE) for one in launches})
        launches = [one for one in launches if one.factors.get(name, NONE) in levels]
        if not launches:
            raise SpecError(
                f"--where {name}={','.join(levels)}, but no point has that level. There are: {', '.join(present)}."
            )
    return list(launches)


def known(names: Collection[str], launches: Sequence[Launch], word: str) -> None:
    """Refuse names of factors that no launch has."""
    present = {name for one in launches for name in one.factors} | {*SETTING, *CONDITIONS}
    for name in names:
        if name not in present:
            near = alike(name, sorted(present))
            raise SpecError(
                f"{word} {name}, but there is no such factor. {near}There are: {', '.join(sorted(present))}."
            )


def by_levels(launches: Sequence[Launch], factor: str, levels: Sequence[str] = ()) -> dict[str, list[Launch]]:
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
    present = sorted({one.factors.get(factor, NONE) for one in launches} - {NONE})
    chosen = list(levels) or present
    absent = [name for name in chosen if name not in present]
    if absent or len(set(chosen)) < 2:
        problem = f"no point has the level {absent[0]}" if absent else "a comparison needs two levels"
        raise SpecError(f"--by {factor}, but {problem}. There are: {', '.join(present) or 'none'}.")
    sides = [[one for one in launches if one.factors.get(factor, NONE) == name] for name in chosen]
    return {
        max(one.told(factor) for one in side): side for side in sides
    }  # the marked text is longer, and max takes it
