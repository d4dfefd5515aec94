"""Pages for learner and teacher: what one learner, or a class, predicted, answered and looked up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from labkit.apps.teaching import labs
from labkit.apps.teaching.attempts import Attempts
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.graded import grade
from labkit.apps.teaching.questions import Question, answer, compared, credit
from labkit.apps.teaching.results import Results
from labkit.errors import DataError
from labkit.io.markdown import table
from labkit.point.notes import joined
from labkit.point.units import format_number, plural
from labkit.studies import number

MARK = {True: "right", False: "not yet"}


def of_session(lab: Lab, attempts: Attempts, source: str, results: Results | None) -> str:
    """Return one learner's last page, in Markdown: predicted, found, answered, what it means, what to read next.

    Parameters
    ----------
    source : sentence that names the source of the numbers.
    results : results of the run; None if nothing was measured.
    """
    earned = sum(credit(q, attempts.answers.get(q.name, {}).get("solved", 0)) for q in lab.questions)
    total = sum(question.points for question in lab.questions)
    found = beside(lab, attempts, results) if results is not None else "Nothing was measured."
    parts = [
        f"## {headed(lab)} {format_number(earned)} of {plural(total, 'point')}",
        source,
        "### What you predicted, and what was found",
        found,
        "### What you answered",
        answers(lab, attempts),
        *closing(lab),
    ]
    return "\n\n".join(parts) + "\n"


def headed(lab: Lab) -> str:
    """Return the title of a lab as the first part of a heading.

    Examples
    --------
    >>> headed(labs.get("storage")), headed(labs.get("is_this_number_good"))
    ('Storage:', 'Is this number good?')
    """
    return lab.title if lab.title.endswith("?") else f"{lab.title}:"


def closing(lab: Lab) -> list[str]:
    """Return the consequences of a lab's findings for a program, and further reading, in Markdown."""
    parts = []
    if lab.means:
        parts += ["### What it means for a program", lab.means]
    if lab.reading:
        parts += ["### What to read next", "\n".join(f"- {one}" for one in lab.reading)]
    return parts


def answers(lab: Lab, attempts: Attempts) -> str:
    """Return a table of the questions with a learner's answers, in Markdown."""
    rows = []
    for question in lab.questions:
        entry = attempts.answers.get(question.name, {})
        given = entry.get("given")
        if given is None:
            shown, state = "–", "no answer"
        else:
            shown = _plain(given)
            state = MARK[bool(entry.get("right"))]
        rows.append([question.text, shown, state, str(len(entry.get("tried", []))), str(entry.get("hints", 0))])
    return table(["question", "answer", "", "tries", "hints"], rows, align="lllrr")


def _plain(given: Any) -> str:
    """A value that a learner entered."""
    return format_number(given) if isinstance(given, float) else str(given)


def beside(lab: Lab, attempts: Attempts, results: Results) -> str:
    """Return a table of a learner's predictions, if any, beside the results of a run, in Markdown.

    The answer to a question stays hidden until the learner has given it.
    """
    rows = []
    for question in lab.predictions:
        given, expected = attempts.predictions.get(question.name), answer(question, results)
        unit = f" {question.unit}" if question.unit else ""
        hidden = asked_again(lab, attempts, results, question, expected)
        if hidden:
            result = f"shown once you have answered: {hidden.text}"
        elif isinstance(expected.centre, str):
            result = expected.centre
        elif not expected.basis:
            result = f"{number(expected.centre)}{unit} (computed from {expected.by})"
        else:
            ends = f"{number(expected.low)} to {number(expected.high)}, {expected.basis}"
            result = f"{number(expected.centre)}{unit} ({ends})"
        tries = attempts.later.get(question.name, [])
        after = f" (after the measurement: {', '.join(_plain(one) for one in tries)}{unit})" if tries else ""
        predicted = ("–" if given is None else _plain(given) + unit) + after
        rows.append([question.text, predicted, result, "" if hidden else compared(question, expected, given)])
    if not {*attempts.predictions, *attempts.later} & {question.name for question in lab.predictions}:
        return table(["asked", "found"], [[asked, found] for asked, _, found, _ in rows], align="lr")
    return table(["asked", "predicted", "found", ""], rows, align="lrrl")


def asked_again(
    lab: Lab, attempts: Attempts, results: Results, prediction: Question, expected: Expected
) -> Question | None:
    """Return the question that gives the value for a prediction, if it has no correct answer yet."""
    for question in lab.questions:
        if question.unit == prediction.unit and not attempts.answers.get(question.name, {}).get("right"):
            one, two = expected.centre, answer(question, results).centre
            both = isinstance(one, str) or isinstance(two, str)
            if one == two or (not both and math.isclose(float(one), float(two), rel_tol=1e-6)):
                return question
    return None


def of_class(name: str, learners_attempts: Iterable[tuple[str, Attempts]]) -> str:
    """Return a teacher's page over a class, in Markdown: learners, what to look at, and which questions were hard.

    Parameters
    ----------
    name : name of the lab.
    learners_attempts : learner and attempts.

    Raises
    ------
    DataError
        If there are none.
    """
    lab = labs.get(name)
    classwork = grade(lab, learners_attempts)
    if not classwork:
        raise DataError(
            f"There are no attempts at the lab {name}. Collect the folders run-{name.replace('_', '-')} too."
        )
    total = sum(question.points for question in lab.questions)
    learners, hard = [], []
    for one in classwork:
        marks = [one.attempts.answers.get(question.name, {}) for question in lab.questions]
        tries = sum(len(mark.get("tried", [])) for mark in marks)
        hints = sum(mark.get("hints", 0) for mark in marks)
        predicted = (
            f"{sum(each.name in one.attempts.predictions for each in lab.predictions)} of {len(lab.predictions)}"
        )
        source, look = one.attempts.source or "–", joined(one.flags) or "–"
        points = f"{format_number(one.points)} of {total}"
        learners.append([one.who, points, predicted, str(tries), str(hints), source, look])
    for question in lab.questions:
        marks = [one.attempts.answers.get(question.name, {}) for one in classwork]
        right = [question.name in one.right for one in classwork]
        first = sum(
            good and mark.get("solved") == 1 and not mark.get("hints") for good, mark in zip(right, marks, strict=True)
        )
        hints = sum(mark.get("hints", 0) for mark in marks)
        hard.append([question.name, question.text, f"{sum(right)} of {len(classwork)}", str(first), str(hints)])
    head = ["learner", "points", "predictions", "tries", "hints", "source", "look at"]
    return (
        "\n\n".join(
            [
                f"# {headed(lab)} {len(classwork)} learners",
                table(head, learners),
                table(
                    ["question", "asked", "right", "at once, without a hint", "hints asked for"], hard, align="llrrr"
                ),
            ]
        )
        + "\n"
    )


def collected(folder: Path) -> dict[str, list[tuple[str, Attempts]]]:
    """Return the diaries by lab, below a folder with one folder for each learner, such as nbgrader's ``submitted``.

    Raises
    ------
    DataError
        If there are none.
    """
    diaries: dict[str, list[tuple[str, Attempts]]] = {}
    for path in sorted(folder.glob("**/run-*/diary.json")):
        name = path.parent.name.removeprefix("run-").replace("-", "_")
        learner = path.relative_to(folder).parts[0]
        if name in labs.names():
            diaries.setdefault(name, []).append((learner, Attempts(path.parent)))
    if not diaries:
        raise DataError(
            f"There is no run-*/diary.json below {folder}. Name the folder that has one folder per learner."
        )
    return diaries
