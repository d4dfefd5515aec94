"""What do registering memory, making a connection, many buffers and many queue pairs cost?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from labkit import figures
from labkit.benchmarks.verbs.setup import STEPS
from labkit.figures import small_print
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.columns import METRICS, split, split_end
from labkit.point.spec import Spec, sweep
from labkit.point.units import plural
from labkit.read import records
from labkit.studies import _rdma, amount, centre, counts, number, size_words, statement

PAGE = 4096  # B
RATE = "message_rate_per_s"
HOT = {"verbs.hotspot_send": "sends", "verbs.hotspot_receive": "receives"}


@dataclass(frozen=True, kw_only=True)
class Parameters(_rdma.Parameters):
    """Parameters of the notebook on registration, buffers and queue pairs.

    Parameters
    ----------
    sizes : sizes of the memory that is registered; empty leaves it out.
    setup : measure the making of a connection too.
    buffers : used in turn, one for each message; empty leaves it out.
    reuse : % of the messages that come from the same buffer again; empty leaves it out.
    reuse_buffers : buffers that all other messages are drawn from.
    buffer_size : message size for both of these, B or with a unit.
    qps : queue pairs that a stream uses in turn; empty leaves it out.
    stream_size : message size of that stream.
    peers : peers of hot spots; empty leaves them out.
    hot_size : message size of hot spots.
    """

    sizes: str = "4Ki:4Mi:*32"
    setup: bool = True
    buffers: str = "1,8,64"
    reuse: str = "1,50,100"
    reuse_buffers: int = 64
    buffer_size: str = "4Ki"
    qps: str = "1,4,16"
    stream_size: str = "64"
    peers: str = "1,2,4"
    hot_size: str = "64"


class Study(_rdma.Study):
    """Registration, set-up, buffers in turn and used again, queue pairs, hot spots."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (
        "verbs.registration",
        "verbs.setup",
        "verbs.send_latency",
        "verbs.write_bandwidth",
        *HOT,
    )
    focus: ClassVar = (("verbs.send_latency", "option_reuse"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Registration over sizes, the steps of a set-up, and buffers and queue pairs each over its own axis."""
        v = self.values
        specs = []
        if v.sizes.strip():
            specs += sweep("verbs.registration", sizes=v.sizes, **self.where)
        if v.setup:
            specs += sweep("verbs.setup", sizes=[0], rdma_cm=[False, True], **self.where)
        send: dict[str, Any] = {"sizes": v.buffer_size, "tool": "pyverbs", **self.where}
        specs += sweep("verbs.send_latency", buffers_in_turn=counts(v.buffers, "buffers"), **send)
        specs += sweep("verbs.send_latency", buffers_in_turn=v.reuse_buffers, reuse=counts(v.reuse, "reuse"), **send)
        specs += sweep("verbs.write_bandwidth", sizes=v.stream_size, qps=counts(v.qps, "qps"), **self.where)
        for name in HOT:
            specs += sweep(name, sizes=v.hot_size, peers=counts(v.peers, "peers"), **self.where)
        return specs

    # ---- tables

    def setups(self, *, managed: bool) -> pd.DataFrame:
        """Rows of set-ups by the program itself, or of connections by RDMA CM."""
        rows = self.of("verbs.setup")
        by_cm = rows.get("option_rdma_cm", pd.Series(False, index=rows.index))
        return rows[(by_cm == True) == managed]  # noqa: E712, a recording from before the option has no value

    def steps(self, *, managed: bool = False) -> pd.DataFrame:
        """A row for each step of a set-up, its time as a latency; in their order."""
        rows, tables = self.setups(managed=managed).dropna(axis="columns", how="all"), []
        if rows.empty:
            return rows.assign(step="")
        for metric in STEPS.values():
            if not any((split(c) or split_end(c) or ("",))[0] == metric for c in rows):
                continue  # a step of the other way
            metric_of = {c: parts[0] for c in rows if (parts := split(c) or split_end(c))}
            names = {c: f"latency_us{c.removeprefix(metric)}" for c, name in metric_of.items() if name == metric}
            table = rows[[c for c in rows if metric_of.get(c, metric) == metric]].rename(columns=names)
            table = records.standing_for(table, {"latency_us": (metric, 1.0)})
            tables.append(table.assign(step=METRICS[metric].label))
        return pd.concat(tables)

    def buffers(self, scheme: int) -> pd.DataFrame:
        """Rows of scheme 1 (successive buffers) or 2 (one buffer reused), by size and number or share of buffers."""
        rows, by = self.of("verbs.send_latency"), ("option_buffers_in_turn", "option_reuse")[scheme - 1]
        if rows.empty:
            return rows
        rows = rows[(rows["engine"] == "pyverbs") & ((rows["option_reuse"] > 0) == (scheme == 2))]
        rows = rows[(rows["option_connection"] == "RC") & (rows["option_completion"] == "poll")]
        return _lines(rows, by)

    def pairs(self) -> pd.DataFrame:
        """Rows of the stream by queue pairs."""
        rows = self.of("verbs.write_bandwidth")
        return _lines(rows[rows["option_connection"] == "RC"], "option_qps") if len(rows) else rows

    def hot(self) -> pd.DataFrame:
        """Rows of hot spots by the number of peers, with what the hot spot does."""
        rows = pd.concat([self.of(name).assign(hot_spot=does) for name, does in HOT.items()])
        return _lines(rows, "option_peers") if len(rows) else rows

    # ---- figures

    def registration_figure(self) -> Figure | Omitted:
        """Time to register memory, and to deregister it, against its size."""
        rows = self.of("verbs.registration")
        shown = {"latency_us": "registration", "deregistration_us": "deregistration"}
        if rows.empty:
            return NOTHING
        figure = figures.several_metrics(rows, shown, "time")
        return Figure(small_print.retitled(figure, "size of the memory (B)"))

    def steps_figure(self, *, managed: bool = False) -> Figure | Omitted:
        """A bar for each step of a set-up, or of a connection by RDMA CM."""
        rows = self.steps(managed=managed)
        if rows.empty:
            return NOTHING
        figure = figures.bars(rows, "step", "latency_us", series=[])
        return Figure(figure.update_layout(yaxis_title_text="time, median (µs)", showlegend=False))

    def turns_figure(self) -> Figure | Omitted:
        """Latency against the number of buffers used in turn (scheme 1)."""
        return self.drawn(
            figures.versus,
            self.buffers(1),
            "option_buffers_in_turn",
            shown="latency_us",
            series=["message_size_B"],
            label="buffers used in turn",
            log=False,
        )

    def reuse_figure(self) -> Figure | Omitted:
        """Latency against the part of the messages that use the same buffer again (scheme 2)."""
        return self.drawn(
            figures.versus,
            self.buffers(2),
            "option_reuse",
            shown="latency_us",
            series=["message_size_B"],
            even=True,
            label="messages from the same buffer again (%)",
            log=False,
        )

    def pairs_figure(self) -> Figure | Omitted:
        """Messages per second against the queue pairs used in turn."""
        return self.drawn(
            figures.versus,
            self.pairs(),
            "option_qps",
            shown=RATE,
            series=["engine", "message_size_B"],
            label="queue pairs used in turn",
        )

    def hot_figure(self) -> Figure | Omitted:
        """Time of a round of a hot spot against the number of its peers."""
        return self.drawn(
            figures.versus,
            self.hot(),
            "option_peers",
            shown="latency_us",
            series=["hot_spot", "message_size_B"],
            label="peers of the hot spot",
        )

    # ---- sentences

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._registration(), *self._setup(), *self._buffers(), *self._pairs(), *self._hot()])

    def _registration(self) -> Iterator[str]:
        """The smallest and largest piece of memory, and what a page of the latter costs."""
        rows = self.of("verbs.registration")
        if rows.empty:
            return
        least, most = rows.iloc[0], rows.iloc[-1]
        pages = -(-int(most["message_size_B"]) // PAGE)
        yield (
            f"Registering {size_words(least['message_size_B'])} takes {statement(least, 'latency_us')}, and "
            f"deregistering it {statement(least, 'deregistration_us')}."
        )
        if pages > 1:
            yield (
                f"Registering {size_words(most['message_size_B'])} takes {statement(most, 'latency_us')}, "
                f"{number(1000 * centre(most, 'latency_us') / pages)} ns for each page of 4 KiB; deregistering it "
                f"{statement(most, 'deregistration_us')}."
            )

    def _setup(self) -> Iterator[str]:
        """The whole, and the most expensive step, without and with RDMA CM."""
        for managed, what in ((False, "all objects of a connection"), (True, "a connection by RDMA CM")):
            rows, steps = self.setups(managed=managed), self.steps(managed=managed)
            if rows.empty:
                continue
            whole = f"Creating and closing {what} takes {statement(rows.iloc[0], 'latency_us')}"
            known = sorted(steps.to_dict("records"), key=lambda row: -centre(row, "latency_us"))[:2]
            first, second = (f"“{row['step']}” with {amount(row, 'latency_us')}" for row in known)
            yield effects.between(known[0], known[1], "latency_us", tests=effects.pairs(len(steps))).said(
                f"{whole}; the most expensive step is {first}", f"{whole}; its longest steps are {first} and {second}"
            )

    def _buffers(self) -> Iterator[str]:
        """Both schemes from one end to the other."""
        for scheme, by, words in (
            (1, "option_buffers_in_turn", "buffers in turn: {}"),
            (2, "option_reuse", "buffer used again: {} %"),
        ):
            for size, group in self.buffers(scheme).groupby("message_size_B"):
                few, many = group.iloc[0], group.iloc[-1]
                ends = [f"{statement(row, 'latency_us')} ({words.format(f'{row[by]:.0f}')})" for row in (few, many)]
                values = f"Messages of {size_words(size)} take {ends[0]} and {ends[1]}"
                effect = effects.between(many, few, "latency_us")
                yield effect.said(f"{values}: {effect.times} as long", values)

    def _pairs(self) -> Iterator[str]:
        """Message rate with the fewest and the most queue pairs."""
        for (tool, size), group in self.pairs().groupby(["engine", "message_size_B"], sort=False):
            few, many = group.iloc[0], group.iloc[-1]
            effect = effects.between(many, few, RATE)
            yield (
                f"{tool}: writes of {size_words(size)} flow at {statement(few, RATE)} over {few['option_qps']:.0f} "
                f"queue pair{'s' if few['option_qps'] > 1 else ''}; over {many['option_qps']:.0f} at "
                f"{statement(many, RATE)}{effect.clause(f'{effect.times} as many')}."
            )

    def _hot(self) -> Iterator[str]:
        """Time of a round with the fewest and the most peers."""
        for (does, size), group in self.hot().groupby(["hot_spot", "message_size_B"], sort=False):
            few, many = group.iloc[0], group.iloc[-1]
            effect = effects.between(many, few, "latency_us")
            yield (
                f"A hot spot that {does} messages of {size_words(size)} takes {statement(few, 'latency_us')} for a "
                f"round with {plural(int(few['option_peers']), 'peer')}; with "
                f"{many['option_peers']:.0f} peers {statement(many, 'latency_us')}"
                f"{effect.clause(f'{effect.times} as long')}."
            )


def _lines(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """Rows of the sizes at which something varies, in its order; a single point of another sweep makes no line."""
    varied = rows.groupby(["engine", "message_size_B"])[by].transform("nunique") > 1
    return rows[varied].sort_values(["engine", "message_size_B", by])
