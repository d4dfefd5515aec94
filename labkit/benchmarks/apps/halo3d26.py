"""Halo exchange of a simulation on a grid of three dimensions: a message to and from each of up to 26 neighbours.

Every rank holds nx x ny x nz cells of `vars` variables and sends the outermost layer: 6 faces, 12 edges and 8 corners.
The size refers to a variable in one cell, 8 B for a double, so that a face has ny·nz·vars·size B. An iteration is a
time step: a sleep of `sleep_us` instead of the computation, then all receives and sends at once and one wait. The
slowest rank's time counts, including the sleep; `exchange_us` excludes it. The bandwidth counts all bytes that the rank
with the most neighbours sends and receives.

The motif of Ember's halo3d-26 (SST, mpi/halo3d-26). Its published source computes the 8 corners and never sends them:
`neighbours=18` matches this, and its KBytesXchng counts the faces of one iteration only. `preset=ethernet2020` has the
arguments of Kenny et al., "An evaluation of Ethernet performance for scientific workloads" (2020), Fig. 5: 100 cells to
each side, 8 variables, 216 µs of sleep, 18 neighbours, and a grid of 4 x 4 x 3 on their 48 ranks.
"""

from collections.abc import Callable, Mapping
from itertools import accumulate
from math import prod
from typing import Any, Literal

import numpy as np

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.apps import _grid
from labkit.benchmarks.apps._grid import Preset as Preset
from labkit.benchmarks.apps._grid import place as place
from labkit.benchmarks.apps._grid import shape as shape
from labkit.benchmarks.mpi import Values
from labkit.benchmarks.simulated import Iteration, Rank, Simulation
from labkit.options import frozen
from labkit.options.ranks import Cadence
from labkit.point.spec import Spec

LARGEST = 2**31 - 1  # B of a message, and messages' places in units of the size
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "ember": {"nx": 10, "ny": 10, "nz": 10, "vars": 1, "sleep_us": 0.0, "neighbours": "26"},
    "ethernet2020": {"nx": 100, "ny": 100, "nz": 100, "vars": 8, "sleep_us": 216.0, "neighbours": "18"},
}


@frozen
class Options(Cadence, _grid.Grid):
    """Options of apps.halo3d26.

    Parameters
    ----------
    preset : source of every value that is not set: Ember's own defaults with all 26 messages, or the paper.
    neighbours : 26, 18 without the corners, 6 faces only.
    periodic : the grid wraps around; in Ember it does not.
    nx, ny, nz : cells of a rank along each side; 0 for the preset's.
    vars : variables in a cell; 0 for the preset's.
    sleep_us : sleep in every iteration, µs; -1 for the preset's.
    cadence : `streaming` back to back, as Ember, or `isolated` by a barrier after every iteration.
    """

    preset: Literal["ember", "ethernet2020"] = "ember"
    neighbours: Literal["preset", "26", "18", "6"] = "preset"
    periodic: bool = False
    nx: int = 0
    ny: int = 0
    nz: int = 0
    vars: int = 0
    sleep_us: float = -1.0
    cadence: Literal["streaming", "isolated"] = "streaming"


def chosen(spec: Spec[Options]) -> dict[str, Any]:
    """Cells, variables, sleep and neighbours: the options that are set, else the preset's values."""
    unset = {"sleep_us": -1.0, "neighbours": "preset"}
    preset = PRESETS[spec.options.preset]
    given = {name: spec.values[name] for name in preset}
    return {name: preset[name] if value == unset.get(name, 0) else value for name, value in given.items()}


def _cells(spec: Spec[Options], way: _grid.Place) -> int:
    """Values in the message to one direction: the cells of the face, edge or corner there, times the variables."""
    values = chosen(spec)
    lengths = (values["nx"], values["ny"], values["nz"])
    cells: int = prod(n for n, step in zip(lengths, way, strict=True) if not step)
    return cells * int(values["vars"])


def _all(spec: Spec[Options]) -> int:
    """B that a rank with all its neighbours would send in an iteration."""
    return spec.size * sum(_cells(spec, way) for way in _grid.DIRECTIONS[: int(chosen(spec)["neighbours"])])


def messages(spec: Spec[Options], rank: int) -> list[tuple[int, int, int, int]]:
    """For every neighbour: its rank, the message's size in B, its offset in units of the size, and the direction."""
    grid, wraps = _grid.shape(spec), spec.options.periodic
    at = _grid.place(grid, rank)
    neighbours = []
    for k, way in enumerate(_grid.DIRECTIONS[: int(chosen(spec)["neighbours"])]):
        x, y, z = (coordinate + step for coordinate, step in zip(at, way, strict=True))
        if wraps or all(0 <= coordinate < side for coordinate, side in zip((x, y, z), grid, strict=True)):
            neighbours.append((_grid.rank_at(grid, (x % grid[0], y % grid[1], z % grid[2])), _cells(spec, way), k))
    offsets = accumulate((cells for _, cells, _ in neighbours), initial=0)
    return [(peer, cells * spec.size, offset, k) for (peer, cells, k), offset in zip(neighbours, offsets, strict=False)]


def _most(spec: Spec[Options]) -> int:
    """B that the rank with the most neighbours sends in an iteration."""
    return max(sum(count for _, count, _, _ in messages(spec, rank)) for rank in range(spec.ranks))


def _check(spec: Spec[Options]) -> str:
    values = chosen(spec)
    for name in ("nx", "ny", "nz", "vars"):
        if values[name] < 1:
            return f"{name}={values[name]}, but it must be at least 1. Set {name}=10, or 0 for the preset's."
    if not 0 <= values["sleep_us"] <= 1e6:
        return f"sleep_us={values['sleep_us']}, but it must be 0 to 1000000. Set sleep_us=0."
    if spec.options.preset == "ethernet2020" and spec.size != 8:
        return f"size={spec.size} B, but preset=ethernet2020 sends doubles. Set size=8."
    if _all(spec) > LARGEST:
        return (
            f"the messages of an iteration have {_all(spec)} B together, but at most {LARGEST} B are possible. "
            "Set fewer cells or variables."
        )
    return _grid.check(spec)


def _expected(spec: Spec[Options], rank: int, send: Callable[[int], Values]) -> Values | None:
    """The messages that the neighbours sent in the opposite direction."""
    parts = []
    for neighbour, count, _, way in messages(spec, rank):
        start = next(offset for _, _, offset, k in messages(spec, neighbour) if k == way ^ 1) * spec.size
        parts.append(send(neighbour)[start : start + count])
    return np.concatenate(parts) if parts else None


def _sleep_ns(spec: Spec[Options]) -> int:
    return round(1000 * float(chosen(spec)["sleep_us"]))


def _simulated(spec: Spec[Options], rank: Rank, algorithm: str) -> Iteration:
    """A sleep, all messages to and from the neighbours at once, one wait."""
    neighbours, sleep_ns = messages(spec, rank.number), _sleep_ns(spec)

    def iteration(k: int) -> None:
        if sleep_ns:
            rank.actions.append(f"sleep {sleep_ns * 1e-9:.9f}")
        for peer, size, _, way in neighbours:  # a neighbour sends in the opposite direction, from a layer as large
            rank.receive(peer, size, tag=way ^ 1)
        for peer, size, _, way in neighbours:
            rank.send(peer, size, tag=way)
        if not rank.delivered:
            rank.wait(2 * len(neighbours))
            return
        for peer, size, _, way in neighbours:
            rank.wait_for(peer, rank.number, way ^ 1)
            if size >= rank.eager:
                rank.wait_for(rank.number, peer, way)
            else:
                rank.late += 1

    return iteration


BENCHMARK = KernelBenchmark(
    title="halo exchange in 3-D",
    kernel="halo",
    options=Options,
    check=_check,
    ranks=(2, None),
    sizes="8",
    max_size=4096,
    apart=True,
    requests=lambda spec: 2 * 26,
    buffers=lambda spec: (_all(spec), _all(spec)),
    peers=lambda spec, rank: [value for row in messages(spec, rank) for value in row],
    work=lambda spec: {"places": np.array([_sleep_ns(spec)], np.int64)},
    expected=_expected,
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: 2 * _most(spec)},
    phases={"exchange_ns": "exchange_us"},
    cadence="streaming",
    simulation=Simulation(
        iteration=_simulated,
        messages=lambda spec: sum(len(messages(spec, rank)) for rank in range(spec.ranks)),
        follows=(*_grid.OPTIONS, "neighbours", "periodic", "nx", "ny", "nz", "vars", "sleep_us"),
        delivered=True,
        extra_ns=lambda spec: {"exchange_ns": _sleep_ns(spec)},
    ),
    warmup=(10, 10),
)
