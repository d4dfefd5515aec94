"""Every notebook's figures, tables and findings over recorded campaigns with one launch: an error is labkit's own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from labkit.apps import notebook
from labkit.errors import LabkitError, LabkitWarning

ROOT = Path(__file__).parent.parent
CAMPAIGNS = ("two-cores", "virtual-cluster", "two-cores-settings")
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("[1-9]*.ipynb"))


def cells(path: Path) -> list[tuple[str, list[str]]]:
    """Code and tags of each cell of code."""
    every = json.loads(path.read_text())["cells"]
    return [("".join(one["source"]), one["metadata"].get("tags", [])) for one in every if one["cell_type"] == "code"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_with_one_launch_ends_in_no_traceback(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also over a campaign that lacks what it shows, or holds a part of it."""
    monkeypatch.setenv("LABKIT_CAMPAIGNS", str(tmp_path))
    monkeypatch.setattr(notebook, "show", str)
    monkeypatch.setattr(notebook, "table", notebook.of_frame)
    monkeypatch.setattr(notebook, "measure", lambda study: study.run())
    for campaign in CAMPAIGNS:
        shutil.copytree(ROOT / "data" / "campaigns" / "examples" / campaign, tmp_path / campaign)
        given: dict[str, Any] = {"__name__": "cells"}
        for source, tags in cells(ROOT / "notebooks" / f"{name}.ipynb"):
            try:
                exec(source, given)
            except (LabkitError, LabkitWarning):
                if "study = " in source:
                    break
            if "parameters" in tags:
                given |= {"measure": False, "campaign": str(tmp_path / campaign)}
                given |= {"launches": 1} if "launches" in given else {}
