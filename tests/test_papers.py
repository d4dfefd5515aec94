"""Suite `papers`: its points are those that the links of published numbers name, with the papers' arguments."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labkit import benchmarks, studies, suites
from labkit.errors import SpecError
from labkit.point.columns import METRICS, statistic_column
from labkit.point.spec import Spec
from labkit.read import records, reference
from labkit.read.reference import comparing
from labkit.store import samples
from labkit.studies import papers

from . import made

LINKED = [one for one in reference.entries() if one.number.benchmarks]
CLUSTER = {"ranks": 10_000, "rdma": "local", "hosts": "a,b,c,d,e,f", "measure": False, "campaign": "none"}  # for all


def study(**values: Any) -> papers.Study:
    return papers.Study(studies.Given(), **values)


@pytest.mark.parametrize("one", LINKED, ids=lambda one: one.number.name)
def test_a_link_names_benchmarks_options_and_a_unit_that_labkit_accepts(one: reference.Entry) -> None:
    number = one.paper.measurable(one.number)
    assert number.measures == reference.UNITS[METRICS[number.metric].unit][0]
    for point in comparing.points(number):
        benchmark = benchmarks.get(point.benchmark)
        assert number.metric in (*benchmark.metrics, *benchmark.phases.values(), *benchmark.derived)
        for size in point.sizes:
            spec = Spec(benchmark=point.benchmark, size=size, ranks=point.processes, transport=point.transport)
            resolved = benchmarks.resolve(spec.replace(options=point.options))
            assert {key: resolved.values[key] for key in point.options} == dict(point.options)
        low, high = benchmark.ranks
        assert low <= point.processes <= (high or point.processes)


def made_point(spec: Spec, metric: str, statistic: str) -> samples.Samples:
    """A launch of a point as its kind of benchmark makes it: times with phases, or the value that its tool reports."""
    benchmark = benchmarks.get(spec.benchmark)
    if isinstance(benchmark, benchmarks.ToolBenchmark | benchmarks.ProgramBenchmark):
        return made.samples(spec, reported=made.values(metric, **{statistic: 2.0}))
    times = np.full((min(spec.ranks, 4), 60), 20_000)
    return made.samples(spec, times, extras=dict.fromkeys(benchmark.phases, times // 2))


@pytest.mark.parametrize("one", [one for one in LINKED if one.number.statistic], ids=lambda one: one.number.name)
def test_records_have_the_statistic_of_a_link(one: reference.Entry) -> None:
    number = one.paper.measurable(one.number)
    point = comparing.points(number)[0]
    spec = Spec(benchmark=point.benchmark, size=point.sizes[0], ranks=point.processes, transport=point.transport)
    resolved = benchmarks.resolve(spec.replace(options=point.options))
    table = records.summary(records.table([made_point(resolved, number.metric, number.statistic)]))
    found = comparing.first(number, [table])
    assert found is not None, f"no point of {point.benchmark} has {statistic_column(number.metric, number.statistic)}"
    assert found.values[0].value > 0


def of_specs(specs: list[Spec], one: reference.Entry) -> pd.DataFrame:
    """The summary that measuring some specs would give: a row for each, with the statistic of a number."""
    rows = []
    for spec in specs:
        options = {f"option_{key}": value for key, value in benchmarks.resolve(spec).values.items()}
        row = {"benchmark": spec.benchmark, "message_size_B": spec.size, "ranks": spec.ranks, "launches": 6}
        row |= {"transport": spec.transport, "testbed": spec.testbed, "fingerprint": str(len(rows))}
        rows.append(row | options | {statistic_column(one.number.metric, one.number.statistic): 1.0})
    return pd.DataFrame(rows)


def test_every_number_that_has_a_statistic_is_compared_with_points_of_the_suite() -> None:
    one_suite = study(**CLUSTER)
    specs = one_suite.specs()
    needed: set[Spec] = set()
    for one in one_suite.linked:
        if not one.number.statistic or one.number.needs:
            continue
        for name in one.number.benchmarks:
            own = [spec for spec in specs if spec.benchmark == name]
            found = comparing.first(one.number, [of_specs(own, one)])
            assert found is not None, f"{one.number.name}: the suite has no point of {name} for it"
            ids = {str(row["fingerprint"]) for row in found.rows}
            needed |= {spec for n, spec in enumerate(own) if str(n) in ids}
    assert needed == set(specs), "the suite has points that no number is compared with"


def test_the_file_of_the_suite_repeats_no_argument_of_a_paper() -> None:
    suite = suites.load("papers")
    assert [entry.notebook.stem for entry in suite.entries] == ["87-papers"]
    assert all(not entry.parameters for entry in suite.entries)
    assert {spec.benchmark for spec in study(**CLUSTER).specs()} <= set(papers.Study.benchmarks)


def test_points_follow_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number = dataclasses.replace(reference.load("breaking-band-2019")["latency_observed"], transport="tcp", size="48")
    paper = dataclasses.replace(reference.load("breaking-band-2019"), numbers={number.name: number}, claims=())
    monkeypatch.setattr(reference, "names", lambda: ["mine-2026"])
    monkeypatch.setattr(reference, "load", lambda name: paper)
    assert [(one.size, one.transport, one.ranks) for one in study().specs()] == [(48, "tcp", 2)]


def test_what_two_processors_cannot_do_is_left_out_with_its_reason() -> None:
    small = study(ranks=2, campaign="none", measure=False)
    kept = {spec.benchmark for spec in small.specs()}
    assert "apps.halo3d26" not in kept
    assert "storage.bt_io" not in kept
    assert not any(spec.benchmark.startswith("verbs.") for spec in small.specs())
    reasons = {
        one.number.name: [small._reason_against(one, p) for p in comparing.points(one.number)] for one in small.linked
    }
    assert reasons["halo_tcp"] == ["the paper has 48 processes, and ranks=2 here"]
    assert reasons["hpl_tcp"] == [""]
    assert "2 TB of files" in reasons["bt_io_share"][0]
    assert reasons["vapi_send"] == [comparing.UNNAMED]
    assert all(re.search("needs RDMA", text) for text in reasons["roce_latency"])
    with pytest.raises(SpecError, match="There is no paper 'lui-2003'"):
        study(papers="lui-2003").specs()


@pytest.mark.parametrize("gpus", [[], ["A100"]])
def test_numbers_of_gpus_are_measured_where_there_is_one(gpus: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is repeated asks for nothing that this machine cannot measure; its notebook would fail."""
    monkeypatch.setattr(papers.host, "gpus", lambda: gpus)
    asked = {spec.benchmark for spec in study(ranks=2, papers="ibisco-cluster-2025,ethernet-scientific-2020").specs()}
    assert ("gpu.mpi_bandwidth" in asked) is bool(gpus)


def test_on_a_cluster_two_jobs_share_the_hosts() -> None:
    on = study(hosts="n[01-48]", ranks=48, papers="ethernet-scientific-2020", launcher="openmpi")
    placed = {point.spec.benchmark: (point.spec.ranks, point.spec.ppn) for point in on.points if point.spec.hosts}
    assert placed["congestion.interference"] == (24, 1)
    assert placed["apps.halo3d26"] == (48, 1)
    assert placed["compute.hpl"] == (48, 32)
    assert placed["mpi.latency"] == (2, 1)


def test_findings_and_tables_state_ratio_launches_and_reasons(tmp_path: Path) -> None:
    spec = benchmarks.resolve(Spec(benchmark="mpi.latency", size=0, ranks=2, transport="tcp"))
    meta = {"fingerprint": "0123456789abcdef"}
    times = [np.full((2, 300), 14_000 + 100 * launch) for launch in range(6)]
    campaign = made.campaign(
        tmp_path / "c", [made.samples(spec, one, launch=n, meta=meta) for n, one in enumerate(times)]
    )
    shown = study(papers="ethernet-scientific-2020", ranks=2, measure=False, campaign=str(campaign.path))
    (row,) = shown.table().to_dict("records")
    assert (row["published"], row["launches"]) == ("13 to 15 µs", 6)
    assert re.fullmatch(r"[\d.]+ to [\d.]+ \[[\d.]+ to [\d.]+\]", row["ratio"]), row
    left = shown.left_out()
    assert len(left) + 1 == len(shown.linked)
    assert "its points are missing in this campaign" in set(left["not measured here"])
    assert shown.unlinked()["numbers"].sum() + len(shown.linked) + 2 == len(shown.entries), "two have another instead"
    assert f"1 of {len(shown.linked)} numbers that labkit can measure" in str(shown.findings())


@pytest.mark.mpi
def test_a_part_of_the_suite_on_real_ranks_gives_a_row_that_says_why_it_has_no_ratio(tmp_path: Path) -> None:
    part = study(
        papers="ethernet-scientific-2020", ranks=2, launches=2, time_cap=0.05, testbed="", campaign=str(tmp_path / "c")
    )
    wanted = [spec for spec in part.specs() if spec.benchmark == "mpi.latency"]
    assert [(spec.size, spec.transport) for spec in wanted] == [(0, "tcp")]
    part.measure(wanted)
    (row,) = part.table().to_dict("records")
    assert row["published"] == "13 to 15 µs"
    assert row["launches"] == 2
    assert row["ratio"] == "– (one host, without a network)"
    assert "TCP" in row["measured here"]
    left = part.left_out()
    assert set(left["quantity"]) > {"iteration of Halo3D, TCP"}
    assert left["not measured here"].str.len().min() > 0
    assert "ratio" in str(part.findings())
