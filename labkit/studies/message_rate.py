"""How many messages a second pass between pairs of ranks, and how many must be in flight for that?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import figures, studies
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.spec import Spec, sweep
from labkit.point.units import plural
from labkit.read.records import sound
from labkit.stats.decision import TOO_FEW
from labkit.studies import amount, counts, resolved, size_words, statement, words

if TYPE_CHECKING:
    import pandas as pd

RATE = "message_rate_per_s"
ONE_WAY, BOTH_WAYS = "mpi.multi_bandwidth", "mpi.multi_bibandwidth"
FLIGHT = {"mpi.bandwidth": "option_window", "mpi.queue_depth": "option_depth"}  # where the messages in flight stand


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the message rate notebook.

    Parameters
    ----------
    sizes : message sizes, MIN:MAX or a list.
    ranks : numbers of ranks, a list; two ranks are a pair. More ranks than cores share them, and the records say so.
    window : messages in flight of every pair.
    windows : messages in flight of one pair, to be compared; empty leaves it out.
    depths : most messages outstanding in a queue that never runs empty, even; empty leaves it out.
    window_sizes : message sizes for both of these.
    transports : paths to compare.
    """

    sizes: str = "1:256Ki:*8"
    ranks: str = "2"
    window: int = 64
    windows: str = "1,4,16,64,256"
    depths: str = "4,16,64,256"
    window_sizes: str = "8,4Ki,64Ki"
    transports: str = "shm"


class Study(studies.Study):
    """Message rate of pairs, and what it owes to the messages in flight."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (ONE_WAY, BOTH_WAYS, "mpi.bandwidth", "mpi.queue_depth", "mpi.multi_latency")
    values: Parameters

    def specs(self) -> list[Spec]:
        """Pairs one way, both ways and in ping-pong over all sizes; one pair over windows and queues."""
        v = self.values
        common = {"transport": words(v.transports), "launcher": v.launcher, "testbed": v.testbed}
        pairs = {"ranks": counts(v.ranks, "ranks"), **common}
        specs = [s for name in (ONE_WAY, BOTH_WAYS) for s in sweep(name, sizes=v.sizes, window=v.window, **pairs)]
        specs += sweep("mpi.multi_latency", sizes=v.sizes, **pairs)
        specs += sweep("mpi.bandwidth", sizes=v.window_sizes, window=counts(v.windows, "windows"), **common)
        return specs + sweep("mpi.queue_depth", sizes=v.window_sizes, depth=counts(v.depths, "depths"), **common)

    def pairs(self, *names: str) -> pd.DataFrame:
        """Rows of benchmarks of pairs by size, with the number of pairs and the direction."""
        rows = self.summary[self.summary["benchmark"].isin(names)]
        rows = rows.sort_values(["message_size_B", "benchmark", "transport", "ranks"])
        ways = {ONE_WAY: "one way", BOTH_WAYS: "both ways"}
        return rows.assign(pairs=rows["ranks"] // 2, direction=rows["benchmark"].map(ways))

    def in_flight(self, name: str) -> pd.DataFrame:
        """Rows of a benchmark with the messages in flight, by these, at the sizes of this sweep."""
        rows = self.of(name)
        if rows.empty:
            return rows.assign(in_flight=[])
        rows = rows.assign(in_flight=rows[FLIGHT[name]].astype(int))
        if name == "mpi.bandwidth":  # other chapters measure a single window
            rows = rows[rows.groupby(["transport", "message_size_B"])["in_flight"].transform("nunique") > 1]
        return rows.sort_values(["message_size_B", "transport", "in_flight"])

    def rate_figure(self, name: str) -> Figure | Omitted:
        """Messages per second of all pairs together against size, on a logarithm."""
        rows = self.pairs(name)
        return self.drawn(figures.versus, rows, "message_size_B", shown=RATE, series=["transport", "pairs"], log=True)

    def bandwidth_figure(self) -> Figure | Omitted:
        """Bandwidth of all pairs together against size, one way and both ways."""
        rows = self.pairs(ONE_WAY, BOTH_WAYS)
        return self.drawn(
            figures.versus_size, rows, "bandwidth_MBps", series=["direction", "transport", "pairs"], tail=None
        )

    def pairs_figure(self) -> Figure | Omitted:
        """Messages per second against the number of pairs, at the smallest size; needs several numbers."""
        rows = self.pairs(ONE_WAY, BOTH_WAYS)
        rows = rows[rows["message_size_B"] == rows["message_size_B"].min()]
        if rows["pairs"].nunique() < 2:
            rows = rows.iloc[:0]
        return self.drawn(figures.versus, rows, "pairs", shown=RATE, series=["direction", "transport"])

    def flight_figure(self, name: str) -> Figure | Omitted:
        """Messages per second against the messages in flight, a line for each size."""
        label = "messages in a window" if name == "mpi.bandwidth" else "most messages outstanding"
        return self.drawn(
            figures.versus,
            self.in_flight(name),
            "in_flight",
            shown=RATE,
            series=["transport", "message_size_B"],
            log=True,
            label=label,
        )

    def latency_figure(self) -> Figure | Omitted:
        """Latency of ping-pong of all pairs at once against size, mean over pairs."""
        rows = self.pairs("mpi.multi_latency")
        return self.drawn(figures.versus_size, rows, "latency_us", series=["transport", "pairs"])

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._peaks(), *self._windows(), *self._queues()])

    def _peaks(self) -> Iterator[str]:
        """Highest message rate of each path and direction, and how it grows with the pairs."""
        rows = self.pairs(ONE_WAY, BOTH_WAYS)
        rows = rows[rows[f"{RATE}_p50"].notna()] if len(rows) else rows
        for (way, path), every in rows.groupby(["direction", "transport"], sort=False):
            group = sound(every, RATE)
            if group.empty:
                continue
            best = group.loc[group[f"{RATE}_p50"].idxmax()]
            yield (
                f"Over {path}, the highest message rate{resolved(every, RATE)} {way} is "
                f"{statement(best, RATE)}, with {plural(best['pairs'], 'pair')} and messages of "
                f"{size_words(best['message_size_B'])}."
            )
            least = group[group["message_size_B"] == group["message_size_B"].min()].sort_values("pairs")
            first, last = least.iloc[0], least.iloc[-1]
            if len(least) > 1:
                effect, what = effects.between(last, first, RATE), size_words(last["message_size_B"])
                yield effect.said(
                    f"Over {path}, {plural(last['pairs'], 'pair')} send {effect.times} as many messages of {what} "
                    f"{way} as "
                    f"{first['pairs']} do",
                    f"Over {path}, {last['pairs']} pairs send {amount(last, RATE)} of {what} {way}, "
                    f"{plural(first['pairs'], 'pair')} {amount(first, RATE)}",
                )

    def _windows(self) -> Iterator[str]:
        """Highest message rate over windows against the smallest window, and the window that reaches it."""
        for (path, size), group in self.in_flight("mpi.bandwidth").groupby(["transport", "message_size_B"]):
            rows = [row for row in group.to_dict("records") if effects.of_row(row, RATE).value > 0]
            if len(rows) < 2:
                continue
            first, best = rows[0], max(rows, key=lambda row: effects.of_row(row, RATE).value)
            what = f"messages of {size_words(size)}"
            effect = effects.between(best, first, RATE, tests=effects.pairs(len(rows)))
            yield effect.said(
                f"Over {path}, {best['in_flight']} {what} in flight pass at {effect.times} the rate of "
                f"{first['in_flight']}: {statement(best, RATE)}{self._enough(rows, best)}",
                f"Over {path}, {best['in_flight']} {what} in flight pass at {amount(best, RATE)}, {first['in_flight']} "
                f"at {amount(first, RATE)}",
            )

    @staticmethod
    def _enough(rows: Sequence[Mapping[str, Any]], best: Mapping[str, Any]) -> str:
        """The smallest window from which on no window is certainly slower than the best, as the end of a sentence."""
        tests = effects.pairs(len(rows))
        found = [effects.between(row, best, RATE, tests=tests) for row in rows if row is not best]
        if all(one.doubt == TOO_FEW for one in found):
            return ""
        slower = [n for n, row in enumerate(rows) if effects.between(row, best, RATE, tests=tests).less]
        enough = rows[min(slower[-1] + 1, len(rows) - 1)] if slower else rows[0]
        if enough is rows[-1] and enough is best:
            return "; every smaller window is certainly slower" if len(slower) == len(rows) - 1 else ""
        return f"; from {enough['in_flight']} in flight on, no window is certainly slower"

    def _queues(self) -> Iterator[str]:
        """A queue that never runs empty, compared with a window of equal size."""
        key = ["transport", "message_size_B", "in_flight"]
        both = self.in_flight("mpi.queue_depth").merge(
            self.in_flight("mpi.bandwidth"), on=key, suffixes=("", "_window")
        )
        for (path, size), group in both.groupby(["transport", "message_size_B"]):
            row = group.loc[group["in_flight"].idxmax()].to_dict()
            window = {name.removesuffix("_window"): value for name, value in row.items() if name.endswith("_window")}
            effect = effects.between(row, window, RATE)
            yield effect.said(
                f"Over {path}, a queue of {row['in_flight']} that never runs empty passes {effect.times} as many "
                f"messages of {size_words(size)} as a window of equal size, drained each time",
                f"Over {path}, a queue of {row['in_flight']} that never runs empty passes messages of "
                f"{size_words(size)} at {amount(row, RATE)}, a window of equal size at {amount(window, RATE)}",
            )
