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

from labkit.apps.teaching import Session, labs
from labkit.apps.teaching.course import name_of, notebook, stems, write

ROOT = Path(__file__).resolve().parents[2]
NBGRADER = ROOT / ".venv-course" / "bin" / "nbgrader"
STEMS = stems()
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


class Course:
    """A course in a folder, driven by the nbgrader command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write(folder)
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
        """What a learner hands in: the release version, and the folder with the answers submitted on the page."""
        target = self.folder / "submitted" / who / stem
        shutil.copytree(self.folder / "release" / stem, target)
        name = name_of(stem)
        session = Session(name, target / f"run-{name.replace('_', '-')}", "recorded")
        session.measure(without_predictions=True)
        for question in labs.get(name).questions:
            right = question.of(session.results).centre
            bad = next((one for one in question.choices if one != right), 1e12)
            if question.name not in wrong:
                session.verdict(question.name, right)
            session.verdict(question.name, bad)  # takes nothing away from a right one


def released(stem: str, release: Path) -> None:
    """What nbgrader gives to learners is what `labkit lab` opens: no solution, and everything is asked."""
    given, opened = (nbformat.read(path, as_version=4).cells for path in (release, notebook(stem)))
    assert [(cell.id, cell.source) for cell in given] == [(cell.id, cell.source) for cell in opened]
    assert not any(cell.get("outputs") for cell in given)
    assert [path.name for path in release.parent.iterdir()] == [release.name]


def round_trip(folder: Path, stem: str, learners: dict[str, Collection[str]]) -> None:
    """From the source to grades and feedback; learners and what they have wrong."""
    course, questions = Course(folder), labs.get(name_of(stem)).questions
    course(f"generate_assignment {stem}")
    released(stem, folder / "release" / stem / f"{stem}.ipynb")
    for who, wrong in learners.items():
        course.submit(stem, who, wrong)
    course(f"autograde {stem}", f"generate_feedback {stem}", "export")
    rows = csv.DictReader((folder / "grades.csv").read_text().splitlines())
    scores = {row["student_id"]: float(row["score"]) for row in rows if row["assignment"] == stem}
    assert scores == {who: sum(q.points for q in questions if q.name not in wrong) for who, wrong in learners.items()}
    for who, wrong in learners.items():
        feedback = (folder / "feedback" / who / stem / f"{stem}.html").read_text()
        assert feedback.count(": 0 of 1, 1 try.") == len(wrong)


@pytest.mark.slow
def test_a_lab_goes_to_learners_and_back(tmp_path: Path) -> None:
    round_trip(tmp_path, FIRST, {"ada": [labs.get(name_of(FIRST)).questions[-1].name]})


@pytest.mark.slow
@pytest.mark.parametrize("stem", STEMS)
def test_every_lab_goes_to_learners_and_back(stem: str, tmp_path: Path) -> None:
    every = [question.name for question in labs.get(name_of(stem)).questions]
    round_trip(tmp_path, stem, {"ada": [], "bob": every})
