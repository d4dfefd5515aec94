"""How does throughput depend on file size, record size and order of access, on each file system?"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from labkit import figures, studies
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.io.mounts import mount_of
from labkit.judge.effects import Effect, Measured
from labkit.options.storage import Iozone
from labkit.point import storage
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_share
from labkit.read import records
from labkit.store.samples import Samples
from labkit.store.samples.facts import FILESYSTEM, FINGERPRINT
from labkit.studies import counts, number, size_words, words
from labkit.studies._derived import of_samples

TABLE, THROUGHPUT = "storage.iozone", "storage.iozone_throughput"
TEMPORARY = "temporary"  # the system's folder for temporary files
WRITES = ("write", "rewrite", "random write")


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the IOzone notebook.

    Parameters
    ----------
    directories : on the file systems to compare, a list; `temporary` is the system's place for temporary files.
    tests : tests of the tables, as in `labkit describe storage.iozone`.
    files : smallest and largest file, as MIN:MAX.
    record_sizes : smallest and largest record, as MIN:MAX.
    direct : also measure with O_DIRECT, where the files are on a device.
    processes : processes that read and write at once, a list; empty leaves them out.
    process_tests : what they do, a list of iozone's names.
    process_file : size of each process's own file.
    """

    directories: str = "temporary,/dev/shm"
    tests: str = "write,read,random,backward,stride"
    files: str = "64Ki:1Mi"
    record_sizes: str = "4Ki:64Ki"
    direct: bool = True
    processes: str = "1,2,4"
    process_tests: str = "initial writers,readers,random readers,random writers"
    process_file: str = "1Mi"


def folder(name: str) -> str:
    """The option `directory` of a name in the parameters."""
    return "" if name == TEMPORARY else name


def in_memory(directory: str) -> bool:
    """Whether the files of a directory are in memory."""
    return mount_of(directory or tempfile.gettempdir()).kind in storage.MEMORY


class Study(studies.Study):
    """Heat maps of every operation on every file system, and several processes at once."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (TABLE, THROUGHPUT)
    focus: ClassVar = ((THROUGHPUT, "option_directory"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Tables without and with O_SYNC and O_DIRECT, and the tests of several processes."""
        v = self.values
        (low, _, high), (short, _, long) = v.files.partition(":"), v.record_sizes.partition(":")
        sizes = {"min_file_size": low, "max_file_size": high or low}
        sizes |= {"min_record_size": short, "max_record_size": long or short}
        specs = []
        for directory in map(folder, words(v.directories)):
            flags: list[dict[str, Any]] = [{}]
            if not in_memory(directory):
                flags += [{"sync": True}, *([{"direct": True}] if v.direct else [])]
            for flag in flags:
                specs += sweep(TABLE, sizes=0, ranks=1, tests=v.tests, directory=directory, **sizes, **flag)
            if v.processes:
                specs += sweep(
                    THROUGHPUT,
                    sizes=65536,
                    ranks=1,
                    test=words(v.process_tests),
                    processes=counts(v.processes, "processes"),
                    file_size=v.process_file,
                    directory=directory,
                )
        return specs

    def _panels(self, test: str) -> dict[str, pd.DataFrame]:
        """Cells of a test by file system and way of opening. Reads leave out O_SYNC, which only changes writes."""
        chosen: dict[str, list[Samples]] = {}
        for one in self.samples:
            if one.spec.benchmark != TABLE:
                continue
            options = one.spec.of(Iozone).options
            if options.sync and test not in WRITES:
                continue
            flag = ", O_SYNC" if options.sync else ", O_DIRECT" if options.direct else ""
            chosen.setdefault(f"{FILESYSTEM.of(one.meta)}{flag}", []).append(one)
        panels = {}
        for title, points in chosen.items():
            cells = records.reported(points)
            cells = cells[cells["test"] == test] if "test" in cells else cells.iloc[:0]
            if len(cells) and cells["fingerprint"].nunique() == 1:
                panels[title] = cells
        return dict(sorted(panels.items(), key=lambda item: ("tmpfs" in item[0], len(item[0]))))

    def maps(self, test: str) -> Figure | Omitted:
        """Throughput of a test over file size and record size, a panel for each file system and way of opening.

        Parameters
        ----------
        test : as in `labkit.formats.iozone.TESTS`.
        """
        panels = self._panels(test)
        if not panels:
            return NOTHING
        return Figure(figures.heat_maps(panels, "file_size_B", "record_size_B", "bandwidth_MBps"))

    @of_samples
    def processes(self) -> pd.DataFrame:
        """Rows of the tests of several processes, with the file system of each."""
        rows = self.of(THROUGHPUT)
        kinds = {
            FINGERPRINT.of(one.meta): FILESYSTEM.of(one.meta)
            for one in self.samples
            if one.spec.benchmark == THROUGHPUT
        }
        return rows.assign(filesystem=rows["fingerprint"].map(kinds)) if len(rows) else rows

    def processes_figure(self) -> Figure | Omitted:
        """Throughput of all processes together against their number."""
        rows, values = self.processes, {"series": ["option_test", "filesystem"], "label": "processes"}
        return self.drawn(figures.versus, rows, "option_processes", shown="bandwidth_MBps", **values)

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences = [
            f"{test.capitalize()}, lowest to highest rate: {ranges}."
            for test in ("read", "write", "random read", "stride read")
            if (ranges := ", and ".join(self._ranges(test)))
        ]
        return listed([*sentences, *self._of_records(), *self._of_flags()])

    def _ranges(self, test: str) -> Iterator[str]:
        """Lowest and highest rate of a test on each file system."""
        for title, cells in self._panels(test).items():
            rates = _rates(cells)
            if len(rates):
                yield f"{title} {number(rates.min())} to {number(rates.max())} MB/s"

    def _of_records(self) -> Iterator[str]:
        """The largest gain by larger records in the largest file."""
        ends: dict[tuple[str, str], tuple[int, int, Measured, Measured]] = {}
        for test in ("read", "write", "random read"):
            for title, cells in self._panels(test).items():
                largest = cells[(cells["file_size_B"] == cells["file_size_B"].max()) & ~cells["coarse"]]
                sizes = sorted(largest["record_size_B"].unique())
                if len(sizes) > 1:
                    least, most = int(sizes[0]), int(sizes[-1])
                    ends[test, title] = least, most, _measured(largest, least), _measured(largest, most)
        effects = {name: Effect(most, least, len(ends)) for name, (_, _, least, most) in ends.items()}
        gains = {name: (one, *ends[name][:2]) for name, one in effects.items() if one.claimed}
        if not gains:
            return
        test, title = max(gains, key=lambda name: gains[name][0].ratio)
        effect, least, most = gains[test, title]
        if effect.more:
            yield (
                f"Larger records gain most in the test *{test}* on {title}: records of {size_words(most)} are "
                f"{effect.times} as fast as those of {size_words(least)} in the largest file."
            )
        test, title = min(gains, key=lambda name: gains[name][0].ratio)
        effect, least, most = gains[test, title]
        if effect.less:
            yield (
                f"In the test *{test}* on {title}, records of {size_words(most)} have {effect.times} the rate of "
                f"those of {size_words(least)} in the largest file."
            )

    def _of_flags(self) -> Iterator[str]:
        """What O_SYNC and O_DIRECT cost, over the cells that both tables have."""
        for test, flag in (("write", "O_SYNC"), ("read", "O_DIRECT")):
            panels = self._panels(test)
            for title, cells in panels.items():
                plain = title.removesuffix(f", {flag}")
                if plain == title or plain not in panels:
                    continue
                part = float((_rates(cells) / _rates(panels[plain])).median())
                if math.isnan(part):  # the clock resolves no cell of both tables
                    continue
                flagged, without = _over_cells(cells, panels[plain])
                effect = Effect(flagged, without)
                rate = f"{format_share(part)} of its rate without{_WHY[flag]}"
                yield effect.said(
                    f"With {flag}, the test *{test}* on {plain} has {rate}",
                    f"In the test *{test}* on {plain}, the rate with {flag} was {format_share(part)} of that without",
                )


_WHY = {
    "O_SYNC": ": each write waits for the device",
    "O_DIRECT": ": the device answers, not the page cache",
}


def _rates(cells: pd.DataFrame) -> pd.Series:
    """Median rate of each file and record size over launches, MB/s; without those that the clock does not resolve."""
    cells = cells[~cells["coarse"]]
    return cells.groupby(["file_size_B", "record_size_B"])["value"].median()


def _measured(cells: pd.DataFrame, size: int) -> Measured:
    """Rate of a record size in one file, with the rate of each launch."""
    values = cells[cells["record_size_B"] == size].groupby("launch")["value"].median()
    return Measured(float(values.median()), values.tolist(), metric="bandwidth_MBps")


def _over_cells(*tables: pd.DataFrame) -> list[Measured]:
    """Rate of each table (the median over the cells that all of them have), with the rate of each launch."""
    sound = [table[~table["coarse"]] for table in tables]
    cells = [table.pivot_table("value", "launch", ["file_size_B", "record_size_B"]) for table in sound]
    common = cells[0].columns.intersection(cells[1].columns)
    each = [table[common].median(axis=1) for table in cells]
    return [Measured(float(one.median()), one.tolist(), metric="bandwidth_MBps") for one in each]
