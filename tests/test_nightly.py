"""labkit nightly: the first nights, an alarm, two at once, nights that were killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from labkit import report, suites
from labkit.apps import nightly
from labkit.apps.cli import checks, main
from labkit.apps.cli import suite as command
from labkit.io import extras
from labkit.judge import gate as gates
from labkit.read import records
from labkit.report import sources
from labkit.report.blocks import gate as block
from labkit.report.content import Content
from labkit.report.stage import stage
from labkit.suites import definition
from tests.test_gate import HISTORY, campaign, judge, kept
from tests.test_suites import TINY, _Entry, suite
from tests.waiting import until

Nights = Callable[..., int]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def night(history: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    """Run a night that measures the cost of a clock read, which needs no ranks."""
    monkeypatch.setattr(suites.extras, "absent", lambda *names: ["papermill"])  # measured, not executed

    def clock(_: object) -> suites.Suite:
        entry = _Entry(Path("clock.ipynb"), {"time_cap": 0.01, "launches": 2})
        return definition.Suite("own", "Own", (entry,))

    monkeypatch.setattr(command, "loaded", clock)
    return lambda *more: main(["nightly", "--suite", "own", "--against", str(history), *more])


@pytest.fixture
def recorded(night: Nights, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run a night whose points are made by hand."""

    def run(day: int, *more: str, factor: float = 1.0, page: bool = False) -> int:
        def measured(_: object, into: Path, testbed: str) -> suites.Outcome:
            kept(into, campaign(day, factor=factor))
            return suites.Outcome(into, (), measured=12, present=0)

        monkeypatch.setattr(command, "measured", measured)
        return night(*(() if page else ("--no-report",)), *more)

    return run


def names(history: Path) -> list[str]:
    return [one.name for one in nightly.finished(history)]


def test_a_night_becomes_part_of_the_history(night: Nights, history: Path, capsys: pytest.CaptureFixture[str]) -> None:
    today = datetime.now().strftime("%Y-%m-%d")
    assert night("--metrics", str(history.parent / "labkit.prom")) == 3
    told = capsys.readouterr()
    assert "no point has enough history for a verdict" in told.err
    assert told.out.startswith(f"{today}: nothing to compare with. 0 comparisons with 0 earlier campaigns.")
    assert f"measuring {history}/.unfinished/{today}" in told.err
    assert "no report, because the extra labkit[report] is not installed" in told.err
    assert names(history) == [today]
    assert 'labkit_gate_comparisons{verdict="fail"} 0.0' in (history.parent / "labkit.prom").read_text()
    assert night() == 3
    assert names(history) == [today, f"{today}-2"]
    assert "micro.clock" in capsys.readouterr().out
    assert {path.name for path in history.iterdir()} == {today, f"{today}-2"}
    assert not (history / "lease.json").exists()


def test_a_slow_night_is_an_alarm(
    recorded: Callable[..., int], history: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for day in range(10):  # the first reference
        kept(history / f"2026-01-{day + 1:02}", campaign(day))
    assert recorded(100, "--format", "github", factor=2) == 2
    told = capsys.readouterr()
    assert "::error title=mpi.latency 8 B" in told.out
    assert "point × launch" not in told.out  # the standard output is the format's alone
    assert recorded(101) == 0


def test_a_second_start_refuses(night: Nights, history: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with nightly.opened(str(history)):
        assert night() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"labkit: Another night runs in {history}: process {os.getpid()} on ")
    assert line.endswith("Wait for its end, or end that process.")
    assert names(history) == []
    assert night() == 3


def test_a_night_that_was_stopped_is_resumed(
    night: Nights, history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as before:
        before.setattr(checks, "judged", stopped)
        assert night() == 1
    (left,) = nightly.unfinished(history)
    assert main(["show", str(left.path)]) == 0
    assert "micro.clock" in capsys.readouterr().out
    assert night() == 3
    told = capsys.readouterr().err
    assert f"resuming {left.path}" in told
    assert "0 points × launches measured, 2 there already" in told
    assert names(history) == [left.name]
    assert nightly.unfinished(history) == []


def test_an_old_unfinished_night_is_left_as_it_is(
    night: Nights, history: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert night() == 3
    (first,) = nightly.finished(history)
    old = history / ".unfinished" / "2026-01-01"
    shutil.copytree(first.path, old)
    facts = json.loads((old / "campaign.json").read_text())
    facts["created"] = (datetime.now(UTC) - timedelta(hours=13)).isoformat(timespec="seconds")
    (old / "campaign.json").write_text(json.dumps(facts))
    before = {path: path.stat().st_mtime_ns for path in old.rglob("*")}
    assert night() == 3
    assert f"{old} was never finished. Read it with: labkit show {old}" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in old.rglob("*")} == before
    assert len(names(history)) == 2


def test_a_wrong_history_or_file_is_refused_before_anything_starts(
    night: Nights, history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = kept(tmp_path / "one", campaign(1))
    assert main(["nightly", "--against", str(one)]) == 1
    assert "is one campaign, but it must be a folder of campaigns" in capsys.readouterr().err
    assert main(["nightly", "--against", str(tmp_path / "\udcff")]) == 1
    assert "is not a name in UTF-8. Choose another name." in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.isascii()) == []
    assert night("--benchmark", "mpi.latncy") == 1
    assert "mpi.latency" in capsys.readouterr().err
    assert night("--metrics", "labkit.txt") == 1
    assert "its ending must be .om" in capsys.readouterr().err
    assert night("--worse", "25") == 1
    assert "--worse '25', but it must be a percentage" in capsys.readouterr().err
    assert not history.exists()


def test_the_page_shows_the_history_once_there_is_one(history: Path) -> None:
    quick = suites.load("quick")
    history.mkdir()
    assert nightly.with_page(quick, history) == quick
    kept(history / "2026-01-01", campaign(1))
    *rest, last = nightly.with_page(quick, history).entries
    assert tuple(rest) == quick.entries
    assert (last.name, last.parameters["past"]) == ("91-history", str(history.resolve()))
    of_history = suites.load("history")
    assert nightly.with_page(of_history, history) == of_history


def test_the_page_of_a_night_begins_with_its_verdicts(tmp_path: Path) -> None:
    """The page shows what failed and by how much; a night that passed has no table."""
    slow, same = judge(campaign(100, factor=2)), judge(campaign(101))
    text = block.verdicts(Content([], {}, gate=slow))
    assert text.startswith(':::: {.callout-important title="The gate failed"}\n- today: 2 fail')
    assert "| fail | mpi.latency | 8 B" in text
    assert re.search(r"\| 2\.\d+ µs \| 1\.\d+ µs \| \+\d+ % \| 6 of 6 \(fails at 4\) \|$", text, re.MULTILINE)
    assert "unlike the past" not in text
    changed = judge(campaign(100, factor=2, environment={"OMPI_MCA_btl_tcp_sndbuf": "2048"}))
    box, _, table = block.verdicts(Content([], {}, gate=changed)).partition("\n::::\n")
    assert re.search(r"unlike the past: OMPI\S*MCA\S*btl\S*tcp\S*sndbuf 2048 instead of \S+ \(4 comparisons\)", box)
    assert "{#tbl-gate}" in table
    assert "{#tbl-gate}" in text
    assert "| mpi.latency | 64 B" not in text
    text = block.verdicts(Content([], {}, gate=same))
    assert 'title="The gate passed"' in text
    assert "{#tbl-gate}" not in text
    one_launch = [(name, table[table["launch"] == 0]) for name, table in HISTORY[:1]]
    few = block.verdicts(Content([], {}, gate=gates.gate("today", records.table(campaign(1)), one_launch)))
    assert 'title="The gate could not decide"' in few
    assert block.verdicts(Content([], {})) == ""
    night = kept(tmp_path / "night", campaign(100, factor=2))
    book, _ = stage([sources.read(night)], style="report", engine="plain", folder=tmp_path / "made", gate=slow)
    front = (book.folder / "index.qmd").read_text()
    assert front.index("The gate failed") < front.index("## Key numbers")
    assert front.index("The gate failed") < 100


def test_the_report_of_a_night_gets_the_verdicts(
    recorded: Callable[..., int], history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[tuple[list[Path], gates.Result]] = []

    def build(paths: list[Path], *, gate: gates.Result, progress: object) -> report.Built:
        given.append((paths, gate))
        return report.Built(Path("index.html"), None, "plain")

    monkeypatch.setattr(extras, "absent", lambda *names: [])
    monkeypatch.setattr(report, "build", build)
    assert recorded(100, page=True) == 3
    (((path,), result),) = given
    assert path == history / result.name
    assert result.inconclusive
    assert "HTML report: index.html" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.mpi
def test_a_night_that_was_killed_is_resumed_and_the_next_one_works(tmp_path: Path) -> None:
    """With real ranks, notebooks and a report; the kill comes when points are there and others are missing."""
    path, history = suite(tmp_path, TINY.replace("0,8,4Ki", "1:64Ki").replace("0.02", "0.2")), tmp_path / "history"
    words = [sys.executable, "-m", "labkit", "nightly", "--suite", str(path), "--against", str(history)]
    clean = {**os.environ, "BROWSER_PATH": "/nowhere"}
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=clean)
    until(lambda: list(history.glob(".unfinished/*/samples/*/*.parquet")), runs=process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (left,) = nightly.unfinished(history)
    assert left.done()
    done = subprocess.run([*words, "-p", "time_cap=0.02"], capture_output=True, text=True, timeout=600, env=clean)
    assert done.returncode == 3, done.stderr
    assert f"resuming {left.path}" in done.stderr
    assert f"HTML report: {history / left.name}/report/html/index.html" in done.stderr
    assert (history / left.name / "report" / "html" / "index.html").exists()
    done = subprocess.run([*words, "-p", "time_cap=0.02"], capture_output=True, text=True, timeout=600, env=clean)
    assert done.returncode in (0, 2, 3), done.stderr
    assert "mpi.latency" in done.stdout
    assert len(nightly.finished(history)) == 2
    pages = list((history / f"{left.name}-2" / "report" / "html").glob("*.html"))
    assert any("History" in page.read_text() or "Over time" in page.read_text() for page in pages)
