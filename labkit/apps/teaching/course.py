"""The teacher's version of the labs: the learners' notebooks with solutions in their cells, as nbgrader takes them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat

from labkit.apps.teaching.summary import collected
from labkit.errors import DataError, SpecError
from labkit.io import atomic, project, safe_read

LABS = project.NOTEBOOKS / "labs"
TEMPLATES = project.SHIPPED / "templates" / "course"
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
_CELL = re.compile(r"^# %% (\w+)\n(.*?)(?=^# %% |\Z)", re.MULTILINE | re.DOTALL)
_SETTINGS, _PAGE = "nbgrader_config.py", "class.ipynb"
_HUB = """# for a hub's jupyterhub_config.py: load_subconfig({place!r})
# Servers show the labs as prose, and read recorded data: many on one machine would disturb each other.
c = get_config()  # noqa: F821
c.Spawner.environment.update(
    {{"JUPYTER_PATH": {path!r}, "JUPYTER_CONFIG_PATH": {path!r}, "LABKIT_LAB_SOURCE": "recorded"}}
)
"""


def stems() -> list[str]:
    """Return the names of the labs' notebooks, in order: 1, 2, … 10."""
    return sorted((path.stem for path in LABS.glob("*/*.ipynb")), key=lambda stem: int(stem.partition("-")[0]))


def name_of(stem: str) -> str:
    """Return the name of the lab of a notebook.

    Examples
    --------
    >>> name_of("2-layers"), name_of("3-eager-and-rendezvous")
    ('layers', 'eager_and_rendezvous')
    """
    return stem.partition("-")[2].replace("-", "_")


def notebook(stem: str) -> Path:
    """Return the learners' notebook of a lab."""
    return LABS / stem / f"{stem}.ipynb"


def solutions(name: str) -> dict[str, str]:
    """Return the code that answers each question of a lab.

    Raises
    ------
    DataError
        If the file of solutions is not there.
    """
    path = TEMPLATES / "solutions" / f"{name}.py"
    with safe_read.about(path):
        text = path.read_text()
    return {question: code.strip() for question, code in _CELL.findall(text)}


def solved(stem: str) -> nbformat.NotebookNode:
    """Return a lab with the solutions in the cells for answers, between the marks that nbgrader removes.

    Raises
    ------
    DataError
        If a question has no cell, or no solution.
    """
    book: nbformat.NotebookNode = nbformat.read(notebook(stem), as_version=4)
    book.metadata |= nbformat.from_dict(project.kernel())
    known = solutions(name_of(stem))
    cells = {cell.id.removeprefix("answer-"): cell for cell in book.cells if cell.id.startswith("answer-")}
    if odd := sorted(cells.keys() ^ known.keys()):
        raise DataError(
            f"{stem}: {', '.join(odd)} must have a cell in {notebook(stem)} and a solution in "
            f"{TEMPLATES / 'solutions'}."
        )
    for question, cell in cells.items():
        cell.source = f"{BEGIN}\n{known[question]}\n{END}"
    return book


def write(folder: Path) -> list[Path]:
    """Write a course: the teacher's notebooks in ``source``, settings of nbgrader and a hub, and the page over a class.

    Returns
    -------
    The files written.

    Raises
    ------
    SpecError
        If the folder has a course already.
    """
    if (folder / "source").exists():
        raise SpecError(f"{folder / 'source'} is there already. Name a new folder, or remove it.")
    written = []
    for stem in stems():
        target = folder / "source" / stem / f"{stem}.ipynb"
        target.parent.mkdir(parents=True)
        atomic.replace(target, nbformat.writes(solved(stem)))
        written.append(target)
    written.append(Path(shutil.copy(TEMPLATES / _SETTINGS, folder)))
    written.append(folder / _PAGE)
    atomic.replace(written[-1], project.with_kernel((TEMPLATES / _PAGE).read_bytes()))
    hub, prose = folder / "hub_config.py", project.SHIPPED / "templates" / "jupyter"
    atomic.replace(hub, _HUB.format(place=str(safe_read.resolved(hub)), path=str(prose)))
    return [*written, hub]


def page(folder: Path, target: Path) -> None:
    """Write the page over a class as an executed notebook.

    Parameters
    ----------
    folder : folder with a folder for each learner.
    target : the notebook.

    Raises
    ------
    DataError
        If there are no diaries below the folder.
    """
    import papermill  # 1.5 s; optional

    collected(folder)  # one clear error before a kernel starts
    papermill.execute_notebook(
        str(TEMPLATES / _PAGE),
        str(target),
        parameters={"folder": str(safe_read.resolved(folder))},
        progress_bar=False,
        log_output=False,
    )
