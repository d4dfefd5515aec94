"""Reports of several campaigns, and of one that others were merged into: drawn, named, and nothing left out silently."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.report.campaigns import all_members, campaigns, heading
from labkit.report.content import Content
from labkit.report.sources import read
from labkit.report.summary import hosts
from labkit.store.campaign import Campaign
from labkit.studies import get
from tests.shown import EXAMPLES, Shown, shown

DAYS = ("monday", "tuesday")
NOTEBOOKS = ("10-latency", "20-bandwidth", "40-storage")


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days of the same suite in one folder: the second has each time doubled, and other parameters."""
    source = Campaign(EXAMPLES / "two-cores")
    facts = {key: source.facts[key] for key in ("host", "parameters", "suite", "created")}
    facts["parameters"] = {name: facts["parameters"][name] for name in NOTEBOOKS}
    other = {
        **facts,
        "host": {"name": "node2", "hostname": "node2", "cpu_model": "Other CPU"},
        "title": "The other day",
    }
    other["created"] = "2026-12-01T00:00:00+00:00"
    other["parameters"] = {**facts["parameters"], "20-bandwidth": {**facts["parameters"]["20-bandwidth"], "window": 32}}
    campaign = Campaign(
        tmp_path_factory.mktemp("merged") / "both", {"origins": dict(zip(DAYS, (facts, other), strict=True))}
    )
    for benchmark in (
        "mpi.latency",
        "mpi.bandwidth",
        "mpi.allreduce",
        "storage.read",
        "storage.iozone",
        "sockets.tcp_rr",
    ):
        for fingerprint, one in source.named(benchmark):
            for n, day in enumerate(DAYS):
                meta = {**one.meta, "campaign": day, "first_launch": one.launch}
                again = replace(one, launch=one.launch + 10 * n, time_ns=one.time_ns * (n + 1), meta=meta)
                campaign.save(again, fingerprint)
    return campaign.path


@pytest.fixture(scope="module")
def outputs(merged: Path) -> tuple[Shown, ...]:
    """What the notebooks show of it; none fails."""
    return shown(merged, *NOTEBOOKS)


@pytest.mark.slow
def test_figures_of_a_merged_campaign_are_drawn_and_name_their_campaigns(outputs: tuple[Shown, ...]) -> None:
    figures = {one.label: one for one in outputs if one.spec}
    assert {"fig-latency", "fig-bandwidth", "fig-message-rate"} <= figures.keys()
    for label, one in figures.items():
        names = [str(trace.get("name")) for trace in one.spec["data"]]
        apart = all(any(day in name for day in DAYS) for name in names)
        assert apart or re.search(r"campaign (monday|tuesday); ", one.small), (label, names, one.small)
    names = {trace["name"] for trace in figures["fig-latency"].spec["data"]}
    assert {"shm, monday", "shm, tuesday", "tcp, monday", "tcp, tuesday"} <= names


@pytest.mark.slow
def test_sentences_and_tables_are_of_each_campaign_alone(outputs: tuple[Shown, ...]) -> None:
    findings = next(one.text for one in outputs if one.label == "latency-findings")
    first, second = findings.split("Campaign **tuesday**:")
    assert "Campaign **monday**:" in first
    assert first.count("shm") == second.count("shm") > 0
    table = next(one.text for one in outputs if one.label == "tbl-latency")
    rows = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert table.splitlines()[0].split("|")[1].strip() == "campaign"
    assert {*rows} == {*DAYS}


@pytest.mark.parametrize(
    "origins",
    [
        {"monday": {"host": 3, "parameters": [1]}},
        pytest.param({"monday": {"title": 3, "created": 5}}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_origins_of_any_shape_are_no_harm(merged: Path, tmp_path: Path, origins: object) -> None:
    facts = Campaign(merged).facts | {"origins": origins}
    (tmp_path / "samples").symlink_to(merged / "samples")
    (tmp_path / "campaign.json").write_text(json.dumps(facts))
    content = Content([read(tmp_path)], {})
    assert campaigns(content)
    assert hosts(content)
    study = get("latency")(measure=False, campaign=str(tmp_path))
    assert "monday" in str(study.findings())


@pytest.mark.slow
def test_the_front_page_names_all_campaigns_testbeds_and_hosts(merged: Path) -> None:
    content = Content([read(merged)], {})
    text, head = campaigns(content), heading(content, "labkit")
    for word in (*DAYS, "The other day", "node2", "Other CPU", "local", "2026-11-26", "2026-12-01"):
        assert word in text, word
    assert "20-bandwidth: figures of all campaigns have other parameters than tuesday had: window=32" in text.replace(
        "\\", ""
    )
    assert head["subtitle"] == "Campaigns monday, tuesday"
    assert head["date"] == "2026-11-26 to 2026-12-01"
    assert "Other CPU" in hosts(content)


@pytest.mark.slow
def test_a_report_of_several_campaigns_has_the_titles_of_all() -> None:
    content = Content([read(EXAMPLES / "two-cores"), read(EXAMPLES / "virtual-cluster")], {})
    titles = [str(Campaign(EXAMPLES / name).facts["title"]) for name in ("two-cores", "virtual-cluster")]
    assert heading(content, "labkit")["title"] == " · ".join(titles)
    text = campaigns(content)
    assert all(one.name in text and "virtual-cluster" in text for one in all_members(content))
    assert "never averages" in text
