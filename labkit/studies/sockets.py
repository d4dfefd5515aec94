"""What does a message cost over sockets, how do the tools differ, and what do options change?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from labkit import figures, studies
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.columns import METRICS, split, statistic_column
from labkit.point.spec import Spec, sweep
from labkit.point.units import parse_sizes, plural
from labkit.read import records
from labkit.studies import number, size_words, statement, tail, words
from labkit.studies._derived import of_samples

_TRIPS = ("sockets.tcp_rr", "sockets.udp_rr", "sockets.unix_rr")
_STREAMS = ("sockets.tcp_stream", "sockets.tcp_bidirectional")


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the sockets notebook.

    Parameters
    ----------
    sizes : sizes of request and response, over TCP, UDP and Unix sockets.
    tools : tools that measure the same round trip; empty leaves the comparison out.
    tool_size : size of request and response then, B; sockperf needs 14.
    stream_sizes : sizes of the sends of a TCP stream.
    streams : how many at once.
    buffers : buffers of the sockets, B; 0 leaves them to the system.
    offered : MB/s of datagrams to send; 0 for as fast as it goes; empty leaves UDP streams out.
    multicast : MB/s of datagrams to send to a multicast group; empty leaves multicast out.
    datagram : size of a datagram, B.
    rates : messages per second under load; empty leaves it out.
    providers : providers of libfabric; empty leaves it out.
    ladder : largest size of NetPIPE's ladder; empty leaves it out.
    testbed : where the two ends run; on another than local there are no Unix sockets.
    """

    sizes: str = "16:16Ki:*4"
    tools: str = "netperf,sockperf,qperf,iperf,netpipe"
    tool_size: int = 64
    stream_sizes: str = "1Ki:256Ki:*4"
    streams: str = "1,2,4"
    buffers: str = "0,16Ki,256Ki"
    offered: str = "10,50,200,0"
    multicast: str = "10,50"
    datagram: int = 1400
    rates: str = "1000,10000"
    providers: str = "tcp,udp"
    ladder: str = "4Ki"
    testbed: str = "local"


class Study(studies.Study):
    """Round trips, streams and loads over sockets, and the tools that measure them."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (
        *_TRIPS,
        *_STREAMS,
        "sockets.udp_stream",
        "sockets.under_load",
        "sockets.fabric_pingpong",
        "sockets.netpipe",
    )
    focus: ClassVar = (("sockets.tcp_stream", "option_socket_buffer"), ("sockets.under_load", "option_message_rate"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Round trips by path and by tool; streams by number and buffer; datagrams; loads; libfabric; a ladder."""
        v, common = self.values, {"ranks": 1, "testbed": self.values.testbed}
        trips = _TRIPS if v.testbed == "local" else _TRIPS[:2]
        specs = [spec for name in trips for spec in sweep(name, sizes=v.sizes, **common)]
        if v.tools:
            specs += sweep("sockets.tcp_rr", sizes=v.tool_size, tool=words(v.tools), **common)
        if v.stream_sizes:
            specs += sweep("sockets.tcp_stream", sizes=v.stream_sizes, tool="iperf3", **common)
            specs += sweep("sockets.tcp_bidirectional", sizes=v.stream_sizes, tool="iperf3", **common)
            large, streams = _largest(v.stream_sizes), studies.counts(v.streams, "streams")
            buffers = studies.counts(v.buffers, "buffers")
            specs += sweep("sockets.tcp_stream", sizes=large, tool="iperf3", streams=streams, **common)
            specs += sweep("sockets.tcp_stream", sizes=large, tool="iperf3", socket_buffer=buffers, **common)
        if v.offered:
            rates = [float(rate) for rate in words(v.offered)]
            specs += sweep("sockets.udp_stream", sizes=v.datagram, tool="iperf3", offered=rates, **common)
        if v.multicast:
            rates = [float(rate) for rate in words(v.multicast)]
            specs += sweep("sockets.udp_stream", sizes=v.datagram, offered=rates, multicast=True, **common)
            ways = [False, True]
            specs += sweep("sockets.udp_rr", sizes=v.tool_size, tool="sockperf", multicast=ways, **common)
        if v.rates:
            rate = studies.counts(v.rates, "rates")
            specs += sweep("sockets.under_load", sizes=v.tool_size, message_rate=rate, **common)
        if v.providers:
            specs += sweep("sockets.fabric_pingpong", sizes=v.tool_size, provider=words(v.providers), **common)
        if v.ladder:
            specs += sweep("sockets.netpipe", sizes=0, max_size=v.ladder, repeats=200, **common)
        return specs

    @of_samples
    def means(self) -> pd.DataFrame:
        """The summary of means, of NetPIPE its best trial, with intervals over launches: few tools report a median."""
        kept = ("mean", "value", "step")
        others = [name for name in self.records if (parts := split(str(name))) and parts[1] not in kept]
        return records.summary(self.records.drop(columns=others))

    def rows(self, *names: str, **options: Any) -> pd.DataFrame:
        """Rows of `means` that belong to some benchmarks, with these options at these values."""
        rows = self.means[self.means["benchmark"].isin(names)].sort_values("message_size_B", kind="stable")
        for name, value in options.items():
            column = f"option_{name}"
            rows = rows[rows[column] == value] if column in rows else rows.iloc[:0]
        return rows

    @property
    def trips(self) -> pd.DataFrame:
        """Round trips by size over TCP, UDP and Unix sockets, with the tool that labkit chose for each."""
        rows = self.rows(*_TRIPS)
        return rows[rows.get("option_tool", pd.Series("", index=rows.index)).fillna("auto").isin(["auto", ""])]

    def trips_figure(self) -> Figure | Omitted:
        """Round trip against message size, a line for TCP, UDP and Unix sockets."""
        return self.drawn(figures.versus_size, self.trips, "round_trip_us", series=["benchmark"], tail=None)

    @property
    def by_tool(self) -> pd.DataFrame:
        """The same round trip by each tool that the parameters name."""
        rows = self.rows("sockets.tcp_rr")
        rows = rows[rows["message_size_B"] == self.values.tool_size]
        return rows[rows["option_tool"] != "auto"].sort_values("engine") if len(rows) else rows

    def _bars(self, rows: pd.DataFrame, category: str, metric: str) -> Figure | Omitted:
        """Draw a bar for each value of a column; a sentence if the parameters left them out."""
        return self.drawn(figures.bars, rows, category, metric=metric, series=[])

    def tools_figure(self) -> Figure | Omitted:
        """Round trip over TCP as each tool gives it: its mean, by NetPIPE the best of its trials."""
        return self._bars(self.by_tool, "engine", "round_trip_us")

    def fabric_figure(self) -> Figure | Omitted:
        """Round trip through libfabric by provider."""
        return self._bars(self.rows("sockets.fabric_pingpong"), "option_provider", "round_trip_us")

    def streams_figure(self) -> Figure | Omitted:
        """Bandwidth of TCP in one direction and in both together against the size of a send."""
        rows = self.rows(*_STREAMS, streams=1, socket_buffer=0, tool="iperf3")
        return self.drawn(figures.versus_size, rows, "bandwidth_MBps", series=["benchmark"], tail=None)

    def _option_figure(self, option: str, **others: Any) -> Figure | Omitted:
        """Bandwidth of the largest sends by one option."""
        rows = self.rows("sockets.tcp_stream", tool="iperf3", **others)
        rows = rows[rows["message_size_B"] == rows["message_size_B"].max()]
        rows = rows.sort_values(f"option_{option}") if len(rows) else rows
        return self._bars(rows, f"option_{option}", "bandwidth_MBps")

    def number_figure(self) -> Figure | Omitted:
        """Bandwidth of several streams at once, together."""
        return self._option_figure("streams", socket_buffer=0)

    def buffers_figure(self) -> Figure | Omitted:
        """Bandwidth by the size of the sockets' buffers."""
        return self._option_figure("socket_buffer", streams=1)

    @property
    def datagrams(self) -> pd.DataFrame:
        """Rows of UDP streams to one receiver, slowest sender first."""
        return self._datagrams(multicast=False)

    def _datagrams(self, *, multicast: bool) -> pd.DataFrame:
        rows = self.rows("sockets.udp_stream")
        rows = rows[_to_group(rows) == multicast]
        return rows.sort_values("sent_MBps_mean") if len(rows) else rows

    def datagram_table(self, *, multicast: bool = False) -> pd.DataFrame:
        """Datagrams that were offered, sent, received and lost, and jitter, with the units in the heads."""
        heads = {
            "option_offered": "offered (MB/s)",
            "sent_MBps_mean": "sent (MB/s)",
            "bandwidth_MBps_mean": "arrived (MB/s)",
            "lost_percent_mean": "lost (%)",
            "jitter_us_mean": "jitter (µs)",
            "launches": "launches",
        }
        rows = self._datagrams(multicast=multicast)
        return rows[[name for name in heads if name in rows]].rename(columns=heads)

    def load_figure(self) -> Figure | Omitted:
        """Distribution of round trips at each rate, and of those that wait for one another, of the first launch."""
        size, first = self.values.tool_size, [s for s in self.samples if s.n and not s.launch]
        load = [s for s in first if s.spec.benchmark == "sockets.under_load"]
        wait = [
            s
            for s in first
            if s.spec.benchmark == "sockets.tcp_rr" and s.spec.size == size and s.spec.values["tool"] == "sockperf"
        ]
        return Figure(figures.distribution([*load, *wait], "round_trip_us")) if load else NOTHING

    def ladder_figure(self) -> Figure | Omitted:
        """Round trip of every size of NetPIPE's ladder."""
        chosen = [s for s in self.samples if s.spec.benchmark == "sockets.netpipe"]
        if not chosen:
            return NOTHING
        reported = records.reported(chosen)
        reported = reported[reported["name"] == "round_trip_us"]
        blocks = reported.groupby("block_size_B")["value"].agg(["median", "min", "max", "count"]).reset_index()
        rows = pd.DataFrame(
            {
                "benchmark": "sockets.netpipe",
                "message_size_B": blocks["block_size_B"].astype("int64"),
                "origin": "reported",
                "round_trip_us_value": blocks["median"],
                "round_trip_us_low": blocks["min"],
                "round_trip_us_high": blocks["max"],
                "launches": blocks["count"],
                "n": 0,
                "headline": [f"range of {n} launches" if n > 1 else "1 launch" for n in blocks["count"]],
            }
        )
        return self.drawn(figures.versus_size, rows, "round_trip_us", series=[], tail=None)

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        trips = [*self._trip_sentences(), *self._tool_sentences()]
        datagrams = [*self._datagram_sentences(), *self._multicast_sentences()]
        return listed([*trips, *self._stream_sentences(), *datagrams, *self._load_sentences()])

    def _trip_sentences(self) -> list[str]:
        sentences = []
        for name, group in self.trips.groupby("benchmark", sort=False):
            least = group.iloc[0]
            sentences.append(
                f"{name}, {size_words(least['message_size_B'])}: the round trip takes "
                f"{_statement(least, 'round_trip_us')} by {least['engine']}."
            )
        return sentences

    def _tool_sentences(self) -> list[str]:
        by_tool = self.by_tool
        is_mean = records.statistics_of(by_tool, "round_trip_us") == "mean"
        rows = by_tool[is_mean].sort_values("round_trip_us_mean") if is_mean.any() else by_tool.iloc[:0]
        others = by_tool[~is_mean].to_dict("records")
        rest = [f"{row['engine']} counts {_statement(row, 'round_trip_us')}." for row in others]
        if len(rows) < 2:
            return rest
        first, last = rows.iloc[0], rows.iloc[-1]
        effect = effects.between(last, first, "round_trip_us", "mean")
        count = f"{len(rows)} tools count the round trip of {size_words(self.values.tool_size)} over TCP"
        means = (
            f"{number(first['round_trip_us_mean'])} µs ({first['engine']}) to {number(last['round_trip_us_mean'])} µs "
            f"({last['engine']})"
        )
        values = f"{count}, with means of {means}"
        return [effect.said(f"{values}: they differ by a factor of {number(effect.ratio)}", values), *rest]

    def _stream_sentences(self) -> list[str]:
        sentences = []
        for name in _STREAMS:
            rows = self.rows(name, streams=1, socket_buffer=0, tool="iperf3")
            if len(rows):
                best = rows.loc[rows["bandwidth_MBps_mean"].idxmax()]
                which = "A TCP connection for each direction" if name == _STREAMS[1] else "One TCP connection"
                sentences.append(
                    f"{which} carries up to {number(best['bandwidth_MBps_mean'])} MB/s ({best['library']}), with "
                    f"sends of {size_words(best['message_size_B'])}."
                )
        return sentences

    def _datagram_sentences(self) -> list[str]:
        rows = self.datagrams
        if rows.empty:
            return []
        whole, worst = rows[rows["lost_percent_mean"] < 1], rows.loc[rows["lost_percent_mean"].idxmax()]
        each = f", each the median of {plural(int(worst['launches']), 'launch')}"
        lost = effects.share(worst["lost_percent_mean"], 100) or "an unknown share"
        text = (
            f"At {number(worst['sent_MBps_mean'])} MB/s sent, "
            f"{number(worst['bandwidth_MBps_mean'])} MB/s arrive and {lost} of the datagrams are lost"
            f"{each if worst['launches'] > 1 else ''}."
        )
        if len(whole):
            most = number(whole["sent_MBps_mean"].max())
            text = f"Up to {most} MB/s sent, less than 1 % of the datagrams are lost. {text}"
        return [text]

    def _multicast_sentences(self) -> list[str]:
        rows = self.rows("sockets.udp_rr", tool="sockperf")
        ways = [rows[_to_group(rows) == chosen] for chosen in (True, False)]
        if not all(map(len, ways)):
            return []
        group, single = (rows.iloc[0] for rows in ways)
        effect = effects.between(group, single, "round_trip_us", "mean")
        values = (
            f"A round trip of {size_words(group['message_size_B'])} over UDP takes "
            f"{number(group['round_trip_us_mean'])} µs on average through a multicast group, "
            f"{number(single['round_trip_us_mean'])} µs to one address ({group['engine']})"
        )
        return [effect.said(f"{values}: {effect.times} as long", values)]

    def _load_sentences(self) -> list[str]:
        sentences = []
        for _, row in self.of("sockets.under_load").iterrows():
            sentences.append(
                f"At {number(row['option_message_rate'])} messages per second, sent whatever has come back, the round "
                f"trip takes {statement(row, 'round_trip_us')}{tail(row, 'round_trip_us')}."
            )
        return sentences


def _to_group(rows: pd.DataFrame) -> pd.Series:
    """Whether each row's datagrams went to a multicast group."""
    return rows.get("option_multicast", pd.Series(False, index=rows.index)).fillna(False).astype(bool)


def _largest(sizes: str) -> int:
    """Largest of the sizes."""
    return max(parse_sizes(sizes))


def _statement(row: Any, metric: str) -> str:
    """Mean, or the one value of a tool that reports its best, with its interval over launches."""
    low, high, unit = row[f"{metric}_low"], row[f"{metric}_high"], METRICS[metric].unit
    between = "" if math.isnan(low) else f" ({row['headline']}: {number(low)} to {number(high)})"
    statistic = records.statistic_of(row, metric)
    what = "on average" if statistic == "mean" else "as the best of its trials"
    return f"{number(row[statistic_column(metric, statistic)])} {unit} {what}{between}"
