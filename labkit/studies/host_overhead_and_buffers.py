"""What do messages cost the processor, and do the buffer and the number of peers matter?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import figures, studies
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.spec import Spec, sweep
from labkit.studies import amount, counts, number, size_words, statement, words

if TYPE_CHECKING:
    import pandas as pd

FALL = 0.9  # of the bandwidth without computation, below which it has dropped
SHARE = "available_percent_value"
HOT = {"mpi.hotspot_send": "sends to", "mpi.hotspot_receive": "receives from"}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook on host overhead, buffers and hot spots.

    Parameters
    ----------
    sizes : message sizes at which to measure overhead; empty leaves it out.
    compute_us : computation while a window is under way, µs; 0 is added. Empty leaves it out.
    compute_sizes : message sizes of these windows.
    window : messages in flight there.
    buffers : used in turn, one for each message; empty leaves it out.
    reuse : % of the messages that come from the same buffer again; empty leaves it out.
    reuse_buffers : buffers that all other messages are drawn from.
    buffer_sizes : message sizes for both of these.
    ranks : a list, of hot spots; all ranks but one are peers. More ranks than cores share them, and the records say so.
    hot_sizes : message sizes of hot spots; empty leaves them out.
    transports : paths to compare.
    """

    sizes: str = "1:256Ki:*16"
    compute_us: str = "10,30,100,300,1000,3000"
    compute_sizes: str = "4Ki,64Ki"
    window: int = 64
    buffers: str = "1:1024:*4"
    reuse: str = "1,25,50,75,100"
    reuse_buffers: int = 256
    buffer_sizes: str = "4Ki,64Ki"
    ranks: str = "2"
    hot_sizes: str = "8,4Ki"
    transports: str = "shm"


class Study(studies.Study):
    """Host overhead, bandwidth beside computation, patterns of buffers, hot spots."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = ("mpi.host_overhead", "mpi.availability", "mpi.buffer_reuse", *HOT)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Overhead over sizes; computation, buffers and peers each over its own axis."""
        v = self.values
        common = {"transport": words(v.transports), "launcher": v.launcher, "testbed": v.testbed}
        specs = []
        if v.sizes:
            specs += sweep("mpi.host_overhead", sizes=v.sizes, **common)
        if v.compute_us.strip():
            computed = [0.0, *map(float, counts(v.compute_us, "compute_us"))]
            specs += sweep("mpi.availability", sizes=v.compute_sizes, window=v.window, compute_us=computed, **common)
        turns, shares = counts(v.buffers, "buffers"), counts(v.reuse, "reuse")
        specs += sweep("mpi.buffer_reuse", sizes=v.buffer_sizes, buffers_in_turn=turns, **common)
        specs += sweep(
            "mpi.buffer_reuse", sizes=v.buffer_sizes, buffers_in_turn=v.reuse_buffers, reuse=shares, **common
        )
        for name in HOT if v.hot_sizes else ():
            specs += sweep(name, sizes=v.hot_sizes, ranks=counts(v.ranks, "ranks"), **common)
        return specs

    def computed(self) -> pd.DataFrame:
        """Rows of the bandwidth beside a computation, by size and computation time."""
        rows = self.of("mpi.availability")
        return rows.sort_values(["message_size_B", "option_compute_us"]) if len(rows) else rows

    def buffers(self, scheme: int) -> pd.DataFrame:
        """Rows of scheme 1 (successive buffers) or 2 (one buffer reused), by size and number or share of buffers."""
        rows, by = self.of("mpi.buffer_reuse"), ("option_buffers_in_turn", "option_reuse")[scheme - 1]
        if rows.empty:
            return rows
        return rows[(rows["option_reuse"] > 0) == (scheme == 2)].sort_values(["message_size_B", by])

    def hot(self, name: str) -> pd.DataFrame:
        """Rows of a hot spot, by the number of its peers."""
        rows = self.of(name)
        return rows.assign(peers=rows["ranks"] - 1).sort_values(["message_size_B", "peers"])

    def overhead_figure(self) -> Figure | Omitted:
        """Latency and its processor time against message size."""
        shown = {"latency": "latency_us_p50", "host overhead": "overhead_us_p50"}
        return self.drawn(
            figures.versus, self.of("mpi.host_overhead"), "message_size_B", shown=shown, series=["transport"]
        )

    def overhead_columns(self) -> list[str]:
        """Columns of the table of overheads."""
        both = [f"{metric}_{end}" for metric in ("latency_us", "overhead_us") for end in ("p50", "low", "high")]
        return ["transport", "message_size_B", *both, "n", "launches"]

    def computation_figure(self) -> Figure | Omitted:
        """Bandwidth against the time of the computation in each window."""
        return self.drawn(
            figures.versus,
            self.computed(),
            "option_compute_us",
            shown="bandwidth_MBps",
            series=["transport", "message_size_B"],
            label="computation in each window (µs)",
        )

    def availability_figure(self) -> Figure | Omitted:
        """Bandwidth against the part of the running time that was computed."""
        return self.drawn(
            figures.versus,
            self.computed(),
            SHARE,
            shown="bandwidth_MBps",
            series=["transport", "message_size_B"],
            label="computed part of the running time (%)",
            even=True,
        )

    def turns_figure(self) -> Figure | Omitted:
        """Latency against the number of buffers used in turn (scheme 1)."""
        return self.drawn(
            figures.versus,
            self.buffers(1),
            "option_buffers_in_turn",
            shown="latency_us",
            series=["transport", "message_size_B"],
            label="buffers used in turn",
        )

    def reuse_figure(self) -> Figure | Omitted:
        """Latency against the part of the messages that use the same buffer again (scheme 2)."""
        return self.drawn(
            figures.versus,
            self.buffers(2),
            "option_reuse",
            shown="latency_us",
            even=True,
            series=["transport", "message_size_B"],
            label="messages from the same buffer again (%)",
        )

    def hot_figure(self, name: str) -> Figure | Omitted:
        """Time of a hot spot against the number of its peers."""
        return self.drawn(
            figures.versus,
            self.hot(name),
            "peers",
            shown="latency_us",
            series=["transport", "message_size_B"],
            label="peers of the hot spot",
        )

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences = [*self._overhead(), *self._availability(), *self._turns(), *self._reuse(), *self._hot()]
        return listed(sentences)

    def _overhead(self) -> Iterator[str]:
        """Processor time of the smallest and largest message; the round trip is twice the latency."""
        for path, group in self.of("mpi.host_overhead").groupby("transport", sort=False):
            least, most = group.iloc[0], group.iloc[-1]
            small, large = (
                effects.share(row["overhead_us_p50"] / 2, row["latency_us_p50"]) if effects.founded(row) else ""
                for row in (least, most)
            )
            yield (
                f"Over {path}, sending and receiving a message of {size_words(least['message_size_B'])} costs "
                f"the processor {statement(least, 'overhead_us')}, {small or 'an unknown share'} of the round trip; "
                f"one of {size_words(most['message_size_B'])} {statement(most, 'overhead_us')}, "
                f"{large or 'an unknown share'}."
            )

    def _availability(self) -> Iterator[str]:
        """CPU availability: where the bandwidth is 10 % below its level without computation."""
        for (path, size), group in self.computed().groupby(["transport", "message_size_B"], sort=False):
            yield f"Over {path}, with messages of {size_words(size)}, {available(group)}"

    def _turns(self) -> Iterator[str]:
        """Number of buffers from which the latency is higher than with the first number."""
        for (path, size), ends in self._lines(self.buffers(1)):
            higher = first_above(ends)
            row = ends[-1] if higher is None else higher
            few, many = (int(end["option_buffers_in_turn"]) for end in (ends[0], row))
            what = f"Over {path}, messages of {size_words(size)}"
            turn = f"{many} buffers in turn ({size_words(many * size)} on either side)"
            times = statement(row, "latency_us"), f"{statement(ends[0], 'latency_us')} with {few}"
            yield effects.between(row, ends[0], "latency_us").said(
                f"{what} {'take less time' if higher is None else 'first take longer'} with {turn}: {times[0]}, "
                f"against {times[1]}",
                f"{what} take {times[0]} with {turn}, {times[1]}",
            )

    def _reuse(self) -> Iterator[str]:
        """Latency with the least reuse against that with the most."""
        for (path, size), ends in self._lines(self.buffers(2)):
            few, many = ends[0], ends[-1]
            effect = effects.between(few, many, "latency_us")
            values = (
                f"Over {path}, messages of {size_words(size)} take {statement(few, 'latency_us')} when "
                f"{few['option_reuse']:.0f} % of them use the same buffer again, {statement(many, 'latency_us')} when "
                f"{many['option_reuse']:.0f} % do"
            )
            yield effect.said(f"{values}: {effect.times} as long with the least reuse", values)

    @staticmethod
    def _lines(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, int], list[Any]]]:
        """Path and size of each line, and its rows in order; lines of one point are left out."""
        for (path, size), group in rows.groupby(["transport", "message_size_B"], sort=False):
            if len(group) > 1:
                yield (str(path), int(size)), [row for _, row in group.iterrows()]

    def compared(self) -> Text | Omitted:
        """The shapes of the figures of 2003 beside those found here, as a Markdown list."""
        return listed([*self._seven_and_eight(), *self._eleven_to_thirteen()])

    def _seven_and_eight(self) -> Iterator[str]:
        """Overhead in latency, and bandwidth beside computation."""
        here = [
            f"{amount(row, 'overhead_us')} for {size_words(row['message_size_B'])} over {path}"
            for path, row in self.of("mpi.host_overhead").groupby("transport", sort=False).first().iterrows()
        ]
        if here:
            yield (
                "Figure 7, overhead in the latency test: 0.5 µs (Myrinet), 0.7 µs (Quadrics), 2 µs (InfiniBand), with "
                f"a card that moves the bytes. Here: {', '.join(here)}."
            )
        shares = [availability(rows) for _, rows in self._lines(self.computed())]
        here = [f"{number(share[0])} %" for share in shares if not isinstance(share, str)]
        if here:
            yield (
                "Figure 8, bandwidth beside computation: level until more than 99 % of the running time is computed, "
                f"on all three. Here it has fallen by 10 % at {', '.join(here)}."
            )

    def _eleven_to_thirteen(self) -> Iterator[str]:
        """Successive buffers and reused buffers: the latency beside the bandwidth."""
        here = []
        for (path, size), rows in self._lines(self.buffers(1)):
            higher = first_above(rows)
            trend = "shows no rise"
            if higher is not None:
                trend = f"rises from {higher['option_buffers_in_turn']:.0f} buffers on"
            here.append(f"the latency of {size_words(size)} over {path} {trend}")
        if here:
            yield (
                "Figure 11, bandwidth of 512 KiB against buffers in turn: level up to 25 with Myrinet and Quadrics, "
                f"falling beyond 10 with InfiniBand. Here {', '.join(here)}."
            )
        here = [
            f"{effect.times if effect.claimed or effect.apart else 'not shown to differ'} for {size_words(size)} over "
            f"{path}{f' ({effects.LATER})' if effect.apart else ''}"
            for (path, size), rows in self._lines(self.buffers(2))
            for effect in [effects.between(rows[0], rows[-1], "latency_us")]
        ]
        if here:
            yield (
                "Figures 12 and 13, latency of 4 KiB and bandwidth of 512 KiB when fewer messages use the same buffer: "
                "both suffer much with Quadrics and InfiniBand; with Myrinet the latency grows slightly and the "
                f"bandwidth stays. Here the latency with the least reuse is, of that with the most, {', '.join(here)}."
            )

    def _hot(self) -> Iterator[str]:
        """How the time of a hot spot grows with its peers."""
        alone = False
        for name, does in HOT.items():
            for (path, size), group in self.hot(name).groupby(["transport", "message_size_B"]):
                first, last = group.iloc[0], group.iloc[-1]
                peers = f"{first['peers']} {'peer' if first['peers'] == 1 else 'peers'}"
                text = (
                    f"Over {path}, a hot spot that {does} {peers} takes {statement(first, 'latency_us')} for messages "
                    f"of {size_words(size)}"
                )
                if len(group) == 1:
                    yield f"{text}."
                    alone = True
                    continue
                growth = effects.between(last, first, "latency_us")
                yield growth.said(
                    f"{text}; with {last['peers']} peers {growth.times} as long, for "
                    f"{number(last['peers'] / first['peers'])} times as many messages",
                    f"{text}; with {last['peers']} peers {statement(last, 'latency_us')}",
                )
        if alone:
            yield "How a hot spot grows with its peers, a list in the parameter `ranks` shows."


def first_above(rows: list[Any]) -> Any | None:
    """First row with a latency surely above the latency of ``rows[0]``; None if there is none."""
    tests = max(1, len(rows) - 1)
    return next((row for row in rows[1:] if effects.between(row, rows[0], "latency_us", tests=tests).more), None)


def available(rows: pd.DataFrame) -> str:
    """End of a sentence: CPU availability, and the two points that it lies between."""
    result = availability([row for _, row in rows.iterrows()])
    if isinstance(result, str):
        return result
    share, before, after = result
    return (
        f"CPU availability is {number(share)} %: there the bandwidth has fallen by 10 % below "
        f"{number(rows.iloc[0]['bandwidth_MBps_p50'])} MB/s. It is on the line between two points: "
        f"{number(before[SHARE])} % computed with {number(before['option_compute_us'])} µs in each window, "
        f"{number(after[SHARE])} % with {number(after['option_compute_us'])} µs. Without overlap it is 10 %."
    )


def availability(rows: list[Any]) -> tuple[float, Any, Any] | str:
    """CPU availability: the computed part of the running time where the bandwidth has fallen by 10 %.

    Returns
    -------
    The part in %, on the line between the last point with 90 % of the bandwidth and the next, and these two points; or
    a text that says what is missing.
    """
    level = "bandwidth_MBps_p50"
    if len(rows) < 2 or rows[0]["option_compute_us"] != 0:
        return "the sweep has no point without computation and one with; name them in `compute_us`."
    known = effects.of_row(rows[0], "bandwidth_MBps").value > 0
    if not (known and all(effects.founded(row) and 0 <= row[SHARE] <= 100 for row in rows)):
        return (
            "it is not known, because times are zero, too short for the clock, do not add up, or come from one launch "
            "on a busy machine."
        )
    wanted = FALL * rows[0][level]
    last = max(n for n, row in enumerate(rows) if row[level] >= wanted)
    if last == len(rows) - 1:
        return (
            f"the bandwidth has not fallen by 10 % at the longest computation, with {number(rows[last][SHARE])} % of "
            "the running time computed. Set longer times in `compute_us` to find it."
        )
    before, after = rows[last], rows[last + 1]
    along = (before[level] - wanted) / (before[level] - after[level])
    return float(before[SHARE] + along * (after[SHARE] - before[SHARE])), before, after
