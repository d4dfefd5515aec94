"""What does access to another rank's memory cost, and does that rank have to take part?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import figures, studies
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.spec import Spec, sweep
from labkit.stats.decision import beyond_limit
from labkit.studies import amount, ends, size_words, statement, unresolved, words

if TYPE_CHECKING:
    import pandas as pd

CALLS = ("mpi.put_latency", "mpi.get_latency", "mpi.accumulate_latency", "mpi.get_accumulate_latency")
RATES = ("mpi.put_bandwidth", "mpi.get_bandwidth")
ATOMICS = ("mpi.fetch_and_op_latency", "mpi.compare_and_swap_latency")


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the one-sided notebook.

    Parameters
    ----------
    sizes : message sizes, MIN:MAX or a list; multiples of 4 B.
    synchronisations : ways of completing a put, a list to compare; empty leaves it out.
    rate_sizes : at which bandwidth is measured; empty leaves it out.
    passive_sizes : at which a put is timed while its target computes; empty leaves it out.
    transport : path of the messages.
    """

    sizes: str = "4:1Mi:*8"
    synchronisations: str = "flush,flush_local,lock,lock_all,pscw,fence"
    rate_sizes: str = "8:1Mi:*8"
    passive_sizes: str = "8:64Ki:*16"
    transport: str = "auto"


class Study(studies.Study):
    """One-sided calls against two-sided ones, under every synchronisation."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = ("mpi.latency", "mpi.bandwidth", *CALLS, *RATES, *ATOMICS, "mpi.passive_put")
    focus: ClassVar = (("mpi.put_latency", "option_synchronisation"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Calls and two-sided messages over all sizes; synchronisations; bandwidth; a target that computes."""
        v = self.values
        where = {"transport": v.transport, "launcher": v.launcher, "testbed": v.testbed}
        specs = [s for name in ("mpi.latency", *CALLS) for s in sweep(name, sizes=v.sizes, **where)]
        specs += [s for name in ATOMICS for s in sweep(name, sizes=[8], **where)]
        if v.synchronisations:
            specs += sweep("mpi.put_latency", sizes=v.sizes, synchronisation=words(v.synchronisations), **where)
        if v.rate_sizes:
            specs += [s for name in ("mpi.bandwidth", *RATES) for s in sweep(name, sizes=v.rate_sizes, **where)]
        if v.passive_sizes:
            specs += sweep("mpi.passive_put", sizes=v.passive_sizes, **where)
        return specs

    def _usual(self, names: tuple[str, ...]) -> pd.DataFrame:
        """Rows of benchmarks with the default synchronisation, on the path that the one-sided ones took."""
        rows = self.summary[self.summary["benchmark"].isin(names)]
        if "option_synchronisation" not in rows:
            return rows.iloc[:0]
        paths = rows.loc[rows["option_synchronisation"].notna(), "transport"].unique()
        rows = rows[rows["option_synchronisation"].isna() | (rows["option_synchronisation"] == "flush")]
        plain = ~(rows.get("option_binding", "c") != "c") | rows["option_synchronisation"].notna()
        return rows[rows["transport"].isin(paths) & plain]

    def latency_figure(self) -> Figure | Omitted:
        """One-sided calls and the two-sided message against size."""
        return self.drawn(
            figures.versus_size, self._usual(("mpi.latency", *CALLS)), "latency_us", series=["benchmark"], tail=None
        )

    def synchronisation_figure(self) -> Figure | Omitted:
        """A put under each synchronisation."""
        rows = self.of("mpi.put_latency")
        return self.drawn(figures.versus_size, rows, "latency_us", series=["option_synchronisation"], tail=None)

    def bandwidth_figure(self) -> Figure | Omitted:
        """Bandwidth of puts, gets and two-sided messages."""
        rows = self._usual(("mpi.bandwidth", *RATES))
        return self.drawn(figures.versus_size, rows, "bandwidth_MBps", series=["benchmark"], tail=None)

    def passive_figure(self) -> Figure | Omitted:
        """A put while its target computes, and while it waits inside MPI."""
        names = {"latency_us": "target computes", "helped_us": "target waits in MPI"}
        return self.drawn(figures.several_metrics, self.of("mpi.passive_put"), names, label="latency of a put")

    def atomics(self) -> pd.DataFrame:
        """Rows of the calls on one element."""
        return self.summary[self.summary["benchmark"].isin(ATOMICS)]

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences, usual = [], self._usual(("mpi.latency", *CALLS))
        for name in ("mpi.latency", *CALLS):
            rows = usual[usual["benchmark"] == name].sort_values("message_size_B")
            if len(rows):
                sentences.append(
                    f"{name} takes {statement(rows.iloc[0], 'latency_us')} at "
                    f"{size_words(rows['message_size_B'].iloc[0])}."
                )
        puts = self.of("mpi.put_latency")
        if "option_synchronisation" in puts and puts["option_synchronisation"].nunique() > 1:
            small = puts[puts["message_size_B"] == puts["message_size_B"].min()]
            sentences += _synchronisations(small)
        for row in self.of("mpi.passive_put").to_dict("records"):
            sentences.append(
                f"While the target computes, a put of {size_words(row['message_size_B'])} takes "
                f"{amount(row, 'latency_us')}, and {amount(row, 'helped_us')} while it waits in MPI: "
                f"{_needed(row)}."
            )
        return listed(sentences)


def _synchronisations(rows: pd.DataFrame) -> Iterator[str]:
    """The cheapest and the most expensive synchronisation; those that take less than the clock resolves first."""
    among = unresolved(rows, "latency_us", "option_synchronisation")
    if extremes := ends(rows, "latency_us"):
        low, high = extremes
        costs = [f"{row['option_synchronisation']} with {amount(row, 'latency_us')}" for row in extremes]
        takes = [f"{row['option_synchronisation']} takes {amount(row, 'latency_us')}" for row in extremes]
        yield "Synchronisations of the smallest put: " + effects.between(
            high, low, "latency_us", tests=effects.pairs(len(rows))
        ).said(f"{among}{costs[0]} is the cheapest, {costs[1]} the most expensive", f"{among}{takes[0]}, {takes[1]}")


def _needed(row: Mapping[str, Any]) -> str:
    """Whether a target that computes must enter MPI: then a put waits for half of the computation on average."""
    busy, helped = (effects.of_row(row, name).launches for name in ("latency_us", "helped_us"))
    waits = [one - other for one, other in zip(busy, helped, strict=False)]  # of each launch
    [side] = beyond_limit([waits], [row["option_compute_us"] / 2])
    if side == "cannot say":
        return "this does not show whether the target must enter MPI"
    return "the target must enter MPI" if side == "above" else "the target need not take part"
