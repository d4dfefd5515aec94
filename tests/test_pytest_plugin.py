"""The pytest plug-in: tests that measure, and fail if a point is worse than its past."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.store.campaign import Campaign
from tests import made
from tests.test_gate import META

TEST = """
def test_clock(labkit):
    points = labkit.measure("micro.clock", sizes=0, ranks=1, launches=6)
    assert list(points["launches"]) == [6]
    assert points["clock_read_ns_p50"].min() > 0
    assert labkit.into.name == "campaign"
"""


def run(folder: Path, *more: str, test: str = TEST) -> tuple[int, str]:
    (folder / "test_own.py").write_text(test)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "labkit.pytest_plugin", "-p", "no:cacheprovider", *more]
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True, timeout=600
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.mpi
def test_the_example_of_the_page_passes(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "integrations.md").read_text()
    (example,) = re.findall(r"```python\n(def test_latency.+?)```", page, re.S)
    status, text = run(tmp_path, "--labkit-into", "monday/campaign", test=example)
    assert status == 0, text
    assert len(Campaign(tmp_path / "monday" / "campaign").done("mpi.latency")) == 12


@pytest.mark.slow
def test_a_test_measures_and_is_judged_by_the_past(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    status, text = run(work, "--labkit-into", str(tmp_path / "first" / "campaign"))
    assert status == 0, text
    first = Campaign(tmp_path / "first" / "campaign")
    points = list(first.samples("micro.clock"))
    assert len(points) == 6
    for night in range(8):  # nights in which the clock cost a hundredth: no machine is so fast
        past = Campaign(tmp_path / "history" / f"night{night}")
        for point in points:
            fast = made.samples(point.spec, point.time_ns // 100, launch=point.launch, host=point.host,
                                meta=META | dict(point.meta))  # fmt: skip
            past.save(fast, str(point.meta["fingerprint"]))
    status, text = run(work, "--labkit-against", str(tmp_path / "history"))
    assert status == 1, text
    assert f"worse than in {tmp_path / 'history'}:" in text
    assert "micro.clock" in text
    assert "Traceback" not in text
