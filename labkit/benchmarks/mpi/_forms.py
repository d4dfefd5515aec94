"""The non-blocking and the persistent form of a collective, and how much computation each hides."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import allowed
from labkit.spec import Scalar, Spec


@dataclass(frozen=True, kw_only=True)
class Overlapping:
    """Options of requests that leave time to compute.

    Parameters
    ----------
    overlap : compute between call and completion, as long as the pure request takes; False measures that alone.
    tests : calls of MPI_Test spread over the computation, which let many libraries progress (osu_i* -t).
    """

    overlap: bool = True
    tests: int = 0


PHASES = {"pure_ns": "pure_us", "compute_ns": "compute_us", "alone_ns": "compute_alone_us"}


_TIMES = ("time_ns", "pure_ns", "compute_ns")


def overlap_osu(phases: Any) -> float:
    """OSU's overlap, %: the part of the pure time that the computation hid; what overlapped is told by the total."""
    if "pure_ns" not in phases:
        return float("nan")
    total, pure, inner = (float(np.median(phases[name].mean(axis=0))) for name in _TIMES)
    return max(0.0, 100 - (total - inner) / pure * 100)


def overlap_imb(phases: Any) -> float:
    """IMB's overlap, %: the time saved against doing one after the other, as a part of the longer of the two.

    From the mean times of the rank that took longest in all, as IMB-NBC has it (IMB_output.c).
    """
    if "pure_ns" not in phases:
        return float("nan")
    means = [phases[name].mean(axis=1) for name in _TIMES]
    total, pure, inner = (float(times[means[0].argmax()]) for times in means)
    return 100 * max(0.0, min(1.0, (pure + inner - total) / max(pure, inner)))


def overlap_io(phases: Any) -> float:
    """IMB-IO's overlap, %: the time saved as a part of the shorter of access and computation, each by itself."""
    if "pure_ns" not in phases:
        return float("nan")
    total, pure, alone = (float(np.median(phases[f"{name}_ns"].mean(axis=0))) for name in ("time", "pure", "alone"))
    return 100 * max(0.0, min(1.0, (pure + alone - total) / min(pure, alone)))


OVERLAP = {"overlap_osu_percent": overlap_osu, "overlap_imb_percent": overlap_imb}


@dataclass(frozen=True, kw_only=True)
class Started(Overlapping):
    """Options of persistent requests.

    Parameters
    ----------
    overlap : compute between start and completion, as long as the pure request takes.
    """

    overlap: bool = False


def _options(form: type[Any], own: type[Any]) -> type[Any]:
    """Options of a collective's other form: its own and those of overlapping."""
    made = type("Options", (form, own), {"__doc__": "Options of the collective, and of overlapping."})
    return dataclass(frozen=True, kw_only=True)(made)


def nonblocking(blocking: Benchmark, osu: str = "", imb: str = "") -> Benchmark:
    """The non-blocking form of a collective, with computation while it is under way.

    Parameters
    ----------
    osu, imb : name of the collective in their non-blocking tests; empty where they have none.
    """
    equivalents: dict[str, dict[str, Scalar]] = ({f"osu_{osu}": {}} if osu else {}) | (
        {f"IMB-NBC {imb}": {}, f"IMB-NBC {imb}_pure": {"overlap": False}} if imb else {}
    )
    return dataclasses.replace(
        blocking, title=f"{blocking.title}, non-blocking", kernel=f"i{blocking.kernel}",
        options=_options(Overlapping, blocking.options), phases=PHASES, derived=OVERLAP, equivalents=equivalents,
        metrics={"latency_us": blocking.metrics["latency_us"]}, cadence="isolated",
        converted={f"osu_{osu}": how for test, how in blocking.converted.items() if osu and test.startswith("osu_")},
        unlike={},
    )  # fmt: skip


def persistent(blocking: Benchmark, name: str, osu: str = "", imb: str = "") -> Benchmark:
    """The persistent form of a collective: set up once, untimed, then started and waited for.

    Parameters
    ----------
    name : MPI's name of the blocking call, such as ``Allreduce``.
    osu, imb : name of the collective in their persistent tests; empty where they have none.
    """
    equivalents: dict[str, dict[str, Scalar]] = ({f"osu_{osu}": {}} if osu else {}) | (
        {f"IMB-MPI4 {imb}": {"overlap": True}, f"IMB-MPI4 {imb}_pure": {}} if imb else {}
    )

    def check(spec: Spec) -> str:
        if spec.values.get("rotate"):
            return "a persistent request keeps its root. Set rotate=False."
        return allowed(spec)

    return dataclasses.replace(
        blocking, title=f"{blocking.title}, persistent", kernel=f"{blocking.kernel}_persistent", check=check,
        options=_options(Started, blocking.options), phases=PHASES, derived=OVERLAP,
        metrics={"latency_us": blocking.metrics["latency_us"]}, calls=(f"MPI_{name}_init",), equivalents=equivalents,
        cadence="isolated", converted={}, unlike={},
    )  # fmt: skip
