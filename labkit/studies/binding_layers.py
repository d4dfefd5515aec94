"""What does each layer of Python between a program and MPI cost?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from labkit import figures, studies
from labkit.errors import SpecError
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.spec import Spec, sweep
from labkit.point.units import plural
from labkit.studies import number, size_words, words

BOUND = ("mpi.latency", "mpi.bandwidth", "mpi.allreduce", "mpi.bcast")
LAYERS = {"c": "C kernel", "buffers": "mpi4py, buffers", "pickle": "mpi4py, pickle"}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook on the layers of the binding.

    Parameters
    ----------
    patterns : some of latency, bandwidth, allreduce, bcast.
    sizes : message sizes, MIN:MAX or a list; multiples of 4 B.
    transport : path of the messages.
    """

    patterns: str = "latency,bandwidth,allreduce"
    sizes: str = "4:1Mi:*8"
    transport: str = "auto"


class Study(studies.Study):
    """The same pattern as C kernel, with mpi4py's buffers, and with pickled objects."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = BOUND
    focus: ClassVar = (("mpi.latency", "option_binding"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Every pattern through every layer."""
        v, specs = self.values, []
        for name in words(v.patterns):
            if f"mpi.{name}" not in BOUND:
                raise SpecError(
                    f"patterns={name!r}, but only {', '.join(b[4:] for b in BOUND)} have layers. Set those."
                )
            specs += sweep(
                f"mpi.{name}",
                sizes=v.sizes,
                binding=list(LAYERS),
                transport=v.transport,
                launcher=v.launcher,
                testbed=v.testbed,
            )
        return specs

    def layers(self, benchmark: str) -> pd.DataFrame:
        """Rows of a benchmark with the layer in words; only if there is more than one layer."""
        rows = self.of(benchmark)
        if "option_binding" not in rows or rows["option_binding"].nunique() < 2:
            return rows.iloc[:0].assign(layer="", option_binding="")
        keep = rows["transport"] == rows.loc[rows["option_binding"] != "c", "transport"].iloc[0]
        rows = rows[keep & rows["option_binding"].notna()]
        return rows.assign(layer=rows["option_binding"].map(LAYERS))

    def figure(self, benchmark: str, metric: str = "latency_us") -> Figure | Omitted:
        """A pattern through all layers against message size."""
        return self.drawn(figures.versus_size, self.layers(benchmark), metric, series=["layer"])

    def cost(self, benchmark: str) -> pd.DataFrame:
        """What each layer of Python adds to the C kernel, by size.

        Returns
        -------
        layer, message_size_B, the medians (µs) with their ends, the difference (µs) and the ratio.
        """
        rows = self.layers(benchmark).to_dict("records")
        base = {row["message_size_B"]: row for row in rows if row["option_binding"] == "c"}
        costs = []
        others = [one for one in rows if one["option_binding"] != "c" and one["message_size_B"] in base]
        for row in others:
            c = base[row["message_size_B"]]
            effect = effects.between(row, c, "latency_us", tests=len(others))
            costs.append(
                {
                    "layer": row["layer"],
                    "message_size_B": row["message_size_B"],
                    "C kernel (µs)": c["latency_us_p50"],
                    "layer (µs)": row["latency_us_p50"],
                    "added (µs)": effect.added,
                    "ratio": effect.ratio,
                    "doubt": effect.doubt or "none",
                }
            )
        names = ["layer", "message_size_B", "C kernel (µs)", "layer (µs)", "added (µs)", "ratio", "doubt"]
        return pd.DataFrame(costs, columns=names).sort_values(["layer", "message_size_B"], ignore_index=True)

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed(
            _longer(f"{name}: {layer}", rows)
            for name in BOUND
            if name != "mpi.bandwidth"
            for layer, rows in self.cost(name).groupby("layer", sort=False)
        )


def _longer(what: str, rows: pd.DataFrame) -> str:
    """At how many sizes a layer takes longer than the C kernel, and by how much at the first of them."""
    every = plural(len(rows), "size")
    slower = rows[rows["added (µs)"] > 0]
    longer, later = (slower[slower["doubt"] == doubt] for doubt in ("none", effects.SESSIONS))
    first = next(iter((later if longer.empty else longer).to_dict("records")), None)
    if first is None:
        return f"{what} is not shown to take longer than the C kernel at any of {every}."
    text = f"{what} takes longer than the C kernel at {len(later if longer.empty else longer)} of {every}"
    text += f", at {size_words(first['message_size_B'])} by {number(first['added (µs)'])} µs"
    text += f" ({number(first['ratio'])} times its time)"
    return f"{text}, {effects.LATER}." if longer.empty else f"{text}."
