"""Whether a bandwidth or a latency is as good as its path allows, which bound binds, and what to check next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from labkit import benchmarks
from labkit.models import bounds
from labkit.models import costs as measured_costs
from labkit.models.bounds import Bound, Stated
from labkit.models.costs import Costs
from labkit.models.inside import TWICE, of_host
from labkit.models.links import ethernet, pcie_generation
from labkit.point.columns import METRICS, statistic_column
from labkit.point.conditions import of_machine
from labkit.point.notes import has
from labkit.point.spec import Spec
from labkit.point.units import format_number, format_share, format_size
from labkit.read.columnar import Launches
from labkit.read.records import headline_statistic, in_effect, rerun, sound
from labkit.read.records.factors import alike, differing, level, named
from labkit.store.samples import Samples
from labkit.store.samples.facts import badges

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal[
    "good", "doubtful", "bad", "within its bound", "above its bound", "no bound", "above its floor", "below its floor"
]
_BY_RULE = ("good", "doubtful", "bad")
GOOD, BAD = 0.9, 0.7  # part of the bound
TOLERANCE = 0.02  # part by which a measurement may exceed its bound: headers that are smaller than assumed, clocks
RULE = (
    f"good: the interval lies at {format_share(GOOD)} of the bound or above; bad: it lies below {format_share(BAD)}; "
    "doubtful: neither. Of a single launch, the value decides. "
    "Over shared memory the limits are parts of the rate of two copies, one after the other, because libraries usually "
    "copy twice; the second is of bytes that another core wrote (without micro.core_to_core_copy: two equal copies). "
    "Over loopback, the copy rate is too far off to judge by. A value more than "
    f"{format_share(TOLERANCE)} above its bound (of a measured bound: its interval) is a defect of one of the two"
)
_DOUBTS = {  # code of a badge → what to do
    "functional": "measure with an adapter: soft-RoCE in an emulated guest shows function, not performance",
    "gpu-stand-in": "measure on a machine with a GPU: the stand-in shows function, not performance",
    "busy-machine": "labkit doctor   # see what else runs, then measure again",
    "oversubscription": "measure with at most one rank for each core",
    "path-mismatch": "labkit doctor   # the bytes did not take the path that was asked for: see the interface counters",
}
_COSTS = {  # benchmark → the costs of a machine that it measures
    "micro.memory_copy": "copies",
    "micro.core_to_core_copy": "crossings",
    "micro.core_to_core": "line",
    "micro.system_call": "system_call",
    "micro.wake_up": "wake_ups",
}
_LARGE = 1 << 20  # B: below, the cost of a message still counts
_FAST = 10e9  # bit/s from which an MTU of 1500 costs noticeably


@dataclass(frozen=True, kw_only=True)
class Step:
    """Something to check.

    Parameters
    ----------
    what : it may be.
    why : evidence.
    command : that shows or changes it.
    """

    what: str
    why: str
    command: str


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One setting of a benchmark beside its bound.

    Parameters
    ----------
    benchmark, setting, size, metric, statistic : of the point; bandwidth: the best size, latency: the smallest.
    value, low, high : with its interval over launches, in the unit of the metric; NaN for one launch.
    launches : behind it.
    bound : that binds; None if nothing bounds the path.
    limit : the bound in the unit of the metric, or what the verdict goes by where that is less; NaN without one.
    others : bounds that do not bind.
    share : part of the limit; of a latency the floor over the latency. NaN without a bound.
    verdict : by `RULE`.
    reason : why there is no bound, or why the verdict is a defect.
    steps : what to check next, most likely first.
    """

    benchmark: str
    setting: str
    size: int
    metric: str
    statistic: str
    value: float
    low: float
    high: float
    launches: int
    bound: Bound | None
    limit: float
    others: tuple[Bound, ...]
    share: float
    verdict: Verdict
    reason: str
    steps: tuple[Step, ...]

    @property
    def quantity(self) -> str:
        """What the value is, as the benchmark defines it."""
        return bounds.quantity(self.benchmark, self.metric)

    @property
    def binds(self) -> str:
        """What the limit is; empty without one."""
        if self.bound is None:
            return ""
        return TWICE if self.verdict in _BY_RULE and self.bound.judging != self.bound.value else self.bound.name


def judge(
    launches: Launches,
    summary: pd.DataFrame,
    stated: Stated | None = None,
    costs: Mapping[str, Costs] | None = None,
) -> list[Judged]:
    """Judge every setting of the benchmarks that have bounds; simulated points are left out.

    Parameters
    ----------
    launches : of the campaign; of a point, the first stands for all.
    summary : of the same campaign, from `labkit.read.records.summary`.
    stated : what a user says of the path.
    costs : what the hosts cost without a network; of the same summary if left out.

    Returns
    -------
    Bandwidths first, in the order of the summary.

    Raises
    ------
    SpecError
        If a statement cannot be read.
    """
    chosen = list(_chosen(summary))
    names = launches.records["fingerprint"]
    places = np.flatnonzero(names.isin([one.fingerprint for one in chosen]))[::-1].tolist()
    first = dict(zip(names.iloc[places], places, strict=True))
    samples = launches.samples([*first.values()])
    points = {name: samples[row] for name, row in first.items() if row in samples}
    costs = measured_costs.measured_costs(summary) if costs is None else costs
    stated = stated or Stated()
    return [_judged(one, points[one.fingerprint], stated, costs) for one in chosen if one.fingerprint in points]


@dataclass(frozen=True, kw_only=True)
class _Chosen:
    """The point that stands for a setting, the largest size of it, and the numbers of streams of its benchmark."""

    row: Mapping[str, Any]
    metric: str
    statistic: str
    setting: str
    largest: int
    streams: frozenset[str]

    @property
    def fingerprint(self) -> str:
        return str(self.row["fingerprint"])


def _chosen(summary: pd.DataFrame) -> Iterator[_Chosen]:
    """Choose of each setting its highest bandwidth, and the latency of its smallest size."""
    kinds = ((bounds.directions_of, ("bandwidth_MBps",)), (bounds.crossings_of, ("round_trip_us", "latency_us")))
    for bounded_by, metrics in kinds:
        for name in filter(bounded_by, dict.fromkeys(summary["benchmark"])):
            rows = summary[(summary["benchmark"] == name) & (summary["origin"] != "simulated")]
            if metric := next((metric for metric in metrics if len(_having(rows, metric))), ""):
                yield from _of_settings(_having(rows, metric), metric)


def _having(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows that have a value of a metric which the clock resolves."""
    column = statistic_column(metric, headline_statistic(rows, metric))
    return sound(rows[rows[column].notna()], metric) if column in rows else rows[:0]


def _of_settings(rows: pd.DataFrame, metric: str) -> Iterator[_Chosen]:
    """Choose from the points of one benchmark that have a metric."""
    statistic = headline_statistic(rows, metric)
    column = statistic_column(metric, statistic)
    factors = differing(rows, skip=["fingerprint"])
    streams = frozenset(map(level, rows["option_streams"].unique()) if "option_streams" in rows else ())
    values, sizes = rows[column].to_numpy(np.float64), rows["message_size_B"].to_numpy()
    groups = alike(rows, factors)
    places = [
        group[values[group].argmax() if metric == "bandwidth_MBps" else sizes[group].argmin()] for group in groups
    ]
    shown = dict.fromkeys(
        ["fingerprint", "message_size_B", "launches", column, f"{metric}_low", f"{metric}_high", *factors]
    )
    for row, group in zip(rows[[*shown]].iloc[places].to_dict("records"), groups, strict=True):
        yield _Chosen(
            row=row,
            metric=metric,
            statistic=statistic,
            setting=", ".join(f"{named(name)} {level(row[name])}" for name in factors),
            largest=int(sizes[group].max()),
            streams=streams,
        )


def _judged(chosen: _Chosen, samples: Samples, stated: Stated, costs: Mapping[str, Costs]) -> Judged:
    """Judge one point."""
    row, metric = chosen.row, chosen.metric
    highest = metric == "bandwidth_MBps"
    known = (bounds.of_bandwidth if highest else bounds.of_latency)(samples, stated, costs)
    bound = known[0] if known else None
    value = float(row[statistic_column(metric, chosen.statistic)])
    low, high = float(row[f"{metric}_low"]), float(row[f"{metric}_high"])
    ends = (value, value) if math.isnan(low) or math.isnan(high) else (low, high)
    verdict, reason = _verdict(*ends, bound, METRICS[metric].factor, highest=highest)
    if bound is None:
        reason = _unbounded(samples, stated, costs)
    by = (bound.judging if verdict in _BY_RULE else bound.value) if bound else math.nan
    limit = by * METRICS[metric].factor
    return Judged(
        benchmark=samples.spec.benchmark,
        setting=chosen.setting,
        size=int(row["message_size_B"]),
        metric=metric,
        statistic=chosen.statistic,
        value=value,
        low=low,
        high=high,
        launches=int(row["launches"]),
        bound=bound,
        limit=limit,
        others=known[1:],
        share=value / limit if highest else limit / value if value else math.nan,
        verdict=verdict,
        reason=reason,
        steps=_checks(samples, bound, chosen, stated) if verdict in ("doubtful", "bad") else (),
    )


def _verdict(low: float, high: float, bound: Bound | None, factor: float, *, highest: bool) -> tuple[Verdict, str]:
    """The verdict, and why it is a defect."""
    if bound is None:
        return "no bound", ""
    said = f"the {'rate' if highest else 'delay'} that the path is said to have"
    wrong = "the measured bound" if bound.measured else said
    least, most = (end * factor for end in bound.ends)
    if not highest:
        if high < least * (1 - TOLERANCE):
            return "below its floor", f"{wrong}, or the measurement, is wrong"
        return "above its floor", ""
    if low > most * (1 + TOLERANCE):
        return "above its bound", f"{wrong}, or the measurement, is wrong"
    if not bound.close:
        return "within its bound", ""
    limit = bound.judging * factor
    return ("good" if low >= GOOD * limit else "bad" if high < BAD * limit else "doubtful"), ""


def _unbounded(samples: Samples, stated: Stated, costs: Mapping[str, Costs]) -> str:
    """Why nothing bounds the path of a point, and what to measure or to state."""
    if inside := bounds.inside(samples):
        known = of_host(samples, costs)
        missing = [name for name, cost in _COSTS.items() if not getattr(known, cost)]
        measure = f"; measure {_listed(missing)} into the same campaign, which bound it" if missing else ""
        where = "shared memory" if inside == "shared-memory" else "loopback interface"
        return f"{where}: the processor copies, no link bounds it{measure}"
    if has(badges(samples.meta), "path-unknown"):
        return "too few bytes passed to prove the path of the messages: measure more iterations, or set the transport"
    if bounds.many_links(samples):
        return "pairs of ranks on more than two hosts have links of their own, which add up"
    if samples.spec.testbed.startswith("soft-roce"):
        return "soft-RoCE without a rate: the processor bounds it"
    with suppress(*bounds.UNREADABLE):
        if bounds.path(samples, stated) is not None:
            return "the link has no delay, and its rate delays larger messages only"
    return "the samples do not say which link carried the bytes, or its rate: state --link and --mtu"


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


# ---- what to check ---------------------------------------------------------------------------------------------------


def _checks(samples: Samples, bound: Bound | None, chosen: _Chosen, stated: Stated) -> tuple[Step, ...]:
    """What to check; nothing if the description of the host, which may come from anyone, cannot be read."""
    try:
        return tuple(_steps(samples, bound, chosen, stated))
    except bounds.UNREADABLE:
        return ()


def _steps(samples: Samples, bound: Bound | None, chosen: _Chosen, stated: Stated) -> Iterator[Step]:
    """What to check, most likely first. Only what the point does not exclude, and what was not in effect."""
    nics = {nic["name"]: nic for nic in samples.host.get("nics") or ()}
    used = bounds.carrier(samples)
    nic = nics.get(used, {})
    for badge in badges(samples.meta):
        if badge.code in _DOUBTS:
            yield Step(what=badge.text, why="badge of the point", command=_DOUBTS[badge.code])
    if bound is not None and bound.measured and bounds.inside(samples) == "shared-memory":
        yield Step(
            what="two copies",
            why="a library that cannot read the memory of another process (CMA, XPMEM, KNEM) copies each byte twice",
            command="cat /proc/sys/kernel/yama/ptrace_scope   # 1 or more forbids CMA",
        )
    if bound is not None and not bound.measured and chosen.largest < _LARGE:
        yield Step(
            what="messages are too small",
            why=f"the largest size is {format_size(chosen.largest)}",
            command=rerun.command(samples.spec, sizes="1Mi:16Mi"),
        )
    others = [one for name, one in nics.items() if name != samples.spec.device and one.get("state") != "down"]
    faster = [one for one in others if (one.get("speed_Mbps") or 0) > (nic.get("speed_Mbps") or 0)]
    if nic and faster:
        yield Step(
            what="wrong interface",
            why=f"{used} carried the bytes, but {faster[0]['name']} is faster ({faster[0]['speed_Mbps']:,} Mbit/s)",
            command=rerun.command(_over(samples.spec, str(faster[0]["name"]))),
        )
    yield from _slot(nic)
    rate = (nic.get("speed_Mbps") or 0) * 1e6
    mtu = stated.mtu or nic.get("mtu") or 0
    if rate >= _FAST and 0 < mtu < 9000:
        gain = ethernet(9000).share / ethernet(mtu).share - 1
        yield Step(
            what="small packets",
            why=f"the MTU of {used} is {mtu} B: 9000 B carry {format_share(gain)} more payload in fewer packets",
            command=f"ip link set dev {used} mtu 9000   # on all hosts and switches of the path",
        )
    for check in of_machine(samples.host):
        if check.state != "ok" and not (check.name == "SMT" and in_effect.bound(samples)):
            yield Step(what=check.name, why=check.found, command=check.remedy)
    benchmark = benchmarks.get(samples.spec.benchmark)
    if benchmark.ends.one_call and hasattr(benchmark.options(), "streams") and chosen.streams <= {"1"}:
        yield Step(
            what="one processor is the limit",
            why="one stream runs on one core at each end",
            command=rerun.command(_one_stream(samples.spec), "--factor", "streams=1,2,4"),
        )


def _over(spec: Spec, device: str) -> Spec:
    """A spec over another interface; ranks take one over TCP only."""
    return spec.replace(device=device, transport="tcp" if benchmarks.get(spec.benchmark).mpi else spec.transport)


def _one_stream(spec: Spec) -> Spec:
    """A spec without its number of streams."""
    return spec.replace(options={name: value for name, value in spec.values.items() if name != "streams"})


def _slot(nic: dict[str, object]) -> Iterator[Step]:
    """Yield that an adapter runs with fewer lanes or slower than it can."""
    now, best = (
        (pcie_generation(str(nic.get(f"pcie_{end}speed") or "")), nic.get(f"pcie_{end}width")) for end in ("", "max_")
    )
    if all((*now, *best)) and now != best:
        yield Step(
            what="degraded PCI Express link",
            why=f"generation {now[0]} with {now[1]} lanes, but the adapter can {best[0]} with {best[1]}",
            command="sudo lspci -vv | grep -E 'LnkCap|LnkSta'   # then reseat the adapter, or use another slot",
        )


def sentence(one: Judged) -> str:
    """Say in a sentence how good a setting is.

    Examples
    --------
    >>> bound = Bound(name="link", value=1.25e9, formula="", source="stated")
    >>> sentence(Judged(benchmark="mpi.bandwidth", setting="tcp", size=1 << 20, metric="bandwidth_MBps", reason="",
    ...     statistic="p50", value=1100, low=1090, high=1110, launches=6, bound=bound, limit=1250.0, others=(),
    ...     share=0.88, verdict="doubtful", steps=()))
    'mpi.bandwidth (tcp), 1 MiB: 1,100 MB/s is 88 % of what the link allows (1,250 MB/s): doubtful.'
    """
    where = f"{one.benchmark}{f' ({one.setting})' if one.setting else ''}, {format_size(one.size)}"
    unit = METRICS[one.metric].unit
    what = "" if bounds.directions_of(one.benchmark) else f"{one.quantity} "
    value = f"{where}: {what}{format_number(one.value)} {unit}"
    if one.bound is None:
        return f"{value}. No bound: {one.reason}."
    if one.verdict in ("above its floor", "below its floor"):
        floor = f"the floor of the {one.bound.name} ({format_number(one.limit)} {unit})"
        below = f": {one.verdict}: {one.reason}" if one.reason else ""
        return f"{value}, {format_number(1 / one.share)} times {floor}{below}."
    defect = f": {one.reason}" if one.reason else ""
    what = f"the rate of {TWICE}" if one.binds == TWICE else f"what the {one.binds} allows"
    limit = f"{what} ({format_number(one.limit)} {unit})"
    return f"{value} is {format_share(one.share)} of {limit}: {one.verdict}{defect}."


def defects(judged: Sequence[Judged]) -> list[Judged]:
    """Those beyond their bound or below their floor."""
    return [one for one in judged if one.verdict in ("above its bound", "below its floor")]
