"""A learner's lab report: predictions, figures, questions and answers of a lab, with methods and artifact."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labkit import report
from labkit.apps import notebook
from labkit.apps.teaching import labs, sources, summary
from labkit.apps.teaching.attempts import Attempts
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.results import Results, read
from labkit.errors import DataError, LabkitWarning
from labkit.figures import parts
from labkit.figures.static import svgs
from labkit.io import scratch
from labkit.report.figures import PLOTLY, SVG
from labkit.report.options import written

_TOLERANCE = "an answer is right within 3 % of what this run gives, and within its interval up to 10 %"
_BEGIN = "run-"  # of the folder that a lab's notebook makes


def build(
    folder: Path,
    *,
    style: str = "lab",
    engine: report.Engine = "auto",
    docx: bool = False,
    progress: Callable[[str], None] = print,
) -> report.Built:
    """Make the report of a learner's lab in its folder, in ``report-lab/`` for the style ``lab``.

    Parameters
    ----------
    folder : folder that the lab's notebook made, such as ``run-collectives``; its name names the lab.
    style, engine, docx, progress : as `labkit.report.build` takes them.

    Raises
    ------
    DataError
        If it is not a folder of a lab.
    SpecError
        If there is no such lab.
    """
    attempts = handed_in(folder)
    lab = labs.get(folder.name.removeprefix(_BEGIN).replace("-", "_"))
    source = sources.used(lab, attempts)
    results = read(source.campaigns, lab.specs(), attempts.seed_of(source.kind))
    with scratch.folder("labkit-handout-") as place:
        chapter = place / "lab.ipynb"
        nbformat.write(chapter_of(lab, attempts, results, source.words), chapter)
        return report.build(
            source.campaigns,
            style=style,
            engine=engine,
            docx=docx,
            progress=progress,
            notebooks=chapter.parent,
            into=folder,
            title=lab.title,
        )


def handed_in(folder: Path) -> Attempts:
    """Return what a learner predicted and answered.

    Raises
    ------
    DataError
        If it is not a folder of a lab.
    """
    if not (folder / "diary.json").is_file() or not folder.name.startswith(_BEGIN):
        raise DataError(
            f"{folder} is not a folder of a lab: it must be named {_BEGIN}LAB and hold diary.json. Name the folder "
            f"that the notebook of a lab made, such as {_BEGIN}collectives."
        )
    return Attempts(folder)


def chapter_of(lab: Lab, attempts: Attempts, results: Results, words: str) -> Any:
    """Return the notebook that becomes the chapter of a lab.

    Parameters
    ----------
    words : which source the numbers are from.
    """
    cells = [
        new_markdown_cell(f"# {lab.title} {{#sec-lab}}\n\n{words}"),
        new_markdown_cell("## Predictions {#sec-predictions}"),
        _table("tbl-predictions", "Predictions, and what this run shows.", summary.beside(lab, attempts, results)),
        new_markdown_cell("## Results {#sec-results}"),
        *_shown(lab, results),
        new_markdown_cell("## Questions {#sec-questions}"),
        _table(
            "tbl-answers",
            f"Questions and answers; {_TOLERANCE}.",
            summary.answers(lab, attempts),
        ),
    ]
    return new_notebook(cells=cells)


def _shown(lab: Lab, results: Results) -> list[Any]:
    """Return a cell for each figure, table and sentence of a lab; widgets are left out."""
    things = {name: results.bounded(thing(results)) for name, thing in lab.shows.items()}
    made = {
        name: notebook.of_frame(thing) if hasattr(thing, "itertuples") else parts.as_part(thing)
        for name, thing in things.items()
        if not hasattr(type(thing), "model_id")
    }
    bundles = {name: parts.bundle(part) for name, part in made.items()}
    drawn = {name: bundle[PLOTLY] for name, bundle in bundles.items() if PLOTLY in bundle}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabkitWarning)  # the report warns of figures without a static form
        pictures = dict(zip(drawn, svgs(list(drawn.values())), strict=True))
    cells = []
    for name, bundle in bundles.items():
        caption = f"{name.replace('_', ' ').capitalize()}."
        short = name.replace("_", "-")
        if name in drawn:
            picture = {SVG: pictures[name]} if pictures[name] else {}
            cells.append(_cell(f"fig-{short}", caption, bundle | picture | {"text/plain": caption}))
        elif isinstance(made[name], parts.Table):
            cells.append(_cell(f"tbl-{short}", caption, bundle))
        else:
            cells.append(new_markdown_cell(str(made[name])))
    return cells


def _table(label: str, caption: str, text: str) -> Any:
    return _cell(label, caption, {"text/markdown": text, "text/plain": caption})


def _cell(label: str, caption: str, data: dict[str, Any]) -> Any:
    """Return a cell without code that shows one thing with a caption."""
    options = {"label": label, f"{label[:3]}-cap": caption, "echo": False}
    return new_code_cell(written(options, ""), outputs=[new_output("display_data", data=data)])
