"""Submissions of learners, judged again by their submitted runs, and what a teacher should look at."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.apps.teaching import sources
from labkit.apps.teaching.attempts import Attempts
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question, credit, judge
from labkit.apps.teaching.results import read
from labkit.errors import LabkitError
from labkit.point.units import plural

_Answers = dict[str, Expected]
_DIGITS = 4  # significant ones, from which on two equal answers from different runs are no accident


@dataclass(frozen=True)
class Graded:
    """One learner of a class.

    Parameters
    ----------
    who : the learner.
    attempts : what was handed in.
    right : questions that the run answers as the learner did.
    points : points of these questions.
    flags : what does not fit together; a sentence each.
    """

    who: str
    attempts: Attempts
    right: frozenset[str]
    points: float
    flags: tuple[str, ...]


def grade(lab: Lab, learners: Iterable[tuple[str, Attempts]]) -> list[Graded]:
    """Judge the answers of a class by the run that each learner handed in, never by what a diary claims.

    A flag names answers without a run, answers that the diary alone calls right, and what two learners share although
    their runs differ.
    """
    classwork = sorted(learners, key=lambda pair: pair[0])
    known: dict[tuple[tuple[Path, ...], str], _Answers] = {}
    runs = {who: _run(lab, attempts, known) for who, attempts in classwork}
    made = []
    for who, attempts in classwork:
        run, problem = runs[who]
        entries = {q.name: attempts.answers.get(q.name, {}) for q in lab.questions}
        right = frozenset(q.name for q in lab.questions if run and _agrees(q, run, entries[q.name].get("given")))
        others = [(name, one, runs[name][0]) for name, one in classwork if name != who]
        flags = [problem] if problem and any(entry.get("given") is not None for entry in entries.values()) else []
        if claimed := [name for name, entry in entries.items() if entry.get("right") and run and name not in right]:
            flags.append(f"the diary calls {', '.join(claimed)} right, the run does not")
        flags += _shared(lab, attempts, run, others)
        points = sum(credit(q, entries[q.name].get("solved", 0)) for q in lab.questions if q.name in right)
        made.append(Graded(who, attempts, right, points, tuple(flags)))
    return made


def _run(
    lab: Lab, attempts: Attempts, known: dict[tuple[tuple[Path, ...], str], _Answers]
) -> tuple[_Answers | None, str]:
    """Return the answers by a learner's run, or why there are none."""
    if not attempts.source:
        return None, "answers without a run"
    if attempts.source == "measured" and not (attempts.folder / "campaign" / "campaign.json").exists():
        return None, "answers without a run: the diary names a measurement that was not handed in"
    seed = attempts.seed_of(attempts.source)
    try:
        source = sources.used(lab, attempts)
        if (source.campaigns, seed) not in known:
            results = read(source.campaigns, lab.specs(), seed)
            known[source.campaigns, seed] = {q.name: q.of(results) for q in lab.questions}
        return known[source.campaigns, seed], ""
    except LabkitError as error:
        return None, f"the run cannot be read: {error.brief}"


def _agrees(question: Question, run: _Answers, given: Any) -> bool:
    try:
        return given is not None and judge(question, run[question.name], given).right
    except LabkitError:
        return False


def _shared(
    lab: Lab, attempts: Attempts, run: _Answers | None, others: Iterable[tuple[str, Attempts, _Answers | None]]
) -> list[str]:
    """Return what two learners share: the recording (drawn separately for each learner), or digits of answers."""
    said = []
    for name, other, answers in others:
        if attempts.seed and attempts.seed == other.seed:
            said.append(f"has the recording of {name}, although each learner draws one")
        elif run is not None and answers is not None:
            mine, theirs = attempts.answers, other.answers
            same = [
                q.name
                for q in lab.questions
                if _copied(mine.get(q.name, {}).get("given"), theirs.get(q.name, {}).get("given"))
                and _closer(mine[q.name]["given"], run[q.name], answers[q.name])
            ]
            if same:
                count = plural(len(same), "answer")
                said.append(f"{count} with the digits of {name}, whose run they fit better: {', '.join(same)}")
    return said


def _closer(given: float, own: Expected, other: Expected) -> bool:
    """Whether an answer is nearer to another run's value than to the value of the learner's run."""
    if isinstance(own.centre, str) or isinstance(other.centre, str):
        return False
    if math.isclose(own.centre, other.centre, rel_tol=10.0**-_DIGITS):
        return False
    return abs(given - other.centre) < abs(given - own.centre)


def _copied(one: Any, two: Any) -> bool:
    """Whether two numbers are equal and have too many digits for an accident."""
    return isinstance(one, float) and one == two and one != float(f"{one:.{_DIGITS - 1}g}")
