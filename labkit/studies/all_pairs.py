"""Is every pair of hosts as fast as the others, and if not: which card, cable or switch is the cause?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import figures, studies, testbeds
from labkit.errors import DataError, SpecError
from labkit.figures import small_print
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import all_pairs, effects
from labkit.judge.finding import Finding, Subject
from labkit.judge.rules import slow_pairs
from labkit.judge.sentences import sentence
from labkit.point.notes import Note, note
from labkit.point.spec import Spec, sweep
from labkit.point.units import parse_sizes, plural
from labkit.read.records import per_rank, resolution
from labkit.run import launch, measuring
from labkit.stats.decision import beyond_limit
from labkit.studies import amount, number, size_words, words
from labkit.studies._derived import of_samples

if TYPE_CHECKING:
    from labkit.store.campaign import Campaign
    from labkit.store.samples import Samples

BENCHMARK, ALONE = all_pairs.BENCHMARK, "mpi.latency"
_ONCE = Omitted("it compares two launches, but there is one. Set launches=2.", "too-few")
_NAMED = 8  # pairs that a sentence names
_SOUND = 2  # pairs that are not suspicious, to compare with


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook about all pairs.

    Parameters
    ----------
    launches : fresh starts of every point; the first measures, the second repeats. One confirms nothing.
    ci : narrow enough that time_cap ends a point: the interval is that of rounds and says little about a pair.
    time_cap : s of timed iterations for a point and launch. Every pair has to meet six times at least.
    sizes : message sizes, a list: a small one shows latency, a large one the rate of links.
    ranks : number of ranks; 0 for one on each host, or 4 if there is only one host.
    hosts : hosts whose ranks to pair, a list; empty for those of the testbed.
    switches : leaf switch of each host, HOST:SWITCH, a list; empty for what the testbed knows.
    retests : suspicious pairs that are measured again with nobody beside them, the slowest first; 0 for none.
    transport : path of the messages.
    """

    launches: int = 2
    ci: float = 0.0005
    time_cap: float = 4.0
    sizes: str = "8,64Ki"
    ranks: int = 0
    hosts: str = ""
    switches: str = ""
    retests: int = 4
    transport: str = "auto"
    testbed: str = "virtual-cluster:4"


class Study(studies.Study):
    """All pairs at once, the suspicious pairs again alone, and what they have in common."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (BENCHMARK, ALONE)
    values: Parameters

    def specs(self) -> list[Spec]:
        """All pairs over all sizes."""
        v = self.values
        known = launch.named(v.hosts) or list(testbeds.outline(v.testbed).hosts)
        # a file of hosts is opened only to measure, because a campaign that is read may come from anybody
        hosts = launch.listed(v.hosts) if v.measure else launch.named(v.hosts)
        fields = {"ranks": v.ranks or len(known) or 4, "hosts": hosts}
        return sweep(BENCHMARK, sizes=v.sizes, **fields, **self._where)

    @property
    def _where(self) -> dict[str, str]:
        """Testbed, launcher and path."""
        return {"transport": self.values.transport, "launcher": self.values.launcher, "testbed": self.values.testbed}

    def run(self, progress: measuring.Report | None = None) -> Campaign:
        """Measure all pairs, then each suspicious pair alone, and some that are not suspicious."""
        campaign = super().run(progress)
        if self.values.measure:
            retests = [spec for size in self.sizes for spec in self._retests(size)]
            self.points = [*self.points, *measuring.expand(retests, self.effort)]
            self.measure(retests, progress)
        return campaign

    def _requested_of(self, benchmark: str) -> list[Spec]:
        """Specs of a benchmark if samples are only read; for pairs that were measured alone, of any hosts."""
        return sweep(ALONE, sizes=self.sizes, **self._where) if benchmark == ALONE else super()._requested_of(benchmark)

    @property
    def sizes(self) -> list[int]:
        """Sizes of the messages, B."""
        return sorted(set(parse_sizes(self.values.sizes)))

    def pairs(self, size: int) -> list[Samples]:
        """All launches of all pairs at a size; the first is the measurement, the second the repetition."""
        launches = [s for s in self.samples if s.spec.benchmark == BENCHMARK and s.spec.size == size]
        return sorted(launches, key=lambda s: s.launch)

    def switches(self, samples: Samples) -> dict[str, str]:
        """Host → leaf switch: from the parameters, else from the batch job or the testbed."""
        given = [pair.partition(":") for pair in words(self.values.switches)]
        if wrong := [host for host, colon, _ in given if not colon]:
            raise SpecError(f"switches has {wrong[0]!r}, but it must be like node1:leaf0,node2:leaf0.")
        return {host: leaf for host, _, leaf in given} if given else per_rank.switches(samples)

    @of_samples
    def verdicts(self) -> dict[int, all_pairs.Twice]:
        """What both measurements of a size have in common, if there are two."""
        verdicts = {}
        for size in self.sizes:
            launches = self.pairs(size)
            if len(launches) > 1:
                verdicts[size] = all_pairs.bad_pairs(launches[0], launches[1], self.switches(launches[0]))
        return verdicts

    def _retests(self, size: int) -> list[Spec]:
        """Specs of single pairs: the suspicious ones of the first measurement, the slowest first, and some others."""
        samples = self.pairs(size)
        if not samples or not self.values.retests:
            return []
        hosts = all_pairs.hosts_of(samples[0])
        seconds = all_pairs.matrix(samples[0])
        both, names = np.triu(seconds + seconds.T, 1), np.asarray(hosts)
        found, slow = all_pairs.judged_once(samples[0], self.switches(samples[0]))
        for rank, other in all_pairs.of_parts(found, hosts):
            slow[rank, other] = slow[other, rank] = True
        apart = (both > 0) & (names[:, None] != names[None, :])
        bad = _ordered(both, apart & slow)[::-1][: self.values.retests]
        sound = _ordered(both, apart & ~slow)[:_SOUND]
        if not bad:
            return []
        chosen = [f"{hosts[one]},{hosts[other]}" for one, other in [*bad, *sound]]
        return [
            spec for pair in chosen for spec in sweep(ALONE, sizes=[size], hosts=launch.listed(pair), **self._where)
        ]

    # ---- what the notebook shows -------------------------------------------------------------------------------

    def map_figure(self, size: int) -> Figure | Omitted:
        """Times of all pairs, ordered by switch, with those slow twice marked."""
        if size not in self.verdicts:
            return _ONCE if self.pairs(size) else NOTHING
        first, verdict = self.pairs(size)[0], self.verdicts[size]
        bad = [*verdict.of_parts, *zip(verdict.table["rank"], verdict.table["other"], strict=True)]
        seconds = resolution.known(verdict.seconds, first, work=2)
        figure = figures.pairs(seconds, all_pairs.hosts_of(first), self.switches(first), bad=bad)
        small_print.add(figure, *_order(verdict.seconds))
        return Figure(figure)

    def twice_figure(self, size: int) -> Figure | Omitted:
        """Every pair in the first measurement and in the second, with the limits."""
        if size not in self.verdicts:
            return _ONCE if self.pairs(size) else NOTHING
        launches = self.pairs(size)[:2]
        verdict = self.verdicts[size]
        causes = {**verdict.of_parts, **{(row.rank, row.other): row.cause for row in verdict.table.itertuples()}}
        matrices = [all_pairs.matrix(one) for one in launches]
        return Figure(
            figures.repeated_pairs(
                matrices[0],
                matrices[1],
                all_pairs.hosts_of(launches[0]),
                limits=[all_pairs.limits(one, all_pairs.hosts_of(launches[0]))[1] for one in matrices],
                causes=causes,
            )
        )

    def bad_table(self) -> pd.DataFrame:
        """Pairs that were slow twice and belong to no slow part, with their times alone.

        If there is none, the three slowest pairs.
        """
        columns = ["message_size_B", "rank", "other", "host", "other_host", "latency_us", "excess", "alone", "cause"]
        parts = []
        for size, verdict in self.verdicts.items():
            table = verdict.table if len(verdict.table) else self._slowest(size)
            alone = [self._alone(size, str(row.host), str(row.other_host)) for row in table.itertuples()]
            parts.append(table.assign(message_size_B=size, alone=alone))
        rows = pd.concat(parts)[columns] if parts else pd.DataFrame(columns=columns)
        return rows.assign(excess=100 * rows["excess"].astype(float)).rename(
            columns={"latency_us": "together (µs)", "excess": "excess (%)", "alone": "alone (µs)"}
        )

    def _slowest(self, size: int) -> pd.DataFrame:
        """The three slowest pairs of a size at which none was slow twice."""
        hosts, seconds = all_pairs.hosts_of(self.pairs(size)[0]), self.verdicts[size].seconds
        both, (middle, _) = np.triu((seconds + seconds.T) / 2, 1), all_pairs.limits(seconds, hosts)
        for pair in self.verdicts[size].of_parts:
            both[pair] = 0
        worst = _ordered(-both, both > 0)[:3]
        rows = [
            (
                one,
                other,
                hosts[one],
                hosts[other],
                1e6 * both[one, other],
                both[one, other] / middle - 1,
                "none: not slow twice",
            )
            for one, other in worst
        ]
        return pd.DataFrame(rows, columns=["rank", "other", "host", "other_host", "latency_us", "excess", "cause"])

    def _alone(self, size: int, host: str, other: str) -> float:
        """Latency of a pair of hosts measured alone, µs; NaN if it was not measured."""
        rows = self.alone(size)
        pair = rows[rows["hosts"] == f"{host},{other}"]
        return float(pair["latency_us_p50"].iloc[0]) if len(pair) else float("nan")

    def alone(self, size: int) -> pd.DataFrame:
        """Rows of the summary of pairs measured alone."""
        rows = self.of(ALONE)
        return rows[(rows["message_size_B"] == size) & rows["hosts"].str.contains(",")]

    def alone_figure(self) -> Figure | Text:
        """Suspicious pairs measured alone, beside some that were not suspicious."""
        sizes = [size for size in self.sizes if len(self.alone(size))]
        if not sizes:
            return Text("No pair was suspicious, so none was measured alone.")
        rows = self.alone(sizes[-1]).sort_values("latency_us_p50", ascending=False)
        return Figure(self.bounded(figures.bars(rows, "hosts", "latency_us", series=["message_size_B"]), rows))

    def effects_table(self) -> pd.DataFrame:
        """How far rows, columns and blocks of the matrix lie above the middle pair, at the largest size; the worst."""
        if not self.verdicts:
            return pd.DataFrame(columns=["effect", "part", "pairs", "excess (%)"])
        size = max(self.verdicts)
        first = self.pairs(size)[0]
        table = all_pairs.effects(self.verdicts[size].seconds, all_pairs.hosts_of(first), self.switches(first))
        table = table.assign(**{"excess (%)": 100 * table.pop("excess")})
        return pd.concat(
            [part.sort_values("excess (%)", ascending=False).head(4) for _, part in table.groupby("effect", sort=False)]
        )

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._verdicts(), *self._by_themselves(), *self._false_alarms()])

    def _verdicts(self) -> Iterator[str]:
        """The verdict at each size."""
        for size, verdict in self.verdicts.items():
            doubt = " Some pairs met less than six times and could not be judged: raise time_cap."
            yield f"{size_words(size)}: {_said(verdict)}{doubt if verdict.unjudged else ''}{self._left_out(size)}"
        for size in self.sizes:
            if size not in self.verdicts and self.pairs(size):
                yield f"{size_words(size)}: {self._once(size)}{self._left_out(size)}"
        yield from dict.fromkeys(_chance(verdict.pairs) for verdict in self.verdicts.values())

    def _once(self, size: int) -> str:
        """Say which pairs were slow in the only launch of a size."""
        (first,) = self.pairs(size)
        hosts, seconds = all_pairs.hosts_of(first), all_pairs.matrix(first)
        parts, every = all_pairs.judged_once(first, self.switches(first))
        slow, whole = np.triu(every), "".join(f"{_whole(slow_pairs.slow_part(Subject(), part))}. " for part in parts)
        names = ", ".join(f"{hosts[one]} and {hosts[other]}" for one, other in np.argwhere(slow)[:_NAMED])
        more = f" and {slow.sum() - _NAMED} more" if slow.sum() > _NAMED else ""
        pairs = int(np.triu(~np.isnan(seconds), 1).sum())
        found = (
            f"{slow.sum()} of {plural(pairs, 'pair')} ({names}{more})"
            if slow.any()
            else f"none of {plural(pairs, 'pair')}"
        )
        were = "was" if slow.sum() < 2 else "were"
        beside = " beside that" if parts else ""
        return f"{whole}{found} {were} slow{beside} in the only launch. One launch confirms nothing: set launches=2."

    def _left_out(self, size: int) -> str:
        """Say how many of the hosts were measured; nothing if all were."""
        known = launch.named(self.values.hosts) or testbeds.outline(self.values.testbed).hosts
        every = {one.partition(":")[0] for one in known}
        measured = set(all_pairs.hosts_of(self.pairs(size)[0]))
        if not every - measured:
            return ""
        left = ", ".join(sorted(every - measured))
        count = f"{len(measured & every)} of {len(every)}"
        return f" Hosts measured: {count}. Nothing is known about {left}: set ranks={len(every)}."

    def _by_themselves(self) -> Iterator[str]:
        """Whether suspicious pairs are slow when measured alone."""
        for size in self.sizes:
            rows = self.alone(size)
            if len(rows) > 1:
                rows = rows.sort_values("latency_us_p50")
                fast, slow = rows.iloc[0], rows.iloc[-1]
                effect = effects.between(slow, fast, "latency_us", tests=effects.pairs(len(rows)))
                one, other = (" and ".join(row["hosts"].split(",")) for row in (slow, fast))
                yield f"Measured alone, {size_words(size)}: " + effect.said(
                    f"between {one} they take {amount(slow, 'latency_us')}, {effect.times} what {other} need, so their "
                    "own path is slow",
                    f"{one} take {amount(slow, 'latency_us')}, {other} {amount(fast, 'latency_us')}",
                )

    def _false_alarms(self) -> Iterator[str]:
        """How often a healthy system with this scatter would be suspected."""
        simulated = False
        for size in self.sizes:
            for first in self.pairs(size)[:1]:
                try:
                    yield f"{size_words(size)}: {all_pairs.false_alarms(first).sentence}"
                    simulated = True
                except DataError as error:
                    yield f"{size_words(size)}: no rate of false alarms can be given. {error}"
        if simulated:
            yield all_pairs.SIMULATED


def _order(seconds: NDArray[np.float64]) -> list[Note]:
    """Return how the exchange of a pair that comes first differs from the second one, if most pairs agree.

    Parameters
    ----------
    seconds : (ranks, ranks), of the exchange that a rank, the row, started with another one.
    """
    upper = np.triu_indices(len(seconds), 1)
    first, second = seconds[upper], seconds.T[upper]
    met = (first > 0) & (second > 0)
    ratios = first[met] / second[met]
    if not len(ratios) or abs(np.log(middle := float(np.median(ratios)))) < _APART:
        return []
    if beyond_limit([ratios], [1.0])[0] == "cannot say":
        return []
    said = f"each pair exchanges twice; the first exchange, after a barrier, takes {number(middle)} times the second"
    return [note("first-exchange", said)]


_APART = 0.05  # of the logarithm of the ratio of both exchanges, from which it is told


def _whole(one: Finding) -> str:
    """Say that a part is slow as a whole."""
    return f"{one.subject.setting[0].upper()}{one.subject.setting[1:]} is {sentence(one)}"


def _said(twice: all_pairs.Twice) -> str:
    """Say which parts and pairs were slow twice."""
    found = [*slow_pairs.found(Subject(), twice)]
    whole = "".join(f"{_whole(one)}, in both measurements. " for one in found if one.form == "part")
    rest = [f"{one.subject.setting}: {sentence(one)}" for one in found if one.form in ("pairs", "alone")]
    count, were = (len(twice.table), "were") if rest else ("None", "was")
    pairs = (
        f"{count} of {plural(twice.pairs, 'pair')} {were} slow in both measurements{' beside that' if whole else ''}"
    )
    passed = f" {twice.passing} more were slow the first time only." if twice.passing else ""
    return f"{whole}{pairs}{': ' if rest else ''}{'; '.join(rest)}.{passed}"


def _chance(pairs: int) -> str:
    """Say how often the rule suspects a pair of a healthy system."""
    alpha = all_pairs.ALPHA
    return (
        f"By the rule, on a healthy system whose {plural(pairs, 'pair')} scatter normally a pair is suspicious in one "
        f"measurement of about {1 / alpha:.0f}, and twice by chance in one of about {round(pairs / alpha**2):,}."
    )


def _ordered(times: NDArray[np.float64], chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Chosen pairs of ranks by their times; those that take as long in the order of their ranks."""
    pairs = np.argwhere(chosen)[np.argsort(times[chosen], kind="stable")]
    return [(one, other) for one, other in pairs.tolist()]
