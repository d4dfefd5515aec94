"""Conjugate gradients on a grid in three dimensions, with a halo exchange in every step: HPCG's pattern.

The matrix has 26 on its diagonal and -1 for each of up to 26 neighbours of a cell; the solution of the system is 1 in
every cell. A run makes `steps` steps from 0, each with a product with the matrix, a symmetric Gauss-Seidel sweep inside
each rank as the preconditioner, three sums over all ranks, and the halo exchange before product and sweep. Ranks form a
grid in three dimensions, and each holds `nx` by `ny` by `nz` cells, so the problem grows with the ranks.

The definitions follow HPCG 3.1 (Dongarra, Heroux and Luszczek), without the three coarser grids of its multigrid;
the operations are counted by its formula, without these. HPCG reads the matrix from memory, labkit applies the stencil
without one: the messages are HPCG's, but the rate is higher and not comparable. The run time consists of the
computation and the time inside MPI, which includes waiting for other ranks.

labkit verifies the properties that HPCG tests: matrix and preconditioner are symmetric, and the residual belongs to the
solution. The residual and the error must have fallen.
"""

from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from labkit.benchmarks import ApplicationBenchmark
from labkit.benchmarks.compute import _nas
from labkit.benchmarks.mpi.stencil import sides
from labkit.options import frozen
from labkit.options.ranks import Buffers
from labkit.point.spec import Spec

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EPSILON = 2.0**-52
_NORM = 2 * 26.0  # of the matrix, as HPCG's test of symmetry has it
_FIELDS, _NEIGHBOURS = 6, 26
_SLACK = 1 << 14  # B, for the ends of parts of the memory
_LARGEST = 1024  # cells along a side
_SAME = 1e-10  # of the first residual


@frozen
class Options(Buffers):
    """Options of compute.hpcg.

    Parameters
    ----------
    nx, ny, nz : cells of a rank along each side; HPCG's own runs have 104.
    px, py, pz : ranks along each side; all 0 for the most cubic grid.
    steps : steps of a run; HPCG makes 50.
    """

    nx: int = 16
    ny: int = 16
    nz: int = 16
    px: int = 0
    py: int = 0
    pz: int = 0
    steps: int = 50


def cells(spec: Spec[Options]) -> tuple[int, ...]:
    """Cells of a rank along each side."""
    return spec.options.nx, spec.options.ny, spec.options.nz


def shape(spec: Spec[Options]) -> tuple[int, ...]:
    """Ranks along each side."""
    chosen = spec.options.px, spec.options.py, spec.options.pz
    return chosen if any(chosen) else tuple(sides(spec.ranks, 3))


def nonzeros(spec: Spec[Options]) -> int:
    """Number of nonzero values of the matrix: one for each cell, and one for each of its neighbours."""
    return prod(3 * n * p - 2 for n, p in zip(cells(spec), shape(spec), strict=True))


def operations(spec: Spec[Options]) -> float:
    """Floating-point operations of a run by HPCG's formula: sums, updates of vectors, products and sweeps."""
    rows, steps = prod(cells(spec)) * spec.ranks, spec.options.steps
    vectors = 2 * (3 * steps + 1) * 2 * rows
    return float(vectors + (steps + 1) * 2 * nonzeros(spec) + steps * 4 * nonzeros(spec))


def _memory(spec: Spec[Options]) -> int:
    fields = prod(n + 2 for n in cells(spec))
    layers = fields - prod(cells(spec))
    return 8 * (_FIELDS * fields + 2 * layers) + 64 * (2 * _NEIGHBOURS + _FIELDS) + _nas.received(spec) + _SLACK


def _places(spec: Spec[Options]) -> list[int]:
    return [_memory(spec), *cells(spec), *shape(spec), spec.options.steps]


def _check(spec: Spec[Options]) -> str:
    for name, number in zip(("nx", "ny", "nz"), cells(spec), strict=True):
        if not 1 <= number <= _LARGEST:
            return f"{name}={number}, but it must be 1 to {_LARGEST}. Set {name}=16."
    if not 1 <= spec.options.steps <= 10_000:
        return f"steps={spec.options.steps}, but it must be 1 to 10000. Set steps=50."
    grid = shape(spec)
    if min(grid) < 1 or prod(grid) != spec.ranks:
        x, y, z = sides(spec.ranks, 3)
        return (
            f"a grid of {grid[0]} x {grid[1]} x {grid[2]} does not hold exactly {spec.ranks} ranks. "
            f"Set px={x}, py={y} and pz={z}, or all to 0."
        )
    return ""


def wrong(spec: Spec[Options], results: "NDArray[np.float64]") -> str:
    """Say what is wrong with the results of a run; empty if nothing is.

    Parameters
    ----------
    results : as in kernels/hpcg.c: squares of the first, the last and the true last residual and of the error, two
        products each with the matrix and the preconditioner, squares of the norms of the vectors in them.
    """
    if not np.isfinite(results[:10]).all():
        return "a result is not a number"
    first, last, true, error = (sqrt(value) for value in results[:4])
    if abs(true - last) > _SAME * first:
        return f"the residual is {true:.6g}, but the steps arrived at {last:.6g}"
    if not (last < first and error**2 < prod(cells(spec)) * spec.ranks):
        return f"the residual went from {first:.6g} to {last:.6g}, the error to {error:.6g}, but both must fall"
    allowed = 2 * _NORM * sqrt(results[8] * results[9]) * _EPSILON
    for what, one, other in (("matrix", *results[4:6]), ("preconditioner", *results[6:8])):
        if abs(one - other) > allowed:
            return f"the {what} is not symmetric: {one:.17g} and {other:.17g}"
    return ""


BENCHMARK = ApplicationBenchmark(
    title="conjugate gradients with halo exchange (HPCG)",
    kernel="hpcg",
    options=Options,
    sized=False,
    ranks=(1, None),
    check=_check,
    dtype=lambda spec: "float64",
    requests=lambda spec: _NEIGHBOURS,
    buffers=lambda spec: (_memory(spec), _nas.received(spec)),
    work=lambda spec: {"places": np.array(_places(spec), np.int64)},
    wrong=wrong,
    metrics={"performance_GFLOPS": operations, "run_time_s": lambda spec: 1},
    phases={"computation_ns": "computation_s", "communication_ns": "communication_s"},
    derived={"communication_percent": _nas.share},
    warmup=(0, 0),
)
