"""The rules of sound benchmarking: each fires where it must, and nowhere else; the examples say what they lack."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from labkit.apps import cli
from labkit.apps.show import linted
from labkit.io.sanitize import plainly
from labkit.judge import lint
from labkit.point.spec import Effort, Spec
from labkit.point.units import format_share
from labkit.read import columnar
from labkit.report import linting, sources
from labkit.report.content import Content
from labkit.run import importing
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
    spec = Spec(benchmark="mpi.latency", size=size, **{"transport": "shm", **fields.pop("spec", {})})
    facts = {
        "fingerprint": spec.fingerprint({}),
        "start": f"2026-01-01T00:{launch:02}:00",
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


def check(points: Sequence[Samples], failed: Sequence[tuple[str, str]] = ()) -> lint.Result:
    """What the rules say about points."""
    return lint.lint(made.evidence(points, failed))


def codes(result: lint.Result) -> set[str]:
    """Rules that are broken."""
    return {rule.code for rule in result.broken}


def test_a_sound_campaign_breaks_no_rule() -> None:
    result = check(six())
    assert result.findings == ()
    assert result.sound
    assert "break none of the" in result.sentence


@pytest.mark.parametrize(
    ("code", "points"),
    [
        ("one-launch", [point()]),
        ("few-launches", six()[:3]),
        ("no-tail", six(n=50)),
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
    result = check(points)
    assert code in codes(result)
    finding = next(one for one in result.findings if one.rule.code == code)
    assert finding.breach.what
    assert finding.rule.must
    assert finding.rule.remedy
    assert result.sound == all(rule.level != "error" for rule in result.broken)


def breaches(code: str, points: Sequence[Samples]) -> list[lint.Breach]:
    """Where points break a rule."""
    return [one.breach for one in check(points).findings if one.rule.code == code]


def test_a_copy_of_a_launch_is_named_with_what_it_copies() -> None:
    copies = [
        *six(),
        *six(size=16)[1:],
        replace(point(3), spec=point(size=16).spec, meta=point(size=16).meta, launch=9),
    ]
    (breach,) = breaches("copied-launches", copies)
    assert (breach.point, breach.what) == ("16 B", "launch 9 has the same 2000 times as launch 3 of 8 B")
    # equal times say nothing where the clock shows few, or where a model gives them
    coarse = [replace(one, time_ns=one.time_ns // 100 * 100) for one in [*six(), replace(point(0), launch=6)]]
    modelled = [replace(one, origin="modelled") for one in [*six(), replace(point(0), launch=6)]]
    assert not breaches("copied-launches", coarse)
    assert not breaches("copied-launches", modelled)


def test_a_trend_of_launches_is_told_from_chance() -> None:
    """Launches are numbered in another order than they ran in: only their starts count."""
    rising = [scaled(point(5 - k, meta={"start": f"2026-01-01T00:{k:02}:00"}), 1 + k / 100) for k in range(6)]
    (breach,) = breaches("drifting-launches", rising)
    assert breach.what == "6 launches rise by 4.9 % in order of time"
    slight = [scaled(one, 1 + one.launch / 1000) for one in six()]
    mixed = [scaled(one, 1 + [3, 0, 4, 1, 5, 2][one.launch] / 100) for one in six()]
    assert not breaches("drifting-launches", slight)
    assert not breaches("drifting-launches", mixed)


def test_the_rise_is_theil_and_sens() -> None:
    rising = [scaled(one, 1 + one.launch / 50) for one in six()]
    medians = np.array([np.median(one.time_ns.max(axis=0)) for one in rising])
    rise = scipy.stats.theilslopes(medians).slope * 5 / np.median(medians)
    (breach,) = breaches("drifting-launches", rising)
    assert breach.what == f"6 launches rise by {format_share(rise)} in order of time"


def test_a_trend_of_many_points_shows_in_their_average() -> None:
    """Six launches of a single point show nothing among 30 points; all together they do."""
    points = [scaled(one, 1 + one.launch / 100) for k in range(30) for one in six(size=8 + k)]
    (breach,) = breaches("drifting-launches", points)
    assert (breach.point, breach.what) == ("", "6 launches rise by 4.8 % in order of time, on average over 30 points")


@pytest.mark.parametrize("name", ["virtual-cluster", pytest.param("two-cores-settings", marks=pytest.mark.slow)])
def test_recorded_launches_are_no_copies_and_do_not_drift(name: str) -> None:
    launches = columnar.read_campaigns(Campaign(EXAMPLES / name))
    rules = [rule for rule in lint.RULES if rule.code in ("copied-launches", "drifting-launches")]
    result = lint.lint(lint.Evidence(name, launches.records, launches.summary, launches), rules)
    assert (len(rules), result.findings) == (2, ())


def test_levels_measured_one_after_the_other_are_named() -> None:
    first = six()
    later = [point(n, spec={"transport": "tcp"}, meta={"start": f"2026-01-02T00:00:{n:02}"}) for n in range(6)]
    breach = next(one.breach for one in check([*first, *later]).findings if one.rule.code == "time-order")
    assert breach.what == "transport: all points of shm before tcp"
    in_turn = [point(n, spec={"transport": "tcp"}) for n in range(6)]
    assert "time-order" not in codes(check([*first, *in_turn]))


def test_points_of_a_benchmark_may_differ_in_their_origin() -> None:
    """As one tool reports means, and another keeps its samples."""
    others = six(size=16, origin="imported", meta={"fingerprint": "other"})
    assert isinstance(check([*six(), *others]), lint.Result)


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
    assert not check(six(), [("mpi.latency", "no reason was recorded")]).sound
    result = check(six(), [("mpi.latency", "two ranks need two cores")])
    assert result.sound
    assert codes(result) == {"failed"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("two-cores", "two-cores-labs")), "virtual-cluster"]
)
def test_the_examples_pass_or_say_why_not(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["lint", str(EXAMPLES / name), "--format", "json"])
    result = json.loads(capsys.readouterr().out)
    errors = [one for one in result["findings"] if one["level"] == "error"]
    assert status == (1 if errors else 0)
    assert result["sound"] == (not errors)
    # the verbs of the example were measured once, in a guest that shows that everything works and not how fast it is
    assert {one["rule"] for one in errors} == ({"one-launch"} if name == "two-cores" else set())
    assert all(one["benchmark"].startswith("verbs.") for one in errors)
    assert all(one["is"] and one["must"] and one["remedy"] for one in result["findings"])
    assert result["not_checkable"]


def test_imports_are_not_told_to_measure(tmp_path: Path) -> None:
    """Who imports has no such machine: every rule that imported points can break says what to do without it."""
    campaign = importing.bring(
        [GOLDEN / "logs/netperf", GOLDEN / "logs/qperf", GOLDEN / "omb"], into=tmp_path / "c"
    ).campaign
    result = lint.lint(made.evidence(list(campaign.samples())))
    assert {"uneven-sizes", "one-launch", "sparse-sizes", "mean-of-rates"} <= {one.rule.code for one in result.findings}
    wrong = re.compile(r"\b[Mm]easur|Run again|Run labkit|[Rr]un more|Raise|Time more")
    assert not {one.remedy for one in result.findings if wrong.search(one.remedy)}


def test_one_point_is_no_points() -> None:
    assert "The data of 1 point break" in check(six()[:3]).sentence
    assert "The data of 1 point break" in check(six()).sentence


def test_levels_of_a_factor_name_the_first_sizes_that_they_lack() -> None:
    points = [
        *(one for size in (8, 16, 32, 64, 128) for one in six(size=size)),
        *six(size=32, spec={"transport": "tcp"}),
    ]
    (one,) = [one.breach for one in check(points).findings if one.rule.code == "uneven-sizes"]
    assert (one.point, one.what) == ("transport=tcp", "not measured at 8 B, 16 B, 64 B and 1 more size")


def test_undocumented_launches_are_named_in_the_order_of_their_files() -> None:
    lacking = [
        replace(one, host=HOST | {"kernel": ""}) for one in [*six(size=8), *six(size=16)] if one.launch in (1, 4)
    ]
    rest = [one for one in [*six(size=8), *six(size=16)] if one.launch not in (1, 4)]
    found = [one.breach for one in check([*lacking, *rest]).findings if one.rule.code == "undocumented"]
    names = sorted((facts.FINGERPRINT.of(one.meta), one.launch, one.spec.size) for one in lacking)
    assert [one.point for one in found] == [f"{size} B launch {launch}" for _, launch, size in names]
    assert {one.what for one in found} == {"kernel of the host is missing"}


def test_the_text_names_rule_place_and_remedy() -> None:
    text = linted.text(check(six()[:3]))
    assert "warning few-launches. Required: at least 6 launches" in text
    assert "not checkable here" in text


def test_the_report_has_a_table_of_broken_rules(tmp_path: Path) -> None:
    source = sources.read(made.campaign(tmp_path / "c", six()[:3]).path)
    text = linting.rules(Content([source], {}))
    assert "{#tbl-rules}" in text
    assert "`few-launches`" in text
    assert "ask for the author's judgement" in text


def test_every_rule_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[1] / "docs" / "statistics.md").read_text()
    assert lint.described() in page, "docs/statistics.md: paste what labkit.judge.lint.described() returns"


def test_hostile_names_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = check(six(), [("a\x1b[31m\nb", "no reason was recorded")])
    with plainly():
        print(linted.text(result))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "campaign: a b:" in out.replace("a[31m", "a")
