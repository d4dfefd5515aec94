"""How fast do many ranks write and read files together, and what do metadata cost?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import figures, studies
from labkit.benchmarks.storage import io500_like
from labkit.benchmarks.storage.metadata import Options as Metadata
from labkit.figures.parts import NOTHING, Figure, Omitted, Table, Text, listed
from labkit.judge import effects
from labkit.point import notes
from labkit.point.columns import METRICS
from labkit.point.spec import Spec, sweep
from labkit.point.units import plural
from labkit.read.records import sound, value_of
from labkit.studies import bare, number, resolved, size_words, statement

if TYPE_CHECKING:
    import pandas as pd

OPERATIONS = Metadata.__annotations__["operation"].__args__
WAYS = (("shared", False), ("shared", True), ("file per process", False))  # file, and whether calls are collective
_SCORES = ("bandwidth_score_GiBps", "metadata_score_kIOPS", "io500_score")
SYNCS = {"none": "none", "end": "after the last transfer", "each": "after each transfer"}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the notebook on parallel I/O.

    Parameters
    ----------
    sizes : size of one transfer.
    block_size : contiguous data of a rank in a segment; a whole number of transfers of each size.
    segments : segments of a file; each holds a block of every rank.
    reorder : each rank reads the data of the rank at this offset.
    stonewall : deadline of the writing that ends by time, s; 0 leaves it out.
    items : files and directories of each rank in the test of metadata; 0 leaves it out.
    io500 : time in which each phase of a run like that of IO500 writes, s; 0 leaves it out. IO500 itself asks for 300.
    directory : where the files lie; empty for the place of temporary files. Name the file system to be measured.
    ranks : ranks that take part.
    """

    sizes: str = "64Ki:1Mi:*4"
    block_size: str = "4Mi"
    segments: int = 2
    reorder: int = 1
    stonewall: float = 0.1
    items: int = 200
    io500: float = 0.2
    directory: str = ""
    ranks: int = 2


class Study(studies.Study):
    """Bandwidth of shared and separate files, and rates of operations on metadata."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (
        "storage.parallel_write",
        "storage.parallel_read",
        "storage.stonewalled_write",
        "storage.metadata",
        "storage.io500_like",
    )
    focus: ClassVar = (("storage.parallel_write", "option_file"), ("storage.metadata", "option_unique"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Both directions in each way; syncs at the largest transfer; a deadline; each operation on metadata."""
        v = self.values
        where: dict[str, Any] = {
            "ranks": v.ranks,
            "launcher": v.launcher,
            "testbed": v.testbed,
            "directory": v.directory,
        }
        layout = {**where, "block_size": v.block_size, "segments": v.segments}
        specs = []
        for file, collective in WAYS:
            way: dict[str, Any] = {"sizes": v.sizes, "file": file, "collective": collective, **layout}
            specs += sweep("storage.parallel_write", **way)
            specs += sweep("storage.parallel_read", reorder=v.reorder, **way)
        largest = max(spec.size for spec in specs)
        specs += sweep("storage.parallel_write", sizes=[largest], sync=["end", "each"], **layout)
        if v.stonewall:
            stone: dict[str, Any] = {"sizes": [largest], "stonewall": v.stonewall, "wear_out": [False, True]}
            # many segments, so that the deadline comes before the end
            specs += sweep("storage.stonewalled_write", **{**layout, "segments": 64 * v.segments}, **stone)
        if v.items:
            both: dict[str, Any] = {"operation": list(OPERATIONS), "unique": [False, True]}
            specs += sweep("storage.metadata", sizes=[0], items=v.items, **both, **where)
        if v.io500:
            specs += sweep("storage.io500_like", sizes=[0], stonewall=v.io500, **where)
        return specs

    def _ways(self, benchmark: str) -> pd.DataFrame:
        """Rows over sizes and ways, with the way in words."""
        rows = self.of(benchmark)
        if rows.empty:
            return rows
        if "option_sync" in rows:
            rows = rows[rows["option_sync"].fillna("none") == "none"]
        together = rows["option_collective"].astype(bool).map({True: ", collective", False: ""})
        rows = rows.assign(way=rows["option_file"] + together)
        order = [file + (", collective" if collective else "") for file, collective in WAYS]
        return rows.sort_values("way", key=lambda column: column.map(order.index), kind="stable")

    def ways_figure(self, benchmark: str) -> Figure | Omitted:
        """Bandwidth of all ranks against the size of a transfer, a line for each way."""
        return self.drawn(figures.versus_size, self._ways(benchmark), "bandwidth_MBps", series=["way"], tail=None)

    def sync_figure(self) -> Figure | Omitted:
        """Time of a whole test of writing against how often it syncs."""
        rows = self.of("storage.parallel_write")
        if rows.empty:
            return NOTHING
        rows = rows[(rows["message_size_B"] == rows["message_size_B"].max()) & (rows["option_file"] == "shared")]
        rows = rows[~rows["option_collective"].astype(bool)]
        rows = rows.assign(sync=rows["option_sync"].map(SYNCS))
        rows = rows.sort_values("sync", key=lambda column: column.map(list(SYNCS.values()).index), kind="stable")
        return self.drawn(lambda table, metric: figures.bars(table, "sync", metric, series=[]), rows, "run_time_s")

    def _metadata(self) -> pd.DataFrame:
        """Rows of the operations on metadata in mdtest's order, those in one directory first."""
        rows = self.of("storage.metadata")
        if rows.empty:
            return rows
        rows = rows.assign(order=rows["option_operation"].map(OPERATIONS.index))
        return rows.sort_values(["option_unique", "order"], kind="stable")

    def metadata_figure(self) -> Figure | Omitted:
        """Rate of each operation, in one directory and in one for each rank."""
        rows = self._metadata()
        if rows.empty:
            return NOTHING
        where = rows["option_unique"].astype(bool).map({True: "a directory for each rank", False: "one directory"})
        rows = rows.assign(operation=rows["option_operation"], where=where)
        return self.drawn(
            lambda table, metric: figures.bars(table, "operation", metric, series=["where"], log=True),
            rows,
            "operation_rate_per_s",
        )

    def io500_table(self) -> Table | Omitted:
        """Results of the phases of IO500 in their order, and the scores over them."""
        rows = self.of("storage.io500_like").to_dict("records")
        metrics = [*io500_like.PHASES.values(), *_SCORES]
        if not rows:
            return NOTHING
        cells = [[value_of(row, metric) for row in rows] for metric in metrics]
        table = [
            [METRICS[metric].label, METRICS[metric].unit, *(text for one in of for text in (one.text, one.range))]
            for metric, of in zip(metrics, cells, strict=True)
        ]
        head = ["phase", "unit", *(text for one in cells[0] for text in ("median", one.label))]
        return Table.of(head, table, align="ll" + "rr" * len(rows))

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences = []
        for name, verb in (("storage.parallel_write", "Writing"), ("storage.parallel_read", "Reading")):
            known = self._ways(name)
            for way, every in known.groupby("way", sort=False) if len(known) else ():
                rows = sound(every, "bandwidth_MBps")
                if rows["bandwidth_MBps_p50"].isna().all():
                    continue
                best = rows.loc[rows["bandwidth_MBps_p50"].idxmax()]
                files = best["open_us_p50"] + best["close_us_p50"]  # with the median of the whole it may not add up
                share = effects.share(files, best["run_time_s_p50"] * 1e6) if effects.founded(best) else ""
                sentences.append(
                    f"{verb}, {way}: the highest bandwidth{resolved(every, 'bandwidth_MBps')} is "
                    f"{statement(best, 'bandwidth_MBps')}, in transfers of {size_words(best['message_size_B'])}"
                    + (f"; opening and closing take {share} of the time." if share else ".")
                )
        for _, row in self.of("storage.stonewalled_write").iterrows():
            rule = "all ranks then catch up with the fastest" if row["option_wear_out"] else "nobody catches up"
            sentences.append(
                f"Writing for {number(row['option_stonewall'])} s ({rule}): {statement(row, 'bandwidth_MBps')}."
            )
        rows = self._metadata()
        if len(rows):
            together = rows[~rows["option_unique"].astype(bool)].to_dict("records")
            rates = [f"{row['option_operation']} {bare(row, 'operation_rate_per_s')}" for row in together]
            sentences.append(f"Operations per second in one directory: {', '.join(rates)}.")
        for row in self.of("storage.io500_like").to_dict("records"):
            took = float(row["shortest_write_s_p50"])
            mark = "" if took >= io500_like.RULE_S else ", IO500-like, not a valid submission"
            sentences.append(
                f"Score over the phases of IO500{mark}: {statement(row, 'io500_score')}, of "
                f"{bare(row, 'bandwidth_score_GiBps')} GiB/s and {bare(row, 'metadata_score_kIOPS')} kIOPS."
            )
        cached = sum(
            notes.has(badges, "page-cache") or notes.has(badges, "memory-file-system")
            for badges in self.records["badges"]
        )
        if cached:
            sentences.append(
                f"In {cached} of {plural(len(self.records), 'record')} memory may have answered instead of a disk."
            )
        return listed(sentences)
