"""What does it cost to notice a message: by polling, by an event, and one completion for how many messages?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import figures
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects, evidence
from labkit.options.verbs import Verbs
from labkit.point.spec import Spec, sweep
from labkit.store.samples.facts import ENGINE, FINGERPRINT
from labkit.studies import _rdma, amount, centre, counts, number, size_words, statement, words
from labkit.studies.host_overhead_and_buffers import SHARE, available

if TYPE_CHECKING:
    import pandas as pd

NOTICED = {  # how the end of a write is noticed: immediate, completion → words
    (False, "poll"): "memory watched",
    (True, "poll"): "completion polled",
    (True, "event"): "event",
}
RATE = "message_rate_per_s"


@dataclass(frozen=True, kw_only=True)
class Parameters(_rdma.Parameters):
    """Parameters of the notebook on completions.

    Parameters
    ----------
    sizes : message sizes of ping-pongs; empty leaves them out.
    tools : tools that play the ping-pong of SEND; that of WRITE is pyverbs' alone.
    stream_sizes : message sizes of streams; empty leaves them out.
    moderation : messages to a completion in a stream, each a divisor of `depth`; empty leaves it out.
    post_list : messages posted with one call, each a divisor of `depth`; empty leaves it out.
    depth : messages under way at most in a stream.
    compute_us : computation in each window of a stream, µs; 0 is added. Empty leaves it out.
    compute_size : message size of that stream.
    """

    sizes: str = "8,4Ki"
    tools: str = "perftest,pyverbs"
    stream_sizes: str = "64"
    moderation: str = "1,4,16,64"
    post_list: str = "1,4,16"
    depth: int = 64
    compute_us: str = "100,1000,10000,100000"
    compute_size: str = "4Ki"


class Study(_rdma.Study):
    """Polling against events, one completion for many messages, one post for many."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = ("verbs.write_latency", "verbs.send_latency", "verbs.send_bandwidth", "verbs.availability")
    focus: ClassVar = (("verbs.send_latency", "option_completion"), ("verbs.write_latency", "option_completion"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Writes noticed in three ways, sends in two; streams over moderation and over lists of posts."""
        v, specs = self.values, list[Spec]()
        if v.sizes.strip():
            for immediate, completion in NOTICED:
                specs += sweep(
                    "verbs.write_latency",
                    sizes=v.sizes,
                    immediate=immediate,
                    completion=completion,
                    tool="pyverbs",
                    **self.where,
                )
            specs += sweep(
                "verbs.send_latency", sizes=v.sizes, tool=words(v.tools), completion=["poll", "event"], **self.where
            )
        if v.stream_sizes.strip():
            stream: dict[str, Any] = {"sizes": v.stream_sizes, "tx_depth": v.depth, **self.where}
            first = (words(v.tools) or ["auto"])[0]
            moderation = counts(v.moderation, "moderation")
            specs += sweep("verbs.send_bandwidth", cq_moderation=moderation, tool=first, **stream)
            for posted in counts(v.post_list, "post_list"):
                specs += sweep(
                    "verbs.send_bandwidth", cq_moderation=self._block(), post_list=posted, tool="pyverbs", **stream
                )
        if v.compute_us.strip():
            computed = [0.0, *map(float, counts(v.compute_us, "compute_us"))]
            sizes = v.compute_size
            specs += sweep("verbs.availability", sizes=sizes, tx_depth=v.depth, compute_us=computed, **self.where)
        return specs

    def _block(self) -> int:
        """Messages to a completion in the sweep of lists of posts: the length of the longest list."""
        return max(counts(self.values.post_list, "post_list"), default=1)

    # ---- tables

    def noticed(self) -> pd.DataFrame:
        """Rows of WRITE with the way to detect the end."""
        rows = self.of("verbs.write_latency")
        if rows.empty:
            return rows
        ways = [NOTICED.get(pair, "") for pair in zip(rows["option_immediate"], rows["option_completion"], strict=True)]
        rows = rows.assign(noticed=ways).query("noticed != '' and engine == 'pyverbs'")
        return rows.sort_values("noticed", key=lambda words: words.map(list(NOTICED.values()).index), kind="stable")

    def sends(self) -> pd.DataFrame:
        """Rows of SEND by tool and by polling or event."""
        rows = self.of("verbs.send_latency")
        if rows.empty:
            return rows
        plain = rows[(rows["option_connection"] == "RC") & (rows["option_buffers_in_turn"] == 1)]
        named = plain.assign(completion=plain["option_completion"].map({"poll": "polled", "event": "event"}))
        return named.sort_values(["engine", "option_completion"], ascending=[True, False], kind="stable")

    def streams(self, by: str) -> pd.DataFrame:
        """Rows of the stream by ``cq_moderation`` or ``post_list``, whichever the sweep varies."""
        rows = self.of("verbs.send_bandwidth")
        if rows.empty:
            return rows
        rows = rows[(rows["option_connection"] == "RC") & (rows["option_tx_depth"] == self.values.depth)]
        fixed = ("option_cq_moderation", self._block()) if by == "post_list" else ("option_post_list", 1)
        rows = rows[rows[fixed[0]] == fixed[1]]
        lines = rows.groupby(["engine", "message_size_B"])[f"option_{by}"].transform("nunique") > 1
        return rows[lines].sort_values(["message_size_B", f"option_{by}"])

    def computed(self) -> pd.DataFrame:
        """Rows of bandwidth beside computation, by size and its time."""
        rows = self.of("verbs.availability")
        return rows.sort_values(["message_size_B", "option_compute_us"]) if len(rows) else rows

    # ---- figures

    def noticed_figure(self) -> Figure | Omitted:
        """Latency of WRITE against size, a line for each way to notice it."""
        return self.drawn(figures.versus_size, self.noticed(), "latency_us", series=["noticed"])

    def sends_figure(self) -> Figure | Omitted:
        """Latency of SEND against size, polled and by events, for each tool."""
        return self.drawn(figures.versus_size, self.sends(), "latency_us", series=["engine", "completion"])

    def distribution_figure(self) -> Figure | Omitted:
        """How the iterations of the smallest SEND are distributed, polled and by events."""
        rows = self.sends()
        smallest = rows[rows["message_size_B"] == rows["message_size_B"].min()] if len(rows) else rows
        wanted = set(smallest["fingerprint"]) if len(rows) else set()
        samples = [s for s in self.samples if FINGERPRINT.of(s.meta) in wanted and s.launch == 0 and s.n]
        samples.sort(key=lambda s: (ENGINE.of(s.meta), s.spec.of(Verbs).options.completion == "event"))
        return Figure(figures.distribution(samples, "latency_us")) if samples else NOTHING

    def stream_figure(self, by: str) -> Figure | Omitted:
        """Messages per second of a stream against the messages to a completion, or to a post."""
        label = {"cq_moderation": "messages to a completion", "post_list": "messages posted with one call"}[by]
        return self.drawn(
            figures.versus,
            self.streams(by),
            f"option_{by}",
            shown=RATE,
            series=["engine", "message_size_B"],
            label=label,
        )

    def computed_figure(self) -> Figure | Omitted:
        """Bandwidth against the part of the running time that was computed."""
        return self.drawn(
            figures.versus,
            self.computed(),
            SHARE,
            shown="bandwidth_MBps",
            series=["message_size_B"],
            label="computed part of the running time (%)",
            even=True,
        )

    # ---- sentences

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._noticed(), *self._sends(), *self._streams(), *self._computed()])

    def _noticed(self) -> Iterator[str]:
        """What a completion, and an event, add to watching memory."""
        for size, group in self.noticed().groupby("message_size_B"):
            ways = {row["noticed"]: row for _, row in group.iterrows()}
            base = ways.get("memory watched")
            if base is None or len(ways) < 2:
                continue
            yield (
                f"A write of {size_words(size)} that is noticed by watching memory takes "
                f"{statement(base, 'latency_us')} through pyverbs. "
                + " ".join(_added(base, row, name) for name, row in ways.items() if name != "memory watched")
            )

    def _sends(self) -> Iterator[str]:
        """What sleeping for an event adds to polling."""
        for (tool, size), group in self.sends().groupby(["engine", "message_size_B"], sort=False):
            ways = {row["completion"]: row for _, row in group.iterrows()}
            if len(ways) == 2:
                polled, event = ways["polled"], ways["event"]
                tails = [number(row["latency_us_p99"]) for row in (polled, event) if row["latency_us_p99"] > 0]
                most = f" 99 of 100 take at most {' µs and '.join(tails)} µs." if len(tails) == 2 else ""
                yield (
                    f"{tool}: a send of {size_words(size)} takes {statement(polled, 'latency_us')} when both ends "
                    f"poll. {_added(polled, event, 'event')}{most}"
                )

    def _streams(self) -> Iterator[str]:
        """What a message costs in a stream at both ends of each sweep."""
        for by, what in (("cq_moderation", "to a completion"), ("post_list", "to a post")):
            for (tool, size), group in self.streams(by).groupby(["engine", "message_size_B"], sort=False):
                few, many = group.iloc[0], group.iloc[-1]
                if not (centre(few, RATE) > 0 and centre(many, RATE) > 0):
                    continue
                ends = [
                    f"{number(1e6 / centre(row, RATE))} µs with {row[f'option_{by}']:.0f} {what}" for row in (few, many)
                ]
                values = f"{tool}: in a stream a message of {size_words(size)} costs {ends[0]}, {ends[1]}"
                effect = effects.between(many, few, RATE)
                yield effect.said(f"{values}: {effect.times} the message rate", values)

    def _computed(self) -> Iterator[str]:
        """How much of the running time is free for computation."""
        for size, group in self.computed().groupby("message_size_B"):
            yield f"With messages of {size_words(size)}, {available(group)}"

    def python_findings(self) -> Text | Omitted:
        """How much of pyverbs' times is Python's."""
        said = evidence.python_sentence(self.python_share)
        return Text(said) if said else NOTHING


def _added(base: Any, row: Any, name: str) -> str:
    """Difference of a way to another, as a sentence."""
    effect = effects.between(row, base, "latency_us")
    way = {"completion polled": "Polling for a completion", "event": "Sleeping until an event"}[name]
    return effect.said(f"{way} {effect.change('µs')}", f"{way} takes {amount(row, 'latency_us')}")
