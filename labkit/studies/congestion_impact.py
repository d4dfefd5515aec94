"""Congestion impact: isolated, loaded and recovered times of victims beside congestors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args, get_type_hints

import pandas as pd

from labkit import benchmarks, figures, stats, studies
from labkit.benchmarks.congestion import gpcnet as network_tests
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.io import beneath
from labkit.judge import congestion, effects, gpcnet
from labkit.point.notes import joined
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_share, plural
from labkit.studies import amount, counts, number, size_words, words

if TYPE_CHECKING:
    from labkit.store.samples import Samples

ISOLATED, LOADED, LOAD = "congestion.gpcnet_isolated", congestion.LOADED, "congestion.gpcnet_congestors"
SMALL = {"latency": 8, "get_latency": 8, "allreduce": 8}  # B, as in GPCNeT
STATISTICS = {"mean": "mean", "p99": "99th percentile", "p999": "99.9th percentile"}
PHASES = {"isolated_ns": "isolated", "time_ns": "loaded", "recovered_ns": "recovered"}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook about congestion.

    Parameters
    ----------
    launches : fresh starts of every point; with 6 or more an impact has a 95 % interval, below it a range.
    time_cap : s of timed iterations for a point and launch.
    patterns : what the victims do, a list of latency, bandwidth, bandwidth_sync, get_latency, put_bandwidth,
        allreduce and alltoall, or all; latencies and allreduce have 8 B.
    bandwidth_size : size of the messages of the other patterns, B; 131072 in GPCNeT.
    congestors : what the others do, a list of incast, alltoall, put_incast, get_broadcast and mixed, or all. The first
        is that of the sweeps.
    share : % of the nodes that are congestors.
    further_shares : others than share, of the first pattern beside the first congestor; empty leaves them out.
    fan_ins : ranks that send to one, of the same; empty leaves them out.
    congestor_size : B of one message of the congestors.
    ranks : how many. Without ppn every rank counts as a node, so that victims and congestors meet on hosts too.
    ppn : ranks on a host that are drawn together, as GPCNeT does; 0 draws single ranks.
    transport : path of the messages.
    """

    launches: int = 3
    time_cap: float = 0.4
    patterns: str = "latency,bandwidth_sync,allreduce"
    bandwidth_size: int = 16384
    congestors: str = "incast,alltoall"
    share: float = 50.0
    further_shares: str = "25,75"
    fan_ins: str = "1,3"
    congestor_size: int = 4096
    ranks: int = 8
    ppn: int = 0
    transport: str = "auto"
    testbed: str = "virtual-cluster:4"


class Study(studies.Study):
    """Victims alone, beside congestors and after them; congestors alone."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (ISOLATED, LOADED, LOAD)
    focus: ClassVar = ((LOADED, "load"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """All patterns with and without every congestor; sweeps of share and fan-in; the congestors alone."""
        v, specs = self.values, []
        where = {"ranks": v.ranks, "ppn": v.ppn, "transport": v.transport, "launcher": v.launcher, "testbed": v.testbed}
        patterns, kinds = self.patterns, self.kinds
        if not patterns or not kinds:
            raise SpecError("patterns and congestors must name at least one each, as in patterns=latency.")
        for pattern in patterns:
            size = [SMALL.get(pattern, v.bandwidth_size)]
            specs += sweep(ISOLATED, sizes=size, pattern=pattern, **where)
            specs += sweep(LOADED, sizes=size, pattern=pattern, congestor=kinds, **self._load(), **where)
        swept: dict[str, Any] = {"sizes": [SMALL.get(patterns[0], v.bandwidth_size)], "pattern": patterns[0]}
        swept |= {"congestor": kinds[0]} | where
        if v.further_shares:
            shares = [float(one) for one in counts(v.further_shares, "further_shares")]
            specs += sweep(LOADED, **swept, **(self._load() | {"share": shares}))
        if v.fan_ins:
            specs += sweep(LOADED, **swept, **(self._load() | {"fan_in": counts(v.fan_ins, "fan_ins")}))
        specs += sweep(LOAD, sizes=[v.congestor_size], congestor=kinds, **where)
        return specs

    @property
    def patterns(self) -> list[str]:
        """What the victims do."""
        return _named(self.values.patterns, "pattern")

    @property
    def kinds(self) -> list[str]:
        """What the congestors do."""
        return _named(self.values.congestors, "congestor")

    def _load(self) -> dict[str, Any]:
        """Options of the usual load."""
        return {"share": self.values.share, "congestor_size": self.values.congestor_size, "fan_in": 0}

    # ---- impact ------------------------------------------------------------------------------------------------

    def loaded(self, **options: Any) -> list[list[Samples]]:
        """Launches of each loaded point with these options, those not named as usual; None for any value."""
        usual = {"pattern": self.patterns[0], "congestor": self.kinds[0], **self._load()} | options
        groups: dict[Spec[network_tests.Loaded], list[Samples]] = {}
        for point in self.samples:
            if point.spec.benchmark == LOADED:
                spec = _resolved(point)
                if all(value is None or spec.values[name] == value for name, value in usual.items()):
                    groups.setdefault(spec, []).append(point)
        ranks = {"pattern": self.patterns, "congestor": self.kinds}
        order = sorted(groups, key=lambda spec: (*(_rank(*one, spec) for one in ranks.items()), str(spec)))
        return [sorted(groups[spec], key=lambda point: point.launch) for spec in order]

    def impacts(self, name: str, **options: Any) -> pd.DataFrame:
        """Impact factors of points that differ in one option: statistic, phase, factor, interval, option."""
        parts = []
        for group in self.loaded(**options):
            spec = _resolved(group[0])
            value = f"{spec.options.pattern}, {size_words(spec.size)}" if name == "pattern" else spec.values[name]
            table = _shown(group).assign(**{name: value, "congestor": spec.options.congestor})
            parts.append(table.assign(words=table["statistic"].map(STATISTICS)))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def impact_figure(self) -> Figure | Omitted:
        """Impact factors of every pattern beside the first congestor."""
        return self._factors(self.impacts("pattern", pattern=None), "pattern", "pattern of the victims")

    def congestor_figure(self) -> Figure | Omitted:
        """Impact factors of the first pattern beside every congestor."""
        return self._factors(self.impacts("congestor", congestor=None), "congestor", "what the congestors do")

    def matrix_figure(self, statistic: str = "mean") -> Figure | Omitted:
        """Impact factors of every pattern beside every congestor; in parentheses where launches do not show it."""
        table = self.impacts("pattern", pattern=None, congestor=None)
        if table.empty:
            return NOTHING
        rows = table[(table["phase"] == "loaded") & (table["statistic"] == statistic)].dropna(subset=["factor"])
        if rows.empty or rows["pattern"].nunique() * rows["congestor"].nunique() < 2:
            return NOTHING
        factors = [number(value) for value in rows["factor"]]
        shows = rows["differs"].isin(congestion.CLAIMS)
        shown = [text if show else f"({text})" for text, show in zip(factors, shows, strict=True)]
        about = [
            f"{row['pattern']} beside {row['congestor']}<br><b>{text} times</b>"
            + ("" if pd.isna(row["low"]) else f"<br>{number(row['low'])} – {number(row['high'])}")
            for text, row in zip(factors, rows.to_dict("records"), strict=True)
        ]
        cells = rows.assign(label=shown, about=about).rename(columns={"pattern": "victims", "congestor": "congestors"})
        small = f"{STATISTICS[statistic]}, loaded over isolated; in parentheses: too few launches, or no effect"
        return Figure(figures.matrix(cells, "victims", "congestors", "factor", title="impact (times)", small=small))

    def share_figure(self) -> Figure | Omitted:
        """Impact factors of the first pattern against the share of congestors."""
        table = self.impacts("share", share=None)
        return self._factors(table, "share", "share of the nodes that are congestors (%)", several=True)

    def fan_in_figure(self) -> Figure | Omitted:
        """Impact factors of the first pattern against the number of senders to one."""
        table = self.impacts("fan_in", fan_in=None)
        table = table[table["fan_in"] > 0] if len(table) else table
        return self._factors(table, "fan_in", "congestors that send to one (fan-in)", several=True)

    @staticmethod
    def _factors(table: pd.DataFrame, name: str, label: str, *, several: bool = False) -> Figure | Omitted:
        """Factors of the loaded phase against one option."""
        if table.empty or (several and table[name].nunique() < 2):
            return NOTHING
        rows = table[table["phase"] == "loaded"].sort_values(name, kind="stable")
        order = list(STATISTICS.values())
        rows = rows.iloc[[k for text in order for k, value in enumerate(rows["words"]) if value == text]]
        return Figure(figures.factors(rows, name, "words", title="loaded over isolated (times)", label=label))

    def phases_figure(self) -> Figure | Omitted:
        """How the times of the first pattern are distributed in the three phases, one launch."""
        groups = self.loaded()
        if not groups:
            return NOTHING
        first = groups[0][0]
        spec = _resolved(first)
        waits = network_tests.waits(spec)
        times = {name: congestion.seconds(first, phase) / waits * 1e6 for phase, name in PHASES.items()}
        caption = (
            f"{spec.options.pattern} beside {spec.options.congestor}, all victims, "
            f"launch {first.launch}, n={first.time_ns.size:,} in each phase"
        )
        return Figure(figures.phases(times, title="time (µs)", small=caption))

    def impact_table(self) -> pd.DataFrame:
        """Impact factors of every pattern and congestor, loaded and recovered, and claims if there are any."""
        table = self.impacts("pattern", pattern=None, congestor=None)
        if table.empty:
            return table
        claimed = table["differs"].isin(congestion.CLAIMS)
        table = table.assign(claim=table["differs"].where(claimed, "none"))
        shown = [("factor", ""), ("low", ", low"), ("high", ", high"), *[("claim", ", claim")] * bool(claimed.any())]
        wide = [
            {"pattern": pattern, "congestor": kind, "statistic": statistic}
            | {f"{row['phase']}{text}": row[column] for _, row in rows.iterrows() for column, text in shown}
            for (pattern, kind, statistic), rows in table.groupby(["pattern", "congestor", "words"], sort=False)
        ]
        return pd.DataFrame(wide)

    # ---- GPCNeT's own text -------------------------------------------------------------------------------------

    def gpcnet_tables(self, launch: int = 0) -> Text | Omitted:
        """GPCNeT's network_load_test of one launch, as a block of text."""
        samples = [
            one for group in self.loaded(pattern=None, congestor=self.kinds[0]) for one in group if one.launch == launch
        ]
        if not samples:
            return NOTHING
        few = min(one.time_ns.size for one in samples)
        tail = "" if stats.given("p99", few) else f"; of as few as {few} times, it is the maximum"
        caption = (
            f"labkit prints its own times of launch {launch} in the form of GPCNeT's network_load_test, which did not "
            f"run here. Congestors: {self.kinds[0]}. By GPCNeT's definitions, Avg is the average over ranks, and 99% "
            f"the 99th percentile of all times of all ranks{tail}. {_crossed(samples)}"
        ).strip()
        return Text(f"{caption}\n\n```text\n{gpcnet.text(samples)}```")

    def export(self, folder: str = "") -> Text | Omitted:
        """Write GPCNeT's texts of all launches into files beside the samples, and say where they are."""
        target = Path(folder) if folder else self.campaign.derived / "gpcnet"
        kinds = {
            "network_test": [one for one in self.samples if one.spec.benchmark == ISOLATED],
            "network_load_test": [one for group in self.loaded(pattern=None) for one in group],
        }
        written = []
        for name, samples in kinds.items():
            for launch in sorted({one.launch for one in samples}):
                file = f"{name}-{launch}.txt"
                text = gpcnet.text([one for one in samples if one.launch == launch])
                beneath.put(target.parent, f"{target.name}/{file}", text)
                written.append(file)
        where = f"`{target}`" if folder else "the folder `gpcnet` beside the campaign's records"
        return Text(f"Written to {where}: {', '.join(written)}.") if written else NOTHING

    # ---- sentences ---------------------------------------------------------------------------------------------

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._impacts(), *self._sweeps(), *self._loads()])

    def _impacts(self) -> Iterator[str]:
        """Certain effects of the congestors on each pattern; then all undecided ones together, and reasons."""
        points = [
            (f"{spec.options.pattern} with {size_words(spec.size)} beside {spec.options.congestor}", group)
            for group in self.loaded(pattern=None, congestor=None)
            for spec in [_resolved(group[0])]
        ]
        impacts = [(name, congestion.impact(group), _shown(group, sure=True)) for name, group in points]
        reasons: dict[tuple[str, ...], list[str]] = {}
        for name, impact, rows in impacts:
            if impact.reasons:
                reasons.setdefault(impact.reasons, []).append(name)
            if claims := [_claim(row) for row in rows.to_dict("records") if row["differs"] in congestion.CLAIMS]:
                yield f"{name}: {joined(claims)}."
        yield from _undecided([rows for *_, rows in impacts])
        for why, names in reasons.items():
            which = names[0] if len(names) == 1 else f"{len(names)} of these {len(points)} cases"
            yield f"What may explain it in {which}: {joined(why)}."

    def _sweeps(self) -> Iterator[str]:
        """Where along a sweep the mean suffers most."""
        for name, unit in (("share", " % congestors"), ("fan_in", " senders to one")):
            table = self.impacts(name, **{name: None})
            if table.empty:
                continue
            rows = table[(table["phase"] == "loaded") & (table["statistic"] == "mean") & (table[name] > 0)]
            rows = rows[rows["factor"].notna()]
            if len(rows) > 1:
                worst = rows.loc[rows["factor"].idxmax()]
                rest = rows[rows[name] != worst[name]]
                values = ", ".join(f"{value:g}" for value in sorted(rows[name]))
                tests = effects.pairs(len(rows))
                most = [effects.Effect(worst["measured"], one, tests).more for one in rest["measured"]]
                if worst["differs"] == "longer" and all(most):
                    yield f"Of {values}{unit}, {worst[name]:g} cost the mean most: {number(worst['factor'])} times."

    def _loads(self) -> Iterator[str]:
        """Rate and time of the congestors alone."""
        loads = self.of(LOAD)
        for _, row in loads.iterrows():
            yield (
                f"Alone, ranks of {row['option_congestor']} with {size_words(row['message_size_B'])} hand over "
                f"{amount(row, 'bandwidth_MBps')} in all; a round takes {amount(row, 'latency_us')}."
            )
        if not loads.empty:
            yield (
                "As in GPCNeT, a congestor's sender is done when buffers hold its message, and messages inside a host "
                "count too, so these rates may exceed the rate of a link."
            )


def _shown(group: Sequence[Samples], *, sure: bool = False) -> pd.DataFrame:
    """Impact factors of a point, without percentiles of too few times: the 99th of fewer than 100 is the maximum.

    Parameters
    ----------
    sure : whether only percentiles that support a claim are wanted.
    """
    fewest, table = min(one.time_ns.size for one in group), congestion.impact(group).table

    def enough(name: str) -> bool:
        quantile = congestion.STATISTICS[name]
        return quantile is None or (stats.reliable(fewest, quantile) if sure else stats.given(name, fewest))

    return table[table["statistic"].map(enough)].reset_index(drop=True)


def _crossed(samples: Sequence[Samples]) -> str:
    """What of the bandwidths in GPCNeT's tables can be compared with a link, in sentences; empty without one."""
    parts = []
    for one in samples:
        known = [gpcnet.over_links(one, phase) for phase in ("isolated_ns", "time_ns")]
        if all(known):
            (share, before), (_, now) = (pair for pair in known if pair)
            parts.append(
                f"{_resolved(one).options.pattern}, {format_share(share)} of these bytes left their host: the busiest "
                f"host sent {number(before)} MB/s to others in isolation, and {number(now)} MB/s under load"
            )
    if not parts:
        return ""
    return (
        "MiB/s/rank counts what a rank sends to both neighbours, also to one on its own host. Compare a link with what "
        f"hosts sent to others: in {'; in '.join(parts)}."
    )


def _claim(row: Mapping[str, Any]) -> str:
    """A certain effect: while the congestors send, or after them."""
    when = "" if row["phase"] == "loaded" else "after them, "
    ends = "" if math.isnan(row["low"]) else f"{number(row['low'])} to {number(row['high'])}, "
    return f"{when}the {STATISTICS[row['statistic']]} is {number(row['factor'])} times as long ({ends}{row['label']})"


def _undecided(tables: Sequence[pd.DataFrame]) -> Iterator[str]:
    """For each reason and statistic: in how many cases no effect is certain, and between which factors they lie."""
    rows = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    if rows.empty:
        return
    rows = rows[(rows["phase"] == "loaded") & rows["factor"].notna() & ~rows["differs"].isin(congestion.CLAIMS)]
    for why, some in rows.groupby("differs", sort=False):
        parts = []
        for statistic, own in some.groupby("statistic", sort=False):
            least, most = (number(one) for one in (own["factor"].min(), own["factor"].max()))
            factors = f"{least} times" if least == most else f"{least} to {most} times"
            parts.append(f"{STATISTICS[str(statistic)]} {factors}")
        cases = some["statistic"].value_counts().max()
        fewest, greatest = int(some["launches"].min()), int(some["launches"].max())
        launches = plural(fewest, "launch") if fewest == greatest else f"{fewest} to {plural(greatest, 'launch')}"
        yield (
            f"No effect is certain in {cases} of {plural(len(tables), 'case')}, because {why}: {', '.join(parts)} "
            f"that in isolation ({launches}{' each' if cases > 1 else ''})."
        )


def _resolved(point: Samples) -> Spec[network_tests.Loaded]:
    return benchmarks.resolve(point.spec).of(network_tests.Loaded)


def _named(text: str, option: str) -> list[str]:
    """Names of a list; all values of the option for the word all."""
    return [*get_args(get_type_hints(network_tests.Loaded)[option])] if text.strip() == "all" else words(text)


def _rank(option: str, names: Sequence[str], spec: Spec) -> int:
    """Place of an option's value in a list; after all others if it is not there."""
    value = str(spec.values[option])
    return names.index(value) if value in names else len(names)
