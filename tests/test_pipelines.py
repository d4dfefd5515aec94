"""The pipelines in docs/gate.md: each step runs here as it stands, but for the measuring, of which the plan is made."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from labkit.apps import cli
from tests.test_gate import campaign, kept

PAGE = (Path(__file__).parents[1] / "docs" / "gate.md").read_text()
NIGHTLY, GITHUB, GITLAB = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.+?)```", PAGE, re.S))
CLAUSE = """
[[clause]]
name = "fast"
benchmark = "mpi.latency"
statistic = "latency_us_p50"
relation = "<="
bound = {}
"""


def steps() -> dict[str, list[str]]:
    """The commands of each pipeline."""
    github = [step["run"] for step in GITHUB["jobs"]["gate"]["steps"] if "run" in step]
    return {"github": github, "gitlab": GITLAB["gate"]["script"]}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checkout with a contract and a campaign of today, beside eight nights."""
    for day in range(8):
        kept(tmp_path / "nightly" / f"2026-01-{day + 1:02}", campaign(day))
    (tmp_path / "acceptance.toml").write_text(CLAUSE.format(1000.0))
    return tmp_path


def run(place: Path, command: str) -> int:
    """Run a step as a runner does."""
    folder = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "NIGHTLY": str(place / "nightly"),
        "LABKIT_CAMPAIGNS": str(place / "data" / "campaigns"),
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
    }
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command], cwd=place, env=environment, timeout=240
    ).returncode


def nights() -> list[str]:
    """The commands of the timers: of cron, of scrontab, of CI."""
    timers = [text for text in re.findall(r"```text\n(.+?)```", PAGE, re.S) if "labkit nightly" in text]
    lines = [line for text in timers for line in text.splitlines() if line.startswith("0 3 * * * ")]
    (step,) = NIGHTLY["jobs"]["nightly"]["steps"]
    return [*(line.removeprefix("0 3 * * * ") for line in lines), step["run"]]


def test_the_timers_are_ten_lines_and_their_commands_are_accepted() -> None:
    assert len(nights()) == 3
    for command in nights():
        (words,) = re.findall(r"labkit nightly [^>|;]+", command)
        assert cli.parser().parse_args(shlex.split(words)[1:]).suite == "quick"


@pytest.mark.parametrize(("status", "passes"), [(0, True), (1, False), (2, False), (3, True)])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_timer_tells_of_an_alarm_and_not_of_a_night_without_history(
    tmp_path: Path, number: int, status: int, passes: bool
) -> None:
    """With a program in the place of labkit that prints and exits; cron sends a mail if anything is printed."""
    (program := tmp_path / "bin" / "labkit").parent.mkdir()
    program.write_text(f"#!/bin/sh\necho verdicts\nexit {status}\n")
    program.chmod(0o755)
    command = nights()[number].replace("cd /srv/labkit", f"cd {tmp_path}").replace(". .venv/bin/activate", "true")
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True)
    alarm = bool(done.stdout) if number == 0 else bool(done.returncode)
    assert alarm is not passes


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_the_measuring_is_a_command_that_labkit_accepts(kind: str) -> None:
    first, *rest = steps()[kind]
    options = cli.parser().parse_args(shlex.split(first)[1:])
    assert options.into == "data/campaigns/today"
    assert all("labkit run" not in one for one in rest)
    for command in rest:
        if words := re.match(r"labkit [^>|]+", command):
            cli.parser().parse_args(shlex.split(words[0])[1:])


@pytest.mark.slow
def test_a_good_night_is_kept_and_a_bad_one_is_not(place: Path) -> None:
    _, gate, contract, summary, keep = steps()["github"]
    kept(place / "data" / "campaigns" / "today", campaign(100))
    assert [run(place, one) for one in (gate, contract, summary, keep)] == [0, 0, 0, 0]
    assert len(list((place / "nightly").glob("*/campaign.json"))) == 9
    assert "comparisons with" in (place / "summary.md").read_text()
    assert len((place / "nightly" / "acceptance.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow
def test_a_slow_night_fails_with_annotations(place: Path) -> None:
    _, gate, _, summary, _ = steps()["github"]
    kept(place / "data" / "campaigns" / "today", campaign(101, factor=2))
    assert run(place, gate) != 0
    assert run(place, summary) == 0
    (place / "acceptance.toml").write_text(CLAUSE.format(0.1))
    assert run(place, steps()["gitlab"][2]) == 2


@pytest.mark.slow
def test_the_first_nights_pass_although_they_have_no_history(place: Path) -> None:
    kept(place / "data" / "campaigns" / "today", campaign(102))
    for night in sorted((place / "nightly").iterdir())[1:]:
        shutil.rmtree(night)
    assert run(place, steps()["github"][1]) == 0


@pytest.mark.slow
def test_gitlab_gets_its_reports(place: Path) -> None:
    _, gate, contract, keep = steps()["gitlab"]
    kept(place / "data" / "campaigns" / "today", campaign(103))
    assert [run(place, one) for one in (gate, contract, keep)] == [0, 0, 0]
    for name in GITLAB["gate"]["artifacts"]["reports"]["junit"]:
        assert ET.parse(place / name).getroot().iter("testcase")


def test_the_files_have_the_keys_that_the_runners_know() -> None:
    steps_of: list[dict[str, Any]] = GITHUB["jobs"]["gate"]["steps"]
    assert {key for step in steps_of for key in step} <= {"uses", "name", "run", "if", "with", "env"}
    assert {"tags", "variables", "script", "artifacts"} == set(GITLAB["gate"])
    assert GITHUB["jobs"]["gate"]["env"]["NIGHTLY"] == GITLAB["gate"]["variables"]["NIGHTLY"]
