"""What do copies, launches and messages from and to the memory of a GPU cost?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from labkit import benchmarks, figures, host, studies
from labkit.benchmarks import LogBenchmark
from labkit.benchmarks.gpu.mpi import COLLECTIVES
from labkit.errors import SpecError
from labkit.figures import small_print
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import effects
from labkit.kernels import cuda
from labkit.point.notes import note
from labkit.point.spec import Spec, sweep
from labkit.point.units import parse_sizes
from labkit.read import records
from labkit.store.samples.facts import GPU, GPU_DRIVER, GPU_MPI
from labkit.studies import amount, number, size_words, statement, words
from labkit.studies._derived import derived

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

NCCL = tuple(name for name, one in benchmarks.every().items() if isinstance(one, LogBenchmark) and "gpu.nccl_" in name)
PAIRS = ("gpu.mpi_latency", "gpu.mpi_bandwidth")
IDLE = ("gpu.launch", "gpu.synchronise")
_LEAST = 64  # B of a copy that micro.memory_copy times
# variables of UCX that leave out one way between GPUs, and what each compares with
SWITCHES = {
    "all": {},
    "no_cuda_ipc": {"UCX_TLS": "^cuda_ipc"},
    "no_gdrcopy": {"UCX_TLS": "^gdr_copy"},
    "no_gpudirect_rdma": {"UCX_IB_GPU_DIRECT_RDMA": "no"},
}


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on GPUs.

    Parameters
    ----------
    sizes : sizes of copies, MIN:MAX or a list.
    message_sizes : sizes of messages between ranks.
    memories : pairs of memories of rank 0 and rank 1, a list to compare: device-device, device-host, host-host, …
    collectives : collectives to measure with device memory, a list; empty leaves them out.
    collective_sizes : message sizes of the collectives; multiples of 4 B.
    ranks : ranks of a collective.
    switches : ways between GPUs to leave out in UCX, a list to compare: all, no_cuda_ipc, no_gdrcopy,
        no_gpudirect_rdma.
    peer : copy between two GPUs as well.
    accelerator : a GPU by its driver (cuda), its stand-in in host memory, or auto: cuda where there is a GPU.
    transports : paths between the ranks.
    hosts : hosts of the ranks; empty for this machine.
    launcher : how ranks start.
    """

    sizes: str = "4:64Mi:*16"
    message_sizes: str = "8:4Mi:*8"
    memories: str = "device-device,device-host,host-host"
    collectives: str = "bcast,gather,reduce,allreduce"
    collective_sizes: str = "4:1Mi:*16"
    ranks: int = 2
    switches: str = "all"
    peer: bool = False
    accelerator: Literal["auto", "cuda", "stand-in"] = "auto"
    transports: str = "auto"
    hosts: str = ""
    launcher: str = "auto"


class Study(studies.Study):
    """Copies, launches, copies between processes, and MPI with device memory."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (
        *("gpu.copy", "gpu.copy_events", "gpu.peer_copy", "gpu.ipc_copy", *IDLE, *PAIRS),
        "micro.memory_copy",
        *(f"gpu.mpi_{name}" for name in COLLECTIVES),
    )
    focus: ClassVar = (("gpu.copy", "option_host_memory"), ("gpu.mpi_latency", "option_memory"))
    values: Parameters

    @property
    def accelerator(self) -> str:
        """What is measured: a GPU, or its stand-in where there is none."""
        if self.values.accelerator != "auto":
            return self.values.accelerator
        if not self.values.measure:
            there = {one.spec.values.get("accelerator") for one in self.campaign.samples("gpu.copy")}
            return "cuda" if "cuda" in there else cuda.STAND_IN
        return "cuda" if host.gpus() else cuda.STAND_IN

    def specs(self) -> list[Spec]:
        """Copies, launches and waits of one process; copies and messages between two; collectives."""
        v, on = self.values, {"accelerator": self.accelerator}
        ways, pinned = ["host_to_device", "device_to_host"], {"host_memory": ["pinned", "pageable"]}
        specs = sweep("gpu.copy", sizes=v.sizes, ranks=1, direction=ways, **pinned, **on)
        specs += sweep("gpu.copy", sizes=v.sizes, ranks=1, direction="device_to_device", **on)
        specs += sweep("gpu.copy_events", sizes=v.sizes, ranks=1, direction=[*ways, "device_to_device"], **on)
        specs += sweep("micro.memory_copy", sizes=[size for size in parse_sizes(v.sizes) if size >= _LEAST], ranks=1)
        specs += sweep("gpu.launch", sizes=[0], ranks=1, **on)
        specs += sweep("gpu.synchronise", sizes=[0], ranks=1, waits_for=["stream", "context", "event"], **on)
        if v.peer:
            specs += sweep("gpu.peer_copy", sizes=v.sizes, ranks=1, peer_access=[True, False], **on)
        where = {"launcher": v.launcher, "transport": words(v.transports), "hosts": tuple(words(v.hosts)), **on}
        specs += sweep("gpu.ipc_copy", sizes=v.sizes, direction=["put", "get"], launcher=v.launcher, **on)
        for switch in words(v.switches):
            if switch not in SWITCHES:
                raise SpecError(f"switches={switch!r}, but it must be one of {', '.join(SWITCHES)}. Set switches=all.")
            ways_out = {**where, "environment": SWITCHES[switch]}
            for pair in words(v.memories):
                first, _, second = pair.partition("-")
                sides = {"memory": first, "peer_memory": second}
                specs += [s for name in PAIRS for s in sweep(name, sizes=v.message_sizes, **sides, **ways_out)]
            for name in words(v.collectives):
                specs += sweep(f"gpu.mpi_{name}", sizes=v.collective_sizes, ranks=v.ranks, **ways_out)
        return specs

    def machine(self) -> Text | Omitted:
        """What was measured, as a sentence."""
        meta = next((one.meta for one in self.samples if GPU.of(one.meta)), None)
        if meta is None:
            return NOTHING
        if GPU_DRIVER.of(meta) == cuda.STAND_IN:
            return Text(
                "**No GPU was measured.** A stand-in in host memory took its place, so that the notebook runs "
                "everywhere. No number below says anything about a GPU."
            )
        aware = next((GPU_MPI.of(one.meta) for one in self.samples if GPU_MPI.of(one.meta)), "")
        mpi = f", with an MPI that is {aware}" if aware else ""
        return Text(f"Measured on {GPU.of(meta)}, driver for {GPU_DRIVER.of(meta)}{mpi}.")

    def drawn(self, draw: Callable[..., go.Figure], rows: pd.DataFrame, what: Any, **how: Any) -> Figure | Omitted:
        """Draw a figure as `labkit.studies.Study.drawn`; one of the stand-in says so."""
        figure = super().drawn(draw, rows, what, **how)
        stood_in = len(rows) and "option_accelerator" in rows and (rows["option_accelerator"] == cuda.STAND_IN).any()
        if isinstance(figure, Figure) and stood_in:
            words = "no GPU was measured: a stand-in in host memory took its place"
            small_print.add(figure.plot, note("gpu-stand-in", words))
        return figure

    def copies_figure(self, metric: str) -> Figure | Omitted:
        """Copies between host and device, and inside the device, against size; a core's copy beside their bandwidth."""
        names = ("gpu.copy", "micro.memory_copy") if metric == "bandwidth_MBps" else ("gpu.copy",)
        rows = self.summary[self.summary["benchmark"].isin(names)]
        if not len(self.of("gpu.copy")):
            return NOTHING
        series = [*(["benchmark"] if len(names) > 1 else []), *_SERIES["copy"]]
        return self.drawn(figures.versus_size, rows, metric, series=series, tail=None)

    def clocks_figure(self) -> Figure | Omitted:
        """Pinned copies on the host's clock and between two events on the device's."""
        rows = self.summary[self.summary["benchmark"].isin(("gpu.copy", "gpu.copy_events"))]
        if "option_host_memory" in rows:
            rows = rows[rows["option_host_memory"] == "pinned"]
        series = ["benchmark", "option_direction"]
        return self.drawn(figures.versus_size, rows, "bandwidth_MBps", series=series, tail=None)

    def processes_figure(self) -> Figure | Omitted:
        """Copies between two processes beside one inside a process."""
        rows = self.summary[self.summary["benchmark"].isin(("gpu.copy", "gpu.ipc_copy", "gpu.peer_copy"))]
        if "option_direction" in rows:
            rows = rows[~rows["option_direction"].isin(("host_to_device", "device_to_host"))]
        access = ["option_peer_access"] if "option_peer_access" in rows else []
        series = ["benchmark", "option_direction", *access]
        return self.drawn(figures.versus_size, rows, "latency_us", series=series, tail=None)

    def messages_figure(self, benchmark: str, metric: str) -> Figure | Omitted:
        """Messages between each pair of memories."""
        rows = self.of(benchmark)
        if len(rows):
            rows = rows.assign(memories=[f"{a} to {b}" for a, b in rows[_SERIES["pair"]].itertuples(index=False)])
        return self.drawn(figures.versus_size, rows, metric, series=self._series(rows, ["memories"]), tail=None)

    def collectives_figure(self) -> Figure | Omitted:
        """Collectives with device memory against size."""
        rows = self.summary[self.summary["benchmark"].isin([f"gpu.mpi_{name}" for name in COLLECTIVES])]
        return self.drawn(figures.versus_size, rows, "latency_us", series=self._series(rows, ["benchmark"]), tail=None)

    def _series(self, rows: pd.DataFrame, names: list[str]) -> list[str]:
        """Columns that distinguish lines: the given ones, and what else the parameters vary."""
        varied = [name for name in rows if name.startswith("env_") and rows[name].nunique(dropna=False) > 1]
        return [*names, *varied, *(["transport"] if rows["transport"].nunique() > 1 else [])]

    def idle(self) -> pd.DataFrame:
        """Rows of launches and waits."""
        rows = self.summary[self.summary["benchmark"].isin(IDLE)]
        return rows.sort_values("benchmark")

    @derived(lambda study: (study.campaign, study._changed(NCCL)))
    def nccl(self) -> pd.DataFrame:
        """Rows of collectives of NCCL that were imported into the campaign."""
        samples = [one for name in NCCL for one in self.campaign.samples(name)]
        return records.summary(records.table(samples, campaign=self.campaign.name))

    def nccl_figure(self) -> Figure | Text:
        """Bus bandwidth of NCCL's collectives against size."""
        if not len(self.nccl):
            return Text(
                "No log of nccl-tests is in the campaign. Run `all_reduce_perf -b 8 -e 1G -f 2 -g 2 > FILE` and "
                "`labkit import FILE --into CAMPAIGN`."
            )
        return Figure(figures.versus_size(self.nccl, "busbw_GBps", tail=None))

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        sentences: list[str] = []
        copies = self.of("gpu.copy")
        for (way, memory), group in copies.groupby(_SERIES["copy"], sort=False) if len(copies) else ():
            first, last = group.iloc[0].to_dict(), group.iloc[-1].to_dict()
            beside = "" if way == "device_to_device" else f", {memory} host memory"
            sentences.append(
                f"A copy {_words(str(way))}{beside}: {statement(first, 'latency_us')} for "
                f"{size_words(first['message_size_B'])}, {statement(last, 'bandwidth_MBps')} for "
                f"{size_words(last['message_size_B'])}."
            )
        for row in self.of("gpu.launch").to_dict("records"):
            call = row["launch_us_p50"]
            alone = f"; the call alone takes {number(call)} µs" if effects.is_part(call, row["latency_us_p50"]) else ""
            sentences.append(
                f"An empty kernel takes {statement(row, 'latency_us')} until the host knows that it has run{alone}."
            )
        return listed([*sentences, *self._of_memory()])

    def _of_memory(self) -> list[str]:
        """Sentences on device memory beside host memory."""
        rows = self.of("gpu.mpi_latency")
        sentences = []
        for size in (rows["message_size_B"].min(), rows["message_size_B"].max()) if len(rows) else ():
            at = rows[rows["message_size_B"] == size].set_index(_SERIES["pair"])
            at = at[~at.index.duplicated()]
            if {("device", "device"), ("host", "host")} <= set(at.index):
                gpu, plain = (at.loc[(k, k)].to_dict() for k in ("device", "host"))
                effect = effects.between(gpu, plain, "latency_us")
                sentences.append(
                    f"A message of {size_words(size)} takes {amount(gpu, 'latency_us')} between device "
                    f"memories and {amount(plain, 'latency_us')} between host memories"
                    f"{effect.clause(f'{effect.times} as long')}."
                )
        return sentences


_SERIES = {
    "copy": ["option_direction", "option_host_memory"],
    "pair": ["option_memory", "option_peer_memory"],
}


def _words(direction: str) -> str:
    return "from " + direction.replace("_", " ")
