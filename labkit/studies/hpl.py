"""How fast do all ranks together solve a dense and a sparse system, and how much of the peak is that?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from labkit import figures, studies
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.options.compute import Hpl
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.spec import Spec, sweep
from labkit.point.units import plural
from labkit.read import records
from labkit.read.records import resolution
from labkit.store.samples.facts import BLAS, PEAK_METHOD
from labkit.studies import counts, number, statement

if TYPE_CHECKING:
    from labkit.store.samples import Samples

HPL, HPCG = "compute.hpl", "compute.hpcg"
_ORDER = "order of the matrix N"
_VALUE = ("_value", "_low", "_high")
_WHOLE = ("option_n", "option_nb", "option_p", "option_q")


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook about HPL.

    Parameters
    ----------
    launches : fresh starts of every point; a run of HPC Challenge takes seconds beside HPL.
    ranks : a list; with 1 among them, for the speedup.
    orders : orders of the matrix, a list; 0 for the largest that fits the memory.
    block : rows of a block; 0 for 192, or fewer for a small matrix.
    rows, columns : rows and columns of the grid of processes; 0 for the most square one.
    tool : xhpl, hpcc, or auto for the first that is installed.
    core_peak : theoretical peak of the core of a rank, Gflop/s; 0 to work it out from the processor.
    directory : directory of input and output files; where ranks run on several hosts, all must see it.
    cells : cells of a rank along each side, for conjugate gradients (compute.hpcg); 0 leaves them out.
    steps : steps of conjugate gradients in a run.
    time_cap : s of timed runs of conjugate gradients for a point and launch; the order decides how long HPL takes.
    """

    launches: int = 2
    time_cap: float = 0.3
    ranks: str = "1,2"
    orders: str = "250,500,1000,2000"
    block: int = 0
    rows: int = 0
    columns: int = 0
    tool: str = "auto"
    core_peak: float = 0.0
    directory: str = ""
    cells: int = 16
    steps: int = 50


class Study(studies.Study):
    """HPL over ranks and orders: time, speedup, performance, part of the peak. Conjugate gradients over ranks."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (HPL, HPCG)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Every order on every number of ranks; conjugate gradients on every number of ranks."""
        v, many, orders = self.values, counts(self.values.ranks, "ranks"), counts(self.values.orders, "orders")
        if not many or not orders:
            raise SpecError("ranks or orders is empty. Set ranks=1,2 and orders=500,1000.")
        options = {"nb": v.block, "p": v.rows, "q": v.columns, "tool": v.tool, "directory": v.directory}
        where = {"launcher": v.launcher, "testbed": v.testbed}
        specs = sweep(HPL, sizes=0, ranks=many, n=orders, **options, **where)
        if v.cells:
            sides = {"nx": v.cells, "ny": v.cells, "nz": v.cells}
            specs += sweep(HPCG, sizes=0, ranks=many, steps=v.steps, **sides, **where)
        return specs

    @property
    def solutions(self) -> list[Samples]:
        """Samples of HPL."""
        return [one for one in self.samples if one.spec.benchmark == HPL]

    # ---- rows --------------------------------------------------------------------------------------------------

    def rows(self) -> pd.DataFrame:
        """Rows of the summary with the speedup S(P, N) = T(1, N) / T(P, N), where one rank was measured.

        The ends of its interval divide the far ends of both times.
        """
        rows = self.of(HPL)
        if rows.empty:
            return rows
        whole = {name: "int64" for name in _WHOLE if name in rows}  # beside conjugate gradients, which lack them
        rows = rows.astype(whole).sort_values(["option_n", "ranks"]).copy()
        if self.values.core_peak:
            for end in _VALUE:
                rate = rows.get("performance_GFLOPS" + end, np.nan)
                rows["peak_percent" + end] = 100 * rate / (self.values.core_peak * rows["ranks"].astype(float))
        coarse = [records.coarse(row, "run_time_s") for row in rows.to_dict("records")]
        known = rows.mask(pd.Series(coarse, rows.index))  # a ratio of bounds is unknown
        alone = known[known["ranks"] == 1].drop_duplicates("option_n").set_index("option_n")
        for end, other in zip(_VALUE, ("_value", "_high", "_low"), strict=True):
            base = rows["option_n"].map(alone["run_time_s" + end]) if "run_time_s" + end in alone else np.nan
            rows["speedup_times" + end] = base / known.get("run_time_s" + other, np.nan)
        rows.loc[rows["ranks"] == 1, ["speedup_times_low", "speedup_times_high"]] = np.nan  # 1 by definition
        return rows

    # ---- figures -----------------------------------------------------------------------------------------------

    def time_figure(self) -> Figure | Omitted:
        """T(P, N): run time against ranks, a line for each order."""
        return self._over_ranks("run_time_s")

    def speedup_figure(self) -> Figure | Omitted:
        """S(P, N): speedup against ranks, a line for each order."""
        rows = self.rows()
        if rows.empty or not rows["speedup_times_value"].notna().any():
            return Omitted("there is no speedup, because no order was solved by one rank. Set ranks=1,2.")
        return self._over_ranks("speedup_times")

    def sustained_figure(self) -> Figure | Omitted:
        """SP(P, N): sustained performance against the order, a line for each number of ranks."""
        return self._over_orders("performance_GFLOPS")

    def peak_figure(self) -> Figure | Omitted:
        """SPF(P, N): part of the theoretical peak against the order, a line for each number of ranks."""
        rows = self.rows()
        if not rows.empty and "peak_percent_value" not in rows:
            return Omitted(f"there is no fraction of the peak: {self.peak_words()}. Set core_peak.")
        return self._over_orders("peak_percent")

    def gradients_figure(self, metric: str) -> Figure | Omitted:
        """A metric of conjugate gradients against ranks."""
        return self.drawn(figures.versus, self.of(HPCG), "ranks", shown=metric, label="ranks P")

    def split_figure(self) -> Figure | Omitted:
        """Computation and communication of every rank of conjugate gradients, a group for each number of ranks."""
        first = [
            one for one in self.samples if one.spec.benchmark == HPCG and one.n and not one.launch and not one.over
        ]
        programs = [
            figures.Shares(_ranks(one.spec.ranks), *(one.phases[name].mean(axis=-1) * 1e-9 for name in _PHASES))
            for one in sorted(first, key=lambda one: one.spec.ranks)
        ]
        small = "mean over the runs of a launch"
        return Figure(figures.time_split(programs, by="number of ranks", small=small)) if programs else NOTHING

    def _over_ranks(self, metric: str) -> Figure | Omitted:
        rows = self.rows()
        rows = rows.assign(order=[f"N = {n}" for n in rows["option_n"]]) if len(rows) else rows
        return self.drawn(figures.versus, rows, "ranks", shown=metric, series=["order"], label="ranks P")

    def _over_orders(self, metric: str) -> Figure | Omitted:
        return self.drawn(
            figures.versus, self.rows(), "option_n", shown=metric, series=["ranks"], label=_ORDER, log=False
        )

    # ---- tables ------------------------------------------------------------------------------------------------

    def table(self) -> pd.DataFrame:
        """Every point: grid, block, time, speedup, performance, part of the peak."""
        rows = self.rows()
        names = {
            "ranks": "ranks",
            "option_n": "N",
            "option_nb": "NB",
            "grid": "P × Q",
            "run_time_s_value": "time (s)",
            "speedup_times_value": "speedup",
            "performance_GFLOPS_value": "Gflop/s",
            "peak_percent_value": "of peak (%)",
            "launches": "launches",
        }
        if rows.empty:
            return rows.reindex(columns=list(names)).rename(columns=names)
        rows = rows.assign(grid=[f"{p} × {q}" for p, q in zip(rows["option_p"], rows["option_q"], strict=True)])
        rows["run_time_s_value"] = [records.value_of(row, "run_time_s").text for row in rows.to_dict("records")]
        return rows[[name for name in names if name in rows]].rename(columns=names)

    def others(self) -> pd.DataFrame:
        """The other tests of HPC Challenge at the largest order: a row for each value, a column for each rank count.

        A value is the median over launches.
        """
        largest = max((one.spec.of(Hpl).options.n for one in self.solutions), default=0)
        parts = []
        for one in self.solutions:
            values = records.reported([one])
            if one.spec.of(Hpl).options.n == largest and "hpcc_test" in values:
                parts.append(values.dropna(subset=["hpcc_test"]).assign(ranks=one.spec.ranks))
        columns = ["test", "quantity", "unit"]
        if not parts:
            return pd.DataFrame(columns=columns)
        every = pd.concat(parts)
        every = every[~every["statistic"].str.endswith("_of_ranks")]  # their means are in the table
        plain = every["statistic"] == "value"
        labels = every["name"].map(lambda name: METRICS[name].label)
        kinds = ", " + every["statistic"].map(
            lambda name: STATISTICS[name].label if name in STATISTICS else name.replace("_", " ")
        )
        every = every.assign(test=every["hpcc_test"], quantity=labels + kinds.where(~plain, ""))
        table, coarse = (
            every.pivot_table(name, columns, "ranks", aggfunc=function, sort=False, observed=True)
            for name, function in (("value", "median"), ("coarse", "mean"))
        )
        table = pd.DataFrame(
            {
                ranks: [
                    resolution.text(value, unit, share)
                    for value, (_, _, unit), share in zip(table[ranks], table.index, coarse[ranks], strict=True)
                ]
                for ranks in sorted(table.columns)
            },
            index=table.index,
        )
        table.columns = [_ranks(ranks) for ranks in table.columns]
        return table.reset_index()

    # ---- sentences ---------------------------------------------------------------------------------------------

    def peak_words(self) -> str:
        """How the peak was worked out, a phrase for each number of ranks."""
        if self.values.core_peak:
            return f"one core of {number(self.values.core_peak)} Gflop/s for each rank, as the parameter core_peak says"
        methods = {one.spec.ranks: PEAK_METHOD.of(one.meta) for one in self.solutions}
        every = list(dict.fromkeys(methods[ranks] for ranks in sorted(methods)))
        each = {_CORES.sub("", one) for one in every}
        if len(every) > 1 and len(each) == 1 and all(map(_CORES.match, every)):
            return f"{each.pop()}, for each core that the ranks use"
        return ". ".join(every)

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._best(), *self._speedups(), *self._setting(), *self._gradients()])

    def _best(self) -> Iterator[str]:
        """The best performance, its place and its part of the peak."""
        rows = self.rows()
        if rows.empty:
            return
        rows = records.sound(rows, "performance_GFLOPS")
        if rows["performance_GFLOPS_value"].isna().all():
            return
        row = rows.loc[rows["performance_GFLOPS_value"].idxmax()]
        share = f", {part} of the theoretical peak" if (part := effects.stated_share(row, "peak_percent")) else ""
        yield (
            f"HPL sustains at most {statement(row, 'performance_GFLOPS')}{share}: N = {row['option_n']}, "
            f"{_ranks(row['ranks'])} as {row['option_p']} × {row['option_q']}, blocks of {row['option_nb']}."
        )

    def _speedups(self) -> Iterator[str]:
        """Speedup of the most ranks for the smallest and the largest order."""
        rows = self.rows()
        alone = {row["option_n"]: row for row in rows.to_dict("records") if row["ranks"] == 1}
        rows = rows[rows["speedup_times_value"].notna() & (rows["ranks"] > 1)] if len(rows) else rows
        if rows.empty:
            return
        most = rows[rows["ranks"] == rows["ranks"].max()]
        ends = most.iloc[[0, -1]] if len(most) > 1 else most
        phrases = [f"{number(row['speedup_times_value'])} for N = {row['option_n']}" for _, row in ends.iterrows()]
        slower = all(
            effects.between(row, alone[row["option_n"]], "run_time_s", tests=len(most)).more
            for row in most.to_dict("records")
        )
        beside = ": slower than one rank"
        yield f"The speedup of {_ranks(most['ranks'].iloc[0])} is {' and '.join(phrases)}{beside if slower else ''}."

    def _setting(self) -> Iterator[str]:
        """BLAS, peak and check."""
        if not self.solutions:
            return
        libraries = sorted({BLAS.of(one.meta) or "of an unknown name" for one in self.solutions})
        yield f"BLAS: {' and '.join(libraries)}. Every residual passed HPL's check."
        yield f"Peak: {self.peak_words()}."

    def _gradients(self) -> Iterator[str]:
        """Performance and share of communication of conjugate gradients on the most ranks."""
        rows = self.of(HPCG)
        if rows.empty:
            return
        row = rows.loc[rows["ranks"].idxmax()]
        yield (
            f"Conjugate gradients on {_ranks(row['ranks'])} sustain {statement(row, 'performance_GFLOPS')}, and "
            f"{effects.stated_share(row, 'communication_percent') or 'an unknown share'} of their time is inside MPI, "
            "mean over ranks. Matrix and "
            "preconditioner are symmetric, and the residual is that of the solution, or the point would have failed."
        )


_CORES = re.compile(r"\d+ cores? × ")  # how a method of the peak begins
_PHASES = ("computation_ns", "communication_ns")


def _ranks(number_of: int) -> str:
    """A number of ranks in words."""
    return plural(number_of, "rank")
