"""How fast are reads and writes, and does the disk or the page cache answer them?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from labkit import figures, studies
from labkit.figures.parts import NOTHING, Figure, Omitted, Table, Text, listed
from labkit.io.mounts import mount_of
from labkit.judge import effects
from labkit.options.storage import Iozone
from labkit.point import notes, storage
from labkit.point.spec import Spec, sweep
from labkit.point.units import plural
from labkit.read import records
from labkit.store.samples.facts import CACHEABLE, DEVICE, FILESYSTEM, FINGERPRINT, MOUNT_OPTIONS
from labkit.studies import counts, number, size_words, statement, tail, words

if TYPE_CHECKING:
    import pandas as pd

# what Iometer reports of a run: name and statistic of fio's value → head of the column
_IOMETER = {
    ("iops_per_s", "mean"): "IO/s",
    ("bandwidth_MBps", "mean"): "MB/s",
    ("latency_us", "mean"): "response, mean (µs)",
    ("latency_us", "max"): "response, max (µs)",
    ("usr_cpu", "mean"): "CPU, user (%)",
    ("sys_cpu", "mean"): "CPU, system (%)",
}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the storage notebook.

    Parameters
    ----------
    sizes : size of one read or write.
    patterns : sequential, random.
    syncs : how far a write must get before it counts: none, or osync.
    directory : folder on the file system to be measured; empty for a temporary folder.
    iozone : measure iozone's table of file size × record size.
    queue_size : size of the requests of which several are in flight, of the mix, and of the offered loads.
    depths : requests in flight, a list; empty leaves them out. Writes that bypass the page cache have the
        most of them.
    engines : engines that ask for them, a list of psync, libaio and io_uring.
    mixes : shares of the reads in a mix with writes, %, a list; empty leaves them out.
    loads : reads offered in a second, a list; empty leaves them out.
    """

    sizes: str = "4Ki,64Ki,1Mi"
    patterns: str = "sequential,random"
    syncs: str = "none,osync"
    directory: str = ""
    iozone: bool = True
    queue_size: str = "4Ki"
    depths: str = "1,4,16"
    engines: str = "psync,libaio,io_uring"
    mixes: str = "70"
    loads: str = "500,1000,2000,4000"


class Study(studies.Study):
    """Reads and writes by size, pattern and sync; queues, mixes and offered loads; iozone's heat maps."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = ("storage.read", "storage.write", "storage.mixed", "storage.iozone")
    focus: ClassVar = (("storage.write", "option_sync"), ("storage.read", "option_pattern"))
    values: Parameters

    def specs(self) -> list[Spec]:
        """Reads; writes with and without sync; queues, mixes, loads; the table of file size × record size."""
        v = self.values
        common = {"ranks": 1, "directory": v.directory}
        specs = sweep("storage.read", sizes=v.sizes, pattern=words(v.patterns), **common)
        specs += sweep("storage.write", sizes=v.sizes, pattern=words(v.patterns), sync=words(v.syncs), **common)
        if v.iozone:
            specs += sweep("storage.iozone", sizes=0, sync=[False, True], **common)
        return [*specs, *self._queued()]

    def _queued(self) -> list[Spec]:
        """Past the page cache: random reads in queues and under offered loads, writes in the longest queue; mixes."""
        v = self.values
        common: dict[str, Any] = {"sizes": v.queue_size, "ranks": 1, "directory": v.directory, "pattern": "random"}
        specs = sweep("storage.mixed", read_percent=counts(v.mixes, "mixes"), **common) if v.mixes else []
        if mount_of(v.directory or tempfile.gettempdir()).kind in storage.MEMORY:
            return specs  # nothing to bypass
        for engine in words(v.engines):
            depths = [depth for depth in counts(v.depths, "depths") if depth == 1 or engine != "psync"]
            if depths:
                specs += sweep("storage.read", cache="direct", engine=engine, depth=depths, **common)
                specs += sweep("storage.write", sync="direct", engine=engine, depth=max(depths), **common)
        if v.loads:
            specs += sweep("storage.read", cache="direct", offered=counts(v.loads, "loads"), **common)
        return specs

    def _cached(self) -> pd.DataFrame:
        """Rows of the reads that do not bypass the page cache."""
        rows = self.of("storage.read")
        return rows[rows["option_cache"] != "direct"] if len(rows) else rows

    def _direct(self) -> pd.DataFrame:
        """Rows of the reads past the page cache that labkit measured; logs state neither engine nor load."""
        rows = self.of("storage.read")
        rows = rows[rows["option_cache"] == "direct"] if len(rows) else rows
        return rows.dropna(subset=["option_engine"]) if "option_engine" in rows else rows.iloc[:0]

    def _buffered(self) -> pd.DataFrame:
        """Rows of the writes that do not bypass the page cache."""
        rows = self.of("storage.write")
        return rows[rows["option_sync"] != "direct"] if len(rows) else rows

    def read_figure(self) -> Figure | Omitted:
        """Time of one read against its size."""
        return self.drawn(figures.versus_size, self._cached(), "latency_us", series=["option_pattern"], tail="p99")

    def write_figure(self) -> Figure | Omitted:
        """Time of one write against its size, with and without sync."""
        rows = self._buffered()
        if len(rows):
            rows = rows.assign(sync=rows["option_sync"].replace({"none": "page cache", "osync": "O_SYNC"}))
        return self.drawn(figures.versus_size, rows, "latency_us", series=["option_pattern", "sync"], tail="p99")

    def queue_figure(self) -> Figure | Omitted:
        """Reads per second against the number in flight, a line for each engine."""
        rows = self._direct()
        rows = self.counted(rows[rows["option_offered"] == 0], "iops_per_s") if len(rows) else rows
        how: dict[str, Any] = {"series": ["option_engine"], "label": "reads under way at once"}
        return self.drawn(figures.versus, rows, "option_depth", shown={"reads": "iops_per_s_mean"}, **how)

    def load_figure(self) -> Figure | Omitted:
        """Median and 99th percentile of the latency against the offered load."""
        rows = self._direct()
        rows = rows[rows["option_offered"] > 0] if len(rows) else rows
        shown = studies.present(rows, {"median": "latency_us_p50", "99th percentile": "latency_us_p99"})
        return self.drawn(figures.versus, rows, "option_offered", shown=shown, label="offered reads per second")

    def iometer(self) -> Table | Omitted:
        """Iometer's figures of every point that fio measured."""
        chosen = [one for one in self.samples if one.spec.benchmark != "storage.iozone"]
        values = records.reported(chosen)
        if values.empty:
            return NOTHING
        points = {FINGERPRINT.of(one.meta): one.spec for one in chosen}
        ways = values["direction"].fillna("") if "direction" in values else ""
        values = values.assign(direction=ways)
        medians = values.groupby(["fingerprint", "direction", "name", "statistic"], sort=False)["value"].median()
        rows = []
        for fingerprint, way in dict.fromkeys(zip(values["fingerprint"], values["direction"], strict=True)):
            of = medians[fingerprint, way]
            cells = [number(of[name]) if name in of.index else "–" for name in _IOMETER]
            each = [one.n for one in chosen if FINGERPRINT.of(one.meta) == fingerprint and one.n]
            rows.append([_words(points[fingerprint], way), f"{np.median(each):,.0f}" if each else "–", *cells])
        head = ["access", "requests in a launch", *_IOMETER.values()]
        return Table.of(head, sorted(rows), align="lr" + "r" * len(_IOMETER))

    def where(self) -> Table:
        """What the numbers depend on: file system, device and page cache of the points."""
        rows: dict[tuple[str, ...], int] = {}
        for one in self.samples:
            texts = [fact.of(one.meta) for fact in (FILESYSTEM, DEVICE, MOUNT_OPTIONS, CACHEABLE)]
            key = tuple(text.replace(",", ", ") or "–" for text in texts)
            rows[key] = rows.get(key, 0) + 1
        head = ["file system", "device", "mount options", "memory could answer for", "launches"]
        return Table.of(head, [[*key, str(count)] for key, count in sorted(rows.items())], align="llllr")

    def heat_map(self, test: str, *, sync: bool) -> Figure | Omitted:
        """Throughput over file size and record size.

        Parameters
        ----------
        test : ``read``, ``reread``, ``write`` or ``rewrite``.
        sync : with O_SYNC.
        """
        chosen = [
            s for s in self.samples if s.spec.benchmark == "storage.iozone" and s.spec.of(Iozone).options.sync == sync
        ]
        cells = records.reported(chosen)
        if cells.empty:
            return NOTHING
        title = f"{test}, O_SYNC" if sync else test
        return Figure(
            figures.heat_maps({title: cells[cells["test"] == test]}, "file_size_B", "record_size_B", "bandwidth_MBps")
        )

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences = [*self._orders(), *self._syncs()]
        cached = self.records[[notes.has(badges, "page-cache") for badges in self.records["badges"]]]
        if len(cached):
            sentences.append(
                f"In {len(cached)} of {plural(len(self.records), 'record')} the page cache may have answered; "
                "they may measure memory, not the disk."
            )
        return listed(sentences)

    def _orders(self) -> Iterator[str]:
        """Reads of the smallest size, in order and at random."""
        rows = self._smallest(self._cached())
        found = {row["option_pattern"]: row for row in rows.to_dict("records")}
        for name, row in found.items():
            yield (
                f"Reading {size_words(row['message_size_B'])}, {_ORDERS[name]}: {statement(row, 'latency_us')}"
                f"{tail(row, 'latency_us')}."
            )
        if {"random", "sequential"} <= set(found):
            effect = effects.between(found["random"], found["sequential"], "latency_us")
            if effect.more:
                yield f"A read at random takes {effect.times} as long as one in order."

    def _syncs(self) -> Iterator[str]:
        """Writes of the smallest size, and what waiting for the device costs."""
        rows = self._smallest(self._buffered())
        found = {(row["option_pattern"], row["option_sync"]): row for row in rows.to_dict("records")}
        for (order, sync), row in found.items():
            how = "" if sync == "none" else ", O_SYNC" if sync == "osync" else f", {sync}"
            yield (
                f"Writing {size_words(row['message_size_B'])}, {_ORDERS[order]}{how}: {statement(row, 'latency_us')}"
                f"{tail(row, 'latency_us')}."
            )
        pairs = [
            effects.between(row, found[order, "none"], "latency_us")
            for (order, sync), row in found.items()
            if sync == "osync" and (order, "none") in found
        ]
        slower = sorted((one for one in pairs if one.more), key=lambda one: one.ratio)
        if slower:
            low, high = slower[0], slower[-1]
            many = low.times if low.times == high.times else f"{number(low.ratio)} to {high.times}"
            yield f"A write with O_SYNC waits for the device, others only for the page cache: it takes {many} as long."

    @staticmethod
    def _smallest(rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of the smallest size."""
        return rows[rows["message_size_B"] == rows["message_size_B"].min()] if len(rows) else rows


_ORDERS = {"sequential": "in order", "random": "at random"}


def _words(spec: Spec, way: str) -> str:
    """A point in a few words: what it does, size, order, and what differs from one request at a time."""
    options = spec.values
    depth, offered = options.get("depth", 1), options.get("offered", 0)
    parts = [
        f"{way}s of a mix, {options.get('read_percent')} % reads" if way else spec.benchmark.partition(".")[2],
        size_words(spec.size),
        str(options.get("pattern", "")),
        *(str(options[name]) for name in ("cache", "sync") if options.get(name, "none") not in ("none", "drop")),
        *([str(options["engine"])] if options.get("engine", "auto") != "auto" else []),
        *([f"{depth} at once"] if depth > 1 else []),
        *([f"{offered} offered in a second"] if offered else []),
    ]
    return ", ".join(parts)
