"""Problem classes of the NAS kernels: sizes, published results, memory; and the layout of a kernel's results.

Sizes, seeds, tolerances, verification values and the formulas of operations follow the NAS Parallel Benchmarks
3.4 (MPI).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt, log, prod
from typing import TYPE_CHECKING, Any, Literal

from labkit import stats
from labkit.benchmarks.compute._ft_checksums import CHECKSUMS
from labkit.options import frozen
from labkit.options.ranks import Buffers
from labkit.point import rank_counts
from labkit.point.spec import Spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Results = NDArray[np.float64]

RESULTS, SIZES = 64, 32  # as in kernels/nas.h
COLLECTIVES = ("allreduce", "reduce", "alltoall")
CLASSES = ("S", "W", "A", "B", "C")
_SLACK = 1 << 14  # B, for the ends of parts of the memory


@frozen
class Options(Buffers):
    """Options of the NAS kernels.

    Parameters
    ----------
    npb_class : size of the problem: S for tests, W for a workstation, A, B and C each about four times the one before.
    """

    npb_class: Literal["S", "W", "A", "B", "C"] = "S"


def letter(spec: Spec[Options]) -> str:
    """The class of a point."""
    return spec.options.npb_class


def received(spec: Spec) -> int:
    """B of the receive buffer: results and counts, as kernels/nas.h has them."""
    return 8 * (RESULTS + 2 * spec.ranks + 2 * len(COLLECTIVES) + SIZES)


def share(phases: Mapping[str, NDArray[np.int64]]) -> float:
    """Share of the run time inside MPI, mean over ranks and runs, %."""
    return stats.percent(phases["communication_ns"].mean(), phases["time_ns"].mean())


def power_of_two(spec: Spec[Options], most: int) -> str:
    """Say what is wrong with a number of ranks that must be a power of two; empty if nothing is."""
    ranks = spec.ranks
    if ranks > most:
        return f"ranks={ranks}, but class {letter(spec)} has work for at most {most}. Set ranks={most}."
    return rank_counts.not_power_of_two(ranks, "this kernel", most=most)


def near(name: str, value: float, published: float, tolerance: float) -> str:
    """Say by how much a value misses the published one; empty if it does not."""
    error = abs((value - published) / published)
    if error <= tolerance:  # false for NaN
        return ""
    return f"{name} is {value:.13g}, but must be {published:.13g} within {tolerance:g} (relative error {error:.3g})"


# ---- EP ------------------------------------------------------------------------------------------------------------

_PAIRS = {"S": 24, "W": 25, "A": 28, "B": 30, "C": 32}  # log2 of the pairs
_BATCH = 16  # log2 of the pairs of a batch
_SUMS = {
    "S": (-3.247834652034740e3, -6.958407078382297e3),
    "W": (-2.863319731645753e3, -6.320053679109499e3),
    "A": (-4.295875165629892e3, -1.580732573678431e4),
    "B": (4.033815542441498e4, -2.660669192809235e4),
    "C": (4.764367927995374e4, -8.084072988043731e4),
}


def ep_places(spec: Spec[Options]) -> list[int]:
    """Memory and number of batches."""
    return [64, 1 << (_PAIRS[letter(spec)] - _BATCH)]


def ep_operations(spec: Spec[Options]) -> float:
    """Random numbers of a run."""
    return 2.0 ** (_PAIRS[letter(spec)] + 1)


def ep_check(spec: Spec[Options]) -> str:
    """Every rank needs a batch."""
    most = ep_places(spec)[1]
    if spec.ranks <= most:
        return ""
    return f"ranks={spec.ranks}, but class {letter(spec)} has work for at most {most}. Set ranks={most}."


def ep_wrong(spec: Spec[Options], results: Results) -> str:
    """Compare the sums of the deviates."""
    texts = (
        near(f"sum of {axis}", float(x), right, 1e-8)
        for axis, x, right in zip("XY", results, _SUMS[letter(spec)], strict=False)
    )
    return next(filter(None, texts), "")


# ---- IS ------------------------------------------------------------------------------------------------------------

ROUNDS = 10
_KEYS = {"S": (16, 11, 9), "W": (20, 16, 10), "A": (23, 19, 10), "B": (25, 21, 10), "C": (27, 23, 10)}  # log2


@dataclass(frozen=True)
class _Tests:
    """Keys with published ranks: places, ranks, and the rank's change in round i, sign x (i + shift)."""

    places: tuple[int, ...]
    ranks: tuple[int, ...]
    signs: tuple[int, ...]
    shifts: tuple[int, ...] = (0, 0, 0, 0, 0)

    def rank(self, test: int, round_: int) -> int:
        """Rank that test key must have in a round, from 1."""
        return self.ranks[test] + self.signs[test] * (round_ + self.shifts[test])


_THREE_UP = (1, 1, 1, -1, -1)
_TESTS = {
    "S": _Tests((48427, 17148, 23627, 62548, 4431), (0, 18, 346, 64917, 65463), _THREE_UP),
    "W": _Tests(
        (357773, 934767, 875723, 898999, 404505),
        (1249, 11698, 1039987, 1043896, 1048018),
        (1, 1, -1, -1, -1),
        (-2, -2, 0, 0, 0),
    ),
    "A": _Tests(
        (2112377, 662041, 5336171, 3642833, 4250760), (104, 17523, 123928, 8288932, 8388264), _THREE_UP, (-1,) * 5
    ),
    "B": _Tests(
        (41869, 812306, 5102857, 18232239, 26860214), (33422937, 10244, 59149, 33135281, 99), (-1, 1, 1, -1, 1)
    ),
    "C": _Tests(
        (44172927, 72999161, 74326391, 129606274, 21736814),
        (61147, 882988, 266290, 133997595, 133525895),
        _THREE_UP,
    ),
}


def is_places(spec: Spec[Options]) -> list[int]:
    """Memory, keys, log2 of the greatest key and of the buckets, capacity of a rank in keys, places of the tests."""
    keys, greatest, buckets = _KEYS[letter(spec)]
    mine, ranks = (1 << keys) // spec.ranks, spec.ranks
    factor = next((factor for limit, factor in ((256, 1.5), (512, 2.5), (1024, 4.0)) if ranks < limit), 6.5)
    capacity = max(int(factor * mine), 64)
    memory = 4 * (3 * capacity + 3 * (1 << buckets) + 4 * ranks) + _SLACK
    return [memory, 1 << keys, greatest, buckets, capacity, *_TESTS[letter(spec)].places]


def is_operations(spec: Spec[Options]) -> float:
    """Keys that are ranked in a run."""
    return float(ROUNDS << _KEYS[letter(spec)][0])


def is_check(spec: Spec[Options]) -> str:
    """NPB's limits of ranks."""
    return power_of_two(spec, 128 if letter(spec) == "S" else 1024)


def is_wrong(spec: Spec[Options], results: Results) -> str:
    """Compare the ranks of the test keys in each round, and the order of all keys."""
    tests, keys = _TESTS[letter(spec)], 1 << _KEYS[letter(spec)][0]
    for round_ in range(1, ROUNDS + 1):
        for test in range(len(tests.places)):
            rank, right = int(results[(round_ - 1) * len(tests.places) + test]), tests.rank(test, round_)
            if rank != right:
                return f"test key {test} has rank {rank} in round {round_}, but must have {right}"
    unordered, held = (int(value) for value in results[ROUNDS * len(tests.places) :][:2])
    if unordered or held != keys:
        return f"{unordered} of {held} keys are out of order, but all {keys} keys must be in order"
    return ""


# ---- CG ------------------------------------------------------------------------------------------------------------

# order of the matrix, nonzeros of a vector, steps, shift, zeta
_MATRICES = {
    "S": (1400, 7, 15, 10, 8.5971775078648),
    "W": (7000, 8, 15, 12, 10.362595087124),
    "A": (14000, 11, 15, 20, 17.130235054029),
    "B": (75000, 13, 75, 60, 22.712745482631),
    "C": (150000, 15, 75, 110, 28.973605592845),
}


def cg_places(spec: Spec[Options]) -> list[int]:
    """Memory, order of the matrix, nonzeros of a vector, steps, shift, capacity of a rank in elements."""
    order, nonzero, steps, shift, _ = _MATRICES[letter(spec)]
    ranks = spec.ranks
    down = 1 << (isqrt(ranks).bit_length() - 1)
    across = ranks // down
    capacity = order * (nonzero + 1) // ranks * (nonzero + 1) + nonzero + order * (nonzero + 2 + ranks // 256) // across
    memory = 12 * capacity + 8 * 8 * (order // down + 8) + 12 * order * (nonzero + 1) + 17 * order + _SLACK
    return [memory, order, nonzero, steps, shift, capacity]


def cg_operations(spec: Spec[Options]) -> float:
    """Floating-point operations of a run, by NPB's formula."""
    order, nonzero, steps, _, _ = _MATRICES[letter(spec)]
    pairs = nonzero * (nonzero + 1)
    return 2.0 * steps * order * (3 + pairs + 25 * (5 + pairs) + 3)


def cg_check(spec: Spec[Options]) -> str:
    """A grid of ranks whose sides are powers of two."""
    return power_of_two(spec, 1024)


def cg_wrong(spec: Spec[Options], results: Results) -> str:
    """Compare zeta."""
    return near("zeta", float(results[0]), _MATRICES[letter(spec)][4], 1e-10)


# ---- MG ------------------------------------------------------------------------------------------------------------

# cells of a side, cycles, norm of the residual
_CUBES = {
    "S": (32, 4, 0.5307707005734e-04),
    "W": (128, 4, 0.6467329375339e-05),
    "A": (256, 4, 0.2433365309069e-05),
    "B": (256, 20, 0.1800564401355e-05),
    "C": (512, 20, 0.5706732285740e-06),
}
_FEWEST = 4  # cells of a rank along each side


def mg_places(spec: Spec[Options]) -> list[int]:
    """Memory, cells of a side, cycles, and which of two smoothers."""
    side, cycles, _ = _CUBES[letter(spec)]
    bits = spec.ranks.bit_length() - 1
    x = bits // 3
    y = (bits - x) // 2
    parts = [1 << n for n in (x, y, bits - x - y)]
    boxes = [[-(-(side >> k) // part) + 2 for part in parts] for k in range(side.bit_length() - 1)]
    faces = [prod(boxes[0]) // n for n in boxes[0]]
    values = 2 * sum(map(prod, boxes)) + prod(boxes[0]) + 8 * max(faces) + 2 * boxes[0][0]
    return [8 * values + _SLACK, side, cycles, int(letter(spec) in "BC")]


def mg_operations(spec: Spec[Options]) -> float:
    """Floating-point operations of a run, by NPB's formula."""
    side, cycles, _ = _CUBES[letter(spec)]
    return 58.0 * cycles * side**3


def mg_check(spec: Spec[Options]) -> str:
    """A grid of ranks, each with some cells."""
    return power_of_two(spec, (_CUBES[letter(spec)][0] // _FEWEST) ** 3)


def mg_wrong(spec: Spec[Options], results: Results) -> str:
    """Compare the norm of the residual."""
    return near("norm of the residual", float(results[0]), _CUBES[letter(spec)][2], 1e-8)


# ---- FT ------------------------------------------------------------------------------------------------------------

_BOXES = {
    "S": (64, 64, 64, 6),
    "W": (128, 128, 32, 6),
    "A": (256, 256, 128, 6),
    "B": (512, 256, 256, 20),
    "C": (512, 512, 512, 20),
}  # cells along x, y and z, steps


def ft_places(spec: Spec[Options]) -> list[int]:
    """Memory, cells along x, y and z, steps."""
    *sides, steps = _BOXES[letter(spec)]
    memory = 56 * prod(sides) // spec.ranks + 34 * 16 * max(sides) + _SLACK
    return [memory, *sides, steps]


def ft_operations(spec: Spec[Options]) -> float:
    """Floating-point operations of a run, by NPB's formula."""
    *sides, steps = _BOXES[letter(spec)]
    cells = prod(sides)
    return cells * (14.8157 + 7.19641 * log(cells) + (5.23518 + 7.21113 * log(cells)) * steps)


def ft_check(spec: Spec[Options]) -> str:
    """Whole layers along z for each rank: NPB's 1-D layout, without its layout for more ranks."""
    return power_of_two(spec, _BOXES[letter(spec)][2])


def ft_wrong(spec: Spec[Options], results: Results) -> str:
    """Compare the checksum of each step."""
    for step, published in enumerate(CHECKSUMS[letter(spec)]):
        computed = complex(results[2 * step], results[2 * step + 1])
        error = abs((computed - published) / published)
        if not error <= 1e-12:
            return (
                f"checksum of step {step + 1} is {computed:.13g}, but must be {published:.13g} within 1e-12 (relative "
                f"error {error:.3g})"
            )
    return ""


@dataclass(frozen=True)
class Kernel:
    """What labkit must know of a NAS kernel.

    Parameters
    ----------
    places : memory of a rank in B, then the kernel's own parameters.
    operations : operations of a run, by NPB's formula.
    check : what is wrong with the ranks of a spec; empty if nothing is.
    wrong : what is wrong with the results of a run; empty if nothing is.
    dtype : type of the elements of its messages.
    requests : handles it needs.
    title, doc : what it is, in a few words and in sentences.
    """

    places: Callable[[Spec[Options]], Sequence[int]]
    operations: Callable[[Spec[Options]], float]
    check: Callable[[Spec[Options]], str]
    wrong: Callable[[Spec[Options], Any], str]
    title: str
    doc: str
    dtype: str = "float64"
    requests: int = 1


KERNELS: Mapping[str, Kernel] = {
    "ep": Kernel(
        ep_places,
        ep_operations,
        ep_check,
        ep_wrong,
        "pairs of random deviates (NAS EP)",
        "Pairs of normal deviates by the polar method. Ranks compute alone and add up twelve numbers in the end.",
    ),
    "is": Kernel(
        is_places,
        is_operations,
        is_check,
        is_wrong,
        "sort of integers (NAS IS)",
        "Ranks of integer keys, ten times. Each time all ranks add up the sizes of buckets and send every key to the "
        "rank that its bucket belongs to (MPI_Alltoallv).",
        dtype="int32",
    ),
    "cg": Kernel(
        cg_places,
        cg_operations,
        cg_check,
        cg_wrong,
        "conjugate gradients (NAS CG)",
        "Smallest eigenvalue of a sparse random matrix. For each product the ranks of a row of the grid add up vectors "
        "in pairs, then each exchanges one with its transposed rank. Sums of one number follow.",
    ),
    "mg": Kernel(
        mg_places,
        mg_operations,
        mg_check,
        mg_wrong,
        "multigrid (NAS MG)",
        "Poisson equation on a cube by V-cycles. After each sweep a rank exchanges the faces of its box with six "
        "neighbours, on every level: large messages on fine grids, small ones on coarse grids. The maximum norm, which "
        "NPB prints and does not verify, is left out.",
        requests=2,
    ),
    "ft": Kernel(
        ft_places,
        ft_operations,
        ft_check,
        ft_wrong,
        "3-D FFT (NAS FT)",
        "Diffusion equation by fast Fourier transforms. In each step all ranks transpose their data (MPI_Alltoall) and "
        "add up a checksum. Each rank has whole layers, so there are at most as many ranks as layers.",
    ),
}
