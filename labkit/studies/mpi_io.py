"""How do ranks share a file, and what does it cost to make a write last?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from labkit import figures, studies
from labkit.figures.parts import Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.spec import Spec, sweep
from labkit.read.records import sound
from labkit.studies import amount, ends, resolved, size_words, statement, unresolved

if TYPE_CHECKING:
    import pandas as pd

PLAIN = ("mpi.file_write", "mpi.file_read")
BEHIND = ("mpi.file_iwrite", "mpi.file_iread")
# IMB's letters and words for the ways of access, in its order
WAYS = (
    ("single", "individual"),
    ("single", "explicit"),
    ("parallel", "individual"),
    ("parallel", "explicit"),
    ("parallel", "shared"),
    ("parallel", "private"),
    ("collective", "individual"),
    ("collective", "explicit"),
    ("collective", "shared"),
)
WHO = {"single": "one rank", "parallel": "parallel ranks", "collective": "a collective call"}
HOW = {
    "individual": "individual file pointers",
    "explicit": "explicit offsets",
    "shared": "a shared file pointer",
    "private": "private files",
}
WORDS = {f"{access}, {pointer}": f"{WHO[access]} with {HOW[pointer]}" for access, pointer in WAYS} | {
    "single, individual": "one rank with its own file pointer"
}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the MPI-IO notebook.

    Parameters
    ----------
    size : size of one request of every rank, for the comparison of the ways of access.
    sizes : over which the explicit way is swept.
    directory : where the files lie; empty for the place of temporary files. Name the file system to be measured.
    sync : also measure writes with MPI_File_sync after each.
    ranks : ranks that take part.
    """

    size: str = "64Ki"
    sizes: str = "4Ki:4Mi:*8"
    directory: str = ""
    sync: bool = True
    ranks: int = 2


class Study(studies.Study):
    """Reading and writing one file through MPI, in every way of access."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (*PLAIN, *BEHIND, "mpi.file_open_close")
    focus: ClassVar = (("mpi.file_write", "option_sync"), ("mpi.file_write", "option_access"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Every way of access at one size; the explicit one over sizes; non-blocking; open and close."""
        v = self.values
        where = {"ranks": v.ranks, "launcher": v.launcher, "testbed": v.testbed, "directory": v.directory}
        specs = []
        for name in PLAIN:
            for access, pointer in WAYS:
                specs += sweep(name, sizes=v.size, access=access, pointer=pointer, **where)
            specs += sweep(name, sizes=v.sizes, **where)
        if v.sync:
            specs += sweep("mpi.file_write", sizes=v.sizes, sync=True, **where)
        specs += [s for name in BEHIND for s in sweep(name, sizes=v.sizes, **where)]
        return specs + sweep("mpi.file_open_close", sizes=[0], **where)

    def _ways(self) -> pd.DataFrame:
        """Rows of the comparison, with the way of access in words."""
        rows = self.summary[self.summary["benchmark"].isin(PLAIN)]
        if rows.empty or "option_access" not in rows:
            return rows.iloc[:0]
        rows = rows.assign(way=rows["option_access"] + ", " + rows["option_pointer"])
        size = rows[rows["option_pointer"] == "shared"]["message_size_B"]
        quick = rows["option_sync"].isna() | ~rows["option_sync"].fillna(False).astype(bool)
        rows = rows[(rows["message_size_B"] == (size.iloc[0] if len(size) else -1)) & quick]
        order = [", ".join(way) for way in WAYS]
        return rows.sort_values("way", key=lambda column: column.map(order.index), kind="stable")

    def _explicit(self) -> pd.DataFrame:
        """Rows of the sweep over sizes."""
        rows = self.summary[self.summary["benchmark"].isin(PLAIN)]
        if "option_access" not in rows:
            return rows.iloc[:0]
        rows = rows[(rows["option_access"] == "parallel") & (rows["option_pointer"] == "explicit")]
        synced = rows["option_sync"].fillna(False).astype(bool)
        return rows.assign(
            how=rows["benchmark"].str.removeprefix("mpi.file_") + synced.map({True: ", sync", False: ""})
        )

    def ways_figure(self) -> Figure | Omitted:
        """Time of one request in every way of access."""
        rows = self._ways()
        return self.drawn(
            lambda table, metric: figures.bars(table, "way", metric, series=["benchmark"], log=True), rows, "latency_us"
        )

    def sizes_figure(self) -> Figure | Omitted:
        """Bandwidth of all ranks against the size of a request."""
        return self.drawn(figures.versus_size, self._explicit(), "bandwidth_MBps", series=["how"], tail=None)

    def behind_figure(self) -> Figure | Omitted:
        """Pure time, computation and both together of the non-blocking write."""
        names = {"pure_us": "pure", "compute_us": "computation inside", "latency_us": "both together"}
        return self.drawn(figures.several_metrics, self.of("mpi.file_iwrite"), names, label="time")

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences = []
        for name, rows in self._ways().groupby("benchmark", sort=False):
            if not (extremes := ends(rows, "latency_us")):
                continue
            best, worst = extremes
            of, first, last = size_words(best["message_size_B"]), WORDS[best["way"]], WORDS[worst["way"]]
            times = statement(best, "latency_us"), f"{amount(worst, 'latency_us')}"
            among = unresolved(rows.assign(way=rows["way"].map(WORDS)), "latency_us", "way")
            sentences.append(
                effects.between(worst, best, "latency_us", tests=effects.pairs(len(rows))).said(
                    f"{name} with {of} per rank: {among}{first} is fastest ({times[0]}), {last} is "
                    f"slowest ({times[1]})",
                    f"{name} with {of} per rank: {among}{first} took {times[0]}, {last} {times[1]}",
                )
            )
        for how, every in self._explicit().groupby("how", sort=False) if len(self._explicit()) else ():
            rows = sound(every, "bandwidth_MBps")
            if rows["bandwidth_MBps_p50"].isna().all():
                continue
            best = rows.loc[rows["bandwidth_MBps_p50"].idxmax()]
            sentences.append(
                f"The highest bandwidth{resolved(every, 'bandwidth_MBps')} of a {how.replace(',', ' with')} is "
                f"{statement(best, 'bandwidth_MBps')}, in requests of {size_words(best['message_size_B'])}."
            )
        for _, row in self.of("mpi.file_open_close").iterrows():
            sentences.append(f"Opening and closing the file takes {statement(row, 'latency_us')}.")
        return listed(sentences)
