"""Is this number good? Bandwidths and latencies beside what their paths allow, what binds, and what else they show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from labkit import figures, studies
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.io.markdown import commands
from labkit.judge import answer, causes, checking, detours, rules
from labkit.judge.finding import Finding
from labkit.judge.rule import OBSERVED
from labkit.judge.sentences import beyond, clue, sentence, whole
from labkit.judge.view import View
from labkit.models.bounds import Stated
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_share, format_size, parse_sizes, plural
from labkit.read.columnar import Launches, of_samples, read_campaigns
from labkit.stats import periodic
from labkit.store.samples import Samples
from labkit.studies import _limits, number, words
from labkit.studies._derived import derived

_MICRO = ("micro.core_to_core", "micro.system_call", "micro.wake_up", "micro.noise")
_NOISE = "micro.noise"
_NOISE_RULE, _WHAT_RAN = "noise", ("programs", "guest", "firmware")  # code of the rule, and of evidence on long detours
_NAMED = 3  # settings that a cause names


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook on verdicts.

    Parameters
    ----------
    sizes : message sizes for the bandwidth, MIN:MAX or a list.
    latency_sizes : message sizes for the latency; 8 sizes or more show where the library changes its protocol.
    transports : paths to compare.
    request_sizes : sizes of request and response over plain TCP; empty leaves it out.
    machine : whether to measure what the machine costs without a network; it bounds shared memory and loopback, and
        needs two cores.
    link : rate of the link that the samples do not know, such as 100gbit; empty if they know it.
    mtu : MTU of the interface or the RDMA port, B; 0 if the samples know it.
    pcie : slot of the adapter, such as 3x16; empty if the samples know it.
    delay : one way of cables and switches, such as 300ns; empty if not stated.
    """

    sizes: str = "1Ki:4Mi:*4"
    latency_sizes: str = "8:1Mi"
    transports: str = "shm,tcp"
    request_sizes: str = "1"
    machine: bool = True
    link: str = ""
    mtu: int = 0
    pcie: str = ""
    delay: str = ""


class Study(studies.Study):
    """Verdicts on bandwidths and latencies, with the bounds of their paths."""

    parameters: ClassVar = Parameters
    answers: ClassVar = True
    benchmarks: ClassVar = (
        "mpi.bandwidth",
        "mpi.latency",
        "sockets.tcp_rr",
        "micro.memory_copy",
        "micro.core_to_core_copy",
        "micro.loopback",
        *_MICRO,
    )
    values: Parameters

    def specs(self) -> list[Spec]:
        """Bandwidth and latency over each path, and what the machine costs without a network."""
        v = self.values
        self.stated.check()
        where = {"transport": words(v.transports), "launcher": v.launcher, "testbed": v.testbed}
        specs = sweep("mpi.bandwidth", sizes=v.sizes, **where) + sweep("mpi.latency", sizes=v.latency_sizes, **where)
        if v.request_sizes:
            specs += sweep("sockets.tcp_rr", sizes=v.request_sizes, ranks=1, testbed=v.testbed)
        if v.machine:
            specs += sweep("micro.memory_copy", sizes=v.sizes, ranks=1)
            specs += sweep("micro.core_to_core_copy", sizes=v.sizes, ranks=1)
            specs += sweep("micro.loopback", sizes=sorted({1, *parse_sizes(v.sizes)}), ranks=1)
            specs += [Spec(benchmark=name, size=0, ranks=1) for name in _MICRO]
            specs += sweep("micro.wake_up", ranks=1, cores="one")
        return specs

    @property
    def stated(self) -> Stated:
        """What the parameters state of the path."""
        v = self.values
        return Stated(link=v.link, mtu=v.mtu, pcie=v.pcie, delay=v.delay)

    @derived(lambda study: (study.samples,))
    def launches(self) -> Launches:
        """The samples as columns."""
        return of_samples(self.samples)

    @derived(lambda study: (study.samples, study.stated))
    def judged(self) -> tuple[Finding, ...]:
        """The verdict on each benchmark and path, the worst first."""
        return answer.of_paths(self.launches, self.summary, self.stated, self.costs)

    @derived(lambda study: (study.samples,))
    def observed(self) -> tuple[Finding, ...]:
        """What else the numbers show; results that contradict what is expected are not part of it."""
        view = View("", self.launches.records, self.summary, self.launches)
        return checking.check(view, rules.about(*OBSERVED))

    def findings(self) -> Text | Omitted:
        """A verdict for each benchmark and path, as a Markdown list."""
        return listed(f"{one.subject}: {sentence(one)}: {one.level}. {beyond(one)}".rstrip() for one in self.judged)

    def limits_table(self) -> pd.DataFrame:
        """What is good and what is bad, a row for each kind of number in the campaign."""
        needed = ("benchmark", "badges", "origin")
        return _limits.table(read_campaigns(self.campaign, columns=needed.__contains__).records)

    def checks(self) -> Text | Omitted:
        """What may be behind the verdicts that are not good, likeliest first, as a Markdown list."""
        found: dict[str, list[Finding]] = {}
        for one in self.judged:
            for cause in one.causes:
                if cause.supported:
                    found.setdefault(sentence(cause), []).append(cause)
        if not found:
            bad = any(one.level in ("bad", "doubtful") for one in self.judged)
            return Text("The data support no cause." if bad else "No verdict of this chapter is doubtful or bad.")
        return listed(
            f"{'' if some[0].likely else 'Possible: '}**{text}**, of {_listed([str(one.subject) for one in some])}. "
            f"{_to_do(some[0])}"
            for text, some in sorted(found.items(), key=lambda each: not each[1][0].likely)
        )

    def bandwidth_figure(self) -> Figure | Omitted:
        """Bandwidth against message size with its bound, a line for each path."""
        return self.drawn(
            figures.versus_size, self.of("mpi.bandwidth"), "bandwidth_MBps", series=["transport"], tail=None
        )

    def latency_figure(self) -> Figure | Omitted:
        """Latency against message size with its floor or reference, a line for each path."""
        return self.drawn(figures.versus_size, self.of("mpi.latency"), "latency_us", series=["transport"], tail=None)

    def machine_table(self) -> pd.DataFrame:
        """A row for each cost of the machine that bounds a path."""
        rows = [
            (host, name, str(cost))
            for host, costs in self.costs.items()
            for name, cost in (
                ("cache line from core to core", costs.line),
                ("system call", costs.system_call),
                *((f"wake-up, cores {cores}", cost) for cores, cost in costs.wake_ups.items()),
                *((f"loopback message of {format_size(size)}", cost) for size, cost in costs.messages.items()),
                *((f"copy of {format_size(size)} by one core", cost) for size, cost in costs.copies.items()),
                *(
                    (f"copy of {format_size(size)} that another core wrote", one)
                    for size, one in costs.crossings.items()
                ),
            )
            if cost
        ]
        return pd.DataFrame(rows, columns=["host", "cost", "measured"])

    def noise_figure(self) -> Figure | Omitted:
        """The rates at which the detours of a fixed amount of work recur, a line for each launch."""
        spectra = {f"launch {one.launch}": detours.of(one).spectrum for one in self._noise()}
        drawn = {name: one for name, one in spectra.items() if one is not None}
        return (
            Figure(figures.spectrum(drawn))
            if drawn
            else Omitted("there is no spectrum, because too few quanta were interrupted.", "too-few")
        )

    def noise(self) -> Text | Omitted:
        """What the figure shows of each launch, by the same test; launches without a spectrum too."""
        long = [
            f"{clue(one, each)}."
            for one in self.observed
            if one.code == _NOISE_RULE
            for each in one.evidence
            if each.code in _WHAT_RAN
        ]
        return listed([*_detours(self._noise()), *long])

    def _noise(self) -> list[Samples]:
        """Launches of micro.noise, in order."""
        launches = [one for one in self.samples if one.spec.benchmark == _NOISE and one.n]
        return sorted(launches, key=lambda one: one.launch)

    def observations(self) -> Text | Omitted:
        """What else the numbers show, each with its evidence, as a Markdown list; detours have their own."""
        others = [one for one in self.observed if one.code != _NOISE_RULE]
        return listed(f"**{one.code}**, {whole(one)}" for one in others) if others else Text("Nothing else stands out.")


def _detours(launches: Sequence[Samples]) -> Iterator[str]:
    """The number and duration of the detours, and whether they recur at a fixed rate, tested as drawn."""
    alike: dict[str, list[tuple[Samples, float]]] = {}
    for one in launches:
        seen = detours.of(one)
        spectrum, tick = seen.spectrum, periodic.period(seen.starts, seen.detour, seen.quantum)
        if tick and spectrum:
            reach = f"power {number(tick.power)}; random ones reach {number(spectrum.limit)}"
            yield f"{_taken([one])}; they come back at {number(tick.frequency)} Hz ({reach})."
        elif spectrum:
            most = float(spectrum.power.max()) if len(spectrum.power) else 0.0
            alike.setdefault("rate", []).append((one, most / spectrum.limit))
        else:
            alike.setdefault("few", []).append((one, 0.0))
    for kind, some in alike.items():
        highest = f"at no fixed rate: the highest power is {format_share(max(part for _, part in some))} of what random"
        few = f"no spectrum, which needs {periodic.MIN_EVENTS} detours"
        yield f"{_taken([one for one, _ in some])}, {f'{highest} ones reach' if kind == 'rate' else few}."


def _taken(launches: Sequence[Samples]) -> str:
    """Which launches, how many detours each has in how many pieces of work, and what part of the time they take."""
    seen = [detours.of(one) for one in launches]
    counts = [int(one.detour.sum()) for one in seen]
    spent = [float(np.asarray(one.time_ns).sum()) for one in launches]
    parts = [float(one.excess_ns[one.detour].sum()) / (time or 1.0) for one, time in zip(seen, spent, strict=True)]
    numbers = ", ".join(str(one.launch) for one in launches)
    return (
        f"Launch{'es' if len(launches) > 1 else ''} {numbers}: {_ends(counts, plural(max(counts), 'detour'))} in "
        f"{_ends([one.n for one in launches], plural(max(one.n for one in launches), 'piece'))} of work, "
        f"{_ends([format_share(one) for one in sorted(parts)], format_share(max(parts)))} of the time"
    )


def _ends(values: Sequence[int] | Sequence[str], most: str) -> str:
    """The least and the greatest value in words; a single value if all are the same."""
    least = values[0] if isinstance(values[0], str) else min(values)
    return most if len(set(values)) == 1 else f"{str(least).removesuffix(' %')} to {most}"


def _to_do(cause: Finding) -> str:
    """Return what to do about a cause, with the command that decides it; of a possible one only that command."""
    if cause.command and not cause.likely:
        return f"To decide it, run `{cause.command}`."
    remedy = commands(causes.every()[cause.code].remedy)
    return f"{remedy} Run `{cause.command}`." if cause.command else remedy


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{'; '.join(names[:_NAMED])}{more}"
