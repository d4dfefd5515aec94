"""The benchmark of labkit's diagnosis: its cases, their halves, and its scores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import diagnosis, situations
from bench.situations import Kind, NotShownError, _recorded, stopped_rank
from labkit.judge import causes, rules
from tests.waiting import until


@pytest.mark.parametrize("kind", situations.every().values(), ids=lambda kind: kind.name)
def test_labels_are_codes_that_labkit_can_say_and_the_split_covers_every_case(kind: Kind) -> None:
    assert {code for label in kind.labels for code in label.causes} <= {*causes.every()}
    assert not kind.rule or kind.rule in rules.every()
    assert situations.parameters(kind) == situations.parameters(kind)
    known, groups = diagnosis.split()[kind.name], set(diagnosis.groups(kind))
    assert set(known) <= groups
    assert len(known) == len(groups) // 2
    assert known == diagnosis.drawn(kind), "the split on record is not the one that its seed draws"


def test_there_are_as_many_cases_as_the_score_needs() -> None:
    kinds = situations.every().values()
    faulty = [kind for kind in kinds if not kind.healthy]
    assert len(faulty) >= 30
    assert sum(len(situations.parameters(kind)) for kind in faulty) >= 90
    assert sum(len(situations.parameters(kind)) for kind in kinds if kind.healthy) >= 150


def test_a_case_is_made_once_and_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind = situations.every()["wrong_prefixes"]
    said: list[str] = []
    diagnosis.inject(tmp_path, [kind], 60, said.append)
    assert not said
    cases = [json.loads(file.read_text()) for file in sorted(tmp_path.glob("*/case.json"))]
    assert [case["number"] for case in cases] == [0, 1, 2, 3]
    assert all("times" in case["shown"] for case in cases)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.parquet")}
    diagnosis.inject(tmp_path, [kind], 60)
    assert before == {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.parquet")}
    diagnosis.score(tmp_path, ["development"], 0.0, every=True)
    shown = capsys.readouterr().out
    assert "2 cases, half development" in shown
    assert "| `wrong_prefixes` | recorded | 2" in shown


def test_a_case_whose_injection_does_not_show_is_rejected(tmp_path: Path) -> None:
    kind = situations.every()["wrong_prefixes"]

    def shown(*_: Any) -> str:
        raise NotShownError("nothing to see")

    hidden = Kind(
        words="", labels=kind.labels, source="recorded", cases=kind.cases, make=kind.make, shown=shown, name=kind.name
    )
    said: list[str] = []
    diagnosis.inject(tmp_path, [hidden], 60, said.append)
    assert len(said) == 4
    assert not list(tmp_path.glob("*/case.json"))
    assert "nothing to see" in json.loads((tmp_path / "rejected.json").read_text())["wrong_prefixes-0"]


def test_no_case_begins_after_the_budget(tmp_path: Path) -> None:
    said: list[str] = []
    diagnosis.inject(tmp_path, [situations.every()["wrong_prefixes"]], 0, said.append)
    assert said == ["the budget ends; the same command goes on"]
    assert not list(tmp_path.glob("*/case.json"))


@pytest.mark.parametrize("words", [("inject", "--budget"), ("score", "--decide")])
def test_a_wrong_time_is_one_clear_error(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["diagnosis.py", *words, "10m"])
    with pytest.raises(SystemExit, match="2"):
        diagnosis.main()
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"argument {words[1]}: '10m' is not a duration. Write seconds or a unit, as in 0.5, 250ms, 2min" in said


def one(expected: tuple[tuple[str, tuple[str, ...]], ...], *said: tuple[str, str]) -> diagnosis.Scored:
    places = frozenset(place for place, _ in said)
    return diagnosis.Scored("wrong_prefixes", 0, 0, "right", expected, frozenset(said), places, accused=(*places,))


def test_f1_is_that_of_sets_of_places_and_causes() -> None:
    expected = (("a", ("x", "y")), ("b", ("z",)))
    assert one(expected, ("a", "y"), ("b", "z")).pairs.f1 == 1
    assert one(expected, ("a", "x")).pairs.f1 == pytest.approx(2 / 3)
    assert one(expected, ("b", "x"), ("a", "z")).pairs.f1 == 0, "a right cause at the wrong place is wrong"
    assert one(expected).pairs.f1 == 0
    assert one(expected, ("a", "x"), ("b", "z"), ("c", "q"), ("d", "q")).pairs.f1 == pytest.approx(2 / 3)


def test_precision_and_recall_of_pairs_of_places_and_of_causes() -> None:
    expected = (("a", ("x", "y")), ("b", ("z",)))
    swapped = one(expected, ("b", "x"), ("a", "z"), ("c", "q"))
    assert swapped.pairs.precision == swapped.pairs.recall == 0
    assert swapped.places == swapped.causes == diagnosis.Counts(right=2, expected=2, said=3)
    assert swapped.places.precision == pytest.approx(2 / 3)
    assert swapped.places.recall == 1
    assert swapped.causes.f1 == pytest.approx(0.8)
    nothing = one(expected)
    assert nothing.pairs.precision == nothing.pairs.recall == nothing.places.f1 == 0
    twice = one((("a", ("x",)), ("b", ("x",))), ("a", "x"))
    assert twice.causes == diagnosis.Counts(right=1, expected=1, said=1), "a cause counts once"
    either = one((("a", ("x", "z")), ("b", ("x", "y"))), ("a", "x"), ("b", "x"))
    assert either.causes == diagnosis.Counts(right=1, expected=1, said=1), "so does a code that names two faults"


def test_a_fault_is_detected_where_something_is_not_good() -> None:
    expected = (("a", ("x",)),)
    assert one(expected, ("b", "q")).detected
    assert replace(one(expected, ("b", "q")), accused=()).detected, "a worse setting beside a good one is named too"
    assert not one(expected).detected
    assert one(()).detected, "of a healthy case nothing is not good"
    assert not one((), ("b", "q")).detected


def test_the_totals_have_each_number_with_its_interval() -> None:
    expected = (("a", ("x",)),)
    shown = diagnosis.printed([one(expected, ("a", "x")), one(expected, ("a", "q"))])
    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:-1]]
        for cells in (line.split("|") for line in shown.splitlines())
    }
    assert rows["cause at its place"] == ["2", *["0.50 [0.50, 0.50]"] * 3], "one kind has no spread"
    assert rows["place alone"] == ["2", *["1.00 [1.00, 1.00]"] * 3]
    assert rows["something not good, faults"] == ["2", "1.00 [1.00, 1.00]"]
    assert rows["detection, all"] == ["2", "1.00 [1.00, 1.00]"]


def test_the_interval_draws_whole_groups() -> None:
    values = [0.0] * 50 + [1.0] * 50
    assert diagnosis.interval(values, [0] * 50 + [1] * 50) == (0.0, 1.0), "two groups say little"
    low, high = diagnosis.interval(values, [*range(100)])
    assert 0.38 < low < 0.45
    assert 0.55 < high < 0.62


def test_without_cases_it_says_how_to_make_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    diagnosis.score(tmp_path / "none", ["development"], 0.0)
    assert "bench/diagnosis.py inject" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    [
        "wrong_path_latency",
        "page_cache",
        "mean_with_an_outlier",
        "healthy_recorded",
        "cached_reads",
        "shallow_queue",
        "few_round_trips",
        "mean_beside_median",
    ],
)
def test_a_recorded_case_shows_its_injection(name: str, tmp_path: Path) -> None:
    kind = situations.every()[name]
    case = situations.parameters(kind)[0]
    campaign = kind.make(case, tmp_path / "case")
    assert kind.shown(campaign, case)
    assert campaign.done()


def test_own_campaigns_are_taken_instead_of_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = _recorded.part("two-cores", "storage.read")
    _recorded.kept(tmp_path / "two-cores", "two-cores", some[:7])
    monkeypatch.setattr(_recorded, "own", tmp_path)
    assert len(_recorded.part("two-cores", "storage.read")) == 7 < len(some)
    assert _recorded.part("virtual-cluster", "mpi.all_pairs"), "an example that the folder lacks"


@pytest.mark.simgrid
@pytest.mark.slow
def test_a_slow_host_is_simulated(tmp_path: Path) -> None:
    kind = situations.every()["simulated_slow_host"]
    case = {"host": "n2", "share": 0.3}
    campaign = kind.make(case, tmp_path / "case")
    assert "3.33 times" in kind.shown(campaign, case)
    assert {one.origin for one in campaign.samples("mpi.bandwidth")} == {"imported"}
    with pytest.raises(NotShownError):
        kind.shown(campaign, {**case, "host": "n1"})


@pytest.mark.slow
@pytest.mark.netns
def test_packets_overtake_one_another_and_none_is_lost(tmp_path: Path) -> None:
    kind = situations.every()["reordered_packets"]
    campaign = kind.make({"sixteenths": 2}, tmp_path / "case")
    assert "none lost" in kind.shown(campaign, {"sixteenths": 2})
    (tmp_path / "case" / "counted.json").write_text('{"vain": 5000, "dropped": 1}')
    with pytest.raises(NotShownError, match="dropped 1"):
        kind.shown(campaign, {"sixteenths": 2})


def test_a_stopped_rank_goes_on_at_the_end() -> None:
    def state(process: int) -> str:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]

    words = [sys.executable, "-c", "print(1, flush=True); input()"]
    with stopped_rank.stopped({"rank": 0, "stopped_ms": 20}):
        ours = {**os.environ, "OMPI_COMM_WORLD_RANK": "0"}
        rank = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ours)
        until(lambda: state(rank.pid) == "T", each=0.001)
    out, _ = rank.communicate(b"\n", timeout=60)
    assert out == b"1\n"
    assert rank.returncode == 0


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.netns
def test_a_hidden_delay_is_injected_and_judged(tmp_path: Path) -> None:
    kind = situations.every()["hidden_delay"]
    campaign = kind.make({"ms": 5}, tmp_path / "case")
    assert "times" in kind.shown(campaign, {"ms": 5})
    assert not any("delay" in point.spec.testbed for point in campaign.samples("mpi.latency"))
    accused = {one.subject.benchmark for topic in diagnosis.asked(campaign.path, kind).topics for one in [topic.lead]}
    assert "mpi.latency" in accused
