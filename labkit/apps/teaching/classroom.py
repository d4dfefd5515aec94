"""The teacher's page over a class: learners, hard questions, and predictions beside the results of each machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from IPython.display import Markdown, display

from labkit import figures
from labkit.apps import notebook
from labkit.apps.teaching import labs, sources
from labkit.apps.teaching.attempts import Attempts
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results, read
from labkit.apps.teaching.summary import collected, of_class
from labkit.errors import LabkitError, unknown_name
from labkit.store.campaign import Campaign

_Found = dict[str, dict[str, tuple[float, float, float] | str]]


def show(folder: str | Path, lab: str = "") -> None:
    """Display the page over all learners below a folder, for one lab or for all.

    Raises
    ------
    DataError
        If there are no diaries below the folder.
    SpecError
        If nobody handed in this lab.
    """
    diaries = collected(Path(folder))
    if lab and lab not in diaries:
        raise unknown_name("lab handed in", lab, list(diaries))
    for name in [lab] if lab else sorted(diaries):
        display(Markdown(of_class(name, diaries[name])))
        asked, unread = predictions(labs.get(name), diaries[name])
        if unread:
            display(Markdown(f"Not read: {', '.join(unread)}."))
        notebook.show(figures.guesses(asked))


def predictions(lab: Lab, learners: Iterable[tuple[str, Attempts]]) -> tuple[list[figures.Asked], list[str]]:
    """Return each prediction of a class beside the measured value, and the unreadable runs with the reason.

    Runs of learners who read the same campaigns count once, as a run of that recording.
    """
    runs: dict[tuple[Path, ...], tuple[str, str, Results]] = {}
    given: dict[str, dict[str, float | str]] = {one.name: {} for one in lab.predictions}
    unread = []
    for who, attempts in learners:
        for name, value in attempts.predictions.items():
            given.get(name, {})[who] = value
        try:
            source = sources.used(lab, attempts)
            if source.campaigns not in runs:
                machine = _machine(source)
                runs[source.campaigns] = machine, who, read(source.campaigns, lab.specs())
        except LabkitError as error:
            unread.append(f"{who} ({error.brief})")
    return [_asked(question, given[question.name], runs.values()) for question in lab.predictions], unread


def _machine(source: sources.Source) -> str:
    """Return the words for the machine of a run."""
    host = Campaign(source.campaigns[-1]).facts.get("host", {})
    words = f"{host.get('cpu_model', 'processor not known')}, {host.get('cpu_cores', '?')} cores"
    return f"recorded: {words}" if source.kind == "recorded" else words


def _asked(
    question: Question, given: dict[str, float | str], runs: Iterable[tuple[str, str, Results]]
) -> figures.Asked:
    found: _Found = {}
    for machine, who, results in runs:
        found.setdefault(machine, {})[who] = _value(question.of(results))
    return figures.Asked(question.text, question.unit, given, found, question.choices)


def _value(expected: Expected) -> tuple[float, float, float] | str:
    centre = expected.centre
    return centre if isinstance(centre, str) else (centre, expected.low, expected.high)
