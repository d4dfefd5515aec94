"""How much of a simulation's time goes into writing its solution, and how fast is the file?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from labkit import figures, studies
from labkit.benchmarks.storage import bt_io
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_number, plural
from labkit.studies import amount, counts, statement, words

if TYPE_CHECKING:
    import pandas as pd

BENCHMARK = "storage.bt_io"


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook on BT-IO.

    Parameters
    ----------
    problem : class of the problem: S, W, A, B, C, D or E.
    subtypes : how the solution is written: simple, full.
    ranks : square numbers.
    steps : time steps; 0 for those of the class.
    interval : steps from one data set to the next.
    directory : where the file lies; empty for the place of temporary files. Name the file system to be measured.
    """

    problem: str = "S"
    subtypes: str = "simple,full"
    ranks: str = "1,4"
    steps: int = 0
    interval: int = 5
    directory: str = ""


class Study(studies.Study):
    """Run time, time in I/O, and both rates against the number of ranks."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (BENCHMARK,)
    focus: ClassVar = ((BENCHMARK, "option_subtype"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Each subtype on each number of ranks."""
        v = self.values
        return sweep(
            BENCHMARK,
            sizes=[0],
            ranks=counts(v.ranks, "ranks"),
            subtype=words(v.subtypes),
            problem=v.problem,
            steps=v.steps,
            interval=v.interval,
            directory=v.directory,
            launcher=v.launcher,
            testbed=v.testbed,
        )

    def time_figure(self) -> Figure | Omitted:
        """Run time, and the part of it in I/O, against the number of ranks."""
        shown = {"whole run": "run_time_s_mean", "in I/O": "io_time_s_value"}
        return self.drawn(figures.versus, self.of(BENCHMARK), "ranks", shown=shown, series=["option_subtype"])

    def computing_figure(self) -> Figure | Omitted:
        """Operations of the stand-in per second of the whole run against the number of ranks."""
        return self._rate("operations_Mops")

    def file_figure(self) -> Figure | Omitted:
        """Bytes of the solution per second in I/O against the number of ranks."""
        return self._rate("bandwidth_MBps")

    def _rate(self, metric: str) -> Figure | Omitted:
        return self.drawn(figures.versus, self.of(BENCHMARK), "ranks", shown=metric, series=["option_subtype"])

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences = []
        rows = self.of(BENCHMARK)
        rows = rows.sort_values(["ranks", "option_subtype"], ascending=[True, False]) if len(rows) else rows
        for row in rows.to_dict("records"):
            count = plural(row["ranks"], "rank")
            part = effects.stated_share(row, "io_percent") or "an unknown share"
            sentences.append(
                f"`{row['option_subtype']}` on {count}: I/O takes {part} of the run time of "
                f"{statement(row, 'run_time_s')}, at {statement(row, 'bandwidth_MBps')}."
            )
        sentences += _gain(rows)
        if sentences:
            size = next(bt_io.file_size(spec.of(bt_io.Options)) for spec in self.specs()) / 1e6
            sets = next(bt_io.data_sets(spec.of(bt_io.Options)) for spec in self.specs())
            sentences.insert(
                0, f"Class {self.values.problem} writes {format_number(size, 'MB', digits=3)} in {sets} data sets."
            )
        return listed(sentences)


def _gain(rows: pd.DataFrame) -> Iterator[str]:
    """What one collective write gains over a write for each pencil, on the most ranks."""
    most = rows[rows["ranks"] == rows["ranks"].max()] if len(rows) else rows
    found = {row["option_subtype"]: row for row in most.to_dict("records")}
    if {"simple", "full"} <= set(found):
        effect = effects.between(found["full"], found["simple"], "bandwidth_MBps")
        many = plural(found["full"]["ranks"], "rank")
        whole, each = "one collective write (`full`)", "a write for each pencil (`simple`)"
        yield effect.said(
            f"On {many}, {whole} has {effect.times} the bandwidth of {each}",
            f"On {many}, {whole} writes {amount(found['full'], 'bandwidth_MBps')}, {each} "
            f"{amount(found['simple'], 'bandwidth_MBps')}",
        )
