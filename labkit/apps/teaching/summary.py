"""Pages for learner and teacher: what one learner, or a class, predicted, answered and looked up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from labkit.apps.teaching import labs
from labkit.apps.teaching.attempts import Attempts
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.questions import compared
from labkit.apps.teaching.results import Results
from labkit.errors import DataError
from labkit.io.markdown import table
from labkit.point.units import format_number, plural
from labkit.studies import number

MARK = {True: "right", False: "not yet"}


def of_session(lab: Lab, attempts: Attempts, source: str, results: Results | None) -> str:
    """Return one learner's last page, in Markdown: predicted, found, answered, what it means, what to read next.

    Parameters
    ----------
    source : sentence that names the source of the numbers.
    results : of the run; None where nothing was measured.
    """
    right = sum(q.points * bool(attempts.answers.get(q.name, {}).get("right")) for q in lab.questions)
    total = sum(question.points for question in lab.questions)
    found = beside(lab, attempts, results) if results is not None else "Nothing was measured."
    parts = [
        f"## {headed(lab)} {right} of {plural(total, 'point')}",
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
    """Return what a lab's findings mean for a program, and what to read next, in Markdown."""
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
        rows.append([question.text, shown, state, str(entry.get("tries", 0)), str(entry.get("hints", 0))])
    return table(["question", "answer", "", "tries", "hints"], rows, align="lllrr")


def _plain(given: Any) -> str:
    """A value that a learner entered."""
    return format_number(given) if isinstance(given, float) else str(given)


def beside(lab: Lab, attempts: Attempts, results: Results) -> str:
    """Return a table of a learner's predictions beside what a run shows, in Markdown; only the latter without any."""
    rows = []
    for question in lab.predictions:
        given, expected = attempts.predictions.get(question.name), question.of(results)
        if isinstance(expected.centre, str):
            result = expected.centre
        elif not expected.basis:
            result = f"{number(expected.centre)} {question.unit} (computed from {expected.by})"
        else:
            ends = f"{number(expected.low)} to {number(expected.high)}, {expected.basis}"
            result = f"{number(expected.centre)} {question.unit} ({ends})"
        tries = attempts.later.get(question.name, [])
        after = f" (after the measurement: {', '.join(_plain(one) for one in tries)})" if tries else ""
        predicted = ("–" if given is None else _plain(given)) + after
        rows.append([question.text, predicted, result, compared(question, expected, given)])
    if not {*attempts.predictions, *attempts.later} & {question.name for question in lab.predictions}:
        return table(["asked", "found"], [[asked, found] for asked, _, found, _ in rows], align="lr")
    return table(["asked", "predicted", "found", ""], rows, align="lrrl")


def of_class(name: str, learners_attempts: Iterable[tuple[str, Attempts]]) -> str:
    """Return a teacher's page over a class, in Markdown: learners, and which questions were hard.

    Parameters
    ----------
    name : of the lab.
    learners_attempts : learner and attempts.

    Raises
    ------
    DataError
        If there are none.
    """
    lab, classwork = labs.get(name), sorted(learners_attempts, key=lambda pair: pair[0])
    if not classwork:
        raise DataError(
            f"There are no attempts at the lab {name}. Collect the folders run-{name.replace('_', '-')} too."
        )
    total = sum(question.points for question in lab.questions)
    learners, hard = [], []
    for learner, attempts in classwork:
        marks = [attempts.answers.get(question.name, {}) for question in lab.questions]
        points = sum(q.points for q, mark in zip(lab.questions, marks, strict=True) if mark.get("right"))
        counts = [str(sum(mark.get(what, 0) for mark in marks)) for what in ("tries", "hints")]
        predicted = f"{sum(one.name in attempts.predictions for one in lab.predictions)} of {len(lab.predictions)}"
        learners.append([learner, f"{points} of {total}", predicted, *counts, attempts.source or "–"])
    for question in lab.questions:
        marks = [attempts.answers.get(question.name, {}) for _, attempts in classwork]
        answered = [mark for mark in marks if mark.get("given") is not None]
        first = sum(bool(mark.get("right")) and mark.get("tries") == 1 and not mark.get("hints") for mark in answered)
        solved = sum(bool(mark.get("right")) for mark in answered)
        hints = sum(mark.get("hints", 0) for mark in marks)
        hard.append([question.name, question.text, f"{solved} of {len(classwork)}", str(first), str(hints)])
    return (
        "\n\n".join(
            [
                f"# {headed(lab)} {len(classwork)} learners",
                table(["learner", "points", "predictions", "tries", "hints", "source"], learners),
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
