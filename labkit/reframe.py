"""ReFrame tests that run labkit's benchmarks and hand over their statistics as performance variables.

A site derives its tests from these classes, in a file of checks::

    import reframe as rfm
    from labkit.reframe import Latency

    @rfm.simple_test
    class NodeLatency(Latency):
        path = parameter(["shm", "tcp"])

        @run_after("init")
        def choose(self):
            self.transport = self.path

ReFrame and labkit must be in one environment: ``pip install reframe-hpc labkit``.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_before, sanity_function, variable

from labkit.point.columns import METRICS, split

OUTPUT, CAMPAIGN = "labkit.json", "campaign"


class Benchmark(rfm.RunOnlyRegressionTest):  # type: ignore[misc]
    """A benchmark of labkit.

    Each statistic of each size is a performance variable: the median over launches, named by its column and its size,
    as in ``latency_us_p99_8B``. ReFrame keeps the samples in the folder ``campaign`` of the
    test's output directory. Tests that run side by side disturb one another, so the nodes are requested exclusively.

    Attributes
    ----------
    benchmark : name, as `labkit list` prints it.
    sizes : message sizes, as ``labkit measure -m`` takes them; the benchmark's own if empty.
    transport : path of the messages; the library's choice if empty.
    launches : fresh starts of the ranks.
    settings : further arguments of `labkit measure`.
    wanted : statistics, as in the data dictionary.
    """

    benchmark = variable(str)
    sizes = variable(str, value="")
    transport = variable(str, value="")
    launches = variable(int, value=6)
    settings = variable(typ.List[str], value=[])
    wanted = variable(typ.List[str], value=["p50", "p99"])

    valid_systems = ["*"]  # noqa: RUF012  (a variable of ReFrame)
    valid_prog_environs = ["*"]  # noqa: RUF012
    executable = "labkit"
    exclusive_access = True
    keep_files = [OUTPUT, CAMPAIGN]  # noqa: RUF012

    @run_before("run")
    def _command(self) -> None:
        """Make the command; labkit starts the ranks itself, in the allocation of ReFrame's job."""
        self.executable_opts = [
            *("measure", self.benchmark, "--launches", str(self.launches)),
            *(("-m", self.sizes) if self.sizes else ()),
            *(("--transport", self.transport) if self.transport else ()),
            *("--into", CAMPAIGN, "--format", "json", "--output", OUTPUT),
            *self.settings,
        ]
        self.job.launcher = getlauncher("local")()

    @sanity_function
    def _measured(self) -> Any:
        """Whether all launches are there; labkit itself verifies the bytes before it times them."""
        rows = self._rows()
        sn.evaluate(sn.assert_true(rows, f"{OUTPUT} has no results; see the standard error of the job"))
        least = min(sum(row["fingerprint"] == one["fingerprint"] for row in rows) for one in rows)
        return sn.assert_ge(least, self.launches, f"launches of a point: {least}, wanted: {self.launches}")

    @run_before("performance")
    def _variables(self) -> None:
        """Make a performance variable of each statistic."""
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit)
            for name, value, unit in performance(self._rows(), self.wanted)
        }

    def _rows(self) -> list[dict[str, Any]]:
        try:
            rows: list[dict[str, Any]] = json.loads((Path(self.stagedir) / OUTPUT).read_text())["records"]
        except FileNotFoundError:
            return []
        return rows


def performance(rows: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> Iterator[tuple[str, float, str]]:
    """Yield name, value and unit of each performance variable: the median over launches.

    Parameters
    ----------
    rows : records, a row for each launch.
    wanted : statistics.

    Raises
    ------
    ValueError
        If points of one size differ in a setting, so that the names are not enough.
    """
    sizes: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        sizes.setdefault(int(row["message_size_B"]), []).append(row)
    for size, launches in sizes.items():
        if len({row["fingerprint"] for row in launches}) > 1:
            raise ValueError(
                f"The test measures several settings of {size} B, but a performance variable has one value. Make the "
                "setting a parameter of the test."
            )
        for column in launches[0]:
            metric, statistic = split(column) or ("", "")
            values = [row[column] for row in launches]
            if statistic in wanted and None not in values:
                name = f"{column}_{size}B" if size else column
                yield name, statistics.median(values), METRICS[metric].unit


class Latency(Benchmark):
    """One-way latency between two ranks, as osu_latency counts it."""

    benchmark = "mpi.latency"
    sizes = "8,64Ki"


class Bandwidth(Benchmark):
    """Bandwidth between two ranks, as osu_bw counts it."""

    benchmark = "mpi.bandwidth"
    sizes = "64Ki,1Mi"


class Allreduce(Benchmark):
    """Time of MPI_Allreduce on all ranks of the job."""

    benchmark = "mpi.allreduce"
    sizes = "8,64Ki"


class Sockets(Benchmark):
    """Round trips of requests and responses over TCP, with netperf or sockperf."""

    benchmark = "sockets.tcp_rr"
    sizes = "1"
