"""Slow ranks, guidelines and break points: on made-up numbers whose truth is known, with their error rates."""

import numpy as np
import pandas as pd
import pytest

from bench import protocol as curves
from labkit import benchmarks, figures
from labkit.errors import DataError
from labkit.figures.marks import mark_breaks
from labkit.host import eager
from labkit.judge import guidelines, protocol, sentences, slow_rank
from labkit.judge.effects import SESSIONS
from labkit.judge.finding import Finding
from labkit.judge.rules import guideline
from labkit.judge.sentences import sentence
from labkit.judge.slow_rank import ALPHA, WAITS, SlowRanks, collective
from labkit.judge.view import View
from labkit.point.spec import Spec
from labkit.read import records
from labkit.run import launch
from labkit.stats.decision import OPEN, TOO_FEW
from labkit.store.samples import Samples

from . import made

SEEDS = range(20)


def kept(times, benchmark: str = "mpi.allreduce", size: int = 8, launch: int = 0, **options) -> Samples:
    spec = Spec(benchmark=benchmark, size=size, ranks=len(times), options=options)
    return made.samples(spec, times, launch=launch, host={"name": "node01"})


# ---- slow ranks


def collective_times(seed: int, ranks: int, *, late: int | None = None, iterations: int = 100, base: float = 5e3):
    """Times of a collective that all wait for: skew, lognormal work, spikes before and in the call; one rank late."""
    random = np.random.default_rng(seed)
    shape = (ranks, iterations)
    spike = (random.random(shape) < 0.02) * 4e6 * random.lognormal(0, 0.7, shape)
    before = random.random(shape) < 0.5
    entered = random.exponential(0.2 * base, shape) + spike * before
    began = entered.copy()
    if late is not None:
        began[late, seed % 10 :: 10] += 20e6
    left = began.max(axis=0) + base * random.lognormal(0, 0.3, shape) + spike * ~before
    return left - began


def named(verdict: SlowRanks) -> list[int]:
    return verdict.table.loc[verdict.table["slow"], "rank"].tolist()


@pytest.mark.parametrize("base", [5e3, 1e6])
@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_a_late_rank_is_named_and_a_healthy_job_is_left_in_peace(ranks: int, base: float) -> None:
    late = [slow_rank.slow_ranks(kept(collective_times(s, ranks, late=s % ranks, base=base))) for s in SEEDS]
    clean = [slow_rank.slow_ranks(kept(collective_times(100 + s, ranks, base=base))) for s in SEEDS]
    assert sum(named(verdict) == [s % ranks] for s, verdict in zip(SEEDS, late, strict=True)) >= 19
    assert sum(not named(verdict) for verdict in clean) >= 19


def test_the_table_says_how_often_by_how_much_and_how_sure() -> None:
    verdict = slow_rank.slow_ranks(kept(collective_times(3, 4, late=2)))
    row = verdict.table.loc[2]
    assert list(verdict.table) == ["rank", "slow_iterations", "share", "excess_us_p50", "confidence", "slow"]
    assert 10 <= row["slow_iterations"] <= 15
    assert row["share"] == row["slow_iterations"] / 100
    assert row["excess_us_p50"] == pytest.approx(20_000, rel=0.1)
    assert row["confidence"] >= 1 - ALPHA
    assert verdict.sentence.startswith("Rank 2 was slow in 1")
    assert "µs (median), with 99." in verdict.sentence


def quiet(ranks: int, iterations: int = 200) -> np.ndarray:
    return np.random.default_rng(1).normal(5e3, 100, (ranks, iterations))


@pytest.mark.parametrize(
    ("benchmark", "size", "ranks", "long", "who"),
    [
        ("mpi.allreduce", 8, 2, [1], 0),  # who leaves at once came last
        ("mpi.barrier", 8, 3, [0, 2], 1),
        ("mpi.iallgather", 8, 3, [1], 1),  # after it had sent: nobody else waits
        ("mpi.alltoall_persistent", 8, 3, [0, 1, 2], None),
        ("mpi.bcast", 8, 3, [1, 2], 0),
        ("mpi.bcast", 8, 3, [0, 1, 2], 0),
        ("mpi.bcast", 8, 3, [2], 2),
        ("mpi.bcast", 8, 2, [1], None),  # a late root or a slow leaf
        ("mpi.bcast", 1 << 20, 3, [0, 1, 2], None),  # by rendezvous all may wait
        ("mpi.bcast", 1 << 20, 3, [0, 1], 2),
        ("mpi.gather", 8, 3, [0], None),  # the root waits for any of them
        ("mpi.gather", 8, 3, [0, 2], 2),
        ("mpi.scan", 8, 4, [2, 3], None),  # rank 1 late or rank 2 slow
        ("mpi.scan", 8, 4, [1, 2, 3], None),
        ("mpi.scan", 8, 4, [0, 1, 2, 3], 0),
    ],
)
def test_who_waits_for_whom_decides(benchmark: str, size: int, ranks: int, long: list[int], who: int | None) -> None:
    times = quiet(ranks)
    times[np.ix_(long, range(3, 200, 10))] += 1e6
    verdict = slow_rank.slow_ranks(kept(times, benchmark, size))
    assert named(verdict) == ([] if who is None else [who])
    assert verdict.undecided == (20 if who is None else 0)
    assert ("no rank, or more than one, fits" in verdict.sentence) == (who is None)


@pytest.mark.parametrize(
    ("columns", "text"), [([3], "In 1 more slow iteration no rank"), ([3, 50], "In 2 more slow iterations")]
)
def test_iterations_that_fit_no_rank_are_counted(columns: list[int], text: str) -> None:
    times = quiet(3)
    times[:, columns] += 1e6
    assert text in slow_rank.slow_ranks(kept(times, "mpi.alltoall_persistent", 8)).sentence


def test_few_iterations_are_said_to_be_too_few() -> None:
    verdict = slow_rank.slow_ranks(kept(collective_times(1, 4, late=2, iterations=30)))
    assert not verdict.enough
    assert named(verdict) == []
    assert "From 30 iterations it is not known" in verdict.sentence
    assert slow_rank.slow_ranks(kept(quiet(4))).sentence.startswith("No rank was slow more often than chance")


def test_a_burst_is_one_event() -> None:
    times = quiet(3)
    times[1:, 50:70] += 1e6
    verdict = slow_rank.slow_ranks(kept(times))
    assert verdict.table.loc[0, "slow_iterations"] == 20
    assert named(verdict) == []


def test_two_slow_ranks_of_eight_are_both_named() -> None:
    times = quiet(8, 400)
    for rank, first in ((2, 0), (5, 5)):
        times[np.ix_([r for r in range(8) if r != rank], range(first, 400, 10))] += 1e6
    assert named(slow_rank.slow_ranks(kept(times))) == [2, 5]


def test_ten_thousand_iterations_take_no_time_and_rare_spikes_name_nobody() -> None:
    times = quiet(2, 10_000)
    times[1, ::500] += 1e6
    verdict = slow_rank.slow_ranks(kept(times))
    assert verdict.table.loc[0, "confidence"] > 0.99
    assert named(verdict) == []


@pytest.mark.parametrize(
    ("samples", "says"),
    [
        (kept(np.ones((2, 9)), "mpi.latency"), "is not a collective"),
        (kept(np.ones((1, 9))), "needs those of 2 ranks"),
        (kept(np.ones((2, 0))), "needs those of 2 ranks"),
        (kept(np.ones((2, 9)), "mpi.bcast", rotate=True), "timing=total, threads or rotate"),
        (kept(np.ones((2, 9)), timing="total"), "timing=total, threads or rotate"),
    ],
)
def test_what_cannot_be_read_this_way_is_refused(samples: Samples, says: str) -> None:
    with pytest.raises(DataError, match=says):
        slow_rank.slow_ranks(samples)


def test_every_collective_of_the_package_is_known() -> None:
    known = {collective(name) for name in benchmarks.find() if name.startswith("mpi.")} & set(WAITS)
    assert known == set(WAITS)
    assert [collective(f"mpi.{n}") for n in ("bcast", "ibcast", "alltoallv_persistent")] == [
        "bcast",
        "bcast",
        "alltoallv",
    ]


# ---- guidelines


def table(times: dict[tuple[str, int], float], ranks: int = 2, launches: int = 6, spread: float = 0.01, **options):
    """Records of collectives whose launch medians lie `spread` around the given µs."""
    points = []
    for (name, size), us in times.items():
        for number in range(launches):
            ns = us * 1e3 * (1 + spread * (number / max(launches - 1, 1) - 0.5))
            random = np.random.default_rng([size, number])
            row = ns * (1 + spread / 2 * random.uniform(-1, 1, (ranks, 200)))
            points.append(kept(row, f"mpi.{name}", size, number, **options))
    return records.table(points)


def viewed(frame: pd.DataFrame) -> View:
    return View("c", frame, records.summary(frame))


def violations(frame: pd.DataFrame) -> list[Finding]:
    """What the rule on guidelines finds."""
    return [*guideline.check(viewed(frame))]


def violated(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of all violations, those too that the launches do not show."""
    return guideline.table(viewed(frame), guideline.judged(viewed(frame)).violations)


def said(frame: pd.DataFrame) -> str:
    """What is said of the guidelines."""
    judged = guideline.judged(viewed(frame))
    return sentences.guidelines(judged.violations, judged.checked)


def compared(frame: pd.DataFrame) -> int:
    """How many comparisons were made."""
    return guideline.judged(viewed(frame)).checked


@pytest.mark.parametrize(("launches", "known"), [(6, 0), (8, 1)])
def test_a_family_that_is_too_large_for_its_launches_shows_nothing(launches: int, known: int) -> None:
    """Of 60 comparisons, six launches show none, eight do; what the rule leaves out is what cannot be shown."""
    sizes = {("bcast", 64 * size): 10.0 + size for size in range(1, 62)} | {("bcast", 64 * 30): 400.0}
    frame = table(sizes, launches=launches)
    every = guideline.judged(viewed(frame)).violations
    assert len(every) == 1
    assert violations(frame) == [one for one in every if one.supported] == [*every][:known]


def test_a_violation_is_certain_only_where_launches_show_it() -> None:
    times = {("allreduce", 64): 10.0, ("reduce", 64): 4.0, ("bcast", 64): 4.0}
    row = violated(table(times)).iloc[0]
    assert row["guideline"] == "allreduce(m) ≤ reduce(m) + bcast(m)"
    assert (row["message_size_B"], row["ranks"], row["certain"]) == (64, 2, True)
    assert row["ratio"] == pytest.approx(1.25, rel=0.02)
    assert row["doubt"] == ""
    assert row["right"] == "reduce at 64 B + bcast at 64 B"
    assert said(table(times)).startswith(  # reduce against allreduce is the other
        "1 of 2 comparisons violates a guideline, and the launches show it; "
    )
    (finding,) = violations(table(times))
    assert (finding.level, finding.subject.benchmark) == ("doubtful", "mpi.allreduce")
    assert finding.cost == pytest.approx(1.25, rel=0.02)
    assert "of reduce at 64 B + bcast at 64 B: 1.25 times (allreduce(m) ≤ reduce(m) + bcast(m))" in sentence(finding)
    assert violations(table(times, spread=1.2)) == []
    assert violations(table({("latency", 8): 1.0})) == []
    doubtful = table(times, spread=1.2)
    assert violated(doubtful)["certain"].tolist() == [False]
    assert said(doubtful).startswith(
        f"1 of 2 comparisons violates a guideline by the medians, but the launches do not show it ({OPEN})"
    )
    assert "None of" in said(table({("allreduce", 64): 4.0, ("reduce", 64): 1.0}))


def test_the_sentence_counts_sizes_that_take_longer_than_larger_ones() -> None:
    """A single launch shows no violation, and is told all the same."""
    times = {4: 0.190, 8: 0.851, 32: 0.181}
    points = [
        made.samples(
            Spec(benchmark="mpi.allreduce", size=size),
            reported=made.values(mean=us),
            meta={"fingerprint": f"{size}", "library": "Open MPI 4.1.4", "engine": "c"},
        )
        for size, us in times.items()
    ]
    text = said(records.table(points))
    assert text.startswith(
        f"2 of 2 comparisons violate a guideline by the medians, but the launches do not show it ({TOO_FEW})"
    )
    assert (
        "2 of them because a larger size takes less time; the largest violation is mpi.allreduce, 8 B: 0.851 µs against"
        in text
    )
    assert "against 0.181 µs of allreduce at 32 B: 4.7 times (allreduce(m) ≤ allreduce(m') for m < m')." in text


@pytest.mark.parametrize(
    ("launches", "sizes", "certain"),
    [
        (6, 1, True),
        (4, 1, True),
        (3, 1, False),
        (1, 1, False),
        (4, 3, True),
        (4, 4, False),
        (6, 46, True),
        (6, 47, False),
    ],
)
def test_the_sizes_of_a_guideline_are_a_family(launches: int, sizes: int, *, certain: bool) -> None:
    """Each size needs more launches the more sizes there are; the sizes that keep the guideline count, too."""
    times = {("gather", 8 * k): 1.0 + k / 10 for k in range(1, sizes + 1)} | {("gather", 8): 1000.0}
    times |= {("allgather", 8 * k): 500 + k / 10 for k in range(1, sizes + 1)}
    rows = violated(table(times, launches=launches, spread=0.0001))
    [row] = rows[rows["guideline"] == "gather(m) ≤ allgather(m)"].to_dict("records")
    assert (row["certain"], row["doubt"]) == (certain, "" if certain else TOO_FEW)


def test_times_of_a_right_side_are_added_launch_by_launch_and_tested_as_scipy_does() -> None:
    mannwhitneyu = pytest.importorskip("scipy.stats").mannwhitneyu
    chance, shown = np.random.default_rng(3), 0
    for _ in range(12):
        each = {name: chance.normal(us, 0.25, 5) for name, us in (("allreduce", 8.4), ("reduce", 4.0), ("bcast", 4.0))}
        points = [
            kept(np.full((2, 9), us * 1e3), f"mpi.{name}", 64, launch)
            for name, values in each.items()
            for launch, us in enumerate(values)
        ]
        rows = violated(records.table(points))
        [row] = rows[rows["guideline"] == "allreduce(m) ≤ reduce(m) + bcast(m)"].to_dict("records")
        p = mannwhitneyu(
            *(np.rint(v * 1e3) for v in (each["allreduce"], each["reduce"] + each["bcast"])), alternative="greater"
        ).pvalue
        assert row["certain"] == (p <= 0.05)
        shown += row["certain"]
    assert 0 < shown < 12, "the cases tell violations from none"


def test_sides_that_were_not_interleaved_show_no_violation() -> None:
    def some(name: str, us: float, hours: range) -> list[Samples]:
        spec = Spec(benchmark=f"mpi.{name}", size=64, ranks=2)
        starts = [{"start": f"2026-01-01T{hour:02d}:00:00+00:00"} for hour in hours]
        return [made.samples(spec, np.full((2, 9), us * 1e3 + k), launch=k, meta=m) for k, m in enumerate(starts)]

    def doubts(first: range, second: range) -> list[str]:
        return list(violated(records.table([*some("gather", 9.0, first), *some("allgather", 3.0, second)]))["doubt"])

    assert doubts(range(0, 12, 2), range(1, 13, 2)) == [""]
    assert doubts(range(6), range(6, 12)) == [SESSIONS]


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.slow), 4])
def test_sizes_are_those_of_the_same_work(ranks: int) -> None:
    whole = 4096
    for one in guidelines.GUIDELINES:
        times = {(one.left, whole): 100.0}
        for name, factor in one.parts:
            times[name.removeprefix("mpi."), int(whole * factor(ranks))] = 1.0
        rows = violated(table(times, ranks, launches=4))
        assert str(one) in set(rows["guideline"]), one
        assert rows.loc[rows["guideline"] == str(one), "certain"].all()


def bytes_of(name: str, size: int, ranks: int) -> tuple[int, int]:
    """What a benchmark reads and writes at most in a rank, B."""
    spec = benchmarks.resolve(Spec(benchmark=name, size=size, ranks=ranks))
    return benchmarks.get(name).buffers(spec)


@pytest.mark.parametrize("one", guidelines.GUIDELINES, ids=str)
def test_no_part_of_a_right_side_is_smaller_than_the_work(one: guidelines.Guideline) -> None:
    """Each right side must receive, at least once, all that the left side receives."""
    ranks, size = 4, 4096
    left = bytes_of(f"mpi.{one.left}", size, ranks)
    right = [bytes_of(name, int(size * factor(ranks)), ranks) for name, factor in one.parts]
    assert max(max(part) for part in right) >= max(left) if one.left != "reduce_scatter" else True


def test_monotony_in_size() -> None:
    frame = table({("bcast", 8): 1.0, ("bcast", 64): 5.0, ("bcast", 512): 2.0})
    assert compared(frame) == 2
    assert violated(frame)["guideline"].tolist() == ["bcast(m) ≤ bcast(m') for m < m'"]
    assert violated(frame)["right"].tolist() == ["bcast at 512 B"]


def test_different_systems_and_options_are_not_compared() -> None:
    one = table({("gather", 8): 3.0}, root=0)
    assert compared(pd.concat([one, table({("allgather", 8): 1.0}).assign(transport="tcp")])) == 0
    two = table({("allgather", 8): 1.0}, in_place=True)
    assert compared(pd.concat([table({("gather", 8): 3.0}, in_place=False), two])) == 0
    assert compared(pd.concat([one, two])) == 1  # root is not an option of allgather


def test_what_is_not_checked_has_a_reason() -> None:
    frame = table({("bcast", 8): 1.0, ("scatter", 8): 1.0, ("allgather", 3): 1.0}, ranks=3)
    reasons = guideline.judged(viewed(frame)).unchecked
    assert "8 B do not divide among 3 ranks" in reasons["bcast(m) ≤ scatter(m/p) + allgather(m/p)"]
    assert reasons["scatter(m) ≤ bcast(p·m)"].startswith("mpi.bcast was not measured at 24 B")
    assert reasons["gather(m) ≤ allgather(m)"] == "not measured: mpi.gather"
    with pytest.raises(DataError, match="no latency of a collective"):
        guideline.judged(viewed(table({("latency", 8): 1.0})))


# ---- break points

POWERS = 2.0 ** np.arange(21)
DENSE = np.unique(np.round(2 ** np.arange(0, 20.01, 0.5)))


def line(seed: int, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A straight line α + βm and what the noise of a point makes of it: 1 %, with tails heavier than normal."""
    random = np.random.default_rng(seed)
    noise = 1 + 0.01 * random.standard_t(5, len(sizes)) / np.sqrt(5 / 3)
    return random.uniform(0.3, 20) + sizes / random.uniform(1e3, 2e4), noise


@pytest.mark.parametrize("sizes", [POWERS, pytest.param(DENSE, marks=pytest.mark.slow)], ids=["powers", "dense"])
@pytest.mark.parametrize("noisy", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.slow
def test_a_straight_line_has_no_break(sizes: np.ndarray, noisy: bool) -> None:
    false = 0
    for seed in range(200):
        times, noise = line(seed, sizes)
        if noisy:
            noise[seed % len(sizes)] *= 1.3
        false += bool(protocol.breaks(sizes, times * noise).breaks)
    assert false <= 10


@pytest.mark.parametrize("kind", ["step", pytest.param("factor", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_jump_of_15_percent_is_found_between_the_right_sizes(kind: str) -> None:
    hits = 0
    for seed in range(100):
        times, noise = line(1000 + seed, DENSE)
        at = 5 + seed % (len(DENSE) - 10)
        later = np.arange(len(DENSE)) >= at
        times = times + later * 0.15 * times[at] if kind == "step" else times * np.where(later, 1.15, 1)
        hits += (int(DENSE[at - 1]), int(DENSE[at])) in [
            (b.after, b.before) for b in protocol.breaks(DENSE, times * noise).breaks
        ]
    assert hits >= 95


def steps(seed: int, sizes: np.ndarray) -> np.ndarray:
    """Times on one to four lines with noise, and perhaps a point that is far off."""
    random = np.random.default_rng(seed)
    times = np.empty(len(sizes))
    for first in (0, *np.sort(random.integers(0, len(sizes), seed % 4))):
        times[first:] = random.uniform(0.5, 3) + random.uniform(0, 1e-3) * sizes[first:]
    times *= np.exp(random.choice([0, 0.01, 0.1]) * random.standard_normal(len(sizes)))
    times[seed % len(sizes)] *= random.choice([1, 1, 3])
    return times


@pytest.mark.parametrize("count", [8, 13, 22])
def test_the_lines_are_the_cheapest_of_all(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_with_jumps", lambda *given: (given[-1], [False] * (len(given[-1]) - 1)))
    sizes, penalty = 64.0 * np.arange(1, count + 1), protocol.PENALTY * np.log(count)
    series = [(sizes, steps(seed, sizes)) for seed in range(12)]
    for (m, t), found in zip(series, protocol.every(series), strict=True):
        assert found is not None
        cheapest = [(0.0, ())] + [(np.inf, ())] * count  # cost and ends of the lines before each place
        for end in range(3, count + 1):
            cheapest[end] = min(
                (cost + protocol._fit(m[first:end], t[first:end], found.scatter)[2] + penalty, (*ends, end))
                for first, (cost, ends) in enumerate(cheapest[: end - 2])
                if cost < np.inf
            )
        ends = [int(max(line.last, line.left_out or 0) / 64) for line in found.lines]
        assert tuple(ends) == cheapest[count][1]


def test_a_series_is_cut_the_same_beside_others() -> None:
    sizes = [64.0 * np.arange(1, count + 1) for count in (9, 20, 20, 100, 7)]
    series = [(one, steps(seed, one)) for seed, one in enumerate(sizes)]
    together = protocol.every([*series, (POWERS, POWERS * 0)])
    assert together == [*(protocol.breaks(*one) for one in series[:4]), None, None]


def test_a_break_of_a_long_series_lies_between_neighbours() -> None:
    """More sizes than are searched; a search of all of them would take hours."""
    sizes = 64.0 * np.arange(1, 3001)
    noise = np.exp(0.01 * np.random.default_rng(1).standard_normal(3000))
    straight = (5 + sizes / 4e3) * noise
    assert not protocol.breaks(sizes, straight).breaks
    [one] = protocol.breaks(sizes, straight * np.where(sizes > 64 * 1234, 1.5, 1)).breaks
    assert (one.after, one.before) == (64 * 1234, 64 * 1235)


def test_a_break_says_where_and_how_large_it_is() -> None:
    times = np.where(POWERS <= 4096, 0.4 + POWERS / 4000, 2.5 + POWERS / 16000)
    fit = protocol.breaks(POWERS, times)
    [one] = fit.breaks
    assert (one.after, one.before) == (4096, 8192)
    assert one.jump == pytest.approx((2.5 + 8192 / 16000) / (0.4 + 8192 / 4000) - 1)
    assert [(part.first, part.last) for part in fit.lines] == [(1, 4096), (8192, 1 << 20)]
    assert one.abrupt
    assert fit.sentence.startswith("The time jumps between 4 KiB and 8 KiB (+23 %)")
    assert "One line" in protocol.breaks(POWERS, 1 + POWERS / 1e3).sentence


@pytest.mark.parametrize("name", sorted(curves.CURVES))
def test_smooth_curves_have_no_protocol_change(name: str) -> None:
    _, false, _ = curves.rates(curves.CURVES[name], 0.01, 0.5, 30)
    assert false <= 6 / 30  # 5 % at most; more than 6 of 30 would have a chance of 0.1 %


def test_jumps_are_protocol_changes() -> None:
    _, _, found = curves.rates(curves.CURVES["straight line"], 0.01, 0.0, 30)
    assert found >= 23 / 30  # 95 %; less than 23 of 30 would have a chance of 0.02 %


def test_a_bend_is_called_curvature() -> None:
    bent = protocol.breaks(POWERS, np.maximum(1.0, POWERS / 3000))
    assert bent.breaks
    assert not any(one.abrupt for one in bent.breaks)
    assert "without a clear jump: curvature" in bent.sentence
    assert "protocol" not in bent.sentence
    marked = mark_breaks(figures.versus_size(latencies(POWERS), "latency_us"), bent.breaks)
    assert {note.text for note in marked.layout.annotations} == {"bend"}


def test_a_size_that_fits_neither_line_lies_inside_the_break() -> None:
    times = np.where(POWERS < 2048, 0.4 + POWERS / 4000, 2.5 + POWERS / 16000)
    times[11] = 1.4
    [one] = protocol.breaks(POWERS, times).breaks
    assert (one.after, one.before) == (1024, 4096)


@pytest.mark.parametrize(
    ("sizes", "times", "says"),
    [
        (range(7), [1.0] * 7, "at least 8"),
        ([1, 1, *range(2, 9)], [1.0] * 9, "without repeats"),
        (range(9), [0.0] * 9, "above 0"),
    ],
)
def test_what_break_points_need(sizes, times, says: str) -> None:
    with pytest.raises(DataError, match=says):
        protocol.breaks(list(sizes), times)


def latencies(sizes) -> pd.DataFrame:
    times = [np.full(20, 400 + s / 4 if s <= 4096 else 2500 + s / 16) for s in sizes]
    specs = [Spec(benchmark="mpi.latency", size=int(s)) for s in sizes]
    return records.summary(records.table(map(made.samples, specs, times)))


def test_a_summary_goes_straight_in() -> None:
    [one] = protocol.protocol_of(latencies(POWERS)).breaks
    assert (one.after, one.before) == (4096, 8192)


# ---- what the library says itself

OMPI = """mca:btl:tcp:param:btl_tcp_eager_limit:value:65536
mca:btl:tcp:param:btl_tcp_eager_limit:source:environment
mca:btl:vader:param:btl_vader_rndv_eager_limit:value:32768
mca:btl:vader:param:btl_vader_eager_limit:value:4096
mca:btl:vader:param:btl_vader_eager_limit:source:default
"""
CELL = "\tMPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE={}\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\n"
OFI = "\tMPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE={}\tSCOPE_LOCAL\n"


def test_eager_limits_of_open_mpi() -> None:
    shm, tcp = eager.openmpi(OMPI, ("shm", "tcp"))
    assert (shm.name, shm.value, shm.source) == ("btl_vader_eager_limit", 4096, "ompi_info (default)")
    assert (tcp.name, tcp.value, tcp.source) == ("btl_tcp_eager_limit", 65536, "ompi_info (environment)")
    [five] = eager.openmpi(OMPI.replace("vader", "sm"), ("shm",))
    assert (five.name, five.value) == ("btl_sm_eager_limit", 4096)
    [none] = eager.openmpi("", ("tcp",))
    assert none.value is None
    assert "lists no btl_tcp_eager_limit" in none.source


@pytest.mark.parametrize(
    ("text", "device", "environment", "value", "source"),
    [
        (OFI.format(16384), "MPICH Device: ch4:ofi", {}, 16384, "mpivars"),
        (OFI.format(-1), "MPICH Device: ch4:ofi", {}, None, "provider decides"),
        ("", "", {}, None, "not listed"),
        ("", "MPICH Device: ch4:ucx", {}, None, "UCX decides"),
        ("", "MPICH Device: ch4:ucx", {"UCX_RNDV_THRESH": "8kb"}, 8192, "environment"),
        ("", "MPICH Device: ch4:ucx", {"UCX_RNDV_THRESH": "inf"}, None, "is inf"),
    ],
)
def test_eager_limits_of_mpich(text: str, device: str, environment: dict, value: int | None, source: str) -> None:
    shm, tcp = eager.mpich(CELL.format(69632) + text, device, ("shm", "tcp"), environment)
    assert (shm.value, shm.transport) == (69632, "shm")
    assert tcp.value == value
    assert source in tcp.source


def test_what_cannot_be_read_says_why(tmp_path) -> None:
    [none] = launch.eager_limits("openmpi", str(tmp_path / "mpirun"), "shm")
    assert none.value is None
    assert "ompi_info is not installed beside" in none.source
    program = tmp_path / "ompi_info"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    assert "status 3" in launch.eager_limits("openmpi", str(tmp_path / "mpirun"), "tcp")[0].source
    assert "cannot read the settings of srun" in launch.eager_limits("srun", "srun", "shm")[0].source


def test_eager_limits_of_the_installed_mpi_are_sizes_or_reasons() -> None:
    for launcher in launch.installed().values():
        for one in launch.eager_limits(launcher.kind, launcher.program):
            assert one.source
            assert one.value is None or one.value > 0


# ---- marks


def test_marks_stand_where_the_breaks_are_and_labels_keep_apart() -> None:
    over = latencies(POWERS)
    breaks = protocol.protocol_of(over).breaks
    figure = mark_breaks(
        figures.versus_size(over, "latency_us"), breaks, {"btl_vader_eager_limit": 4096, "far": 1 << 40}
    )
    lines = [shape.x0 for shape in figure.layout.shapes]
    assert sorted(lines) == pytest.approx([4096, (4096 * 8192) ** 0.5])
    labels = {note.text: note.yshift for note in figure.layout.annotations}
    assert set(labels) == {"btl_vader_eager_limit 4 KiB", "+23 %"}
    assert len(set(labels.values())) == 2
    plain = figures.versus_size(over, "latency_us")
    assert mark_breaks(figures.versus_size(over, "latency_us")).to_json() == plain.to_json()
