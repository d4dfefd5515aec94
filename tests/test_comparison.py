"""Comparisons: what matches, what stops them, what they say, and how often they err."""

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labkit import benchmarks, figures, studies
from labkit.apps.cli import main
from labkit.apps.show import comparison as show_comparison
from labkit.errors import DataError, SpecError
from labkit.figures.parts import NOTHING
from labkit.judge import comparison, effects, gate
from labkit.judge.comparison import judging
from labkit.judge.comparison.judging import Launches, Pair, judge
from labkit.point.notes import badge, note
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.report.blocks import comparing
from labkit.run import importing
from labkit.store.campaign import Campaign
from labkit.store.samples import facts

from . import made

HOST = {"hostname": "n1", "cpu_model": "x", "kernel": "6.1", "nics": []}


def filled(
    folder: Path,
    medians: Sequence[float],
    *,
    hour: float = 0,
    step: float = 1 / 60,
    sizes: Sequence[int] = (8,),
    library: str = "Open MPI 4.1.4",
    badges: Sequence[str] = (),
    host: dict[str, object] = HOST,
    effort: Effort | None = None,
    origin: str = "measured",
    placed: Sequence[str] = (),
    **spec: object,
) -> Campaign:
    """A campaign of latencies with these medians of the launches, µs."""
    folder.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(folder)
    for size in sizes:
        given = {"launcher": "openmpi", "transport": "shm"} | spec
        point = benchmarks.resolve(Spec(benchmark="mpi.latency", size=size, **given))
        name = point.fingerprint({"library": library})
        for launch, median in enumerate(medians):
            when = hour + launch * step
            meta = {
                "engine": "c",
                "library": library,
                "fingerprint": name,
                "timing": "each",
                "start": f"2026-11-22T{int(when):02d}:{int(when * 60) % 60:02d}:{when * 3600 % 60:05.2f}+00:00",
                "elapsed": 1.0 + launch,
                **facts.noted([badge(text) for text in badges], []),
                **({facts.SESSION.name: placed[launch]} if placed else {}),
            }
            times = np.round(np.linspace(0.9, 1.1, 101) * median * 2000)  # a round trip is twice the latency
            campaign.save(
                made.samples(
                    point, times, launch=launch, host=host, meta=meta, effort=effort or Effort(), origin=origin
                ),
                name,
            )
    return campaign


def compared(*campaigns: Campaign, **rules: object) -> comparison.Comparison:
    return comparison.compare({one.name: comparison.read(one) for one in campaigns}, **rules)


SLOW, QUICK = [10.5, 10.51, 10.49, 10.52, 10.48, 10.5], [10.0, 10.01, 9.99, 10.02, 9.98, 10.0]


# ---- verdicts --------------------------------------------------------------------------------------------------------


def test_a_slower_campaign_with_shift_interval_and_deciles(tmp_path: Path) -> None:
    base, other = filled(tmp_path / "a", QUICK), filled(tmp_path / "b", SLOW, hour=1 / 120)
    outcome = compared(base, other)
    [row] = outcome.rows
    one = row.judgement
    assert (one.verdict, one.design, row.launches, row.statistic) == ("slower", "interleaved", (6, 6), "p50")
    assert one.p == pytest.approx(2 / 924)
    assert one.ratio == pytest.approx(1.05, rel=1e-3)
    assert 1.04 < one.ratio_low <= one.ratio <= one.ratio_high < 1.06
    assert one.shift == pytest.approx(0.5, rel=0.01)
    assert one.deciles == pytest.approx([1.05] * 9, rel=2e-3)
    assert compared(other, base).rows[0].judgement.verdict == "faster"
    assert "1 comparison of b against a: 1 slower. Order of launches: interleaved." in outcome.sentence


@pytest.mark.parametrize(
    ("base", "other", "metric", "verdict"),
    [
        (QUICK, QUICK, "latency_us", "same"),
        (QUICK, SLOW, "bandwidth_MBps", "faster"),
        (SLOW, QUICK, "bandwidth_MBps", "slower"),
        (QUICK[:3], SLOW[:3], "latency_us", "not enough data"),
        (QUICK[:1], SLOW[:1], "latency_us", "not enough data"),
        ([10, 11, 12, 13, 14, 15], [10.1, 11.2, 12.1, 13.2, 14.1, 15.2], "latency_us", "not enough data"),
        ([50, 51, 52, 51, 50, 51], [60, 61, 60, 61, 62, 61], "overlap_osu_percent", "better"),
        ([0, 0, 0, 0, 0, 0], [3, 4, 5, 3, 4, 5], "lost_percent", "worse"),
        ([0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1], "lost_percent", "same"),
        ([0, 0, 0, 0, 0, 0], [3, 4, 5, 3, 4, 5], "latency_us", "not enough data"),
    ],
)
def test_verdicts(base: list[float], other: list[float], metric: str, verdict: str) -> None:
    [one] = judge([Pair(Launches(base), Launches(other), metric)])
    assert one.verdict == verdict
    assert (one.reason == "") == (verdict != "not enough data")


def test_the_relevant_difference_decides_between_same_and_slower() -> None:
    pair = Pair(Launches(QUICK), Launches(SLOW))
    assert judge([pair], relevant=0.1)[0].verdict == "same"
    assert judge([pair], relevant=0.01)[0].verdict == "slower"
    between = judge([pair], relevant=0.05)[0]
    assert between.verdict == "not enough data"
    assert between.launches_needed is None or between.launches_needed > 6


def test_many_points_need_more_launches() -> None:
    """24 points are one too many for six launches, and the proposal says so."""
    pair = Pair(Launches(QUICK), Launches(SLOW))
    assert {one.verdict for one in judge([pair] * 23)} == {"slower"}
    many = judge([pair] * 24)
    assert {one.verdict for one in many} == {"not enough data"}
    assert many[0].launches_needed == 7


def test_orders_of_launches() -> None:
    assert judging.design((["1", "3", "5"], ["2", "4", "6"])) == "interleaved"
    assert judging.design((["1", "4", "5"], ["2", "3", "6"])) == "interleaved"
    assert judging.design((["1", "2", "3"], ["4", "5", "6"])) == "blocked"
    assert judging.design((["4", "5"], ["1", "2"], ["7", "8"])) == "blocked"
    assert judging.design((["1", "2", "3", "6"], ["4", "5", "7", "8"])) == "partly interleaved"
    assert judging.design((["1", ""], ["2", "3"])) == "unknown"


def test_sides_of_which_one_came_first_differ_between_sessions_and_never_get_slower() -> None:
    starts = [f"{n:02d}" for n in range(12)]
    step = Pair(Launches(QUICK, starts[:6]), Launches(SLOW, starts[6:]))
    assert judge([step])[0].verdict == "differs between sessions"
    back = Pair(Launches(SLOW, starts[6:]), Launches(QUICK, starts[:6]))
    assert judge([back])[0].verdict == "differs between sessions"
    turns = Pair(Launches(QUICK, starts[::2]), Launches(SLOW, starts[1::2]))
    assert judge([turns])[0].verdict == "slower"
    alike = Pair(Launches(QUICK, starts[:6]), Launches(QUICK, starts[6:]))
    assert judge([alike])[0].verdict == "same"


# ---- sessions --------------------------------------------------------------------------------------------------------

HOUR = 3600.0


def in_sessions(
    chance: np.random.Generator, sessions: int, each: int = 3, effect: float = 1.0, turns: str = "inside"
) -> tuple[Launches, Launches]:
    """Two sides of launches 8 s apart in sessions of an hour, with a correlation of 0.6 inside a session.

    Parameters
    ----------
    turns : of the sides: inside sessions, session by session, or one side after the other (``no``).
    """
    sides = []
    for side in (0, 1):
        session, launch = np.divmod(np.arange(sessions * each), each)
        begin = {"inside": session, "sessions": 2 * session + side, "no": session + side * sessions}[turns] * HOUR
        state = np.sqrt(0.6) * chance.normal(size=sessions)[session]
        values = effect**side * np.exp(0.01 * (state + np.sqrt(0.4) * chance.normal(size=len(session))))
        starts = pd.to_datetime(begin + 16 * launch + 8 * side, unit="s", utc=True)
        sides.append(Launches(values.tolist(), [one.isoformat() for one in starts]))
    return sides[0], sides[1]


def medians(side: Launches, each: int = 3) -> np.ndarray:
    return np.log(np.median(np.reshape(side.values, (-1, each)), axis=1))


def test_sides_that_share_six_sessions_are_paired_by_session() -> None:
    wilcoxon = pytest.importorskip("scipy.stats").wilcoxon
    base, other = in_sessions(np.random.default_rng(1), 8, effect=1.03)
    [one] = judge([Pair(base, other)])
    assert (one.basis, one.design, one.verdict) == ("paired sessions", "interleaved", "slower")
    assert one.p == pytest.approx(wilcoxon(medians(other) - medians(base), method="exact").pvalue)
    ends = np.log1p(-0.02), np.log1p(0.02)
    near = wilcoxon(medians(other) - medians(base) - ends[0], alternative="greater", method="exact").pvalue
    far = wilcoxon(medians(other) - medians(base) - ends[1], alternative="less", method="exact").pvalue
    assert one.p_same == pytest.approx(max(near, far))
    assert one.ratio_low < one.ratio < one.ratio_high


@pytest.mark.parametrize(("turns", "tests"), [("sessions", 1), ("inside", 20)])
def test_sessions_that_are_no_pairs_or_too_few_of_them_are_two_groups_of_medians(turns: str, tests: int) -> None:
    mannwhitneyu = pytest.importorskip("scipy.stats").mannwhitneyu
    base, other = in_sessions(np.random.default_rng(1), 6, effect=1.03, turns=turns)
    [one] = judge([Pair(base, other)], tests=tests)
    assert one.basis == "sessions"
    assert one.p == pytest.approx(mannwhitneyu(medians(base), medians(other), method="exact").pvalue)
    centres = tuple(float(np.exp(np.median(medians(side)))) for side in (base, other))
    assert (one.base, one.value) == pytest.approx(centres, rel=1e-3)


def test_fewer_than_six_sessions_count_launches_and_blocked_sides_differ_between_sessions() -> None:
    base, other = in_sessions(np.random.default_rng(1), 5, effect=1.1)
    [few] = judge([Pair(base, other)])
    [plain] = judge([Pair(Launches(base.values), Launches(other.values))])
    assert (few.basis, few.verdict, few.p, few.ratio) == ("launches", "slower", plain.p, plain.ratio)
    [blocked] = judge([Pair(*in_sessions(np.random.default_rng(1), 8, effect=1.1, turns="no"))])
    assert (blocked.basis, blocked.verdict) == ("sessions", "differs between sessions")


def test_one_session_against_six_shows_no_difference_of_the_sides() -> None:
    base, other = in_sessions(np.random.default_rng(1), 6, effect=1.2)
    moment = Launches(other.values[:6], [f"1970-01-01T02:30:{n:02d}+00:00" for n in range(6)])
    [one] = judge([Pair(base, moment)])
    assert (one.basis, one.design) == ("sessions of one side", "partly interleaved")
    assert one.verdict == "differs between sessions"


def test_sessions_of_a_schedule_pair_by_their_names(tmp_path: Path) -> None:
    """Launches of a schedule belong to the session that it placed them in, however near the next one is."""
    names = [f"2026-11-22T00:{minute:02d}:00.000+00:00" for minute in range(0, 36, 3) for _ in range(2)]
    sides = []
    for name, offset, factor in (("a", 0.0, 1.0), ("b", 1 / 240, 1.05)):
        made_up = np.exp(np.random.default_rng(3).normal(0, 0.003, 24)) * 10 * factor
        sides.append(filled(tmp_path / name, made_up.tolist(), hour=offset, step=1 / 40, placed=names))
    outcome = compared(*sides)
    assert outcome.rows[0].judgement.basis == "paired sessions"
    assert outcome.rows[0].judgement.verdict == "slower"
    assert outcome.sentence.endswith("Units: paired sessions.")
    assert json.loads(show_comparison.text(outcome, "json"))["records"][0]["basis"] == "paired sessions"
    [row] = records.summary(records.table(sides[0].samples())).to_dict("records")
    assert (row["sessions"], effects.of_row(row, "latency_us").side.many) == (12, True)


def test_launches_of_sessions_give_false_differences_and_their_medians_do_not() -> None:
    """12 sessions of 3 launches, each with a state of its own on each side: nothing differs."""
    chance, found = np.random.default_rng(11), {"launches": 0, "sessions": 0}
    for _ in range(100):
        pairs = [Pair(*in_sessions(chance, 12)) for _ in range(5)]
        for how, some in (
            ("sessions", pairs),
            ("launches", [Pair(Launches(one.base.values), Launches(one.other.values)) for one in pairs]),
        ):
            found[how] += any(one.verdict in ("faster", "slower") for one in judge(some, relevant=1e-9))
    assert found["sessions"] <= 12, "5 % of 100 and three standard deviations"
    assert found["launches"] > 20


# ---- error rates -----------------------------------------------------------------------------------------------------


def trials(count: int, scatter: float, effect: float, points: int = 10) -> list[set[str]]:
    """Verdicts of simulated comparisons with six launches per side."""
    chance = np.random.default_rng(7)
    return [
        {
            one.verdict
            for one in judge(
                [
                    Pair(Launches(a.tolist()), Launches(b.tolist()))
                    for a, b in zip(
                        np.exp(chance.normal(0, scatter, (points, 6))),
                        (1 + effect) * np.exp(chance.normal(0, scatter, (points, 6))),
                        strict=True,
                    )
                ]
            )
        }
        for _ in range(count)
    ]


@pytest.mark.parametrize("scatter", [0.005, 0.02, 0.1])
def test_equal_sides_give_at_most_one_false_alarm_in_20(scatter: float) -> None:
    alarms = sum(bool(verdicts & {"faster", "slower"}) for verdicts in trials(200, scatter, 0))
    assert alarms <= 20, "5 % of 200 and three standard deviations"


def test_5_percent_are_found_on_a_quiet_machine() -> None:
    assert sum(verdicts == {"slower"} for verdicts in trials(100, 0.01, 0.05)) >= 95


def test_the_launches_proposed_decide() -> None:
    """Of pairs that six launches leave undecided, most are decided with as many as the true scatter needs."""
    ends = (np.log1p(-0.02), np.log1p(0.02))
    needed = judging.launches_needed(np.log1p(0.05), 0.03, ends)
    assert needed is not None
    chance = np.random.default_rng(5)
    slower = 0
    for _ in range(200):
        a, b = np.exp(chance.normal(0, 0.03, needed)), 1.05 * np.exp(chance.normal(0, 0.03, needed))
        slower += judge([Pair(Launches(a.tolist()), Launches(b.tolist()))])[0].verdict == "slower"
    assert slower >= 140, "80 % and the scatter of 200 trials"


def test_sides_without_measure_are_judged() -> None:
    """Sides of very different lengths, ratios beyond the range of floats, and a very large number of tests."""
    chance = np.random.default_rng(7)
    long, short = np.exp(chance.normal(0, 0.01, 1250)), 2 * np.exp(chance.normal(0, 0.01, 4))
    assert judge([Pair(Launches(long.tolist()), Launches(short.tolist()))])[0].verdict == "slower"
    [apart] = judge([Pair(Launches([1e-200] * 6), Launches([1e200] * 6))])
    assert (apart.verdict, apart.ratio) == ("slower", math.inf)
    assert judging.launches_needed(0.05, 0.03, (-0.02, 0.02), tests=10**17) is not None


# ---- what can be compared --------------------------------------------------------------------------------------------


def test_undeclared_factors_stop_a_comparison_in_one_error(tmp_path: Path) -> None:
    base = filled(tmp_path / "a", QUICK)
    other = filled(
        tmp_path / "b",
        SLOW,
        hour=1,
        library="MPICH 4.2",
        launcher="mpich",
        host={**HOST, "hostname": "n2", "kernel": "6.2"},
        effort=Effort(time_cap=1.0),
        bind="none",
        environment={"UCX_TLS": "tcp"},
    )
    with pytest.raises(SpecError) as raised:
        compared(base, other)
    text = str(raised.value)
    assert "library (Open MPI 4.1.4, MPICH 4.2)" in text
    assert "kernel (6.1, 6.2)" in text
    assert "env.UCX_TLS (not set, tcp)" in text
    for name in ("launcher", "host", "effort", "bind"):
        assert f"{name} (" in text
    assert "--allow " in text
    names = ["library", "host", "kernel", "effort", "bind", "env.UCX_TLS"]
    outcome = compared(base, other, allow=names)
    assert outcome.rows[0].judgement.verdict == "differs between sessions"
    assert not outcome.forced
    assert {one.factor for one in outcome.differences} == {*names, "launcher"}


def test_files_of_two_imports_are_systems_and_no_testbeds(tmp_path: Path) -> None:
    text = (Path(__file__).parent / "golden" / "imb" / "MPI1.txt").read_text()
    sides = []
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(text.replace("MPI Barrier", f"MPI Barrier {name}"))
        sides.append(importing.bring([tmp_path / f"{name}.txt"], into=tmp_path / name).campaign)
    with pytest.raises(
        SpecError, match=r"system of the import \(a\.txt, b\.txt\).*--allow testbed.*one --testbed NAME"
    ):
        compared(*sides)
    (difference,) = compared(*sides, allow=["testbed"]).differences
    assert str(difference) == "system of the import (a.txt, b.txt)"
    assert "not comparable: system of the import" in compared(*sides, force=True).rows[0].badges
    tables = [records.table(side.samples()) for side in sides]
    with pytest.raises(
        DataError, match=r"no point in common with b.*Import the files of one system with one --testbed NAME\."
    ):
        gate.gate("a", tables[0], [("b", tables[1])])


def test_forced_comparisons_carry_a_badge(tmp_path: Path) -> None:
    base, other = filled(tmp_path / "a", QUICK), filled(tmp_path / "b", SLOW, library="MPICH 4.2")
    outcome = compared(base, other, force=True)
    assert outcome.forced
    assert "not comparable: library" in outcome.rows[0].badges


def test_points_match_by_common_factors_and_others_are_named(tmp_path: Path) -> None:
    base = filled(tmp_path / "a", QUICK, sizes=(8, 16))
    filled(tmp_path / "a", SLOW, transport="tcp", hour=2)
    other = filled(tmp_path / "b", QUICK, sizes=(8, 32), hour=4)
    filled(tmp_path / "b", QUICK, transport="tcp", hour=6)
    outcome = compared(base, other)
    assert [(one.size, one.setting["transport"]) for one in outcome.rows] == [(8, "shm"), (8, "tcp")]
    assert outcome.unmatched == (
        ("mpi.latency 16 B, transport=shm", ("a",)),
        ("mpi.latency 32 B, transport=shm", ("b",)),
    )


def test_levels_of_a_factor_in_one_campaign(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "a", QUICK)
    filled(tmp_path / "a", SLOW, transport="tcp", hour=1 / 120)
    sides = comparison.by_levels(comparison.read(campaign), "transport", ["tcp", "shm"])
    outcome = comparison.compare(sides, by="transport")
    assert [one.judgement.verdict for one in outcome.rows] == ["faster"]
    assert outcome.sides == ("tcp", "shm")
    with pytest.raises(SpecError, match="no point has the level rdma"):
        comparison.by_levels(comparison.read(campaign), "transport", ["shm", "rdma"])
    with pytest.raises(SpecError, match="Did you mean transport"):
        comparison.by_levels(comparison.read(campaign), "transports")


def test_a_side_that_mixes_levels_is_refused(tmp_path: Path) -> None:
    base = filled(tmp_path / "a", QUICK)
    other = filled(tmp_path / "b", SLOW, transport="tcp")
    filled(tmp_path / "b", SLOW, transport="auto", hour=2)
    with pytest.raises(SpecError, match="b has 2 levels of transport"):
        compared(base, other, allow=["transport"])


def test_more_than_two_sides(tmp_path: Path) -> None:
    campaigns = [
        filled(tmp_path / name, values, hour=n)
        for n, (name, values) in enumerate([("a", QUICK), ("b", SLOW), ("c", QUICK)])
    ]
    outcome = compared(*campaigns)
    assert [(one.side, one.judgement.verdict) for one in outcome.rows] == [
        ("b", "differs between sessions"),
        ("c", "same"),
    ]
    assert "1 that differs between sessions" in outcome.sentence
    assert all(one.p_any < 0.01 for one in outcome.rows)


def test_nothing_in_common_and_the_same_launches(tmp_path: Path) -> None:
    base, other = filled(tmp_path / "a", QUICK), filled(tmp_path / "b", QUICK, sizes=(64,))
    with pytest.raises(DataError, match="have no point in common"):
        compared(base, other)
    twice = comparison.compare({"a": comparison.read(base), "again": comparison.read(base)})
    assert "the sides share 6 launches" in twice.warnings[0]


def test_imported_numbers_of_osu_beside_measured_ones(tmp_path: Path) -> None:
    text = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n8 {}\n"
    for n, value in enumerate([10.5, 10.6, 10.5, 10.4, 10.5, 10.6]):
        (tmp_path / f"{n}.txt").write_text(text.format(f"{value:.2f}"))
    files = [tmp_path / f"{n}.txt" for n in range(6)]
    imported = importing.bring(files, into=tmp_path / "osu", testbed="other").campaign
    base = filled(tmp_path / "a", QUICK)
    with pytest.raises(SpecError, match="--allow origin,testbed"):
        compared(base, imported)
    outcome = compared(base, imported, allow=["origin", "testbed"])
    [row] = outcome.rows
    assert (row.statistic, row.judgement.verdict, row.judgement.design) == ("mean", "slower", "unknown")
    assert row.judgement.deciles == ()
    unstated = {one.factor for one in outcome.differences if one.unstated}
    assert {"library", "launcher", "host", "kernel", "effort"} <= unstated


def test_simulated_numbers_must_be_declared(tmp_path: Path) -> None:
    base = filled(tmp_path / "a", QUICK)
    other = filled(tmp_path / "b", SLOW, origin="simulated", host={}, hour=1 / 120)
    with pytest.raises(SpecError, match=r"origin \(measured, simulated\)"):
        compared(base, other)
    outcome = compared(base, other, allow=["origin"])
    assert outcome.rows[0].judgement.verdict == "slower"
    assert {one.factor for one in outcome.differences if one.unstated} >= {"kernel", "cpu_model"}


def test_a_test_that_is_not_quite_the_same_is_named(tmp_path: Path) -> None:
    """IMB's Window does more than labkit's; the comparison repeats what the import said."""
    launches = comparison.read(filled(tmp_path / "a", QUICK))
    text = "IMB-EXT Window is not quite mpi.window_create: it also fences once more"
    for one in launches:
        one.rows["warnings"] = pd.Series([(note("unlike", text),)] * len(one))
    outcome = comparison.compare({"a": comparison.read(filled(tmp_path / "b", QUICK)), "imb": launches})
    assert f"definitions differ: {text}" in outcome.warnings


def test_hosts_described_by_others_do_no_harm(tmp_path: Path) -> None:
    strange = {**HOST, "nics": "none", "rdma_devices": [3, {"type": "mlx5", "rate": 100}]}
    [launch, *_] = comparison.read(filled(tmp_path / "a", QUICK, host=strange))
    assert {*launch.factors["nic"]} == {"mlx5 100"}


# ---- figure and study ------------------------------------------------------------------------------------------------


def test_the_figure_shows_ratios_with_their_intervals(tmp_path: Path) -> None:
    base = filled(tmp_path / "a", QUICK, sizes=(0, 8, 64))
    other = filled(tmp_path / "b", SLOW, sizes=(0, 8, 64), hour=1 / 120)
    outcome = compared(base, other)
    figure = figures.shifts(outcome)
    [trace] = figure.data
    assert trace.name == "b: slower"
    assert list(trace.x) == [4, 8, 64]
    assert trace.y == pytest.approx([1.05] * 3, rel=1e-3)
    assert all(length > 0 for length in (*trace.error_y.array, *trace.error_y.arrayminus))
    assert "ratio to a" in figure.layout.yaxis.title.text
    assert "1.02" in figure.layout.yaxis.ticktext
    few = compared(filled(tmp_path / "c", QUICK[:3]), filled(tmp_path / "d", SLOW[:3]))
    assert figures.shifts(few).data[0].error_y.array == (None,)
    with pytest.raises(DataError, match="no point with a ratio"):
        figures.shifts(outcome, "mpi.bcast")


def test_a_report_has_the_interval_beside_the_ratio(tmp_path: Path) -> None:
    (row,) = compared(filled(tmp_path / "a", QUICK), filled(tmp_path / "b", SLOW, hour=1 / 120)).rows
    cells = [cell.replace("\u00a0", " ") for cell in comparing._row(row, several=False)]
    assert cells[4] == r"**1.050** \[1.048 to 1.052\]"


def test_one_launch_a_side_gives_ratios_without_an_interval_and_says_so(tmp_path: Path) -> None:
    """In the table, in JSON and CSV, in the figure and in its hover text."""
    one, other = (filled(tmp_path / name, [value]) for name, value in (("a", 10.0), ("b", 12.0)))
    result = compared(one, other)
    text = show_comparison.text(result, "table")
    assert "no interval (-): 1 of 1 ratio, which have too few launches for one" in text
    (record,) = json.loads(show_comparison.text(result, "json"))["records"]
    assert record["ratio"] == pytest.approx(1.2)
    assert (record["ratio_low"], record["reason"]) == (None, "there are too few launches to decide")
    (trace,) = figures.shifts(result).data
    assert trace.error_y.array == (None,)
    assert "interval: too few launches for one" in trace.hovertemplate


def test_the_study_compares_the_levels_of_a_recorded_campaign() -> None:
    study = studies.get("compare")(campaign="data/campaigns/examples/two-cores", measure=False)
    assert "8 comparisons of tcp against shm" in str(study.findings())
    table = study.table()
    assert len(table) == 8
    assert set(table["verdict"]) == {"slower"}
    assert len(study.figure().data) == 1
    assert len(study.values_figure().data) == 4, "two levels, and the floors of both"
    other = studies.get("compare")(
        campaign="data/campaigns/examples/two-cores", measure=False, factor="bind", levels="core,none"
    )
    assert other.figure() == other.findings() == NOTHING
    assert other.table().empty


@pytest.mark.parametrize(
    ("given", "said"),
    [({"benchmark": "mpi.nosuch"}, "must be one of mpi.latency"), ({"levels": "shm"}, "a comparison needs two")],
)
def test_the_study_refuses_what_it_cannot_compare(given: dict[str, str], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        studies.get("compare")(**given)


# ---- the command -----------------------------------------------------------------------------------------------------


def test_the_command_prints_a_table_json_and_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = filled(tmp_path / "a", QUICK, badges=["loopback"])
    other = filled(tmp_path / "b", SLOW, hour=1 / 120, sizes=(8, 16))
    words = ["compare", str(base.path), str(other.path)]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "slower" in text
    assert "badge: loopback (6 of 6 launches in a, 0 of 6 launches in b), 1 point" in text
    assert "only in b: mpi.latency 16 B" in text
    assert main([*words, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    [record] = document["records"]
    assert (record["verdict"], record["message_size_B"], record["launches"]) == ("slower", 8, 6)
    assert record["p_any"] is None
    assert record["ratio_d90"] == pytest.approx(1.05, rel=2e-3)
    assert document["comparison"]["unmatched"] == [{"point": "mpi.latency 16 B", "sides": ["b"]}]
    target = tmp_path / "out.csv"
    assert main([*words, "--format", "csv", "--output", str(target)]) == 0
    [row] = csv.DictReader(io.StringIO(target.read_text()))
    assert row["verdict"] == "slower"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "There is one campaign"),
        (["--by", "transports"], "Did you mean transport"),
        (["--by", "transport"], "a comparison needs two levels"),
        (["--where", "transport"], "--where 'transport' is not of the form FACTOR=A,B"),
        (["--by", "transport", "--where", "transport=rdma"], "no point has that level. There are: shm."),
        (["--relevant", "2"], "--relevant 2.0, but it must be a number between 0 and 1"),
        (["--metric", "latncy_us"], "There is no metric 'latncy_us'. Did you mean latency_us"),
        (["--by", "transport", "--benchmark", "mpi.bcast"], "no points of benchmark 'mpi.bcast'"),
    ],
)
def test_wrong_requests_are_one_error(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(filled(tmp_path / "a", QUICK).path), *words]) == 1
    printed = capsys.readouterr()
    assert said in " ".join(printed.err.split())
    assert printed.out == ""


def test_hundreds_of_points_that_drift_are_compared() -> None:
    """More sides than floats can represent in a binomial coefficient."""
    rising = [
        Launches([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [f"2026-01-01T00:00:0{n}" for n in range(6)]) for _ in range(1200)
    ]
    pairs = [Pair(one, other) for one, other in zip(rising[::2], rising[1::2], strict=True)]
    doubts = comparison._of_order(pairs, judge(pairs))
    assert "1,200 of 1,200 points and sides rise or fall" in doubts[-1]


def test_a_launcher_is_named_in_a_comparison_as_it_was_when_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launcher can be given by its folder."""
    from types import SimpleNamespace

    from labkit.apps.cli import compare as verb
    from labkit.run import launch

    levels = np.array(["openmpi", "mpich@/opt/x/bin/mpiexec"], object)
    points = [comparison.Launches("mpi.latency", pd.DataFrame(index=range(2)), {"launcher": levels})]
    monkeypatch.setattr(launch, "get", lambda name: SimpleNamespace(name=f"mpich@{name}/bin/mpiexec"))
    assert verb._level(points, "launcher", "openmpi") == "openmpi"
    assert verb._level(points, "launcher", "/opt/x") == "mpich@/opt/x/bin/mpiexec"
    assert verb._level(points, "transport", "/opt/x") == "/opt/x"
