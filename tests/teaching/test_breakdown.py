"""Lab 10: parts sum to the whole, published and measured stay apart, and what is tried out is computed rightly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from labkit import figures
from labkit.apps import teaching
from labkit.apps.teaching import labs, sources
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.labs import breakdown
from labkit.apps.teaching.questions import Question, compared, judge
from labkit.apps.teaching.results import Results, read
from labkit.apps.teaching.what_if import WhatIf
from labkit.errors import DataError
from labkit.read import reference
from labkit.store.campaign import Campaign


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> teaching.Session:
    one = teaching.Session("breakdown", tmp_path_factory.mktemp("run"), "recorded")
    one.measure(without_predictions=True)
    one._results = read(
        [sources.EXAMPLES / name for name in breakdown.LAB.recorded], breakdown.LAB.specs()
    )  # all launches
    return one


def test_own_parts_sum_to_the_whole(session: teaching.Session) -> None:
    own = breakdown._own(session.results)
    assert len(own.parts) == 4
    assert own.whole.value == pytest.approx(session.results.median(*breakdown.TCP[:2]) / 2)
    assert all(part.time.interval[0] <= part.time.value <= part.time.interval[1] for part in own.parts)


def test_of_a_point_that_two_campaigns_hold_the_launches_of_the_first_count() -> None:
    folders = [sources.EXAMPLES / name for name in breakdown.LAB.recorded]
    specs = breakdown.LAB.specs()

    def launches(*order: Path) -> list[float]:
        campaigns = [Campaign(folder).samples("sockets.tcp_rr") for folder in order]
        return list(Results(campaigns, specs).launches(*breakdown.TCP[:2]))

    alone = launches(folders[0])
    assert launches(*folders) == alone
    assert launches(*reversed(folders)) == launches(folders[1])
    assert launches(folders[1]) != alone


def test_measured_and_published_are_drawn_in_their_own_style(session: teaching.Session) -> None:
    for name, origin in (("own", "measured"), ("published", "published")):
        figure = labs.get(session.name).shows[name](session.results)
        bars = [trace for trace in figure.data if trace.name]
        assert bars
        assert all(trace.name.endswith(f"({origin})") for trace in bars)
        assert all(trace.marker.pattern.shape == figures.ORIGINS[origin].pattern for trace in bars)
        assert f"({origin})" in figure.layout.annotations[0].text
    assert "Zambre et al." in figure.layout.annotations[1].text
    assert figure.layout.xaxis.title.text == "time (ns)"


def test_a_part_begins_where_the_one_before_ends() -> None:
    parts = [figures.Part("first", 2.0, "x"), figures.Part("second", 3.0, "x", 2.5, 4.0)]
    figure = figures.stacked([figures.Stack("both", parts, "measured", figures.Part("whole", 5.0, "y"))], "µs")
    bars = [trace for trace in figure.data if trace.name]
    assert [list(trace.base) for trace in bars] == [[0, 2], [0]]
    assert list(bars[0].error_x.array) == [0, 1]
    with pytest.raises(DataError, match="no parts"):
        figures.stacked([], "µs")


def test_lines_of_savings_are_straight_and_say_that_they_are_modelled(session: teaching.Session) -> None:
    figure = labs.get(session.name).shows["curves"](session.results)
    for trace in figure.data:
        assert trace.name.endswith("(modelled)")
        assert [y * 100 for y in trace.y] == pytest.approx([x * trace.y[-1] for x in trace.x])
    with pytest.raises(DataError, match="no components"):
        figures.saving({})


def test_what_is_tried_is_computed(session: teaching.Session) -> None:
    widget = labs.get(session.name).shows["try"](session.results)
    assert isinstance(widget, WhatIf)
    assert widget.cheaper.value == 0  # it must not open on an answer
    assert "saved," not in widget.result.value
    widget.component.value = ("published parts", breakdown.WIRE)
    widget.cheaper.value = 90
    text = re.sub(r"<[^>]+>", "", widget.result.value)
    assert "1,387 → 1,140 ns: 17.8 % saved, 1.22 times as fast" in text
    assert "265 → 265 ns: nothing saved" in text
    assert "not measured" in text
    widget.component.value = ("parts of this run", breakdown.KERNEL)
    widget.cheaper.value = 100
    text = re.sub(r"<[^>]+>", "", widget.result.value)
    assert "64 B over TCP8.17 → 2.95 µs" in text
    assert "latency" not in text


def test_an_answer_from_published_numbers_is_judged_by_two_digits_and_says_by_what(session: teaching.Session) -> None:
    question = labs.get(session.name).question("wire")
    expected = question.of(session.results)
    assert judge(question, expected, 18).text == f"right. {question.why}"
    assert "published numbers" in judge(question, expected, 22).text
    assert not judge(question, expected, 22).right
    first = labs.get(session.name).question("first")
    assert judge(first, first.of(session.results), breakdown.WIRE).text == "not what the published numbers say"
    choice = Question(name="q", text="?", of=lambda r: Expected("a"), choices=("a", "b"))
    assert judge(choice, Expected("a"), "b").text == "not what this run says"
    assert compared(question, expected, 17.8) == "close"


def test_tables_hold_every_model_and_claim(session: teaching.Session) -> None:
    paper = reference.load(breakdown.PAPER)
    sums = labs.get(session.name).shows["sums"](session.results)
    assert not any("off" in head for head in sums)  # a question asks for it
    assert list(sums["sum of its parts in ns"]) == ["295.73", "1,135.80", "264.97", "1,387.02"]
    assert len(labs.get(session.name).shows["claims"](session.results)) == len(paper.claims)
