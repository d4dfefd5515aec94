"""What does one job do to another, and what do shares and priorities on the links change?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from labkit import benchmarks, figures, stats, studies, testbeds
from labkit.benchmarks.congestion import interference
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import congestion, effects
from labkit.options.congestion import Interference
from labkit.point import notes
from labkit.point.notes import note
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_number, plural
from labkit.store.samples.facts import RANK_HOSTS, TESTBED
from labkit.studies import size_words, words

if TYPE_CHECKING:
    from labkit.store.samples import Samples

PAIR = "congestion.interference"
PHASES = ("alone_ns", "time_ns")
MODES = ("off", "shares", "priority", "drop", "mark")
_LONGER = 1.5  # times the median alone: an iteration that took clearly longer
QUEUES = {"drop": "Reno and queues that drop early", "mark": "Reno and queues that mark early (ECN)"}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook about two jobs.

    Parameters
    ----------
    launches : pairs of starts of every point, one alone and one beside the aggressor; with 6 or more there is a 95 %
        interval, below it a range.
    victims : a list of fft, latency and allreduce; the first with every aggressor, the others with the first one.
    size : size of the victim's messages, B.
    ranks : ranks of the victim.
    iterations : iterations of each phase; 0 for 100.
    aggressors : a list of incast, udp and halo3d26; the first one also with shares and priority.
    lead : s that the aggressor is ahead; 10 in the paper.
    qos : a list of off, shares, priority, and of drop and mark: queues of switches that drop packets, or mark them
        (ECN), above 64 KiB, with Reno on all hosts. On another testbed than a virtual cluster it is what the switches
        do.
    shares : shares of usual and bulk traffic, for qos shares.
    hosts : list of hosts that both jobs get alternately; empty for those of the testbed.
    per_leaf, uplink : hosts per leaf, and rate of an uplink, of a virtual cluster, if the testbed does not state them.
    """

    launches: int = 5
    victims: str = "fft,latency"
    size: int = 10_000
    ranks: int = 2
    iterations: int = 200
    aggressors: str = "incast,udp,halo3d26"
    lead: float = 1.0
    qos: str = "off,shares,priority"
    shares: str = "1:1"
    hosts: str = ""
    testbed: str = "virtual-cluster:4"
    per_leaf: int = 2
    uplink: str = "200mbit"


class Study(studies.Study):
    """A victim alone and beside an aggressor, with and without classes of traffic."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (PAIR,)
    values: Parameters

    def specs(self) -> list[Spec]:
        """The first victim beside every aggressor, the other victims beside the first aggressor.

        Classes of traffic only for the first of both.
        """
        v, modes = self.values, words(self.values.qos)
        victims, aggressors = words(v.victims), words(v.aggressors)
        if not victims or not aggressors or not modes or set(modes) - set(MODES):
            raise SpecError(
                f"victims={v.victims!r}, aggressors={v.aggressors!r}, qos={v.qos!r}, but each must name at least one, "
                f"and qos only {', '.join(MODES)}. Leave them out for the usual ones."
            )
        what: dict[str, Any] = {"sizes": [v.size], "ranks": v.ranks, "launcher": v.launcher, "lead": v.lead}
        what["hosts"] = tuple(words(v.hosts))
        specs, plain = [], self.place(modes[0])
        specs += sweep(PAIR, victim=victims[0], aggressor=aggressors, testbed=plain, **what)
        if victims[1:]:
            specs += sweep(PAIR, victim=victims[1:], aggressor=aggressors[0], testbed=plain, **what)
        if self.adjustable:
            for mode in modes[1:]:
                specs += sweep(PAIR, victim=victims[0], aggressor=aggressors[0], testbed=self.place(mode), **what)
        return specs

    @property
    def adjustable(self) -> bool:
        """Whether the testbed's links can be given classes."""
        return testbeds.parse(self.values.testbed)[0] == "virtual-cluster"

    def place(self, mode: str) -> str:
        """The testbed with classes of traffic."""
        name, argument, given = testbeds.parse(self.values.testbed)
        if not self.adjustable:
            return self.values.testbed
        given = {"per_leaf": str(self.values.per_leaf), "uplink": self.values.uplink} | given
        if mode == "off":
            return testbeds.text_of(name, argument, given)
        if mode in QUEUES:
            return testbeds.text_of(name, argument, given | {"queue": mode, "tcp": "reno"})
        classes = {"qos": mode}
        if mode == "shares":
            classes["shares"] = self.values.shares
        aggressor = testbeds.outline(self.values.testbed).hosts[1::2]
        # MPI cannot mark its packets: the aggressor's hosts tell what is bulk
        return testbeds.text_of(name, argument, given | classes | {"bulk": "+".join(aggressor)})

    # ---- points

    def groups(self) -> list[list[Samples]]:
        """Launches of each point, in the order of the specs."""
        groups: dict[tuple[Any, ...], list[Samples]] = {}
        for point in self.samples:
            groups.setdefault(self._key(point), []).append(point)
        order = sorted(
            groups,
            key=lambda key: (
                MODES.index(key[0]),
                words(self.values.victims).index(key[1]) if key[1] in words(self.values.victims) else 9,
                key,
            ),
        )
        return [sorted(groups[key], key=lambda point: point.launch) for key in order]

    @staticmethod
    def _key(samples: Samples) -> tuple[str, str, str, str]:
        """Mode, victim, aggressor and testbed."""
        spec = _resolved(samples)
        options = testbeds.parse(spec.testbed)[2]
        mode = options.get("qos") or options.get("queue", "off")
        return mode, spec.options.victim, spec.options.aggressor, spec.testbed

    def factor(self, group: Sequence[Samples], statistic: str = "p50") -> congestion.Factor:
        """How much longer the victim's slowest rank takes beside the aggressor."""
        waits = interference.waits(_resolved(group[0]))
        phases = [[s.phases[phase].max(axis=0) * 1e-9 / waits for s in group] for phase in PHASES]
        return congestion.interference(phases[0], phases[1], statistic)

    def _tail(self, group: Sequence[Samples]) -> congestion.Factor | None:
        """The same of the 99th percentile; None if a launch has too few iterations for one."""
        enough = all(stats.given("p99", one.n) for one in group)
        return self.factor(group, "p99") if enough else None

    def table(self) -> pd.DataFrame:
        """Every point: victim, aggressor, classes, times alone and beside, factors with the ends of their interval."""
        rows = []
        for group in self.groups():
            mode, victim, aggressor, _ = self._key(group[0])
            waits = interference.waits(_resolved(group[0]))
            middle, tail = self.factor(group), self._tail(group)
            alone, beside = (
                float(np.median([np.median(s.phases[phase].max(axis=0)) for s in group])) * 1e-3 / waits
                for phase in PHASES
            )
            rows.append(
                {
                    "victim": victim,
                    "aggressor": aggressor,
                    "qos": mode,
                    "size": size_words(group[0].spec.size),
                    "links": _links(group[0]),
                    "alone (µs)": alone,
                    "beside (µs)": beside,
                    "median, times": middle.centre,
                    "low": middle.low,
                    "high": middle.high,
                    "p99, times": tail.centre if tail else math.nan,
                    "interval": middle.label,
                }
            )
        shaped = any(row["links"] for row in rows)
        return pd.DataFrame(rows if shaped else [{k: v for k, v in row.items() if k != "links"} for row in rows])

    # ---- figures

    def scatter_figure(self, mode: str = "off") -> Figure | Omitted:
        """Every node of every iteration of the first victim beside the first aggressor, one launch."""
        for group in self._first(mode):
            return Figure(figures.scatter(group[0], interference.waits(_resolved(group[0]))))
        return NOTHING

    def scatter_text(self) -> Text | Omitted:
        """How much the times in these figures scatter, and whether all ranks take longer in the same iterations."""
        names = {"off": "Without classes of traffic" if self.adjustable else "", "shares": "With shares of the links"}
        return listed([_scatter(group[0], name) for mode, name in names.items() for group in self._first(mode)[:1]])

    def _first(self, mode: str) -> list[list[Samples]]:
        """Launches of the first victim beside the first aggressor."""
        wanted = (mode, words(self.values.victims)[0], words(self.values.aggressors)[0])
        return [group for group in self.groups() if self._key(group[0])[:3] == wanted]

    def pairs_figure(self) -> Figure | Omitted:
        """Factor on the median of every pair of starts, a row of dots for each point."""
        factors = {}
        for group in self.groups():
            mode, victim, aggressor, _ = self._key(group[0])
            factors[f"{victim} beside {aggressor}, QoS {mode}"] = [self.factor([one]).centre for one in group]
        return Figure(figures.ratios(factors, "beside over alone (times)")) if factors else NOTHING

    # ---- sentences

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._rises(), *self._classes()])

    def _rises(self) -> Iterator[str]:
        """Effect of every aggressor; those that are not certain together, with possible reasons."""
        open_: dict[str, tuple[Sequence[Samples], congestion.Factor]] = {}
        groups = [group for group in self.groups() if self._key(group[0])[0] == "off"]
        for group in groups:
            _, victim, aggressor, _ = self._key(group[0])
            middle, tail = self.factor(group), self._tail(group)
            where = f"{victim} beside {aggressor}{', QoS off' if self.adjustable else ''}"
            if middle.clear and middle.centre > 1:
                rest = f", the 99th percentile {tail.text(' as long')}" if tail and tail.clear else ""
                yield f"{where}: the median takes {middle.text(' as long')}{rest}. {self._risen([group])}"
            else:
                open_[where] = group, middle
        if not open_:
            return
        some = [group for group, _ in open_.values()]
        factors = [middle for _, middle in open_.values()]
        doubts = notes.joined(dict.fromkeys(one.doubt or "it fell" for one in factors))
        reasons = notes.joined(dict.fromkeys(reason for group in some for reason in self._why(group)))
        if len(open_) == 1:
            ((where, (_, middle)),) = open_.items()
            said = f"{where}: no rise of the median is certain: {middle.text()}"
        else:
            known = [one.centre for one in factors if math.isfinite(one.centre)]
            low, high = (format_number(end(known, default=math.nan), digits=3) for end in (min, max))
            fewest = plural(min(one.launches for one in factors), "launch")
            said = (
                f"In {len(open_)} of {plural(len(groups), 'case')} no rise of the median is certain: "
                f"{low} to {high} times ({fewest} each or more)"
            )
        yield f"{said}, {doubts}. {self._risen(some)} Possible reasons: {reasons}."

    def _risen(self, groups: Sequence[Sequence[Samples]]) -> str:
        """In how many pairs of starts the median rose, as a sentence."""
        pairs = [self.factor([one]).centre > 1 for group in groups for one in group]
        return f"The median rose in {sum(pairs)} of {plural(len(pairs), 'interleaved pair')}."

    def _why(self, group: Sequence[Samples]) -> list[str]:
        """Possible reasons why a victim felt nothing."""
        hosts = {host for s in group for host in RANK_HOSTS.of(s.meta) or ()}
        reasons = []
        if len(hosts) == 1:
            reasons.append("all ranks of the victim are on one host, so its messages crossed no network")
        if any(notes.has(s.badges, "busy-machine") for s in group):
            reasons.append("the machine was busy, which slows either phase at random")
        if len(group) < 2:
            reasons.append("one pair has no range over starts")
        if not self.adjustable:
            reasons.append(
                "the two jobs may share no link that is full (a network that does not block, or that spreads its "
                "load), or its switches keep them apart by classes or credits"
            )
        else:
            reasons.append(
                "the aggressor may leave room on the links they share, or the scatter of the times exceeds its effect"
            )
        return reasons

    def _classes(self) -> Iterator[str]:
        """Effect of shares and priorities on the first victim."""
        chosen = {
            self._key(g[0])[0]: g
            for g in self.groups()
            if self._key(g[0])[1:3] == (words(self.values.victims)[0], words(self.values.aggressors)[0])
        }
        off = chosen.pop("off", None)
        for mode, group in chosen.items():
            if off is None:
                continue
            before, now = self.factor(off), self.factor(group)
            usual = f"shares of {self.values.shares}" if mode == "shares" else "strict priority of the victim"
            name = QUEUES.get(mode, usual)
            effect = effects.Effect(now.measured, before.measured)
            yield effect.said(
                f"With {name} the median takes {now.text(' as long')} instead of {before.text()}",
                f"The median takes {now.text(' as long')} with {name}, and {before.text()} without",
            )

    def warnings(self) -> Text:
        """Badges and warnings of all points, and modes that this testbed cannot set."""
        text = super().warnings()
        unavailable = [mode for mode in words(self.values.qos) if mode != "off"]
        if unavailable and not self.adjustable:
            reason = (
                f"omitted: qos {', '.join(unavailable)}, because labkit can set traffic classes only on a virtual "
                "cluster. It measures other switches as they are configured."
            )
            return Text(notes=(*text.notes, note("omitted", reason)))
        return text


def _scatter(samples: Samples, name: str) -> str:
    """What one launch shows: quartiles of all ranks, and in how many iterations all of them take longer, or only some.

    Longer is more than 1.5 times the rank's median alone.
    """
    alone, beside = (samples.phases[phase] * 1e-3 / interference.waits(_resolved(samples)) for phase in PHASES)
    least, most = zip(*(np.quantile(times, (0.25, 0.75)) for times in (alone, beside)), strict=True)
    longer = (beside > _LONGER * np.median(alone, axis=1, keepdims=True)).sum(axis=0)
    every, ranks = len(longer), len(beside)
    together, some = int((longer == ranks).sum()), int(((longer > 0) & (longer < ranks)).sum())
    half = " and ".join(
        f"{format_number(low, digits=3)} to {format_number(high, digits=3)} µs {when}"
        for low, high, when in zip(least, most, ("alone", "beside the aggressor"), strict=True)
    )
    return (
        f"{name or 'In one launch'}: the middle half of the times of all ranks is {half}. In {together} of "
        f"{plural(every, 'iteration')} beside the aggressor, all ranks take more than {_LONGER:g} × their median "
        f"alone; in {some}, only some do."
    )


def _links(samples: Samples) -> str:
    """Rate of the links of emulated hosts; empty for others."""
    rate = TESTBED.of(samples.meta).get("rate_bps")
    return format_number(float(rate) / 1e6, "Mbit/s") if rate else ""


def _resolved(samples: Samples) -> Spec[Interference]:
    return benchmarks.resolve(samples.spec).of(Interference)
