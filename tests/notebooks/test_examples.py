"""Notebooks and report on the recorded example campaign: no MPI, no tool, nothing measured."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from labkit import load, suites
from labkit.figures import style
from labkit.io import project
from labkit.store.campaign import Campaign
from labkit.suites import rereading

EXAMPLES = sorted(p.parent for p in (project.SHIPPED / "data" / "campaigns" / "examples").glob("**/campaign.json"))
RECORDED = {
    folder.name: [entry["name"] for entry in json.loads((folder / "campaign.json").read_text()).get("notebooks", [])]
    for folder in EXAMPLES
}
TWO_CORES = project.SHIPPED / "data" / "campaigns" / "examples" / "two-cores"  # which most notebooks read
QUICK = ("40-storage",)
NOTEBOOKS = [
    pytest.param(name, where, id=name, marks=[] if name in QUICK else pytest.mark.slow)
    for where, names in RECORDED.items()
    for name in sorted(names)
]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it, beside copies of the others, so that nothing in the checkout is touched."""
    target = tmp_path_factory.mktemp("examples")
    for folder in EXAMPLES:
        shutil.copytree(folder, target / folder.name)
    return target / TWO_CORES.name


@pytest.mark.slow
def test_examples_are_there_small_and_readable() -> None:
    assert EXAMPLES
    size = sum(p.stat().st_size for folder in EXAMPLES for p in folder.glob("**/*") if p.is_file())
    assert size < 20_000_000
    for folder in EXAMPLES:
        frame = load(Campaign(folder))
        assert len(frame) > 30  # two-cores-launches has two points, of 18 launches each
        assert set(frame["origin"]) <= {"measured", "reported"}
        if folder != TWO_CORES:
            continue
        assert {"mpi.latency", "mpi.bandwidth", "mpi.allreduce", "storage.write", "storage.iozone"} <= set(
            frame["benchmark"]
        )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "where"), NOTEBOOKS)
def test_a_notebook_reads_the_example_and_shows_figures(name: str, where: str, example: Path) -> None:
    campaign = Campaign(example.parent / where)
    [entry] = [one for one in rereading.missing(campaign) if one.name == name]
    before = campaign.done()
    done = suites.execute(entry, campaign)
    assert not done.error
    assert campaign.done() == before, "measured"
    assert name not in [one.name for one in rereading.missing(campaign)]
    book = nbformat.read(done.path, as_version=4)
    outputs = [o for cell in book.cells if cell.cell_type == "code" for o in cell.outputs if "data" in o]
    figures = [o["data"][suites.PLOTLY] for o in outputs if suites.PLOTLY in o["data"]]
    assert len(figures) >= 2
    for figure in figures:
        assert any(len(trace.get("x", trace.get("z", ()))) for trace in figure["data"]), "a figure without a point"
        assert figure["layout"]["template"] == style.TEMPLATE
    shown = [o["data"].get("text/markdown", "") for o in outputs if suites.PLOTLY not in o["data"]]
    sentences = [text for text in shown if text and not text.startswith(("|", "*Omitted: "))]
    assert any(re.search(r"\d (µs|MB/s|GB/s|%|KiB|B|ns|times|of \d)", text) for text in sentences), "no result in words"


def test_copies_of_swept_notebooks_are_known_by_their_names(tmp_path: Path) -> None:
    swept = {"10-latency-1-0.02": {"seed": 1}, "20-bandwidth": {}, "99-of-another-labkit": {}}
    campaign = Campaign(
        tmp_path / "c", {"parameters": swept, "sweep": {"settings": {"10-latency-1-0.02": {"bind": "core"}}}}
    )
    (campaign.path / "notebooks").mkdir()
    (campaign.path / "notebooks" / "20-bandwidth.ipynb").touch()
    [entry] = rereading.missing(campaign)
    assert (entry.notebook.stem, entry.suffix, entry.setting) == ("10-latency", "-1-0.02", {"bind": "core"})
    assert entry.parameters == {"seed": 1, "measure": False, "campaign": str(campaign.path.resolve())}


@pytest.mark.slow
def test_nothing_after_the_samples_file_needs_mpi(example: Path, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom labkit import load\nfrom labkit.studies import latency\n"
        f"study = latency.Study(campaign={str(example)!r}, measure=False)\n"
        "study.latency_figure(); study.findings()\nassert len(study.records)\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('mpi4py', 'pyverbs')]\n"
    )
    environment = {**os.environ, "PATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
