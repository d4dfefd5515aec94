"""The labs on recorded data: they run, right answers are taken and wrong ones are not, predictions and hints are kept."""

from __future__ import annotations

import contextlib
import json
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest

from labkit import figures
from labkit.apps import teaching
from labkit.apps.teaching import classroom, course, labs, sources, summary
from labkit.apps.teaching.__main__ import main as cli
from labkit.apps.teaching.attempts import Attempts
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question, judge, mistake, number_of, tolerance
from labkit.apps.teaching.results import read
from labkit.errors import DataError, LabkitError, SpecError

STEMS = course.stems()
LABS = [course.notebook(stem) for stem in STEMS]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, teaching.Session]:
    """A session of every lab on what was recorded."""
    opened = {}
    for stem in STEMS:
        one = teaching.Session(course.name_of(stem), tmp_path_factory.mktemp(stem) / "run", "recorded")
        one.measure(without_predictions=True)
        opened[stem] = one
    return opened


def test_every_lab_has_a_notebook_and_every_notebook_a_lab() -> None:
    assert sorted(map(course.name_of, STEMS)) == labs.names()
    assert all(path.parent.name == path.stem for path in LABS)


@pytest.mark.slow  # the solutions run above, and a notebook in a browser
def test_labs_run_by_papermill(tmp_path: Path) -> None:
    """One kernel for all of them: their cells one after the other."""
    every = nbformat.v4.new_notebook()
    for path in LABS:
        book = course.solved(path.stem)
        for cell in book.cells:
            tags = cell.metadata.get("tags", [])
            if cell.cell_type == "code" and not (tags and every.cells):
                cell["id"] = f"{path.stem[:2]}{cell['id']}"[:64]
                cell.source = cell.source.replace("lab.measure()", "lab.measure(without_predictions=True)")
                every.cells.append(cell)
        every.metadata = book.metadata
    nbformat.write(every, tmp_path / "every.ipynb")
    out = tmp_path / "out.ipynb"
    papermill.execute_notebook(
        str(tmp_path / "every.ipynb"),
        str(out),
        parameters={"source": "recorded"},
        progress_bar=False,
        cwd=str(tmp_path),
    )
    outputs = [o for cell in nbformat.read(out, as_version=4).cells for o in cell.outputs]
    said = "\n".join(str(o["data"].get("text/markdown", "")) for o in outputs if "data" in o)
    assert said.count("**Source: recorded**") >= len(LABS)
    assert not [o for o in outputs if o.output_type == "error"]
    for path in LABS:
        lab = labs.get(course.name_of(path.stem))
        total = sum(question.points for question in lab.questions)
        assert f"## {summary.headed(lab)} {total} of {total} points" in said, path.stem


ROOM = "# Room to compute. Submit the result in the field above."


def test_a_learner_without_a_terminal_is_told_what_a_command_needs(tmp_path: Path) -> None:
    assert cli(["course", str(tmp_path / "new")]) == 0
    assert cli(["course", str(tmp_path / "new")]) == 1  # it overwrites nothing
    assert cli(["class", str(tmp_path)]) == 1


def wrong(question: Question, expected: Expected) -> list[Any]:
    """Answers that must not be taken: other choices, or numbers well outside the interval on both sides."""
    if question.choices:
        return [choice for choice in question.choices if choice != expected.centre]
    bounds = tolerance(expected, question.base)
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    width = max(high - low, 0.1 * abs(float(expected.centre)), 0.1)
    return [low - width, high + width]


def taken(question: Question, expected: Expected, given: Any) -> bool:
    """Whether an answer counts as right; below 0, where no answer can be, it is refused."""
    try:
        return judge(question, expected, given).right
    except SpecError:
        return False


@pytest.mark.parametrize("stem", STEMS)
def test_checks_take_what_is_right_and_nothing_else(stem: str, sessions: dict[str, teaching.Session]) -> None:
    session = sessions[stem]
    assert labs.get(session.name).questions
    assert labs.get(session.name).predictions
    for question in (*labs.get(session.name).predictions, *labs.get(session.name).questions):
        expected = question.of(session.results)
        assert judge(question, expected, expected.centre).right, question.name
        assert len(question.choices) != 1
        for given in wrong(question, expected):
            assert not taken(question, expected, given), (question.name, given)
        if question.choices:
            assert expected.centre in question.choices
        else:
            assert expected.low <= float(expected.centre) <= expected.high
            digits = 3 if expected.mistakes or question.slips else 2
            assert judge(question, expected, float(f"{expected.centre:.{digits}g}")).right, question.name
            with pytest.raises(SpecError, match="must be a number"):
                judge(question, expected, "about ten")
    assert all(question.hints for question in labs.get(session.name).questions)
    for question in (*labs.get(session.name).predictions, *labs.get(session.name).questions):
        said = " ".join((question.text, *question.choices, *question.hints))
        assert "`" not in said, "the page shows plain text"
        placed = re.search(r"\b(program|advertisement|table|figure) (below|above)\b", question.text)
        assert not placed, "the last page has the question too"


@pytest.mark.parametrize("path", LABS, ids=STEMS)
def test_a_notebook_asks_all_that_its_lab_asks_and_is_made_for_grading(path: Path) -> None:
    lab = labs.get(course.name_of(path.stem))
    cells = nbformat.read(path, as_version=4).cells
    source = "\n".join(cell.source for cell in cells)
    marked = {cell.metadata["nbgrader"]["grade_id"]: cell for cell in cells if "nbgrader" in cell.metadata}
    ids, solutions = [cell.id for cell in cells], course.solutions(course.name_of(path.stem))
    assert [one.name for one in lab.questions] == list(solutions)
    for question in lab.questions:
        asked, answered = ids.index(f"check-{question.name}"), ids.index(f"answer-{question.name}")
        assert cells[asked].source == f'lab.ask("{question.name}")'
        assert answered == asked + 1
        assert marked[f"answer-{question.name}"].metadata["nbgrader"]["solution"]
        assert cells[answered].source == ROOM
        assert f'lab.submit("{question.name}", ' in solutions[question.name]
        assert marked[f"grade-{question.name}"].source == f'lab.points("{question.name}")'
        assert marked[f"grade-{question.name}"].metadata["nbgrader"]["points"] == question.points
    assert "SOLUTION" not in source
    assert lab.means
    assert lab.reading
    for question in lab.predictions:
        assert f'lab.predict("{question.name}")' in source
    for name in lab.shows:
        assert f'lab.show("{name}")' in source
    assert "50 minutes" in source
    assert "**Goals.**" in source
    assert "## Sources" in source


@pytest.mark.parametrize(
    "stem",
    [pytest.param(stem, marks=pytest.mark.slow if stem.startswith(("13-", "3-", "4-")) else ()) for stem in STEMS],
)
def test_solutions_are_right(
    stem: str,
    sessions: dict[str, teaching.Session],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = sessions[stem]
    monkeypatch.setattr(teaching, "begin", lambda name: one)
    monkeypatch.setattr(one, "measure", lambda **_: None)
    runpy.run_path(str(course.TEMPLATES / "solutions" / f"{one.name}.py"))
    questions = labs.get(one.name).questions
    assert [one.points(question.name) for question in questions] == [question.points for question in questions]
    one.summary()
    page = (one.attempts.folder / "summary.md").read_text()
    assert "What it means for a program" in page
    assert "What to read next" in page
    assert "your run" not in page


def test_a_prediction_stays_when_the_result_is_known(tmp_path: Path) -> None:
    session = teaching.Session("latency_and_bandwidth", tmp_path / "run", "recorded")
    for value in (12, 12.5):
        session.predict("tcp_8", value)
    session.predict("times", 10)
    session.measure()
    panel = session.panels["tcp_8"]
    for given, said in (("20", "your prediction of 12.5 stays; 20.0 is recorded"), ("12.5", "what you predicted")):
        panel.field.value = given
        panel.button.click()
        assert said in panel.reply.value
    session.predict("tcp_8")
    panel = session.panels["tcp_8"]
    assert panel.field.value == "12.5"
    assert "it stays" in panel.reply.value
    kept = Attempts(tmp_path / "run")
    assert (kept.predictions, kept.later["tcp_8"]) == ({"tcp_8": 12.5, "times": 10.0}, [20.0])
    assert "12.5 µs (after the measurement: 20 µs)" in summary.beside(labs.get(session.name), kept, session.results)


def test_a_panel_judges_keeps_and_helps(tmp_path: Path) -> None:
    session = teaching.Session("latency_and_bandwidth", tmp_path / "run", "recorded")
    session.predict("tcp_8")
    panel = session.panels["tcp_8"]
    for given, said in (("many", "must be a number"), ("1,5", "Write 1.5."), ("-3", "a time is not below 0")):
        panel.field.value = given
        panel.button.click()
        assert said in panel.reply.value
    panel.field.value = "12.5"
    panel.field._handle_custom_msg({"event": "submit"}, [])  # Enter
    assert Attempts(tmp_path / "run").predictions == {"tcp_8": 12.5}
    session.ask("alpha")
    session.panels["alpha"].press()
    assert "lab.measure() first" in session.panels["alpha"].reply.value
    session.predict("times", 10)
    session.measure()
    session.ask("alpha")
    panel = session.panels["alpha"]
    panel.field.value = "5000"
    panel.button.click()
    assert "✗ too high, by more than a factor of 3" in panel.reply.value
    panel.field.value = "500"
    assert panel.reply.value == ""  # what was said is about another answer
    assert session.points("alpha") == 0
    for _ in range(5):
        panel.hint_button.click()
    assert panel.hints.value.count("<div>") == 3
    assert panel.hint_button.disabled
    right = labs.get(session.name).question("alpha").of(session.results).centre
    session.submit("alpha", right)  # from a cell: the same answer in the same field
    assert panel.field.value == f"{right}"
    assert "✓ right. α is the time of the calls" in panel.reply.value
    session.submit("alpha", 1000 * right)  # takes nothing away
    assert "still counts" in panel.reply.value
    with pytest.raises(SpecError, match="must be a number"):
        session.submit("alpha", "about ten")
    answer = Attempts(tmp_path / "run").answers["alpha"]
    assert (answer["right"], answer["solved"], len(answer["tried"]), answer["hints"]) == (True, 2, 3, 3)
    assert session.points("alpha") == 0.5


def test_a_question_shows_its_answer_and_hints_after_a_restart(tmp_path: Path) -> None:
    session = teaching.Session("latency_and_bandwidth", tmp_path / "run", "recorded")
    session.measure(without_predictions=True)
    session.verdict("alpha", labs.get(session.name).question("alpha").of(session.results).centre)
    for _ in range(3):
        session.hint("alpha")
    session.ask("alpha")
    assert "✓ right" in session.panels["alpha"].reply.value
    assert session.panels["alpha"].hints.value.count("<div>") == 3
    with pytest.raises(SpecError, match="no question 'omega'"):
        session.hint("omega")


@pytest.mark.parametrize("stem", STEMS)
def test_every_prediction_can_be_made_in_the_order_of_the_notebook(stem: str) -> None:
    lab = labs.get(course.name_of(stem))
    source = "\n".join(cell.source for cell in nbformat.read(course.notebook(stem), as_version=4).cells)
    measured = source.index("lab.measure()")
    late = {one.name for one in lab.predictions if source.index(f'lab.predict("{one.name}")') > measured}
    assert late == {one.name for one in lab.predictions if one.after}


def test_a_prediction_about_what_a_run_shows_counts_after_the_run(tmp_path: Path) -> None:
    session = teaching.Session("lies_and_statistics", tmp_path, "recorded")
    session.measure()
    (asked,) = labs.get(session.name).predictions
    session.predict("believe")
    panel = session.panels["believe"]
    assert panel.field.label == "choose …"
    panel.press()
    assert "No answer is chosen" in panel.reply.value
    first, second = asked.choices[:2]
    for value, said in ((first, "saved"), (second, f"your prediction of {first} stays"), (first, "predicted first")):
        panel.field.value = value
        panel.press()
        assert said in panel.reply.value
    assert (session.attempts.predictions["believe"], session.attempts.later["believe"]) == (first, [second])
    session.predict("believe")
    assert (session.panels["believe"].field.value, "stays" in session.panels["believe"].reply.value) == (first, True)


def test_a_table_of_a_lab_says_yes_and_no(sessions: dict[str, teaching.Session]) -> None:
    session = sessions["4-collectives"]
    shown = labs.get(session.name).shows["violations"](session.results)
    assert len(shown)
    assert set(shown["certain"]) <= {"yes", "no"}


def test_an_empty_field_is_no_wrong_number() -> None:
    for given in (None, "", "  "):
        with pytest.raises(SpecError, match="The field is empty"):
            number_of(given)


def test_a_comma_in_a_number_is_explained() -> None:
    for given, said in (("1,5", r"Write 1\.5\."), (" -0,25 ", r"Write -0\.25\."), ("1,387", r"Write 1\.387 or 1387\.")):
        with pytest.raises(SpecError, match=said):
            number_of(given)


def test_own_samples_are_used_again_and_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab, run = labs.get("latency_and_bandwidth"), tmp_path / "run"
    shutil.copytree(sources.EXAMPLES / "two-cores" / "samples" / "mpi.latency", run / "campaign/samples/mpi.latency")
    shutil.copy(sources.EXAMPLES / "two-cores" / "campaign.json", run / "campaign")
    attempts = Attempts(run)
    attempts.note_source("measured")
    source = sources.find(lab, "auto", attempts)
    assert "your own run" in source.words
    assert source.campaigns == (run / "campaign",)
    monkeypatch.setenv(sources.SOURCE, "recorded")
    assert sources.find(lab, "auto", Attempts(tmp_path / "other")).kind == "recorded"


def test_where_nothing_can_be_measured_the_recording_is_read_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise SpecError("There is no launcher. Install openmpi-bin.")

    monkeypatch.delenv(sources.SOURCE, raising=False)
    monkeypatch.setattr(sources.measuring, "measure", fails)
    lab, attempts = labs.get("latency_and_bandwidth"), Attempts(tmp_path)
    source = sources.find(lab, "auto", attempts)
    assert source.kind == "recorded"
    assert "There is no launcher" in source.words
    assert "two-cores" in source.words
    with pytest.raises(LabkitError, match="no launcher"):
        sources.find(lab, "measure", Attempts(tmp_path / "insists"))
    with pytest.raises(SpecError, match="not a campaign folder"):
        sources.find(lab, "elsewhere", attempts)


def test_predictions_of_a_class_are_drawn_beside_what_each_machine_found(tmp_path: Path) -> None:
    learners = []
    for who, guess in (("ada", 3.0), ("bob", 30.0), ("eve", 300.0)):
        attempts = Attempts(tmp_path / who / "run-latency-and-bandwidth")
        attempts.predict("tcp_8", guess)
        attempts.note_source("recorded")
        learners.append((who, attempts))
    attempts.note_source("measured")  # eve on a machine of her own
    own = attempts.folder / "campaign"
    shutil.copytree(sources.EXAMPLES / "two-cores-quiet" / "samples" / "mpi.latency", own / "samples" / "mpi.latency")
    facts = json.loads((sources.EXAMPLES / "two-cores-quiet" / "campaign.json").read_text())
    facts["host"]["cpu_model"] = "Own"
    (own / "campaign.json").write_text(json.dumps(facts))
    (first, second), unread = classroom.predictions(labs.get("latency_and_bandwidth"), learners)
    assert not unread
    assert dict(first.predicted) == {"ada": 3.0, "bob": 30.0, "eve": 300.0}
    assert not second.predicted
    recorded, hers = first.found.items()
    assert (list(recorded[1]), list(hers[1])) == (["ada"], ["eve"])  # who reads the same recording is one run
    assert hers[0] == "Own, 2 cores"
    figure = figures.guesses([first, second])
    rows = {trace.y[0]: list(trace.x) for trace in figure.data if len(trace.x)}
    assert rows["predicted"] == [3.0, 30.0, 300.0]
    assert rows["Own, 2 cores"] == rows[recorded[0]]
    chosen = figures.Asked("?", "", {"ada": "a", "bob": "b", "eve": "a"}, {"Own": {"eve": "b"}}, ("a", "b"))
    (bar,) = figures.guesses([chosen]).data
    assert (list(bar.x), list(bar.text)) == ([2, 1], ["", "found by 1 run"])
    with pytest.raises(DataError, match="no predictions"):
        figures.guesses([])
    own.joinpath("campaign.json").write_text("{")
    assert classroom.predictions(labs.get("latency_and_bandwidth"), learners)[1][0].startswith("eve (")


def test_a_spoiled_diary_is_named(tmp_path: Path) -> None:
    (tmp_path / "diary.json").write_text("{")
    with pytest.raises(DataError, match="cannot be read"):
        Attempts(tmp_path)
    (tmp_path / "diary.json").write_text(json.dumps({"format": 9}))
    with pytest.raises(DataError, match="not of format 2"):
        Attempts(tmp_path)


def test_a_hub_reads_the_settings_of_a_course(tmp_path: Path) -> None:
    from traitlets.config import Config, PyFileConfigLoader

    course.write(tmp_path / "course")
    (tmp_path / "jupyterhub_config.py").write_text('load_subconfig("course/hub_config.py")\n')
    read = PyFileConfigLoader("jupyterhub_config.py", str(tmp_path)).load_config()
    variables = read.Spawner.environment.get_value({"PATH": "/bin"})
    assert isinstance(read, Config)
    assert variables["PATH"] == "/bin"
    assert variables["LABKIT_LAB_SOURCE"] == "recorded"
    assert list(Path(variables["JUPYTER_PATH"], "labextensions").glob("*/package.json"))
    assert Path(variables["JUPYTER_CONFIG_PATH"], "labconfig", "default_setting_overrides.json").is_file()


@pytest.mark.parametrize("stem", STEMS)
def test_tolerances_lie_between_3_and_10_percent(stem: str, sessions: dict[str, teaching.Session]) -> None:
    session = sessions[stem]
    for question in labs.get(session.name).questions:
        expected = question.of(session.results)
        if question.choices:
            continue
        for way, (low, high) in zip((expected.centre, *expected.also), tolerance(expected, question.base), strict=True):
            size = abs(float(way))
            assert low <= float(way) - 0.0299 * size, question.name
            assert high >= float(way) + 0.0299 * size, question.name
            assert high - low <= 0.2001 * size + 0.01 * question.base, question.name


@pytest.mark.parametrize("stem", STEMS)
def test_every_number_names_typical_mistakes_that_do_not_count(stem: str) -> None:
    lab = labs.get(course.name_of(stem))
    results = read([sources.EXAMPLES / name for name in lab.recorded], lab.specs())
    for question in lab.questions:
        expected = question.named(question.of(results))
        assert bool(expected.mistakes) is not bool(question.choices), question.name
        for words, value in expected.mistakes.items():
            inside = any(low <= value <= high for low, high in tolerance(expected, question.base))
            assert not (inside and words in question.slips), (question.name, words)
            if inside and not mistake(expected, value):
                assert words in judge(question, expected, value).text, "in this run, the right value is the same"
            else:
                assert not taken(question, expected, value), (question.name, words)


def test_a_mistake_with_units_is_named(sessions: dict[str, teaching.Session]) -> None:
    for stem, name, factor, said in (
        ("2-layers", "one_way", 2, "no, this is the round trip: one way is half of it"),
        ("1-latency-and-bandwidth", "bandwidth", 8, "no, this is the rate in Mbit/s: a byte has 8 bits"),
        ("11-is-this-number-good", "limit", 1 / 1.048576, "no, this is the rate in MiB/s: 1 MB is 1 000 000 B"),
        ("4-collectives", "steps", 1e-3, "no, this is a thousandth of it: mind ms and µs"),
    ):
        session = sessions[stem]
        question = labs.get(session.name).question(name)
        expected = question.of(session.results)
        assert judge(question, expected, factor * float(expected.centre)).text == said


def test_a_session_does_not_offer_its_answers(sessions: dict[str, teaching.Session]) -> None:
    seen: set[int] = set()

    def look(thing: Any, path: str, depth: int) -> None:
        if id(thing) in seen or depth > 3:
            return
        seen.add(id(thing))
        assert not isinstance(thing, Question | Expected | Lab), path
        for name in dir(thing):
            if not name.startswith("_"):
                with contextlib.suppress(Exception):  # a property may need what is not there
                    inner = getattr(thing, name)
                    if type(inner).__module__.startswith("labkit.apps.teaching"):
                        look(inner, f"{path}.{name}", depth + 1)

    for session in sessions.values():
        session.ask(labs.get(session.name).questions[0].name)
        look(session, "lab", 0)
        for panel in session.panels.values():
            look(panel, "lab.panels[…]", 0)
