"""Place ranks in a grid of three dimensions; the first varies fastest."""

from itertools import product
from math import prod
from typing import Protocol

from labkit.benchmarks.mpi.stencil import sides
from labkit.options import frozen
from labkit.options.ranks import Buffers
from labkit.point.spec import Spec

Place = tuple[int, int, int]
OPTIONS = ("px", "py", "pz", "preset")
PRESETS: dict[str, Place | None] = {"ember": None, "chatterbug": None, "ethernet2020": (4, 4, 3)}


@frozen
class Grid(Buffers):
    """Options of ranks in a grid.

    Parameters
    ----------
    px, py, pz : ranks along each side; all 0 for the grid of the preset, or else the most cubic one.
    """

    px: int = 0
    py: int = 0
    pz: int = 0


class Preset(Protocol):
    """Options of ranks in a grid that a preset may choose."""

    @property
    def px(self) -> int: ...
    @property
    def py(self) -> int: ...
    @property
    def pz(self) -> int: ...
    @property
    def preset(self) -> str: ...


def shape(spec: Spec[Preset]) -> Place:
    """Ranks along each side.

    Examples
    --------
    >>> shape(Spec(benchmark="apps.halo3d26", ranks=12, options={"px": 0, "py": 0, "pz": 0, "preset": "ember"}))
    (3, 2, 2)
    """
    chosen = (spec.options.px, spec.options.py, spec.options.pz)
    if any(chosen):
        return chosen
    preset = PRESETS[spec.options.preset]
    if preset is not None and prod(preset) == spec.ranks:
        return preset
    x, y, z = sides(spec.ranks, 3)
    return x, y, z


def check(spec: Spec[Preset]) -> str:
    """Say what is wrong with the grid; empty if nothing is."""
    grid = shape(spec)
    if min(grid) < 1 or prod(grid) != spec.ranks:
        x, y, z = sides(spec.ranks, 3)
        return (
            f"a grid of {grid[0]} x {grid[1]} x {grid[2]} does not hold exactly {spec.ranks} ranks. "
            f"Set px={x}, py={y} and pz={z}, or all to 0."
        )
    return ""


def place(grid: Place, rank: int) -> Place:
    """Coordinates of a rank.

    Examples
    --------
    >>> place((3, 2, 2), 7)
    (1, 0, 1)
    """
    return rank % grid[0], rank // grid[0] % grid[1], rank // (grid[0] * grid[1])


def rank_at(grid: Place, at: Place) -> int:
    """The rank at a place."""
    return at[0] + grid[0] * (at[1] + grid[1] * at[2])


def _directions() -> tuple[Place, ...]:
    """Directions to the 6 faces, 12 edges and 8 corners of a cube; each is followed by its opposite."""
    half = [way for way in product((0, 1, -1), repeat=3) if way > (0, 0, 0)]
    half.sort(key=lambda way: sum(map(abs, way)))
    return tuple(way for x, y, z in half for way in ((x, y, z), (-x, -y, -z)))


DIRECTIONS = _directions()
