"""The rules of sound benchmarking: each fires where it must, and nowhere else; the examples say what they lack."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats

from labkit.apps import cli
from labkit.apps.show import findings
from labkit.io.sanitize import plainly
from labkit.judge import causes, checking, finding, rules, sentences
from labkit.judge.cause import Cause
from labkit.judge.finding import SHARE, Decided, Evidence, Finding, Subject, Value
from labkit.judge.rule import LINTED, METHOD, Rule
from labkit.judge.rules import time_order
from labkit.judge.view import View
from labkit.point.spec import Effort, Spec
from labkit.read import columnar
from labkit.report import judged, linting, sources
from labkit.report.content import Content
from labkit.run import importing
from labkit.stats.sessions import few_changes, usual_changes
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples, facts
from labkit.store.samples.facts import FACTS, MEASURED
from tests import made

GOLDEN = Path(__file__).parent / "golden"
EXAMPLES = Path(__file__).parents[1] / "data" / "campaigns" / "examples"
META = {
    **{fact.name: fact.empty for fact in FACTS.values() if set(fact.needed) & set(MEASURED)},
    "engine": "c", "library": "Open MPI 5.0.8", "verified": True, "stopped_by": "ci", "timing": "each",
    "cadence": "streaming", "elapsed": 1.0, "timer_overhead_ns": 20.0, "warmup": 10,
}  # fmt: skip
HOST = {
    "hostname": "a", "cpu_model": "EPYC", "kernel": "6.1", "distribution": "Debian", "memory_total_B": 1,
    "versions": {"commit": "abc"},
}  # fmt: skip


def point(
    launch: int = 0, *, size: int = 8, n: int = 2000, meta: dict[str, Any] | None = None, **fields: Any
) -> Samples:
    """A launch of mpi.latency that breaks no rule."""
    spec = Spec(**{"benchmark": "mpi.latency", "size": size, "transport": "shm", **fields.pop("spec", {})})
    facts = {
        "fingerprint": spec.fingerprint({}),
        "start": f"2026-01-01T{launch:02}:00:00",
        **(meta or {}),
    }
    times = np.random.default_rng([launch, size, len(spec.transport)]).integers(2000, 2100, (2, n))
    return made.samples(spec, times, launch=launch, meta=META | facts, **{"host": HOST, "effort": Effort(), **fields})


def six(**fields: Any) -> list[Samples]:
    """Six launches of a point."""
    return [point(launch, **fields) for launch in range(6)]


def ordered(one: Samples) -> Samples:
    """The same launch with its times in ascending order."""
    return replace(one, time_ns=np.sort(one.time_ns, axis=1))


def scaled(one: Samples, factor: float) -> Samples:
    """The same launch, slower."""
    return replace(one, time_ns=(one.time_ns * factor).astype(np.int64))


def check(points: Sequence[Samples], failed: Sequence[tuple[str, str]] = ()) -> tuple[Finding, ...]:
    """What the rules find at points; no finding is lost because a number in it is not known."""
    view = made.view(points, failed)
    found = checking.check(view)
    assert len(found) == sum(len([*rule.check(view)]) for rule in rules.about(*LINTED))
    return found


def codes(found: Sequence[Finding]) -> set[str]:
    """Rules that are broken."""
    return {one.code for one in found}


def sound(found: Sequence[Finding]) -> bool:
    """Whether none is bad."""
    return not any(one.level == "bad" for one in found)


def broken(found: Sequence[Finding]) -> str:
    """How many rules are broken at one point, in a sentence."""
    return sentences.broken(found, 1, len(rules.about(*LINTED)))


def test_a_sound_campaign_breaks_no_rule() -> None:
    assert check(six()) == ()
    assert broken(()) == f"The data of 1 point break none of the {len(rules.about(*LINTED))} rules that data can show."


def test_a_benchmark_that_needs_no_warm_up_is_not_told_to_have_one() -> None:
    io = {"io_ns": np.full((2, 2000), 1000)}
    whole_runs = six(meta={"warmup": 0}, spec={"benchmark": "storage.bt_io", "ranks": 1, "size": 0}, extras=io)
    assert "no-warmup" not in codes(check(whole_runs))


@pytest.mark.parametrize(
    ("wall", "took", "level", "words"),
    [
        (0.5, 0.51, "note", "IO500-like, not a valid submission: the shortest phase that writes takes 0.51 s"),
        (
            0.5,
            0.2,
            "doubtful",
            "a phase reached its limit of bytes or items after 0.2 s, before the stonewall of 0.5 s",
        ),
        (300.0, 301.0, "", ""),
    ],
)
def test_a_run_like_that_of_io500_says_what_it_lacks(wall: float, took: float, level: str, words: str) -> None:
    spec = {"benchmark": "storage.io500_like", "ranks": 2, "size": 0, "options": {"stonewall": wall}}
    shortest = {"shortest_write_ns": np.full((2, 2000), round(took * 1e9))}
    found = [one for one in check(six(spec=spec, extras=shortest)) if one.code == "io500-rules"]
    assert [one.level for one in found] == [level] * bool(level)
    assert all(words in sentences.sentence(one) for one in found)


@pytest.mark.parametrize(
    ("code", "points"),
    [
        ("one-launch", [point()]),
        ("few-launches", six()[:3]),
        ("no-tail", six(n=50)),
        ("few-requests", six(n=50, spec={"benchmark": "storage.read", "ranks": 1, "options": {"offered": 1000}})),
        ("doubtful-tail", six(n=500)),
        ("unverified", six(meta={"verified": False})),
        ("timer-cost", six(meta={"timer_overhead_ns": 500.0})),
        ("undocumented", six(host={})),
        ("uncommitted", six(host=HOST | {"versions": {"commit": "abc-dirty"}})),
        ("no-warmup", six(meta={"warmup": 0})),
        ("disturbed", six(meta={"badges": ["busy machine"]})),
        ("interval-not-reached", six(meta={"stopped_by": "cap"}, effort=Effort(ci=1e-6))),
        ("sparse-sizes", [*six(size=8), *six(size=16), *six(size=4096)]),
        ("uneven-sizes", [*six(), *six(size=16), *six(spec={"transport": "tcp"})]),
        ("made-up", six(origin="modelled")),
        ("dependent-iterations", [ordered(one) for one in six()]),
        ("launches-at-once", [point(n, meta={"start": f"2026-01-01T00:00:{n:02}"}) for n in range(6)]),
        ("drifting-launches", [scaled(one, 1 + one.launch / 100) for one in six()]),
        ("copied-launches", [*six(), replace(point(0), launch=6)]),
    ],
)
def test_each_rule_finds_its_breach(code: str, points: list[Samples]) -> None:
    found = check(points)
    assert code in codes(found)
    first = next(one for one in found if one.code == code)
    rule = rules.every()[code]
    assert (first.level, first.kind, rule.about) == (rule.level, "violation", METHOD)
    assert sentences.sentence(first)
    assert first.subject.points or code == "uncommitted"
    as_json = json.loads(json.dumps(findings.as_dict(first), allow_nan=False))
    assert (as_json["must"], as_json["remedy"]) == (rule.must, rule.remedy)


def breaches(code: str, points: Sequence[Samples]) -> list[tuple[str, str]]:
    """Where points break a rule: the setting, and what is there."""
    return [(one.subject.setting, sentences.sentence(one)) for one in check(points) if one.code == code]


def test_every_rule_is_a_file_that_says_what_must_hold_why_and_what_to_do() -> None:
    names = {path.stem for path in Path(rules.__path__[0]).glob("[!_]*.py")}
    assert names == {code.replace("-", "_") for code in rules.every()}
    for rule in rules.about(*LINTED):
        assert all(text and not text.endswith(".") for text in (rule.must, rule.why)), rule.code
        assert all(text.endswith(".") for text in (rule.remedy, rule.imported or ".")), rule.code
        assert rule.level in ("bad", "doubtful", "note"), rule.code


# rules whose sentences repeat what a tool, a badge, a warning or another judge wrote
QUOTES = {"failed": "reason", "disturbed": "note", "doubted": "note"}


@pytest.mark.parametrize(
    "name",
    [
        "two-cores-limits",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("virtual-cluster", "two-cores", "two-cores-labs")),
    ],
)
def test_numbers_of_recorded_campaigns_are_typed_and_known(name: str) -> None:
    launches = columnar.read_campaigns(Campaign(EXAMPLES / name))
    view = View(name, launches.records, launches.summary, launches)
    found = [one for rule in rules.about(*LINTED) for one in rule.check(view)]
    assert all(map(finding.sound, found))
    texts = {
        value
        for one in found
        for key, value in one.values.items()
        if isinstance(value, str) and key != QUOTES.get(one.code)
    }
    assert not [text for text in texts if re.search(r"\d *(%|[µnm]?s\b|[KMG]i?B|times)", text)]


def test_a_copy_of_a_launch_is_named_with_what_it_copies() -> None:
    copies = [
        *six(),
        *six(size=16)[1:],
        replace(point(3), spec=point(size=16).spec, meta=point(size=16).meta, launch=9),
    ]
    assert breaches("copied-launches", copies) == [("16 B", "launch 9 has the same 2,000 times as launch 3 of 8 B")]
    # equal times say nothing where the clock shows few, or where a model gives them
    coarse = [replace(one, time_ns=one.time_ns // 100 * 100) for one in [*six(), replace(point(0), launch=6)]]
    modelled = [replace(one, origin="modelled") for one in [*six(), replace(point(0), launch=6)]]
    assert not breaches("copied-launches", coarse)
    assert not breaches("copied-launches", modelled)


def test_a_trend_of_launches_is_told_from_chance() -> None:
    """Launches are numbered in another order than they ran in: only their starts count."""
    rising = [scaled(point(5 - k, meta={"start": f"2026-01-01T00:{k:02}:00"}), 1 + k / 100) for k in range(6)]
    assert breaches("drifting-launches", rising) == [("8 B", "6 launches rise by 4.9 % in order of time")]
    falling = [scaled(one, 1 - one.launch / 100) for one in six()]
    assert breaches("drifting-launches", falling) == [("8 B", "6 launches fall by 5.1 % in order of time")]
    slight = [scaled(one, 1 + one.launch / 1000) for one in six()]
    mixed = [scaled(one, 1 + [3, 0, 4, 1, 5, 2][one.launch] / 100) for one in six()]
    assert not breaches("drifting-launches", slight)
    assert not breaches("drifting-launches", mixed)


def test_the_rise_is_theil_and_sens() -> None:
    rising = [scaled(one, 1 + one.launch / 50) for one in six()]
    medians = np.array([np.median(one.time_ns.max(axis=0)) for one in rising])
    rise = scipy.stats.theilslopes(medians).slope * 5 / np.median(medians)
    (one,) = [one for one in check(rising) if one.code == "drifting-launches"]
    change = one.values["change"]
    assert isinstance(change, Value)
    assert change.unit == SHARE
    assert change.value == pytest.approx(rise)
    assert one.decided == Decided(how="tested", test="Kendall", correction="Holm", error=0.025)


def test_a_trend_of_many_points_shows_in_their_average() -> None:
    """Six launches of a single point show nothing among 30 points; all together they do."""
    points = [scaled(one, 1 + one.launch / 100) for k in range(30) for one in six(size=8 + k)]
    text = "6 launches rise by 4.8 % in order of time, on average over 30 points"
    assert breaches("drifting-launches", points) == [("", text)]


@pytest.mark.parametrize("name", ["virtual-cluster", pytest.param("two-cores-settings", marks=pytest.mark.slow)])
def test_recorded_launches_are_no_copies_and_do_not_drift(name: str) -> None:
    launches = columnar.read_campaigns(Campaign(EXAMPLES / name))
    chosen = [rules.every()[code] for code in ("copied-launches", "drifting-launches")]
    assert checking.check(View(name, launches.records, launches.summary, launches), chosen) == ()


def test_levels_measured_one_after_the_other_are_named() -> None:
    first = six()
    later = [point(n, spec={"transport": "tcp"}, meta={"start": f"2026-01-02T00:00:{n:02}"}) for n in range(6)]
    assert breaches("time-order", [*first, *later]) == [("", "transport: all points of shm before tcp")]
    in_turn = [point(n, spec={"transport": "tcp"}) for n in range(6)]
    assert "time-order" not in codes(check([*first, *in_turn]))


def turns(order: str) -> list[Samples]:
    """Launches of two sizes over two paths in an order of time: a letter for each launch, a for one path, b for the other."""
    made_up, count = [], {"a": 0, "b": 0}
    for when, letter in enumerate(order):
        spec = {"transport": {"a": "shm", "b": "tcp"}[letter]}
        for size in (8, 16):
            start = {"start": f"2026-01-01T{when:02}:00:{size:02}"}
            made_up.append(point(count[letter], size=size, spec=spec, meta=start))
        count[letter] += 1
    return made_up


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ("aabbaa", "shm and tcp changed 2 times in 6 launches in order of time; random order changes 2.7 times"),
        (
            "aaaaaabbbbbbb" + "a",
            "shm and tcp changed 2 times in 14 launches in order of time; random order changes 7 times",
        ),
        ("abbbbbbaaaaa", "shm and tcp changed 2 times in 12 launches in order of time; random order changes 6 times"),
        ("aaaabbbb", "all points of shm before tcp"),
        ("abbabaabbaab", ""),
        ("aabbaabbaabb", ""),
        ("abba", ""),
        ("aba", ""),
        ("aabaaa", ""),
    ],
)
def test_levels_that_change_more_rarely_than_chance_are_named(order: str, text: str) -> None:
    assert breaches("time-order", turns(order)) == ([("", f"transport: {text}")] if text else [])


def test_levels_measured_in_rounds_never_change_too_rarely() -> None:
    """Each round has all levels in random order: no order of 2 to 12 rounds is named, and of random orders few are."""
    chance = np.random.default_rng(1)
    for levels in ("ab", "abcde"):
        for rounds in range(2, 13):
            order = [one for _ in range(rounds) for one in chance.permutation([*levels])]
            assert time_order._rarest(order) is None
    random = [chance.permutation([*"abcd"] * 6).tolist() for _ in range(400)]
    assert sum(time_order._rarest(order) is not None for order in random) <= 30, (
        "5 % of 400 and two standard deviations"
    )


def test_the_runs_test_counts_every_order() -> None:
    for n, m in ((1, 4), (3, 3), (4, 2), (5, 4)):
        orders = [[place in some for place in range(n + m)] for some in combinations(range(n + m), n)]
        changes = np.array([sum(a != b for a, b in pairwise(one)) for one in orders])
        assert usual_changes(n, m) == pytest.approx(changes.mean())
        for most in range(1, n + m):
            assert few_changes(n, m, most) == pytest.approx(np.mean(changes <= most))


def test_points_of_a_benchmark_may_differ_in_their_origin() -> None:
    """As one tool reports means, and another keeps its samples."""
    others = six(size=16, origin="imported", meta={"fingerprint": "other", "library": ""})
    (one,) = [one for one in check([*six(), *others]) if one.code == "unnamed-system"]
    assert (one.subject.points, one.subject.imported) == (("other",), True)


def test_a_mean_of_a_tool_is_doubtful_for_rates_ratios_and_costs() -> None:
    values = [
        *made.values("bandwidth_MBps", mean=100.0),
        *made.values("lost_percent", mean=1.0),
        *made.values("jitter_us", mean=2.0),
    ]
    reported = [
        made.samples("sockets.udp_stream", launch=n, reported=values, meta=META | {"fingerprint": "f"})
        for n in range(6)
    ]
    assert {"mean-of-rates", "mean-of-ratios", "only-mean", "unsaid-method"} <= codes(check(reported))


def test_what_is_missing_without_a_reason_is_an_error() -> None:
    assert not sound(check(six(), [("mpi.latency", "no reason was recorded")]))
    found = check(six(), [("mpi.latency", "two ranks need two cores")])
    assert sound(found)
    assert codes(found) == {"failed"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("two-cores", "two-cores-labs")), "virtual-cluster"]
)
def test_the_examples_pass_or_say_why_not(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["lint", str(EXAMPLES / name), "--format", "json"])
    result = json.loads(capsys.readouterr().out)
    errors = [one for one in result["findings"] if one["level"] == "bad"]
    assert status == (1 if errors else 0)
    assert result["sound"] == (not errors)
    # verbs were measured once, in a guest that shows that everything works and not how fast it is; the emulated link is a
    # token bucket, over which a short message arrives before the rate of the link allows it
    known = {"two-cores": {("one-launch", "verbs")}, "virtual-cluster": {("above-link", "mpi")}}
    assert {(one["code"], one["benchmark"].partition(".")[0]) for one in errors} == known.get(name, set())
    assert all(one["sentence"] and one["must"] and one["remedy"] and one["source"] for one in result["findings"])
    assert result["not_checkable"]


def test_imports_are_not_told_to_measure(tmp_path: Path) -> None:
    """Who imports has no such machine: every rule that imported points can break says what to do without it."""
    campaign = importing.bring(
        [GOLDEN / "logs/netperf", GOLDEN / "logs/qperf", GOLDEN / "omb"], into=tmp_path / "c"
    ).campaign
    found = check(list(campaign.samples()))
    assert {"uneven-sizes", "one-launch", "sparse-sizes", "mean-of-rates"} <= codes(found)
    wrong = re.compile(r"\b[Mm]easur|Run again|Run labkit|[Rr]un more|Raise|Time more")
    remedies = {rules.every()[one.code].remedy_for([one]) for one in found}
    assert not {one for one in remedies if wrong.search(one)}


def test_a_sentence_counts_broken_rules_by_their_worst_level() -> None:
    found = check(six()[:3], [("mpi.latency", "no reason was recorded"), ("mpi.bcast", "")])
    count = len(rules.about(*LINTED))
    text = f"The data of 1 point break 2 of {count} rules that data can show: 1 of level bad, 1 of level doubtful."
    assert broken(found) == text
    better = replace(found[0], level="note")
    assert broken((*found, better)) == text


def test_levels_of_a_factor_name_the_first_sizes_that_they_lack() -> None:
    points = [
        *(one for size in (8, 16, 32, 64, 128) for one in six(size=size)),
        *six(size=32, spec={"transport": "tcp"}),
    ]
    found = [one for one in check(points) if one.code == "uneven-sizes"]
    assert breaches("uneven-sizes", points) == [("transport=tcp", "not measured at 8 B, 16 B, 64 B and 1 more size")]
    assert found[0].subject.points == (point(size=32, spec={"transport": "tcp"}).meta["fingerprint"],)


def test_undocumented_launches_are_named_in_the_order_of_their_files() -> None:
    lacking = [
        replace(one, host=HOST | {"kernel": ""}) for one in [*six(size=8), *six(size=16)] if one.launch in (1, 4)
    ]
    rest = [one for one in [*six(size=8), *six(size=16)] if one.launch not in (1, 4)]
    found = breaches("undocumented", [*lacking, *rest])
    names = sorted((facts.FINGERPRINT.of(one.meta), one.launch, one.spec.size) for one in lacking)
    assert [place for place, _ in found] == [f"{size} B launch {launch}" for _, launch, size in names]
    assert {what for _, what in found} == {"missing: kernel of the host"}


def test_the_text_names_rule_place_and_remedy() -> None:
    points = six()[:3]
    text = findings.linted(made.view(points), check(points))
    assert "doubtful few-launches. Required: at least 6 launches" in text
    assert "  mpi.latency: 8 B: 3 launches, which give a range only" in text
    assert "not checkable here" in text


def test_a_place_is_shown_with_evidence_causes_and_command(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule(
        code="bandwidth-below-link",
        kind="verdict",
        level="bad",
        about="bandwidth",
        must="a flow fills its link",
        why="nothing else shares it",
        says="{share} of the rate",
        remedy="",
        clues={"rate": "the link has {rate}"},
        check=lambda view: iter(()),
    )
    cause = Cause(
        code="slow-link",
        name="a slow link",
        seen="",
        excluded="",
        decides="",
        clues=rule.clues,
        remedy="",
        test=lambda case: None,
    )
    monkeypatch.setattr(rules, "every", lambda: {rule.code: rule})
    monkeypatch.setattr(causes, "every", lambda: {cause.code: cause})
    evidence = Evidence(code="rate", values={"rate": Value(value=1250.0, unit="MB/s")})
    subject = Subject(benchmark="mpi.bandwidth", setting="1 MiB", points=("a",))
    one = rule.found(
        subject,
        share=Value(value=0.5, unit=SHARE),
        evidence=(evidence,),
        causes=tuple(
            Finding(
                code="slow-link", kind="cause", level="note", subject=subject, command="ethtool", **{side: (evidence,)}
            )
            for side in ("evidence", "against")
        ),
        command="labkit measure mpi.bandwidth",
    )
    assert [*findings.places([one, one])] == [
        "bad bandwidth-below-link. Required: a flow fills its link.\n"
        "  mpi.bandwidth: 1 MiB: 50 % of the rate (and 1 more)\n"
        "     evidence: the link has 1,250 MB/s\n"
        "     cause: a slow link (the link has 1,250 MB/s)\n"
        "     run: ethtool\n"
        "     excluded: a slow link (the link has 1,250 MB/s)\n"
        "     run: labkit measure mpi.bandwidth"
    ]
    text = judged.table([(SimpleNamespace(name="a"), [one]), (SimpleNamespace(name="b"), [one])], "C", several=True)
    row = text.splitlines()[2]
    assert "`bandwidth-below-link` (bad): 2\u00a0places (a 1, b 1)" in row
    assert "mpi.bandwidth 50 % of the rate; cause: a slow link (the link has 1,250 MB/s)" in row
    assert "`labkit measure mpi.bandwidth`" in row


def test_the_report_has_a_table_of_broken_rules(tmp_path: Path) -> None:
    source = sources.read(made.campaign(tmp_path / "c", six()[:3]).path)
    text = linting.broken(Content([source], {}))
    assert "{#tbl-rules}" in text
    assert "`few-launches` (doubtful): 1\u00a0place |" in text
    assert "need the author's judgement" in text


def test_every_rule_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[1] / "docs" / "lint.md").read_text()
    assert checking.described() in page, "docs/lint.md: paste what labkit.judge.checking.described() returns"


def test_hostile_names_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    failed = [("a\x1b[31m\nb", "no reason was recorded")]
    found = check(six(), failed)
    with plainly():
        print(findings.linted(made.view(six(), failed), found))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "campaign: a b:" in out.replace("a[31m", "a")
