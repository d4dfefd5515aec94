"""How long does a time step of a simulation wait for its neighbours, and an FFT for its transposes?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from labkit import benchmarks, figures, studies
from labkit.benchmarks.apps import fft_subcom3d, halo3d26
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.models.breakdown import of_launches
from labkit.point.spec import Spec, sweep
from labkit.point.units import parse_sizes
from labkit.read import reference
from labkit.read.records import per_rank
from labkit.read.reference.comparing import with_arguments
from labkit.store.samples.facts import FINGERPRINT
from labkit.studies import counts, number, size_words, statement, words

if TYPE_CHECKING:
    from labkit.store.samples import Samples

HALO, FFT = "apps.halo3d26", "apps.fft_subcom3d"
PAPER = "ethernet2020"
PUBLISHED = {  # path → number of Kenny et al. (2020): mean over ranks on 48 nodes, 100 Gb/s Ethernet
    HALO: {"TCP": "halo_tcp", "TCP with PFC": "halo_tcp_pfc", "RoCE": "halo_roce"},
    FFT: {"TCP": "fft_tcp", "TCP with PFC": "fft_tcp", "RoCE": "fft_roce"},
}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook about halo exchange and FFT.

    Parameters
    ----------
    neighbours : neighbours of the halo exchange, a list of 26, 18 (no corners) and 6 (faces only).
    periodic : also measure grids that wrap around.
    cells : cells of a rank along each side; with 8 B in a cell, a face has cells² · 8 B.
    fft_sizes : sizes of the message between two ranks in the transposes, MIN:MAX or a list.
    ranks : a list; both are measured with every number, as grids that are as cubic as they can be.
    paper : also measure both with the arguments of the Ethernet paper, at the largest number of ranks.
    transports : paths to compare, a list.
    """

    launches: int = 2
    time_cap: float = 0.4
    neighbours: str = "6,18,26"
    periodic: bool = True
    cells: int = 10
    fft_sizes: str = "512,10000"
    ranks: str = "2,4,8"
    paper: bool = True
    transports: str = "auto"
    testbed: str = "virtual-cluster:4"


class Study(studies.Study):
    """Halo exchange in 3-D and the transposes of a 3-D FFT, every rank of every iteration."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (HALO, FFT)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Halo over neighbours, wrap and ranks; FFT over sizes and ranks; both as in the paper."""
        v, many = self.values, counts(self.values.ranks, "ranks")
        if not many:
            raise SpecError("ranks is empty. Set it to a list, as in ranks=2,4,8.")
        where = {"transport": words(v.transports), "launcher": v.launcher, "testbed": v.testbed}
        cells = {"nx": v.cells, "ny": v.cells, "nz": v.cells}
        periodic = [False, True] if v.periodic else False
        specs = sweep(HALO, sizes=[8], ranks=many, neighbours=words(v.neighbours), periodic=periodic, **cells, **where)
        specs += sweep(FFT, sizes=parse_sizes(v.fft_sizes), ranks=many, **where)
        if v.paper:
            specs += sweep(HALO, sizes=[8], ranks=max(many), preset=PAPER, **where)
            specs += sweep(FFT, sizes=[10_000], ranks=max(many), preset=PAPER, **where)
        return specs

    # ---- rows --------------------------------------------------------------------------------------------------

    def rows(self, benchmark: str, *, paper: bool = False) -> pd.DataFrame:
        """Rows of the summary of a benchmark with its grid in words: with the paper's arguments, or the others."""
        rows = self.of(benchmark)
        if rows.empty:
            return rows
        rows = rows[rows.index.isin(with_arguments(rows, {"preset": PAPER}).index) == paper]
        grids = {}
        for point in self.samples:
            if point.spec.benchmark == benchmark:
                x, y, z = halo3d26.shape(_resolved(point))
                grids[point.spec.ranks] = f"{x}\u00a0×\u00a0{y}\u00a0×\u00a0{z}"
        rows = rows.assign(grid=rows["ranks"].map(grids))
        if benchmark == HALO:
            wraps = rows["option_periodic"].fillna(False).astype(bool).map({False: "open", True: "periodic"})
            usual = rows["option_preset"].map({name: values["neighbours"] for name, values in halo3d26.PRESETS.items()})
            near = rows["option_neighbours"].where(rows["option_neighbours"] != "preset", usual)
            kinds = near + " neighbours, " + wraps
            rows = rows.assign(option_neighbours=near, kind=kinds, order=near.astype(int))
        else:
            rows = rows.assign(kind=[size_words(size) for size in rows["message_size_B"]], order=rows["message_size_B"])
        return rows.sort_values(["order", "kind", "ranks", "transport"]).drop(columns="order")

    def ranks_figure(self, benchmark: str) -> Figure | Omitted:
        """Slowest rank against the number of ranks, a line for each kind of neighbours, or each size."""
        rows = self.rows(benchmark)
        series = ["kind"]
        if len(rows) and rows["transport"].nunique() > 1:
            series.append("transport")
        return self.drawn(figures.versus, rows, "x" if rows.empty else "ranks", shown="latency_us", series=series)

    def paper_figure(self, benchmark: str) -> Figure | Omitted:
        """Mean time of an iteration over all ranks with the paper's arguments, a bar for each path: Figs 5 and 6."""
        rows = self.rows(benchmark, paper=True)
        if rows.empty:
            return NOTHING
        measured = {
            f"{row['transport']}, {row['ranks']} ranks": row["latency_us_osu_mean"] for _, row in rows.iterrows()
        }
        return Figure(
            figures.measured_and_published(
                measured,
                _published(benchmark),
                title="mean time of an iteration (ms)",
                factor=1e-3,
                origin=str(rows["origin"].iloc[0]),
            )
        )

    def example(self, benchmark: str) -> list[Samples]:
        """Launches of the point with most ranks, neighbours and bytes that is not the paper's."""
        candidates = [s for s in self.samples if s.spec.benchmark == benchmark and s.n]
        candidates = [s for s in candidates if _resolved(s).options.preset != PAPER]
        if not candidates:
            return []

        def order(samples: Samples) -> tuple[int, int, int, bool, str]:
            options = benchmarks.resolve(samples.spec).values
            near = options.get("neighbours", "0")
            return (
                samples.spec.ranks,
                samples.spec.size,
                int(near) if near.isdecimal() else 26,
                not options.get("periodic", False),
                samples.spec.transport,
            )

        largest = FINGERPRINT.of(max(candidates, key=order).meta)
        return sorted((s for s in candidates if FINGERPRINT.of(s.meta) == largest), key=lambda s: s.launch)

    def rank_figure(self, benchmark: str) -> Figure | Omitted:
        """Times of every rank in the largest case, a colour for each launch."""
        launches = self.example(benchmark)
        return Figure(figures.per_rank(launches)) if launches else NOTHING

    def iteration_figure(self, benchmark: str) -> Figure | Omitted:
        """Time of every rank, iteration by iteration, in one launch of the largest case."""
        launches = self.example(benchmark)
        return Figure(figures.over_iterations(launches[0])) if launches else NOTHING

    def table(self, benchmark: str) -> pd.DataFrame:
        """Slowest rank and mean over ranks of all points."""
        rows = pd.concat([self.rows(benchmark), self.rows(benchmark, paper=True).assign(kind="as in the paper")])
        columns = [
            "kind",
            "ranks",
            "grid",
            "transport",
            "latency_us_p50",
            "latency_us_low",
            "latency_us_high",
            "latency_us_p99",
            "latency_us_osu_mean",
            "bandwidth_MBps_p50",
            "busbw_GBps_p50",
            "n",
        ]
        rows = rows[[name for name in columns if name in rows]].dropna(axis="columns", how="all")
        if len(rows) and rows["transport"].nunique() == 1:
            rows = rows.drop(columns="transport")
        return rows.rename(
            columns={
                "bandwidth_MBps_p50": "bandwidth (MB/s)",
                "busbw_GBps_p50": "bus bandwidth (GB/s)",
                "latency_us_osu_mean": "mean over ranks (µs)",
            }
        )

    # ---- sentences ---------------------------------------------------------------------------------------------

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences = [*self._neighbours(), *self._wraps(), *self._transposes(), *self._ranks(), *self._paper()]
        return listed(sentences)

    def _most(self, benchmark: str) -> pd.DataFrame:
        """Rows with the most ranks."""
        rows = self.rows(benchmark)
        return rows[rows["ranks"] == rows["ranks"].max()] if len(rows) else rows

    def _neighbours(self) -> Iterator[str]:
        """Cost of edges and corners beside the faces."""
        rows = self._most(HALO)
        if rows.empty:
            return
        for path, group in rows[~rows["option_periodic"].astype(bool)].groupby("transport"):
            group = group.sort_values("option_neighbours", key=lambda column: column.astype(int))
            phrases = [f"{statement(row, 'latency_us')} with {row['option_neighbours']}" for _, row in group.iterrows()]
            yield (
                f"Halo exchange, {group['ranks'].iloc[0]} ranks ({group['grid'].iloc[0]}){_over(path)}, slowest rank, "
                f"by neighbours: {', '.join(phrases)}."
            )

    def _wraps(self) -> Iterator[str]:
        """Cost of wrapping around, where every rank has all neighbours."""
        rows = self._most(HALO)
        if rows.empty or rows["option_periodic"].astype(bool).nunique() < 2:
            return
        pairs = []
        for (near, path), group in rows.groupby(["option_neighbours", "transport"]):
            kinds = {bool(row["option_periodic"]): row for row in group.to_dict("records")}
            if len(kinds) == 2:
                pairs.append(
                    (effects.between(kinds[True], kinds[False], "latency_us"), f"{near} neighbours{_over(path)}")
                )
        costlier = [(effect, where) for effect, where in pairs if effect.more]
        if costlier:
            effect, where = max(costlier, key=lambda pair: pair[0].ratio)
            yield effect.said(
                "A grid that wraps around has no rank at an edge, and on a side of two both neighbours are the same "
                f"rank: it costs up to {effect.times} the open one, with {where}",
                where,
            )
        elif pairs:
            yield "No number of neighbours shows that a grid that wraps around costs more than an open one."

    def _transposes(self) -> Iterator[str]:
        """Smallest and largest message of the transposes."""
        rows = self._most(FFT)
        if rows.empty:
            return
        for path, group in rows.groupby("transport"):
            group = group.sort_values("message_size_B")
            phrases = [
                f"{statement(row, 'latency_us')} with {size_words(row['message_size_B'])}"
                for _, row in group.iterrows()
            ]
            yield (
                f"Transposes of the FFT, {group['ranks'].iloc[0]} ranks ({group['grid'].iloc[0]}){_over(path)}, "
                f"slowest rank: {', '.join(phrases)} between two ranks."
            )

    def _ranks(self) -> Iterator[str]:
        """Ranks that wait longest and shortest in the largest case."""
        for benchmark, name in ((HALO, "The halo exchange"), (FFT, "The FFT")):
            launches = self.example(benchmark)
            if not launches:
                continue
            each = np.array([per_rank.medians(launch) for launch in launches])
            medians = np.median(each, axis=0)
            fast, slow = int(medians.argmin()), int(medians.argmax())
            longest, least = (of_launches(each[:, rank]) for rank in (slow, fast))
            spec = _resolved(launches[0])
            grid, ranks = halo3d26.shape(spec), per_rank.ranks(launches[0])
            yield effects.between_times(longest, least, tests=effects.pairs(len(medians))).said(
                f"{name} with {spec.ranks} ranks: rank {ranks[slow]} at {halo3d26.place(grid, slow)} waits longest, "
                f"{number(medians[slow] * 1e6)} µs, rank {ranks[fast]} at {halo3d26.place(grid, fast)} shortest, "
                f"{number(medians[fast] * 1e6)} µs (medians over iterations and launches)",
                f"{name}: {spec.ranks} ranks wait {number(medians[fast] * 1e6)} to {number(medians[slow] * 1e6)} µs",
            )

    def _paper(self) -> Iterator[str]:
        """Times with the paper's arguments, beside the paper's numbers."""
        for benchmark, name in ((HALO, "Halo exchange"), (FFT, "FFT")):
            for _, row in self.rows(benchmark, paper=True).iterrows():
                known = ", ".join(
                    f"{number(value / 1e3)} ms over {path}" for path, value in _published(benchmark).items()
                )
                yield (
                    f"{name} with the paper's arguments on {row['ranks']} ranks{_over(row['transport'])}: "
                    f"{number(row['latency_us_osu_mean'] / 1e3)} ms, mean over ranks. The paper has {known}, on 48 "
                    "nodes with 100 Gb/s Ethernet."
                )


def _resolved(samples: Samples) -> Spec[halo3d26.Preset]:
    spec = benchmarks.resolve(samples.spec)
    return spec.of(halo3d26.Options) if spec.benchmark == HALO else spec.of(fft_subcom3d.Options)


def _published(benchmark: str) -> dict[str, float]:
    """Mean time of an iteration over each of the paper's paths, µs."""
    paper = reference.load("ethernet-scientific-2020")
    return {path: 1e6 * paper[name].si for path, name in PUBLISHED[benchmark].items()}


def _over(path: str) -> str:
    """A path in words; empty if the library chose it."""
    return "" if path == "auto" else f" over {path}"
