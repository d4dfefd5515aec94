"""What does each layer of software add to the latency between one pair of processes?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from labkit import figures, studies
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects, layers
from labkit.models import bounds
from labkit.models.breakdown import Breakdown, Level, Time, by_difference, stated
from labkit.point.spec import Spec, sweep
from labkit.point.units import finite
from labkit.run import launch
from labkit.studies import path_words, size_words

_PATHS = ("tcp", "shm", *launch.RDMA)  # of UCX by itself, and of MPI; UCT takes shm as POSIX shared memory


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on layers.

    Parameters
    ----------
    size : size of the message, B; 14 or more, as sockperf sends.
    transport : path of UCX and MPI: tcp, shm, or rc and ud over RDMA.
    testbed : where both ends run: local, or soft-roce for verbs without an adapter.
    launcher : how ranks start; mpich sends through UCX.
    environment : variables of the ranks, ``NAME=VALUE`` by spaces; ``OMPI_MCA_pml=ucx`` makes Open MPI send through
        UCX over tcp and shm too.
    """

    size: int = 64
    transport: str = "tcp"
    testbed: str = "local"
    launcher: str = "auto"
    environment: str = ""


class Study(studies.Study):
    """Wire, verbs, UCT, UCP, MPI, mpi4py and TCP between one pair."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (
        "verbs.send_latency",
        "verbs.uct_latency",
        "verbs.ucx_latency",
        "mpi.latency",
        "sockets.tcp_rr",
    )
    values: Parameters

    def specs(self) -> list[Spec]:
        """A ping-pong through each layer."""
        v = self.values
        if v.transport not in _PATHS:
            raise SpecError(f"transport={v.transport!r}, but it must be one of {', '.join(_PATHS)}. Set transport=tcp.")
        size, place = str(v.size), {"testbed": v.testbed}
        specs = sweep("verbs.uct_latency", sizes=size, transport=v.transport, **place)
        specs += sweep("verbs.ucx_latency", sizes=size, transport=v.transport, **place)
        if v.transport in launch.RDMA:
            specs += sweep("verbs.send_latency", sizes=size, tool="perftest", **place)
        ranks = sweep(
            "mpi.latency",
            sizes=size,
            binding=list(layers.BINDINGS),
            transport=v.transport,
            launcher=v.launcher,
            **place,
        )
        specs += [spec.replace(environment=_variables(v.environment)) for spec in ranks]
        return specs + sweep("sockets.tcp_rr", sizes=size, tool=layers.socket_tool(v.testbed), **place)

    @property
    def wire(self) -> Time | None:
        """Least time of the path that the testbed states, µs; None if it states none."""
        for one in self.samples:
            if one.spec.benchmark == "mpi.latency" and one.spec.size == self.values.size:
                floor = bounds.of_latency(one)
                return Time(value=floor[0].value * 1e6) if floor else None
        return None

    @property
    def levels(self) -> list[Level]:
        """Layers that were measured, the lowest first, µs."""
        v = self.values
        if not self.samples:
            return []
        paths = layers.ladder(v.size, v.transport, testbed=v.testbed)
        measured = [
            Level(name=path.name, text=path.text, kind=path.kind, path=path.path, time=time)
            for path in paths
            if (time := layers.time_of(self.records, path)) is not None
        ]
        wire = self.wire
        if wire is None or not measured:
            return measured
        text = "wire: stated delay and rate"
        return [Level(name="wire", text=text, kind="wire", path=text, time=wire), *measured]

    @property
    def tcp(self) -> Time | None:
        """One way over a blocking TCP socket, µs; None if it was not measured."""
        v = self.values
        return layers.time_of(self.records, layers.tcp(v.size, v.testbed)) if self.samples else None

    @property
    def title(self) -> str:
        """Of the pair."""
        v = self.values
        return f"{size_words(v.size)} over {path_words(v.transport)}, one way" + (
            "" if v.testbed == "local" else f", {v.testbed}"
        )

    @property
    def breakdown(self) -> Breakdown | None:
        """The highest layer by difference; None if nothing was measured."""
        return by_difference(self.title, "µs", self.levels) if self.levels else None

    def figure(self) -> Figure | Omitted:
        """Every layer on one axis: each begins where the one below ends; the socket beside them."""
        own, tcp = self.breakdown, self.tcp
        stacks = []
        if own:
            parts = [
                figures.Part(one.text, one.time.value, one.kind, *map(finite, one.time.interval)) for one in own.parts
            ]
            stacks.append(figures.Stack(own.title, parts, "measured"))
        if tcp:
            path = layers.tcp(self.values.size)
            part = figures.Part(path.text, tcp.value, path.kind, *map(finite, tcp.interval))
            stacks.append(figures.Stack("beside them", [part], "measured"))
        if not stacks:
            return NOTHING
        basis = ", ".join(
            dict.fromkeys(time.basis for time in (own.whole if own else None, tcp) if time and time.basis)
        )
        note = "Each bar is what a layer adds to the one above it in the list; a negative one goes back."
        return Figure(figures.stacked(stacks, "µs", f"{note} Bars: {basis}." if basis else note))

    def table(self) -> pd.DataFrame:
        """Latency through each layer, and what the layer adds; a layer without samples is named as not measured."""
        v, rows, levels = self.values, [], self.levels
        own = self.breakdown
        added = {part.name: part.time for part in own.parts} if own else {}
        known = {level.name: level for level in levels}
        first = levels[0].name if levels else ""
        names = {"wire": "wire: stated delay and rate"}
        names |= {path.name: path.text for path in layers.ladder(v.size, "")}
        for name, text in names.items():
            level = known.get(name)
            rows.append(
                {
                    "layer": text,
                    "latency": stated(level.time, "µs") if level else "not measured",
                    "adds": "–" if not level or name == first else stated(added[name], "µs"),
                }
            )
        tcp = self.tcp
        rows.append(
            {"layer": layers.tcp(v.size).text, "latency": stated(tcp, "µs") if tcp else "not measured", "adds": "–"}
        )
        return pd.DataFrame(rows)

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        own, tcp, sentences = self.breakdown, self.tcp, []
        if own:
            largest = max(own.parts[1:], key=lambda part: part.time.value, default=None)
            sentences.append(f"{own.title}: {stated(own.whole, 'µs')} through all layers measured.")
            sure = effects.bounded(own)
            if largest is not None and (not sure or effects.of_time(largest.time).sign < 1):
                why = (
                    "the launches do not show that it adds anything" if sure else "a layer takes longer than the whole"
                )
                sentences.append(f"Which layer adds most is not known: {why}.")
            elif largest is not None:
                sentences.append(f"{largest.text} adds most to the layer below it: {stated(largest.time, 'µs')}.")
            sentences += [
                f"{part.text} is faster than the layer below it: it does not send through it, or in another way."
                for part in own.parts[1:]
                if sure and effects.of_time(part.time).sign < 0
            ]
        if tcp and (mpi := next((level for level in self.levels if level.name == "c"), None)):
            effect = effects.between_times(tcp, mpi.time)
            sentences.append(
                effect.said(
                    f"A blocking TCP socket takes {effect.times} as long as MPI from C",
                    f"A blocking TCP socket takes {stated(tcp, 'µs')}, MPI from C {stated(mpi.time, 'µs')}",
                )
            )
        missing = [row["layer"] for row in self.table().to_dict("records") if row["latency"] == "not measured"]
        if missing:
            sentences.append(f"Not measured: {', '.join(missing)}.")
        return listed(sentences)


def _variables(text: str) -> dict[str, str]:
    """Variables of a parameter.

    Raises
    ------
    SpecError
        If a part of it is no variable.
    """
    pairs = [part.partition("=") for part in text.split()]
    if wrong := [name for name, equals, _ in pairs if not (name and equals)]:
        raise SpecError(f"environment={wrong[0]!r}, but it must be NAME=VALUE, by spaces.")
    return {name: value for name, _, value in pairs}
