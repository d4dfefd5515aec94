"""Metrics for monitoring: parsed by the parsers of others, with the values of the summary; the dashboard asks for them."""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import parser as prometheus
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.samples import Sample

from labkit.apps.cli import main
from labkit.apps.show import metrics
from labkit.io import project
from labkit.judge import gate as gates
from labkit.point.spec import Spec
from labkit.read import records
from labkit.report import sources
from labkit.report.sources import Source
from labkit.store.campaign import Campaign
from tests import made
from tests.test_gate import HISTORY, META, campaign, kept

ODD = 'a "b"\\c, d=e\\'  # a name in which every format has to escape something
DASHBOARD = json.loads((project.SHIPPED / "templates" / "grafana" / "labkit.json").read_text())


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A campaign with latencies and bandwidths, one of them on a testbed with an odd name."""
    folder = kept(tmp_path_factory.mktemp("metrics") / "night", campaign(100))
    one = Campaign(folder)
    for number, testbed in enumerate(("local", ODD)):
        facts = META | {"fingerprint": f"{99 + number:016x}", "timing": "each", "cadence": "windowed"}
        facts |= {"badges": ["loopback"]}
        spec = Spec(benchmark="mpi.bandwidth", size=65536, testbed=testbed, transport="tcp")
        one.save(made.samples(spec, [[10_000 + 7 * i for i in range(200)]], meta=facts), facts["fingerprint"])
    one.update({"suite": "quick", "created": "2026-11-27T03:00:00+00:00"})
    return sources.read(folder)


@pytest.fixture(scope="module")
def gated() -> gates.Result:
    """A night in which a point is twice as slow."""
    return gates.gate("night", records.table(campaign(100, factor=2)), HISTORY)


@pytest.fixture(scope="module")
def families(source: Source, gated: gates.Result) -> list[metrics.Family]:
    return metrics.families(source, gated)


def values(families: list[metrics.Family]) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every value by its name and labels."""
    return {
        (one.name, frozenset({**labels, **({"statistic": statistic} if statistic else {})}.items())): value
        for one in families
        for labels, statistic, value in one.rows
    }


def parsed(samples: Iterator[Sample]) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {(one.name, frozenset(one.labels.items())): one.value for one in samples}


def test_openmetrics_is_what_its_parser_reads(families: list[metrics.Family], source: Source) -> None:
    when = metrics.created(source.facts)
    assert when == 1795748400.0
    text = metrics.openmetrics(families, when)
    found = list(openmetrics.text_string_to_metric_families(text))
    samples = [one for family in found for one in family.samples]
    assert parsed(iter(samples)) == values(families)
    assert {float(one.timestamp) for one in samples} == {when}
    assert {one.name: one.unit for one in found}["labkit_latency_us"] == "us"
    assert {one.name: one.unit for one in found}["labkit_bandwidth_MBps"] == "MBps"


def test_the_textfile_has_no_times_and_is_what_its_parser_reads(families: list[metrics.Family]) -> None:
    found = list(prometheus.text_string_to_metric_families(metrics.textfile(families, 1.0)))
    samples = [one for family in found for one in family.samples]
    assert parsed(iter(samples)) == values(families)
    assert {one.timestamp for one in samples} == {None}


def unescaped(text: str, ends: str) -> tuple[str, str]:
    """The text up to one of some characters that no backslash precedes, without backslashes, and the rest."""
    match = re.match(rf"((?:\\[,= ]|[^{ends}])*)(.*)", text, re.DOTALL)
    assert match
    return re.sub(r"\\([,= ])", r"\1", match[1]), match[2]


def points(text: str) -> Iterator[tuple[str, dict[str, str], dict[str, float], int]]:
    """Measurement, tags, fields and time of each line of InfluxDB's line protocol."""
    for line in text.splitlines():
        name, rest = unescaped(line, ", ")
        parts: list[dict[str, str]] = [{}, {}]
        for place in parts:
            while rest.startswith(",") or (place is parts[1] and not place):
                key, rest = unescaped(rest[1:], "=")
                place[key], rest = unescaped(rest[1:], ", ")
        yield name, parts[0], {key: float(value) for key, value in parts[1].items()}, int(rest)


def test_a_point_of_influx_has_a_field_for_each_statistic(families: list[metrics.Family], source: Source) -> None:
    found = list(points(metrics.influx(families, metrics.created(source.facts))))
    assert {time for *_, time in found} == {1795748400_000_000_000}
    latency = next(fields for name, tags, fields, _ in found if name == "labkit_latency_us" and tags["size"] == "8")
    assert {"p50", "p99", "max", "low", "high"} <= latency.keys()
    tags = {tags["testbed"] for name, tags, *_ in found if name == "labkit_bandwidth_MBps"}
    assert tags == {"local", ODD.rstrip("\\")}  # a tag cannot end with a backslash
    assert sum(len(fields) for *_, fields, _ in found) == len(values(families))


def test_the_values_are_those_of_the_summary(families: list[metrics.Family], source: Source) -> None:
    found = values(families)
    row = source.summary[(source.summary["benchmark"] == "mpi.latency") & (source.summary["message_size_B"] == 8)].iloc[
        0
    ]
    own = {(name, dict(labels).get("statistic")): value for (name, labels), value in found.items()
           if dict(labels).get("size") == "8"}  # fmt: skip
    for statistic in ("p50", "p95", "p99", "max", "low", "high"):
        assert own["labkit_latency_us", statistic] == row[f"latency_us_{statistic}"], statistic
    assert own["labkit_launches", None] == row["launches"] == 6
    assert own["labkit_iterations", None] == row["n"] == 1200
    badges = [dict(labels) for name, labels in found if name == "labkit_badge"]
    assert {(one["benchmark"], one["badge"]) for one in badges} == {("mpi.bandwidth", "loopback")}
    assert not any(math.isnan(value) for value in found.values())


def test_the_gate_says_which_points_fail(families: list[metrics.Family], gated: gates.Result) -> None:
    found = values(families)
    failed = {(dict(labels)["point"], dict(labels)["statistic"]) for (name, labels), value in found.items()
              if name == "labkit_gate_failed" and value}  # fmt: skip
    assert ("8 B", "p50") in failed
    assert found["labkit_gate_comparisons", frozenset({("verdict", "fail")})] == gated.count("fail") > 0


@pytest.fixture(scope="module")
def judged() -> list[metrics.Family]:
    """Metrics of an example in which something is not good."""
    return metrics.families(sources.read(project.CAMPAIGNS / "examples" / "two-cores-limits"))


def test_verdicts_are_numbers(judged: list[metrics.Family]) -> None:
    found = values(judged)
    verdicts = {dict(labels)["topic"]: value for (name, labels), value in found.items() if name == "labkit_verdict"}
    assert verdicts
    assert set(verdicts.values()) <= {0.0, 1.0, 2.0}


@pytest.fixture(scope="module")
def known(families: list[metrics.Family], judged: list[metrics.Family]) -> dict[str, set[str]]:
    """Labels of each metric that the export writes."""
    labels: dict[str, set[str]] = {}
    for one in (*families, *judged):
        for given, statistic, _ in one.rows:
            labels.setdefault(one.name, set()).update([*given, *(["statistic"] if statistic else [])])
    return labels


def queries() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]] + [
        variable["query"]["query"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"
    ]


@pytest.mark.parametrize("query", queries())
def test_the_dashboard_asks_for_what_the_export_writes(query: str, known: dict[str, set[str]]) -> None:
    plain = re.sub(r'"[^"]*"', '""', query)
    names = re.findall(r"labkit_\w+", plain)
    assert names
    assert set(names) <= known.keys()
    asked = re.findall(r"(\w+)=~?\"", plain) + re.findall(r"\w+", "".join(re.findall(r"(?:on|by) \(([^)]*)\)", plain)))
    asked += re.findall(r"label_values\(.*, (\w+)\)", plain)
    for name in names:
        assert set(asked) <= known[name], name
    statistics = set(re.findall(r'statistic="(\w+)"', query))
    assert statistics <= set(metrics.WRITTEN)


def test_the_dashboard_has_a_panel_for_latency_bandwidth_tails_and_verdicts() -> None:
    titles = " ".join(panel["title"] for panel in DASHBOARD["panels"]).lower()
    assert all(word in titles for word in ("latency", "bandwidth", "tail", "verdicts", "gate"))
    legends = [target["legendFormat"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    assert any("{{benchmark}}" in one for one in legends)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_the_command_writes_each_format_whole(source: Source, tmp_path: Path, capsys: Any) -> None:
    for suffix in metrics.FORMATS:
        file = tmp_path / f"labkit{suffix}"
        file.write_text("old\n")
        assert main(["export", str(source.path), "--metrics", str(file)]) == 0
        assert "labkit_latency_us" in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) & 0o044  # node_exporter is another user
    assert {path.name for path in tmp_path.iterdir()} == {f"labkit{suffix}" for suffix in metrics.FORMATS}
    capsys.readouterr()
    assert main(["export", str(source.path), "--metrics", str(tmp_path / "labkit.txt")]) == 1
    assert "its ending must be .om (OpenMetrics), .prom" in capsys.readouterr().err
    assert main(["export", str(source.path), "--metrics", "labkit.om", "--output", "x.zip"]) == 1
    assert "Export twice" in capsys.readouterr().err
