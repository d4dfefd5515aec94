"""The scrontab of docs/gate.md as a job of a real Slurm, which has no scrontab here: the same lines through sbatch."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from labkit.apps import nightly
from labkit.store.samples.facts import ALLOCATION
from tests.slurm.conftest import Lab

PAGE = (Path(__file__).parents[2] / "docs" / "gate.md").read_text()
pytestmark = [pytest.mark.slurm, pytest.mark.netns, pytest.mark.slow]


def script(lab: Lab, suite: str) -> str:
    """The lines of the page, with folders and a suite of this test, and ranks that yield."""
    (block,) = (text for text in re.findall(r"```text\n(.+?)```", PAGE, re.S) if "#SCRON" in text)
    *options, entry = block.splitlines()
    output = f"--output={lab.folder}/night-%j.txt"
    head = [re.sub(r"--output=\S+", output, line).replace("#SCRON", "#SBATCH") for line in options]
    command = entry.removeprefix("0 3 * * * ").replace("/srv/labkit", str(lab.folder))
    command = command.replace(".venv", str(Path(sys.executable).parents[1]))
    command = command.replace("labkit nightly", f"labkit nightly --suite {suite} --no-report")
    yielding = "export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none"
    return "\n".join(["#!/bin/bash", *head, yielding, command, ""])


def test_two_nights_of_a_timer(lab: Lab) -> None:
    file = lab.folder / "night.sh"
    file.write_text(script(lab, lab.suite("nightly")))
    told = []
    for _ in range(2):
        done = lab.cluster.run("sbatch", "--wait", file, timeout=500)
        said = max(lab.folder.glob("night-*.txt"), key=lambda path: path.stat().st_mtime_ns).read_text()
        assert done.returncode in (0, 2), f"{done.stderr}\n{said}"  # 2: two nights beside other work may differ
        told.append(said)
    first, second = nightly.finished(lab.folder / "history")
    for night in (first, second):
        points = list(night.samples())
        assert {ALLOCATION.of(one.meta)["system"] for one in points} == {"slurm"}
        assert {len(ALLOCATION.of(one.meta)["hosts"]) for one in points} == {2}
    assert "nothing to compare with" in told[0]
    assert "with 1 earlier campaign" in told[1]
