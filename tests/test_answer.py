"""The answer about a campaign: topics, causes, what to do next, and what `labkit explain --decide` measures."""

from __future__ import annotations

import ast
import json
import re
import shlex
import string
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit import host
from labkit.apps import deciding
from labkit.apps.cli import main
from labkit.apps.show import answered
from labkit.errors import DataError
from labkit.judge import answer, causes, rules, view
from labkit.judge.answer import Answer
from labkit.judge.finding import LEVELS, SHARE, TIMES, Count, Finding, Subject, Value, ordered, sound
from labkit.judge.sentences import clue, sentence
from labkit.models.bounds import Stated
from labkit.point.notes import badge
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.read.columnar import of_samples
from labkit.report import answered as report_answer
from labkit.report import sources
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.run import measuring
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import noted
from tests import made
from tests.made import samples, values

EXAMPLES = Path(__file__).parents[1] / "data" / "campaigns" / "examples"
HOST = {"hostname": "node", "name": "node"}
SHARED, LOOPBACK = noted([badge("shared memory")], []), noted([badge("loopback")], [])


def point(name: str, metric: str, *launches: float, meta: Mapping[str, Any] = SHARED, **spec: Any) -> list[Samples]:
    """Launches of a point with values that a tool reported."""
    options = {"ranks": 1} if name.startswith("micro") else {}
    of = Spec(benchmark=name, **options, **spec)
    facts = {"fingerprint": f"{name} {spec}", "library": "x", "engine": "c", "start": "2026-01-01T00:00:00", **meta}
    return [
        samples(of, reported=values(metric, mean=value), meta=facts, launch=number, host=HOST)
        for number, value in enumerate(launches)
    ]


LINE = point("micro.core_to_core", "line_transfer_ns", *[50.0] * 6, meta={})
MESSAGE = point("micro.loopback", "latency_us", *[5.0] * 6, size=8, meta={})
FAST = point("mpi.latency", "latency_us", 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, size=8, transport="shm")
OVER_TCP = point(
    "mpi.latency", "latency_us", 6.0, 6.1, 6.0, 6.1, 6.0, 6.1, size=8, transport="tcp", meta=LOOPBACK
)  # fmt: skip


def asked(*points: list[Samples]) -> Answer:
    """The answer about some launches."""
    every = [one for some in points for one in some]
    launches = of_samples(every)
    return answer.answer(view.View("c", launches.records, records.summary(launches.records), launches))


def test_every_rule_and_cause_is_a_file_of_its_name() -> None:
    for known in (rules, causes):
        names = {path.stem for path in Path(known.__path__[0]).glob("[!_]*.py")}
        assert {code.replace("-", "_") for code in known.every()} == names


@pytest.mark.slow
def test_every_sentence_of_the_examples_can_be_made() -> None:
    """Each finding has the values that its sentence names, and none of the sentences holds an unknown number."""
    for folder in sorted(EXAMPLES.iterdir()):
        source = sources.read(folder)
        seen = view.View(source.name, source.records, source.summary, source.launches, source.failed)
        for one in answer.answer(seen).findings:
            texts = [sentence(one), *(sentence(cause) for cause in one.causes)]
            texts += [clue(cause, each) for cause in one.causes for each in (*cause.evidence, *cause.against)]
            for text in texts:
                assert text
                assert "–" not in text.split(), text
                assert "nan" not in text, text


def test_templates_name_plain_values() -> None:
    """A template reaches no attribute of a value: what it shows is what the finding holds."""
    texts = [
        text
        for one in rules.every().values()
        for text in (one.says.values() if not isinstance(one.says, str) else [one.says])
    ]
    texts += [text for known in (rules, causes) for one in known.every().values() for text in one.clues.values()]
    for text in texts:
        for _, name, _, _ in string.Formatter().parse(text):
            assert name is None or name.isidentifier(), text


@pytest.mark.parametrize("name", sorted({*rules.every(), *causes.every()}))
def test_every_clue_that_a_file_names_has_its_sentence(name: str) -> None:
    known, folder = (causes, "causes") if name in causes.every() else (rules, "rules")
    path = Path(known.__path__[0]) / f"{name.replace('-', '_')}.py"
    clues = known.every()[name].clues
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Evidence":
            for one in node.keywords:
                if one.arg == "code" and isinstance(one.value, ast.Constant):
                    assert one.value.value in clues, f"{folder}/{path.name}"


def test_a_floor_says_whether_a_latency_is_good() -> None:
    (topic,) = asked(FAST, LINE).topics
    assert (topic.name, topic.verdict) == ("MPI latency over shared memory", "good")
    assert sentence(topic.lead) == "0.1 µs [all 0.1] is 2 times its floor of 0.05 µs (line of cache)"
    slow = point("mpi.latency", "latency_us", *[0.2] * 6, size=8, transport="shm")
    slower = point("mpi.latency", "latency_us", *[0.3] * 6, size=8, transport="shm")
    assert [asked(one, LINE).topics[0].verdict for one in (slow, slower)] == ["doubtful", "bad"]


def test_ranks_that_share_a_host_but_send_over_tcp_take_the_wrong_path() -> None:
    found = asked(OVER_TCP, LINE, MESSAGE)
    (topic,) = found.topics
    assert (topic.name, topic.verdict) == ("MPI latency over TCP within the host", "bad")
    assert topic.cause is not None
    assert sentence(topic.cause) == "wrong path (transport=tcp was asked for)"
    assert "and 1.21 times its own floor of 5 µs" in sentence(topic.lead)
    assert found.steps[0].command.endswith("--transport shm")
    assert found.undecided == (topic.cause.measure[0],)


def test_without_a_floor_the_answer_names_the_measurement() -> None:
    found = asked(FAST)
    (topic,) = found.topics
    assert topic.verdict == "no reference"
    assert found.steps[0].command == "labkit explain c --decide"
    assert {spec.benchmark for spec in found.undecided} == {"micro.core_to_core", "micro.memory_copy"}


def test_commands_name_the_campaign_as_the_user_did_and_are_not_wrapped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder with spaces, far away from the folder in which labkit looks for campaigns" / "mine"
    points = enumerate((FAST, OVER_TCP))
    some = [replace(one, meta=one.meta | {"fingerprint": f"{n:016x}"}) for n, launches in points for one in launches]
    made.campaign(folder, some)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for given in (str(folder), str(folder.relative_to(tmp_path))):
        for more in ([], ["--all"]):
            assert main(["explain", given, *more]) == 0
            text = capsys.readouterr().out
            commands = [shlex.split(one) for one in re.findall(r"labkit (?:explain|lint) .*", text)]
            assert {"explain", "lint"} == {words[1] for words in commands}
            assert {given} == {words[2] for words in commands}
    assert main(["explain", given, "--format", "json"]) == 0
    steps = [one["command"] for one in json.loads(capsys.readouterr().out)["steps"]]
    assert shlex.join(["labkit", "explain", given, "--decide"]) in steps


def test_the_next_command_repeats_what_the_user_states_and_no_machine_of_somebody_else_is_measured() -> None:
    far = noted([], []) | {"rank_hosts": ["a", "b"]}
    own = point("mpi.latency", "latency_us", *[9.0] * 6, size=8, meta=far)
    launches, stated = of_samples(own), Stated(link="25gbit", delay="1us")
    summary = records.summary(launches.records)
    for origin, command in (("measured", "labkit explain c --link 25gbit --delay 1us --decide"), ("imported", "")):
        seen = view.View("c", launches.records, summary.assign(origin=origin), launches, stated=stated)
        (topic,) = answer.answer(seen).topics
        assert (topic.verdict, topic.lead.command, bool(topic.lead.measure)) == ("no reference", command, bool(command))


def test_a_sentence_on_what_to_do_is_wrapped_and_no_command() -> None:
    link = point("sockets.tcp_stream", "bandwidth_MBps", *[90.0] * 6, size=1 << 16, meta={})
    (step, *_) = asked(link).steps
    assert (step.command, step.runnable) == ("State the link: labkit explain c --link RATE --mtu B.", False)


def test_what_to_do_names_the_whole_campaign_and_how_much_more_it_is_about() -> None:
    one = Finding(code="", kind="violation", level="bad", subject=Subject())
    assert answer.Step("Commit.", (one,)).about == "the whole campaign"
    assert answer.Step("Commit.", (one, one, one)).about == "the whole campaign and 2 more findings"


def test_a_value_is_as_exact_as_its_interval() -> None:
    """With more digits than its ends it could seem to lie outside of them."""
    value = Value(value=13_197.0, unit="MB/s", low=13_195.0, high=13_480.0)
    assert f"{value:interval}" == "13,200 MB/s [13,200 to 13,480]"


def test_a_testbed_of_somebody_else_is_no_emulated_link(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    logs = Path(__file__).parent / "golden" / "logs"
    folders = [logs / name for name in ("netperf", "qperf", "fio")]
    assert main(["import", *map(str, folders), "--into", str(tmp_path / "c")]) == 0
    capsys.readouterr()
    assert main(["explain", str(tmp_path / "c")]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^no reference +sockets bandwidth: sockets\.tcp_stream, ", text, re.MULTILINE)
    assert re.search(r"^no reference +storage file read: storage\.read, ", text, re.MULTILINE), "a rate, no latency"
    assert " -, " not in text
    assert "Nothing is to be done" not in text


def test_the_worst_setting_of_a_topic_decides_and_topics_come_worst_first() -> None:
    slow = point("mpi.latency", "latency_us", *[0.9] * 6, size=8, transport="shm", bind="none")
    found = asked(FAST, slow, OVER_TCP, LINE, MESSAGE)
    assert [one.verdict for one in found.topics] == ["bad", "bad"]
    assert found.topics[0].name == "MPI latency over TCP within the host", "60 times costs more than 18"
    assert [one.level for one in found.topics[1].findings] == ["bad", "good"]


def test_findings_are_ordered_by_level_and_cost() -> None:
    def one(level: Any, cost: float) -> Finding:
        return Finding(code="", kind="verdict", level=level, subject=Subject(), cost=cost)

    some = [one("good", 1), one("bad", 2), one("note", float("nan")), one("bad", 9), one("doubtful", 3)]
    found = [(each.level, each.cost) for each in ordered(some)]
    assert found[:3] == [("bad", 9), ("bad", 2), ("doubtful", 3)]
    assert [LEVELS.index(level) for level, _ in found] == sorted(LEVELS.index(level) for level, _ in found)


@pytest.mark.parametrize(
    ("value", "possible"),
    [(1.0, True), (float("nan"), False), (float("inf"), False), (-1.0, False)],
)
def test_a_finding_whose_numbers_cannot_be_true_is_none(value: float, possible: bool) -> None:
    held = {"times": Value(value=value, unit=TIMES), "count": Count(1, "launch"), "name": "a"}
    assert sound(Finding(code="", kind="verdict", level="bad", subject=Subject(), values=held)) is possible


def test_a_share_and_a_size_are_written_in_their_way() -> None:
    assert f"{Value(value=0.5, unit=SHARE)}, {Value(value=65536, unit='B')}" == "50 %, 64 KiB"


@pytest.mark.parametrize(
    "name",
    ["two-cores-limits", *(pytest.param(one, marks=pytest.mark.slow) for one in ("two-cores", "virtual-cluster"))],
)
def test_explain_prints_at_most_forty_lines(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["explain", f"examples/{name}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= answered.LINES
    assert lines[0].startswith(f"{name}: ")
    assert main(["explain", f"examples/{name}", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    shown = [one["topic"] for one in document["topics"]]
    words = [line[13:].split(" ", 1)[0] for line in lines if line[:12].strip() in answer.VERDICTS]
    assert words
    assert [text.split(" ", 1)[0] for text in shown][: len(words)] == words, "the worst topics are shown"


def test_a_gate_shows_the_topics_that_are_not_good_as_explain_counts_them() -> None:
    found = asked(FAST, OVER_TCP, LINE, MESSAGE)
    head, *poor = answered.brief(found).splitlines()
    assert (
        head
        == f"labkit explain {answered.table(found).splitlines()[0]}"
        == "labkit explain c: of 2 topics, 1 is good and 1 is bad"
    )
    assert poor == [
        f"  bad MPI latency over TCP within the host: {found.topics[0].lead.subject}: {sentence(found.topics[0].lead)}"
    ]
    assert answered.brief_markdown(found).startswith(
        "**`labkit explain c: of 2 topics, 1 is good and 1 is bad`**\n\n- `bad MPI latency over TCP"
    )


@pytest.mark.parametrize(("topics", "last"), [(7, "  unknown family6"), (8, "  … and 2 more topics that are not good")])
def test_what_a_gate_shows_of_an_answer_has_eight_lines(topics: int, last: str) -> None:
    values = {"measured": Value(value=1.0, unit="µs"), "reason": "it was not measured"}
    found = [
        Finding(code="latency-of-path", kind="verdict", level="unknown", form="no reference", values=values,
                subject=Subject(benchmark=f"family{n}.a"))
        for n in range(topics)
    ]  # fmt: skip
    lines = answered.brief(Answer("c", tuple(found))).splitlines()
    assert len(lines) == 8
    assert lines[-1].startswith(last.replace("unknown", "no reference"))


def test_the_pages_show_what_explain_prints_and_what_its_rules_demand(capsys: pytest.CaptureFixture[str]) -> None:
    docs = EXAMPLES.parents[2] / "docs"
    (shown,) = re.findall(r"```text\n(two-cores-limits: .*?)```", (docs / "guide.md").read_text(), re.DOTALL)
    assert main(["explain", "examples/two-cores-limits"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [one for one in shown.splitlines() if one != "…" and one not in printed] == []
    page = (docs / "statistics.md").read_text()
    assert [one.code for one in rules.about("path") if f"`{one.code}` | {one.must} | {one.why} |" not in page] == []


def test_a_campaign_of_another_machine_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="was measured on an unknown machine, but this is "):
        deciding.decide(Campaign(tmp_path), lambda: asked(FAST), 1.0)


@pytest.mark.mpi
@pytest.mark.slow
def test_decide_measures_what_the_answer_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = Spec(benchmark="mpi.latency", size=8, transport="shm")
    campaign = measuring.measure(spec, Effort(launches=1, time_cap=0.05), into=tmp_path / "c")
    assert campaign.facts["host"]["hostname"] == host.describe()["hostname"]
    assert main(["explain", str(campaign.path), "--format", "json"]) == 0
    (before,) = json.loads(capsys.readouterr().out)["topics"]
    assert before["verdict"] == "no reference"
    assert main(["explain", str(campaign.path), "--decide", "--budget", "30s", "--format", "json"]) == 0
    (after,) = json.loads(capsys.readouterr().out)["topics"]
    assert after["verdict"] in ("good", "doubtful", "bad")
    assert {"micro.core_to_core", "micro.memory_copy"} <= {name for name, _, _ in Campaign(campaign.path).done()}


def test_the_time_of_a_larger_message_is_no_floor() -> None:
    large = point("micro.loopback", "latency_us", *[50.0] * 6, size=65536, meta={})
    (topic,) = asked(OVER_TCP, large).topics
    assert topic.verdict == "no reference"


def test_load_explains_nothing_where_another_setting_is_good_under_it() -> None:
    busy = SHARED | noted([badge("shared memory"), badge("busy machine")], [])
    slow = point("mpi.latency", "latency_us", *[0.9] * 6, size=8, transport="shm", bind="none", meta=busy)
    fast = point("mpi.latency", "latency_us", *[0.1] * 6, size=8, transport="shm", meta=busy)
    (cause,) = [one for one in asked(slow, LINE).topics[0].lead.causes if one.code == "busy-machine"]
    assert cause.supported
    (cause,) = [one for one in asked(slow, fast, LINE).topics[0].lead.causes if one.code == "busy-machine"]
    assert not cause.supported
    assert "is good under the same load" in sentence(cause)


def test_a_loop_in_python_leads_where_the_loop_in_c_is_faster() -> None:
    busy = SHARED | noted([badge("shared memory"), badge("busy machine")], [])
    slow = point(
        "mpi.latency", "latency_us", *[9.0] * 6, size=8, transport="shm", options={"binding": "pickle"}, meta=busy
    )
    fast = point("mpi.latency", "latency_us", *[0.1] * 6, size=8, transport="shm", options={"binding": "c"})
    lead = asked(slow, fast, LINE).topics[0].lead
    assert lead.level == "bad"
    assert lead.causes[0].code == "python-binding"
    assert "binding=c gives 0.1 µs" in sentence(lead.causes[0])


def test_page_one_and_explain_say_the_same_in_the_same_order() -> None:
    source = sources.read(EXAMPLES / "two-cores-limits")
    content = Content([source], {})
    page, topics = report_answer.answers(content), answer.answer(source.view).topics
    assert topics
    rows = [line for line in page.splitlines() if line.startswith("| ") and "**" in line]
    assert [row.split("|")[1].strip() for row in rows] == [one.name for one in topics]
    for row, one in zip(rows, topics, strict=True):
        assert f"**{one.verdict}**" in row
        assert escape(sentence(one.lead)) in row
        assert ("Cause: " in row) is (one.verdict in ("bad", "doubtful"))
