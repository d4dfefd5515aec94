"""Conjugate gradients on real ranks: the same numbers as numpy's, symmetric products, and that a fault spoils them."""

from __future__ import annotations

import numpy as np
import pytest

from labkit import benchmarks
from labkit.benchmarks.compute import hpcg
from labkit.errors import SpecError
from labkit.point.spec import Effort, Spec

from .conftest import Run

CELLS, STEPS = (6, 5, 4), 8


def spec(ranks: int, **options: object) -> Spec:
    own = dict(zip(("nx", "ny", "nz"), CELLS, strict=True)) | {"steps": STEPS}
    return benchmarks.resolve(Spec(benchmark="compute.hpcg", ranks=ranks, options={**own, **options}))  # type: ignore[arg-type]


def dense(cells: tuple[int, ...]) -> np.ndarray:
    """The matrix of a grid, the first dimension fastest: 26 on the diagonal, -1 for each neighbour."""
    places = np.array([(x, y, z) for z in range(cells[2]) for y in range(cells[1]) for x in range(cells[0])])
    near = np.abs(places[:, None] - places[None]).max(axis=2) == 1
    return 26.0 * np.eye(len(places)) - near


def residuals(cells: tuple[int, ...], owner: np.ndarray) -> list[float]:
    """Square of the norm of the residual before and after each step, with the sweep inside each owner's cells."""
    matrix = dense(cells)
    inside = np.where(owner[:, None] == owner[None], matrix, 0.0)
    lower, upper, diagonal = np.tril(inside), np.triu(inside), np.diag(np.diag(inside))
    r = matrix @ np.ones(len(matrix))
    x, p, old, norms = np.zeros(len(matrix)), np.zeros(len(matrix)), 0.0, [float(r @ r)]
    for step in range(STEPS):
        z = np.linalg.solve(upper, diagonal @ np.linalg.solve(lower, r))  # symmetric Gauss-Seidel
        now = float(r @ z)
        p = z + (now / old if step else 0.0) * p
        alpha = now / float(p @ matrix @ p)
        x, r, old = x + alpha * p, r - alpha * (matrix @ p), now
        norms.append(float(r @ r))
    return norms


@pytest.mark.mpi
@pytest.mark.parametrize(
    "grid", [(2, 1, 1), *(pytest.param(grid, marks=pytest.mark.slow) for grid in ((1, 1, 1), (1, 2, 2)))]
)
def test_the_steps_are_those_of_numpy(run_plan: Run, grid: tuple[int, int, int]) -> None:
    ranks = int(np.prod(grid))
    point = spec(ranks, **dict(zip(("px", "py", "pz"), grid, strict=True)))
    frames, ended = run_plan([point], Effort(iterations=2))
    assert ended.returncode == 0, ended.stderr[-2000:]
    (samples,) = (frame for frame in frames if frame.header["kind"] == "samples")
    assert samples.header["verified"] is True
    whole = tuple(n * p for n, p in zip(CELLS, grid, strict=True))
    z, y, x = np.meshgrid(
        *(np.arange(n) // own for n, own in zip(whole[::-1], CELLS[::-1], strict=True)), indexing="ij"
    )
    owner = (x + grid[0] * (y + grid[1] * z)).ravel()
    norms = residuals(whole, owner)
    results = samples.header["results"]
    assert results[0] == pytest.approx(norms[0], rel=1e-12)
    assert results[1] == pytest.approx(norms[-1], rel=1e-6)
    total, computing, inside = np.reshape(samples.values, samples.header["shape"])
    assert np.array_equal(total, computing + inside)
    communication = samples.header["communication"]
    pairs = {(rank, peer): (count, size) for rank, peer, count, size in communication["pairs"]}
    halos = 1 + 2 * STEPS
    assert {pair: count for pair, (count, _) in pairs.items()} == {
        (a, b): halos for a in range(ranks) for b in range(ranks) if a != b
    }
    assert communication["collectives"] == {"allreduce": [1 + 3 * STEPS, 8 * (1 + 3 * STEPS)]}
    if ranks == 2:
        assert pairs[0, 1][1] == halos * 8 * CELLS[1] * CELLS[2]


def test_operations_are_those_of_hpcg() -> None:
    """8 ranks of 104³ cells and 50 steps: the nonzeros that HPCG's report has for that grid."""
    point = spec(8, nx=104, ny=104, nz=104, steps=50)
    assert hpcg.shape(point) == (2, 2, 2)
    nonzeros, rows = (3 * 208 - 2) ** 3, 208**3
    assert hpcg.nonzeros(point) == nonzeros
    assert hpcg.operations(point) == 51 * 2 * nonzeros + 50 * 4 * nonzeros + 4 * 151 * rows


def good() -> np.ndarray:
    return np.array([100.0, 1.0, 1.0, 2.0, 5.0, 5.0, 7.0, 7.0, 9.0, 9.0])


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (2, 1.1, "the residual is 1.04881, but the steps arrived at 1"),
        (0, 0.5, "but both must fall"),
        (3, 1e6, "but both must fall"),
        (4, 5.001, "the matrix is not symmetric"),
        (7, 7.001, "the preconditioner is not symmetric"),
        (8, np.nan, "a result is not a number"),
    ],
)
def test_a_wrong_result_is_found(place: int, value: float, words: str) -> None:
    results = good()
    assert hpcg.wrong(spec(2), results) == ""
    results[place] = value
    assert words in hpcg.wrong(spec(2), results)


def test_wrong_options_are_one_clear_error() -> None:
    with pytest.raises(SpecError, match=r"nx=0, but it must be 1 to 1024"):
        spec(2, nx=0)
    with pytest.raises(SpecError, match=r"a grid of 3 x 1 x 1 does not hold exactly 2 ranks. Set px=2, py=1 and pz=1"):
        spec(2, px=3, py=1, pz=1)
    with pytest.raises(SpecError, match=r"steps=0, but it must be 1 to 10000"):
        spec(2, steps=0)
