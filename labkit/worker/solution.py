"""Programs that compute as well as communicate: whether their memory is there, their results, their messages."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import ApplicationBenchmark
from labkit.benchmarks.compute import nas
from labkit.point.spec import Spec
from labkit.point.units import KiB, format_number
from labkit.worker.group import Alone, Prepares, Together

FEW = 64  # ranks up to which messages are kept for each pair
SHARE = 0.9  # of the available memory that ranks may take


def verify(worker: Prepares, spec: Spec, benchmark: ApplicationBenchmark) -> tuple[str, bool]:
    """Run the program untimed and compare its results, if there is memory for it.

    Returns
    -------
    What was wrong, empty if nothing; and whether it compared anything.
    """
    complaint = short(worker.mpi, spec, benchmark)
    if worker.ranks.any([bool(complaint)])[0]:
        return complaint, False
    with worker.prepared(spec, benchmark) as (loop, setting):
        loop(0, 1)
        return wrong(spec, benchmark, setting.recvs[0]), True


def short(mpi: Any, spec: Spec, benchmark: ApplicationBenchmark) -> str:
    """Say how much memory this host lacks for its ranks; empty if it has enough, or does not tell."""
    node = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED)
    here = node.size
    node.Free()
    needed, available = here * sum(benchmark.buffers(spec)), _available(here)
    if available is None or needed <= SHARE * available:
        return ""
    wanted, there = (format_number(size / 1e9, "GB", digits=3) for size in (needed, available))
    return (
        f"{benchmark.name} needs {wanted} for {here} ranks on {mpi.Get_processor_name()}, where {there} are available. "
        "Set a smaller class, or more hosts."
    )


def _available(here: int) -> int | None:
    """B that this many ranks can have without swapping, including what they hold already; None if unknown."""
    try:
        with open("/proc/meminfo") as file:  # noqa: PTH123
            lines = dict(line.split(":", 1) for line in file if ":" in line)
        with open("/proc/self/statm") as file:  # noqa: PTH123
            resident = int(file.read().split()[1]) * resource.getpagesize()
        return int(lines["MemAvailable"].split()[0]) * KiB + here * resident
    except (OSError, KeyError, ValueError, IndexError):
        return None


def wrong(spec: Spec, benchmark: ApplicationBenchmark, buffer: NDArray[np.uint8]) -> str:
    """Say what is wrong with the results of the last run; empty if nothing is."""
    complaint = benchmark.wrong(spec, _results(buffer))
    return complaint and f"wrong result: {complaint}."


def _results(buffer: NDArray[np.uint8]) -> NDArray[np.float64]:
    return buffer[: 8 * nas.RESULTS].view(np.float64)


def facts(ranks: Alone | Together, spec: Spec, buffer: NDArray[np.uint8]) -> dict[str, Any]:
    """What the last run computed, and its messages, on rank 0.

    Returns
    -------
    ``communication``: calls and B of collectives, messages by size (from each power of two to the next), and of few
    ranks those of each pair.
    """
    assert isinstance(ranks, Together)
    counts = buffer[8 * nas.RESULTS : nas.received(spec)].view(np.int64)
    messages, sent = counts[: spec.ranks], counts[spec.ranks : 2 * spec.ranks]
    peers = np.flatnonzero(messages)
    rows = np.stack([np.full(len(peers), ranks.rank), peers, messages[peers], sent[peers]], axis=1)
    pairs = ranks.collect(rows.ravel() if spec.ranks <= FEW else np.empty(0, np.int64))
    totals = ranks.total(counts[2 * spec.ranks :])
    if ranks.rank:
        return {}
    kinds, number = totals[: 2 * len(nas.COLLECTIVES)].reshape(2, -1), spec.ranks
    return {
        "results": [float(value) for value in np.trim_zeros(_results(buffer), "b")],
        "communication": {
            "pairs": pairs.reshape(-1, 4).tolist(),
            "collectives": {
                name: [int(calls) // number, int(moved) // number]
                for name, calls, moved in zip(nas.COLLECTIVES, *kinds, strict=True)
                if calls
            },
            "sizes": {str(1 << k >> 1): int(n) for k, n in enumerate(totals[2 * len(nas.COLLECTIVES) :]) if n},
        },
    }
