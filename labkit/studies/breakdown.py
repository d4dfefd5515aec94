"""Where does the time of a message go, in the paper and on this machine?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pandas as pd

from labkit import figures, studies
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects, layers
from labkit.judge.layers import Path, time_of
from labkit.models import breaking_band
from labkit.models.breakdown import REST, Breakdown, Part, Time, attributed, combine, stated
from labkit.point.notes import joined
from labkit.point.spec import Spec, sweep
from labkit.point.units import finite
from labkit.read import reference
from labkit.studies import number, path_words, size_words, words

# operation → benchmark, metric, factor to µs
PRIMITIVES = {
    "read of the clock": ("micro.clock", "clock_read_ns", 1e-3),
    "cache line from core to core": ("micro.core_to_core", "line_transfer_ns", 1e-3),
    "system call": ("micro.system_call", "system_call_ns", 1e-3),
    "waking a thread": ("micro.wake_up", "wake_up_us", 1.0),
}
_KIND = "processor"
_COPY = 64  # B, the least that micro.memory_copy copies


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on breakdowns.

    Parameters
    ----------
    size : size of the message of MPI, B.
    transports : paths of MPI to break down: shm, tcp.
    sockets : size of the message over blocking sockets, B; 14 or more, as sockperf sends, or 0 for none.
    launcher : how ranks start.
    """

    size: int = 8
    transports: str = "shm,tcp"
    sockets: int = 64
    launcher: str = "auto"


class Study(studies.Study):
    """The breakdown of Zambre et al., and what software can time of a message of MPI and of sockets."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (
        "mpi.latency",
        "mpi.call_times",
        "mpi.injection",
        "sockets.unix_rr",
        "sockets.udp_rr",
        "sockets.tcp_rr",
        *(name for name, *_ in PRIMITIVES.values()),
        "micro.memory_copy",
    )
    values: Parameters

    def specs(self) -> list[Spec]:
        """Calls, stream and ping-pong over each path, sockets, and single operations of the machine."""
        v = self.values
        size, over = str(v.size), {"transport": words(v.transports), "launcher": v.launcher}
        specs = [spec for name in ("mpi.call_times", "mpi.injection") for spec in sweep(name, sizes=size, **over)]
        specs += sweep("mpi.latency", sizes=size, binding=["c", "buffers", "pickle"], **over)
        if v.sockets:
            specs += sweep("sockets.unix_rr", sizes=str(v.sockets))
            specs += sweep("sockets.udp_rr", sizes=str(v.sockets), tool="sockperf")
            specs += sweep("sockets.tcp_rr", sizes=str(v.sockets), tool="sockperf")
            specs += sweep("mpi.latency", sizes=str(v.sockets), transport="shm", launcher=v.launcher)
        for name, *_ in PRIMITIVES.values():
            specs += sweep(name)
        specs += sweep("micro.memory_copy", sizes=str(_COPY))
        return list(dict.fromkeys(specs))

    # ---- the paper

    def sums(self) -> pd.DataFrame:
        """Models of the paper, computed from Table 1, beside its printed and observed values."""
        paper = reference.load(breaking_band.PAPER)
        rows = []
        for name in breaking_band.MODELS:
            model = breaking_band.breakdown(name)
            rows.append(
                {
                    "model": model.title,
                    "from Table 1 (ns)": f"{model.whole.value:,.2f}",
                    "the paper (ns)": f"{paper[name].value:,.2f}",
                    "observed (ns)": f"{paper[paper[name].observed].value:,.2f}",
                    "sum above observed (%)": f"{model.off:+.1f}",
                    "where": paper[name].where,
                }
            )
        return pd.DataFrame(rows)

    def percentages(self) -> pd.DataFrame:
        """Percentages of Figures 4, 8 and 10 to 16."""
        return pd.DataFrame(
            {"figure": figure, "shares (%)": ", ".join(f"{name} {share:.1f}" for name, share in parts.items())}
            for figure, parts in breaking_band.figures().items()
        )

    def published_figure(self) -> Figure:
        """Injection and latency of the paper, part by part."""
        paper, stacks = reference.load(breaking_band.PAPER), []
        for name in ("latency", "injection"):
            model = breaking_band.breakdown(name)
            assert model.observed is not None
            observed = figures.Part("observed", model.observed.value, "the whole")
            stacks.append(figures.Stack(model.title, _drawn(model), "published", observed))
        return Figure(figures.stacked(stacks, paper.unit, f"{paper.short}, Table 1 and section 6. {paper.conditions}"))

    # ---- this machine

    def _time(self, benchmark: str, metric: str, factor: float = 1.0, **where: Any) -> Time | None:
        """Time of a point, µs; None if it was not measured."""
        if not self.samples:
            return None
        path = Path(name="", text="", kind="", path="", benchmark=benchmark, metric=metric, where=where, factor=factor)
        return time_of(self.records, path)

    @property
    def clock(self) -> Time:
        """One read of the clock, µs; 0 if it was not measured."""
        return self._time(*PRIMITIVES["read of the clock"]) or Time(value=0.0)

    def _call(self, benchmark: str, metric: str, transport: str, reads: float) -> Time | None:
        """Time of a call without the reads of the clock in it, µs."""
        time = self._time(benchmark, metric, message_size_B=self.values.size, transport=transport)
        return time and combine(lambda call, read: call - reads * read, time, self.clock)

    def message(self, transport: str) -> Breakdown | None:
        """One way of a message over a path of MPI: post, the poll that finds it, and what neither explains, µs.

        All parts come from the same iterations. Each call contains a clock read, which is a separate part. Observed is
        the latency without these reads.
        """
        size = self.values.size
        whole = self._time("mpi.call_times", "latency_us", message_size_B=size, transport=transport)
        post, find = (self._call("mpi.call_times", f"{call}_us", transport, 1) for call in ("post", "find"))
        if whole is None or post is None or find is None:
            return None
        parts = [
            Part(name="post", text="post: MPI_Isend", kind=_KIND, time=post, source="mpi.call_times"),
            Part(name="find", text="progress: the MPI_Test that finds", kind=_KIND, time=find, source="mpi.call_times"),
        ]
        if self.clock.value:
            reads = combine(lambda read: 2 * read, self.clock)
            text = "two reads of the clock"
            parts.append(Part(name="clock", text=text, kind="measurement", time=reads, source="micro.clock"))
        one = attributed(self._title("MPI", transport), "µs", whole, parts)
        plain = self._time("mpi.latency", "latency_us", message_size_B=size, transport=transport, option_binding="c")
        return replace(one, observed=plain)

    def stream(self, transport: str) -> Breakdown | None:
        """From one message to the next in a stream over a path of MPI, µs."""
        whole, post, complete = (
            self._time("mpi.injection", metric, message_size_B=self.values.size, transport=transport)
            for metric in ("injection_us", "post_us", "complete_us")
        )
        if whole is None or post is None or complete is None:
            return None
        parts = [
            Part(name="post", text="post: MPI_Isend", kind=_KIND, time=post, source="mpi.injection"),
            Part(name="complete", text="complete: MPI_Waitall", kind=_KIND, time=complete, source="mpi.injection"),
        ]
        return attributed(
            f"{size_words(self.values.size)} of MPI over {path_words(transport)}, in a stream",
            "µs",
            whole,
            parts,
        )

    def stack(self, transport: str) -> Breakdown | None:
        """One way of a message through the layers of Python, by difference, µs."""
        return (
            layers.nested(self.records, self._title("Python", transport), layers.bindings(self.values.size, transport))[
                0
            ]
            if self.samples
            else None
        )

    def _title(self, what: str, transport: str) -> str:
        return f"{size_words(self.values.size)} of {what} over {path_words(transport)}, one way"

    @property
    def over_sockets(self) -> Breakdown | None:
        """One way of a message over TCP with blocking sockets, by difference, µs."""
        title = f"{size_words(self.values.sockets)} over blocking TCP sockets, one way"
        wanted = layers.sockets(self.values.sockets)
        own, missing = layers.nested(self.records, title, wanted) if self.samples else (None, [])
        return own if own and len(missing) < len(wanted) - 1 else None

    def wholes(self) -> list[Breakdown]:
        """All breakdowns of what was measured here."""
        paths = words(self.values.transports)
        every = [of(path) for path in paths for of in (self.message, self.stream, self.stack)]
        return [one for one in (*every, self.over_sockets) if one]

    def figure(self) -> Figure | Omitted:
        """All breakdowns of what was measured here, part by part."""
        wholes = self.wholes()
        if not wholes:
            return NOTHING
        stacks = [
            figures.Stack(
                one.title,
                _drawn(one),
                "measured",
                _observed(one),
            )
            for one in wholes
        ]
        basis = ", ".join(dict.fromkeys(one.whole.basis for one in wholes if one.whole.basis))
        note = "A negative part goes back: calls of the two ranks overlap, or a path avoids something."
        return Figure(figures.stacked(stacks, "µs", f"Medians over launches; bars: {basis}. {note}" if basis else note))

    def table(self) -> pd.DataFrame:
        """Every part with its interval, its share of the whole, and what it was computed from."""
        rows = []
        for whole in self.wholes():
            for part in whole.parts:
                share = effects.share(part.time.value, whole.whole.value) if effects.adds_up(whole) else ""
                rows.append(
                    {
                        "whole": whole.title,
                        "part": part.text,
                        "time": stated(part.time, whole.unit),
                        "share": share or "not known",
                        "from": part.source,
                    }
                )
        return pd.DataFrame(rows)

    def primitives(self) -> pd.DataFrame:
        """Single operations of this machine; those that were not measured say so."""
        rows = []
        for text, (benchmark, metric, factor) in PRIMITIVES.items():
            time = self._time(benchmark, metric, factor)
            rows.append({"operation": text, "time": stated(time, "µs") if time else "not measured", "by": benchmark})
        rate = self._time("micro.memory_copy", "bandwidth_MBps", message_size_B=_COPY)
        copy = rate and combine(lambda value: _COPY / value, rate)
        text = f"copy of {size_words(_COPY)} in the caches"
        rows.append(
            {"operation": text, "time": stated(copy, "µs") if copy else "not measured", "by": "micro.memory_copy"}
        )
        for transport in words(self.values.transports):
            poll = self._call("mpi.call_times", "poll_us", transport, 1)
            text = f"poll in vain: MPI_Test over {path_words(transport)}"
            rows.append(
                {"operation": text, "time": stated(poll, "µs") if poll else "not measured", "by": "mpi.call_times"}
            )
        return pd.DataFrame(rows)

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        latency = breaking_band.breakdown("latency")
        sentences = [
            "The paper's sums follow from its Table 1 to the printed digits; that of the latency is "
            f"{number(latency.off)} % above what it observed."
        ]
        for transport in words(self.values.transports):
            if one := self.message(transport):
                sentences.append(_rest(one))
            if one := self.stream(transport):
                sentences.append(_posted(one))
            if (one := self.stack(transport)) and len(one.parts) > 1:
                added = joined(_added(part, one) for part in one.parts[1:])
                sentences.append(f"{one.title}: {added}.")
        missing = [row["operation"] for row in self.primitives().to_dict("records") if row["time"] == "not measured"]
        missing += [
            f"{path_words(path)} call by call" for path in words(self.values.transports) if not self.message(path)
        ]
        if missing:
            sentences.append(f"Not measured here: {', '.join(missing)}.")
        return listed(sentences)


def _posted(one: Breakdown) -> str:
    """Say how much of the time between two messages the post takes."""
    text = f"{one.title}: {stated(one.whole, one.unit)} from one to the next"
    if not effects.adds_up(one):
        return f"{text}. The share of the post is not known, because the calls add up to more than the whole."
    return f"{text}, {stated(one.share(['post']), '%')} to post it."


def _added(part: Part, whole: Breakdown) -> str:
    """Say what a layer adds; a time counts as a cost only if it is surely above 0."""
    sign = effects.of_time(part.time).sign
    if not effects.bounded(whole):
        return f"what {part.text} adds is not known, because a path below it took longer than the whole"
    if not sign:
        return f"what {part.text} adds is not known: the launches do not show whether it adds anything"
    if sign < 0:
        return f"{part.text} is faster by {stated(combine(lambda time: -time, part.time), whole.unit)}"
    return f"{part.text} adds {stated(part.time, whole.unit)}"


def _rest(one: Breakdown) -> str:
    """Say how much of a message its calls explain."""
    rest = one.named([REST])[0].time
    calls = combine(lambda whole, left: whole - left, one.whole, rest)
    text = f"{one.title}: {stated(one.whole, one.unit)}, {stated(calls, one.unit)} of calls"
    if effects.adds_up(one):
        share = one.share([REST])
        return f"{text}; {stated(share, '%')} is in no call: the way between the processors, and waiting."
    if effects.bounded(one) and effects.of_time(rest).sign < 0:
        overlap = combine(lambda left: -left, rest)
        return f"{text}, more than the whole: calls of the two ranks overlap for {stated(overlap, one.unit)}."
    return f"{text}. How much is in no call is not known, because the calls add up to more than the whole."


def _observed(one: Breakdown) -> figures.Part:
    """Return the whole for a figure, as measured without the reads of the clock if it was."""
    time, text = (one.observed, "mpi.latency") if one.observed else (one.whole, "the whole")
    return figures.Part(text, time.value, "the whole", *map(finite, time.interval))


def _drawn(whole: Breakdown) -> list[figures.Part]:
    """Parts for a figure; one that is passed twice needs a row for each."""
    seen: dict[str, int] = {}
    parts = []
    for part in whole.parts:
        seen[part.text] = seen.get(part.text, 0) + 1
        text = part.text if seen[part.text] == 1 else f"{part.text}, again"
        parts.append(figures.Part(text, part.time.value, part.kind, *map(finite, part.time.interval)))
    return parts
