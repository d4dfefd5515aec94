"""labkit.reframe in the real ReFrame: several performance variables with units, a wrong setting, references."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

reframe = pytest.importorskip("reframe")

CHECKS = """
import reframe as rfm
from labkit.reframe import Latency


@rfm.simple_test
class NodeLatency(Latency):
    path = parameter(["shm", "tcp"])
    launches = 2
    settings = ["--time-cap", "0.2"]
    reference = {"*": {"latency_us_p50_8B": (0.000001, None, REFERENCE, "µs")}}

    @run_after("init")
    def choose(self):
        self.transport = self.path
"""
ROWS: list[dict[str, Any]] = [
    {
        "message_size_B": size,
        "fingerprint": f"f{size}",
        "latency_us_p50": value,
        "latency_us_p99": None if size else 9.0,
    }
    for size in (0, 8)
    for value in (2.0, 1.0, 4.0)
]


def test_a_variable_is_the_median_over_launches() -> None:
    from labkit.reframe import performance

    assert list(performance(ROWS, ["p50", "p99"])) == [
        ("latency_us_p50", 2.0, "µs"),
        ("latency_us_p99", 9.0, "µs"),
        ("latency_us_p50_8B", 2.0, "µs"),
    ]
    with pytest.raises(ValueError, match="Make the setting a parameter of the test"):
        list(performance([*ROWS, {**ROWS[-1], "fingerprint": "other"}], ["p50"]))


def run(folder: Path, checks: str, *more: str) -> tuple[int, str, dict[str, Any]]:
    """Run ReFrame with checks; return its status, its output and its report."""
    (folder / "checks.py").write_text(checks)
    programs = Path(sys.executable).parent
    words = [programs / "reframe", "-c", "checks.py", "-r", "--report-file", "report.json", "--prefix", folder / "out"]
    words += ["--exec-policy", "serial"]
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run([*words, *more], cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    report = folder / "report.json"
    return done.returncode, done.stdout + done.stderr, json.loads(report.read_text()) if report.exists() else {}


@pytest.mark.mpi
@pytest.mark.slow
def test_reframe_gets_the_statistics_with_units(tmp_path: Path) -> None:
    status, text, report = run(tmp_path, CHECKS.replace("REFERENCE", "None"))
    assert status == 0, text
    cases = [case for one in report["runs"] for case in one["testcases"]]
    assert len(cases) == 2
    for case in cases:
        values = {name.rpartition(":")[2]: cells for name, cells in case["perfvalues"].items()}
        assert {f"latency_us_{statistic}_{size}B" for statistic in ("p50", "p99") for size in (8, 65536)} == {*values}
        assert {cells[4] for cells in values.values()} == {"µs"}
        assert values["latency_us_p99_8B"][0] >= values["latency_us_p50_8B"][0] > 0
    assert len(list(tmp_path.glob("out/output/**/campaign/samples/mpi.latency/*.parquet"))) == 2 * 2 * 2
    status, text, _ = run(tmp_path, CHECKS.replace("REFERENCE", "0.1"))  # a reference that nothing reaches
    assert status == 1, text
    assert "latency_us_p50_8B" in text


@pytest.mark.mpi
@pytest.mark.slow
def test_an_error_of_labkit_fails_the_sanity_check(tmp_path: Path) -> None:
    checks = CHECKS.replace("REFERENCE", "None").replace('["--time-cap", "0.2"]', '["--ranks", "3"]')
    status, text, _ = run(tmp_path, checks)
    assert status == 1
    assert "labkit.json has no results" in text
    assert shutil.which("labkit", path=str(Path(sys.executable).parent))
