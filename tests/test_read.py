"""A campaign as columns: the same numbers as launch by launch, from all kinds of files, and from nobody's lies."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from labkit import benchmarks
from labkit.errors import DataError
from labkit.judge import answer, checking, comparison, rules
from labkit.judge.rule import OBSERVED
from labkit.judge.view import View
from labkit.point.columns import METRICS
from labkit.point.spec import Reported, Spec
from labkit.read import columnar, kept, records
from labkit.read.records.factors import text
from labkit.store.campaign import Campaign
from labkit.store.derived import EXAMPLES
from labkit.store.samples import Raw, Samples, compacted, facts, metadata
from labkit.store.samples.facts import Fact

from . import made
from .test_many_ranks import overlapping, reduced

LOADED = {"load_1": 0.5, "pressure": {"cpu": {"some_avg10": 1.0}}}


def launches() -> list[Samples]:
    """Launches that differ in everything in which launches differ."""
    chance = np.random.default_rng(1)
    out = []
    for k in range(24):
        name, options = ("mpi.latency", {"block": 4 << k % 2}) if k % 3 else ("mpi.put_latency", {})
        spec = benchmarks.resolve(Spec(benchmark=name, size=8 << (k // 6), options=options))
        meta: dict[str, Any] = {"fingerprint": f"{k // 2:016x}", "start": f"2026-01-01T00:00:{k:02d}", "elapsed": k / 7}
        meta |= {"badges": ["loopback"] * (k % 2), "warnings": [f"{k} % of the time"], "load_end": LOADED | {"k": k}}
        meta |= {"evidence": {"a.sent_pkts": k}} if k % 8 == 1 else {}
        if k % 3 == 0:
            meta |= {"loop_ns": [[1000 + k, 2000]], "chunks": [10, 20]}
        times = chance.integers(0 if k == 5 else 100, 10_000, (1, 20 + 10 * (k % 4)))
        out.append(made.samples(spec, times, launch=k % 2, meta=meta, host={"name": "a", "load": {"k": k}}))
    for k in range(6):
        values = [
            Reported("round_trip_us", "µs", s, v + k) for s, v in (("min", 9), ("p50", 20.5), ("p99", 12 + 9 * k))
        ]
        values += [
            Reported("cpu", "%", "mean", 3.25 * k),
            Reported("round_trip_us", "µs", "mean", 21, labels={"value": k}),
        ]
        meta = {"fingerprint": f"{90 + k // 2:016x}", "engine": "netperf"}
        out.append(made.samples("sockets.tcp_rr", reported=values, launch=k % 2, meta=meta, source=f"log {k}"))
    return out


def same(campaign: Campaign) -> None:
    """Compare records that were read as columns with those of launch by launch, cell by cell."""
    told, expected = (
        columnar.read_campaigns(campaign).records,
        records.table(campaign.samples(), campaign=campaign.name),
    )
    pd.testing.assert_frame_equal(told, expected, check_exact=True)
    for name in expected:
        pairs = zip(told[name].tolist(), expected[name].tolist(), strict=True)
        assert [type(one) for one, _ in pairs] == [type(one) for one in expected[name].tolist()], name


@pytest.mark.parametrize("worth", [1, pytest.param(10_000, marks=pytest.mark.slow)], ids=["kept", "computed"])
@pytest.mark.parametrize("files", ["single", "compacted", "both", "twice"])
def test_records_are_those_of_the_launches_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: str, worth: int
) -> None:
    monkeypatch.setattr(kept, "WORTH", worth)
    some = [*launches(), *unlike()]
    campaign = made.campaign(tmp_path / "c", some if files in ("single", "compacted") else some[::2])
    if files != "single":
        campaign.compact()
    if files in ("both", "twice"):  # `twice`: as after an interrupted compaction
        made.campaign(tmp_path / "c", some[1::2] if files == "both" else some)
    assert len(columnar.read_campaigns(campaign).records) == len(some)
    same(campaign)
    same(campaign)  # from what was kept, if it is worth it
    assert any((campaign.path / "records").glob("*.parquet")) == (worth == 1)


@pytest.mark.parametrize(
    "name",
    ["two-cores-limits", *(pytest.param(one, marks=pytest.mark.slow) for one in ("two-cores", "virtual-cluster"))],
)
def test_records_of_an_example_are_those_of_its_launches(name: str) -> None:
    same(Campaign(EXAMPLES / name))


def test_times_and_facts_belong_to_the_rows_of_the_records(tmp_path: Path) -> None:
    many = replace(reduced(overlapping()), launch=0, meta={"fingerprint": "f" * 16})
    some = [*launches(), *unlike(), many]
    campaign = made.campaign(tmp_path / "c", some)
    campaign.compact()
    view = columnar.read_campaigns(campaign)
    by_name = {(facts.FINGERPRINT.of(one.meta), one.launch): one for one in campaign.samples()}
    rows = [by_name[name] for name in zip(view.records["fingerprint"], view.records["launch"], strict=True)]
    seen = []
    for times in view.times():
        for row, seconds in zip(times.rows.tolist(), times.seconds, strict=True):
            np.testing.assert_array_equal(seconds, records.seconds(rows[row]))
            seen.append(row)
    assert sorted(seen) == list(range(len(some)))
    for fact in facts.FACTS.values():
        assert repr(view.fact(fact)) == repr([fact.of(one.meta) for one in rows]), fact.name
        there = [fact.given(view.kinds[kind].meta) for kind in view.kind]
        assert there == [fact.given(one.meta) for one in rows], fact.name
    assert [view.spec(row) for row in range(len(rows))] == [one.spec for one in rows]
    assert len(view.kinds) < len(some) / 2


def unlike() -> list[Samples]:
    """Launches of two benchmarks with costs and rates, some timed as a whole."""
    chance, out = np.random.default_rng(2), []
    for k in range(30):
        spec = benchmarks.resolve(Spec(benchmark=("mpi.bandwidth", "mpi.allreduce")[k % 2], size=8 << k % 3))
        meta = {"fingerprint": f"{200 + k:016x}"} | ({"timing": "total"} if k % 10 == 9 else {})
        times = chance.integers(100, 200, (2, 10 + 10 * (k % 3)))
        out.append(made.samples(spec, times, launch=k, meta=meta))
    return out


@pytest.mark.parametrize("worth", [1, 10_000], ids=["kept", "computed"])
def test_deciles_are_those_of_the_iterations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worth: int) -> None:
    monkeypatch.setattr(kept, "WORTH", worth)
    campaign = made.campaign(tmp_path / "c", [*launches(), *unlike()])
    columnar.read_campaigns(campaign)  # keeps
    by_name = {(facts.FINGERPRINT.of(one.meta), one.launch): one for one in campaign.samples()}
    compared = 0
    for side in comparison.read(campaign) + comparison.read(campaign, "mpi.allreduce", "busbw_GBps"):
        for metric, deciles in side.deciles.items():
            names = zip(side.rows["fingerprint"], side.rows["launch"], strict=True)
            for row, one in zip(deciles, map(by_name.__getitem__, names), strict=True):
                values = (
                    records.values(one, metric) if one.n and one.meta.get("timing") != "total" else np.full(1, np.nan)
                )
                parts = np.arange(1, 10) / 10
                parts = 1 - parts if METRICS[metric].kind == "rate" else parts
                np.testing.assert_array_equal(row, np.quantile(values, parts, method="inverted_cdf"))
                compared += not np.isnan(row).any()
    assert compared > 30


def test_nothing_reads_the_times_for_a_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "WORTH", 1)
    campaign = made.campaign(tmp_path / "c", launches())
    whole = comparison.read(campaign)
    monkeypatch.setattr(columnar.rows, "chunks", None)
    for one, again in zip(whole, comparison.read(campaign), strict=True):
        np.testing.assert_equal(again.deciles, one.deciles)


def test_deciles_must_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="deciles=True"):
        columnar.read_campaigns(made.campaign(tmp_path / "c", launches())).deciles("cost")


@pytest.mark.parametrize("worth", [1, 10_000], ids=["kept", "computed"])
def test_categories_hold_the_same_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worth: int) -> None:
    monkeypatch.setattr(kept, "WORTH", worth)
    campaign = made.campaign(tmp_path / "c", launches())
    for _ in range(2):
        view, plain = columnar.read_campaigns(campaign, coded=True), columnar.read_campaigns(campaign).records
        told = view.records
        assert told["fingerprint"].dtype == "category"
        for name in plain:
            assert repr(told[name].tolist()) == repr(plain[name].tolist()), name
        assert [view.samples([row])[row].launch for row in range(3)] == plain["launch"].tolist()[:3]


@pytest.mark.parametrize(
    "name",
    ["two-cores-limits", *(pytest.param(name, marks=pytest.mark.slow) for name in ("two-cores", "virtual-cluster"))],
)
def test_judgements_are_those_of_the_launches_one_by_one(name: str) -> None:
    """What differs between launches with the same metadata comes from each of them, not from the first."""
    campaign = Campaign(EXAMPLES / name)
    view = columnar.read_campaigns(campaign)
    alone = columnar.of_samples(list(campaign.samples()), view.records)
    for fact in facts.FACTS.values():
        assert repr(view.fact(fact)) == repr(alone.fact(fact)), fact.name
    observed = [
        checking.check(View(campaign.name, view.records, view.summary, launches), rules.about(*OBSERVED))
        for launches in (view, alone)
    ]
    assert [one.as_dict() for one in observed[0]] == [one.as_dict() for one in observed[1]]
    found, expected = (
        checking.check(View(campaign.name, view.records, view.summary, launches)) for launches in (view, alone)
    )
    assert repr(found) == repr(expected)
    assert repr(answer.of_paths(view, view.summary)) == repr(answer.of_paths(alone, view.summary))


def test_points_beside_a_point_are_those_that_differ_in_free_factors_alone() -> None:
    """Whatever may differ: the same as from the rows of the summary one by one."""
    launches = columnar.read_campaigns(Campaign(EXAMPLES / "two-cores-settings"))
    view = View("", launches.records, launches.summary, launches)
    found = 0
    for name, table in view.parts.items():
        rows = table.rows.to_dict("records")
        levels = [{factor: text(row, factor) for factor in view.factors[name]} for row in rows]
        for place, own in enumerate(levels):
            for free in [{one} for one in own] + [{*own}, set()]:
                expected = [
                    (row["fingerprint"], changed)
                    for row, other in zip(rows, levels, strict=True)
                    if row["message_size_B"] == rows[place]["message_size_B"]
                    and (changed := {factor: one for factor, one in other.items() if one != own[factor]})
                    and {*changed} <= free
                ]
                beside = [(row["fingerprint"], changed) for row, changed in table.beside(place, free.__contains__)]
                assert beside == expected
                found += len(beside)
    assert found > 100


def test_no_cause_asks_the_whole_table_for_each_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many points, that would take as long as their square."""
    launches = columnar.read_campaigns(Campaign(EXAMPLES / "two-cores-limits"))
    view = View("", launches.records, launches.summary, launches)
    found = checking.check(view, explain=False)
    monkeypatch.setattr(pd.DataFrame, "to_dict", None)
    assert sum(len(one.causes) for one in checking.explained(view, found)) > 10


def test_a_fact_that_no_launch_has_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for it reads the metadata of all launches again."""
    view = columnar.read_campaigns(made.campaign(tmp_path / "c", launches()))
    monkeypatch.setattr(columnar.metadata, "later", None)
    assert view.fact(facts.COMMUNICATION) == [{}] * len(view.records)


def test_one_engine_reads_the_metadata_of_all_benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its start takes as long as reading a small benchmark."""
    campaign, started, connect = made.campaign(tmp_path / "c", launches()), [], duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda **given: started.append(connect(**given)) or started[-1])
    view = columnar.read_campaigns(campaign)
    assert (len(view.records["benchmark"].unique()), len(started)) == (3, 1)
    assert len(view.fact(facts.LOAD_END)) == len(view.records)
    assert len(started) == 2
    for engine in started:
        with pytest.raises(duckdb.ConnectionException):  # its memory is given back
            engine.sql("SELECT 1")


def test_a_fact_is_read_of_one_benchmark_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = columnar.read_campaigns(made.campaign(tmp_path / "c", launches()))
    whole, names = view.fact(facts.LOAD_END), view.records["benchmark"].tolist()
    read, later = [], columnar.metadata.later
    monkeypatch.setattr(columnar.metadata, "later", lambda *given: read.append(len(given[2])) or later(*given))
    told = view.fact(facts.LOAD_END, "mpi.put_latency")
    assert told == [one if name == "mpi.put_latency" else {} for one, name in zip(whole, names, strict=True)]
    assert sum(read) == names.count("mpi.put_latency") < len(names)


def test_only_the_benchmarks_that_are_asked_for_are_read(tmp_path: Path) -> None:
    campaign = made.campaign(tmp_path / "c", launches())
    bad = next((tmp_path / "c" / "samples" / "mpi.put_latency").iterdir())
    bad.write_bytes(b"no Parquet")
    assert {*columnar.read_campaigns(campaign, benchmark="sockets.*").records["benchmark"]} == {"sockets.tcp_rr"}
    with pytest.raises(DataError, match=bad.name):
        columnar.read_campaigns(campaign).records.size  # noqa: B018


LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "launch": lambda h: h.update(launch="0"),
    "launch below 0": lambda h: h.update(launch=-1),
    "launch is not a number": lambda h: h.update(launch=True),
    "size": lambda h: h["spec"].update(size=-8),
    "size too large": lambda h: h["spec"].update(size=2**63),
    "spec": lambda h: h.update(spec=[1]),
    "further field of the spec": lambda h: h["spec"].update(colour="red"),
    "meta": lambda h: h.update(meta=[]),
    "host": lambda h: h.update(host="a"),
    "source": lambda h: h.update(source=1),
    "no reported": lambda h: h.pop("reported"),
    "reported": lambda h: h.update(reported={"a": 1}),
    "reported value": lambda h: h.update(reported=[{"name": "a", "unit": "", "statistic": "p50", "value": "1"}]),
    "badges": lambda h: h["meta"].update(badges=[1]),
    "badge without code": lambda h: h["meta"].update(badges=["loopback"], notes={}),
    "warning without code": lambda h: h["meta"].update(warnings=["of before"]),
    "notes": lambda h: h["meta"].update(notes={"a": 1}),
    "elapsed": lambda h: h["meta"].update(elapsed="long"),
    "start": lambda h: h["meta"].update(start=7),
    "loops": lambda h: h["meta"].update(loop_ns=[1, 2], chunks=[3]),
    "origin": lambda h: h.update(origin="dreamt"),
    "format": lambda h: h.update(format=99),
    "effort": lambda h: h["effort"].update(ci="no"),
}


@pytest.mark.parametrize("place", [0, 7], ids=["first", "later"])
@pytest.mark.parametrize("lie", LIES)
def test_metadata_that_are_not_from_labkit_are_refused(tmp_path: Path, lie: str, place: int) -> None:
    campaign = lying(tmp_path / "c", place, LIES[lie])
    with pytest.raises(DataError, match=r"compacted-|Launch"):
        list(map(records.numbers.seconds, campaign.samples()))
    with pytest.raises(DataError, match=r"compacted-|Launch"):
        columnar.read_campaigns(campaign).records.size  # noqa: B018


def lying(folder: Path, place: int, lie: Callable[[dict[str, Any]], Any]) -> Campaign:
    """A campaign of ten launches of which one has other metadata."""
    campaign = Campaign(folder)
    (samples := folder / "samples" / "mpi.latency").mkdir(parents=True)
    points = []
    for k in range(10):
        one = made.samples("mpi.latency", np.arange(1, 30) * 100, launch=k, meta={"engine": "c", "load_end": {"k": k}})
        header = json.loads(json.dumps(metadata(one)))
        if k == place:
            lie(header)
        times = one.time_ns.ravel()
        points.append((("0" * 16, k), Raw(json.dumps(header).encode(), (0,), {"time_ns": times})))
    compacted.write(points, samples)
    return campaign


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_read_as_python_reads_them(tmp_path: Path, text: str) -> None:
    campaign = lying(tmp_path / "c", 3, lambda h: h["meta"].update(elapsed=float(text), timed_s=float(text)))
    same(campaign)


def test_a_fact_of_the_moment_is_checked_when_it_is_asked_for(tmp_path: Path) -> None:
    campaign = lying(tmp_path / "c", 3, lambda h: h["meta"].update(load_end=5))
    with pytest.raises(DataError, match="load_end"):
        columnar.read_campaigns(campaign).fact(facts.LOAD_END)
    asked: Fact[Any] = facts.LOAD_START
    assert columnar.read_campaigns(campaign).fact(asked) == [{}] * 10


def test_what_a_run_adds_meanwhile_does_not_move_times_to_other_rows(tmp_path: Path) -> None:
    some = launches()
    campaign = made.campaign(tmp_path / "c", some[1::2])
    view = columnar.read_campaigns(campaign)
    before = view.records
    made.campaign(tmp_path / "c", some[::2])
    seen = {row: seconds for times in view.times() for row, seconds in zip(times.rows, times.seconds, strict=True)}
    by_name = {(facts.FINGERPRINT.of(one.meta), one.launch): one for one in some}
    assert sorted(seen) == list(range(len(before)))
    for row, name in enumerate(zip(before["fingerprint"], before["launch"], strict=True)):
        np.testing.assert_array_equal(seen[row], records.seconds(by_name[name]))
    assert view.fact(facts.START) == before["start"].tolist()


def test_threads_that_read_at_the_same_time_do_not_mix_their_launches(tmp_path: Path) -> None:
    campaigns = [made.campaign(tmp_path / str(k), launches()[k::4]) for k in range(4)]
    expected = [records.table(one.samples(), campaign=one.name) for one in campaigns]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for told, true in zip(
                pool.map(lambda one: columnar.read_campaigns(one).records, campaigns), expected, strict=True
            ):
                pd.testing.assert_frame_equal(told, true, check_exact=True)
