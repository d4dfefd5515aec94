"""How long do collectives take, which rank is the slowest, and how does the cadence change the times?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from labkit import benchmarks, figures, studies
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects, sentences
from labkit.judge.rules import guideline
from labkit.judge.slow_rank import slow_ranks
from labkit.judge.view import View
from labkit.point.spec import Spec, sweep
from labkit.point.units import parse_sizes
from labkit.stats.decision import RELEVANT
from labkit.store.samples.facts import CLOCK_ERROR_NS, FINGERPRINT, LATE_SHARE, RANK_HOSTS, SLOT_NS
from labkit.studies import counts, number, size_words, statement, words
from labkit.studies._derived import of_samples

if TYPE_CHECKING:
    from labkit.store.samples import Samples

BLOCKING = (
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "barrier",
    "bcast",
    "exscan",
    "gather",
    "gatherv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "scatter",
    "scatterv",
)
PLAIN = {"option_cadence": "isolated", "option_in_place": False, "option_rotate": False}  # of the first figures
WAYS = {
    "in_place": {False: "two buffers", True: "in place"},
    "rotate": {False: "one root", True: "rotating"},
}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the collectives notebook.

    Parameters
    ----------
    collectives : blocking ones, by the names that `labkit list` gives them after mpi.
    sizes : message sizes; those that are not a power of two are set beside their neighbours.
    ranks : a list. More ranks than cores share them, and the records say so.
    example : collective whose cadences and ranks are looked at more closely.
    example_size : size of the message whose time is shown for every rank, B; it is added to the sizes.
    cadences : how iterations follow one another: isolated, streaming, synchronised. Isolated is always measured.
    in_place : also measure those that can work in place.
    rotate : also measure those with a root with the next rank as root of every iteration.
    transports : paths to compare.
    """

    collectives: str = "allreduce,bcast,alltoall,allgather,reduce,barrier"
    sizes: str = "8,256,3000,4Ki,64Ki"
    ranks: str = "2"
    example: str = "allreduce"
    example_size: int = 8
    cadences: str = "isolated,streaming,synchronised"
    in_place: bool = True
    rotate: bool = True
    transports: str = "shm"


class Study(studies.Study):
    """Blocking collectives: slowest rank, mean over ranks, tail, cadence, place and root."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = tuple(f"mpi.{name}" for name in BLOCKING)
    focus: ClassVar = (("mpi.allreduce", "transport"),)
    values: Parameters

    @property
    def names(self) -> list[str]:
        """Collectives that are measured, with their family."""
        names = words(self.values.collectives)
        if wrong := [name for name in (*names, self.values.example) if name not in BLOCKING]:
            raise SpecError(f"{wrong[0]!r} is not a blocking collective. There are: {', '.join(BLOCKING)}.")
        return [f"mpi.{name}" for name in names]

    def specs(self) -> list[Spec]:
        """Every collective over sizes and ranks; the example in other cadences; in place and with rotating roots."""
        v = self.values
        sizes = sorted({*parse_sizes(v.sizes), v.example_size})
        ways: list[dict[str, Any]] = [{}]
        if v.in_place:
            ways.append({"in_place": True})
        if v.rotate:
            ways.append({"rotate": True})
        common = {"transport": words(v.transports), "launcher": v.launcher, "testbed": v.testbed}
        specs = []
        for name in dict.fromkeys([*self.names, f"mpi.{v.example}"]):
            sized, options = benchmarks.get(name).sized, _options(name)
            for way in (way for way in ways if set(way) <= options):
                specs += sweep(name, sizes=sizes if sized else 0, ranks=counts(v.ranks, "ranks"), **way, **common)
        others = []
        if "cadence" in _options(f"mpi.{v.example}"):
            others = [c for c in words(v.cadences) if c != "isolated"]
        return specs + sweep(f"mpi.{v.example}", sizes=sizes, ranks=counts(v.ranks, "ranks"), cadence=others, **common)

    def rows(self, **options: object) -> pd.DataFrame:
        """Rows of the summary that have their options as in `PLAIN`, except for those given; None for any value."""
        rows = self.summary.assign(collective=self.summary["benchmark"].str.removeprefix("mpi."))
        for name, value in (PLAIN | options).items():
            if name in rows and value is not None:
                rows = rows[rows[name].isna() | (rows[name] == value)]
        return rows.sort_values(["collective", "message_size_B", "transport", "ranks"])

    def sized(self) -> pd.DataFrame:
        """Rows of the collectives that move messages."""
        rows = self.rows()
        return rows[rows["message_size_B"] > 0]

    def _example(self, **options: object) -> pd.DataFrame:
        """Rows of the example, of those with the most ranks."""
        rows = self.rows(**options)
        rows = rows[rows["collective"] == self.values.example]
        return rows[rows["ranks"] == rows["ranks"].max()]

    def latency_figure(self) -> Figure | Omitted:
        """Slowest rank against message size, a line for each collective and number of ranks."""
        return self.drawn(
            figures.versus_size, self.sized(), "latency_us", series=["collective", "transport", "ranks"], tail=None
        )

    def tail_figure(self) -> Figure | Omitted:
        """Median and 99th percentile of the example."""
        rows = self._example()
        if len(rows) and rows["latency_us_p99"].isna().all():
            return Omitted("no launch has the 100 iterations that a 99th percentile needs.", "too-few")
        return self.drawn(figures.versus_size, rows, "latency_us", series=["collective", "transport"])

    def ranks_figure(self) -> Figure | Omitted:
        """Slowest rank against the number of ranks at the smallest size of each; needs several numbers."""
        rows = self.rows()
        rows = rows[rows["message_size_B"] == rows.groupby("collective")["message_size_B"].transform("min")]
        if rows["ranks"].nunique() < 2:
            rows = rows.iloc[:0]
        return self.drawn(figures.versus, rows, "ranks", shown="latency_us", series=["collective", "transport"])

    def mean_figure(self) -> Figure | Omitted:
        """The slowest rank of every iteration, by median and mean, beside the mean over ranks that OSU prints."""
        shown = {
            "slowest rank, median": "latency_us_p50",
            "slowest rank, mean": "latency_us_mean",
            "mean over ranks (OSU)": "latency_us_osu_mean",
        }
        return self.drawn(figures.versus, self._example(), "message_size_B", shown=shown, series=["transport"])

    def mean_table(self) -> pd.DataFrame:
        """Slowest rank and mean over ranks of every collective at its smallest and largest size."""
        rows = self.rows()
        sizes = rows.groupby("collective")["message_size_B"]
        ends = (rows["message_size_B"] == sizes.transform("min")) | (rows["message_size_B"] == sizes.transform("max"))
        columns = [
            "collective",
            "transport",
            "ranks",
            "message_size_B",
            "latency_us_p50",
            "latency_us_low",
            "latency_us_high",
            "latency_us_p99",
            "latency_us_mean",
            "latency_us_osu_mean",
            "n",
            "launches",
        ]
        return rows[ends].reindex(columns=columns)

    def rank_figure(self) -> Figure | Omitted:
        """Distribution of the times of every rank, for the example and its size."""
        samples = [s for s in self._samples() if s.spec.size in (0, self.values.example_size)]
        return Figure(figures.per_rank(samples)) if samples else NOTHING

    def rank_map(self, statistic: str = "median") -> Figure | Omitted:
        """One statistic of every rank of the example, a row for each node: needs ranks on several nodes."""
        launches = [s for s in self._samples() if s.spec.size in (0, self.values.example_size)]
        if all(len(set(RANK_HOSTS.of(s.meta))) < 2 for s in launches):
            return Omitted("the ranks are on one node, so a map by node would have one row.")
        return Figure(figures.rank_map(launches, statistic))

    def _samples(self, cadence: str = "isolated") -> list[Samples]:
        """Samples of the example in one cadence, with the most ranks, over the first path."""
        wanted = set(self._example(option_cadence=cadence)["fingerprint"])
        samples = [s for s in self.samples if FINGERPRINT.of(s.meta) in wanted]
        return [s for s in samples if s.spec.transport == samples[0].spec.transport]

    def slow_ranks(self) -> Text | Omitted:
        """Which ranks are slow more often than chance allows, in each launch of the example."""
        launches = [s for s in self._samples() if len(s.ranks) > 1 and s.spec.size == self.values.example_size]
        said: dict[str, list[str]] = {}
        for samples in launches:
            said.setdefault(slow_ranks(samples).sentence, []).append(str(samples.launch))
        texts = [
            f"Launch{'es' if len(numbers) > 1 else ''} {', '.join(numbers)}: {sentence}"
            for sentence, numbers in said.items()
        ]
        return listed(texts)

    @of_samples
    def view(self) -> View:
        """The points of the first figures as the rule on guidelines sees them."""
        return View("", self.records, self.rows())

    @of_samples
    def judged(self) -> guideline.Judged | None:
        """Violations of the guidelines; None without collectives."""
        return guideline.judged(self.view) if len(self.view.summary) else None

    def guidelines(self) -> Text | Omitted:
        """Whether a collective is slower than others that could do its work."""
        if self.judged is None:
            return NOTHING
        said, reasons = sentences.guidelines(self.judged.violations, self.judged.checked), self.judged.unchecked
        if not reasons:
            return Text(said)
        names = ", ".join(sorted({name for why in reasons.values() for name in re.findall(r"mpi\.\w+", why)}))
        return Text(f"{said} {len(reasons)} guidelines could not be checked, because there are no points of {names}.")

    def violations(self) -> pd.DataFrame:
        """Guidelines that were violated, the worst first; at most twelve."""
        violations = self.judged.violations if self.judged else ()
        table = guideline.table(self.view, violations[:12]).drop(columns="right")
        return table.rename(columns={"left_us": "left (µs)", "right_us": "right (µs)"})

    def cadence_figure(self) -> Figure | Omitted:
        """Slowest rank of the example in every cadence; needs several."""
        rows, series = self._example(option_cadence=None), ["option_cadence", "transport"]
        rows = rows.sort_values(series) if len(rows) and rows["option_cadence"].nunique() > 1 else rows.iloc[:0]
        return self.drawn(figures.versus_size, rows, "latency_us", series=series, tail=None)

    def cadence_table(self) -> pd.DataFrame:
        """Agreed starts of the synchronised cadence: slot (median over launches), error of the clocks, late starts."""
        samples = [s for s in self._samples("synchronised") if SLOT_NS.given(s.meta)]
        rows = [
            {
                "message_size_B": s.spec.size,
                "slot (µs)": SLOT_NS.of(s.meta) / 1e3,
                "error of the clocks (µs)": CLOCK_ERROR_NS.of(s.meta) / 1e3,
                "late": LATE_SHARE.of(s.meta) * s.n,
                "n": s.n,
            }
            for s in samples
        ]
        columns = ["message_size_B", "slot (µs)", "error of the clocks (µs)", "late", "n"]
        table = pd.DataFrame(rows, columns=columns).groupby("message_size_B", as_index=False)
        total = table.agg({"slot (µs)": "median", "error of the clocks (µs)": "max", "late": "sum", "n": "sum"})
        return total.assign(**{"late starts (%)": 100 * total.pop("late") / total["n"]})

    def way_figure(self, option: str) -> Figure | Omitted:
        """Slowest rank of one collective with ``in_place`` or ``rotate`` and without: the example, or the first."""
        rows = self._with_and_without(option)
        names = sorted(set(rows["collective"]), key=lambda name: (name != self.values.example, name))
        rows = rows[rows["collective"].isin(names[:1])]
        return self.drawn(figures.versus_size, rows, "latency_us", series=["collective", "way", "transport"], tail=None)

    def way_table(self, option: str) -> pd.DataFrame:
        """Slowest rank of every collective with the option and without, at its smallest and largest size."""
        rows = self._with_and_without(option)
        sizes = rows.groupby("collective")["message_size_B"]
        ends = (rows["message_size_B"] == sizes.transform("min")) | (rows["message_size_B"] == sizes.transform("max"))
        columns = ["collective", "way", *self.columns("latency_us")]
        return rows[ends].reindex(columns=columns).sort_values(["collective", "message_size_B", "way"])

    def _with_and_without(self, option: str) -> pd.DataFrame:
        """Rows with and without an option, for collectives that have both; at the largest number of ranks."""
        name, rows = f"option_{option}", self.rows(**{f"option_{option}": None})
        if name not in rows:
            return rows.iloc[:0].assign(way=[])
        rows = rows[rows["collective"].isin(rows.loc[rows[name].eq(True), "collective"])]
        rows = rows[rows["ranks"] == rows["ranks"].max()]
        return rows.assign(way=rows[name].astype(bool).map(WAYS[option])).sort_values(["collective", "way"])

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._times(), *self._slowest(), *self._cadences(), *self._odd()])

    def _times(self) -> Iterator[str]:
        """Smallest and largest message of every collective."""
        rows = self.rows()
        for (name, path, ranks), group in rows.groupby(["collective", "transport", "ranks"], sort=False):
            least, most = group.iloc[0], group.iloc[-1]
            text = f"{name}, {ranks} ranks over {path}: "
            if most["message_size_B"]:
                text += f"{size_words(least['message_size_B'])} take {statement(least, 'latency_us')}, "
                yield text + f"{size_words(most['message_size_B'])} {statement(most, 'latency_us')}, slowest rank."
            else:
                yield text + f"takes {statement(least, 'latency_us')}, slowest rank."

    def _slowest(self) -> Iterator[str]:
        """Slowest rank against the mean over ranks, and the tail, also of collectives without a message."""
        rows = self.rows()
        if rows.empty or "latency_us_osu_mean" not in rows:
            return
        rows = rows[[len(effects.of_row(row, "latency_us").launches) > 1 for row in rows.to_dict("records")]]
        ratio = rows["latency_us_mean"] / rows["latency_us_osu_mean"].where(rows["latency_us_osu_mean"] > 0)
        ratio = ratio[ratio > 1 + RELEVANT]
        if len(ratio):
            row = rows.loc[ratio.idxmax()]
            root = ", one root" if "rotate" in _options(row["benchmark"]) else ""
            yield (
                f"The mean over ranks hides the slowest rank most in {_named(row)}{root}: in "
                f"the mean over iterations, the slowest rank takes {number(row['latency_us_mean'])} µs, the mean over "
                f"ranks is {number(row['latency_us_osu_mean'])} µs ({number(ratio.max())} times)."
            )
        tails = rows["latency_us_p99"] / rows["latency_us_p50"]
        tails = tails[tails > 1 + RELEVANT]
        if len(tails):
            row = rows.loc[tails.idxmax()]
            yield (
                f"{_named(row)} has the longest tail: "
                f"one of 100 iterations takes {number(tails.max())} times the median or longer."
            )

    def _cadences(self) -> Iterator[str]:
        """What the way iterations follow one another does to the smallest message, and whether starts were late."""
        rows = self._example(option_cadence=None)
        for path, group in rows[rows["message_size_B"] == rows["message_size_B"].min()].groupby("transport"):
            phrases = [f"{row['option_cadence']} {statement(row, 'latency_us')}" for _, row in group.iterrows()]
            if len(phrases) > 1:
                size = size_words(group["message_size_B"].iloc[0])
                yield f"{self.values.example} with {size} over {path}, by cadence: {', '.join(phrases)}."
        table = self.cadence_table()
        if len(table):
            late = float((table["late starts (%)"] * table["n"]).sum() / table["n"].sum())
            yield (
                f"With agreed starts, {number(late)} % of all iterations began late; the clocks of the ranks agreed to "
                f"{number(float(table['error of the clocks (µs)'].max()))} µs or better."
            )

    def _odd(self) -> Iterator[str]:
        """Sizes that are not a power of two and take longer than the next power that was measured."""
        for (name, path, ranks), group in self.sized().groupby(["collective", "transport", "ranks"], sort=False):
            by_size: dict[int, Any] = {int(row["message_size_B"]): row for _, row in group.iterrows()}
            powers = [size for size in by_size if size & (size - 1) == 0]
            for size in (size for size in by_size if size not in powers):
                larger = min((power for power in powers if power > size), default=0)
                if larger and effects.between(by_size[size], by_size[larger], "latency_us").more:
                    yield (
                        f"{name}, {ranks} ranks over {path}: {size:,} B, no power of two, take longer than "
                        f"{size_words(larger)}: {statement(by_size[size], 'latency_us')} against "
                        f"{statement(by_size[larger], 'latency_us')}."
                    )


def _named(row: Mapping[str, Any]) -> str:
    """Collective and size of a row; a barrier has no size."""
    size = int(row["message_size_B"])
    return f"{row['collective']} with {size_words(size)}" if size else str(row["collective"])


def _options(name: str) -> set[str]:
    """Names of the options of a benchmark."""
    return set(benchmarks.get(name).options.__dataclass_fields__)
