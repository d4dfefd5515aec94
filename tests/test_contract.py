"""Acceptance contracts: clauses select points, compare them, and fail where nothing shows that they are fulfilled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from labkit.apps import cli, contract_plan
from labkit.apps.show import contracted, findings
from labkit.errors import DataError, SpecError
from labkit.judge import contract, retests, sentences
from labkit.judge.finding import Finding
from labkit.point.spec import Spec
from labkit.read import records
from tests import made

EXAMPLE = Path(__file__).parents[1] / "data" / "campaigns" / "examples" / "two-cores-labs"
# medians of 1, 2 and 4 µs (a ping-pong takes twice as long)
POINTS = [
    made.samples(
        Spec(benchmark="mpi.latency", size=size, transport=transport),
        [[time * 2000 + n for n in range(200)]] * 2,
        launch=launch,
    )
    for size, transport, time in ((8, "shm", 1), (1024, "shm", 2), (8, "tcp", 4))
    for launch in range(2)
]
SUMMARY = records.summary(records.table(POINTS))


def verdict(**changes: Any) -> Finding:
    """The verdict on a clause about all points of mpi.latency."""
    fields: dict[str, Any] = {
        "name": "fast", "benchmark": "mpi.latency", "statistic": "latency_us_p50", "relation": "<=", "bound": 3.0,
    }  # fmt: skip
    [result] = contract.judge([contract.Clause(**fields | changes)], SUMMARY)
    return result


@pytest.mark.parametrize(
    ("changes", "points", "fulfilled", "passed"),
    [
        ({}, 3, 2, False),
        ({"share": 66}, 3, 2, True),
        ({"share": 67}, 3, 2, False),
        ({"relation": ">="}, 3, 1, False),
        ({"where": {"transport": "shm"}}, 2, 2, True),
        ({"where": {"transport": ["shm", "tcp"], "size": 8}}, 2, 1, False),
        ({"where": {"size": "9:4Ki"}}, 1, 1, True),
        ({"where": {"size": "1,1Ki"}}, 1, 1, True),
        ({"where": {"timing": "each"}, "bound": 10}, 3, 3, True),
        ({"benchmark": "mpi.*", "bound": 10}, 3, 3, True),
        ({"benchmark": "mpi.bandwidth"}, 0, 0, False),
        ({"where": {"colour": "shm"}}, 0, 0, False),
        ({"bound": 10, "launches": 6}, 3, 0, False),
        ({"bound": 10, "basis": "interval"}, 3, 3, True),
        ({"statistic": "latency_us_p999", "bound": 10}, 3, 0, False),
    ],
)
def test_clauses_select_and_compare(changes: dict[str, Any], points: int, fulfilled: int, passed: bool) -> None:
    result = verdict(**changes)
    assert (result.count("points"), len(result.subject.points), result.count("fulfilled")) == (
        points,
        points,
        fulfilled,
    )
    assert result.level == ("good" if passed else "bad" if points else "unknown")
    shown = json.loads(json.dumps(findings.as_dict(result), allow_nan=False))
    assert shown["sentence"] == sentences.sentence(result)
    assert "nan" not in shown["sentence"]
    assert "–" not in shown["sentence"]


def test_evidence_names_the_worst_point_first() -> None:
    worst = sentences.evidence(verdict())[0]
    assert worst.startswith("mpi.latency, transport tcp, 8 B: ")
    assert "4.0" in worst
    assert "no point has 'colour'" in sentences.sentence(verdict(where={"colour": "shm"}))


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", DataError, r"no \[\[clause\]\]"),
        ("[[clause]]\nnme='a'", SpecError, "Did you mean name"),
        ("clauses = 1\n[[clause]]\nname='a'", DataError, "'clauses'"),
        ("[[clause]]\nname='a'\nbenchmark='b'\nstatistic='fast'\nrelation='<='\nbound=1", SpecError, "not a statistic"),
        (
            "[[clause]]\nname='a'\nbenchmark='b'\nstatistic='latency_us_p50'\nrelation='=='\nbound=1",
            SpecError,
            "relation",
        ),
        ("[[clause", DataError, "contract.toml"),
    ],
)
def test_a_wrong_contract_is_one_clear_error(tmp_path: Path, text: str, error: type[Exception], said: str) -> None:
    path = tmp_path / "contract.toml"
    path.write_text(text)
    with pytest.raises(error, match=said):
        contract.load(path)


def test_every_format_and_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "contract.toml"
    path.write_text(
        "title = 'two clauses'\n"
        "[[clause]]\nname = 'never'\nbenchmark = 'mpi.latency'\nstatistic = 'latency_us_p50'\nrelation = '<='\nbound = 1e-9\n"
        "[[clause]]\nname = 'always'\nbenchmark = 'mpi.latency'\nstatistic = 'latency_us_p50'\nrelation = '>'\nbound = 0\n"
    )
    texts = {}
    for form in contracted.FORMATS:
        words = ["gate", str(EXAMPLE), "--contract", str(path), "--benchmark", "mpi.latency", "--format", form]
        assert cli.main(words) == 2
        texts[form] = capsys.readouterr().out
    assert [one["verdict"] for one in json.loads(texts["json"])["clauses"]] == ["fail", "pass"]
    assert ET.fromstring(texts["junit"]).attrib["failures"] == "1"
    assert texts["github"].startswith("::error title=never::fulfilled at 0 of ")
    assert "Fulfilled: 1 of 2 clauses" in texts["table"]
    assert "| fail | `never` |" in texts["markdown"]


def test_every_test_of_a_contract_is_on_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clause = '[[clause]]\nname = "fast"\nbenchmark = "mpi.latency"\nstatistic = "latency_us_p50"\nrelation = "<="\nbound = {}\n'
    terms, log = tmp_path / "terms.toml", tmp_path / "tests.jsonl"
    words = ["gate", str(EXAMPLE), "--benchmark", "mpi.latency", "--contract", str(terms), "--log", str(log)]
    terms.write_text(clause.format(0.001))
    assert cli.main(words) == 2
    assert cli.main(words) == 2
    terms.write_text(clause.format(1e9))
    assert cli.main(words) == 0
    told = capsys.readouterr().err.splitlines()[-3:]
    assert [line.split(";")[0].rpartition(": ")[2] for line in told] == ["fail (fast)", "fail (fast)", "pass"]
    assert "campaign tested before" not in told[0]
    assert told[1].endswith("campaign tested before")
    assert told[2].endswith("campaign tested before, contract changed")
    assert len(log.read_text().splitlines()) == 3
    assert len(retests.load(log)) == 3


def test_a_log_that_is_none_is_refused_and_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms, log = tmp_path / "terms.toml", tmp_path / "notes.txt"
    terms.write_text(
        '[[clause]]\nname = "a"\nbenchmark = "mpi.*"\nstatistic = "latency_us_p50"\nrelation = "<="\nbound = 1\n'
    )
    gate = ["gate", str(EXAMPLE), "--benchmark", "mpi.latency"]
    for text, named in (("my notes\n", "line 1"), ('{"when": "x"}\n', "campaign"), ("[1]\n", "line 1")):
        log.write_text(text)
        assert cli.main([*gate, "--contract", str(terms), "--log", str(log)]) == 1
        assert named in capsys.readouterr().err
        assert log.read_text() == text
    assert cli.main([*gate, "--against", str(EXAMPLE), "--log", str(log)]) == 1
    assert "--log without --contract" in capsys.readouterr().err


CLAUSES = """
[[clause]]
name = "small"
benchmark = "mpi.latency"
where = {size = "8:64", transport = ["shm", "tcp"], library = "Open MPI"}
statistic = "latency_us_p99"
relation = "<="
bound = 2.5
basis = "interval"

[[clause]]
name = "window"
benchmark = "mpi.*bandwidth"
where = {size = ["8", "1Mi"], window = 16}
statistic = "bandwidth_MBps_p50"
relation = ">="
bound = 100

[[clause]]
name = "again"
benchmark = "mpi.latency"
where = {size = 8, transport = "tcp"}
statistic = "latency_us_p999"
relation = "<="
bound = 9
"""


def test_a_plan_has_a_command_for_each_clause_and_benchmark(tmp_path: Path) -> None:
    path = tmp_path / "contract.toml"
    path.write_text(CLAUSES)
    clauses = contract.load(path)
    parts = contract_plan.plan(clauses, "to day")
    small, *_, again = parts
    assert small.command == (
        "labkit measure mpi.latency -m 8:64 --factor transport=shm,tcp --launches 6 --into 'to day'"
    ), "an interval needs six launches"
    assert small.unset == ("library=Open MPI",)
    assert (small.points, small.missing) == (4 * 2 * 6, 4 * 2 * 6)
    assert {one.benchmark for one in parts[1:-1]} >= {"mpi.bandwidth", "mpi.bibandwidth"}
    assert all("-m 8,1Mi -o window=16 --launches 1" in one.command for one in parts[1:-1])
    assert "-i 10000" in again.command
    assert again.points == 1
    for one in parts:
        cli.parser().parse_args(list(one.words[1:]))
    alike = contract_plan.plan([clauses[0]] * 2, "today")
    assert [one.missing for one in alike] == [48, 0], "a point that two clauses need is measured once"


def test_what_cannot_be_measured_says_why() -> None:
    fields: dict[str, Any] = {"statistic": "latency_us_p50", "relation": "<=", "bound": 3.0}
    clauses = [
        contract.Clause(name="log", benchmark="compute.stream", **fields),
        contract.Clause(name="odd", benchmark="mpi.latency", where={"ranks": 3}, **fields),
    ]
    log, odd = contract_plan.plan(clauses, "today")
    assert "compute.stream" in log.problem
    assert "ranks" in odd.problem
    script = contracted.script([log, odd])
    assert "# cannot be measured here: " in script
    assert "# labkit measure mpi.latency --ranks 3" in script


def test_the_plan_is_a_script_that_measures_what_the_gate_judges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clause = CLAUSES.split("[[clause]]")[1].replace('"8:64"', "8").replace('"interval"', '"value"\nlaunches = 2')
    Path("contract.toml").write_text("[[clause]]" + clause.replace('["shm", "tcp"], library = "Open MPI"', '"shm"'))
    words = ["gate", "today", "--contract", "contract.toml"]
    assert cli.main([*words, "--plan"]) == 0
    script = capsys.readouterr().out
    [command] = [line for line in script.splitlines() if line.startswith("labkit ")]
    assert command == "labkit measure mpi.latency -m 8 --transport shm --launches 2 --into today"
    assert "# 2 points × launches to measure" in script
    assert cli.main(["gate", "today", "--against", "h", "--plan"]) == 1
    assert "--contract" in capsys.readouterr().err
