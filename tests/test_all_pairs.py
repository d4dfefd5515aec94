"""Bad pairs, and whose fault they are: times of a made-up cluster, no ranks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from labkit import figures
from labkit.benchmarks.mpi.all_pairs import partners
from labkit.errors import DataError
from labkit.figures import small_print
from labkit.judge import all_pairs
from labkit.point.spec import Spec
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.studies import all_pairs as all_pairs_study

from . import made

Factors = NDArray[np.float64]
HOSTS = [f"node{k}" for k in range(12)]
SWITCHES = {host: f"leaf{k // 4}" for k, host in enumerate(HOSTS)}


def launch(seed: int, slow: Factors | None = None, chunks: tuple[int, ...] = (37, 110, 73)) -> Samples:
    """Round trips of 12 ranks that scatter by 3 %, those of slow pairs by a factor longer."""
    schedule, ranks = partners(12), 12
    turns = np.arange(sum(chunks)) % len(schedule)
    factor = np.ones((ranks, ranks)) if slow is None else slow
    usual = np.array([[20_000 * factor[rank, schedule[turn, rank]] for turn in turns] for rank in range(ranks)])
    times = usual * np.random.default_rng(seed).lognormal(0, 0.03, usual.shape)
    spec = Spec(benchmark="mpi.all_pairs", ranks=ranks)
    return made.samples(spec, times, launch=seed, meta={"chunks": list(chunks), "rank_hosts": HOSTS})


def slow(*pairs: tuple[int, int]) -> Factors:
    factors = np.ones((12, 12))
    for one, other in pairs:
        factors[one, other] = factors[other, one] = 1.6
    return factors


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
def test_everybody_meets_everybody_once_and_nobody_two_at_once(ranks: int) -> None:
    schedule = partners(ranks)
    met = [frozenset((rank, int(other))) for row in schedule for rank, other in enumerate(row) if other >= 0]
    assert len(met) == ranks * (ranks - 1)
    assert len(set(met)) == ranks * (ranks - 1) // 2
    for row in schedule:
        assert all(row[other] == rank for rank, other in enumerate(row) if other >= 0)


def test_the_matrix_puts_every_round_where_it_belongs() -> None:
    factor = 1 + np.arange(144).reshape(12, 12) / 100
    seconds = all_pairs.matrix(launch(1, factor))
    off = ~np.eye(12, dtype=bool)
    assert seconds[off] == pytest.approx(10e-6 * factor[off], rel=0.05)
    assert np.isnan(np.diag(seconds)).all()


@pytest.mark.parametrize(
    ("pairs", "cause", "count"),
    [
        ([(5, k) for k in range(12) if k != 5], "the card or cable of node5", 11),
        ([(a, b) for a in range(4, 8) for b in range(12) if b // 4 != 1], "the uplink of switch leaf1", 32),
        ([(a, b) for a in range(8, 12) for b in range(a + 1, 12)], "switch leaf2", 6),
        ([(3, 9)], "this pair alone", 1),
    ],
)
def test_the_part_to_blame_is_named(pairs: list[tuple[int, int]], cause: str, count: int) -> None:
    verdict = all_pairs.bad_pairs(launch(1, slow(*pairs)), launch(2, slow(*pairs)), SWITCHES)
    assert set(verdict.table["cause"]) == {cause}
    assert len(verdict.table) == count
    assert verdict.table["excess"].median() == pytest.approx(0.6, abs=0.1)


def test_a_disturbance_that_passes_is_no_bad_pair() -> None:
    verdict = all_pairs.bad_pairs(launch(1, slow((3, 9))), launch(2))
    assert verdict.table.empty
    assert verdict.passing == 1
    assert "None of 66 pairs was slow twice" in verdict.sentence


def test_a_healthy_system_is_left_alone() -> None:
    assert not any(all_pairs.suspicious(all_pairs.matrix(launch(k)), HOSTS).any() for k in range(50))


def test_other_samples_have_no_pairs() -> None:
    with pytest.raises(DataError, match="differ"):
        all_pairs.bad_pairs(launch(1), replace(launch(1), spec=Spec(benchmark="mpi.latency")))
    with pytest.raises(DataError, match="has no pairs"):
        all_pairs.matrix(replace(launch(1), spec=Spec(benchmark="mpi.latency")))


def test_the_heat_map_is_ordered_by_switch_and_marks_bad_pairs() -> None:
    verdict = all_pairs.bad_pairs(launch(1, slow((3, 9))), launch(2, slow((3, 9))), SWITCHES)
    hosts = HOSTS[::-1]  # rank 0 is on the last host
    figure = figures.pairs(verdict.seconds, hosts, SWITCHES, bad=[(3, 9)])
    heat, marks = figure.data
    assert list(figure.layout.xaxis.ticktext) == sorted(HOSTS, key=lambda host: (SWITCHES[host], host))
    slowest = {(int(y), int(x)) for y, x in np.argwhere(np.array(heat.z, float) > 14)}
    assert slowest == set(zip(marks.y, marks.x, strict=True))
    assert len(figure.layout.shapes) == 4
    with pytest.raises(DataError, match="there are 3 hosts"):
        figures.pairs(verdict.seconds, hosts[:3])


def many(ranks: int, meetings: int = 6) -> Samples:
    """A measurement of very many hosts, one of which is slow."""
    schedule = partners(ranks)
    times = np.random.default_rng(1).normal(4000, 60, (ranks, len(schedule) * meetings)).astype(np.int64)
    times[17] += 1500
    for turn, row in enumerate(schedule):
        times[row[17], turn :: len(schedule)] += 1500
    hosts = [f"node{rank}" for rank in range(ranks)]
    spec = Spec(benchmark="mpi.all_pairs", size=8, ranks=ranks)
    return made.samples(spec, times, origin="simulated", meta={"rank_hosts": hosts})


@pytest.mark.slow
def test_very_many_pairs_are_judged_and_drawn_in_a_small_figure() -> None:
    first = many(500)
    verdict = all_pairs.bad_pairs(first, replace(first, launch=1))
    assert set(verdict.table["cause"]) == {"the card or cable of node17"}
    assert len(verdict.table) == 499
    hosts = all_pairs.hosts_of(first)
    worst = all_pairs.effects(verdict.seconds, hosts, {}).nlargest(2, "excess")
    assert set(worst["part"]) == {"rank 17 on node17"}
    bad = list(zip(verdict.table["rank"], verdict.table["other"], strict=True))
    heat = figures.pairs(verdict.seconds, hosts, bad=bad)
    assert len(heat.data[0].z) == 250
    assert "a cell is the greatest of 2 × 2 pairs" in heat.layout.xaxis.title.text
    assert len(heat.to_json()) < 2_000_000
    causes = {(row.rank, row.other): row.cause for row in verdict.table.itertuples()}
    matrix = all_pairs.matrix(first)
    twice = figures.repeated_pairs(matrix, matrix, hosts, limits=[1, 1], causes=causes)
    assert "124,750 pairs; of those that fall on one spot one is drawn" in [
        one.text for one in small_print.notes_of(twice)
    ]
    assert len(twice.to_json()) < 1_000_000
    assert len(twice.data[1].x) == 499


@pytest.mark.slow
def test_fewer_measurements_of_many_pairs_are_simulated() -> None:
    assert all_pairs.false_alarms(many(18)).draws == 400
    assert all_pairs.false_alarms(many(300, 9)).draws == 74


def test_no_all_clear_is_given_for_hosts_that_were_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If four of six hosts were measured, the verdict counts them and names the others."""
    Campaign(tmp_path / "c")
    study = all_pairs_study.Study(
        campaign=str(tmp_path / "c"), measure=False, hosts=",".join([*HOSTS, "node12", "node13"])
    )
    monkeypatch.setattr(type(study), "pairs", lambda self, size: [launch(1), launch(2)])
    text = " ".join(study._verdicts())
    assert "None of 66 pairs was slow twice." in text
    assert "Hosts measured: 12 of 14. Nothing is known about node12, node13: set ranks=14." in text
    every = all_pairs_study.Study(campaign=str(tmp_path / "c"), measure=False, hosts=",".join(HOSTS))
    assert "Hosts measured" not in " ".join(every._verdicts())


def test_a_pair_without_a_common_cause_is_not_said_to_be_slow_alone() -> None:
    """Only measuring a pair alone shows whether it is slow alone."""
    sentence = all_pairs.bad_pairs(launch(1, slow((1, 7))), launch(2, slow((1, 7))), SWITCHES).sentence
    assert "1 pair shares no host and no switch with the other slow ones: node1 and node7" in sentence
    assert "measured alone" not in sentence


def test_one_launch_shows_what_it_can_and_says_what_it_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No error: suspicious pairs are named, none is confirmed, and figures that compare two launches are left out."""
    study = all_pairs_study.Study(
        campaign=str(Campaign(tmp_path / "c").path), measure=False, launches=1, sizes="8", hosts=",".join(HOSTS)
    )
    assert study.specs()
    monkeypatch.setattr(type(study), "pairs", lambda self, size: [launch(1, slow((1, 7)))])
    text = str(study.findings())
    assert (
        "1 of 66 pairs (node1 and node7) was slow in the only launch. One launch confirms nothing: set launches=2"
        in text
    )
    assert "set launches=2" in str(study.map_figure(8)).lower()
    assert "set launches=2" in str(study.twice_figure(8)).lower()
    assert study.bad_table().empty
    assert study.effects_table().empty
    monkeypatch.setattr(type(study), "pairs", lambda self, size: [launch(1)])
    assert "none of 66 pairs was slow in the only launch" in str(study.findings())
