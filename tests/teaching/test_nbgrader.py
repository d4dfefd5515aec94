"""nbgrader itself: the learners' version holds no solution, right and wrong answers get their points, feedback is made."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

import nbformat
import pytest

from labkit import project
from labkit.teaching import definition
from tests.teaching.test_labs import LABS, STEMS, name_of

ROOT = Path(__file__).resolve().parents[2]
NBGRADER = ROOT / ".venv-course" / "bin" / "nbgrader"
FIRST = STEMS[0]
COMMANDS = """
import sys
from nbgrader.apps.nbgraderapp import NbGraderApp

for command in sys.argv[1:]:
    NbGraderApp.clear_instance()
    try:
        NbGraderApp.launch_instance(command.split())
    except SystemExit as ended:
        if ended.code:
            raise
"""
# where tests are required to run, a set-up without it fails
pytestmark = pytest.mark.skipif(
    not NBGRADER.exists() and not os.environ.get("LABKIT_REQUIRE"), reason="no .venv-course. Run: make course"
)


def solution_of(cell: nbformat.NotebookNode) -> str:
    """What stands between the marks."""
    return str(cell.source.partition("### BEGIN SOLUTION\n")[2].partition("\n### END SOLUTION")[0])


def hidden(cell: nbformat.NotebookNode) -> list[str]:
    """What of a cell is not for learners."""
    tests = str(cell.source.partition("### BEGIN HIDDEN TESTS\n")[2].partition("\n### END HIDDEN TESTS")[0])
    return [solution_of(cell), tests]


class Course:
    """A course in a folder, driven by the nbgrader command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(project.NOTEBOOKS / "labs", folder / "source", ignore=shutil.ignore_patterns("run-*"))
        shutil.copy(ROOT / "templates" / "course" / "nbgrader_config.py", folder)
        homes = {
            name: str(folder / "home" / name)
            for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
        }
        for home in homes.values():
            Path(home).mkdir(parents=True)
        path = f"{NBGRADER.parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = os.environ | homes | {"LABKIT_LAB_SOURCE": "recorded", "PATH": path}

    def __call__(self, *commands: str) -> str:
        """Run nbgrader's commands one after the other, in one process: each takes seconds to be imported."""
        words = [NBGRADER.with_name("python"), "-c", COMMANDS, *commands]
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout + done.stderr

    def submit(self, stem: str, who: str, wrong: Collection[str]) -> None:
        """What a learner hands in: the release version with answers, some of them wrong."""
        target = self.folder / "submitted" / who / stem
        shutil.copytree(self.folder / "release" / stem, target)
        book = nbformat.read(target / f"{stem}.ipynb", as_version=4)
        cells = {
            cell.id: cell for cell in nbformat.read(self.folder / "source" / stem / f"{stem}.ipynb", as_version=4).cells
        }
        lab = definition.get(name_of(stem))
        for cell in book.cells:
            if cell.id.startswith("answer-"):
                question = lab.question(cell.id.removeprefix("answer-"))
                bad = "'none of these'" if question.choices else "1e12"
                cell.source += "\n" + (
                    f"{question.name} = {bad}" if question.name in wrong else solution_of(cells[cell.id])
                )
        nbformat.write(book, target / f"{stem}.ipynb")


def unsolved(source: Path, release: Path) -> None:
    """What learners get holds no line of a solution or of a hidden test, and still asks everything."""
    authored, given = (nbformat.read(path, as_version=4).cells for path in (source, release))
    shown = "\n".join(cell.source for cell in authored if "### BEGIN" not in cell.source)
    text = "\n".join(cell.source for cell in given)
    secret = [line.strip() for cell in authored for part in hidden(cell) for line in part.splitlines()]
    assert len(secret) > 8
    for line in secret:
        assert len(line) < 8 or line in shown or line not in text, line
    for mark in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS", "lab.grade"):
        assert mark not in release.read_text()
    answers = [cell for cell in given if cell.id.startswith("answer-")]
    assert answers
    assert all("# your answer here" in cell.source for cell in answers)
    assert not any(cell.get("outputs") for cell in given)
    assert [path.name for path in release.parent.iterdir()] == [release.name]


def round_trip(folder: Path, stem: str, learners: dict[str, Collection[str]]) -> None:
    """From the source to grades and feedback; learners and what they have wrong."""
    course, questions = Course(folder), definition.get(name_of(stem)).questions
    course(f"generate_assignment {stem}")
    unsolved(*(folder / where / stem / f"{stem}.ipynb" for where in ("source", "release")))
    for who, wrong in learners.items():
        course.submit(stem, who, wrong)
    course(f"autograde {stem}", f"generate_feedback {stem}", "export")
    rows = csv.DictReader((folder / "grades.csv").read_text().splitlines())
    scores = {row["student_id"]: float(row["score"]) for row in rows if row["assignment"] == stem}
    assert scores == {who: sum(q.points for q in questions if q.name not in wrong) for who, wrong in learners.items()}
    for who, wrong in learners.items():
        feedback = (folder / "feedback" / who / stem / f"{stem}.html").read_text()
        assert ("AssertionError" in feedback or "SpecError" in feedback) == bool(wrong)


def test_a_lab_goes_to_learners_and_back(tmp_path: Path) -> None:
    round_trip(tmp_path, FIRST, {"ada": [definition.get(name_of(FIRST)).questions[-1].name]})


@pytest.mark.slow
@pytest.mark.parametrize("path", LABS, ids=STEMS)
def test_every_lab_goes_to_learners_and_back(path: Path, tmp_path: Path) -> None:
    every = [question.name for question in definition.get(name_of(path.stem)).questions]
    round_trip(tmp_path, path.stem, {"ada": [], "bob": every})
