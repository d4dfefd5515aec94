"""The definition of a lab: points, predictions, questions, figures. Each lab is a file below ``labs/``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.errors import unknown_name
from labkit.point.spec import Effort, Spec

EFFORT = Effort(launches=6, time_cap=0.2)


@dataclass(frozen=True, kw_only=True)
class Lab:
    """One lesson.

    Parameters
    ----------
    title : title of the lesson.
    specs : what has to be measured.
    recorded : example campaigns that hold these points, for machines that cannot measure them.
    predictions : asked before the measurement.
    questions : asked after it.
    shows : figures, tables (data frames), sentences and widgets by name.
    effort : how long to measure.
    means : meaning of the findings for a program, shown on the learner's last page.
    reading : what to read next.
    """

    title: str
    specs: Callable[[], list[Spec]]
    recorded: tuple[str, ...]
    predictions: tuple[Question, ...]
    questions: tuple[Question, ...]
    shows: Mapping[str, Callable[[Results], Any]] = field(default_factory=dict)
    effort: Effort = EFFORT
    means: str = ""
    reading: tuple[str, ...] = ()

    def question(self, name: str) -> Question:
        """Return the question, or the prediction, of that name.

        Raises
        ------
        SpecError
            If there is none.
        """
        every = {one.name: one for one in (*self.predictions, *self.questions)}
        if name not in every:
            raise unknown_name("question", name, list(every))
        return every[name]
