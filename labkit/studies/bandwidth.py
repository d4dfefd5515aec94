"""How many bytes a second does each path carry, through MPI and through plain sockets?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from labkit import figures, studies
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge.n_half import half_of
from labkit.point.spec import Spec, sweep
from labkit.read.records import sound
from labkit.studies import number, resolved, size_words, statement, words


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the bandwidth notebook.

    Parameters
    ----------
    sizes : message sizes, MIN:MAX or a list.
    window : messages in flight.
    transports : paths to compare.
    stream_sizes : sizes of the sends of a plain TCP stream; empty leaves it out.
    request_sizes : sizes of request and response over plain TCP; empty leaves it out.
    """

    sizes: str = "1:4Mi"
    window: int = 64
    transports: str = "shm,tcp"
    stream_sizes: str = "1Ki:1Mi:*4"
    request_sizes: str = "1:16Ki:*16"


class Study(studies.Study):
    """Bandwidth through MPI, and through plain TCP."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = ("mpi.bandwidth", "sockets.tcp_stream", "sockets.tcp_rr")
    focus: ClassVar = (("mpi.bandwidth", "transport"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """A window of messages over all sizes and paths; a TCP stream; TCP request and response."""
        v = self.values
        specs = sweep(
            "mpi.bandwidth",
            sizes=v.sizes,
            window=v.window,
            transport=words(v.transports),
            launcher=v.launcher,
            testbed=v.testbed,
        )
        for name, sizes in (("sockets.tcp_stream", v.stream_sizes), ("sockets.tcp_rr", v.request_sizes)):
            if sizes:
                specs += sweep(name, sizes=sizes, ranks=1, testbed=v.testbed)
        return specs

    def bandwidth_figure(self) -> Figure | Omitted:
        """Bandwidth against message size, a line for each path and for the TCP stream."""
        rows = self.summary[self.summary["benchmark"].isin(["mpi.bandwidth", "sockets.tcp_stream"])]
        return self.drawn(figures.versus_size, rows, "bandwidth_MBps", series=["benchmark", "transport"])

    def rate_figure(self) -> Figure | Omitted:
        """Messages per second against message size."""
        return self.drawn(figures.versus_size, self.of("mpi.bandwidth"), "message_rate_per_s", series=["transport"])

    def round_trip_figure(self) -> Figure | Omitted:
        """Round trip of a request and its response over plain TCP."""
        return self.drawn(figures.versus_size, self.of("sockets.tcp_rr"), "round_trip_us", tail="p99")

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences = []
        for path, every in self.of("mpi.bandwidth").groupby("transport", sort=False):
            group = sound(every, "bandwidth_MBps")
            if group["bandwidth_MBps_p50"].isna().all():
                continue
            best = group.loc[group["bandwidth_MBps_p50"].idxmax()]
            half = half_of(group["message_size_B"].tolist(), group["bandwidth_MBps_p50"].tolist())
            sentences.append(
                f"Over {path}, the highest bandwidth{resolved(every, 'bandwidth_MBps')} of a window of messages is "
                f"{statement(best, 'bandwidth_MBps')}, at messages of "
                f"{size_words(best['message_size_B'])}; {half.sentence}."
            )
            least = group.iloc[0]
            sentences.append(
                f"Over {path}, messages of {size_words(least['message_size_B'])} go at "
                f"{statement(least, 'message_rate_per_s')}."
            )
        stream = self.of("sockets.tcp_stream")
        stream = sound(stream, "bandwidth_MBps")
        if not stream.empty:
            column = (
                "bandwidth_MBps_p50"
                if stream.get("bandwidth_MBps_p50", stream["n"] * float("nan")).notna().any()
                else "bandwidth_MBps_mean"
            )
            if stream[column].notna().any():
                best = stream.loc[stream[column].idxmax()]
                sentences.append(
                    f"A plain TCP stream ({best['library']}) carries {number(best[column])} MB/s with sends of "
                    f"{size_words(best['message_size_B'])}, as the tool reports it."
                )
        return listed(sentences)
