"""The answer about a campaign: topics, causes, what to do next, and what `labkit explain --decide` measures."""

from __future__ import annotations

import ast
import functools
import html
import json
import re
import shlex
import shutil
import socket
import string
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from labkit import host, studies
from labkit.apps import deciding
from labkit.apps.cli import main
from labkit.apps.explorer import judged, store
from labkit.apps.explorer.panels import answer as explored
from labkit.apps.show import answered
from labkit.apps.show.findings import as_dict, how_likely
from labkit.errors import DataError
from labkit.host import machine
from labkit.judge import answer, causes, rules, sentences
from labkit.judge.answer import PATHS, Answer, Topic
from labkit.judge.finding import LEVELS, SHARE, TIMES, Count, Decided, Finding, Subject, Value, Wanted, ordered, sound
from labkit.judge.rules import collective_of_messages, latency_of_path, setting_matters
from labkit.judge.sentences import beyond, caused, clue, purpose, sentence, settings, told
from labkit.judge.view import View
from labkit.models.bounds import Stated
from labkit.models.inside import LINK, MACHINE, Bound
from labkit.point.notes import badge
from labkit.point.spec import Effort, Spec
from labkit.point.units import format_number, format_share
from labkit.read import records
from labkit.read.columnar import of_samples
from labkit.report import answered as report_answer
from labkit.report import sources
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.run import measuring
from labkit.store import identity
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
UNASKED = [replace(one, spec=one.spec.replace(transport="auto")) for one in OVER_TCP]  # the library chose TCP


def asked(*points: list[Samples]) -> Answer:
    """The answer about some launches."""
    every = [one for some in points for one in some]
    launches = of_samples(every)
    return answer.answer(View("c", launches.records, records.summary(launches.records), launches, here=True))


def test_every_rule_and_cause_is_a_file_of_its_name() -> None:
    for known in (rules, causes):
        names = {path.stem for path in Path(known.__path__[0]).glob("[!_]*.py")}
        assert {code.replace("-", "_") for code in known.every()} == names


@pytest.mark.slow
def test_every_sentence_of_the_examples_can_be_made() -> None:
    """Each finding has the values that its sentence names, and none of the sentences holds an unknown number."""
    for folder in sorted(EXAMPLES.iterdir()):
        source = sources.read(folder)
        seen = View(source.name, source.records, source.summary, source.launches, source.failed)
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
    needed = "less than its reference of 0.3 µs (a line of cache and up to 0.25 µs for the library)"
    assert sentence(topic.lead) == f"0.1 µs [all 0.1] is {needed}"
    slow = point("mpi.latency", "latency_us", *[1.0] * 6, size=8, transport="shm")
    slower = point("mpi.latency", "latency_us", *[1.6] * 6, size=8, transport="shm")
    assert [asked(one, LINE).topics[0].verdict for one in (slow, slower)] == ["doubtful", "bad"]


@pytest.mark.parametrize(
    ("name", "value", "options", "says"),
    [
        ("put", 0.05, {}, "good less"),  # one processor writes what another one reads
        ("put", 1.4, {}, "good beside"),  # 2.5 × 0.6 µs
        ("put", 2.0, {}, "doubtful beside"),
        ("get", 3.1, {}, "bad beside"),
        ("get", 0.4, {"synchronisation": "flush_local"}, "good less"),
        ("put", 0.4, {"synchronisation": "flush_local"}, "unknown no reference"),  # the bytes may be under way
        ("put", 9.0, {"synchronisation": "fence"}, "unknown no reference"),
        ("get", 9.0, {"synchronisation": "pscw"}, "unknown no reference"),
        ("put", 9.0, {"origins": "both"}, "unknown no reference"),
    ],
)
def test_a_call_that_waits_for_its_bytes_takes_a_message_there_and_one_back(
    name: str, value: float, options: dict[str, Any], says: str
) -> None:
    slow = point(f"mpi.{name}_latency", "latency_us", *[value] * 6, size=8, transport="shm", options=options)
    (topic,) = asked(slow, LINE).topics
    assert f"{topic.lead.level} {topic.lead.form}" == says
    if says.endswith("beside"):
        assert (
            "of 0.6 µs (a message there and one back, each with a line of cache and up to 0.25 µs for the library)"
            in sentence(topic.lead)
        )
    if says.endswith("no reference"):
        assert "depends on its synchronisation" in sentence(topic.lead)
        assert not topic.lead.measure


def test_calls_on_several_ranks_have_no_reference() -> None:
    options = {"targets": "all"}
    many = point("mpi.put_latency", "latency_us", *[9.0] * 6, size=8, transport="shm", ranks=4, options=options)
    assert asked(many, LINE).topics[0].verdict == "no reference"


def test_a_put_over_tcp_within_a_host_takes_the_wrong_path() -> None:
    slow = point("mpi.put_latency", "latency_us", *[20.0] * 6, size=8, transport="tcp", meta=LOOPBACK)
    (topic,) = asked(slow, LINE, MESSAGE).topics
    assert (topic.verdict, topic.cause and topic.cause.code) == ("bad", "wrong-path")


def test_ranks_that_share_a_host_but_send_over_tcp_take_the_wrong_path() -> None:
    found = asked(OVER_TCP, LINE, MESSAGE)
    (topic,) = found.topics
    assert (topic.name, topic.verdict) == ("MPI latency over TCP within the host", "bad")
    assert topic.cause is not None
    assert sentence(topic.cause) == "wrong path (transport=tcp was asked for)"
    assert "; it is 1.21 times the 5 µs of its own path (a thread that sends to itself over loopback)" in sentence(
        topic.lead
    )
    assert found.steps[0].command.endswith("--transport shm --launches 6")
    assert found.undecided == (topic.cause.measure[0],)


def over(path: str, *values: float, size: int, **spec: Any) -> list[Samples]:
    """Launches of a latency within a host over TCP or shared memory."""
    meta = LOOPBACK if path == "tcp" else SHARED
    return point("mpi.latency", "latency_us", *values, size=size, transport=path, meta=meta, **spec)


def test_tcp_that_was_measured_beside_shared_memory_is_judged_as_tcp() -> None:
    memory = [over("shm", *[0.1] * 6, size=size) for size in (8, 64)]
    tcp = [OVER_TCP, over("tcp", *[6.2] * 6, size=64)]
    one = next(one for one in asked(*memory, *tcp, LINE, MESSAGE).topics if "TCP" in one.name)
    assert (one.verdict, one.cause) == ("good", None)
    text = "is 1.21 times its reference of 5 µs (a thread that sends to itself over loopback); through shared"
    assert text in sentence(one.lead)
    assert "memory it takes 0.1 µs" in sentence(one.lead)
    some = next(one for one in asked(memory[0], *tcp, LINE, MESSAGE).topics if "TCP" in one.name)
    assert (some.verdict, some.cause and some.cause.code) == ("bad", "wrong-path"), "64 B were measured over TCP alone"
    assert some.cause is not None
    assert "transport=shm gives 0.1 µs" in sentence(some.cause)
    chosen = next(one for one in asked(memory[0], UNASKED, LINE, MESSAGE).topics if "TCP" in one.name)
    assert chosen.verdict == "bad", "nobody requested TCP"
    without = next(one for one in asked(*memory, *tcp, LINE).topics if "TCP" in one.name)
    assert without.verdict == "no reference"


def test_the_interval_of_a_reference_is_said_and_may_allow_another_verdict() -> None:
    line = point("micro.core_to_core", "line_transfer_ns", *[50.0, 60.0, 50.0, 400.0, 50.0, 60.0], meta={})
    (topic,) = asked(over("shm", *[1.0] * 6, size=8), line).topics
    assert topic.verdict == "doubtful"
    assert "its reference of 0.30 µs [0.30 to 0.65]" in sentence(topic.lead)
    assert sentence(topic.lead).endswith("; with a reference of 0.65 µs it would be good")
    (topic,) = asked(over("shm", *[1.0] * 6, size=8), LINE).topics
    assert "other end" not in sentence(topic.lead)


def test_without_a_floor_the_answer_names_the_measurement() -> None:
    found = asked(FAST)
    (topic,) = found.topics
    assert topic.verdict == "no reference"
    assert found.steps[0].command == "labkit explain c --decide"
    assert {one.spec.benchmark for one in found.undecided} == {"micro.core_to_core", "micro.memory_copy"}


def test_commands_name_the_campaign_as_the_user_did_and_are_not_wrapped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder with spaces, far away from the folder in which labkit looks for campaigns" / "mine"
    points = enumerate((FAST, OVER_TCP))
    some = [replace(one, meta=one.meta | {"fingerprint": f"{n:016x}"}) for n, launches in points for one in launches]
    campaign = made.campaign(folder, some)
    campaign.update({"host": {"hostname": socket.gethostname()}})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for given in (str(folder), str(folder.relative_to(tmp_path))):
        for more in ([], ["--all"]):
            assert main(["explain", given, *more]) == 0
            text = capsys.readouterr().out
            commands = [shlex.split(one) for one in re.findall(r"labkit (?:explain|lint) .*", text)]
            assert {"explain", "lint"} == {words[1] for words in commands}
            assert {given} == {words[2] for words in commands}
    for name, here in (("elsewhere", False), (socket.gethostname(), True)):
        campaign.update({"host": {"hostname": name}})
        assert main(["explain", given, "--format", "json"]) == 0
        steps = [one["command"] for one in json.loads(capsys.readouterr().out)["steps"]]
        decide = shlex.join(["labkit", "explain", given, "--decide"])
        assert (decide in steps) is here, "elsewhere it would be refused"
        assert (f"On the machine of the campaign: {decide}." in steps) is not here


def test_the_next_command_repeats_what_the_user_states_and_no_machine_of_somebody_else_is_measured() -> None:
    far = noted([], []) | {"rank_hosts": ["a", "b"]}
    own = point("mpi.latency", "latency_us", *[9.0] * 6, size=8, meta=far)
    launches, stated = of_samples(own), Stated(link="25gbit", delay="1us")
    summary = records.summary(launches.records)
    for origin, command in (("measured", "labkit explain c --link 25gbit --delay 1us --decide"), ("imported", "")):
        seen = View("c", launches.records, summary.assign(origin=origin), launches, stated=stated, here=True)
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


def test_the_best_setting_stands_for_a_benchmark_and_the_worst_benchmark_for_a_topic() -> None:
    """What another setting costs is a matter of choice; other benchmarks and other numbers of ranks are not."""
    slow = point("mpi.latency", "latency_us", *[1.9] * 6, size=8, transport="shm", bind="none")
    found = asked(FAST, slow, UNASKED, LINE, MESSAGE)
    assert [one.verdict for one in found.topics] == ["bad", "good"]
    over_tcp, shared = found.topics
    assert over_tcp.name == "MPI latency over TCP within the host"
    assert [one.level for one in shared.findings] == ["bad", "good"]
    assert shared.worse == (shared.findings[0],)
    assert "worse: transport shm, bind none, 8 B (bad)" in answered.table(found)
    other = point("mpi.latency_persistent", "latency_us", *[1.9] * 6, size=8, transport="shm")
    (topic,) = asked(FAST, other, LINE).topics
    assert (topic.verdict, topic.lead.subject.benchmark, topic.worse) == ("bad", "mpi.latency_persistent", ())


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
    found = asked(FAST, UNASKED, LINE, MESSAGE)
    head, *poor = answered.brief(found).splitlines()
    assert head == f"labkit explain {answered.table(found).splitlines()[0]}"
    assert head == "labkit explain c: of 2 topics, 1 is good and 1 is bad"
    placed = replace(found, argument="history/c")
    assert answered.brief(placed).startswith("labkit explain history/c: of 2 topics"), "what finds the campaign"
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


def test_the_pages_show_what_explain_prints_and_what_its_rules_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "_other", lambda campaign: "it was another one")  # as for whoever reads the page
    docs = EXAMPLES.parents[2] / "docs"
    (shown,) = re.findall(r"```text\n(two-cores-limits: .*?)```", (docs / "guide.md").read_text(), re.DOTALL)
    assert main(["explain", "examples/two-cores-limits"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [one for one in shown.splitlines() if one != "…" and one not in printed] == []
    codes = [one.code for one in rules.about("path")]
    assert [code for code in codes if f"`{code}`" not in (docs / "explain.md").read_text()] == []
    limits = (docs / "guide.md").read_text().partition("| numbers of | are compared with |")[2].partition("\n\n")[0]
    shares = [format_share(1 / limit) for limit in (*LINK, *MACHINE)]
    times = [format_number(limit, digits=3) for limit in (*LINK, *MACHINE, *collective_of_messages.OF_LINKS)]
    assert [one for one in (*shares, *times) if not re.search(rf"(?<![\d.]){re.escape(one)}(?![\d.])", limits)] == []


def test_a_campaign_of_another_machine_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="another machine: it was an unknown machine, but this is "):
        deciding.decide(Campaign(tmp_path), lambda: asked(FAST), 1.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"hostname": "node7"}, "it was node7, but this is"),
        ({"cpu_model": "Z80"}, "it had the processor Z80, but this machine has"),
        ({"cpu_threads": 1 << 20}, "it had 1048576 processors, but this machine has"),
        (
            {"frequency_max_MHz": None, "frequency_nominal_MHz": 2596.1},
            "its processors had 2,596 MHz, but those of this",
        ),
        ({"frequency_max_MHz": None, "frequency_nominal_MHz": 1999.0}, ""),  # of one machine, at another moment
        ({"frequency_max_MHz": 3000.0, "frequency_nominal_MHz": 2596.1}, ""),  # that something scales
    ],
)
def test_another_machine_may_have_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], said: str
) -> None:
    own = machine.lasting() | {"frequency_max_MHz": None, "frequency_nominal_MHz": 1996.2}
    monkeypatch.setattr(machine, "_lasting", lambda: own)
    campaign = made.campaign(tmp_path / "mine", [])
    campaign.update({"host": own | change})
    assert deciding.here(campaign) is (not said)
    assert said in deciding._other(campaign)
    assert bool(said) is bool(deciding._other(campaign))


def test_an_example_is_refused_once_and_not_for_each_point(monkeypatch: pytest.MonkeyPatch) -> None:
    example = Campaign.existing(EXAMPLES / "two-cores")
    monkeypatch.setattr(deciding, "_other", lambda campaign: "")
    said: list[str] = []
    with pytest.raises(DataError, match=r": cp -r \S+two-cores two-cores-copy$"):
        deciding.decide(example, lambda: asked(FAST), 1.0, said.append)
    assert said == []


@pytest.mark.parametrize(("value", "settled"), [(24.0, True), (13.0, False)])
def test_what_is_good_since_its_cause_was_removed_is_said_to_be_decided(value: float, settled: bool) -> None:
    """The bandwidth still grows with the size; larger messages fill the link of 200 Mbit/s, or they do not."""
    facts = {"testbed": {"rate_bps": 200e6, "nodes": 2}, "rank_hosts": ["vc0", "vc1"]}
    spec = {"testbed": "virtual-cluster:2,rate=200mbit", "transport": "tcp"}

    def sent(size: int, rate: float) -> list[Samples]:
        return point("mpi.bandwidth", "bandwidth_MBps", *[rate] * 6, meta=facts, size=size, **spec)

    few = [*sent(1024, 3.0), *sent(4096, 9.0)]
    before = asked(few)
    (bad,) = before.accusing
    (cause,) = [one for one in bad.causes if one.code == "small-messages"]
    wanted = cause.measure[-1].spec
    larger = sent(wanted.size, value)
    after = asked(few, larger).since(before, {wanted: str(larger[0].meta["fingerprint"])})
    assert [(one.was, one.cause) for one in after.settled] == [(bad, cause)] * settled
    text = " ".join(answered.table(after).split())
    assert (f"decided {bad.subject} was bad: {sentence(cause)}. Now mpi.bandwidth" in text) is settled
    assert len(json.loads(answered.as_json(after))["settled"]) == settled


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


def test_a_launch_with_a_warm_up_has_time_for_more_than_the_warm_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a tenth of a second fio wrote no more than it, and its statistics became a row of the point."""
    efforts: list[Effort] = []
    monkeypatch.setattr(deciding, "_first", lambda campaign, one: 0)
    monkeypatch.setattr(deciding.measuring, "measure", lambda specs, effort, **_: efforts.append(effort))
    spec = Spec(benchmark="storage.write", size=4096)
    wanted = [Wanted(spec, launches=1), Wanted(spec, launches=1, warmup=50_000)]
    assert deciding._measured(Campaign(tmp_path), wanted, float("inf"), lambda text: None)
    assert [(one.warmup, one.time_cap) for one in efforts] == [(None, deciding.CAP), (50_000, Effort().time_cap)]


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "spec"),
    [
        ("wrong-path", Spec(benchmark="mpi.latency", size=8, transport="tcp")),
        ("python-binding", Spec(benchmark="mpi.latency", size=8, transport="shm", options={"binding": "pickle"})),
    ],
)
def test_decide_measures_what_decides_about_a_cause(code: str, spec: Spec, tmp_path: Path) -> None:
    floor = Spec(benchmark="micro.core_to_core", size=0, ranks=1)  # of shared memory, by which both are judged
    campaign = measuring.measure([spec, floor], Effort(launches=6, time_cap=0.05), into=tmp_path / "c")
    assert main(["explain", str(campaign.path), "--decide", "--budget", "120s"]) == 0
    found = answer.answer(replace(sources.read(campaign.path).view, here=True))
    (cause,) = [each for one in found.findings for each in one.causes if each.code == code]
    assert {"better", "better later", "no better", "little"} & {one.code for one in (*cause.evidence, *cause.against)}
    assert cause.measure == (), "it was measured"


def test_the_time_of_a_larger_message_is_no_floor() -> None:
    large = point("micro.loopback", "latency_us", *[50.0] * 6, size=65536, meta={})
    (topic,) = asked(OVER_TCP, large).topics
    assert topic.verdict == "no reference"


def test_load_explains_nothing_where_another_setting_is_good_under_it() -> None:
    busy = SHARED | noted([badge("shared memory"), badge("busy machine")], [])
    slow = point("mpi.latency", "latency_us", *[1.6] * 6, size=8, transport="shm", bind="none", meta=busy)
    fast = point("mpi.latency", "latency_us", *[0.1] * 6, size=8, transport="shm", meta=busy)
    (cause,) = [one for one in asked(slow, LINE).topics[0].lead.causes if one.code == "busy-machine"]
    assert cause.supported
    (cause,) = [one for one in asked(slow, fast, LINE).topics[0].worse[0].causes if one.code == "busy-machine"]
    assert not cause.supported
    assert "is good under the same load" in sentence(cause)
    loaded = point("micro.core_to_core", "line_transfer_ns", *[50.0] * 6, meta=noted([badge("busy machine")], []))
    (cause,) = [one for one in asked(slow, fast, loaded).topics[0].worse[0].causes if one.code == "busy-machine"]
    assert cause.supported, "the reference was measured under the load too, so good shows nothing"


def test_a_loop_in_python_leads_where_the_loop_in_c_is_faster() -> None:
    busy = SHARED | noted([badge("shared memory"), badge("busy machine")], [])
    slow = point(
        "mpi.latency", "latency_us", *[9.0] * 6, size=8, transport="shm", options={"binding": "pickle"}, meta=busy
    )
    fast = point("mpi.latency", "latency_us", *[0.1] * 6, size=8, transport="shm", options={"binding": "c"})
    (topic,) = asked(slow, fast, LINE).topics
    (one,) = topic.worse
    assert (topic.verdict, one.level) == ("good", "bad")
    assert one.causes[0].code == "python-binding"
    assert "binding=c gives 0.1 µs" in sentence(one.causes[0])


@pytest.mark.parametrize(
    ("uplink", "below", "limit", "verdict"),
    [
        (200e6, 2, 10_964, "doubtful"),
        (100e6, 2, 21_928, "good"),
        (800e6, 2, 8_200, "bad"),
        ("fast", "two", 8_200, "bad"),
    ],
)
def test_all_to_all_over_a_tapered_tree_is_judged_by_its_uplink(
    uplink: object, below: object, limit: float, verdict: str
) -> None:
    """256 KiB pass an uplink of 200 Mbit/s in 11 ms; over fast uplinks, the messages of a rank take longest."""
    facts = {"nodes": 4, "per_leaf": below, "rate_bps": 200e6, "uplink_bps": uplink, "mtu": "?"}
    where: dict[str, Any] = {"badges": [], "testbed": facts, "rank_hosts": ["a", "b", "c", "d"]}
    pair = [
        point("mpi.latency", "latency_us", *[time] * 6, size=size, ranks=2, meta=where)
        for size, time in ((8, 14.0), (1 << 16, 2700.0))
    ]
    slow = point("mpi.alltoall", "latency_us", *[23e3] * 6, size=1 << 16, ranks=4, meta=where)
    lead = next(one.lead for one in asked(*pair, slow).topics if "collectives" in one.name)
    value = lead.values["limit"]
    assert isinstance(value, Value)
    assert value.value == pytest.approx(limit, rel=0.01)
    assert lead.level == verdict
    assert ("256 KiB that must pass each uplink" in sentence(lead)) == (limit > 9000)


def test_emulated_hosts_that_share_cores_are_not_judged_by_short_messages() -> None:
    meta = noted([badge("emulated link"), badge("oversubscription")], []) | {"rank_hosts": ["a", "b", "c", "d"]}
    where: dict[str, Any] = {"testbed": "virtual-cluster:4", "meta": meta}
    pair = point("mpi.latency", "latency_us", *[18.0] * 6, size=8, ranks=2, **where)
    for ranks, time, verdict in ((4, 13e3, "not judged"), (4, 40.0, "good")):
        answer_ = asked(pair, point("mpi.barrier", "latency_us", *[time] * 6, size=0, ranks=ranks, **where))
        topic = next(one for one in answer_.topics if "collectives" in one.name)
        assert topic.verdict == verdict
    real = {"meta": meta | noted([badge("oversubscription"), badge("shared memory")], [])}
    pair = point("mpi.latency", "latency_us", *[1.0] * 6, size=8, ranks=2, **real)
    crowded = point("mpi.barrier", "latency_us", *[13e3] * 6, size=0, ranks=4, **real)
    topic = next(one for one in asked(pair, crowded).topics if "collectives" in one.name)
    assert topic.verdict == "bad"
    assert topic.cause is not None
    assert topic.cause.code == "oversubscription"


def test_what_can_never_be_judged_is_counted_apart() -> None:
    emulated = noted([badge("soft-RoCE: functional, not performance")], [])
    answer_ = asked(point("verbs.write_latency", "latency_us", *[9.0] * 6, size=8, meta=emulated, testbed="soft-roce"))
    assert [one.verdict for one in answer_.topics] in (["not judged"], ["no reference"])
    assert "unknown" not in answer_.counts


@pytest.mark.parametrize(
    ("metric", "size", "put", "get", "code"),
    [
        ("bandwidth_MBps", 65536, 3400.0, 39e3, "copy-instruction"),
        ("bandwidth_MBps", 65536, 3400.0, 4000.0, ""),
        ("latency_us", 1 << 18, 75.0, 5.0, "copy-instruction"),
        ("latency_us", 1 << 18, 75.0, 60.0, ""),
    ],
)
def test_gets_tell_that_puts_are_copied_byte_by_byte(metric: str, size: int, put: float, get: float, code: str) -> None:
    host = HOST | {"architecture": "x86_64", "frequency_nominal_MHz": 2600}
    part = metric.partition("_")[0]
    both = [
        samples(
            Spec(benchmark=f"mpi.{name}_{part}", size=own, transport="shm"),
            reported=values(metric, p50=value * own / size),
            meta={"fingerprint": f"{name} {own}", "library": "x", "engine": "c", **SHARED},
            launch=number,
            host=host,
        )
        for name, value in (("put", put), ("get", get))
        for own in ((size,) if part == "bandwidth" else (8, size))
        for number in range(6)
    ]
    copies = [
        point(f"micro.{name}_copy", "bandwidth_MBps", *[50e3] * 6, size=4096, meta={})
        for name in ("memory", "core_to_core")
    ]
    lead = next(
        one
        for topic in asked(both, LINE, *copies).topics
        for one in topic.findings
        if one.subject.benchmark == f"mpi.put_{part}" and one.level in ("bad", "doubtful")
    )
    assert [one.code for one in lead.causes if one.likely] == [code] * bool(code)
    if code:
        goal = lead.values["goal"]
        assert isinstance(goal, Value)
        sign = 1 if part == "bandwidth" else -1
        assert lead.number("limit") == pytest.approx(goal.value * MACHINE[0] ** sign, rel=0.001)
        end = f"; {goal:2} or {'more' if sign > 0 else 'less'} would be good"
        assert purpose(answer.Step("", (lead,))).endswith(f"copies byte by byte{end}")
        assert purpose(answer.Step("", (lead,))).startswith(f"for {lead.subject.benchmark}, ")


@pytest.mark.parametrize(
    ("unit", "measured", "end"),
    [
        ("MB/s", 5.0, "; 40 MB/s or more would be good"),
        ("MB/s", 400.0, ""),  # doubtful because a rank lacked its processor, or the page cache answered
        ("µs", 400.0, "; 40 µs or less would be good"),
        ("µs", 5.0, ""),
    ],
)
def test_a_step_names_no_goal_that_the_number_has_reached(unit: str, measured: float, end: str) -> None:
    found = Finding(
        code="bandwidth-of-path",
        kind="verdict",
        level="doubtful",
        subject=Subject(benchmark="mpi.bandwidth"),
        values={"measured": Value(value=measured, unit=unit), "goal": Value(value=40.0, unit=unit)},
    )
    assert sentences._goal(found) == end


def test_a_ratio_of_medians_stands_beside_that_of_means_where_few_operations_are_slow() -> None:
    both = [
        replace(one, reported=values("latency_us", p50=median * (1 + 0.001 * one.launch), mean=mean), launch=one.launch)
        for pattern, median, mean in (("random", 70.0, 72.0), ("sequential", 0.9, 9.0))
        for one in point(
            "storage.read", "latency_us", *[1.0] * 6, size=4096, ranks=1, options={"pattern": pattern}, meta={}
        )
    ]
    launches = of_samples(both)
    one = setting_matters.of_rows(records.summary(launches.records))
    assert one is not None
    assert "by their means 8 times" in told(one)
    even = [replace(each, reported=values("latency_us", p50=10.0 * (1 + each.launch % 2))) for each in both]
    one = setting_matters.of_rows(records.summary(of_samples(even).records))
    assert one is None or "by their means" not in told(one)


def test_more_ranks_than_cores_and_the_levels_of_other_options_are_named_beside_a_difference() -> None:
    def launches(ranks: int, neighbours: str, us: float, badges: list[str]) -> list[Samples]:
        return [
            replace(one, launch=n)
            for n in range(6)
            for one in point(
                "apps.halo3d26", "latency_us", us * (1 + 0.001 * n), size=8, ranks=ranks,
                options={"neighbours": neighbours}, meta={"badges": badges},
            )
        ]  # fmt: skip

    crowded = ["oversubscription"]
    few = [one for near, us in (("6", 10.0), ("26", 20.0)) for one in launches(2, near, us, [])]
    most = [one for near, us in (("6", 50.0), ("26", 300.0)) for one in launches(8, near, us, crowded)]
    one = setting_matters.of_rows(records.summary(of_samples([*few, *most]).records), ("ranks",))
    assert one is not None
    assert one.subject.setting == "8 B, neighbours=26"
    assert "with more ranks than cores, a part of the longer time is waiting for a core" in told(one)
    one = setting_matters.of_rows(
        records.summary(of_samples(launches(2, "6", 10.0, []) + most[:6]).records), ("ranks",)
    )
    assert one is not None
    assert one.subject.setting == "8 B", "no other level was measured with both"


def test_the_subject_of_a_difference_is_named_where_one_level_has_several() -> None:
    plain, first = "virtual-cluster:4,rate=200mbit", "virtual-cluster:4,bulk=vc1+vc3,qos=priority,rate=200mbit"
    both = [
        replace(one, launch=n)
        for victim, testbed, us in (("fft", plain, 70.0), ("fft", first, 4.0), ("latency", plain, 50.0))
        for n in range(6)
        for one in point(
            "congestion.interference", "latency_us", us * (1 + 0.001 * n), size=8, ranks=2, testbed=testbed,
            options={"victim": victim}, meta={},
        )
    ]  # fmt: skip
    one = setting_matters.of_rows(records.summary(of_samples(both).records), ("testbed",))
    assert one is not None
    assert one.subject.setting.endswith("victim=fft")


@pytest.fixture
def judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All places read and judge the same campaign, which is therefore read and judged once."""
    read = functools.cache(sources.read)
    monkeypatch.setattr(sources, "read", lambda path, benchmark="*": read(path))
    monkeypatch.setattr(deciding, "here", lambda campaign: False)  # a report does not know where it will be read
    known: list[tuple[object, Answer]] = []
    judge = answer.answer

    def once(view: View, only: Collection[str] = ()) -> Answer:
        costs = sorted((host, repr(each)) for host, each in view.costs.items() if any(vars(each).values()))
        seen = (
            view.name,
            len(view.records),
            len(view.summary),
            costs,
            view.stated or Stated(),
            [*view.failed],
            [*only],
        )
        found = next((found for before, found in known if before == seen), None)
        if found is None:
            known.append((seen, found := judge(view, only)))
        return replace(found, argument=view.argument)

    monkeypatch.setattr(answer, "answer", once)


def in_order(text: str, wanted: Iterable[str]) -> bool:
    """Whether a text has some parts in their order, each after the one before."""
    text, place = " ".join(text.split()), 0
    for one in wanted:
        part = " ".join(one.split())
        place = text.find(part, place)
        assert place >= 0, part
        place += len(part)
    return True


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one.name, marks=pytest.mark.slow) if one.name != "two-cores-limits" else one.name
        for one in sorted(EXAMPLES.iterdir())
    ],
)
@pytest.mark.usefixtures("judged_once")
def test_all_places_say_the_same_of_a_campaign_in_the_same_order(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    source = sources.read(EXAMPLES / name)
    found = answer.answer(source.view)
    poor = [one for one in found.topics if one.verdict != "good"]

    assert main(["explain", f"examples/{name}", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == json.loads(json.dumps([as_dict(one) for one in found.findings]))
    assert [(one["topic"], one["verdict"], one["lead"]["sentence"], one["cause"] and one["cause"]["sentence"])
            for one in document["topics"]] == [
        (one.name, one.verdict, sentence(one.lead), sentence(one.cause) if one.cause else None) for one in found.topics
    ]  # fmt: skip

    assert main(["explain", f"examples/{name}", "--all"]) == 0
    whole = capsys.readouterr().out
    verdicts = [f"{one.subject}: {sentence(one)}" for topic in found.topics for one in topic.findings]
    assert in_order(whole, verdicts)
    for topic in found.topics:
        causes = [f"{how_likely(one)}: {sentence(one)}" for one in topic.lead.causes if one.supported]
        assert in_order(whole, [sentence(topic.lead), *causes])

    page = report_answer.answers(Content([source], {}))
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and "**" in line]
    assert len(rows) == min(len(found.topics), report_answer.TOPICS)
    for (head, verdict, why), one in zip(rows, found.topics, strict=False):
        worse = one.verdict == "good" and bool(one.worse)
        assert (head.removeprefix("| "), verdict, "Worse: " in why) == (escape(one.name), f"**{one.verdict}**", worse)
        said = why.removesuffix(" |").replace(escape(beyond(one.lead)), "").rstrip(" .")
        for short, whole_name in _SHORT.items():
            said = said.replace(f"ause: {short}", f"ause: {whole_name}")
        assert in_order(escape(_why(one)), [said])

    known = explored._of_campaign(store.Store(), f"examples/{name}").answer
    if found.topics:
        assert known is not None
        chips = "\n".join(map(judged.chip, known.topics))
        parts = [*map(judged.reason, known.topics), *map(judged.todo, known.steps)]
        reasons = html.unescape(re.sub("<[^>]+>", "\n", "\n".join(parts)))
        assert in_order(chips, [f"{one.name}: {one.verdict}" for one in found.topics])
        assert in_order(reasons, [f"{one.name}: {one.verdict} . {_why(one)}" for one in found.topics])
        assert in_order(reasons, [f"({purpose(step)})" for step in found.steps])

    earlier = tmp_path / "earlier"
    shutil.copytree(EXAMPLES / name, earlier)
    facts = json.loads((earlier / "campaign.json").read_text())
    (earlier / "campaign.json").write_text(json.dumps(facts | {identity.KEY: made.ID}))
    assert main(["gate", f"examples/{name}", "--against", str(earlier)]) in (0, 3)
    _, _, summary = capsys.readouterr().out.partition("labkit explain ")
    assert summary.startswith(f"examples/{name}: {found.counts}")
    lines = [f"{one.verdict} {one.name}: {one.lead.subject}: {sentence(one.lead)}" for one in poor]
    assert in_order(summary, lines[:6] if len(lines) > 7 else lines)


_SHORT = {  # names that say more → the names of their causes
    "the requested path is slower": "wrong path",
    "read-ahead of the page cache": "page cache instead of the device",
}


def _why(topic: Topic) -> str:
    """What each place says of a topic."""
    text = f"{topic.lead.subject}: {sentence(topic.lead)}."
    if topic.verdict in ("bad", "doubtful"):
        text += f" {caused(topic.lead)}."
    excluded = "; ".join(sentence(one) for one in topic.excluded)
    text += f" Excluded: {excluded}." if excluded else ""
    return f"{text} Worse: {settings(topic.worse)}." if topic.worse else text


@pytest.mark.parametrize(
    ("soft", "usual_name", "word"), [(True, "", "reference"), (True, "x", "reference"), (False, "", "floor")]
)
def test_no_reference_is_called_a_floor(soft: bool, usual_name: str, word: str) -> None:
    """A value may be better than a typical cost; one below a floor is a defect."""
    bound = Bound(
        name="a", value=1e-6, formula="", source="measured", soft=soft, usual_name=usual_name, good=2.5e-6, bad=5e-6
    )
    one = SimpleNamespace(
        samples=made.samples("mpi.latency", [2000]),
        measured=Value(value=2.0, unit="µs", low=1.9, high=2.1, launches=6),
        metric="latency_us",
        subject=Subject(benchmark="mpi.latency"),
        decided=Decided(how="ranges"),
        reference=lambda bound: Value(value=bound.reference * 1e6, unit="µs", of=bound.name),
        goal=lambda bound: Value(value=bound.good * 1e6, unit="µs"),
        leveled=lambda bound: ("good", ""),
        path="shm",
    )
    said = sentence(latency_of_path._found(one, bound, SimpleNamespace()))  # type: ignore[arg-type]
    assert f"2 times its {word} of 1 µs" in said


def test_settings_may_have_other_levels_at_each_size() -> None:
    """As retests of slow pairs, which measure other hosts at each size."""

    def between(size: int, hosts: str, value: float) -> list[Samples]:
        return point("mpi.latency", "latency_us", *[value] * 6, size=size, hosts=tuple(hosts.split()), transport="tcp")

    small = [*between(8, "a b", 10.0), *between(8, "c d", 30.0)]
    large = [*between(65536, "e f", 600.0), *between(65536, "g h", 700.0)]
    assert [topic.verdict for topic in asked([*small, *large]).topics] == ["no reference"]


def test_the_limits_of_each_kind_of_number_are_those_of_the_judge() -> None:
    study = studies.get("is_this_good")(measure=False, campaign=str(EXAMPLES / "sixteen-hosts"))
    table = study.limits_table().set_index("kind of number")  # type: ignore[attr-defined]
    kinds = [
        "latency over a link",
        "bandwidth over a link",
        "incast, all senders together",
        "collective",
        "allgather, alltoall, gather and scatter over links, if bytes dominate",
        "all pairs of hosts",
    ]
    assert list(table.index) == kinds
    required = {code: one.must for code, one in rules.every().items()}
    for kind, code in [
        *zip(kinds[:2], PATHS[::-1], strict=True),
        *((kind, "collective-of-messages") for kind in kinds[3:5]),
    ]:
        for limit in re.findall(r"[\d.]+", table["good"][kind] + table["bad"][kind]):
            assert f"{limit} " in required[code], "a limit of the table is one of the rule's"
    assert "2.5 times" not in str(study.findings()), "the limits are in the table, and not in a paragraph too"  # type: ignore[attr-defined]
