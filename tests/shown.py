"""Figures and texts that the notebooks make of a recorded campaign, without a kernel: cells run in this process."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat

from labkit import studies
from labkit.figures import looks, style
from labkit.report.notebook import options
from labkit.store.campaign import Campaign
from labkit.suites import rereading

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "data/campaigns/examples"


@dataclass(frozen=True)
class Shown:
    """One output of a notebook: a figure as plotly writes it, or Markdown, with the options of its cell."""

    notebook: str
    label: str
    caption: str
    spec: dict[str, Any]
    text: str

    @property
    def small(self) -> str:
        """Titles of the axes, with the small print below them."""
        axes = [axis for name, axis in self.spec["layout"].items() if name.startswith(("xaxis", "yaxis"))]
        return " ".join(str(axis.get("title", {}).get("text", "")) for axis in axes)


@cache
def shown(campaign: str | Path, *names: str) -> tuple[Shown, ...]:
    """What the notebooks show of a campaign; all of them, or those whose names begin so."""
    folder = EXAMPLES / campaign
    displayed: list[Shown] = []
    for entry in rereading.missing(Campaign(folder), all_of_them=True):
        if not names or entry.name.startswith(names):
            with looks.session():  # a kernel of its own
                displayed += _run(entry.notebook, folder, entry.parameters)
    return tuple(displayed)


def _run(source: Path, folder: Path, parameters: dict[str, Any]) -> list[Shown]:
    """Execute the cells of a notebook, which measure nothing."""
    displayed: list[Shown] = []
    space: dict[str, Any] = {}
    run = mock.patch.dict(os.environ, {studies.CAMPAIGN: str(folder)})
    names = mock.patch("labkit.apps.notebook.namespace", return_value=space)
    with run, names, contextlib.redirect_stdout(None):
        for cell in nbformat.read(source, as_version=4).cells:
            if cell.cell_type != "code":
                continue
            chosen, code = options(cell.source)
            with mock.patch("labkit.apps.notebook.display", _taker(displayed, source.stem, chosen)):
                exec(compile(code, f"{source.name}", "exec"), space)
            if "parameters" in cell.metadata.get("tags", []):
                space |= parameters | {"measure": False, "campaign": str(folder)}
    return displayed


def _taker(displayed: list[Shown], notebook: str, chosen: dict[str, Any]) -> Any:
    """What displays the outputs of a cell."""

    def take(*outputs: Any, **_: Any) -> mock.Mock:
        for output in outputs:
            spec = output.get(style.MIME, {}) if isinstance(output, dict) else {}
            text = output.get("text/markdown", "") if isinstance(output, dict) else getattr(output, "data", output)
            caption = str(chosen.get("fig-cap", chosen.get("tbl-cap", "")))
            displayed.append(Shown(notebook, str(chosen.get("label", "")), caption, spec, str(text)))
        return mock.Mock()

    return take
