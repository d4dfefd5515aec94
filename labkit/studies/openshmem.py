"""What do puts, gets and collectives of OpenSHMEM cost, and what do path and link change?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from labkit import figures, studies, tools
from labkit.benchmarks.shmem.atomic import Operation
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.kernels import shmem_loops
from labkit.point.columns import statistic_column
from labkit.point.spec import Spec, sweep
from labkit.studies import (
    _linked,
    centre,
    counts,
    number,
    path_words,
    size_words,
    statement,
    words,
)

if TYPE_CHECKING:
    import pandas as pd

PAIRS = ("shmem.put_latency", "shmem.put_nb_latency", "shmem.get_latency", "shmem.get_nb_latency")
ACROSS = ("shmem.put_latency", "shmem.get_latency", "mpi.latency")
BLOCKING = ("shmem.put_latency", "shmem.get_latency")
COARRAYS = ("pgas.coarray_put", "pgas.coarray_get")
RATES = ("shmem.put_rate", "shmem.put_nb_rate", "shmem.get_nb_rate")


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook on OpenSHMEM.

    Parameters
    ----------
    sizes : sizes of puts and gets, MIN:MAX or a list.
    rate_sizes : at which message rates are measured; empty leaves them out.
    overlap_sizes : at which the overlap of a put is measured; empty leaves it out.
    collectives : collectives to measure, a list; barrier has no size; empty leaves them out.
    collective_sizes : message sizes of the collectives; multiples of 4 B.
    ranks : processing elements of a collective.
    atomics : operations of 8 B to measure: `all`, a list, or empty.
    beside : further layers and systems whose put and get are measured, a list: shmem4py, coarrays; empty leaves them
        out. What is not installed is left out too.
    memories : where the buffers of puts and gets are, a list to compare: heap, global.
    transports : paths to compare.
    links : two hosts with a link between them; empty leaves the link out.
    rates : rates of this link, a list.
    delays, losses : delays and losses of this link, lists; packets lost are in %.
    link_sizes : sizes of puts and gets across this link: the largest against the rate, the smallest against delay and
        loss.
    """

    sizes: str = "8:1Mi:*8"
    rate_sizes: str = "8,1Ki,64Ki"
    overlap_sizes: str = "1Ki,64Ki,1Mi"
    collectives: str = "broadcast,alltoall,collect,fcollect,reduce,barrier"
    collective_sizes: str = "4:256Ki:*16"
    ranks: int = 2
    atomics: str = "all"
    beside: str = "shmem4py,coarrays"
    memories: str = "heap,global"
    transports: str = "shm,tcp"
    links: str = "virtual-cluster:2"
    rates: str = "10mbit,100mbit,1gbit"
    delays: str = "1ms,4ms"
    losses: str = "1,4"
    link_sizes: str = "8,64Ki"


class Study(studies.Study):
    """Puts, gets, atomics and collectives of OpenSHMEM, over each path and from each kind of memory."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (
        *PAIRS,
        *RATES,
        "shmem.put_overlap",
        "shmem.atomic",
        *(f"shmem.{name}" for name in ("broadcast", "alltoall", "collect", "fcollect", "reduce", "barrier")),
        "mpi.put_latency",
        "mpi.latency",
        *COARRAYS,
    )
    focus: ClassVar = (("shmem.put_latency", "transport"), ("shmem.put_latency", "option_memory"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Each call over each path; MPI's put beside OpenSHMEM's."""
        v = self.values
        where = {"transport": words(v.transports), "launcher": v.launcher, "testbed": v.testbed}
        memory = words(v.memories)
        specs = [s for name in PAIRS for s in sweep(name, sizes=v.sizes, memory=memory, **where)]
        specs += sweep("mpi.put_latency", sizes=v.sizes, **where)
        beside = {*words(v.beside)} - {*self._absent}
        if "shmem4py" in beside:
            specs += [s for name in PAIRS for s in sweep(name, sizes=v.sizes, binding="shmem4py", **where)]
        if "coarrays" in beside:
            own = where | {"launcher": "auto"}  # of the MPI that the program is linked to
            specs += [s for name in COARRAYS for s in sweep(name, sizes=v.sizes, **own)]
        if v.rate_sizes:
            specs += [s for name in RATES for s in sweep(name, sizes=v.rate_sizes, **where)]
        if v.overlap_sizes:
            specs += sweep("shmem.put_overlap", sizes=v.overlap_sizes, **where)
        if v.atomics:
            calls = list(get_args(Operation)) if v.atomics == "all" else words(v.atomics)
            specs += sweep("shmem.atomic", sizes=[8], call=calls, **where)
        for name in words(v.collectives):
            sizes = [0] if name == "barrier" else v.collective_sizes
            specs += sweep(f"shmem.{name}", sizes=sizes, ranks=v.ranks, **where)
        for link in _linked.states(v.links, rate=v.rates):
            specs += self._pair(link, max(counts(v.link_sizes, "link_sizes")))
        for link in _linked.states(v.links, **_linked.possible(v, v.links, delay=v.delays, loss=v.losses)):
            specs += self._pair(link, min(counts(v.link_sizes, "link_sizes")))
        return list(dict.fromkeys(specs))

    def _pair(self, link: str, size: int) -> list[Spec]:
        """A put, a get and a message of MPI across the link."""
        where = {"transport": "tcp", "launcher": self.values.launcher, "testbed": link}
        return [spec for name in ACROSS for spec in sweep(name, sizes=[size], **where)]

    def of(self, benchmark: str) -> pd.DataFrame:
        """Rows of one benchmark, without those across the link, by size."""
        return self._here(super().of(benchmark))

    def _here(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows without those across the link."""
        v = self.values
        across = set(_linked.states(v.links, rate=v.rates, delay=v.delays, loss=v.losses)) - {v.testbed}
        return rows[~rows["testbed"].isin(across)] if len(rows) else rows

    def across(self, factor: str) -> pd.DataFrame:
        """Rows across the link against its rate, delay or loss: the column `level`."""
        rows = self.summary[self.summary["benchmark"].isin(ACROSS)]
        rows = _linked.under(rows.drop(self._here(rows).index), factor)
        return _called(rows) if len(rows) else rows

    @property
    def _absent(self) -> dict[str, str]:
        """Layers and systems that cannot be measured here, each with a sentence; none if nothing is measured."""
        absent: dict[str, str] = {}
        if self.values.measure and shmem_loops.absent():
            absent["shmem4py"] = "shmem4py is not installed, so its layer is left out."
        if self.values.measure and tools.version("coarray") == "unknown":
            absent["coarrays"] = "labkit's program with coarrays was not built here, so coarrays are left out."
        return {name: text for name, text in absent.items() if name in words(self.values.beside)}

    def _in(self, memory: str, names: tuple[str, ...]) -> pd.DataFrame:
        """Rows of benchmarks with buffers of one kind."""
        rows = _in_c(self._here(self.summary[self.summary["benchmark"].isin(names)]))
        return rows[rows["option_memory"] == memory] if "option_memory" in rows else rows

    def pair_figure(self, transport: str) -> Figure | Omitted:
        """Puts and gets between buffers in the heap against size, beside MPI's put."""
        rows = self._in("heap", PAIRS)
        beside = self.of("mpi.put_latency")
        if len(rows):
            rows = self.summary.loc[sorted({*rows.index, *beside.index})]
        rows = _called(rows[rows["transport"] == transport])
        return self.drawn(figures.versus_size, rows, "latency_us", series=["call"], tail=None)

    def paths_figure(self) -> Figure | Omitted:
        """A blocking put and get over each path."""
        rows = _called(self._in("heap", ("shmem.put_latency", "shmem.get_latency")))
        return self.drawn(figures.versus_size, rows, "latency_us", series=["call", "transport"], tail=None)

    def systems_figure(self, transport: str) -> Figure | Omitted:
        """A blocking put and get of OpenSHMEM from C and from Python, and of coarrays."""
        rows = self._here(self.summary[self.summary["benchmark"].isin([*BLOCKING, *COARRAYS])])
        if "option_memory" in rows:
            rows = rows[rows["option_memory"].fillna("heap") == "heap"]
        rows = _called(rows[rows["transport"] == transport])
        return self.drawn(figures.versus_size, rows, "latency_us", series=["call"], tail=None)

    def memory_figure(self, transport: str) -> Figure | Omitted:
        """A put from and into each kind of memory."""
        rows = _in_c(self.of("shmem.put_latency"))
        rows = rows[rows["transport"] == transport]
        return self.drawn(figures.versus_size, rows, "latency_us", series=["option_memory"], tail=None)

    def collectives_figure(self, *names: str) -> Figure | Omitted:
        """Collectives against size over each path."""
        rows = _called(self.summary[self.summary["benchmark"].isin([f"shmem.{name}" for name in names])])
        return self.drawn(figures.versus_size, rows, "latency_us", series=["call", "transport"], tail=None)

    def rates_figure(self) -> Figure | Omitted:
        """Message rates against size."""
        rows = _called(self.summary[self.summary["benchmark"].isin(RATES)])
        return self.drawn(figures.versus_size, rows, "message_rate_per_s", series=["call", "transport"], tail=None)

    def link_figure(self, factor: str) -> Figure | Omitted:
        """Puts and gets across the link against its rate, delay or loss, beside a message of MPI."""
        shown = statistic_column("latency_us", "mean" if factor == "loss" else "p50")
        how: dict[str, Any] = {"shown": {shown: shown}, "series": ["call"], "label": _linked.AXES[factor]}
        return self.drawn(figures.versus, self.across(factor), "level", **how)

    def overlaps(self) -> pd.DataFrame:
        """Rows of puts with computation."""
        return self.of("shmem.put_overlap")

    def atomics(self) -> pd.DataFrame:
        """Rows of the atomic operations."""
        return self.of("shmem.atomic")

    def barriers(self) -> pd.DataFrame:
        """Rows of the barrier."""
        return self.of("shmem.barrier")

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences: list[str] = []
        for name, call in (("shmem.put_latency", "put"), ("shmem.get_latency", "get")):
            least: dict[str, dict[str, Any]] = {}
            for path, group in self._in("heap", (name,)).groupby("transport", sort=False):
                row = group.sort_values("message_size_B").iloc[0].to_dict()
                least[str(path)] = row
                size = size_words(row["message_size_B"])
                sentences.append(
                    f"A blocking {call} of {size} over {path_words(str(path))}: {statement(row, 'latency_us')}."
                )
            if {"shm", "tcp"} <= set(least):
                effect = effects.between(least["tcp"], least["shm"], "latency_us")
                if effect.more:
                    sentences.append(f"A {call} over TCP takes {effect.times} as long as over shared memory.")
        sentences += self._of_systems()
        sentences += self._of_memory()
        for path, group in self.of("shmem.put_overlap").groupby("transport", sort=False):
            last = group.iloc[-1]
            if hidden := effects.stated_share(last, "overlap_osu_percent"):
                sentences.append(
                    f"Over {path_words(str(path))}, computation hides {hidden} of a put of "
                    f"{size_words(last['message_size_B'])}."
                )
        sentences += self._of_links()
        v = self.values
        sentences += _linked.left_out(v, v.links, delay=v.delays, loss=v.losses)
        return listed(sentences)

    def _of_links(self) -> list[str]:
        """Sentences on a put across the slowest and across the most delayed link."""
        sentences: list[str] = []
        rate, delay = (
            rows[rows["call"] == "put"] if len(rows := self.across(factor)) else rows for factor in ("rate", "delay")
        )
        if len(rate):
            slow = rate.iloc[0].to_dict()
            wire = 8 * slow["message_size_B"] / slow["level"]
            sentences.append(
                f"Across a link of {number(slow['level'])} Mbit/s, a put of {size_words(slow['message_size_B'])} takes "
                f"{statement(slow, 'latency_us')}; its bytes take {number(wire)} µs at this rate."
            )
        if len(delay):
            late = delay.iloc[-1].to_dict()
            sentences.append(
                f"With {number(late['level'])} ms of delay each way, a put of {size_words(late['message_size_B'])} "
                f"takes {statement(late, 'latency_us')}: it waits for the answer that it has arrived, a round trip of "
                f"{number(2 * late['level'])} ms."
            )
        return sentences

    def _of_systems(self) -> list[str]:
        """Sentences on Python's layer and on coarrays beside OpenSHMEM from C."""
        sentences: list[str] = []
        for path, base in self._in("heap", ("shmem.put_latency",)).groupby("transport", sort=False):
            plain = base.sort_values("message_size_B").iloc[0].to_dict()
            size, took = plain["message_size_B"], centre(plain, "latency_us")
            rows = self._here(self.summary[self.summary["transport"] == path])
            rows = rows[rows["message_size_B"] == size]
            layer = rows[rows["benchmark"] == "shmem.put_latency"]
            layer = layer[layer["option_binding"] == "shmem4py"] if "option_binding" in layer else layer[:0]
            others = (("With shmem4py", layer), ("With coarrays", rows[rows["benchmark"] == "pgas.coarray_put"]))
            sentences += [
                f"{name} a put of {size_words(size)} over {path_words(str(path))} takes "
                f"{statement(other.iloc[0].to_dict(), 'latency_us')}; from C with OpenSHMEM {number(took)} µs."
                for name, other in others
                if len(other)
            ]
        return [*sentences, *self._absent.values()]

    def _of_memory(self) -> list[str]:
        """Sentences on global memory beside the heap."""
        rows = _in_c(self.of("shmem.put_latency"))
        sentences: list[str] = []
        if "option_memory" not in rows or rows["option_memory"].nunique() < 2:
            return []
        for path, group in rows.groupby("transport", sort=False):
            least = group[group["message_size_B"] == group["message_size_B"].min()].set_index("option_memory")
            if {"heap", "global"} <= set(least.index):
                heap, other = (centre(least.loc[name].to_dict(), "latency_us") for name in ("heap", "global"))
                size = size_words(least["message_size_B"].iloc[0])
                sentences.append(
                    f"Over {path_words(str(path))}, a put of {size} takes {number(other)} µs into global memory, and "
                    f"{number(heap)} µs into the heap."
                )
        return sentences


def _in_c(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows that no other language measured."""
    return rows[rows["option_binding"].fillna("c") == "c"] if "option_binding" in rows else rows


def _called(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the name of their call: put, get_nb, alltoall, MPI_Put, MPI message, put (shmem4py), coarray put."""
    names = rows["benchmark"].str.replace(r"^shmem\.|[._](latency|rate)$", "", regex=True)
    names = names.replace({"mpi.put": "MPI_Put", "mpi": "MPI message"})
    names = names.replace({name: name.partition(".")[2].replace("_", " ") for name in COARRAYS})
    if "option_binding" in rows:
        names = names + (rows["option_binding"] == "shmem4py").map({True: " (shmem4py)", False: ""})
    return rows.assign(call=names)
