"""Bad pairs, and whose fault they are: times of a made-up cluster, no ranks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from labkit import figures
from labkit.benchmarks.mpi.all_pairs import partners
from labkit.errors import DataError
from labkit.figures import small_print
from labkit.figures.parts import Omitted
from labkit.judge import all_pairs, answer, view
from labkit.judge.finding import Subject
from labkit.judge.rules import slow_pairs
from labkit.judge.sentences import sentence
from labkit.point.spec import Spec
from labkit.read import records
from labkit.read.columnar import of_samples
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
    named = [(part.name, part.pairs, part.excess) for part in verdict.parts]
    named += [(why, len(rows), rows["excess"].median()) for why, rows in verdict.table.groupby("cause")]
    assert named == [(cause, count, pytest.approx(0.6, abs=0.1))]
    assert set(verdict.of_parts) == (set() if cause == "this pair alone" else {tuple(sorted(pair)) for pair in pairs})


def scattered(seed: int, hosts: int, scatter: float) -> Factors:
    """Lasting differences between pairs, which no host explains."""
    factors = np.triu(np.random.default_rng(seed).lognormal(0, scatter, (hosts, hosts)), 1)
    return factors + factors.T


def slower(factors: Factors, host: int, by: float) -> Factors:
    """The same with all links of a host slower."""
    changed = factors.copy()
    changed[host] *= 1 + by
    changed[:, host] *= 1 + by
    return changed


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_host_is_named_where_few_of_its_pairs_stand_out(seed: int) -> None:
    """Pairs scatter by 10 % and all links of a host are slower by 30 %. Pairs alone show some of them, and no cause."""
    factors = slower(scattered(seed, 12, 0.1), 5, 0.3)
    verdict = all_pairs.bad_pairs(launch(1, factors), launch(2, factors), SWITCHES)
    (part,) = verdict.parts
    assert part.name == "the card or cable of node5"
    assert part.pairs == 11
    assert part.low < part.excess < part.high
    assert part.excess == pytest.approx(0.3, abs=0.12)
    assert len(verdict.table) <= 1  # a pair may be slower than scatter explains
    found = [*slow_pairs.found(Subject(benchmark="mpi.all_pairs", setting="8 B"), verdict)]
    assert (found[0].level, found[0].subject.setting) == ("bad", "8 B, the card or cable of node5")
    assert sentence(found[0]).startswith("slow as a whole: its 11 pairs of hosts take ")
    assert len(found) == 1 + len(verdict.table)


@pytest.mark.parametrize(
    ("factors", "verdict", "says"),
    [
        (slower(np.ones((12, 12)), 5, 0.3), "bad", "the card or cable of node5: slow as a whole"),
        (slow((1, 7)), "bad", "single pairs: no host and no switch in common"),
        (np.ones((12, 12)), "good", "none of 66 pairs was slower than the others in both measurements"),
    ],
)
def test_the_answer_about_a_campaign_says_which_host_is_slow(factors: Factors, verdict: str, says: str) -> None:
    def asked(*some: Samples) -> list[answer.Topic]:
        launches = of_samples([replace(one, meta={**one.meta, "fingerprint": "f"}) for one in some])
        seen = view.View("c", launches.records, records.summary(launches.records), launches)
        return [
            one
            for one in answer.answer(seen).topics
            if one.name == "MPI latency over all pairs of hosts, compared with one another"
        ]

    (topic,) = asked(launch(1, factors), launch(2, factors))
    assert topic.verdict == verdict
    assert says in f"{topic.lead.subject}: {sentence(topic.lead)}"
    assert asked(launch(1, factors)) == []
    (unknown,) = asked(*(launch(n, chunks=(11, 11)) for n in (1, 2)))
    assert unknown.verdict == "unknown"
    assert "66 pairs met less than six times" in sentence(unknown.lead)


def test_two_slow_hosts_are_both_named_and_a_pair_that_is_slower_still() -> None:
    factors = slower(slower(np.ones((12, 12)), 2, 0.3), 9, 0.3)
    factors[2, 7] = factors[7, 2] = 3.0
    verdict = all_pairs.bad_pairs(launch(1, factors), launch(2, factors), SWITCHES)
    assert [part.name for part in verdict.parts] == ["the card or cable of node2", "the card or cable of node9"]
    assert verdict.table[["rank", "other"]].to_numpy().tolist() == [[2, 7]]
    *parts, alone = slow_pairs.found(Subject(setting="8 B"), verdict)
    assert [one.form for one in parts] == ["part", "part"]
    assert (alone.subject.setting, alone.count("pairs")) == ("8 B, single pairs", 1)
    assert "other slow pairs: node2 and node7; by " in sentence(alone)


def test_a_host_slow_in_one_measurement_is_not_named() -> None:
    verdict = all_pairs.bad_pairs(launch(1, slower(np.ones((12, 12)), 5, 0.5)), launch(2), SWITCHES)
    assert verdict.parts == ()
    assert verdict.table.empty


def test_a_slow_host_is_not_blamed_on_its_switch_nor_a_switch_on_its_hosts() -> None:
    """Each host of a switch must show the effect, before the switch is named; hosts are judged by what remains."""
    pairs = [(a, b) for a in range(4, 8) for b in range(12) if b // 4 != 1]
    found = all_pairs.slow_parts([slow(*pairs) * scattered(1, 12, 0.02)] * 2, HOSTS, SWITCHES)
    assert [part.name for part in found] == ["the uplink of switch leaf1"]
    two = {host: f"leaf{k // 2}" for k, host in enumerate(HOSTS)}
    found = all_pairs.slow_parts([slower(scattered(1, 12, 0.02), 5, 0.6)] * 2, HOSTS, two)
    assert [part.name for part in found] == ["the card or cable of node5"]


@pytest.mark.parametrize("hosts", [6, 12])
def test_hosts_of_a_healthy_system_are_left_alone(hosts: int) -> None:
    """The same scatter stands in both measurements, as on a system whose pairs differ lastingly."""
    names = [f"node{k:02}" for k in range(hosts)]
    found = [all_pairs.slow_parts([scattered(seed, hosts, 0.1)] * 2, names) for seed in range(60)]
    assert sum(map(bool, found)) <= 6


def test_ranks_of_a_host_count_once() -> None:
    """Four ranks on each of six hosts: the pairs of two hosts are one value, and the hosts' own pairs none."""
    hosts = [f"node{k // 4}" for k in range(24)]
    between = slower(scattered(3, 6, 0.03), 1, 0.5)
    times = between[np.ix_(np.arange(24) // 4, np.arange(24) // 4)]
    times[times == 0] = 0.1
    (part,) = all_pairs.slow_parts([times, times], hosts)
    assert (part.name, part.pairs) == ("the card or cable of node1", 5)
    assert len(all_pairs.of_parts([part], hosts)) == 5 * 16


def test_a_disturbance_that_passes_is_no_bad_pair() -> None:
    verdict = all_pairs.bad_pairs(launch(1, slow((3, 9))), launch(2))
    assert verdict.table.empty
    assert verdict.passing == 1
    (none,) = slow_pairs.found(Subject(), verdict)
    assert (none.level, sentence(none)) == ("good", "none of 66 pairs was slower than the others in both measurements")


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
    assert [(part.name, part.pairs) for part in verdict.parts] == [("the card or cable of node17", 499)]
    assert len(verdict.of_parts) == 499
    assert verdict.table.empty
    hosts = all_pairs.hosts_of(first)
    worst = all_pairs.effects(verdict.seconds, hosts, {}).nlargest(2, "excess")
    assert set(worst["part"]) == {"rank 17 on node17"}
    heat = figures.pairs(verdict.seconds, hosts, bad=[*verdict.of_parts])
    assert len(heat.data[0].z) == 250
    assert "a cell is the greatest of 2 × 2 pairs" in heat.layout.xaxis.title.text
    assert len(heat.to_json()) < 2_000_000
    matrix = all_pairs.matrix(first)
    twice = figures.repeated_pairs(matrix, matrix, hosts, limits=[1, 1], causes=verdict.of_parts)
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
    assert "None of 66 pairs was slow in both measurements." in text
    assert "Hosts measured: 12 of 14. Nothing is known about node12, node13: set ranks=14." in text
    every = all_pairs_study.Study(campaign=str(tmp_path / "c"), measure=False, hosts=",".join(HOSTS))
    assert "Hosts measured" not in " ".join(every._verdicts())


def test_a_pair_without_a_common_cause_is_not_said_to_be_slow_alone() -> None:
    """Only measuring a pair alone shows whether it is slow alone."""
    (one,) = slow_pairs.found(Subject(), all_pairs.bad_pairs(*(launch(n, slow((1, 7))) for n in (1, 2)), SWITCHES))
    assert one.subject.setting == "single pairs"
    assert sentence(one).startswith("no host and no switch in common with other slow pairs: node1 and node7; by ")


@pytest.mark.slow
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


def test_the_study_names_a_slow_host_and_lists_no_pair_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = all_pairs_study.Study(
        campaign=str(Campaign(tmp_path / "c").path), measure=False, sizes="8", hosts=",".join(HOSTS), retests=3
    )
    factors = slower(scattered(1, 12, 0.1), 5, 0.3)
    monkeypatch.setattr(type(study), "pairs", lambda self, size: [launch(1, factors), launch(2, factors)])
    monkeypatch.setattr(type(study), "alone", lambda self, size: pd.DataFrame({"hosts": []}))
    assert "The card or cable of node5 is slow as a whole" in " ".join(study._verdicts())
    table = study.bad_table()
    assert "node5" not in {*table["host"], *table["other_host"]}
    assert len(study._retests(8)) == 3 + 2
    assert not isinstance(study.map_figure(8), Omitted)
    assert not isinstance(study.twice_figure(8), Omitted)
    monkeypatch.setattr(type(study), "pairs", lambda self, size: [launch(1, factors)])
    text = study._once(8)
    assert text.startswith("The card or cable of node5 is slow as a whole")
    assert "One launch confirms nothing" in text


def test_the_exchange_that_comes_first_is_compared_with_the_second_where_most_pairs_agree() -> None:
    seconds = np.ones((6, 6))
    assert all_pairs_study._order(seconds) == []
    seconds[np.triu_indices(6, 1)] = 2.0
    (said,) = all_pairs_study._order(seconds)
    assert said.text.endswith("takes 2 times the second")
    assert all_pairs_study._order(np.full((6, 6), np.nan)) == []
