"""How do delay, loss and a slow link affect RDMA verbs, and how many packets are retransmitted?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import figures, testbeds
from labkit.errors import SpecError
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects, evidence
from labkit.point import testbed_words
from labkit.point.spec import Spec, sweep
from labkit.studies import _rdma, amount, centre, number, size_words, statement, words

if TYPE_CHECKING:
    import pandas as pd

READ, WRITE = "verbs.read_latency", "verbs.write_bandwidth"
FACTORS = {  # option of the testbed → label of its axis
    "delay": "delay of the link, one way (ms)",
    "loss": "packets lost, each way (%)",
    "rate": "rate of the link (Mbit/s)",
}
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "kbit": 1e-3, "mbit": 1.0, "gbit": 1e3, "": 1.0}


@dataclass(frozen=True, kw_only=True)
class Parameters(_rdma.Parameters):
    """Parameters of the notebook on loss and delay.

    Parameters
    ----------
    delay : delay of the link, one way, each as the testbed takes it; the link as it is comes with them. Empty leaves it
        out.
    loss : loss of packets in each direction, %.
    rate : rate of the link.
    read_size : message size at which to measure latency.
    write_size : message size of the stream.
    depth : messages under way in the stream.
    iterations : messages of a point, so that a lost one, which costs its timeout, does not take too long.
    tool : pyverbs times every message; perftest the stream as a whole.
    """

    delay: str = "1ms,4ms"
    loss: str = "0.2,1"
    rate: str = "24mbit,8mbit"
    read_size: str = "8"
    write_size: str = "4Ki"
    depth: int = 64
    iterations: int = 256
    tool: str = "pyverbs"


class Study(_rdma.Study):
    """Latency of reads and bandwidth of writes against delay, loss and rate of the link."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (READ, WRITE)
    focus: ClassVar = (("verbs.read_latency", "testbed"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Reads and writes without added delay and with each delay and loss; writes with each rate."""
        v, specs = self.values, list[Spec]()
        name = testbeds.parse(v.testbed)[0]
        options = [{factor: level} for factor in FACTORS for level in words(getattr(v, factor))]
        for option in [{}, *options] if options else []:  # first the link as it is
            if option and "delay" not in testbeds.get(name).adjustable:
                raise SpecError(
                    f"testbed={v.testbed}, but labkit cannot set delay, loss or rate of its link. Set "
                    "testbed=soft-roce."
                )
            where = {**self.where, "testbed": testbeds.with_options(v.testbed, **option), "tool": v.tool}
            if "rate" not in option:
                specs += sweep(READ, sizes=v.read_size, **where)
            specs += sweep(WRITE, sizes=v.write_size, tx_depth=v.depth, **where)
        return specs

    @staticmethod
    def _place(testbed: str) -> str:
        """The testbed without the state of its link, which varies here."""
        return testbeds.base_of(testbed)

    # ---- tables

    def under(self, benchmark: str, factor: str) -> pd.DataFrame:
        """Rows of a benchmark against a factor, with the unchanged link except for a rate."""
        rows = self.of(benchmark)
        if rows.empty:
            return rows
        given = [testbeds.parse(str(text))[2] for text in rows["testbed"]]
        rows = rows.assign(level=[level(options.get(factor, "")) for options in given])
        fits = [set(options) & set(FACTORS) <= {factor} for options in given]
        rows = rows[fits]
        rows = rows[rows["level"] > 0] if factor == "rate" else rows
        lines = rows.groupby(["message_size_B", "engine"])["level"].transform("nunique") > 1
        return rows[lines].sort_values(["message_size_B", "level"])

    def again(self) -> pd.DataFrame:
        """Retransmissions of the adapters, by point and launch."""
        return evidence.again(self.samples)

    def again_table(self) -> pd.DataFrame:
        """`again`, summed over launches, a row for each benchmark and state of the link."""
        rows = self.again()
        names = ["packets", *evidence.AGAIN]
        sums = rows.groupby(["benchmark", "testbed"], as_index=False, sort=True)[names].sum()
        sums["testbed"] = sums["testbed"].map(testbed_words.in_words)
        return sums.rename(columns={name: name.replace("_", " ") for name in names})

    # ---- figures

    def latency_figure(self, factor: str) -> Figure | Omitted:
        """Median and tail of the latency of reads against a factor."""
        shown = {"median": "latency_us_p50", "99th percentile": "latency_us_p99", "maximum": "latency_us_max"}
        return self.drawn(figures.versus, self.under(READ, factor), "level", shown=shown, label=FACTORS[factor])

    def bandwidth_figure(self, factor: str) -> Figure | Omitted:
        """Bandwidth of writes against a factor."""
        return self.drawn(
            figures.versus,
            self.under(WRITE, factor),
            "level",
            shown="bandwidth_MBps",
            label=FACTORS[factor],
            series=["message_size_B"],
        )

    # ---- sentences

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._delay(), *self._window(), *self._loss(), *self._rate()])

    def _ends(self, benchmark: str, factor: str) -> list[Any]:
        """Rows against a factor, in its order."""
        return [row for _, row in self.under(benchmark, factor).iterrows()]

    def _delay(self) -> Iterator[str]:
        """Latency of a read with delay; a read crosses the link twice."""
        rows = self._ends(READ, "delay")
        if len(rows) > 1:
            first, last = rows[0], rows[-1]
            grown, twice = (centre(last, "latency_us") - centre(first, "latency_us")) / 1000, 2 * last["level"]
            values = (
                f"A read of {size_words(last['message_size_B'])} takes {statement(first, 'latency_us')} on the link "
                f"as it is and {statement(last, 'latency_us')} with {number(last['level'])} ms of delay each way"
            )
            effect = effects.between(last, first, "latency_us")
            if effect.claimed and not effects.is_part(twice, grown):
                yield f"{values}, although the link alone, crossed twice, delays it by {number(twice)} ms."
            else:
                link = f"of which {number(twice)} ms are the link's, crossed twice"
                yield effect.said(f"{values}: {number(grown)} ms more, {link}", values)

    def _window(self) -> Iterator[str]:
        """Bandwidth that a window allows in a round trip, and the measured one."""
        for row in self._ends(WRITE, "delay"):
            if row["level"] > 0:
                most = row["message_size_B"] * row["option_tx_depth"] / (2 * row["level"] * 1e-3) / 1e6
                yield (
                    f"With {number(row['level'])} ms each way a window of {row['option_tx_depth']:.0f} messages of "
                    f"{size_words(row['message_size_B'])} can carry at most {number(most)} MB/s in a round trip; "
                    f"measured were {statement(row, 'bandwidth_MBps')}."
                )

    def _loss(self) -> Iterator[str]:
        """Effect of loss on tail and bandwidth, and retransmissions."""
        rows = self._ends(READ, "loss")
        if len(rows) > 1:
            first, last = rows[0], rows[-1]
            slower = effects.between(last, first, "latency_us", "max").more
            late = ": nothing follows a lost read, so only the timeout notices" if slower else ""
            yield (
                f"With {number(last['level'])} % of the packets lost each way a read takes "
                f"{amount(last, 'latency_us')} in the median ({amount(first, 'latency_us')} "
                f"without), the slowest {number(last['latency_us_max'] / 1000)} ms "
                f"({number(first['latency_us_max'] / 1000)} ms without){late}."
            )
        rows = self._ends(WRITE, "loss")
        if len(rows) > 1:
            first, last = rows[0], rows[-1]
            yield (
                f"The bandwidth of writes is {statement(first, 'bandwidth_MBps')} without loss and "
                f"{statement(last, 'bandwidth_MBps')} with {number(last['level'])} %."
            )
        counts = self.again()
        lossy = counts[counts["testbed"].str.contains("loss=")]
        if len(lossy):
            each = ", ".join(f"{lossy[name].sum():.0f} {what}" for name, what in evidence.AGAIN.items())
            point = ["benchmark", "connection", "message_size_B"]
            alike = counts.assign(testbed=counts["testbed"].str.replace(r",loss=[^,]*", "", regex=True))
            wanted = alike.loc[lossy.index, [*point, "testbed"]].drop_duplicates()
            others = counts.drop(index=lossy.index).merge(wanted, on=[*point, "testbed"])
            without = (
                f"; the same points without loss, {others[list(evidence.AGAIN)].to_numpy().sum():.0f} of all these"
            )
            yield f"With loss the adapters counted {each}{without if len(others) else ''}."

    def _rate(self) -> Iterator[str]:
        """Bandwidth beside the rate of the link."""
        for row in self._ends(WRITE, "rate"):
            most = row["level"] / 8
            if not centre(row, "bandwidth_MBps") > 0:
                continue
            share = effects.share(centre(row, "bandwidth_MBps"), most)
            yield (
                f"At {number(row['level'])} Mbit/s the link carries at most {number(most)} MB/s, headers included; "
                f"writes reach {statement(row, 'bandwidth_MBps')}"
                + (f", {share}." if share else ": do not trust a rate above that of the link.")
            )


def level(text: str) -> float:
    """The delay in ms, loss in %, or rate in Mbit/s of a testbed's option; 0 for none.

    Examples
    --------
    >>> level("500us"), level("1.5"), level("2gbit"), level("")
    (0.5, 1.5, 2000.0, 0.0)
    """
    match = re.fullmatch(r"([\d.]+)([a-z]*)", text or "0")
    if match is None or match[2] not in _UNITS:
        raise SpecError(f"{text!r} is not a delay, loss or rate. Write it like 4ms, 0.5 or 24mbit.")
    return float(match[1]) * _UNITS[match[2]]
