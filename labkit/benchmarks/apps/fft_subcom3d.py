"""Transposes of a distributed FFT: MPI_Alltoall in the rows, the columns and the pillars of a grid of ranks.

The ranks form a grid of px x py x pz. In one iteration every rank takes part in three consecutive MPI_Alltoall, one
along each side of the grid. The size refers to a message between two ranks along x; `size_y` and `size_z` may differ.
The time of an iteration on the slowest rank counts; the bus bandwidth counts what a rank sends to others.

The kernel of subcom3d-a2a (Chatterbug), which uses one buffer for all three. Here each has its own, so that labkit can
verify all bytes. `preset=ethernet2020` uses the arguments of Kenny et al., "An evaluation of Ethernet performance for
scientific workloads" (2020), Fig. 6: 10 000 B between any two ranks, and a grid of 4 x 4 x 3 on their 48 ranks.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.apps import _grid
from labkit.benchmarks.mpi import Values
from labkit.benchmarks.simulated import Iteration, Rank, Simulation
from labkit.options import frozen
from labkit.options.ranks import Cadence
from labkit.point.spec import Spec

PAPER = 10_000  # B between two ranks


@frozen
class Options(Cadence, _grid.Grid):
    """Options of apps.fft_subcom3d.

    Parameters
    ----------
    preset : no preset, or the paper's grid and size.
    size_y, size_z : B between two ranks along y and z; -1 for the same as along x, 0 leaves that direction out.
    cadence : `streaming` back to back, as subcom3d-a2a, or `isolated` by a barrier after every iteration.
    """

    preset: Literal["chatterbug", "ethernet2020"] = "chatterbug"
    size_y: int = -1
    size_z: int = -1
    cadence: Literal["streaming", "isolated"] = "streaming"


def sizes(spec: Spec[Options]) -> list[int]:
    """B between two ranks along each side."""
    other_sizes = (spec.options.size_y, spec.options.size_z)
    return [spec.size, *(spec.size if size == -1 else size for size in other_sizes)]


def line(spec: Spec[Options], rank: int, side: int) -> list[int]:
    """Ranks of the line through a rank along one side, in order."""
    grid = _grid.shape(spec)
    at = list(_grid.place(grid, rank))
    return [_grid.rank_at(grid, (*at[:side], k, *at[side + 1 :])) for k in range(grid[side])]  # type: ignore[arg-type]


def _starts(spec: Spec[Options]) -> list[int]:
    """Offsets of the messages along each side in both buffers, and their end, B."""
    parts = [side * size for side, size in zip(_grid.shape(spec), sizes(spec), strict=True)]
    return [0, parts[0], parts[0] + parts[1], sum(parts)]


def _check(spec: Spec[Options]) -> str:
    for name, size in (("size_y", spec.options.size_y), ("size_z", spec.options.size_z)):
        if not -1 <= size <= 2**30:
            return f"{name}={size}, but it must be 0 to 1 GiB, or -1. Set {name}=-1."
    if spec.options.preset == "ethernet2020" and set(sizes(spec)) != {PAPER}:
        return (
            f"preset=ethernet2020 sends {PAPER} B between any two ranks. Set size={PAPER} and leave the other "
            "sizes at -1."
        )
    return _grid.check(spec)


def _work(spec: Spec[Options]) -> dict[str, Any]:
    return {"counts": np.array(sizes(spec), np.int32), "far_bytes": np.array(_starts(spec), np.int64)}


def _expected(spec: Spec[Options], rank: int, send: Callable[[int], Values]) -> Values:
    """The messages for this rank from every rank of each line."""
    parts = []
    for side, (size, start) in enumerate(zip(sizes(spec), _starts(spec), strict=False)):
        near = line(spec, rank, side)
        at = start + near.index(rank) * size
        parts += [send(neighbour)[at : at + size].copy() for neighbour in near]
    return np.concatenate(parts)


def _sent(spec: Spec[Options]) -> int:
    """B that a rank sends to others."""
    return sum((side - 1) * size for side, size in zip(_grid.shape(spec), sizes(spec), strict=True))


def _simulated(spec: Spec[Options], rank: Rank, algorithm: str) -> Iteration:
    """All to all in the line of the rank along each side, one side after the other."""
    lines = [line(spec, rank.number, side) for side in range(3)]

    def iteration(k: int) -> None:
        for side, (near, size) in enumerate(zip(lines, sizes(spec), strict=True)):
            at, n = near.index(rank.number), len(near)
            if not size or n < 2:
                continue
            for step in range(1, n):
                rank.receive(near[(at - step) % n], size, tag=side)
                rank.send(near[(at + step) % n], size, tag=side)
                if algorithm != "linear":
                    rank.wait(2)
            if algorithm == "linear":
                rank.wait(2 * (n - 1))

    return iteration


BENCHMARK = KernelBenchmark(
    title="transposes of a 3-D FFT",
    kernel="alltoall_3d",
    options=Options,
    check=_check,
    ranks=(2, None),
    sizes="8:64Ki:*8",
    buffers=lambda spec: (_starts(spec)[3], _starts(spec)[3]),
    splits=lambda spec, rank: [(line(spec, rank, side)[0], rank) for side in range(3)],
    work=_work,
    expected=_expected,
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": _sent},
    cadence="streaming",
    simulation=Simulation(
        iteration=_simulated,
        messages=lambda spec: spec.ranks * sum(side - 1 for side in _grid.shape(spec)),
        follows=(*_grid.OPTIONS, "size_y", "size_z"),
        algorithms=("pairwise", "linear"),
    ),
    warmup=(10, 10),
)
