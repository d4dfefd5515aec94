"""Odd results: each rule fires where it must and nowhere else, launches decide, and reasons need evidence."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks
from labkit.apps import cli
from labkit.apps.show import findings
from labkit.apps.show.odd import hint
from labkit.judge import checking, rules, sentences
from labkit.judge.finding import Finding, Value
from labkit.judge.rule import PLAUSIBILITY
from labkit.judge.rules import _orders
from labkit.judge.rules._deciding import DOUBTFUL, OPEN, SHOWN, Decision, beyond
from labkit.judge.view.points import Point, Series
from labkit.point.notes import badge, note
from labkit.point.spec import Spec
from labkit.read import records
from labkit.report import oddities, sources
from labkit.report.content import Content
from labkit.stats.lists import Lists
from labkit.stats.modes import Modes, two_modes
from labkit.store.samples import Samples
from labkit.store.samples.facts import noted
from tests import made

EXAMPLES = Path(__file__).parents[1] / "data" / "campaigns" / "examples"
META = {"engine": "c", "library": "Open MPI 5.0.8", "verified": True, "timing": "each", "cadence": "streaming"}


def point(
    us: float, launches: int = 6, *, noise: float = 0.01, meta: dict[str, Any] | None = None, **spec: Any
) -> list[Samples]:
    """Launches of a point of about this latency, µs, each with its own deviation."""
    one = Spec(**{"benchmark": "mpi.latency", "transport": "shm", **spec})
    chance = np.random.default_rng(int(us * 1000) + one.size)
    made_of = []
    for launch in range(launches):
        middle = us * 2000 * np.exp(noise * chance.standard_normal())
        times = np.rint(middle * np.exp(0.02 * chance.standard_normal(300)))
        facts = META | {
            "fingerprint": one.fingerprint({}),
            "start": f"2026-01-01T00:00:{launch:02}",
            **noted((), ()),
            **(meta or {}),
        }
        made_of.append(made.samples(one, np.stack([times, times]), launch=launch, meta=facts))
    return made_of


def rate(mbps: float, launches: int = 6, *, mean: float | None = None, **spec: Any) -> list[Samples]:
    """Launches of a bandwidth that a tool reported, MB/s."""
    one = Spec(**{"benchmark": "verbs.write_bandwidth", "ranks": 1, "testbed": "soft-roce", "size": 4096, **spec})
    facts = {"engine": "pyverbs", "library": "pyverbs 1", "fingerprint": one.fingerprint({}), "timing": "each"}
    found = []
    for launch in range(launches):
        values = {"p50": mbps * (1 + 0.01 * launch)} | ({} if mean is None else {"mean": mean})
        reported = made.values("bandwidth_MBps", **values)
        found.append(made.samples(one, reported=reported, launch=launch, meta=facts))
    return found


def odd(*points: Sequence[Samples], rule: str = "", modes: dict[tuple[str, int], Modes] | None = None) -> list[Finding]:
    """Odd results of points; of one rule if it is named."""
    every = [one for launches in points for one in launches]
    found = checking.check(made.view(every, (), modes or {}), rules.about(PLAUSIBILITY))
    for one in found:
        assert sentences.sentence(one)
        assert all(sentences.sentence(cause) for cause in one.causes)
        assert (one.level == "note") == (one.decided.how == "few launches")
    return [one for one in found if not rule or one.code == rule]


def value(one: Finding, name: str = "measured") -> Value:
    """A value of a finding."""
    found = one.values[name]
    assert isinstance(found, Value)
    return found


def reasons(one: Finding) -> str:
    """The causes of a finding that the data speak for, in words."""
    return "; ".join(sentences.sentence(cause) for cause in one.causes if cause.supported)


def test_results_mention_the_surest_odd_one_and_the_command_that_shows_all() -> None:
    table = records.table([*point(21.0), *point(20.0, size=64), *point(3.0, size=4096)])
    lines = hint(table, "my campaign").splitlines()
    assert lines == [
        "odd: 1 result contradicts what is expected, mpi.latency: the latency falls although messages are larger (4 KiB: 3.004 µ…",
        "all odd results with values and possible reasons: labkit lint 'my campaign'",
    ]
    assert hint(records.table([*point(1.0), *point(1.2, size=64)]), "c") == ""
    assert hint(records.table([]), "c") == ""


def test_a_plausible_campaign_has_no_odd_result() -> None:
    assert odd(*(point(us, size=size) for size, us in ((8, 1.0), (64, 1.05), (1024, 1.5), (65536, 12.0)))) == []
    assert sentences.odd([]) == ""


# ---- order -----------------------------------------------------------------------------------------------------------


def some_points(chance: np.random.Generator) -> list[Point]:
    """Points whose values, launches and ties are chance."""
    scatter, shape = chance.choice([0.01, 0.1, 0.5]), chance.integers(4)
    middle = np.exp(scatter * chance.standard_normal(int(chance.integers(2, 24)))) * 1.5 ** chance.integers(-1, 2)
    made_of = []
    for place, one in enumerate(middle.tolist()):
        launches = int([6, 10, chance.choice([1, 2, 3]), chance.choice([1, 4, 5, 8])][shape])
        values = one * np.exp(scatter * chance.choice([0.1, 1.0]) * chance.standard_normal(launches))
        values = np.round(values, 1) + 0.1 if chance.random() < 0.3 else values
        made_of.append(Point({}, values, "latency_us", "p50", str(place), float(place)))
    return made_of


def of_all_pairs(points: Sequence[Point], rises: bool) -> tuple[str, str, Decision, int] | None:
    """The surest and widest pair, found by comparing all."""
    pairs = list(combinations(points, 2))
    wrong = [
        (first, last, decision)
        for first, last in pairs
        if (decision := beyond(*((first, last) if rises else (last, first)), len(pairs)))
    ]
    sure = [SHOWN, OPEN]
    if not wrong:
        return None
    first, last, decision = min(wrong, key=lambda one: (sure.index(one[2].decided), -one[2].times))
    return first.where, last.where, decision, sum(one[2].decided == decision.decided for one in wrong)


def test_the_surest_pair_of_a_series_is_that_of_all_pairs() -> None:
    chance, seen = np.random.default_rng(1), Counter[str]()
    for _ in range(60):
        points = some_points(chance)
        for rises in (True, False):
            found = _orders.worst(Series.of(points), rises)
            expected = of_all_pairs(points, rises)
            assert (found and (found[0].where, found[1].where, *found[2:])) == expected
            seen[expected[2].decided.how if expected else ""] += 1
    assert min(seen[name] for name in ("", "tested", "few launches")) > 2, seen


@pytest.mark.parametrize("launches", [1, 6])
def test_a_long_series_is_not_compared_pair_by_pair(launches: int) -> None:
    """There are 12 million pairs."""
    levels = np.linspace(9.0, 1.0, 5000)
    points = [Point({}, np.full(launches, one), "latency_us", "p50", str(one), one) for one in levels.tolist()]
    found = _orders.worst(Series.of(points), rises=True)
    assert found is not None
    first, last, decision, count = found
    assert (first.at, last.at, decision.decided) == (9.0, 1.0, OPEN)
    assert count == sum(np.searchsorted(levels[::-1], levels / DOUBTFUL, side="right").tolist())


def test_a_latency_that_falls_with_the_size_is_odd() -> None:
    (one,) = odd(point(1.0, size=8), point(2.0, size=64), point(1.4, size=1024))
    assert (one.code, one.decided.how, round(one.cost, 1)) == ("size-order", "tested", 1.4)
    assert [value(one).of, value(one, "other").of] == ["1 KiB", "64 B"]
    assert not one.explained
    assert one.command == "labkit measure mpi.latency -m 64,1024 --transport shm --launches 12", "there are six"


@pytest.mark.parametrize(
    ("launches", "fall", "confidence"),
    [
        (6, 1.10, "tested"),
        (6, 1.01, ""),
        (3, 1.6, "few launches"),
        (3, 1.10, ""),
        (1, 2.0, "few launches"),
        (1, 1.3, ""),
    ],
)
def test_launches_decide_and_not_a_single_value(launches: int, fall: float, confidence: str) -> None:
    found = odd(point(2.0, launches, size=8, noise=0.002), point(2.0 / fall, launches, size=64, noise=0.002))
    assert [one.decided.how for one in found] == [confidence] * bool(confidence)


def test_a_noisy_launch_makes_no_wrong_order() -> None:
    """The median of three launches falls, but their ranges overlap."""
    noisy = [*point(2.0, 2, size=8), *point(5.0, 3, size=8)[2:]]
    assert odd(noisy, point(1.9, 3, size=64), rule="size-order") == []


def test_a_message_rate_may_fall_with_the_size_and_a_bandwidth_may_not() -> None:
    falling = [rate(mbps, size=size) for size, mbps in ((4096, 20.0), (65536, 10.0))]
    assert [one.code for one in odd(*falling)] == ["size-order"]
    assert odd(*(rate(mbps, size=size) for size, mbps in ((4096, 10.0), (65536, 20.0)))) == []


def test_a_window_that_is_slower_than_the_same_messages_one_by_one_is_odd() -> None:
    def window(mbps: float, launches: int = 6, **options: Any) -> list[Samples]:
        half = 64 * 65536 / mbps / 2  # µs, which `point` doubles
        return point(half, launches, benchmark="mpi.bandwidth", size=65536, options={"window": 64, **options})

    alone = point(10.0, size=65536)  # 6,554 MB/s
    (one,) = odd(alone, window(3000.0), rule="window-order")
    assert (one.decided.how, round(one.cost, 1), round(value(one, "other").value, -2)) == ("tested", 2.2, 6500)
    assert one.subject.benchmark == "mpi.bandwidth"
    assert "-m 65536" in one.command
    assert not one.explained, "one buffer serves all messages of the window"
    (apart,) = odd(alone, window(3000.0, buffers="multiple"), rule="window-order")
    (cause,) = [each for each in apart.causes if each.code == "cache-size"]
    assert "64 × 64 KiB = 4 MiB in flight" in sentences.sentence(cause)
    assert [each.spec.values["window"] for each in cause.measure] == [2]
    (few,) = odd(point(10.0, 3, size=65536), window(3000.0, 3), rule="window-order")
    assert few.decided.how == "few launches"
    assert odd(alone, window(7000.0), rule="window-order") == []
    assert odd(point(10.0, size=65536, transport="tcp"), window(3000.0), rule="window-order") == [], "another path"
    assert odd(point(10.0, size=4096), window(3000.0), rule="window-order") == [], "another size"
    some = point(10.0, size=65536, options={"threads": 1}), window(3000.0, threads=1), window(2900.0, threads="all")
    assert len(odd(*some, rule="window-order")) == 1, "a number in one table, and words in the other"


def test_points_that_differ_in_a_setting_are_not_compared() -> None:
    assert odd(point(2.0, size=8, transport="tcp"), point(1.0, size=64)) == []


def test_a_collective_that_is_faster_with_more_ranks_is_odd() -> None:
    def bcast(us: float, ranks: int) -> list[Samples]:
        return point(us, benchmark="mpi.bcast", ranks=ranks)

    assert odd(bcast(2.0, 2), bcast(3.0, 4), rule="rank-order") == []
    (one,) = odd(bcast(3.0, 2), bcast(2.0, 4), rule="rank-order")
    assert [value(one).of, value(one, "other").of] == ["4 ranks", "2 ranks"]


def test_more_loss_must_not_raise_a_bandwidth_and_the_mean_explains_it() -> None:
    assert odd(rate(6.0), rate(5.0, testbed="soft-roce,loss=1")) == []
    (one,) = odd(rate(6.0, mean=6.0), rate(13.0, testbed="soft-roce,loss=1", mean=1.8), rule="loss-order")
    assert one.decided.how == "tested"
    assert "means are in order: 6 MB/s and 1.8 MB/s" in reasons(one)
    (one,) = odd(rate(6.0, mean=6.0), rate(13.0, testbed="soft-roce,loss=1", mean=13.0), rule="loss-order")
    assert not one.explained
    (one,) = odd(rate(6.0, 1), rate(13.0, 1, testbed="soft-roce,loss=1"), rule="loss-order")
    assert one.decided.how == "few launches"
    assert one.command.count("--launches 6") == 2


def test_delay_and_rate_of_a_link_have_their_order() -> None:
    assert [one.code for one in odd(rate(6.0), rate(9.0, testbed="soft-roce,delay=4ms"))] == ["delay-order"]
    slow, fast = rate(0.9, testbed="soft-roce,rate=8mbit"), rate(0.5, testbed="soft-roce,rate=24mbit")
    assert [one.code for one in odd(slow, fast)] == ["rate-order"]
    assert odd(slow, rate(2.5, testbed="soft-roce,rate=24mbit")) == []


def test_levels_of_two_options_of_a_testbed_are_not_mixed() -> None:
    assert odd(rate(6.0, testbed="soft-roce,rate=80mbit"), rate(9.0, testbed="soft-roce,delay=4ms")) == []


# ---- single points ---------------------------------------------------------------------------------------------------


def test_a_time_that_jumps_is_odd_and_a_step_of_a_protocol_is_not() -> None:
    jump = [point(us, 3, size=size, transport="tcp") for size, us in ((8, 21.0), (4096, 3908.0), (65536, 4100.0))]
    (one,) = odd(*jump, rule="size-jump")
    assert (value(one).of, one.decided.how) == ("4 KiB", "few launches")
    assert "tick of the scheduler" in reasons(one)
    step = [point(us, 3, size=size, transport="tcp") for size, us in ((8, 21.0), (4096, 60.0), (65536, 300.0))]
    assert odd(*step, rule="size-jump") == []


def test_a_flow_faster_than_its_link_is_odd() -> None:
    assert odd(rate(0.99, testbed="soft-roce,rate=8mbit")) == []
    (one,) = odd(rate(2.0, testbed="soft-roce,rate=8mbit"))
    assert (one.code, one.decided.how) == ("above-link", "tested")
    assert value(one, "limit").value == 1.0
    early = point(300.0, size=16384, transport="auto", testbed="virtual-cluster:4,rate=200mbit")
    (one,) = odd(early)
    assert not one.explained, "a round trip of 600 µs is too short for one direction"
    (one,) = odd(point(345.0, size=16384, transport="auto", testbed="virtual-cluster:4,rate=200mbit"))
    assert "token bucket" in reasons(one)
    assert odd(point(700.0, size=16384, transport="auto", testbed="virtual-cluster:4,rate=200mbit")) == []
    # of a job on emulated hosts, whose command names no testbed
    job = {"testbed": {"rate_bps": 2e8}, **made.noted({"badges": ["emulated link"]})}
    (one,) = odd(point(345.0, size=16384, transport="auto", meta=job))
    assert one.code == "above-link"
    assert odd(point(700.0, size=16384, transport="auto", meta=job)) == []
    assert odd(point(345.0, size=16384, transport="tcp", meta=job | made.noted({"badges": ["loopback"]}))) == []


def test_a_tail_below_its_median_is_odd() -> None:
    spec = Spec(benchmark="sockets.tcp_rr", ranks=1, size=64)
    meta = {"fingerprint": "f", "engine": "netperf", "library": "netperf 2.7"}

    def told(**values: float) -> list[Samples]:
        return [made.samples(spec, reported=made.values("round_trip_us", **values), meta=meta)]

    assert odd(told(p50=20.0, p95=30.0, p99=40.0)) == []
    (one,) = odd(told(p50=20.0, p95=30.0, p99=25.0))
    assert (one.code, one.decided.how) == ("tail-order", "counted")
    assert reasons(one).endswith("(labkit ignores this value everywhere)")


def test_retransmissions_need_a_link_that_loses() -> None:
    def counted(testbed: str, again: int) -> list[Samples]:
        one = rate(6.0, 1, testbed=testbed)[0]
        counters = {"a.sent_pkts": 1000, "a.completer_retry_err": again, "a.out_of_seq_request": 0}
        return [made.samples(one.spec, reported=one.reported, meta={**one.meta, "evidence": counters})]

    assert odd(counted("soft-roce", 0), rule="lossless") == []
    assert odd(counted("soft-roce,loss=1", 9), rule="lossless") == []
    (one,) = odd(counted("soft-roce,rate=24mbit", 9), rule="lossless")
    assert sentences.sentence(one).endswith("9 events, 0.9 % of 1,000 packets")
    assert "queue" in reasons(one)


def test_one_slow_launch_is_odd_and_two_are_not() -> None:
    slow = [*point(2.0, 5), *point(3.0, 6)[5:]]
    (one,) = odd(slow)
    assert (one.code, value(one).of, one.decided.how) == ("slow-launch", "launch 5", "counted")
    assert odd([*point(2.0, 4), *point(3.0, 6)[4:]]) == []
    assert odd([*point(2.0, 1), *point(3.0, 2)[1:]]) == [], "of two launches, none is the slow one"


@pytest.mark.slow
def test_a_slow_launch_names_its_own_notes_and_its_company() -> None:
    busy = noted([badge("busy machine")], [note("few-iterations", "5 iterations", have=5)])
    slow = [*point(2.0, 5), *point(3.0, 6, meta=busy)[5:]]
    other = [*point(2.0, 5, size=64), *point(3.0, 6, size=64)[5:]]
    one, _ = sorted(odd(slow, other, rule="slow-launch"), key=lambda each: each.subject.setting)[::-1]
    causes = "; ".join(map(reasons, odd(slow, other)))
    assert "a disturbance of the whole machine (1 more point slow in launch 5 within 15 s)" in causes
    assert "other programs used the processors in 1 of 6 launches" in causes
    assert "busy machine" in [sentences.clue(one, each) for each in one.evidence]


def test_two_modes_must_be_in_more_than_half_of_the_launches() -> None:
    launches = point(2.0)
    name = str(launches[0].meta["fingerprint"])
    two = {(name, launch): Modes(1e-6, 3e-6, 0.4) for launch in range(4)}
    (one,) = odd(launches, modes=two)
    assert (one.code, value(one).value, round(one.cost)) == ("two-modes", 3.0, 3)
    assert odd(launches, modes=dict(list(two.items())[:3])) == []


@pytest.mark.parametrize(
    ("benchmark", "options", "share", "kinds"),
    [
        ("storage.mixed", {"read_percent": 70}, 0.3, "reads and writes"),
        ("storage.mixed", {"read_percent": 70}, 0.68, "reads and writes"),
        ("storage.mixed", {"read_percent": 70}, 0.5, ""),
        ("mpi.buffer_reuse", {"reuse": 80}, 0.2, "messages from the same buffer and from others"),
        ("kv.closed_loop", {"workload": "B"}, 0.06, "kinds of operations"),
        ("kv.closed_loop", {"workload": "C"}, 0.06, ""),
    ],
)
def test_two_modes_of_a_mix_are_explained_by_its_shares(
    benchmark: str, options: dict[str, Any], share: float, kinds: str
) -> None:
    asked = Spec(benchmark=benchmark, size=4000, ranks=2 if benchmark == "mpi.buffer_reuse" else 1).replace(
        options=options
    )
    spec = benchmarks.resolve(asked)
    fields = ("benchmark", "size", "ranks", "transport", "options")
    launches = point(2.0, **{name: getattr(spec, name) for name in fields})
    name = str(launches[0].meta["fingerprint"])
    (one,) = odd(launches, rule="two-modes", modes={(name, n): Modes(1e-6, 3e-6, share) for n in range(6)})
    assert (f"the iterations are a mix (of {kinds}: " in reasons(one)) == bool(kinds)


# ---- causes ----------------------------------------------------------------------------------------------------------


def test_points_that_were_not_measured_in_turn_are_named() -> None:
    later = {"start": "2026-01-01T01:00:00"}
    (one,) = odd(point(2.0, size=64), point(1.4, size=1024, meta=later))
    assert reasons(one) == "the points were not measured in turn (one ended at 00:00:05, the other began at 01:00:00)"
    (one,) = odd(point(2.0, size=64), point(1.4, size=1024))
    assert reasons(one) == ""


def test_a_change_of_protocol_is_named_where_benchmarks_of_a_library_share_it() -> None:
    def falling(benchmark: str) -> list[list[Samples]]:
        return [point(us, size=size, benchmark=benchmark) for size, us in ((64, 2.0), (1024, 1.4))]

    shared = odd(*falling("mpi.latency"), *falling("mpi.bcast"))
    assert {one.subject.benchmark: reasons(one) for one in shared} == {
        name: f"the library changes its protocol or algorithm (so do {other} with Open MPI 5.0.8 between 64 B and 1 KiB)"
        for name, other in (("mpi.latency", "mpi.bcast"), ("mpi.bcast", "mpi.latency"))
    }
    (alone,) = odd(*falling("mpi.latency"))
    assert reasons(alone) == ""


def test_messages_that_no_longer_fit_in_a_cache_are_named() -> None:
    def local(mbps: float, size: int) -> list[Samples]:
        return rate(mbps, size=size, benchmark="mpi.get_bandwidth", ranks=2, testbed="local", transport="shm")

    (one,) = odd(local(20.0, 4096), local(10.0, 1 << 20))
    assert reasons(one).endswith("(1 × 1 MiB = 1 MiB in flight)")
    (one,) = odd(local(20.0, 4096), local(10.0, 8192))
    assert reasons(one) == ""


def test_a_busy_machine_explains_a_slow_launch_whatever_it_leaves_of_the_processors() -> None:
    """An iteration that waits for a time slice takes far longer than its share of the processors says."""
    load = note("busy-machine", "busy machine", processors=1.0, cores=2)
    (one,) = odd([*point(2.0, 5), *point(90.0, 6, meta=noted([], [load]))[5:]], rule="slow-launch")
    assert "busy machine (other programs used the processors in 1 of 6 launches)" in reasons(one)


@pytest.mark.parametrize("everywhere", [True, False])
def test_what_all_launches_share_explains_none_that_is_slow(everywhere: bool) -> None:
    load = note("busy-machine", "busy machine", processors=1.0, cores=2)
    marked = {"meta": {**noted([], [load]), "involuntary_switches": 100}}
    usual = point(2.0, 5, **(marked if everywhere else {}))
    (one,) = odd([*usual, *point(90.0, 6, **marked)[5:]], rule="slow-launch")
    assert ("busy machine" in reasons(one)) is not everywhere
    assert ("it lost it 100 times in 300 iterations" in reasons(one)) is not everywhere


def test_modes_of_a_rotating_root_and_of_a_lost_processor_are_explained() -> None:
    def bimodal(**fields: Any) -> str:
        launches = point(2.0, benchmark="mpi.reduce", **fields)
        name = str(launches[0].meta["fingerprint"])
        (one,) = odd(launches, modes={(name, number): Modes(1e-6, 3e-6, 0.4) for number in range(6)})
        return reasons(one)

    assert bimodal() == ""
    assert bimodal(options={"rotate": True}) == "the root rotates, and some ranks are slower roots (rotate=true)"
    lost = bimodal(meta={"involuntary_switches": 100})
    assert lost == "rank 0 waits for its processor (it lost it 600 times in 1,800 iterations)"


# ---- modes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.02, 0.2, 1.0])
def test_one_hill_is_one_mode_whatever_its_form(scale: float) -> None:
    chance = np.random.default_rng(3)
    samples = [
        chance.lognormal(0, scale, 3000),
        1 + chance.exponential(scale, 3000),
        1 + chance.gamma(2, scale, 3000),
        chance.uniform(1, 1 + scale, 3000),
        np.concatenate([chance.lognormal(0, scale, 2900), 50 * chance.lognormal(0, scale, 100)]),
    ]
    assert two_modes(Lists.of(samples)) == {}


def test_steps_of_a_clock_are_no_modes() -> None:
    steps = np.random.default_rng(1).choice([40.0, 50.0], 1000)
    assert two_modes(Lists.of([steps, np.ones(1000), np.zeros(1000)])) == {}


def test_modes_of_a_launch_do_not_depend_on_the_launches_beside_it() -> None:
    chance = np.random.default_rng(4)
    rows = chance.lognormal(0, 0.05, (500, 300))  # more than are looked at together
    rows *= np.where(chance.random(rows.shape) < chance.random((500, 1)), 1 + chance.random((500, 1)), 1)
    rows[::9, 0] = 0
    rows[1::9, 0] = np.inf
    each = [row[: 300 - place % 3] for place, row in enumerate(rows)]  # of different lengths
    together = two_modes(Lists.of(each))
    assert 50 < len(together) < 450
    assert together == {place: modes for place in range(500) for modes in two_modes(Lists.of([each[place]])).values()}


# ---- where they are shown --------------------------------------------------------------------------------------------


def test_lint_asks_for_a_comment_on_each_odd_result() -> None:
    points = [*point(1.0, size=8), *point(2.0, size=64), *point(1.4, size=1024)]
    view = made.view(points)
    found = checking.check(view)
    (one,) = [one for one in found if one.code == "size-order"]
    assert (one.level, one.explained) == ("doubtful", False)
    printed = findings.linted(view, found)
    assert "the latency falls although messages are larger (1 KiB: 1.4" in printed
    assert f"run: {one.command}" in printed
    (plain,) = [one for one in json.loads(findings.linted_json(view, found))["findings"] if one["code"] == "size-order"]
    assert (plain["values"]["measured"]["of"], plain["causes"]) == ("1 KiB", [])


def test_the_rules_are_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "lint.md").read_text()
    for made_of in (checking.expected, checking.observed):
        assert made_of() in page, f"docs/lint.md: paste what labkit.judge.checking.{made_of.__name__}() returns"


# Every finding of the examples: rule, benchmark, odd value in its unit, confidence, whether a reason is named. All were
# read, and some of each rule checked against the values of each launch.
CHECKED = {
    "two-cores": [
        ("slow-launch", "mpi.put_bandwidth", 230.0, "counted", False),
        ("slow-launch", "storage.read", 15700.0, "counted", True),
        ("slow-launch", "storage.read", 12900.0, "counted", True),
        ("slow-launch", "storage.write", 12500.0, "counted", True),
        ("slow-launch", "storage.read", 1680.0, "counted", True),
        ("slow-launch", "storage.read", 3910.0, "counted", True),
        ("two-modes", "storage.mixed", 49.6, "counted", True),
        ("slow-launch", "mpi.file_iwrite", 1010.0, "counted", False),
        ("slow-launch", "micro.memory_copy", 8120.0, "counted", False),
        ("slow-launch", "mpi.latency", 587.0, "counted", True),
        ("size-order", "mpi.get_bandwidth", 12100.0, "tested", True),
        ("slow-launch", "mpi.ialltoall", 26.8, "counted", True),
        ("slow-launch", "mpi.latency", 142.0, "counted", True),
        ("size-order", "micro.memory_copy", 48400.0, "tested", True),
        ("two-modes", "mpi.reduce", 0.21, "counted", True),
        ("slow-launch", "mpi.bandwidth", 78.8, "counted", False),
        ("slow-launch", "mpi.bandwidth", 818.0, "counted", True),
        ("slow-launch", "mpi.bandwidth", 87.5, "counted", True),
        ("slow-launch", "mpi.allreduce", 0.33, "counted", False),
        ("slow-launch", "mpi.bandwidth", 1520.0, "counted", True),
        ("slow-launch", "mpi.file_open_close", 352.0, "counted", False),
        ("slow-launch", "mpi.file_read", 4.86, "counted", True),
        ("slow-launch", "mpi.file_read", 67.0, "counted", True),
        ("slow-launch", "mpi.allreduce", 169.0, "counted", False),
        ("slow-launch", "mpi.allreduce", 14.0, "counted", False),
        ("slow-launch", "micro.loopback", 8.75, "counted", True),
        ("slow-launch", "micro.loopback", 44.1, "counted", True),
        ("slow-launch", "micro.memory_copy", 71000.0, "counted", True),
        ("slow-launch", "storage.write", 3.72, "counted", True),
        ("slow-launch", "mpi.bandwidth", 42.6, "counted", True),
        ("slow-launch", "micro.loopback", 153.0, "counted", True),
        ("lossless", "verbs.read_latency", 4.0, "counted", True),
        ("lossless", "verbs.send_bandwidth", 2.0, "counted", True),
        ("two-modes", "verbs.send_latency", 106.0, "few launches", False),
        ("window-order", "mpi.bandwidth", 1330.0, "tested", False),
    ],
    "virtual-cluster": [
        ("above-link", "mpi.latency", 345.0, "tested", True),
        ("above-link", "mpi.latency", 22.2, "tested", True),
        ("slow-launch", "congestion.gpcnet_isolated", 1380.0, "counted", True),
        ("two-modes", "mpi.all_pairs", 41500.0, "counted", True),
        ("slow-launch", "sockets.tcp_rr", 68.0, "counted", True),
        ("two-modes", "apps.fft_subcom3d", 32.5, "counted", False),
        ("slow-launch", "micro.core_to_core_copy", 16600.0, "counted", True),
        ("slow-launch", "micro.core_to_core_copy", 12300.0, "counted", True),
        ("slow-launch", "congestion.gpcnet_congestors", 4080.0, "counted", True),
        ("slow-launch", "apps.fft_subcom3d", 1110.0, "counted", False),
    ],
}


@pytest.fixture(scope="module")
def example(request: pytest.FixtureRequest) -> tuple[str, sources.Source]:
    """A recorded campaign."""
    return request.param, sources.read(EXAMPLES / request.param)


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted(CHECKED), indirect=True)
def test_every_odd_result_of_the_examples_was_checked_by_hand(example: tuple[str, sources.Source]) -> None:
    name, source = example
    found = [
        (one.code, one.subject.benchmark, float(f"{value(one).value:.3g}"), one.decided.how, one.explained)
        for one in source.odd
    ]
    assert sorted(found) == sorted(CHECKED[name])


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted(CHECKED), indirect=True)
def test_the_command_of_each_odd_result_is_one_that_labkit_accepts(example: tuple[str, sources.Source]) -> None:
    parser = cli.parser()
    for one in example[1].odd:
        for command in filter(None, one.command.split("; ")):
            options = parser.parse_args(shlex.split(command)[1:])
            others = {"mpi.latency"} if one.code == "window-order" else set()
            assert options.benchmark in {one.subject.benchmark, *others}
            assert int(options.launches) >= 6


@pytest.mark.parametrize(
    "example",
    ["two-cores-limits", *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(CHECKED))],
    indirect=True,
)
def test_the_report_counts_and_lists_them(example: tuple[str, sources.Source]) -> None:
    source = example[1]
    content = Content([source], {})
    assert oddities.count(content).startswith("**Odd results:** ")
    assert "unexplained" in oddities.count(content)
    listed = oddities.listed(content)
    shown = sum(int(match) for match in re.findall(r"(\d+)\xa0places?", listed))
    assert shown == len(source.odd), "each is in a row, or among those of less weight"
    assert oddities.as_csv(content).count("\n") == len(source.odd) + 1
    assert not re.search(r"\d:\d\d:\d\d", " ".join(map(oddities._told, source.odd))), "moments have no seconds"
    assert oddities.listed(Content([], {})) == "No result contradicts what is expected."
