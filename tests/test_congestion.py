"""Victims and congestors, impact factors, fairness and interference: no ranks."""

import pytest

from labkit import benchmarks
from labkit.benchmarks.congestion import _gpcnet
from labkit.errors import SpecError
from labkit.spec import Spec


def loaded(ranks: int, *, ppn: int = 0, **options: object) -> Spec:
    given = {"benchmark": "congestion.gpcnet_loaded", "ranks": ranks, "ppn": ppn, "options": options}
    return benchmarks.resolve(Spec(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize(("ranks", "victims"), [(4, 2), (5, 2), (10, 2), (20, 4), (40, 8)])
def test_four_fifths_are_congestors_and_two_of_each_there_always_are(ranks: int, victims: int) -> None:
    who = _gpcnet.roles(loaded(ranks))
    assert sum(map(len, who.victims)) == victims
    everybody = [rank for group in (*who.victims, *who.congestors) for rank in group]
    assert sorted(everybody) == list(range(ranks))
    assert all(len(group) >= 2 for group in who.congestors)
    assert len(who.patterns) == min(4, (ranks - victims) // 2)


def test_nodes_are_drawn_as_a_whole_and_rings_leave_them() -> None:
    who = _gpcnet.roles(loaded(40, ppn=4))
    nodes = [{rank // 4 for rank in group} for group in (*who.victims, *who.congestors)]
    assert [len(ring) for ring in who.victims] == [2, 2, 2, 2]
    assert len(set.union(*nodes[:4])) == 2
    assert not set.union(*nodes[:4]) & set.union(*nodes[4:])
    assert all(len(group) == len(on) for group, on in zip((*who.victims, *who.congestors), nodes, strict=True))


def test_fan_in_is_the_number_of_senders_to_one() -> None:
    who = _gpcnet.roles(loaded(20, congestor="incast", fan_in=3))
    assert [len(group) for group in who.congestors] == [4, 4, 4, 4]
    assert set(who.patterns) == {"incast"}


def test_every_place_of_every_ring_has_both_neighbours() -> None:
    rings = _gpcnet.rings(5, "random")
    assert rings.shape == (30, 5, 2)
    for ring in rings:
        assert sorted(ring[:, 0]) == sorted(ring[:, 1]) == list(range(5))
        assert all(ring[ring[k, 1], 0] == k for k in range(5))
    assert _gpcnet.rings(5, "natural")[7, 2].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"share": 101.0}, "share=101.0"),
        ({"fan_in": 9}, "fan_in=9"),
        ({"congestor_size": 0}, "Set congestor_size=4096"),
    ],
)
def test_impossible_options_are_named(options: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        loaded(4, **options)
