"""BT-IO of the NAS Parallel Benchmarks: a solver writes its solution to one file every few time steps.

The grid of the class is cut into cells by diagonal multi-partitioning: p² ranks have p cells each, one in every slice
of every direction. After every `interval` steps all ranks add the solution, five numbers of 8 B a point, to the file:
`simple` writes each pencil of a cell with its own call, `full` all cells with one collective call and derived types of
memory and file. An iteration is a whole run: all time steps of the class, then closing. Opening is not timed. As in
NPB, the time in I/O is the harmonic mean over ranks, the bandwidth is all data divided by it, and the run time is the
slowest rank's (`bt.f`, `full_mpiio.f`, `simple_mpiio.f` of NPB 3.3).

The computation is a stand-in for NPB's BT: block-tridiagonal systems of 5x5 blocks along x, y and z of each cell. Their
lines end at the cell, so ranks exchange nothing. Mop/s counts its own operations, so neither they nor the run time
compare with NPB's; the bytes, the calls and their order do. Before anything is timed, a run with two data sets is
verified: every number in the file must equal the solution, NPB's polynomial plus what the steps add, to 1e-10.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.benchmarks import ParallelFileBenchmark
from labkit.options import frozen
from labkit.options.ranks import Buffers, Folder
from labkit.point import rank_counts
from labkit.point.spec import Spec

CLASSES = {  # points of a side, time steps
    "S": (12, 60),
    "W": (24, 200),
    "A": (64, 200),
    "B": (102, 200),
    "C": (162, 200),
    "D": (408, 250),
    "E": (1020, 250),
}
_VALUES, _GHOSTS = 5, 2  # numbers of a point; layers around a cell that are not written
_OPERATIONS = 3 * 1031  # a point and step: along each direction, counted in `line` of kernels/bt_io.c
_TOLERANCE = 1e-10
# coefficients of the exact solution (NPB, set_constants.f); what a step adds to each value
_EXACT = np.array(
    [
        [2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3],
        [1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5],
        [2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4],
        [2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3],
        [5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2],
    ]
)
_DELTA = np.array([1.0, 2.0, 3.0, 4.0, 5.0]) * 1e-3


@frozen
class Options(Folder, Buffers):
    """Options of storage.bt_io.

    Parameters
    ----------
    problem : class of the problem: S, W, A, B, C, D or E (NPB's CLASS).
    subtype : `simple`, each pencil by its own call, or `full`, one collective call (NPB's SUBTYPE).
    steps : time steps; 0 for those of the class.
    interval : steps from one data set to the next.
    directory : folder on the file system to be measured; empty for the folder of temporary files.
    """

    problem: Literal["S", "W", "A", "B", "C", "D", "E"] = "S"
    subtype: Literal["simple", "full"] = "full"
    steps: int = 0
    interval: int = 5
    directory: str = ""


def _check(spec: Spec[Options]) -> str:
    side, points = math.isqrt(spec.ranks), CLASSES[spec.options.problem][0]
    if wrong := rank_counts.not_square(spec.ranks, "BT-IO"):
        return wrong
    if points // side < 3:
        return (
            f"ranks={spec.ranks} cut {points} points into cells of {points // side}, but a cell needs 3. "
            f"Set ranks={(points // 3) ** 2} or fewer, or a larger class."
        )
    if spec.options.steps < 0 or spec.options.interval < 1:
        return (
            f"steps={spec.options.steps} must be 0 or more, and interval={spec.options.interval} 1 or more. "
            "Set steps=0 and interval=5."
        )
    return ""


def steps(spec: Spec[Options]) -> int:
    """Number of time steps."""
    return int(spec.options.steps or CLASSES[spec.options.problem][1])


def data_sets(spec: Spec[Options]) -> int:
    """How often the solution is written: after every interval, and after the last step."""
    return -(-steps(spec) // int(spec.options.interval))


def file_size(spec: Spec[Options]) -> int:
    """B of the file."""
    return int(CLASSES[spec.options.problem][0] ** 3 * _VALUES * 8 * data_sets(spec))


@dataclass(frozen=True)
class Cell:
    """A part of the grid.

    Parameters
    ----------
    low, size : first point and number of points along x, y, z.
    """

    low: tuple[int, int, int]
    size: tuple[int, int, int]


def cells(points: int, ranks: int, rank: int) -> list[Cell]:
    """The cells of a rank, one in each slice (NPB, ``make_set.f``).

    Examples
    --------
    >>> [cell.low for cell in cells(12, 4, 1)]
    [(6, 0, 0), (0, 6, 6)]
    """
    side = math.isqrt(ranks)
    size, excess = divmod(points, side)
    made = []
    for z in range(side):
        place = ((rank % side + z) % side, (rank // side - z) % side, z)
        low = tuple(at * size + min(at, excess) for at in place)
        made.append(Cell(low, tuple(size + (at < excess) for at in place)))  # type: ignore[arg-type]
    return made


def _own(spec: Spec[Options], rank: int) -> tuple[int, int, list[Cell]]:
    """Points of a side of the grid, room of a side of a cell, and the cells of a rank."""
    points = CLASSES[spec.options.problem][0]
    return points, points // math.isqrt(spec.ranks) + 1 + 2 * _GHOSTS, cells(points, spec.ranks, rank)


def _fields(spec: Spec[Options], rank: int) -> dict[str, Any]:
    points, room, own = _own(spec, rank)
    numbers = [points, room, steps(spec), spec.options.interval, len(own)]
    numbers += [number for cell in own for number in (*cell.size, *cell.low)]
    return {
        "places": np.array(numbers, np.int64),
        "recv": np.concatenate([_EXACT.ravel(), _DELTA / 3]),
        "mode": spec.options.subtype == "full",
    }


def _types(spec: Spec[Options], rank: int) -> tuple[int, Any, Any]:
    """NPB's types of memory and file: a part for each cell."""
    points, room, own = _own(spec, rank)
    memory = [((room,) * 3 + (len(own),), (*c.size, 1), (_GHOSTS,) * 3 + (n,)) for n, c in enumerate(own)]
    return _VALUES, memory, [((points,) * 3, c.size, c.low) for c in own]


def _room(spec: Spec[Options]) -> tuple[int, int]:
    """B of the solution with its ghosts, and of what the sweep along a line keeps."""
    _, room, own = _own(spec, 0)
    return (len(own) * room**3 + (_VALUES + 1) * room) * _VALUES * 8, 1


def _solution(points: int, cell: Cell, after: int) -> NDArray[np.float64]:
    """Solution in a cell after this many steps, (z, y, x, values)."""
    at = [np.arange(low, low + size) / (points - 1) for low, size in zip(cell.low, cell.size, strict=True)]
    powers = np.arange(4)
    x, y, z = (a[:, None] ** (powers + 1) @ _EXACT[:, 1 + d + 3 * powers].T for d, a in enumerate(at))
    return np.asarray(_EXACT[:, 0] + x[None, None] + y[None, :, None] + z[:, None, None] + after * _DELTA)


def _written(spec: Spec[Options], rank: int, path: Path) -> Iterator[tuple[Cell, int, NDArray[np.float64]]]:
    """What a file holds of a rank's cells: cell, number of steps before, and values."""
    points, _, own = _own(spec, rank)
    file = np.memmap(path, np.float64, "r", shape=(data_sets(spec), points, points, points, _VALUES))
    for number in range(data_sets(spec)):
        for c in own:
            z, y, x = (slice(low, low + size) for low, size in zip(c.low[::-1], c.size[::-1], strict=True))
            yield c, min((number + 1) * spec.options.interval, steps(spec)), file[number, z, y, x]


def _complaint(spec: Spec[Options], rank: int, folder: str, received: object) -> str:
    """Say where the next rank's part of the file differs from the solution; empty if it does not."""
    path, other = Path(folder, "data"), (rank + 1) % spec.ranks
    if (size := path.stat().st_size) != file_size(spec):
        return f"the file has {size} B, but must have {file_size(spec)} B"
    points = CLASSES[spec.options.problem][0]
    for cell, after, found in _written(spec, other, path):
        error = float(np.abs(found / _solution(points, cell, after) - 1).max())
        if not error <= _TOLERANCE:
            return f"the solution after {after} steps is wrong by {error:.2g} in the cell at {cell.low} of rank {other}"
    return ""


BENCHMARK = ParallelFileBenchmark(
    title="BT-IO",
    kernel="bt_io",
    moves="write",
    options=Options,
    check=_check,
    ranks=(1, None),
    sized=False,
    dtype=lambda spec: "float64",
    metrics={
        "run_time_s": lambda spec: 1,
        "operations_Mops": lambda spec: _OPERATIONS * CLASSES[spec.options.problem][0] ** 3 * steps(spec),
    },
    phases={"io_ns": "bandwidth_MBps"},
    phase_work={"io_ns": file_size},
    derived={
        "io_time_s": lambda means: float(means["io_ns"].mean() * 1e-9),
        "io_percent": lambda means: stats.percent(means["io_ns"].mean(), means["time_ns"].mean()),
    },
    buffers=_room,
    cadence="isolated",
    size_label="request size (B)",
    warmup=(0, 0),
    file_size=file_size,
    fields=_fields,
    amode=("RDWR", "CREATE"),
    types=_types,
    checked=lambda spec: spec.replace(options=replace(spec.options, steps=min(steps(spec), 2 * spec.options.interval))),
    complaint=_complaint,
)
