"""docs/integrations.md: its commands run as they stand, but for those that measure; its checks load in ReFrame."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from labkit.apps import cli
from tests.test_gate import campaign, kept

PAGE = (Path(__file__).parents[1] / "docs" / "integrations.md").read_text()
LINES = re.findall(r"^    (labkit .+)$", PAGE, re.MULTILINE)
MEASURING = ("labkit record", "labkit nightly")
CODES = {"gate": (0, 3)}  # 3: a short history


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nights, and campaigns of the names on the page."""
    folder = tmp_path_factory.mktemp("integrations")
    for day in range(5):
        kept(folder / "history" / f"2026-11-{day + 23}", campaign(day))
    for number, name in enumerate(("today", "quick", "own", "own-before")):
        kept(folder / "data" / "campaigns" / name, campaign(100 + number))
    return folder


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_page_runs(
    line: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(line.partition(" > ")[0])[1:]
    if line.startswith(MEASURING):
        assert callable(cli.parser().parse_args(words).run)
        return
    monkeypatch.chdir(place)
    monkeypatch.setenv("LABKIT_CAMPAIGNS", str(place / "data" / "campaigns"))
    assert cli.main(words) in CODES.get(words[0], (0,)), capsys.readouterr().err
    assert capsys.readouterr().out or (place / words[words.index("--output") + 1]).exists()


def test_the_alarms_ask_for_metrics_of_the_page() -> None:
    (rules,) = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(groups:.+?)```", PAGE, re.S)]
    asked = {
        name for group in rules["groups"] for rule in group["rules"] for name in re.findall(r"labkit_\w+", rule["expr"])
    }
    listed = set(re.findall(r"`(labkit_\w+)`", PAGE))
    assert asked == {"labkit_gate_failed", "labkit_campaign_created_seconds"}
    assert asked <= listed


@pytest.mark.slow
def test_reframe_lists_the_checks_of_the_page(tmp_path: Path) -> None:
    pytest.importorskip("reframe")
    (checks,) = re.findall(r"```python\n(import reframe.+?)```", PAGE, re.S)
    (tmp_path / "checks.py").write_text(checks)
    words = [Path(sys.executable).with_name("reframe"), "-c", "checks.py", "-l"]
    done = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, timeout=240
    )
    assert "Found 2 check(s)" in done.stdout, done.stdout + done.stderr
    assert "skipping" not in done.stdout + done.stderr


def test_the_lines_for_frames_work_on_a_campaign(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the libraries that labkit brings run; the others name columns that there are."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("LABKIT_CAMPAIGNS", str(place / "data" / "campaigns"))
    (setup,) = re.findall(r"```python\n(import labkit\n.+?)```", PAGE, re.S)
    lines = dict(re.findall(r"^\| (\w+) \| `(\S.+)` \|$", PAGE, re.MULTILINE))
    scope: dict[str, Any] = {"duckdb": duckdb}
    exec(setup, scope)
    pandas = eval(lines["pandas"], scope)
    assert list(pandas.index) == [8, 64]
    assert pandas.loc[8].item() == pytest.approx(
        scope["latency"].set_index("message_size_B").loc[8]["latency_us_p50"].median()
    )
    assert cli.main(["show", "quick", "--format", "parquet", "--output", "points.parquet"]) == 0
    rows = eval(lines["DuckDB"], scope).fetchall()
    assert {size: median for _, size, median in rows} == pytest.approx(dict(pandas[pandas.columns[0]]))
    index = re.findall(r'"(\w+)"', lines["xarray"])
    assert {*index} < {*scope["points"]}
    assert scope["latency"].set_index(index[:3]).index.is_unique
    compile(lines["polars"], "polars", "eval")
