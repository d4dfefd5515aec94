"""What does a block device cost that another process or another host serves?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from labkit import figures, studies, testbeds
from labkit.errors import unknown_name
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.point.spec import Spec, sweep
from labkit.studies import amount, counts, size_words, statement, words
from labkit.studies._derived import of_samples

LOCAL, READ, WRITE = "storage.read", "storage.network_read", "storage.network_write"
NVME_READ, NVME_WRITE = "storage.nvme_read", "storage.nvme_write"
WORDS = {LOCAL: "Read", READ: "Read", WRITE: "Write"}
FABRICS = {"local": "memory disk, local", "tcp": "NVMe over TCP", "rdma": "NVMe over RDMA"}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook about storage over the network.

    Parameters
    ----------
    sizes : size of a request.
    depths : requests in flight, a list; each with the smallest size.
    loads : requests offered in a second, a list; empty leaves them out.
    device : size of the device and of the local file.
    testbed : two hosts with a link between them; empty leaves them out.
    rate : rate of that link, if the testbed takes one and does not state it.
    nvme : fabrics of NVMe between two devices of soft-RoCE, a list of local, tcp and rdma; empty leaves them out.
    """

    sizes: str = "4Ki,64Ki,1Mi"
    depths: str = "1,4,16"
    loads: str = "500,1000,2000,4000"
    device: str = "16Mi"
    testbed: str = "virtual-cluster:2"
    rate: str = "1gbit"
    nvme: str = ""


class Study(studies.Study):
    """The same requests to a local file, to a server on this machine, and to one across a link."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (LOCAL, READ, WRITE, NVME_READ, NVME_WRITE)
    focus: ClassVar = ((READ, "testbed"),)
    values: Parameters

    def specs(self) -> list[Spec]:
        """A local file in memory; the device over the loopback, and over the link."""
        v = self.values
        common: dict[str, Any] = {"ranks": 1, "pattern": "random", "file_size": v.device}
        specs = sweep(LOCAL, sizes=v.sizes, cache="warm", **common)
        small = min(spec.size for spec in specs)
        for testbed in ("local", self.linked()) if v.testbed else ("local",):
            there = common | {"testbed": testbed}
            specs += sweep(READ, sizes=v.sizes, **there) + sweep(WRITE, sizes=v.sizes, **there)
            specs += sweep(READ, sizes=[small], depth=counts(v.depths, "depths"), **there)
            if v.loads:
                specs += sweep(READ, sizes=[small], offered=counts(v.loads, "loads"), **there)
        for name in words(v.nvme):
            if name not in FABRICS:
                raise unknown_name("fabric", name, list(FABRICS))
            served: dict[str, Any] = {"ranks": 1, "file_size": v.device, "fabric": name, "testbed": "soft-roce"}
            specs += sweep(NVME_READ, sizes=v.sizes, **served) + sweep(NVME_WRITE, sizes=v.sizes, **served)
        return list(dict.fromkeys(specs))

    def linked(self) -> str:
        """The testbed with its rate."""
        name, argument, given = testbeds.parse(self.values.testbed)
        rate = {"rate": self.values.rate} if self.values.rate and name == "virtual-cluster" else {}
        return testbeds.text_of(name, argument, rate | given)

    @of_samples
    def paths(self) -> pd.DataFrame:
        """Rows of the summary, with the path of the data in words."""
        rows = self.summary
        rows = rows[~rows["benchmark"].isin([NVME_READ, NVME_WRITE])] if len(rows) else rows
        if rows.empty:
            return rows
        where = rows["testbed"].map(lambda name: "TCP, loopback" if name == "local" else "TCP, link between hosts")
        return rows.assign(path=where.mask(rows["benchmark"] == LOCAL, "local file, page cache"))

    def _plain(self) -> pd.DataFrame:
        """Rows of one request at a time, as fast as they go."""
        rows = self.paths
        return rows[(rows["option_depth"] == 1) & (rows["option_offered"] == 0)] if len(rows) else rows

    def read_figure(self) -> Figure | Omitted:
        """Time of one read against its size, a line for each path."""
        rows = self._plain()
        rows = rows[rows["benchmark"] != WRITE] if len(rows) else rows
        return self.drawn(figures.versus_size, rows, "latency_us", series=["path"], tail="p99")

    def write_figure(self) -> Figure | Omitted:
        """Time of one write against its size, a line for each path."""
        rows = self._plain()
        rows = rows[rows["benchmark"] == WRITE] if len(rows) else rows
        return self.drawn(figures.versus_size, rows, "latency_us", series=["path"], tail="p99")

    def nvme_figure(self) -> Figure | Omitted:
        """Time of one read and of one write against its size, a line for each fabric, in the guest of soft-RoCE."""
        rows = self.summary
        rows = rows[rows["benchmark"].isin([NVME_READ, NVME_WRITE])] if len(rows) else rows
        if rows.empty:
            return NOTHING
        kinds = rows["benchmark"].map({NVME_READ: "read", NVME_WRITE: "write"})
        rows = rows.assign(path=rows["option_fabric"].map(FABRICS) + ", " + kinds)
        return self.drawn(figures.versus_size, rows, "latency_us", series=["path"])

    def depth_figure(self) -> Figure | Omitted:
        """Reads per second against the number in flight."""
        rows = self._smallest()
        rows = self.counted(rows[rows["option_offered"] == 0], "iops_per_s") if len(rows) else rows
        how: dict[str, Any] = {"series": ["path"], "label": "reads under way at once"}
        return self.drawn(figures.versus, rows, "option_depth", shown={"reads": "iops_per_s_mean"}, **how)

    def load_figure(self) -> Figure | Omitted:
        """Median and 99th percentile of the latency against the offered load."""
        rows = self._smallest()
        rows = rows[rows["option_offered"] > 0] if len(rows) else rows
        shown = studies.present(rows, {"median": "latency_us_p50", "99th percentile": "latency_us_p99"})
        return self.drawn(
            figures.versus, rows, "option_offered", shown=shown, series=["path"], label="offered reads per second"
        )

    def _smallest(self) -> pd.DataFrame:
        """Rows of the reads of the smallest size from the device."""
        rows = self.paths
        rows = rows[rows["benchmark"] == READ] if len(rows) else rows
        return rows[rows["message_size_B"] == rows["message_size_B"].min()] if len(rows) else rows

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        rows = self._plain()
        if not len(rows):
            return NOTHING
        rows = rows[rows["message_size_B"] == rows["message_size_B"].min()]
        local = rows[rows["benchmark"] == LOCAL]
        rows = rows.assign(order=rows["benchmark"].map([LOCAL, READ, WRITE].index))
        sentences = []
        for row in rows.sort_values(["order", "path"], kind="stable").to_dict("records"):
            text = (
                f"{WORDS[row['benchmark']]} of {size_words(row['message_size_B'])}, {row['path']}: "
                f"{statement(row, 'latency_us')}"
            )
            if row["benchmark"] == READ and len(local):
                base = local.iloc[0].to_dict()
                effect = effects.between(row, base, "latency_us")
                beside = f"{text}; the local file {amount(base, 'latency_us')}"
                sentences.append(effect.said(f"{text}, {effect.times} the local file", beside))
            else:
                sentences.append(f"{text}.")
        return listed(sentences)
