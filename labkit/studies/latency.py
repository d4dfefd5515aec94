"""How long does a message take, on each path between two ranks?"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from labkit import figures, studies
from labkit.errors import LabkitError
from labkit.figures.marks import mark_breaks
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.host import eager
from labkit.judge import effects, protocol
from labkit.point.spec import Spec, sweep
from labkit.read.records import sound, value_of
from labkit.run import launch
from labkit.studies import amount, ends, number, size_words, statement, tail, words
from labkit.studies._derived import of_samples

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the latency notebook.

    Parameters
    ----------
    sizes : message sizes, MIN:MAX or a list.
    transports : paths to compare.
    clock : measure the clock itself too.
    allreduce : sizes for the collective; empty leaves it out.
    """

    sizes: str = "0,1:4Mi"
    transports: str = "shm,tcp"
    clock: bool = True
    allreduce: str = "4:1Mi:*4"


class Study(studies.Study):
    """Latency of ping-pong and of a collective, and the clock they are timed with."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = ("mpi.latency", "mpi.allreduce", "micro.clock")
    focus: ClassVar = (("mpi.latency", "transport"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Ping-pong over all sizes and paths, the collective over fewer, and the clock."""
        v = self.values
        common = {"transport": words(v.transports), "launcher": v.launcher, "testbed": v.testbed}
        specs = sweep("mpi.latency", sizes=v.sizes, **common)
        if v.allreduce:
            specs += sweep("mpi.allreduce", sizes=v.allreduce, **common)
        if v.clock:
            specs.append(Spec(benchmark="micro.clock", size=0, ranks=1, testbed=v.testbed))
        return specs

    def latency_figure(self) -> Figure | Omitted:
        """Median latency against message size, a line for each path."""
        return self.drawn(figures.versus_size, self.of("mpi.latency"), "latency_us", series=["transport"], tail="p99")

    @of_samples
    def protocols(self) -> dict[str, protocol.Protocol]:
        """Break points of each path, if it has enough sizes above 0 B."""
        rows = self.of("mpi.latency")
        rows = rows[rows["message_size_B"] > 0]
        groups = {str(path): group for path, group in rows.groupby("transport", sort=False)}
        return {path: protocol.protocol_of(group) for path, group in groups.items() if len(group) >= protocol.MIN_SIZES}

    def limits(self, path: str) -> list[eager.Variable]:
        """Eager limits that the MPI library reports for a path, if it runs on this machine.

        A program that only the samples name by its path is not run: they may come from somebody else.
        """
        rows = self.of("mpi.latency")
        name = str(rows["launcher"].iloc[0]) if len(rows) else ""
        requested = self.values.measure and name == self.values.launcher
        launcher = None
        with suppress(LabkitError):
            launcher = launch.get(name) if requested or name in launch.names() else None
        if launcher is None or launcher.library != rows["library"].iloc[0]:
            return []
        return launch.eager_limits(launcher.kind, launcher.program, path)

    def protocol_figure(self, path: str) -> Figure | Omitted:
        """Latency of one path with its break points and the library's own limits."""
        rows = self.of("mpi.latency")
        rows = rows[rows["transport"] == path]
        if len(rows) and path not in self.protocols:
            return _wanting(rows)
        if len(rows) and not self.protocols[path].breaks:
            return Omitted(f"no break point over {path}.", "nothing-found")
        drawn = self.drawn(figures.versus_size, rows, "latency_us", series=["transport"], tail=None)
        named = {limit.name: float(limit.value) for limit in self.limits(path) if limit.value}
        return (
            Figure(mark_breaks(drawn.plot, self.protocols[path].breaks, named)) if isinstance(drawn, Figure) else drawn
        )

    def protocol_findings(self) -> Text | Omitted:
        """Break points of each path, and the limits that the library reports."""
        sentences = []
        for path, lines in self.protocols.items():
            sentences.append(f"Over {path}: {lines.sentence}")
            for limit in self.limits(path):
                value = size_words(limit.value) if limit.value else "not known"
                sentences.append(f"Over {path} the library's {limit.name} is {value} ({limit.source}).")
        return listed(sentences) if sentences else _wanting(self.of("mpi.latency"))

    def allreduce_figure(self) -> Figure | Omitted:
        """Latency of MPI_Allreduce, slowest rank, against message size."""
        return self.drawn(figures.versus_size, self.of("mpi.allreduce"), "latency_us", series=["transport"], tail="p99")

    def _least(self) -> int:
        """Smallest message above 0 B, or 0 without another."""
        sizes = sorted(self.of("mpi.latency")["message_size_B"])
        return int(next((size for size in sizes if size), 0))

    def distribution_figure(self) -> Figure:
        """How the iterations of the smallest message with bytes are distributed."""
        least = self._least()
        samples = [s for s in self.samples if s.spec.benchmark == "mpi.latency" and s.spec.size == least]
        return Figure(figures.distribution(samples, "latency_us", series=[s.spec.transport for s in samples]))

    def launches_figure(self) -> Figure:
        """Launch medians of the smallest message with bytes: does a fresh start give the same?"""
        rows = self.records[self.records["benchmark"] == "mpi.latency"]
        return Figure(figures.launches(rows[rows["message_size_B"] == self._least()], "latency_us"))

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        rows = self.of("mpi.latency")
        sentences = []
        for path, group in rows.groupby("transport", sort=False):
            least = group.iloc[0]
            sentences.append(
                f"Over {path}, a message of {size_words(least['message_size_B'])} takes "
                f"{statement(least, 'latency_us')}{tail(least, 'latency_us', 'iterations')}."
            )
            most = group.iloc[-1]
            text = (
                f"Over {path}, a message of {size_words(most['message_size_B'])} takes {statement(most, 'latency_us')}"
            )
            size, time = most["message_size_B"], value_of(most, "latency_us")
            if time.value > 0:
                among = f" ({number(size / time.high)} to {number(size / time.low)})" if time.low > 0 else ""
                text += f", which is {number(size / time.value)} MB/s one way{among}"
            sentences.append(f"{text}.")
        return listed([*sentences, *self._ratio(), *self._clock()])

    def _ratio(self) -> list[str]:
        """How the slowest and the fastest path compare at the smallest and the largest common size."""
        rows = sound(self.of("mpi.latency"), "latency_us")
        paths = rows["transport"].nunique()
        groups = [group for _, group in rows.groupby("message_size_B") if group["transport"].nunique() == paths > 1]
        sentences = []
        for group in groups[:1] + groups[1:][-1:]:
            if extremes := ends(group, "latency_us"):
                fast, slow = extremes
                effect = effects.between(slow, fast, "latency_us", tests=effects.pairs(len(group)))
                size = size_words(fast["message_size_B"])
                sentences.append(
                    effect.said(
                        f"At {size}, {slow['transport']} takes {effect.times} as long as {fast['transport']}",
                        f"At {size}, {slow['transport']} takes {amount(slow, 'latency_us')}, {fast['transport']} "
                        f"{amount(fast, 'latency_us')}",
                    )
                )
        return sentences

    def _clock(self) -> list[str]:
        """Time that the clock adds to each iteration."""
        rows = self.of("micro.clock")
        if rows.empty:
            return []
        return [
            f"A pair of clock reads costs {statement(rows.iloc[0], 'clock_read_ns')}; it is part of every iteration "
            f"and is not subtracted."
        ]


def _wanting(rows: pd.DataFrame) -> Omitted:
    """Say why there are no break points: which sizes are missing."""
    sizes = [int(size) for size in rows["message_size_B"].unique() if size > 0]
    return Omitted(protocol.wanting(sizes), "too-few")
