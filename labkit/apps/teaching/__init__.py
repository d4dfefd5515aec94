"""Labs: lessons of 50 minutes in which a learner predicts, measures, compares and answers.

A notebook in ``notebooks/labs`` is prose with calls of a `Session`. The file of the same name in
`labkit.apps.teaching.labs` has its questions, and computes the answers from a run. `docs/teaching.md` is the teacher's
guide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from IPython.display import DisplayHandle, Markdown, display
from ipywidgets import Widget

from labkit.apps import notebook, progress
from labkit.apps.teaching import labs, sources
from labkit.apps.teaching.attempts import Attempts
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.panels import Panel, Said
from labkit.apps.teaching.questions import Question, answer, credit, judge, marked, plain
from labkit.apps.teaching.results import Results, read
from labkit.apps.teaching.summary import beside, of_session
from labkit.errors import LabkitError, SpecError
from labkit.io import atomic
from labkit.point.notes import joined
from labkit.point.units import format_number, plural
from labkit.run.measuring import Progress

__all__ = ["Session", "begin"]


def begin(name: str, namespace: Mapping[str, Any] | None = None) -> Session:
    """Begin a session of a lab, with the parameters of the notebook's first cell.

    Parameters
    ----------
    name : name of the lab, such as ``latency_and_bandwidth``.
    namespace : ``globals()`` of the notebook: `source` and `folder`.

    Raises
    ------
    SpecError
        If there is no such lab.
    """
    given = namespace or {}
    folder = Path(given.get("folder") or f"run-{name.replace('_', '-')}")
    return Session(name, folder, str(given.get("source", "auto")))


_NOT_YET = "Nothing is measured yet. Run the cell with `lab.measure()` first, then this cell again."
_LOCKED = {
    False: "predicted before the measurement, so it stays; another value is recorded as a later try",
    True: "predicted first, so it stays; another value is recorded as a later try",
}


class Session:
    """One learner at one lab.

    Parameters
    ----------
    name : name of the lab.
    folder : for the learner's samples, predictions and answers; handed in with the notebook.
    source : see `labkit.apps.teaching.sources.find`.
    """

    def __init__(self, name: str, folder: Path, source: str = "auto") -> None:
        self.name, self._lab, self._choice = name, labs.get(name), source
        self.attempts = Attempts(folder)
        self.source: sources.Source | None = None
        self._results: Results | None = None
        self.panels: dict[str, Panel] = {}

    # ---- before

    def predict(self, name: str, value: Any = None) -> None:
        """Ask for a prediction; a value given here is kept as if it had been entered.

        After the measurement, the prediction stays, and another value is recorded as a later try.
        """
        question = self._lab.question(name)
        if value is not None:
            judge(question, _anything(question), value)
            self.attempts.predict(name, plain(question, value), after=question.after)

        def keep(given: Any) -> Said:
            judge(question, _anything(question), given)
            return None, self.attempts.predict(name, plain(question, given), after=question.after)

        made = self.attempts.predictions.get(name)
        locked = "" if made is None or not self.attempts.source else _LOCKED[question.after]
        self._show(Panel(question, "Predict", keep, value=made, said=(None, locked)), question)

    def measure(self, *, without_predictions: bool = False) -> None:
        """Measure, or read recorded data, and name the source of the numbers.

        Nothing is measured before everything is predicted, so running all cells at once costs no prediction.

        Parameters
        ----------
        without_predictions : measure although predictions are missing. They can never be made afterwards.
        """
        due = [one for one in self._lab.predictions if not one.after]
        missing = [one for one in due if one.name not in self.attempts.predictions]
        if without_predictions and missing and not self.attempts.source:
            self.attempts.note_unpredicted()
        if missing and not self.attempts.source and not self.attempts.unpredicted:
            display(Markdown(_predict_first(missing)))
            return
        handle = DisplayHandle()
        handle.display(Markdown("Starting …"))

        def tell(state: Progress) -> None:
            handle.update(progress.bar(state))

        self.source = sources.find(self._lab, self._choice, self.attempts, tell)
        self._results = read(self.source.campaigns, self._lab.specs(), self.attempts.seed_of(self.source.kind))
        lines = [self.source.words]
        if self.attempts.seed_of(self.source.kind):
            lines.append("Each learner reads another choice of the recorded launches.")
        if badges := joined(self._results.badges()):
            lines.append(f"Badges: {badges}.")
        if wide := sum(bool(marked(one, answer(one, self._results))) for one in self._lab.questions):
            lines.append(
                f"This run scatters: another one may answer {plural(wide, 'question')} differently, marked below."
            )
        handle.update(Markdown("\n\n".join(line for line in lines if line)))

    @property
    def results(self) -> Results:
        """Tables of this run.

        Raises
        ------
        SpecError
            Before `measure` was called.
        """
        if self._results is None:
            raise SpecError("There are no results yet. Run the cell with lab.measure() first.")
        return self._results

    # ---- after

    def show(self, name: str) -> None:
        """Display a figure, a table, a sentence or a widget of this lab."""
        if name not in self._lab.shows:
            raise SpecError(f"There is no {name!r} to show. There are: {', '.join(self._lab.shows)}.")
        if self._results is None:
            display(Markdown(_NOT_YET))
            return
        thing = self.results.bounded(self._lab.shows[name](self.results))
        if isinstance(thing, Widget):
            display(thing)
        else:
            notebook.table(thing) if hasattr(thing, "itertuples") else notebook.show(thing)

    def table(self, name: str) -> Any:
        """Return a table that `show` displays, as a data frame.

        Raises
        ------
        SpecError
            If the lab has no table of that name, or before `measure`.
        """
        thing = self._lab.shows[name](self.results) if name in self._lab.shows else None
        if not hasattr(thing, "itertuples"):
            raise SpecError(f"There is no table {name!r}. `lab.show` names what there is.")
        return thing

    def compare(self) -> None:
        """Display predictions beside results; answers to later questions stay hidden until they were given."""
        if self._results is None:
            display(Markdown(_NOT_YET))
            return
        display(Markdown(beside(self._lab, self.attempts, self.results)))

    def ask(self, name: str) -> None:
        """Show a question with a field for its answer, with the answer submitted last and the hints seen so far."""
        question = self._lab.question(name)
        given = self.attempts.answers.get(name, {}).get("given")
        panel = Panel(
            question,
            "Submit",
            lambda value: self._judged(question, value),
            value=given,
            said=(None, "") if given is None else self._said(question, given),
            hint=lambda: self.hint(name),
            note=marked(question, answer(question, self._results)) if self._results is not None else "",
            seen=[self._hint(question, number) for number in range(self.attempts.seen(name))],
        )
        self._show(panel, question)

    def submit(self, name: str, given: Any) -> None:
        """Submit an answer from a cell, as if it had been entered in the field of its question.

        Raises
        ------
        SpecError
            If it is not an answer to this question.
        """
        question = self._lab.question(name)
        said = self._judged(question, given)
        if name in self.panels:
            self.panels[name].enter(plain(question, given), said)
        display(Markdown(f"{question.text} {plain(question, given)}: {said[1]}"))

    def verdict(self, name: str, given: Any) -> str:
        """Submit an answer, and return in words whether it is right."""
        return self._judged(self._lab.question(name), given)[1]

    def points(self, name: str) -> float:
        """Show the verdict on the answer that counts, and return its points, which nbgrader takes as the grade."""
        question = self._lab.question(name)
        entry = self.attempts.answers.get(name, {})
        given = entry.get("given")
        right, words = (False, "no answer was submitted") if given is None else self._said(question, given)
        points = credit(question, entry["solved"]) if right else 0.0
        tried = f", {plural(len(entry['tried']), 'try', 'tries')}" if given is not None else ""
        said = f"{words[0].upper()}{words[1:]}".rstrip(".")
        display(Markdown(f"{question.text} {said}: {format_number(points)} of {question.points}{tried}."))
        return points

    def hint(self, name: str) -> str | None:
        """Return the next hint of a question, which is counted; None after the last."""
        question, seen = self._lab.question(name), self.attempts.seen(name)
        if seen >= len(question.hints):
            return None
        self.attempts.hint(name)
        return self._hint(question, seen)

    def summary(self) -> None:
        """Display predictions, findings and answers, and keep them as ``summary.md`` in the folder of the lab."""
        words = self.source.words if self.source else "Nothing was measured."
        text = of_session(self._lab, self.attempts, words, self._results)
        self.attempts.folder.mkdir(parents=True, exist_ok=True)
        atomic.replace(self.attempts.folder / "summary.md", text)
        display(Markdown(text))

    @staticmethod
    def _hint(question: Question, number: int) -> str:
        return f"{number + 1}. {question.hints[number]}"

    def _said(self, question: Question, given: Any) -> Said:
        """Judge an answer without submitting it; one that cannot be judged, as where the lab has changed, is wrong."""
        try:
            verdict = judge(question, answer(question, self.results), given)
        except LabkitError as error:
            return False, str(error)
        return verdict.right, verdict.text

    def _judged(self, question: Question, given: Any) -> Said:
        """Judge an answer and keep it; a wrong one takes nothing away from a right one."""
        verdict = judge(question, answer(question, self.results), given)
        counted = bool(self.attempts.answers.get(question.name, {}).get("right"))
        self.attempts.answer(question.name, plain(question, given), verdict.right)
        keeps = "" if verdict.right or not counted else ". The right answer that you gave before still counts"
        return verdict.right, verdict.text + keeps

    def _show(self, panel: Panel, question: Question) -> None:
        self.panels[question.name] = panel
        display(panel)


def _predict_first(missing: Sequence[Question]) -> str:
    """Return what to do before measuring, in Markdown."""
    asked = "\n".join(f"- {one.text}" for one in missing)
    return (
        f"**Predict first.** Nothing was measured, and no prediction is lost. Enter what is missing:\n\n{asked}\n\n"
        "Then run this cell again, and the cells below it (*Run Selected Cell and All Below*). "
        "`lab.measure(without_predictions=True)` measures without them."
    )


def _anything(question: Question) -> Expected:
    """Return an expectation against which any well-formed prediction can be judged."""
    return Expected(question.choices[0]) if question.choices else Expected(1.0, 1.0, 1.0)
