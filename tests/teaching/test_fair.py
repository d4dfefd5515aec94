"""Labs are fair: no answer before its question, predictions first, tolerances that are neither a joke nor a trap,
points for the first try, and cheating that a teacher sees."""

from __future__ import annotations

import itertools
import re
import secrets
import shlex
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.display import DisplayHandle

from labkit.apps import notebook, teaching
from labkit.apps.cli import parser
from labkit.apps.teaching import course, labs
from labkit.apps.teaching.attempts import Attempts
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question, compared, credit, judge, marked
from labkit.apps.teaching.summary import collected, of_class
from labkit.errors import DataError

STEMS = course.stems()
NEAR = {("11-is-this-number-good", "limit")}  # the stream of lab 11 comes so near to its bound that both print alike


@pytest.fixture(autouse=True)
def _seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each learner of a test has another seed, the same ones in each run of the tests."""
    numbers = itertools.count()
    monkeypatch.setattr(secrets, "token_hex", lambda _: f"learner {next(numbers)}")


def test_the_tolerance_is_3_percent_and_an_interval_widens_it_to_10_percent() -> None:
    question = Question(name="q", text="?", of=lambda r: Expected(0))

    def taken(expected: Expected, *given: float, of: Question = question) -> list[bool]:
        return [judge(of, expected, one).right for one in given]

    expected = Expected(5.16, 5.12, 5.18, "95 % interval of 6 launches")
    assert taken(expected, 5.31, 5.32) == [True, False]
    assert not marked(question, expected)
    scattered = Expected(10.0, 1.0, 90.0, "range of 3 launches")
    assert taken(scattered, 8.9, 9, 11, 11.1) == [False, True, True, False]
    assert "range of 3 launches spans a factor of 90" in marked(question, scattered)
    assert taken(Expected(10.0, 9.0, 11.0, also=(20.0,)), 15, 19.4, 20.6, 21) == [False, True, True, False]
    gain = Question(name="g", text="?", of=lambda r: Expected(0), base=100)
    assert taken(Expected(0.0, 0.0, 0.0), -0.51, -0.5, 0.5, 0.51, of=gain) == [False, True, True, False]
    assert not marked(gain, Expected(-0.1, -30.0, 10.0))
    assert "includes 0" in marked(question, Expected(-0.1, -30.0, 10.0))
    assert compared(question, expected, None) == "no prediction"
    assert compared(question, expected, 51.6) == "10 times too high"
    assert compared(question, expected, 5.17) == "inside the interval"


def learner(folder: Path, who: str, name: str = "latency_and_bandwidth") -> teaching.Session:
    """A session of a learner of a class on recorded data."""
    session = teaching.Session(name, folder / who / f"run-{name.replace('_', '-')}", "recorded")
    for question in labs.get(name).predictions:
        session.predict(question.name, question.choices[0] if question.choices else 3.0)
    session.measure()
    return session


def answers(session: teaching.Session) -> dict[str, Any]:
    """What the run of a learner answers."""
    return {question.name: question.of(session.results).centre for question in labs.get(session.name).questions}


def page(folder: Path, name: str = "latency_and_bandwidth") -> str:
    return of_class(name, collected(folder)[name])


def test_a_teacher_sees_a_class(tmp_path: Path) -> None:
    ada, bob = learner(tmp_path, "ada"), learner(tmp_path, "bob")
    ada.verdict("ratio", answers(ada)["ratio"])
    bob.hint("ratio")
    bob.hint("ratio")
    bob.verdict("ratio", 1e6)
    text = page(tmp_path)
    assert "# Latency and bandwidth: 2 learners" in text
    assert "| ada | 1 of 5 | 2 of 2 | 1 | 0 | recorded |" in text
    assert "| bob | 0 of 5 | 2 of 2 | 1 | 2 | recorded |" in text
    assert "| ratio | At 8 B, by what factor is TCP slower than shared memory? | 1 of 2 | 1 | 2 |" in text
    with pytest.raises(DataError, match=r"no run-\*/diary.json"):
        collected(tmp_path / "ada" / "nobody")


def test_learners_read_different_launches_of_a_recording_and_grading_reads_the_same_ones(tmp_path: Path) -> None:
    sessions = [learner(tmp_path, f"learner{number}") for number in range(4)]
    assert len({answers(one)["alpha"] for one in sessions}) > 1
    for one in sessions:
        again = teaching.Session(one.name, one.attempts.folder, "recorded")
        again.measure()
        assert answers(again) == answers(one)
        for name in ("ratio", "alpha"):  # launches of all points are the same ones, so values combine
            assert judge(
                labs.get(one.name).question(name), labs.get(one.name).question(name).of(one.results), answers(one)[name]
            ).right


def flagged(text: str, who: str) -> str:
    """What the page says of a learner."""
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {who} |")]
    return row


def test_the_class_page_flags_cheating(tmp_path: Path) -> None:
    ada = learner(tmp_path, "ada")
    for name, value in answers(ada).items():
        ada.verdict(name, value)
    bob = learner(tmp_path, "bob")
    while answers(bob)["alpha"] == answers(ada)["alpha"]:  # two of fifteen choices may be the same
        shutil.rmtree(bob.attempts.folder)
        bob = learner(tmp_path, "bob")
    for name, value in answers(ada).items():  # typed off ada's screen
        bob.verdict(name, value)
    cleo = Attempts(tmp_path / "cleo" / "run-latency-and-bandwidth")
    cleo.answer("ratio", 38.0, True)  # without a run
    dan = Attempts(tmp_path / "dan" / "run-latency-and-bandwidth")
    dan.note_source("measured")  # a measurement that is not there
    dan.answer("ratio", 38.0, True)
    eve = learner(tmp_path, "eve")
    eve.attempts.answer("alpha", 1e9, True)  # a forged diary
    shutil.copytree(ada.attempts.folder, tmp_path / "finn" / ada.attempts.folder.name)
    text = page(tmp_path)
    assert "| ada | 5 of 5 |" in text
    assert "with the digits of ada, whose run they fit better: " in flagged(text, "bob")
    assert "bob" not in flagged(text, "ada")  # she measured them
    assert "alpha" in flagged(text, "bob")
    assert "0 of 5" in flagged(text, "cleo")
    assert "answers without a run" in flagged(text, "cleo")
    assert "was not handed in" in flagged(text, "dan")
    assert "0 of 5" in flagged(text, "eve")
    assert "the diary calls alpha right, the run does not" in flagged(text, "eve")
    assert "has the recording of ada" in flagged(text, "finn")
    good = learner(tmp_path / "honest", "gus")
    for name, value in answers(good).items():
        good.verdict(name, value)
    assert " of " not in flagged(page(tmp_path / "honest"), "gus").rpartition("|")[0].rpartition("|")[2].replace(
        "bandwidth", ""
    )


NUMBER = re.compile(r"(?<![\w.])\d[\d,]*\.?\d*")


def contains(thing: Any, centre: float | str) -> bool:
    """Whether an output contains an answer: a table or a figure exactly, a text as it prints it.

    Small whole numbers are in every text. Of a figure of single messages, every value is one of theirs.
    """
    if isinstance(thing, str):
        numbers = [float(one.replace(",", "")) for one in NUMBER.findall(thing) if sum(map(str.isdigit, one)) > 2]
        if isinstance(centre, str):
            return " " in centre and centre in thing  # a rule may name "good" and "bad"
        near = 5e-3
    elif hasattr(thing, "itertuples"):
        cells = [cell for row in thing.itertuples(index=False) for cell in row]
        numbers, near = [float(cell) for cell in cells if isinstance(cell, int | float)], 1e-6
    elif hasattr(thing, "to_plotly_json"):
        axes = [axis for trace in thing.data for axis in (trace.x, trace.y) if axis is not None and len(axis) < 100]
        numbers, near = [float(value) for axis in axes for value in axis if isinstance(value, int | float)], 1e-6
    else:
        return False  # a widget; tests/teaching/test_breakdown.py looks at what it opens with
    if isinstance(centre, str) or centre == 0 or centre.is_integer():
        return False
    return any(abs(one / centre - 1) <= near for one in numbers)


class Shown:
    """What the cells of a notebook display on recorded data, in order."""

    def __init__(self, stem: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: list[str] = []
        for module in (teaching, notebook):
            monkeypatch.setattr(module, "display", self.keep)
        monkeypatch.setattr(DisplayHandle, "display", lambda handle, thing: None)
        monkeypatch.setattr(DisplayHandle, "update", lambda handle, thing: self.keep(thing))
        self.lab = labs.get(course.name_of(stem))
        self.session = teaching.Session(course.name_of(stem), folder, "recorded")
        cells = [cell.source for cell in nbformat.read(course.notebook(stem), as_version=4).cells]
        found = [re.search(r'lab\.(predict|measure|show|compare|ask|summary)\("?(\w*)', source) for source in cells]
        self.calls = [call.groups() for call in found if call]
        self.centres: dict[str, float | str] = {}

    def keep(self, thing: Any, **_: Any) -> None:
        if isinstance(getattr(thing, "data", None), str):
            self.said.append(thing.data)

    def run(self, word: str, what: str) -> list[Any]:
        """What a cell displays: data frames and figures as they are, text without questions, intervals and `means`."""
        self.said.clear()
        if word == "predict":
            question = self.lab.question(what)
            self.session.predict(what, question.choices[0] if question.choices else 3.3)
        elif word == "show":
            return [self.session.results.bounded(self.lab.shows[what](self.session.results))]
        else:
            getattr(self.session, word)(*[what] * bool(what))
        if word == "measure":
            self.centres = {q.name: q.of(self.session.results).centre for q in self.lab.questions}
        text = "\n".join(self.said).partition("### What you answered")[0]
        for question in (*self.lab.predictions, *self.lab.questions):
            text = text.replace(question.text, "")
        for given in self.session.attempts.predictions.values():
            text = text.replace(str(given), "")
        return [re.sub(r"\([^)]* to [^)]*\)", "", text)]


@pytest.mark.parametrize(
    ("stem", "answering"),
    [
        pytest.param(stem, answering, marks=[pytest.mark.slow] * (n % 8 != 4 * answering))
        for n, stem in enumerate(STEMS)
        for answering in (False, True)
    ],
)
def test_nothing_before_a_question_contains_its_answer(
    stem: str, answering: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cells run in order; nobody answers, or every question is answered when it is asked."""
    shown = Shown(stem, tmp_path / "run", monkeypatch)
    asked: set[str] = set()
    for word, what in shown.calls:
        things = shown.run(word, what)
        if word == "ask":
            asked.add(what)
            if answering:
                things.append(shown.session.verdict(what, shown.centres[what]))
        for name, centre in shown.centres.items():
            hidden = name not in asked or (not answering and word in ("compare", "summary"))
            for thing in things:
                leaks = hidden and (stem, name) not in NEAR and contains(thing, centre)
                assert not leaks, f"lab.{word}({what}) shows the answer of {name}"


def test_running_all_cells_costs_no_prediction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = teaching.Session("latency_and_bandwidth", tmp_path / "run", "recorded")
    for question in labs.get(session.name).predictions:
        session.predict(question.name)
    session.measure()
    session.show("table")
    session.compare()
    session.ask("ratio")
    session.summary()
    said = capsys.readouterr().out
    assert not session.attempts.source
    session.predict("tcp_8", 12.5)
    session.predict("times", 30)
    session.measure()
    assert Attempts(tmp_path / "run").source == "recorded"
    assert session.attempts.predictions == {"tcp_8": 12.5, "times": 30.0}
    assert not session.attempts.later
    assert "run-" not in said


def test_a_learner_may_measure_without_predictions_and_that_is_kept(tmp_path: Path) -> None:
    session = teaching.Session("latency_and_bandwidth", tmp_path / "run", "recorded")
    session.measure(without_predictions=True)
    assert Attempts(tmp_path / "run").unpredicted
    teaching.Session("latency_and_bandwidth", tmp_path / "run", "recorded").measure()  # once chosen, cells run again


def test_every_right_answer_is_explained_and_every_lab_has_a_last_cell() -> None:
    count = 0
    for stem in STEMS:
        lab, cells = labs.get(course.name_of(stem)), nbformat.read(course.notebook(stem), as_version=4).cells
        count += len(lab.questions)
        for question in lab.questions:
            assert len(question.why.split()) > 10, question.name
        first, last = cells[0].source.split("\n\n")[1], cells[-1].source
        assert "*50 minutes: " in first
        assert last.startswith("## What you would do on your cluster\n")
        commands = re.findall(r"^    (labkit .*)$", last, re.MULTILINE)
        assert commands
        for command in commands:
            parser().parse_args(shlex.split(command)[1:])
    assert count == 82


def test_a_first_try_earns_all_points_and_a_later_one_fewer() -> None:
    number = Question(name="n", text="?", of=lambda r: Expected(1.0), points=2)
    choice = Question(name="c", text="?", of=lambda r: Expected("a"), choices=("a", "b", "c"))
    assert [credit(number, tries) for tries in (0, 1, 2, 3, 9)] == [0, 2, 1, 0.5, 0.5]
    assert [credit(choice, tries) for tries in (1, 2, 3, 4)] == [1, 0.5, 0, 0]
