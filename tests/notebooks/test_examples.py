"""Notebooks and report on the recorded example campaign: no MPI, no tool, nothing measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pytest

from labkit import batch, load
from labkit.campaign import Campaign

EXAMPLES = sorted(p.parent for p in (batch.HOME / "data" / "campaigns" / "examples").glob("**/campaign.json"))
RECORDED = [entry["name"] for entry in json.loads((EXAMPLES[0] / "campaign.json").read_text())["notebooks"]]
NOTEBOOKS = sorted(path for path in batch.NOTEBOOKS.glob("*.ipynb") if path.stem in RECORDED)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, so that nothing in the checkout is touched."""
    target = tmp_path_factory.mktemp("example") / "laptop"
    shutil.copytree(EXAMPLES[0], target)
    return target


def test_examples_are_there_small_and_readable() -> None:
    assert EXAMPLES
    size = sum(p.stat().st_size for folder in EXAMPLES for p in folder.glob("**/*") if p.is_file())
    assert size < 4_000_000
    for folder in EXAMPLES:
        frame = load(Campaign(folder))
        assert len(frame) > 50
        assert set(frame["origin"]) <= {"measured", "reported"}
        if folder != EXAMPLES[0]:
            continue
        assert {"mpi.latency", "mpi.bandwidth", "mpi.allreduce", "storage.write", "storage.iozone"} <= set(
            frame["benchmark"]
        )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_reads_the_example_and_shows_figures(path: Path, example: Path, tmp_path: Path) -> None:
    out = tmp_path / path.name
    parameters = {"campaign": str(example), "measure": False}
    papermill.execute_notebook(str(path), str(out), parameters=parameters, progress_bar=False, cwd=str(tmp_path))
    book = nbformat.read(out, as_version=4)
    outputs = [o for cell in book.cells if cell.cell_type == "code" for o in cell.outputs if "data" in o]
    figures = [o["data"][batch.PLOTLY] for o in outputs if batch.PLOTLY in o["data"]]
    assert len(figures) >= 2
    for figure in figures:
        assert figure["data"]
        assert figure["layout"]["template"]
        assert "sendChartToCloud" in str(figure["layout"])
    assert any("takes" in str(o["data"].get("text/markdown", "")) or "MB/s" in str(o["data"]) for o in outputs)


def test_nothing_after_the_samples_file_needs_mpi(example: Path, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom labkit import load\nfrom labkit.studies import latency\n"
        f"study = latency.Study(campaign={str(example)!r}, measure=False)\n"
        "study.latency_figure(); study.findings()\nassert len(study.records)\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('mpi4py', 'pyverbs')]\n"
    )
    environment = {**os.environ, "PATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
