"""The representative point of each setting of benchmarks with a bound of their path, for rules that judge paths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from labkit import benchmarks, stats
from labkit.errors import SpecError
from labkit.judge import stated
from labkit.judge.finding import EMULATED, LEVELS, Decided, Finding, Level, Subject, Value, Wanted
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.judge.view.points import Row, Table
from labkit.models import bounds, peers
from labkit.models.bounds import Bound, Stated
from labkit.models.inside import of_host
from labkit.point.columns import METRICS, statistic_column
from labkit.point.notes import NO_SPEED, has
from labkit.point.spec import Spec
from labkit.point.units import KiB, MiB, format_number, format_size
from labkit.read.records import headline_statistic, sound
from labkit.read.records.factors import UNSTATED, alike, differing, setting, text
from labkit.store.samples import Samples
from labkit.store.samples.facts import BROUGHT, badges

TOLERANCE = 0.02  # part by which a measurement may exceed its bound: headers that are smaller than assumed, clocks
SYSTEM = ("campaign", "origin", "host", "testbed", "device", "hosts", "ranks", "ppn")  # columns that tell systems apart
_INSIDE = {
    "shared-memory": "shared memory",
    "loopback": "TCP within the host",
    "unix-socket": "Unix sockets within the host",
}
_COSTS = {  # benchmark → the costs of a machine that it measures
    "micro.memory_copy": "copies",
    "micro.core_to_core_copy": "crossings",
    "micro.core_to_core": "line",
    "micro.loopback": "messages",
    "micro.wake_up": "wake_ups",
}


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The point that represents a setting.

    Parameters
    ----------
    row : row of the summary.
    metric, statistic : metric and statistic of the value that is judged.
    factors : columns other than the size in which the points of its benchmark differ.
    samples : a launch of it, for its metadata.
    known : bounds of its path, the lowest first.
    """

    row: Mapping[str, Any]
    metric: str
    statistic: str
    factors: tuple[str, ...]
    samples: Samples
    known: tuple[Bound, ...] = ()

    @cached_property
    def setting(self) -> str:
        """In words."""
        return setting(self.row, [name for name in self.factors if text(self.row, name) != UNSTATED])

    def beside(self, other: Chosen) -> str:
        """Return the part of its setting, and the size, that another point does not have, in words."""
        own = [name for name in self.factors if text(self.row, name) != text(other.row, name)]
        size, different = int(self.row["message_size_B"]), int(other.row["message_size_B"])
        return ", ".join(filter(None, (setting(self.row, own), format_size(size) if size != different else "")))

    @property
    def bound(self) -> Bound | None:
        """The lowest bound."""
        return self.known[0] if self.known else None

    @cached_property
    def measured(self) -> Value:
        """Its value."""
        return View.value(self.row, self.metric, self.statistic)

    @property
    def path(self) -> str:
        """The path in words; empty if unknown."""
        if place := bounds.inside(self.samples):
            return _INSIDE[place]
        if self.row["origin"] in BROUGHT:  # its testbed names a system of somebody else
            return ""
        if self.samples.spec.testbed != "local" or has(self.row["badges"], "emulated-link"):
            return EMULATED
        with suppress(SpecError):
            wire = bounds.path(self.samples, Stated())
            return wire.name if wire else ""
        return ""

    @property
    def subject(self) -> Subject:
        """Benchmark, setting and size."""
        row = self.row
        return Subject(
            benchmark=str(row["benchmark"]),
            setting=", ".join(filter(None, (self.setting, format_size(int(row["message_size_B"]))))),
            points=(str(row["fingerprint"]),),
            imported=row["origin"] in BROUGHT,
            system=", ".join(str(row[name]) for name in self._systems if name in row),
        )

    @property
    def _systems(self) -> tuple[str, ...]:
        """Columns that distinguish systems; tools of other benchmarks than MPI's name a library too."""
        known = benchmarks.look_up(str(self.row["benchmark"]))
        if known is None:
            return SYSTEM
        return (*SYSTEM, *["library"] * known.mpi, *(f"option_{name}" for name in known.quantities))

    @property
    def decided(self) -> Decided:
        """How the verdict was decided."""
        launches = int(self.row["launches"])
        if launches >= stats.LAUNCHES:
            test = "95 % interval of the median over launches, against a limit"
            return Decided(how="tested", test=test, error=1 - stats.LEVEL)
        return Decided(how="ranges" if launches > 1 else "one launch")

    @property
    def functional(self) -> bool:
        """Whether a badge excludes statements about performance."""
        return any(note.code in NO_SPEED for note in self.row["badges"])

    def limit(self, value: float, of: str, source: str = "computed") -> Value:
        """Return a limit, in B/s or s, in the unit of the metric."""
        return Value(value=value * METRICS[self.metric].factor, unit=METRICS[self.metric].unit, of=of, origin=source)

    def reference(self, bound: Bound) -> Value:
        """Return the reference of a bound, in the unit of the metric, with its interval if it has one."""
        low, high = (end * METRICS[self.metric].factor for end in bound.reference_ends)
        found = self.limit(bound.reference, bound.reference_name, bound.source)
        return found if low == high else replace(found, low=low, high=high)

    def goal(self, bound: Bound) -> Value:
        """Return the value from which it would be good, in the unit of the metric."""
        return self.limit(bound.good, "good", bound.source)

    def leveled(self, bound: Bound) -> tuple[Level, str]:
        """Return the level of its value against a bound, and the end of a sentence on what its interval leaves open."""
        rate, factor = METRICS[self.metric].kind == "rate", METRICS[self.metric].factor
        found, unsure = leveled(self.measured, bound.good * factor, bound.bad * factor, rate=rate)
        ends = [end for end in bound.reference_ends if math.isfinite(end)]
        scales = [end / bound.reference * factor for end in ends]
        others = [leveled(self.measured, bound.good * scale, bound.bad * scale, rate=rate)[0] for scale in scales]
        differ = [pair for pair in zip(others, ends, strict=True) if pair[0] != found]
        if differ and (found == "unknown" or not unsure):
            unit, width = METRICS[self.metric].unit, (max(ends) - min(ends)) * factor
            said = [
                f"with a reference of {format_number(end * factor, unit, width=width)} it would be {level}"
                for level, end in sorted(differ, key=_worst)
            ]
            unsure += f"; {', and '.join(said)}"
        return found, unsure


def _worst(pair: tuple[Level, float]) -> int:
    return LEVELS.index(pair[0])


def leveled(value: Value, good: float, bad: float, *, rate: bool) -> tuple[Level, str]:
    """Return the level of a value, and the end of a sentence if only its interval leaves the level open.

    The level is the strongest that holds for the whole interval: bad, or doubtful, which only means not good. An
    interval on both sides of the first limit supports none: it is unknown, and more launches would decide.

    Parameters
    ----------
    good, bad : limits of the value.
    rate : whether more is better.
    """
    sign = 1 if rate else -1
    least, most = sorted(sign * end for end in value.ends)
    centre, good, bad = sign * value.value, sign * good, sign * bad
    if least >= good:
        return "good", ""
    if most >= good:
        return "unknown", "; its interval is too wide for a verdict"
    if most < bad:
        return "bad", ""
    return "doubtful", "; the value alone would be bad, but its interval reaches better ones" if centre < bad else ""


def usual(one: Chosen, bound: Bound) -> str:
    """Return the end of a sentence on what other systems with this link reach of a bound; empty without a link."""
    return peers.usual(one.samples, one.metric, bound.reference * METRICS[one.metric].factor)


def shared(one: Chosen, view: View) -> Value | None:
    """Return the value over shared memory if TCP within the host was requested for a comparison with it; else None.

    This is the case if the campaign has each size of the sweep over shared memory too. A single size may have been
    measured to find out why TCP is slow.
    """
    spec, table = one.samples.spec, view.tables[one.samples.spec.benchmark]
    if spec.transport != "tcp" or bounds.inside(one.samples) != "loopback":
        return None
    place = table.places[one.measured.fingerprint]
    beside = {size: _over_memory(table, size) for size in table.sizes(place, one.metric).tolist()}
    row = beside.get(place)
    compared = len(beside) > 1 and all(beside.values())
    return view.value(row, one.metric, one.statistic) if row is not None and compared else None


def _over_memory(table: Table, place: int) -> Row | None:
    """Return the point that differs from another one only because its bytes went through shared memory."""
    rows = (row for row, _ in table.beside(place, "transport".__eq__))
    return next((row for row in rows if has(row["badges"], "shared-memory")), None)


def over_memory(one: Chosen, value: Value) -> str:
    """Return the end of a sentence on the value over shared memory."""
    rate = METRICS[one.metric].kind == "rate"
    return f"; through shared memory it {'reaches' if rate else 'takes'} {value:interval}"


def other_sizes(
    some: Sequence[Chosen],
    found: Sequence[Finding],
    view: View,
    known: Bounds,
    judged: Callable[[Chosen, View], Finding],
) -> Iterator[Finding]:
    """Yield verdicts on other sizes of settings that are good within a host: on that beyond its reference most.

    Over a link, adapters and hosts need more for small messages than the link does, by an amount that is not known.

    Parameters
    ----------
    some, found : settings, and the verdict on each.
    known : returns the bounds of a point.
    judged : judges a point.
    """
    worst = [_worst_size(one, view, known) for one, own in zip(some, found, strict=True) if own.level == "good"]
    sizes = {str(one.row["fingerprint"]): one for one in worst if one is not None}
    for name, samples in view.first_launches([*sizes]).items():
        one = replace(sizes[name], samples=samples, known=known(samples, view.stated, view.costs))
        if (own := judged(one, view)).level in ("bad", "doubtful"):
            yield own


def _worst_size(one: Chosen, view: View, known: Bounds) -> Chosen | None:
    """Return the size whose value is farthest beyond its own reference, if it is not good; else None."""
    if one.bound is None or not one.bound.judges or not bounds.inside(one.samples):
        return None
    table, rate = view.tables[one.samples.spec.benchmark], METRICS[one.metric].kind == "rate"
    worst: tuple[float, Chosen] | None = None
    for place in table.sizes(table.places[one.measured.fingerprint], one.metric).tolist():
        row = {name: value for name, value in table.row(place).items() if name in one.row}
        spec = one.samples.spec.replace(size=int(row["message_size_B"]))
        other = replace(one, row=row, known=known(replace(one.samples, spec=spec), view.stated, view.costs))
        if other.bound is None or not other.bound.judges or not other.measured.value:
            continue
        ratio = other.measured.value / (other.bound.reference * METRICS[one.metric].factor)
        excess = 1 / ratio if rate else ratio
        if other.leveled(other.bound)[0] in ("bad", "doubtful") and (worst is None or excess > worst[0]):
            worst = excess, other
    return worst and worst[1]


def sleeps(one: Chosen, view: View, found: Finding, excess: float) -> bool:
    """Whether wake-ups, which were not measured here, may explain the whole excess.

    Parameters
    ----------
    found : verdict without them.
    excess : time of a message beyond the limit, s.
    """
    if found.level not in ("bad", "doubtful") or not benchmarks.get(one.samples.spec.benchmark).ends.sockets:
        return False
    return of_host(one.samples, view.costs).slowest_wake_up is None and excess < _WAKE_UP_S


def asleep(one: Chosen, view: View, found: Finding, excess: float) -> float:
    """Return how long programs sleep before a message, s, if waking up may explain the whole excess; else 0.

    `micro.wake_up` wakes a thread that has slept for some microseconds. A core that sleeps longer sleeps deeper.

    Parameters
    ----------
    found, excess : as in `sleeps`.
    """
    wire = bounds.path(one.samples, view.stated or Stated())
    if found.level not in ("bad", "doubtful") or wire is None or not _DEEP_S <= wire.delay < math.inf:
        return 0.0
    sleeping = benchmarks.get(one.samples.spec.benchmark).ends.sockets and excess < _DEEP_WAKE_UP_S
    return 2 * wire.delay if sleeping else 0.0


_DEEP_S = 200e-6  # from which a sleep is deep
_DEEP_WAKE_UP_S = 500e-6  # at most; a virtual core took 365 µs after 2 ms where this was measured
_WAKE_UP_S = 60e-6  # of a core that sleeps deeply, at most; a virtual one took 20 µs where this was measured


def more(view: View, level: Level, one: Chosen) -> tuple[Wanted, ...]:
    """Return the point with more launches if its interval is too wide for a verdict."""
    wanted = view.more(one.measured.fingerprint) if level == "unknown" and not one.subject.imported else None
    return (wanted,) if wanted else ()


Bounds = Callable[[Samples, Stated | None, Any], tuple[Bound, ...]]


def chosen(
    view: View, bounded_by: Callable[[str], object], metrics: tuple[str, ...], known: Bounds, *, ends: bool = False
) -> Iterator[Chosen]:
    """Yield the points that represent the settings: the highest bandwidth, and the latency of the smallest size.

    Simulated points are left out.

    Parameters
    ----------
    bounded_by : whether the benchmark of this name has a bound.
    metrics : candidates; labkit judges the first one that a benchmark has.
    known : returns the bounds of a point.
    ends : whether to judge the largest size too.
    """
    if view.launches is None or not len(view.summary):
        return
    found: list[tuple[Mapping[str, Any], str, str, tuple[str, ...]]] = []
    for part in (part for name, part in view.parts.items() if bounded_by(name)):
        rows = part.rows[part.columns["origin"] != "simulated"]
        metric = next((metric for metric in metrics if len(_having(rows, metric))), "")
        while metric and len(having := _having(rows, metric)):  # points of another statistic, such as means, come after
            found += _of_settings(_unpaced(having, metric), metric, ends)
            rows = rows[~rows["fingerprint"].isin(having["fingerprint"])]
    samples = view.first_launches([str(row["fingerprint"]) for row, *_ in found])
    for row, metric, statistic, factors in found:
        if (one := samples.get(str(row["fingerprint"]))) is not None:
            of_path = known(one, view.stated, view.costs)
            yield Chosen(row=row, metric=metric, statistic=statistic, factors=factors, samples=one, known=of_path)


def _having(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows that have a value of a metric which the clock resolves."""
    column = statistic_column(metric, headline_statistic(rows, metric))
    return sound(rows[rows[column].notna()], metric) if column in rows else rows[:0]


def _unpaced(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows whose rate no option sets."""
    if METRICS[metric].kind != "rate":
        return rows
    return rows[[not stated.paced(row) for row in rows.filter(regex="^option_").to_dict("records")]]


def _of_settings(
    rows: pd.DataFrame, metric: str, ends: bool
) -> Iterator[tuple[Mapping[str, Any], str, str, tuple[str, ...]]]:
    """Choose from the points of one benchmark that have a metric: row, metric, statistic and factors."""
    statistic = headline_statistic(rows, metric)
    column = statistic_column(metric, statistic)
    factors = differing(rows, skip=["fingerprint"])
    values, sizes = rows[column].to_numpy(np.float64), rows["message_size_B"].to_numpy()
    groups = alike(rows, factors)
    places = [
        group[values[group].argmax() if metric == "bandwidth_MBps" else sizes[group].argmin()] for group in groups
    ]
    if ends:
        places += [group[sizes[group].argmax()] for group in groups if len(set(sizes[group])) > 1]
    kept = ("benchmark", "fingerprint", "message_size_B", "origin", "launches", "n", "badges")
    more = [name for name in (statistic_column(metric, one) for one in ("mean", "step")) if name in rows]
    shown = dict.fromkeys([*kept, column, f"{metric}_low", f"{metric}_high", *more, *factors])
    for row in rows.iloc[places].reindex(columns=[*shown]).to_dict("records"):
        yield row, metric, statistic, tuple(factors)


def missing(one: Chosen, view: View) -> tuple[str, str]:
    """Return why a point has no reference, as a key of `REASONS`, and benchmarks that supply one; empty with one."""
    samples = one.samples
    if METRICS[one.metric].kind == "cost" and not bounds.crosses(samples)[0]:
        return "synchronisation", ""
    if one.bound is not None and one.bound.missing:
        return "machine", one.bound.missing
    if inside := bounds.inside(samples):
        known = of_host(samples, view.costs)
        wanted = _WANTED[inside, METRICS[one.metric].kind]
        lacking = [name for name in wanted if not getattr(known, _COSTS[name])]
        return "machine", ",".join(lacking or wanted[:1])
    if has(badges(samples.meta), "path-unknown"):
        return "path unknown", ""
    if bounds.many_links(samples):
        return "many links", ""
    if samples.spec.testbed.startswith("soft-roce"):
        return "emulated adapter", ""
    with suppress(SpecError):
        if bounds.path(samples, view.stated or Stated()) is not None:
            return "machine", "micro.loopback"
    return "link", ""


_WANTED = {
    ("shared-memory", "rate"): ("micro.memory_copy", "micro.core_to_core_copy"),
    ("shared-memory", "cost"): ("micro.core_to_core", "micro.memory_copy"),
    ("loopback", "rate"): ("micro.loopback", "micro.memory_copy"),
    ("loopback", "cost"): ("micro.loopback",),
    ("unix-socket", "cost"): ("micro.wake_up",),
}
_SIZES = (1, 64 * KiB, MiB)  # of messages that a thread sends to itself, and of copies
REASONS = {  # → why, as the end of a sentence
    "machine": "the costs of the machine without a network were not measured",
    "synchronisation": "how many messages complete such a call depends on its synchronisation and on the library",
    "path unknown": "too few bytes passed to prove the path of the messages",
    "many links": "pairs of ranks on more than two hosts have their own links, which add up",
    "emulated adapter": "an emulated adapter is bounded by the processor that emulates it",
    "link": "the samples do not say which link carried the bytes, or its rate",
}


def no_reference(rule: Rule, one: Chosen, view: View, lacking: str = "") -> Finding:
    """Return the verdict *no reference*, with its reason and the measurement that would supply a reference.

    Parameters
    ----------
    lacking : benchmark of the machine's costs that would supply it, if known.
    """
    reason, wanted = ("machine", lacking) if lacking else missing(one, view)
    here = reason == "machine" and not one.subject.imported  # labkit cannot measure the machine of somebody else
    return rule.found(
        one.subject,
        level="unknown",
        form="no reference",
        command=_REPAIRS.get(reason, "").format(explain=view.explain),
        measure=tuple(map(Wanted, _machine(one, wanted.split(",")))) if here else (),
        measured=one.measured,
        path=one.path,
        reason=REASONS[reason],
        wanted=wanted.replace(",", ", "),
    )


_REPAIRS = {  # reason → what supplies what is missing; where hardware is missing, nothing does
    "link": "State the link: {explain} --link RATE --mtu B.",
    "path unknown": "Measure more iterations, or set --transport.",
}


def _machine(one: Chosen, wanted: Sequence[str]) -> Iterator[Spec]:
    """Yield the points that tell what the machine costs without a network, at the size of a point and around it."""
    size = one.samples.spec.size or 1
    for name in wanted:
        sizes = sorted({size, *_SIZES}) if benchmarks.get(name).sized else [0]
        for each in sizes:
            yield Spec(benchmark=name, size=each, ranks=1)
