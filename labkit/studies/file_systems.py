"""What do reads, writes and metadata cost on different file systems of the same machine?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import benchmarks, figures, studies, testbeds
from labkit.benchmarks.storage import io500_like
from labkit.figures.parts import NOTHING, Figure, Omitted, Table, Text, listed
from labkit.judge import sentences
from labkit.judge.rules import setting_matters
from labkit.point.columns import METRICS
from labkit.point.spec import Spec, sweep
from labkit.read.records import headline_metric
from labkit.studies import bare, size_words, statement, words

if TYPE_CHECKING:
    import pandas as pd

OPERATIONS = ("file creation", "file stat", "file read", "file removal")
READ, WRITE, METADATA, IO500 = "storage.read", "storage.write", "storage.metadata", "storage.io500_like"
SCORES = ("bandwidth_score_GiBps", "metadata_score_kIOPS", "io500_score")


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on file systems side by side.

    Parameters
    ----------
    systems : kinds to make and mount, a list of those of the testbed file-system.
    size : size of each of them.
    nfs : export of an NFS server to compare with them, as SERVER:/EXPORT; empty leaves NFS out.
    sizes : size of one read or write.
    items : files of each rank in the test of metadata.
    io500 : time in which each phase of a run like that of IO500 writes, s; 0 leaves it out.
    limit : most bytes that a rank writes in a phase of that run.
    ranks : ranks that take part in metadata and in that run.
    launcher : how ranks start.
    """

    systems: str = "ext4,xfs,tmpfs,fuse2fs"
    size: str = "1Gi"
    nfs: str = ""
    sizes: str = "4Ki,1Mi"
    items: int = 500
    io500: float = 0.1
    limit: str = "96Mi"
    ranks: int = 2
    launcher: str = "auto"


class Study(studies.Study):
    """Durable writes, reads, metadata, and the phases of IO500, on each file system in one campaign."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (WRITE, METADATA, READ, IO500)
    focus: ClassVar = tuple((name, "testbed") for name in (IO500, WRITE, METADATA))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Each benchmark on each file system."""
        v = self.values
        on = [testbeds.text_of("file-system", kind, {"size": v.size}) for kind in words(v.systems)]
        on += [testbeds.text_of("file-system", "nfs", {"source": v.nfs})] if v.nfs else []
        access: dict[str, Any] = {"sizes": v.sizes, "ranks": 1, "pattern": "random", "testbed": on}
        ranks: dict[str, Any] = {"sizes": [0], "ranks": v.ranks, "launcher": v.launcher, "testbed": on}
        specs = sweep(WRITE, sync="osync", **access) + sweep(READ, **access)
        if v.items:
            specs += sweep(METADATA, operation=list(OPERATIONS), items=v.items, **ranks)
        if v.io500:
            # as many files as a file system of 1 GiB has inodes for
            specs += sweep(IO500, stonewall=v.io500, limit=v.limit, items=10_000, **ranks)
        return specs

    def _named(self, benchmark: str) -> pd.DataFrame:
        """Rows of a benchmark with the file system in a word, in the order of the parameters, operations first."""
        rows = self.of(benchmark)
        if rows.empty:
            return rows
        rows = rows.assign(system=[testbeds.parse(text)[1] for text in rows["testbed"]])
        order = [*words(self.values.systems), "nfs"]
        rows = rows.sort_values("system", key=lambda names: names.map(order.index), kind="stable")
        if benchmark != METADATA:
            return rows
        return rows.sort_values("option_operation", key=lambda names: names.map(OPERATIONS.index), kind="stable")

    def access_figure(self, benchmark: str) -> Figure | Omitted:
        """Time of one read or write against its size, a line for each file system."""
        return self.drawn(figures.versus_size, self._named(benchmark), "latency_us", series=["system"], tail="p99")

    def metadata_figure(self) -> Figure | Omitted:
        """Rate of each operation on files, a colour for each file system."""
        rows = self._named(METADATA)
        if rows.empty:
            return NOTHING
        return self.drawn(
            lambda table, metric: figures.bars(table, "operation", metric, series=["system"], log=True),
            rows.assign(operation=rows["option_operation"]),
            "operation_rate_per_s",
        )

    def score_table(self) -> Table | Omitted:
        """Results of the phases of IO500 and the scores over them, a column for each file system."""
        rows = self._named(IO500).to_dict("records")
        if not rows:
            return NOTHING
        metrics = [*io500_like.PHASES.values(), *SCORES]
        table = [[METRICS[m].label, METRICS[m].unit, *(bare(row, m) for row in rows)] for m in metrics]
        return Table.of(["phase", "unit", *(row["system"] for row in rows)], table, align="ll" + "r" * len(rows))

    def findings(self) -> Text | Omitted:
        """Each benchmark at its smallest size on all file systems, and the judge's decision which one is slower."""
        said = []
        for name in self.benchmarks:
            rows = self._named(name)
            parts = rows.groupby("option_operation", sort=False) if name == METADATA and len(rows) else [("", rows)]
            for operation, part in parts:
                one = setting_matters.of_rows(part, ("testbed",)) if len(part) else None
                if one is None:
                    continue
                smallest = part[part["message_size_B"] == part["message_size_B"].min()]
                size = size_words(smallest["message_size_B"].iloc[0]) if smallest["message_size_B"].iloc[0] else ""
                what = " ".join(filter(None, (str(operation or benchmarks.get(name).title), size and f"of {size}")))
                values = ", ".join(
                    f"{row['system']} {statement(row, headline_metric(part))}" for row in smallest.to_dict("records")
                )
                said += [f"{what[0].upper()}{what[1:]}: {values}.", f"The judge: {sentences.sentence(one)}."]
        return listed(said)
