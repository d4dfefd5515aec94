"""Victims and congestors, impact factors, fairness and interference: no ranks."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labkit import benchmarks, studies
from labkit.benchmarks.congestion import _gpcnet
from labkit.errors import DataError, LabkitWarning, SpecError
from labkit.figures.parts import Omitted
from labkit.formats import gpcnet
from labkit.judge import congestion
from labkit.judge import gpcnet as gpcnet_tables
from labkit.judge.rules import under_load
from labkit.judge.sentences import sentence
from labkit.point.spec import Spec
from labkit.read import columnar, records
from labkit.report import topics
from labkit.stats.decision import OPEN
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.studies import congestion_impact

from . import made

GOLDEN = Path(__file__).parent / "golden" / "gpcnet"
EXAMPLE = Path(__file__).parents[1] / "data" / "campaigns" / "examples" / "sixteen-hosts"


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


def test_only_bytes_for_other_hosts_count_on_a_link() -> None:
    spec = benchmarks.resolve(
        Spec(
            benchmark="congestion.gpcnet_isolated",
            size=1024,
            ranks=4,
            options={"pattern": "bandwidth", "ring": "natural"},
        )
    )
    sent = _gpcnet.leaving(spec, ["a", "a", "b", "b"], np.arange(3))
    assert sent.tolist() == [[2 * 8 * 1024] * 3] * 2  # of each host's two ranks, one neighbour is away
    assert not _gpcnet.leaving(spec, ["a"] * 4, np.arange(3)).any()
    assert _gpcnet.leaving(spec, list("abcd"), np.arange(3)).tolist() == [[2 * 8 * 1024] * 3] * 4


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


def launch(
    factor: float,
    *,
    number: int = 0,
    n: int = 1500,
    victims: int = 2,
    ranks: int = 10,
    congestor: int = 20_000,
    recovered: float = 1.0,
    **meta: object,
) -> Samples:
    """Times that scatter alike in all phases but for a factor: what a launch of gpcnet_loaded leaves behind."""
    chance = np.random.default_rng(100 + number)
    times = [chance.lognormal(9, 0.3, (victims, n)).astype(np.int64) for _ in range(3)]
    extras = {"isolated_ns": times[1], "recovered_ns": times[2] * recovered}
    extras |= {"congestor_ns": np.full((victims, n), congestor)}
    return made.samples(loaded(ranks), times[0] * factor, launch=number, extras=extras, meta=meta)


def test_an_impact_is_found_with_its_interval_and_a_recovery_without_one() -> None:
    impact = congestion.impact([launch(3.0, number=k) for k in range(6)])
    rows = impact.table.set_index(["statistic", "phase"])
    assert rows.loc[("mean", "loaded"), "low"] < 3 < rows.loc[("mean", "loaded"), "high"]
    assert rows.loc[("mean", "recovered"), "low"] < 1 < rows.loc[("mean", "recovered"), "high"]
    assert "p999" not in set(impact.table["statistic"])
    assert "No effect is certain" not in impact.sentence
    assert impact.reasons == ()


def test_from_six_launches_on_the_interval_is_one_over_launches() -> None:
    few, many = (congestion.impact([launch(2.0, number=k) for k in range(count)]) for count in (3, 6))
    assert set(few.table["label"]) == {"range of 3 launches"}
    assert set(many.table["label"]) == {"95 % interval of 6 launches"}
    assert many.table["factor"].iloc[0] == pytest.approx(2, rel=0.05)


@pytest.mark.slow
def test_nothing_is_found_where_nothing_is_as_often_as_promised() -> None:
    alarms = [
        congestion.impact([launch(1.0, number=k, n=300)]).table.query("phase == 'loaded' and statistic == 'mean'")
        for k in range(40)
    ]
    assert sum(((t["low"] > 1) | (t["high"] < 1)).item() for t in alarms) <= 7  # 5 % of 40: more in 1 run of 500
    assert all((t["high"] - t["low"]).item() < 0.1 for t in alarms), "so wide that nothing could be found"


@pytest.mark.parametrize(
    ("made", "reasons"),
    [
        ({}, {"more than one sender"}),
        ({"rank_hosts": ["a"] * 10}, {"on one host", "more than one sender"}),
        ({"rank_hosts": ["a", "b"] * 5}, {"more than one sender"}),
        ({"ranks": 40}, {"moved 1,434 MB/s to their busiest rank"}),
        ({"ranks": 40, "congestor": 0}, {"before they finished a round"}),
        ({"n": 10}, {"more than one sender", "scatter too much"}),
        ({"badges": ["oversubscription"]}, {"more than one sender"}),
        ({"factor": 3.0, "count": 6}, set()),
        ({"factor": 3.0, "count": 6, "rank_hosts": ["a"] * 10}, {"share its memory"}),
        ({"factor": 3.0, "count": 6, "badges": ["oversubscription"]}, {"share processors"}),
        ({"factor": 3.0, "count": 6, "recovered": 28.0}, {"stayed slow"}),
    ],
)
def test_each_reason_is_given_where_it_holds_and_nowhere_else(made: dict[str, object], reasons: set[str]) -> None:
    fields: dict[str, Any] = {"factor": 1.0, **made}
    impact = congestion.impact([launch(number=k, **fields) for k in range(fields.pop("count", 1))])
    assert len(impact.reasons) == len(reasons)
    for words in reasons:
        assert sum(words in reason for reason in impact.reasons) == 1, words
    assert all(reason in impact.sentence for reason in impact.reasons)
    assert ("No effect is certain" in impact.sentence) == (made.get("factor") is None)


FEW = "a comparison needs at least 6 launches"


def test_a_factor_that_every_launch_shows_is_claimed_although_the_launches_differ_more() -> None:
    def scaled(one: Samples, times: float) -> Samples:
        extras = {name: (one.extras[name] * times).astype(np.int64) for name in ("isolated_ns", "recovered_ns")}
        return replace(one, time_ns=(one.time_ns * times).astype(np.int64), extras={**one.extras, **extras})

    launches = [scaled(launch(1.8, number=k), 2.0**k) for k in range(6)]
    rows = congestion.impact(launches).table.set_index(["statistic", "phase"])
    assert rows.loc[("mean", "loaded"), "differs"] == "longer"
    assert rows.loc[("p99", "loaded"), "differs"] == "longer"
    assert rows.loc[("mean", "recovered"), "differs"] == OPEN
    assert rows.loc[("p99", "recovered"), "differs"] == OPEN, "tested although the mean shows no difference"


@pytest.mark.parametrize(
    ("launches", "why"),
    [
        ([launch(3.0, recovered=28.0)], FEW),
        ([launch(3.0, number=k, recovered=28.0) for k in range(4)], FEW),
        ([launch(f, number=k, recovered=f) for k, f in enumerate((0.5, 28, 60, 0.6, 0.4, 0.5))], OPEN),
    ],
)
def test_a_mean_is_claimed_to_differ_only_where_launches_show_it(launches: list[Samples], why: str) -> None:
    impact = congestion.impact(launches)
    assert set(impact.table.query("statistic == 'mean'")["differs"]) == {why}
    assert "the mean is not certainly different: " in impact.sentence
    assert "No effect is certain." in impact.sentence


def test_a_percentile_of_few_samples_is_doubted() -> None:
    sentences = [congestion.impact([launch(1.0, n=n)]).sentence for n in (30, 1500)]
    assert ["too few samples" in sentence for sentence in sentences] == [True, False]


def test_other_samples_have_no_impact() -> None:
    with pytest.raises(DataError, match=r"one point of congestion\.gpcnet_loaded"):
        congestion.impact([])


def test_fairness_is_jain_s() -> None:
    assert congestion.jain_fairness([3.0, 1.0]) == pytest.approx(16 / 20)
    for wrong in ([], [0.0, 0.0], [1.0, -1.0], [float("nan")]):
        with pytest.raises(DataError):
            congestion.jain_fairness(wrong)


def test_interference_compares_launch_by_launch() -> None:
    alone = [np.full(50, 1.0 + k) for k in range(6)]
    slowdown = congestion.interference(alone, [4 * times for times in alone])
    assert (slowdown.centre, slowdown.low, slowdown.high, slowdown.launches) == (4, 4, 4, 6)
    assert slowdown.clear
    once = congestion.interference(alone[:1], [np.full(50, 2.0)], "p99")
    assert once.label == "95 % bootstrap interval inside 1 launch"
    with pytest.raises(DataError, match="without the other job: 6; with it: 1"):
        congestion.interference(alone, alone[:1])


@pytest.mark.parametrize("name", ["network_test", "network_load_test"])
def test_gpcnet_s_own_output_is_read_and_written_alike(name: str) -> None:
    text = (GOLDEN / f"{name}.txt").read_text()
    assert gpcnet.write(gpcnet.parse(text)) == text


def test_gpcnet_s_numbers_are_those_it_printed() -> None:
    report = gpcnet.parse((GOLDEN / "network_load_test.txt").read_text())
    assert (report.ranks, report.network, report.congestion, report.each) == (10, 2, 8, 2)
    assert report.loaded[1] == gpcnet.Result("RR Two-sided BW+Sync (131072 B)", 424.5, 23.8, "MiB/s/rank")
    assert [f"{mean:.1f} {tail:.1f}" for _, mean, tail in report.impact] == ["0.9 0.9", "12.4 12.5", "5.8 1.2"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("12.4X", "13.4X", "which follow from the tables above"),
        ("Test with 10", "Test with ten", "line 2"),
        ("|         28.0 |", "|        fast  |", "two numbers with one decimal"),
        ("|          99% |", "|        99.9% |", "VERBOSE"),
        ("| RR Two-sided BW+Sync (131072 B) |                12.4X", "|", "line 44"),
    ],
)
def test_a_changed_line_is_refused(old: str, new: str, said: str) -> None:
    text = (GOLDEN / "network_load_test.txt").read_text()
    assert old in text
    with pytest.raises(DataError, match=said):
        gpcnet.parse(text.replace(old, new, 1))


def test_gpcnet_s_refusal_is_told() -> None:
    with pytest.raises(DataError, match="must be run on at least 2 nodes"):
        gpcnet.parse("ERROR: this application must be run on at least 2 nodes\n")


def test_samples_become_gpcnet_s_tables() -> None:
    report = gpcnet_tables.report([launch(2.0)])
    assert [result.name for result in report.loaded] == ["RR Two-sided Lat (8 B)"]
    assert report.loaded[0].average == pytest.approx(launch(2.0).time_ns.mean() / 2e3)
    assert (report.network, report.congestion, report.each) == (2, 8, 2)
    again = gpcnet.parse(gpcnet.write(report))
    assert [again.impact[0][1]] == pytest.approx([2.0], rel=0.05)


def test_what_gpcnet_has_no_table_for_is_left_out_with_a_word() -> None:
    one = launch(2.0)
    load = replace(one, spec=Spec(benchmark="congestion.gpcnet_congestors", size=4096, ranks=10))
    with pytest.warns(LabkitWarning, match=r"no tables for it: congestion\.gpcnet_congestors\."):
        assert gpcnet_tables.text([load, one]) == gpcnet.write(gpcnet_tables.report([one]))
    with pytest.raises(SpecError, match=r"congestion\.gpcnet_congestors is not a GPCNeT test"):
        gpcnet_tables.text([load])


RMA = {"pattern": "get_latency", "ring": "random", "window": 8, "hugepages": False}


def test_windows_are_allocated_as_gpcnet_does_unless_they_are_to_be_created() -> None:
    asked = Spec(benchmark="congestion.gpcnet_isolated", size=8, options=RMA)
    created, usual = benchmarks.resolve(asked.replace(options=RMA | {"memory": "create"})), benchmarks.resolve(asked)
    assert usual.values["memory"] == "allocate"
    assert benchmarks.identity(usual).fingerprint({}) != benchmarks.identity(created).fingerprint({})
    assert "memory" not in benchmarks.identity(created).values, "as in the names of the recorded points"
    table = records.table(made.samples(spec, np.full((2, 3), 2000)) for spec in (created, usual))
    assert sorted(table["option_memory"]) == ["allocate", "create"]
    assert table["fingerprint"].nunique() == 2
    assert benchmarks.label(created) != benchmarks.label(usual)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("congestion.gpcnet_isolated", {**RMA, "pattern": "latency"}),
        (
            "congestion.gpcnet_loaded",
            {
                **RMA,
                "pattern": "allreduce",
                "congestor": "incast",
                "fan_in": 0,
                "seed": 1,
                "share": 80.0,
                "congestor_size": 4096,
            },
        ),
    ],
)
def test_points_without_windows_are_the_same_as_before(name: str, options: dict[str, object]) -> None:
    old = Spec(benchmark=name, size=8, ranks=4, options=options)
    for memory in ("allocate", "create"):
        new = benchmarks.resolve(old.replace(options=options | {"memory": memory}))
        assert "memory" not in benchmarks.identity(new).values


def test_effects_that_are_not_certain_are_one_sentence_and_few_times_have_no_percentile() -> None:
    few, many = ([launch(3.0, number=k, n=n) for k in range(6)] for n in (12, 300))
    assert [set(congestion_impact._shown(some)["statistic"]) for some in (few, many)] == [{"mean"}, {"mean", "p99"}]
    claims = [congestion_impact._claim(row) for row in congestion_impact._shown(many).to_dict("records")[:1]]
    assert re.fullmatch(r"the mean is 3[.\d]* times as long \(.*95 % interval of 6 launches\)", claims[0])
    open_ = [congestion_impact._shown([launch(factor, n=12)]) for factor in (1.0, 2.0, 3.0)]
    (said,) = congestion_impact._undecided([*open_, congestion_impact._shown(many, sure=True)])
    assert re.fullmatch(
        r"No effect is certain in 3 of 4 cases, because .*: "
        r"mean [\d.]+ to [\d.]+ times that in isolation .1 launch each.\.",
        said,
    )


def test_a_chapter_on_congestion_claims_only_what_its_campaign_shows() -> None:
    study = studies.of_campaign(json.loads((EXAMPLE / "campaign.json").read_text()), EXAMPLE)["62-congestion-impact"]
    assert isinstance(study, congestion_impact.Study)
    said = str(study.findings())
    assert (said.count("No effect is certain"), said.count("No claim"), said.count("percentile")) == (1, 0, 0)
    assert isinstance(study.fan_in_figure(), Omitted), "one number of senders shows nothing about their number"
    printed = str(study.gpcnet_tables())
    assert re.match(r"labkit prints its own times .* Congestors: incast\.", printed)
    assert list(study.impact_table())[3:] == [
        f"{one}{end}" for one in ("loaded", "recovered") for end in ("", ", low", ", high")
    ]


@pytest.mark.parametrize(
    ("factors", "launches", "said"),
    [
        (
            [2.0, 3.0, 1.01],
            6,
            "the mean is longer beside the load in 2 of 3 cases: 2 to 3 times as long as alone, most",
        ),
        (
            [2.0, 1.01],
            6,
            "the mean is longer beside the load in 1 of 2 cases: 2.00 times [1.80 to 2.20] as long as alone with",
        ),
        ([2.0], 6, "the mean beside the load is 2.00 times [1.80 to 2.20] as long as alone"),
        ([2.0, 3.0], 3, "no case of 2 certainly has a longer mean beside the load: at most 3"),
    ],
)
def test_the_main_result_about_a_load_compares_with_and_without_it(
    factors: list[float], launches: int, said: str
) -> None:
    rows = pd.DataFrame(
        {
            "benchmark": "congestion.gpcnet_loaded",
            "fingerprint": [f"f{k}" for k in range(len(factors))],
            "option_congestor": [f"kind{k}" for k in range(len(factors))],
            "impact_mean_times_value": factors,
            "impact_mean_times_low": [0.9 * one for one in factors],
            "impact_mean_times_high": [1.1 * one for one in factors],
            "launches": launches,
            "n": 1000,
            "origin": "measured",
            "badges": [()] * len(factors),
            "message_size_B": 8,
        }
    )
    found = under_load.of_rows(rows)
    assert found is not None
    assert sentence(found).startswith(said)
    assert (found.form != "open") == found.certain == np.isfinite(found.cost) == (launches == 6)
    assert under_load.of_rows(rows.drop(columns="impact_mean_times_value")) is None


def test_a_chapter_about_a_load_states_its_effect_also_if_congestors_differ() -> None:
    rows = columnar.read_campaigns(Campaign(EXAMPLE), benchmark="congestion.gpcnet_loaded").records
    focus = congestion_impact.Study.focus
    stated = topics.of_topic(records.summary(rows), congestion_impact.Study.benchmarks, focus)
    assert stated is not None
    assert stated.code == "under-load"
    other = topics.of_topic(records.summary(rows), congestion_impact.Study.benchmarks)
    assert other is not None
    assert other.code == "setting-matters", "without the focus, congestors are compared"
