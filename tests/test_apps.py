"""What the communication kernels of applications send: counted by hand, no ranks."""

import pytest

from labkit import benchmarks
from labkit.benchmarks.apps import _grid, fft_subcom3d, halo3d26
from labkit.errors import SpecError
from labkit.point.spec import Spec


def halo(ranks: int = 27, **options: object) -> Spec:
    return benchmarks.resolve(Spec(benchmark="apps.halo3d26", ranks=ranks, options=options))  # type: ignore[arg-type]


@pytest.mark.parametrize(("neighbours", "bytes_sent"), [("6", 6 * 800), ("18", 6 * 800 + 12 * 80), ("26", 5824)])
def test_the_rank_in_the_middle_sends_faces_edges_and_corners(neighbours: str, bytes_sent: int) -> None:
    spec = halo(neighbours=neighbours)
    assert _grid.shape(spec) == (3, 3, 3)
    sent = halo3d26.messages(spec, 13)
    assert len(sent) == len({who for who, *_ in sent}) == int(neighbours)
    assert sum(count for _, count, _, _ in sent) == bytes_sent


def test_a_corner_rank_has_seven_neighbours_unless_the_grid_wraps_around() -> None:
    assert len(halo3d26.messages(halo(), 0)) == 7
    assert len(halo3d26.messages(halo(periodic=True), 0)) == 26


def test_directions_lie_beside_their_opposites() -> None:
    assert len(set(_grid.DIRECTIONS)) == 26
    for k, way in enumerate(_grid.DIRECTIONS):
        assert _grid.DIRECTIONS[k ^ 1] == tuple(-step for step in way)
    assert [sum(map(abs, way)) for way in _grid.DIRECTIONS] == [1] * 6 + [2] * 12 + [3] * 8


def test_the_paper_s_halo_has_its_grid_faces_and_edges() -> None:
    spec = halo(48, preset="ethernet2020")
    assert _grid.shape(spec) == (4, 4, 3)
    values = halo3d26.chosen(spec)
    assert (values["nx"], values["vars"], values["sleep_us"], values["neighbours"]) == (100, 8, 216.0, "18")
    inner = halo3d26.messages(spec, _grid.rank_at((4, 4, 3), (1, 1, 1)))
    assert sum(count for _, count, _, _ in inner) == 6 * 640_000 + 12 * 6_400
    assert halo3d26.chosen(halo(preset="ethernet2020", sleep_us=0.0, nx=5))["sleep_us"] == 0
    assert _grid.shape(halo(8, preset="ethernet2020")) == (2, 2, 2)


def test_the_paper_s_fft_asks_for_its_size() -> None:
    with pytest.raises(SpecError, match="Set size=10000"):
        benchmarks.resolve(Spec(benchmark="apps.fft_subcom3d", ranks=48, options={"preset": "ethernet2020"}))
    spec = benchmarks.resolve(
        Spec(benchmark="apps.fft_subcom3d", size=10_000, ranks=48, options={"preset": "ethernet2020"})
    )
    assert [len(fft_subcom3d.line(spec, 7, side)) for side in range(3)] == [4, 4, 3]
    assert fft_subcom3d.line(spec, 7, 0) == [4, 5, 6, 7]
    assert fft_subcom3d.line(spec, 7, 1) == [3, 7, 11, 15]
    assert fft_subcom3d.line(spec, 7, 2) == [7, 23, 39]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"px": 2, "py": 2, "pz": 2}, "does not hold exactly 27 ranks. Set px=3, py=3 and pz=3"),
        ({"nx": -1}, "nx=-1"),
        ({"sleep_us": -3.0}, "sleep_us=-3.0"),
        ({"nx": 60_000, "ny": 60_000}, "at most 2147483647 B"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(options: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        halo(**options)
