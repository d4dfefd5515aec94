"""Fit LogGP parameters to each path in the samples, and predict collectives with them.

`mpi.latency` gives the time of a message, `mpi.bandwidth` the gap between messages in saturation,
`mpi.delayed_overhead` both overheads, `mpi.host_overhead` their sum. Break points divide the sizes into ranges
(`labkit.judge.protocol`), and `labkit.models.loggp` fits each range.
"""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.benchmarks.mpi import Window
from labkit.judge import protocol
from labkit.models import loggp, schedules
from labkit.models.loggp import Model, Times
from labkit.models.loggp_engine import finish
from labkit.point.columns import METRICS
from labkit.read import records
from labkit.store.samples import Samples
from labkit.store.samples.facts import TIMER_OVERHEAD_NS, TIMING

SOURCES = ("mpi.latency", "mpi.bandwidth", "mpi.delayed_overhead", "mpi.host_overhead")
REDUCTION = "mpi.reduce_local"  # time to combine two vectors
COMBINING = ("mpi.reduce", "mpi.allreduce", "mpi.reduce_scatter_block")
ANSWER = 4  # B of the message that ends a window
_PATH = ("transport", "device", "launcher", "testbed", "hosts", "bind")
_OVERHEADS = {  # quantity → its phase, and how many reads of the clock lie inside it
    "mpi.delayed_overhead": {"send": ("send_ns", 1), "receive": ("receive_ns", 1)},
    "mpi.host_overhead": {"both": ("overhead_ns", 3)},
}
_OTHER_SETTINGS = ("window",)  # an option that may differ from its default

LINES: Mapping[str, tuple[str, ...]] = {  # parameter → quantities whose lines it comes from, the main one first
    "L": ("time", "send", "receive", "both"),
    "o_s": ("send",),
    "O_s": ("send",),
    "o_r": ("receive",),
    "O_r": ("receive",),
    "g": ("gap",),
    "G": ("gap",),
    "alpha": ("time",),
    "beta": ("time",),
}

BySize = dict[int, dict[int, float]]  # size → launch → s


@dataclass(frozen=True)
class Path:
    """One path between two ranks with its parameters.

    Parameters
    ----------
    transport, testbed, launcher : transport, testbed and launcher of the path.
    times : quantity → its times, of the same launches.
    model : its parameters.
    breaks : lines and break points of the time; None with too few sizes for any.
    launches : numbers of the launches that all quantities have.
    combine : time to combine one byte in each launch, (launches,), s/B; zeros if it was not measured.
    combined : whether `combine` was measured.
    """

    transport: str
    testbed: str
    launcher: str
    times: Mapping[str, Times]
    model: Model
    breaks: protocol.Protocol | None
    launches: tuple[int, ...]
    combine: NDArray[np.float64]
    combined: bool

    @property
    def resolved(self) -> bool:
        """Whether any parameter is resolved; else nothing can be predicted."""
        return any(one.resolved for within in self.model.ranges for one in within.parameters.values())


def paths(samples: Iterable[Samples]) -> list[Path]:
    """Fit the parameters of each path with a ping-pong of two sizes or more.

    Parameters
    ----------
    samples : samples of any benchmarks; only those of `SOURCES` and `REDUCTION` with default options and single
        iterations count.
    """
    groups: dict[tuple[Any, ...], dict[str, list[Samples]]] = {}
    for one in samples:
        if _plain(one):
            key = (*(getattr(one.spec, name) for name in _PATH), one.spec.environment)
            groups.setdefault(key, {}).setdefault(one.spec.benchmark, []).append(one)
    local = [one for group in groups.values() for one in group.get(REDUCTION, [])]
    return [path for group in groups.values() if (path := _path(group, local))]


def _plain(samples: Samples) -> bool:
    """Whether samples are of a source, with all its options as they are by default."""
    name, spec = samples.spec.benchmark, samples.spec
    if name not in (*SOURCES, REDUCTION) or not samples.n or (TIMING.of(samples.meta) or "each") != "each":
        return False
    usual = dataclasses.asdict(benchmarks.get(name).options())
    return spec.size > 0 and all(
        value == usual.get(key) or key in _OTHER_SETTINGS for key, value in spec.values.items()
    )


def _path(group: Mapping[str, list[Samples]], local: Sequence[Samples]) -> Path | None:
    """Fit one path; None without a ping-pong."""
    quantities = _quantities(group)
    usable = {name: sizes for name, sizes in quantities.items() if sizes}
    if "time" not in usable:
        return None
    launches = _common(usable["time"].values())
    for name in list(usable):
        both = launches & _common(usable[name].values())
        if both:
            launches = both
        else:
            del usable[name]
    if not launches or len(usable["time"]) < 2:
        return None
    numbers = tuple(sorted(launches))
    times = {name: _times(sizes, numbers) for name, sizes in usable.items()}
    breaks = _breaks(times["time"])
    if breaks:  # the line of its range leaves it out, so do all quantities
        noisy = {line.left_out for line in breaks.lines} - {None}
        times = {name: _without(one, noisy) for name, one in times.items()}
    ranges = _ranges(times, breaks)
    combine = _combining(local, len(numbers))
    spec = group["mpi.latency"][0].spec
    return Path(
        transport=spec.transport,
        testbed=spec.testbed,
        launcher=spec.launcher,
        times=times,
        model=loggp.fit(times, ranges),
        breaks=breaks,
        launches=numbers,
        combine=np.zeros(len(numbers)) if combine is None else combine,
        combined=combine is not None,
    )


def _quantities(group: Mapping[str, list[Samples]]) -> dict[str, BySize]:
    """Median of each quantity for each launch and size. Overheads are without the clock reads inside them.

    A launch has no value at a size where this leaves nothing above 0.
    """
    quantities: dict[str, BySize] = {"time": {}}
    for one in group.get("mpi.latency", []):
        half = stats.quantile(records.values(one, "latency_us"), 0.5) / METRICS["latency_us"].factor
        quantities["time"].setdefault(one.spec.size, {})[one.launch] = half
    for name, phases in _OVERHEADS.items():
        for one in group.get(name, []):
            read = TIMER_OVERHEAD_NS.of(one.meta)
            for quantity, (phase, reads) in phases.items():
                if phase in one.extras:
                    median = stats.quantile(one.extras[phase], 0.5) - reads * (read if math.isfinite(read) else 0.0)
                    quantities.setdefault(quantity, {}).setdefault(one.spec.size, {})[one.launch] = median * 1e-9
    windows = group.get("mpi.bandwidth", [])
    largest = max(map(_window, windows), default=0)
    quantities["gap"] = _gaps([one for one in windows if _window(one) == largest], quantities["time"])
    return {
        name: {size: values for size, values in sizes.items() if min(values.values(), default=0.0) > 0}
        for name, sizes in quantities.items()
    }


def _window(samples: Samples) -> int:
    return samples.spec.of(Window).options.window


def _gaps(windows: Iterable[Samples], time: BySize) -> BySize:
    """Time of each further message of a window: Netgauge's (PRTT(n, 0, m) - PRTT(1, 0, m)) / (n - 1).

    A window of n messages ends with a short answer, so the time of one message and that of the answer are subtracted.
    """
    gaps: BySize = {}
    for one in windows:
        n, size, launch = _window(one), one.spec.size, one.launch
        small = min(time, key=lambda other: abs(np.log(other / ANSWER)), default=0)
        if n < 2 or launch not in time.get(size, {}) or launch not in time.get(small, {}):
            continue
        window = stats.quantile(records.seconds(one), 0.5)
        gap = (window - time[size][launch] - time[small][launch]) / (n - 1)
        if gap > 0:
            gaps.setdefault(size, {})[launch] = gap
    return gaps


def _common(launches: Iterable[Mapping[int, float]]) -> set[int]:
    """Launches that all sizes of a quantity have."""
    sets = [set(one) for one in launches]
    return set.intersection(*sets) if sets else set()


def _times(sizes: BySize, launches: Sequence[int]) -> Times:
    """Times as a table of launches and sizes."""
    ordered = sorted(sizes)
    return Times(tuple(ordered), np.array([[sizes[size][launch] for size in ordered] for launch in launches]))


def _without(times: Times, sizes: set[int | None]) -> Times:
    """Times without some sizes."""
    kept = [k for k, size in enumerate(times.sizes) if size not in sizes]
    return Times(tuple(times.sizes[k] for k in kept), times.seconds[:, kept])


def _breaks(times: Times) -> protocol.Protocol | None:
    """Break points of the medians over launches; None with too few sizes for any."""
    if len(times.sizes) < protocol.MIN_SIZES:
        return None
    return protocol.breaks(times.sizes, np.median(times.seconds, axis=0))


def _ranges(times: Mapping[str, Times], breaks: protocol.Protocol | None) -> list[tuple[int, int]]:
    """Ranges between the break points of the time, and of the other quantities where three sizes stay on each side.

    A library may change what its calls cost at a size where the time of a message does not change.
    """
    sizes = times["time"].sizes
    found = [breaks, *(_breaks(times[name]) for name in ("send", "receive", "both", "gap") if name in times)]
    cuts = [0, len(sizes)]
    for change in (change for one in found if one for change in one.breaks):
        cut = bisect_right(sizes, change.after)
        if all(abs(cut - other) >= protocol.SHORTEST for other in cuts):
            cuts.append(cut)
    cuts.sort()
    return [(sizes[begin], sizes[end - 1]) for begin, end in pairwise(cuts)]


def _combining(local: Sequence[Samples], launches: int) -> NDArray[np.float64] | None:
    """Median time per byte of reducing two vectors in memory, largest size, the same for each launch, s/B."""
    largest = max((one.spec.size for one in local), default=0)
    medians = [stats.quantile(records.seconds(one), 0.5) for one in local if one.spec.size == largest]
    return np.full(launches, np.median(medians) / largest) if medians else None


# ---- tables and predictions ------------------------------------------------------------------------------------------


def predicted(path: Path, points: Iterable[tuple[str, int, int]]) -> pd.DataFrame:
    """Predict collectives: one row per point and algorithm, of origin ``modelled``.

    Parameters
    ----------
    path : path with the parameters.
    points : collective such as ``mpi.allreduce``, ranks and size in B. Algorithms that `schedules.ALGORITHMS` lacks are
        left out.

    Returns
    -------
    benchmark, collective, algorithm, ranks, message_size_B, transport, testbed, origin, latency_us_p50, latency_us_low,
    latency_us_high, headline, launches. The time belongs to the slowest rank, and the interval is over launches.
    """
    rows = []
    for name, ranks, size in dict.fromkeys(points):
        for algorithm in schedules.ALGORITHMS.get(name, {}):
            seconds = _seconds(path, name, algorithm, ranks, size)
            launches = seconds * METRICS["latency_us"].factor
            headline = stats.headline(launches)
            rows.append(
                {
                    "benchmark": name,
                    "collective": name.removeprefix("mpi."),
                    "algorithm": algorithm,
                    "ranks": ranks,
                    "message_size_B": size,
                    "transport": path.transport,
                    "testbed": path.testbed,
                    "origin": "modelled",
                    "latency_us_p50": headline.centre,
                    "latency_us_low": headline.low,
                    "latency_us_high": headline.high,
                    "headline": headline.label,
                    "launches": headline.launches,
                    "of_launches": tuple(launches.tolist()),
                }
            )
    return pd.DataFrame(rows)


def _seconds(path: Path, name: str, algorithm: str, ranks: int, size: int) -> NDArray[np.float64]:
    """Time of the slowest rank by the parameters of each launch, (launches,), s."""
    times = []
    for launch in range(len(path.launches)):
        stages = schedules.schedule(name, algorithm, ranks, size)
        combine = float(path.combine[launch]) if name in COMBINING else 0.0
        times.append(float(finish(stages, ranks, path.model.costs(launch), combine=combine).max()))
    return np.array(times)


def table(every: Iterable[Path]) -> pd.DataFrame:
    """Tabulate parameters: one row per path, range and parameter, each with the quality of its fit.

    Returns
    -------
    transport, testbed, first_B, last_B, parameter, meaning, value, low, high (s or s/B; NaN if not resolved), launches,
    why, quantity, sizes, deviation (root mean square of the relative distances from the line), farthest, worst_B.
    """
    return pd.DataFrame(row for path in every for row in _rows(path))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of one path."""
    for one in path.model.ranges:
        for name, estimate in one.parameters.items():
            line = one.lines.get(LINES[name][0])
            yield {
                "transport": path.transport,
                "testbed": path.testbed,
                "first_B": one.first,
                "last_B": one.last,
                "parameter": name,
                "meaning": loggp.PARAMETERS[name],
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "launches": estimate.launches,
                "why": estimate.why,
                "sizes": len(line.sizes) if line else 0,
                "deviation": line.deviation if line else np.nan,
                "farthest": line.farthest if line else np.nan,
                "worst_B": line.worst if line else 0,
            }
