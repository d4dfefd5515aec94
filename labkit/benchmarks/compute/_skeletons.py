"""Calls of MPI of a rank in a time step of NAS BT, SP and LU: lists that kernels/nas_skeleton.c goes through.

Sizes, partners and order follow NPB's sources (MPI, 3.3 and 3.4): ``copy_faces.f``, ``x_solve.f`` and ``make_set.f`` of
BT and SP, ``ssor.f``, ``rhs.f`` and ``exchange_*.f`` of LU. BT and SP have a diagonal multi-partition: each rank owns a
cell in every slice along x, y and z, so neighbours are the same in all slices. LU cuts x and y alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isqrt, prod

from labkit.benchmarks.compute import _nas
from labkit.benchmarks.storage.bt_io import Cell, cells
from labkit.point import rank_counts
from labkit.point.spec import Spec

IRECV, ISEND, RECV, SEND, WAIT, WAITALL, REDUCE_LAST = range(7)  # as in kernels/nas_skeleton.c
SLOTS, TAGS = 12, 16
_VALUES, _GHOSTS = 5, 2  # numbers of a point; layers that neighbours need
_SLACK = 1 << 12  # B, for the ends of parts of the memory
Call = tuple[int, int, int, int, int]  # kind, peer, doubles, tag, slot


@dataclass(frozen=True)
class Problem:
    """A NAS program.

    Parameters
    ----------
    classes : points along each side, and time steps, of each class.
    calls : calls of a rank in a time step: points, ranks, rank.
    check : what is wrong with the ranks of a spec; empty if nothing is.
    doc : what its messages are.
    """

    classes: dict[str, tuple[int, int]]
    calls: Callable[[int, int, int], Iterator[Call]]
    check: Callable[[Spec[_nas.Options], int], str]
    doc: str


# ---- BT and SP -----------------------------------------------------------------------------------------------------


def _neighbours(ranks: int, rank: int) -> tuple[list[int], list[int]]:
    """Ranks before and after along x, y and z (``make_set.f``)."""
    p = isqrt(ranks)
    i, j = rank % p, rank // p
    before = [(i - 1) % p + p * j, i + p * ((j - 1) % p), (i + 1) % p + p * ((j - 1) % p)]
    return before, [(i + 1) % p + p * j, i + p * ((j + 1) % p), (i - 1) % p + p * ((j + 1) % p)]


def _others(cell: Cell, d: int) -> list[tuple[int, int]]:
    """First point and number of points of a cell along the other two directions."""
    return [(cell.low[e], cell.size[e]) for e in range(3) if e != d]


def _faces(points: int, mine: list[Cell], before: list[int], after: list[int]) -> Iterator[Call]:
    """Two layers of all cells to six neighbours at once (``copy_faces.f``)."""
    sizes = []
    for d in range(3):
        faces = [_VALUES * _GHOSTS * prod(size for _, size in _others(cell, d)) for cell in mine]
        up = sum(face for face, cell in zip(faces, mine, strict=True) if cell.low[d] + cell.size[d] < points)
        sizes.append((up, sum(face for face, cell in zip(faces, mine, strict=True) if cell.low[d] > 0)))
    for d, (up, down) in enumerate(sizes):
        yield IRECV, after[d], up, 2 * d + 1, 2 * d
        yield IRECV, before[d], down, 2 * d, 2 * d + 1
    for d, (up, down) in enumerate(sizes):
        yield ISEND, after[d], up, 2 * d, 6 + 2 * d
        yield ISEND, before[d], down, 2 * d + 1, 7 + 2 * d
    yield WAITALL, 0, SLOTS, 0, 0


def _sweep(sizes: list[int], sender: int, receiver: int, tag: int) -> Iterator[Call]:
    """A sweep through the cells of a direction (``x_solve.f``).

    A rank sends on what its cell leaves, then waits for what its next cell needs, and for the send before.

    Parameters
    ----------
    sizes : doubles that each cell exchanges with its neighbours, in the order of the sweep.
    """
    for leaves, needs in pairwise(sizes):
        yield ISEND, receiver, leaves, tag, 1
        yield IRECV, sender, needs, tag, 0
        yield WAIT, 0, 0, 0, 1
        yield WAIT, 0, 0, 0, 0


def _bt(points: int, ranks: int, rank: int) -> Iterator[Call]:
    mine, side = list(cells(points, ranks, rank)), isqrt(ranks)
    before, after = _neighbours(ranks, rank)
    yield from _faces(points, mine, before, after)
    lines = (points // side + 1) ** 2  # of the largest cell, for every cell
    for d in range(3):
        yield from _sweep([lines * _VALUES * (_VALUES + 1)] * side, before[d], after[d], 6 + 2 * d)
        yield from _sweep([lines * _VALUES] * side, after[d], before[d], 7 + 2 * d)


def _sp(points: int, ranks: int, rank: int) -> Iterator[Call]:
    mine = list(cells(points, ranks, rank))
    before, after = _neighbours(ranks, rank)
    yield from _faces(points, mine, before, after)
    for d in range(3):
        order = sorted(mine, key=lambda cell: cell.low[d])
        lines = [prod(size - (low == 0) - (low + size == points) for low, size in _others(cell, d)) for cell in order]
        yield from _sweep([22 * n for n in lines], before[d], after[d], 6 + 2 * d)
        yield from _sweep([10 * n for n in reversed(lines)], after[d], before[d], 7 + 2 * d)


def _square(spec: Spec[_nas.Options], points: int) -> str:
    if wrong := rank_counts.not_square(spec.ranks, "this skeleton", least=4):
        return wrong
    if points // isqrt(spec.ranks) < 3:
        most = (points // 3) ** 2
        return f"ranks={spec.ranks}, but class {_nas.letter(spec)} has cells for at most {most}. Set ranks={most}."
    return ""


# ---- LU ------------------------------------------------------------------------------------------------------------


def _grid(ranks: int) -> tuple[int, int]:
    """Ranks along x and y (``proc_grid.f``)."""
    bits = ranks.bit_length() - 1
    return 1 << (bits + 1) // 2, 1 << bits // 2


def _lu(points: int, ranks: int, rank: int) -> Iterator[Call]:
    across, down = _grid(ranks)
    row, column = rank % across, rank // across
    nx = points // across + (row < points % across)
    ny = points // down + (column < points % down)
    north, south = row > 0, row + 1 < across
    west, east = column > 0, column + 1 < down
    rows = _VALUES * (ny - (not west) - (not east))  # of a plane to north and south, without the boundary
    columns = _VALUES * (nx - (not north) - (not south))
    there = {"n": (north, rank - 1, rows), "s": (south, rank + 1, rows)}
    there |= {"w": (west, rank - across, columns), "e": (east, rank + across, columns)}
    for sources, targets, tag in (("nw", "se", 0), ("se", "nw", 2)):  # lower, then upper triangle, plane after plane
        for _ in range(points - 2):
            for kind, ways in ((RECV, sources), (SEND, targets)):
                for k, way in enumerate(ways):
                    exists, peer, size = there[way]
                    if exists:
                        yield kind, peer, size, tag + (way in "we"), k
    yield REDUCE_LAST, 0, _VALUES, 0, 0
    yield from _layers(north, south, rank - 1, rank + 1, _VALUES * _GHOSTS * ny * points, 4)
    yield from _layers(west, east, rank - across, rank + across, _VALUES * _GHOSTS * nx * points, 6)
    yield REDUCE_LAST, 0, _VALUES, 0, 0


def _layers(low: bool, high: bool, before: int, after: int, size: int, tag: int) -> Iterator[Call]:
    """Two layers up, then two layers down, along one direction (``exchange_3.f``)."""
    for takes, source, gives, target, label in ((low, before, high, after, tag), (high, after, low, before, tag + 1)):
        if takes:
            yield IRECV, source, size, label, 0
        if gives:
            yield SEND, target, size, label, 1
        if takes:
            yield WAIT, 0, 0, 0, 0


def _rectangle(spec: Spec[_nas.Options], points: int) -> str:
    return _nas.power_of_two(spec, (1 << (points // 4).bit_length() - 1) ** 2)


PROBLEMS = {
    "bt": Problem(
        {"S": (12, 60), "W": (24, 200), "A": (64, 200), "B": (102, 200), "C": (162, 200)},
        _bt,
        _square,
        "Every step exchanges two layers of all cells with six neighbours at once. Then, along each direction, the "
        "cells are swept forth and back: in each of √ranks - 1 stages a rank passes 30 numbers of every line on to the "
        "next one, then 5 back.",
    ),
    "sp": Problem(
        {"S": (12, 100), "W": (36, 400), "A": (64, 400), "B": (102, 400), "C": (162, 400)},
        _sp,
        _square,
        "Messages as BT's, with 22 numbers of every inner line forth and 10 back.",
    ),
    "lu": Problem(
        {"S": (12, 50), "W": (33, 300), "A": (64, 250), "B": (102, 250), "C": (162, 250)},
        _lu,
        _rectangle,
        "Every step sweeps the planes along z down and up: for each plane a rank waits for two neighbours and sends to "
        "the two others, 5 numbers of each point on the border: many small messages one after the other. Then two "
        "layers go to each of up to four neighbours.",
    ),
}


def _name(spec: Spec[_nas.Options]) -> str:
    return spec.benchmark.removeprefix("compute.nas_").removesuffix("_skeleton")


def points(spec: Spec[_nas.Options]) -> int:
    """Points along each side."""
    return PROBLEMS[_name(spec)].classes[_nas.letter(spec)][0]


def steps(spec: Spec[_nas.Options]) -> int:
    """Time steps of a run."""
    return PROBLEMS[_name(spec)].classes[_nas.letter(spec)][1]


def check(spec: Spec[_nas.Options]) -> str:
    """Say what is wrong with the number of ranks; empty if nothing is."""
    return PROBLEMS[_name(spec)].check(spec, points(spec))


def calls(spec: Spec[_nas.Options], rank: int) -> tuple[Call, ...]:
    """Calls of a rank in a time step."""
    return tuple(PROBLEMS[_name(spec)].calls(points(spec), spec.ranks, rank))


@lru_cache(maxsize=32)
def _sizes(name: str, side: int, ranks: int) -> tuple[int, int, int]:
    """Messages and doubles of all ranks in a time step, and doubles of the largest message."""
    sizes = [
        count
        for rank in range(ranks)
        for kind, _, count, _, _ in PROBLEMS[name].calls(side, ranks, rank)
        if kind in (SEND, ISEND)
    ]
    return len(sizes), sum(sizes), max(sizes)


def messages(spec: Spec[_nas.Options]) -> int:
    """Messages of all ranks in a run."""
    return steps(spec) * _sizes(_name(spec), points(spec), spec.ranks)[0]


def moved(spec: Spec[_nas.Options]) -> int:
    """B of the messages of all ranks in a run."""
    return 8 * steps(spec) * _sizes(_name(spec), points(spec), spec.ranks)[1]


def stride(spec: Spec[_nas.Options]) -> int:
    """Doubles of a slot: the largest message of any rank, or the two vectors of a sum."""
    return max(2 * _VALUES, _sizes(_name(spec), points(spec), spec.ranks)[2])


def memory(spec: Spec[_nas.Options]) -> int:
    """B that a rank needs for messages and counters."""
    return 8 * (SLOTS * stride(spec) + 2 * TAGS * spec.ranks) + _SLACK


def wrong(spec: Spec[_nas.Options], results: _nas.Results) -> str:
    """Say what is wrong with the messages of a run; empty if nothing is."""
    bad, checked, all_of_them = int(results[0]), int(results[1]), messages(spec)
    if bad or checked != all_of_them:
        return f"{bad} of {checked} messages were not those that were expected, and there must be {all_of_them}"
    return ""
