"""Give a notebook one section per benchmark of its campaign, with heading, table and figure.

The call `notebook.sections(study)` displays these sections. Before papermill executes the notebook, the call is
replaced by one cell per table and figure, so that the report can caption, list and cross-reference each.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit import benchmarks
from labkit.io import safe_read
from labkit.point.columns import METRICS

if TYPE_CHECKING:
    from labkit.studies import Study

CALL = "notebook.sections(study)"


def expanded(source: Path, made: Callable[[], Study]) -> dict[str, Any] | None:
    """Return a notebook with cells for each section; None if it does not call `notebook.sections`.

    Parameters
    ----------
    source : source of the notebook.
    made : returns the study of the campaign; called only if the notebook needs it.
    """
    text = safe_read.text(source, most=safe_read.MOST_NOTEBOOK_B)
    if CALL not in text:
        return None
    notebook: dict[str, Any] = json.loads(text)
    study, cells = made(), list[dict[str, Any]]()
    for cell in notebook["cells"]:
        if CALL in "".join(cell["source"]):
            cells += [one for name in study.sections() for one in _section(name, study)]
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def _section(name: str, study: Study) -> list[dict[str, Any]]:
    """Return heading, table and figure of a benchmark."""
    stem = type(study).__module__.rpartition(".")[2].replace("_", "-")
    benchmark, label = benchmarks.get(name), f"{stem}-{name.replace('.', '-').replace('_', '-')}"
    table = f'#| label: tbl-{label}\n#| tbl-cap: "Points of {name}."\n#| echo: false\n'
    table += f'notebook.table(study.table("{name}"))'
    metric = next((METRICS[one].label for one in benchmark.metrics if one in METRICS), "values")
    title = benchmark.title[:1].upper() + benchmark.title[1:]
    return [
        _cell("markdown", f"## {title} {{#sec-{label}}}\n\n{_introduced(name, label)}", f"{label}-head"),
        _cell("code", table, f"{label}-table"),
        _cell(
            "code",
            f'#| label: fig-{label}\n#| fig-cap: "{metric[:1].upper() + metric[1:]} of {name}."\n#| echo: false\n'
            f'notebook.show(study.figure("{name}"))',
            f"{label}-figure",
        ),
    ]


def _introduced(name: str, label: str) -> str:
    """Return one sentence on the table of a section and one on its figure.

    A report drops each with its table or figure.
    """
    return (
        f'<span data-needs="tbl-{label}">@tbl-{label} lists the points of `{name}`.</span> '
        f'<span data-needs="fig-{label}">@fig-{label} shows them.</span>'
    )


def _cell(kind: str, source: str, name: str) -> dict[str, Any]:
    """Return a cell in the form of nbformat."""
    cell: dict[str, Any] = {"cell_type": kind, "id": name[-60:], "metadata": {}, "source": source}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
