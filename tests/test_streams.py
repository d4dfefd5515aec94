"""The command line as a process: standard streams that are closed or full, locales and names without UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = pytest.mark.slow
LABKIT = [sys.executable, "-m", "labkit"]
EXAMPLE = Path(__file__).parent.parent / "data" / "campaigns" / "examples" / "two-cores"
POOR = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # a locale of 7 bits
SHOW = f"{' '.join(LABKIT)} show {EXAMPLE} --benchmark mpi.latency"


def shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """A line of the shell in a folder of its own."""
    where = {"LABKIT_CAMPAIGNS": str(folder / "campaigns"), "TMPDIR": str(folder)}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=os.environ | where | variables, capture_output=True, timeout=240
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{SHOW} >/dev/full", b"standard output: No space left on device. Free space"),
        pytest.param(f"{SHOW} >&-", b"standard output: Bad file descriptor. The stream is closed", marks=SLOW),
        pytest.param(f"{' '.join(LABKIT)} list >/dev/full", b"standard output: No space left on device.", marks=SLOW),
        (
            f"ulimit -f 1; {SHOW} --output big.csv --format csv",
            b"big.csv cannot be written: File too large. Raise the limit",
        ),
        pytest.param(f"{' '.join(LABKIT)} show $'\\xff\\xfe'", b"There is no campaign '\\udcff\\udcfe'.", marks=SLOW),
        pytest.param(
            f"{' '.join(LABKIT)} measure micro.clock --dry-run --output $'x\\xff/y'", b"cannot be written", marks=SLOW
        ),
    ],
)
def test_what_cannot_be_written_or_named_is_one_error(tmp_path: Path, line: str, said: bytes) -> None:
    done = shell(line, tmp_path)
    assert done.returncode == 1, done.stderr
    assert said in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    left = {one.name for one in tmp_path.iterdir()}
    assert left <= {"campaigns"}, "what is derived from an example is kept where campaigns are"


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    done = shell(f"set -o pipefail; {SHOW} --format json | head -c 10", tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
def test_a_locale_without_utf8_prints_all_signs(tmp_path: Path) -> None:
    done = shell(SHOW, tmp_path, **POOR)
    assert done.returncode == 0, done.stderr
    assert "latency (µs)".encode() in done.stdout


@pytest.mark.slow
def test_signs_that_an_encoding_lacks_are_escaped(tmp_path: Path) -> None:
    done = shell(SHOW, tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert b"latency (\\xb5s)" in done.stdout


def test_closed_messages_do_not_go_to_the_results(tmp_path: Path) -> None:
    done = shell(f"{' '.join(LABKIT)} show nosuch 2>&-", tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
