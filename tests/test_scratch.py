"""Folders that last as long as their owner, and what lies in them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest

from labkit.io import scratch
from labkit.suites import kernels
from tests.waiting import until

RUN = """
import sys
from labkit.suites import kernels
import papermill
with kernels.prepared(kernels.NotInterrupted, {}) as kind:
    papermill.execute_notebook(sys.argv[1], sys.argv[2], progress_bar=False, log_output=False, kernel_name="python3",
                               kernel_manager_class=kind)
"""


def notebook(folder: Path, *cells: str) -> Path:
    """A notebook with cells."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = folder / "book.ipynb"
    nbformat.write(book, path)
    return path


@pytest.mark.slow
def test_a_kernel_that_ran_to_its_end_says_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    (home := tmp_path / "tmp").mkdir()
    path = notebook(tmp_path, "import os; os.listdir(os.environ['TMPDIR'])", "1 + 1")
    command = [sys.executable, "-c", RUN, str(path), str(tmp_path / "out.ipynb")]
    done = subprocess.run(
        command, env=os.environ | {"TMPDIR": str(home)}, capture_output=True, text=True, timeout=240, check=True
    )
    assert "KeyboardInterrupt" not in done.stderr
    assert list(home.iterdir()) == []
    outputs = nbformat.read(tmp_path / "out.ipynb", 4).cells[0].outputs
    assert f"['{kernels.FOLDER}" in outputs[0]["data"]["text/plain"]
    assert ".json" not in outputs[0]["data"]["text/plain"]


@pytest.mark.slow
def test_what_a_killed_owner_left_goes_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home := tmp_path / "tmp").mkdir()
    path = notebook(tmp_path, "import time; time.sleep(600)")
    command = [sys.executable, "-c", RUN, str(path), str(tmp_path / "out.ipynb")]
    with subprocess.Popen(
        command, env=os.environ | {"TMPDIR": str(home)}, stderr=subprocess.DEVNULL, start_new_session=True
    ) as owner:
        until(lambda: list(home.glob(f"{kernels.FOLDER}*/kernel*.json")))
        os.killpg(owner.pid, signal.SIGKILL)
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    with scratch.folder(kernels.FOLDER) as mine:
        assert [path for path in home.iterdir() if path.name.startswith(kernels.FOLDER)] == [mine]
