"""Whether reads and writes of files are as fast as memory or their device allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import isnan, nan
from typing import Literal

from labkit import stats
from labkit.judge.finding import SHARE, TIMES, Finding, Value, Wanted
from labkit.judge.rule import Rule
from labkit.judge.rules import _paths
from labkit.judge.rules._paths import TOLERANCE, Chosen
from labkit.judge.view import View
from labkit.models.bounds import Bound
from labkit.models.inside import LINK, MACHINE, of_host
from labkit.point.columns import METRICS, statistic_column
from labkit.point.spec import Spec
from labkit.point.storage import MEMORY
from labkit.point.units import MiB, format_number, format_share, format_size
from labkit.read.records import launches_of, rerun
from labkit.store.samples import Samples
from labkit.store.samples.facts import DEVICE, FILESYSTEM, O_DIRECT

_NAMES = ("storage.read", "storage.write")
_METRIC = "bandwidth_MBps"
BEST = "the best of the device in this campaign"
_TOGETHER = "mean"  # statistic of all requests together: their bytes divided by their time
_DEEP = {"depth": 16}  # of the requests that find out what a device can do
_Best = Mapping[tuple[str, ...], Chosen]  # host, device and benchmark → the point with the best rate


def check(view: View) -> Iterator[Finding]:
    """Yield a verdict for each setting of reads and writes."""
    every = _paths.chosen(view, _NAMES.__contains__, (_METRIC,), lambda samples, stated, costs: ())
    chosen = [_together(one, view) for one in every]
    best: dict[tuple[str, ...], Chosen] = {}
    for one in sorted(chosen, key=lambda one: one.measured.value):
        if O_DIRECT.of(one.samples.meta) and one.measured.value:
            best[_device(one.samples)] = one
    yield from map(partial(_judged, view, best), chosen)


def _device(samples: Samples) -> tuple[str, ...]:
    """Return host, device and direction of a point."""
    return str(samples.host.get("name") or ""), DEVICE.of(samples.meta), samples.spec.benchmark


def _answered_by_memory(samples: Samples) -> bool:
    return FILESYSTEM.of(samples.meta) in MEMORY or samples.spec.values.get("cache") == "warm"


def _judged(view: View, best: _Best, one: Chosen) -> Finding:
    top = best.get(_device(one.samples))
    if _answered_by_memory(one.samples):
        bound = _copied(one.samples, view)
        return _found(one, bound, view, bound.name, "") if bound else _no_reference(one, "memory")
    if one.samples.spec.values.get("sync") in ("fsync", "osync"):
        return _no_reference(one, "sync")
    if top is None:
        return _no_reference(one, "device")
    if top.measured.fingerprint == one.measured.fingerprint:
        return _no_reference(one, "best")
    rate = top.measured.value / METRICS[_METRIC].factor
    good, bad = (rate / times for times in LINK)
    low, high = top.measured.low / METRICS[_METRIC].factor, top.measured.high / METRICS[_METRIC].factor
    bound = Bound(name=BEST, value=rate, formula="", source="measured", low=low, high=high, good=good, bad=bad)
    faster = not O_DIRECT.of(one.samples.meta) and one.measured.ends[0] > (1 + TOLERANCE) * top.measured.value
    cached = not O_DIRECT.of(one.samples.meta) and _half(one) > (1 + TOLERANCE) * top.measured.value
    what = f"{BEST}, with {top.beside(one)}"
    if (faster or cached) and _read_ahead(one, top):
        return _found(one, bound, view, what, "ahead")
    return _found(one, bound, view, what, "faster" if faster else "mostly" if cached else "")


def _read_ahead(one: Chosen, top: Chosen) -> bool:
    """Whether the kernel may read ahead of a point, in larger requests than the device's best point has.

    That is so if its reads are sequential and each block is read once, after the page cache was emptied.
    """
    spec, other = one.samples.spec, top.samples.spec
    once = spec.values.get("cache") == "drop" and spec.values.get("pattern") == "sequential"
    return spec.benchmark == "storage.read" and once and other.values.get("pattern") != "sequential"


def _together(one: Chosen, view: View) -> Chosen:
    """Return a point with the rate of all requests together in place of the median request's rate, if known."""
    row, column = view.row(str(one.row["fingerprint"])), statistic_column(_METRIC, _TOGETHER)
    if row is None or one.statistic != "p50" or isnan(float(one.row.get(column, nan))):
        return one
    rates = stats.headline(launches_of(row, _METRIC, _TOGETHER)[0])
    given = {f"{_METRIC}_low": rates.low, f"{_METRIC}_high": rates.high}
    return replace(one, row={**one.row, **given}, statistic=_TOGETHER)


def _half(one: Chosen) -> float:
    """Return the rate that half of the requests reach, in the unit of the metric; NaN if that is not known."""
    return float(one.row.get(statistic_column(_METRIC, "p50"), nan))


def _copied(samples: Samples, view: View) -> Bound | None:
    """Return the rate at which a core copies requests, with a system call for each; None if that is not known."""
    costs, size = of_host(samples, view.costs), samples.spec.size
    near, call = costs.copy(size), costs.system_call
    if near is None or call is None or not size:
        return None
    of_size, copy = near
    value = size / (size / copy.value + call.value)
    good, bad = (value / times for times in MACHINE)
    formula = f"{copy} for copies of {format_size(of_size)} by one core, and {call} for each request"
    return Bound(name="copy and system call", value=value, formula=formula, source="measured", good=good, bad=bad)


def _found(one: Chosen, bound: Bound, view: View, what: str, form: Literal["", "faster", "mostly", "ahead"]) -> Finding:
    limit = one.reference(bound)
    level, unsure = one.leveled(bound)
    share = one.measured.value / limit.value
    return RULE.found(
        replace(one.subject, system=f"{one.subject.system}, {bound.name}"),
        level="doubtful" if form else level,
        form=form,
        cost=max(1.0, 1 / share) if share else float("nan"),
        decided=one.decided,
        measured=one.measured,
        limit=limit,
        goal=one.goal(bound),
        share=Value(value=share, unit=SHARE),
        times=Value(value=share, unit=TIMES),
        what=what,
        answered="answered the reads" if one.samples.spec.benchmark == "storage.read" else "took the writes",
        how=bound.formula,
        **({"half": Value(value=_half(one), unit=METRICS[_METRIC].unit)} if form == "mostly" else {}),
        unsure=unsure,
        measure=() if form else _paths.more(view, level, one),
    )


def _no_reference(one: Chosen, reason: Literal["memory", "device", "best", "sync"]) -> Finding:
    spec = one.samples.spec
    wanted: list[Spec] = []
    if reason == "memory":
        wanted = [Spec(benchmark="micro.memory_copy", size=max(64, spec.size), ranks=1)]
        wanted.append(Spec(benchmark="micro.system_call", size=0, ranks=1))
    elif reason == "device":
        option = {"cache": "direct"} if spec.benchmark == "storage.read" else {"sync": "direct"}
        directory = {name: spec.values[name] for name in ("directory",) if spec.values.get(name)}
        wanted = [spec.replace(size=MiB, options={**option, **_DEEP, **directory})]
    if rerun.imported(spec):
        wanted = []
    return RULE.found(
        one.subject,
        form="no reference",
        measure=tuple(map(Wanted, wanted)),
        measured=one.measured,
        reason=_REASONS[reason],
    )


_REASONS = {
    "memory": "copies and system calls of this machine were not measured",
    "device": "the device was not measured past the page cache",
    "sync": "each write waits for the disk, and nothing else shows how long that must take",
    "best": "it is the best that this campaign has of the device; compare it with the data sheet",
}
RULE = Rule(
    code="storage-of-device",
    kind="verdict",
    level="unknown",
    about="path",
    must="the rate of all requests together counts. From memory, it reaches "
    f"{format_share(1 / MACHINE[0])} of a copy with a system call; from a device, {format_share(1 / LINK[0])} of the "
    "device's best rate in the campaign, and it does not exceed that rate. Below "
    f"{format_share(1 / MACHINE[1])} and {format_share(1 / LINK[1])} it is bad",
    why=f"the kernel adds its own work to a copy, up to {format_number(MACHINE[0])} times; a device has one rate, and "
    "a higher one came from memory",
    says={
        "": "{measured:interval} is {share} of {limit:interval} ({what}){unsure}",
        "faster": "{measured:interval} is {times:3} {limit:interval} ({what}): memory {answered}, and not the device",
        "ahead": "{measured:interval} is {times:3} {limit:interval} ({what}): the kernel read ahead of these "
        "requests, in larger ones",
        "mostly": "{measured:interval} is {share} of {limit:interval} ({what}), but half of the requests reach {half}: "
        "memory {answered} of these, and the others waited for the device",
        "no reference": "{measured:interval}; no reference, because {reason}",
    },
    check=check,
)
