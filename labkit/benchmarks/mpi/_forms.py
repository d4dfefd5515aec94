"""Make the forms of a collective that share its file: non-blocking, persistent, and with a count for each rank.

The first two leave time to compute. Their overlap shows how much of this time a rank can use.
"""

import dataclasses
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, cast

import numpy as np

from labkit import stats
from labkit.benchmarks import CollectiveBenchmark
from labkit.benchmarks.mpi import allowed
from labkit.options import frozen
from labkit.options.ranks import Overlapping, Rotate
from labkit.point.spec import Scalar, Spec, has

PHASES = {"pure_ns": "pure_us", "compute_ns": "compute_us", "alone_ns": "compute_alone_us"}


_TIMES = ("time_ns", "pure_ns", "compute_ns")


def overlap_osu(phases: Any) -> float:
    """OSU's overlap, %: the part of the pure time that the computation hid, worked out from the total time."""
    if "pure_ns" not in phases:
        return float("nan")
    total, pure, inner = (float(np.median(phases[name].mean(axis=0))) for name in _TIMES)
    return float(np.maximum(0, 100 - stats.percent(total - inner, pure)))


def overlap_imb(phases: Any) -> float:
    """IMB's overlap, %: the time saved compared with one after the other, as a share of the longer of the two.

    As in IMB-NBC (IMB_output.c), it uses the mean times of the rank with the longest total.
    """
    if "pure_ns" not in phases:
        return float("nan")
    means = [phases[name].mean(axis=1) for name in _TIMES]
    total, pure, inner = (float(times[means[0].argmax()]) for times in means)
    return float(np.clip(stats.percent(pure + inner - total, max(pure, inner)), 0, 100))


def overlap_io(phases: Any) -> float:
    """IMB-IO's overlap, %: the time saved as a part of the shorter of access and computation, each by itself."""
    if "pure_ns" not in phases:
        return float("nan")
    total, pure, alone = (float(np.median(phases[f"{name}_ns"].mean(axis=0))) for name in ("time", "pure", "alone"))
    return float(np.clip(stats.percent(pure + alone - total, min(pure, alone)), 0, 100))


OVERLAP = {"overlap_osu_percent": overlap_osu, "overlap_imb_percent": overlap_imb}


@frozen
class Started(Overlapping):
    """Options of persistent requests.

    Parameters
    ----------
    overlap : compute between start and completion, as long as the pure request takes.
    """

    overlap: bool = False


def _options(form: type[Any], collective: type[Any]) -> type[Any]:
    """Make the options of another form of a collective: the collective's own options and the options of overlap."""
    return _made(cast("type", form), cast("type", collective))


@cache
def _made(form: type, collective: type) -> type[Any]:
    about = "Options of the collective, and of overlapping."
    members = {"__doc__": about, "__reduce__": lambda options: (_again, (form, collective, vars(options)))}
    return frozen(type("Options", (form, collective), members))


def _again(form: type[Any], collective: type[Any], values: Mapping[str, Scalar]) -> Any:
    """Make options that were pickled: their class has no name of its own."""
    return _options(form, collective)(**values)


# groups of suites that have tests of the forms of a collective
IN_ALL = ("osu_i", "IMB-NBC", "osu_persistent", "IMB-MPI4")
IN_OSU = ("osu_i", "osu_persistent")
IN_OSU_NONBLOCKING = ("osu_i",)


def forms(blocking: CollectiveBenchmark, suites: Collection[str] = ()) -> dict[str, CollectiveBenchmark]:
    """Make the non-blocking and the persistent form of a collective, by name.

    Parameters
    ----------
    blocking : the collective; its kernel has the name of the MPI function in small letters.
    suites : suites that have tests of these forms, as in `IN_ALL`.
    """
    return {
        f"i{blocking.kernel}": _nonblocking(blocking, suites),
        f"{blocking.kernel}_persistent": _persistent(blocking, suites),
    }


_COUNTED_DOC = """Latency of MPI_{call}: {does}, with {counts} for each rank.

Every rank times every iteration; the slowest rank counts. The mean over ranks is also given.

With `cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_{name} (OMB 7.4){imb}.
`streaming` runs them back to back{unsynchronised}. `synchronised` starts each at an agreed time on synchronised clocks.

The counts of all ranks are the same: sizes, data and metrics are those of mpi.{plain}.
"""
_COUNTS = {"v": "a count", "w": "a count and a datatype"}


def counted(
    plain: CollectiveBenchmark, does: str, name: str, title: str, equivalents: Mapping[str, Mapping[str, Scalar]]
) -> CollectiveBenchmark:
    """Make the v form (a count for each rank) or w form (also a datatype for each rank) of a collective; all are equal.

    Parameters
    ----------
    does : what the collective does, a part of the first sentence of its definition.
    """
    imb = next((test for test in equivalents if test.startswith("IMB-MPI1 ")), "")
    doc = _COUNTED_DOC.format(
        call=name.capitalize(),
        does=does,
        counts=_COUNTS[name[-1]],
        name=name,
        imb=f" and in\n{imb} (its default, -sync on)" if imb else "",
        unsynchronised=f", as {imb} -sync off does" if imb else "",
        plain=plain.kernel,
    )
    return dataclasses.replace(plain, title=title, kernel=name, equivalents=equivalents, simulation=None, doc=doc)


_OVERLAP_DOC = """Overlap of MPI_{call} with computation: how much of its time a rank can use.

An iteration measures the pure time (call and wait), then a computation of that length alone, then call, computation
and wait together; the latency is that total. Overlap is given by OSU's definition (what the pure time leaves of the
total without the computation) and by IMB's (the time saved, as a part of the longer of the two); `tests` spreads
calls of MPI_Test over the computation.

The data are those of mpi.{plain}.{tests}
"""
_PERSISTENT_DOC = """Latency of a persistent MPI_{call}: set up once, untimed; an iteration starts it and waits.

MPI_{call}_init came with MPI 4.0; labkit names a library that lacks it. With `overlap=True` a computation lies between
start and wait as in mpi.i{plain}. The data are those of mpi.{plain}.{tests}
"""


def _tests(names: list[str]) -> str:
    """Write the sentence that names the tests of other suites."""
    return f" The same as {' and '.join(names)}." if names else ""


def _nonblocking(blocking: CollectiveBenchmark, suites: Collection[str]) -> CollectiveBenchmark:
    """Make the non-blocking form of a collective, with computation in the meantime."""
    name, call = f"i{blocking.kernel}", f"I{blocking.kernel}"
    osu, imb = [f"osu_{name}"] * ("osu_i" in suites), [f"IMB-NBC {call}"] * ("IMB-NBC" in suites)
    equivalents: dict[str, dict[str, Scalar]] = {test: {} for test in (*osu, *imb)}
    equivalents |= {f"{test}_pure": {"overlap": False} for test in imb}
    factors = [convert for test, convert in blocking.converted.items() if test.startswith("osu_")]
    converted = dict(zip(osu, factors, strict=False))
    return dataclasses.replace(
        blocking,
        simulation=None,
        title=f"{blocking.title}, non-blocking",
        kernel=name,
        phases=PHASES,
        derived=OVERLAP,
        options=_options(Overlapping, blocking.options),
        metrics={"latency_us": blocking.metrics["latency_us"]},
        cadence="isolated",
        equivalents=equivalents,
        unlike={},
        converted=converted,
        doc=_OVERLAP_DOC.format(call=call, plain=blocking.kernel, tests=_tests([*osu, *imb])),
    )


def _persistent(blocking: CollectiveBenchmark, suites: Collection[str]) -> CollectiveBenchmark:
    """Make the persistent form of a collective: set up once, untimed, then started and waited for."""
    name, call = f"{blocking.kernel}_persistent", blocking.kernel.capitalize()
    osu, imb = [f"osu_{name}"] * ("osu_persistent" in suites), [f"IMB-MPI4 {call}_persist"] * ("IMB-MPI4" in suites)
    equivalents: dict[str, dict[str, Scalar]] = {test: {} for test in osu} | {test: {"overlap": True} for test in imb}
    equivalents |= {f"{test}_pure": {} for test in imb}

    def check(spec: Spec) -> str:
        if has(spec.options, Rotate) and spec.options.rotate:
            return "a persistent request keeps its root. Set rotate=False."
        return allowed(spec)

    return dataclasses.replace(
        blocking,
        simulation=None,
        title=f"{blocking.title}, persistent",
        kernel=name,
        check=check,
        phases=PHASES,
        derived=OVERLAP,
        options=_options(Started, blocking.options),
        metrics={"latency_us": blocking.metrics["latency_us"]},
        calls=(f"MPI_{call}_init",),
        cadence="isolated",
        equivalents=equivalents,
        converted={},
        unlike={},
        doc=_PERSISTENT_DOC.format(call=call, plain=blocking.kernel, tests=_tests([*osu, *imb])),
    )
