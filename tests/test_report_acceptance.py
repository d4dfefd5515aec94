"""The acceptance report: the evidence for each clause, what was measured again, and the points that it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit.judge import contract, retests
from labkit.point.spec import Spec
from labkit.report import artifact, campaigns, caveats, linting, methods, sources, summary
from labkit.report.blocks import acceptance
from labkit.report.content import Content
from labkit.store.samples import Samples
from labkit.store.samples.facts import COMMAND
from tests import made

REPEATED = "a run of perftest was repeated, because it gave no result: no bandwidth"
CLAUSE = """
[[clause]]
name = "{}"
benchmark = "mpi.latency"
where = {}
statistic = "latency_us_p50"
relation = "{}"
bound = {}
"""


def launch(benchmark: str, size: int, number: int, us: float, **meta: Any) -> Samples:
    """A launch whose iterations take about twice the latency; launches differ by up to 10 %."""
    spec = Spec(benchmark=benchmark, size=size, transport="shm")
    ns = (us * 2000 * (1 + number / 50) + np.arange(200)).astype(int)
    meta = {"fingerprint": f"{benchmark} {size}".encode().hex()[-16:], "elapsed": 1.0, "verified": True, **meta}
    return made.samples(spec, [ns] * 2, launch=number, meta=meta)


def content(folder: Path, terms: str, points: Sequence[Samples]) -> Content:
    """The content of an acceptance report, as `labkit report` makes it."""
    file = folder / "terms.toml"
    file.write_text(terms)
    whole = sources.read(made.campaign(folder / "c", points).path)
    one = whole.of_points(contract.selected(contract.load(file), whole.summary))
    return Content([one], {}, style="acceptance", contract=file)


def six(benchmark: str, size: int, us: float, **meta: Any) -> list[Samples]:
    return [launch(benchmark, size, number, us, **meta) for number in range(6)]


@pytest.mark.parametrize(
    ("where", "relation", "bound", "row"),
    [
        ('{size = 8, transport = "shm"}', "<=", 5, "78 % margin | wholly within the bound"),
        ("{size = 8}", "<=", 0.5, "**120 % over** | wholly beyond the bound"),
        ("{size = 8}", "<=", 1.07, "**2.8 % over** | **spans the bound**"),
        ("{size = 16}", "<=", 5, "58 % margin | none: 3 launches"),
        ("{size = 16}", ">=", 5, "**58 % short** | none: 3 launches"),
    ],
)
def test_evidence_has_measured_value_bound_margin_and_how_safe_the_verdict_is(
    tmp_path: Path, where: str, relation: str, bound: float, row: str
) -> None:
    points = six("mpi.latency", 8, 1) + six("mpi.latency", 16, 2)[:3]
    text = " ".join(
        acceptance.evidence(content(tmp_path, CLAUSE.format("fast", where, relation, bound), points)).split()
    )
    assert row in text
    assert "MPI latency over shared memory" in text
    assert f"{'≤' if relation == '<=' else '≥'} {bound} µs" in text


def test_evidence_shows_the_worst_points_and_counts_the_others(tmp_path: Path) -> None:
    sizes = range(1, 13)
    points = [one for size in sizes for one in six("mpi.latency", size, size)]
    terms = CLAUSE.format("all", "{}", "<=", 100) + CLAUSE.format("few", "{}", "<=", 2.5)
    rows = [" ".join(line.split()) for line in acceptance.evidence(content(tmp_path, terms, points)).splitlines()]
    shown = [row.split("memory, ")[1].split(" |")[0] for row in rows if "MPI latency" in row]
    assert shown == [f"{size} B" for size in (12, 11, 10, 12, 11, 10, 9, 8, 7, 6, 5)]
    more = [row for row in rows if "more, " in row]
    assert "and 9 more, all fulfil it" in more[0]
    assert "and 4 more, 2 of them do not fulfil it" in more[1]


def test_evidence_has_the_caveats_of_exactly_that_point(tmp_path: Path) -> None:
    points = six("mpi.latency", 8, 1, badges=["virtual machine", "loopback"])
    points += six("mpi.latency", 16, 2, badges=["virtual machine", "busy machine"])
    text = acceptance.evidence(content(tmp_path, CLAUSE.format("fast", "{}", "<=", 5), points))
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "Caveats of all these points: virtual machine" in text
    assert next(row for row in rows if " 8 B" in row).endswith("| loopback |")
    assert next(row for row in rows if " 16 B" in row).endswith("| busy machine |")


def test_evidence_names_a_clause_that_selects_nothing_and_launches_that_are_too_few(tmp_path: Path) -> None:
    terms = CLAUSE.format("none", "{size = 99}", "<=", 5) + CLAUSE.format("six", "{}", "<=", 5) + "launches = 6\n"
    text = acceptance.evidence(content(tmp_path, terms, six("mpi.latency", 8, 1)[:2]))
    assert "it selects no point of the campaign, so nothing shows that the clause is fulfilled" in text
    assert "6 launches demanded" in text


def test_evidence_has_the_coverage_that_a_clause_demands(tmp_path: Path) -> None:
    terms = '[[clause]]\nname = "hosts"\nbenchmark = "mpi.latency"\nhosts = ["a", "b"]\n'
    text = acceptance.evidence(content(tmp_path, terms, six("mpi.latency", 8, 1, rank_hosts=["a", "a"])))
    assert "not fulfilled: 1 of 2 hosts was not measured (b)" in text
    assert re.search(r"\| 1 of 2 hosts +\| – ", text)
    assert re.search(r"MPI latency over shared memory, 8.B +\| – +\| 6 +\| ≥ 1 launch +\| counted", text)


def test_a_contract_that_selects_no_point_has_a_report(tmp_path: Path) -> None:
    made_of = content(tmp_path, CLAUSE.format("none", "{size = 99}", "<=", 5), six("mpi.latency", 8, 1))
    parts = {**acceptance.BLOCKS, **methods.BLOCKS, **artifact.BLOCKS, **summary.BLOCKS, **linting.BLOCKS}
    texts = {name: part(made_of) for name, part in {**parts, **caveats.BLOCKS, **campaigns.BLOCKS}.items()}
    assert "0 of 1, judged by 0 points in 0 launches" in texts["sign-off"]
    assert "about the 0 points that the contract selects" in texts["campaigns"]
    assert "There are no samples." in texts["timing"]


def test_repeated_runs_are_re_tests(tmp_path: Path) -> None:
    again = {"warnings": [REPEATED], "notes": {REPEATED: ["repeated", {"tool": "perftest"}]}}
    other = six("verbs.send_bandwidth", 8, 1, **again)[:2]
    mine = six("mpi.latency", 8, 1)
    terms = CLAUSE.format("fast", '{transport = "shm"}', "<=", 5)
    folders = [tmp_path / name for name in ("none", "other", "judged")]
    for folder in folders:
        folder.mkdir()
    none, elsewhere, judged = (
        acceptance.retests(content(folder, terms, points))
        for folder, points in zip(
            folders, (mine, mine + other, mine[:5] + six("mpi.latency", 8, 1, **again)[5:]), strict=True
        )
    )
    assert "the first start measured each of 6 launches of the judged points" in none
    assert "2 launches of the campaign (`verbs.send_bandwidth`), none of a judged point" in elsewhere
    assert "1 launch of the campaign (`mpi.latency`), 1 launch of judged points: mpi.latency 8 B" in judged
    assert "first start measured each" not in elsewhere + judged


def test_methods_and_artifact_are_about_the_judged_points(tmp_path: Path) -> None:
    busy = six("mpi.bandwidth", 65536, 9, badges=["busy machine"], library="MPICH 4.0", stopped_by="cap")
    points = six("mpi.latency", 8, 1, library="Open MPI 4.1") + six("mpi.latency", 16, 2, stopped_by="cap") + busy
    made_of = content(tmp_path, CLAUSE.format("fast", "{size = 8}", "<=", 5), points)
    assert "busy machine" not in caveats.caveats(made_of)
    assert "mpi.bandwidth" not in methods.definitions(made_of) + methods.timing(made_of) + summary.measured(made_of)
    assert "cap" not in methods.timing(made_of)
    assert "MPICH" not in artifact.versions(made_of)
    assert "The data of 1 point break" in linting.broken(made_of)
    assert "mpi.bandwidth" not in linting.broken(made_of)
    said = campaigns.campaigns(made_of)
    assert (
        "It holds 3 points in 18 launches. This report is about the 1 point that the contract selects: 6 launches"
        in said
    )
    assert "2,400 raw samples" in said, "6 launches of 2 ranks with 200 iterations"
    assert artifact.checksums(made_of.sources[0]).count("mpi.bandwidth"), "checksums are those of the whole campaign"
    assert "1 of 1, judged by 1 point in 6 launches" in acceptance.sign_off(made_of)


def test_some_points_of_a_campaign_keep_their_times_and_facts(tmp_path: Path) -> None:
    points = six("mpi.latency", 8, 1, command=["a"]) + six("mpi.latency", 16, 2, command=["b"])
    points += six("mpi.bandwidth", 8, 3, command=["c"])
    whole = sources.read(made.campaign(tmp_path, points).path)
    chosen = whole.summary[whole.summary["message_size_B"] == 16]["fingerprint"]
    some = whole.of_points(chosen)
    records = whole.records[whole.records["fingerprint"].isin(chosen)].reset_index(drop=True)
    assert some.records.equals(records)
    times = {}
    for each in some.launches.times():
        times |= {int(row): each.batch.time_ns[:, begin:end] for row, begin, end in zip(
            each.rows, each.batch.starts, each.batch.starts[1:], strict=False
        )}  # fmt: skip
    assert sorted(times) == list(range(6))
    for row, one in some.launches.samples(list(range(6))).items():
        assert one.launch == records["launch"][row]
        assert np.array_equal(one.time_ns, times[row])
        assert one.spec.size == 16
    assert len(some.points) == 6
    assert some.launches.fact(COMMAND) == [["b"]] * 6
    assert {tuple(COMMAND.of(one.meta)) for one in some.launches.kinds} == {("b",)}
    assert not whole.of_points([]).points


def test_a_requirement_is_in_words() -> None:
    fields: dict[str, Any] = {"name": "a", "benchmark": "mpi.latency", "relation": "<=", "bound": 0.5}
    clause = contract.Clause(
        **fields, statistic="latency_us_p50", where={"size": "8:4Ki", "transport": ["shm", "tcp"]}, launches=6
    )
    words = "median latency ≤ 0.5 µs at every point, 6 launches or more"
    assert clause.text == f"mpi.latency, size 8 B to 4 KiB, transport shm or tcp: {words}"
    tail = contract.Clause(**fields, statistic="latency_us_p99", share=95, basis="interval")
    words = "worse end of the interval of the 99th percentile of the latency ≤ 0.5 µs at 95 % of the points"
    assert tail.text == f"mpi.latency: {words}"


def test_the_moment_of_a_test_has_its_time_zone() -> None:
    one = retests.Test(
        when="2026-11-26T20:43:42+01:00", campaign="c", identity="", contract="", failed=[], clauses=1, points=1
    )
    assert one.moment == "2026-11-26 19:43 UTC"
    assert "test 1, 2026-11-26 19:43 UTC, c: pass" in retests.told([one])
