"""Frames, plans and the stop rule, without any rank."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import benchmarks, stats
from labkit.errors import KernelError
from labkit.io import control_groups
from labkit.io.control_groups import Quota
from labkit.point.spec import Effort, Spec
from labkit.stats.lists import Lists
from labkit.worker import Frame, Plan, Reader, failure, reported_failure
from labkit.worker.rank import Worker
from labkit.worker.stop import CHUNK, ENOUGH, MOST, Stop
from labkit.worker.verify import compare, pattern_of


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9), max_size=5), st.integers(1, 40))
def test_frames_survive_any_cutting(payloads: list[list[int]], step: int) -> None:
    frames = [Frame({"kind": "samples", "index": i}, np.array(p, np.int64)) for i, p in enumerate(payloads)]
    stream, reader = b"".join(f.encode() for f in frames), Reader()
    received = [f for at in range(0, len(stream), step) for f in reader.feed(stream[at : at + step])]
    assert [f.header["index"] for f in received] == list(range(len(payloads)))
    assert [f.values.tolist() for f in received] == payloads
    assert all(f.encode().endswith(b"\n") for f in frames), "Open MPI 5 keeps back what ends in the middle of a line"


def test_what_is_no_frame_is_kept_aside() -> None:
    frame, reader = Frame({"kind": "point", "index": 1}).encode(), Reader()
    stream = b"Hello from a chatty library\n" + frame + b"LABKIT\n=== BAD TERMINATION ===\n" + frame
    frames = [f for at in range(len(stream)) for f in reader.feed(stream[at : at + 1])]
    assert len(frames) == 2
    assert reader.noise == "Hello from a chatty library\nLABKIT\n=== BAD TERMINATION ===\n"


def test_a_plan_survives_the_command_line() -> None:
    specs = [
        Spec(benchmark="mpi.latency", hosts=("a",), options={"timing": "each"}),
        Spec(benchmark="mpi.latency", hosts=("a",), size=7, bind="core", options={"timing": "total"}),
        Spec(benchmark="mpi.bandwidth", hosts=("a",), environment={"B": "1"}),
        Spec(benchmark="mpi.latency", hosts=("a",), size=7),
    ]
    specs = list(map(benchmarks.resolve, specs))
    for count in range(1, len(specs) + 1):
        plan = Plan(specs[:count], Effort(seed=7), mpi=False)
        word = plan.encode()
        decoded = Plan.decode(word)
        assert list(decoded.specs) == specs[:count]
        assert all(one.options == benchmarks.get(one.benchmark).options(**one.values) for one in decoded.specs)
        assert (decoded.effort, decoded.mpi) == (plan.effort, plan.mpi)
        assert word.isascii()
        assert not set(word) & set(" '\"$\\\n:")


def test_ten_thousand_points_fit_one_word() -> None:
    specs = [
        Spec(benchmark="mpi.latency", size=size, options={"timing": "each", "hugepages": False})
        for size in range(10_000)
    ]
    assert len(Plan(specs, Effort()).encode()) < 100_000


def test_a_rank_says_why_it_gave_up_even_among_noise() -> None:
    line = failure(3, KernelError("latency: MPI_ERR_RANK: invalid rank"))
    said = reported_failure(f"some MPI banner\n[1,3]<stderr>:{line}\nmore noise")
    assert said == {"kind": "KernelError", "rank": 3, "text": "latency: MPI_ERR_RANK: invalid rank"}
    assert reported_failure("nothing of the kind") is None
    assert reported_failure(line[: len(line) // 2]) is None


def chunk(each_ns: float, count: int, noise: float = 0.0) -> np.ndarray:
    steps = np.linspace(-noise, noise, count)
    return np.rint(each_ns * (1 + steps)).astype(np.int64)


def test_an_exact_count_is_exact_and_cut_into_chunks() -> None:
    stop, counts = Stop(Effort(iterations=10_000)), []
    count = stop.first(1e-4)
    while count:
        counts.append(count)
        count = stop.after(chunk(1e5, count), count, count * 1e-4)
    assert sum(counts) == 10_000
    assert max(counts) <= CHUNK / 1e-4
    assert stop.reason == "iterations"


def test_a_steady_point_stops_by_its_interval_once_p99_is_reliable() -> None:
    stop = Stop(Effort(time_cap=10))
    count = stop.first(1e-6)
    assert count == ENOUGH
    assert stop.after(chunk(1e3, count, 0.001), count, 1e-3) == 0
    assert stop.reason == "ci"
    assert stop.width is not None
    assert stop.width <= 0.02


def test_a_noisy_point_goes_on_to_the_most_that_is_needed() -> None:
    stop = Stop(Effort(time_cap=10, ci=0.0001))
    count, total = stop.first(1e-6), 0
    while count:
        total += count
        count = stop.after(chunk(1e3, count, 0.9), count, count * 1e-6)
    assert (stop.reason, total) == ("count", MOST)


def test_iterations_that_depend_on_each_other_count_for_less_before_a_point_stops() -> None:
    """Both have the same times. Slow ones in a row say less about the median than slow ones in between."""
    mixed = np.tile([900, 1100, 1000, 1005], ENOUGH // 4)
    stops = [Stop(Effort(time_cap=10, ci=0.02)) for _ in range(2)]
    nexts = [stop.after(times, ENOUGH, 1e-3) for stop, times in zip(stops, (mixed, np.sort(mixed)), strict=True)]
    assert [bool(count) for count in nexts] == [False, True]
    in_records = stats.relative_widths(stats.summaries(Lists.of([mixed * 1e-9, np.sort(mixed) * 1e-9])))
    assert [stop.width for stop in stops] == in_records.tolist()


def test_a_slow_point_stops_at_the_cap_and_says_so() -> None:
    stop = Stop(Effort(time_cap=1.0))
    count = stop.first(0.4)
    while count:
        assert count == 1
        count = stop.after(chunk(4e8, count), count, 0.4)
    assert stop.reason == "cap"
    assert stop.n == 3


def test_patterns_tell_rank_iteration_and_offset_apart() -> None:
    kinds = [(r, i) for r in range(3) for i in range(2)]
    rows = [pattern_of(r, i, 1000, np.dtype("float32")) for r, i in kinds]
    for a in range(len(rows)):
        for b in range(a):
            assert (rows[a] != rows[b]).all()
    assert not any((rows[0][:-shift] == rows[0][shift:]).all() for shift in (1, 2, 4, 8, 64, 512))


def test_wrong_bytes_are_located() -> None:
    good = pattern_of(0, 0, 100, np.dtype("uint8"))
    bad = good.copy()
    bad[42] ^= 1
    assert compare(good, good, np.dtype("uint8")) == ""
    assert "1 of 100 B differ, first at offset 42" in compare(bad, good, np.dtype("uint8"))


def test_what_two_wrote_at_once_may_be_mixed_but_nothing_else() -> None:
    one, two = (pattern_of(rank, 0, 100, np.dtype("uint8")) for rank in (1, 2))
    mixed = np.concatenate([two[:72], one[72:]])
    assert compare(mixed, np.stack([one, two]), np.dtype("uint8"), mixed=True) == ""
    assert "differ" in compare(mixed, np.stack([one, two]), np.dtype("uint8"))
    mixed[5] = 250 - mixed[5]
    assert "differ" in compare(mixed, np.stack([one, two]), np.dtype("uint8"), mixed=True)


def test_a_rank_keeps_how_often_its_quota_was_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [{"job": Quota(0.5, 10, 1)}, {"job": Quota(0.5, 30, 16)}]
    spec = benchmarks.resolve(Spec(benchmark="micro.system_call", ranks=1))
    for some, expected in ((looks, (0.5, 0.75)), ([{}, {}], (None, None))):
        monkeypatch.setattr(control_groups, "quotas", partial(next, iter(some)))
        out, into = os.pipe()
        with os.fdopen(out, "rb") as file:
            Worker(Plan([spec], Effort(launches=1, iterations=4), False), into, None).run()
            os.close(into)
            frames = [*Reader().feed(file.read())]
        (header,) = (frame.header for frame in frames if frame.header["kind"] == "samples")
        assert (header.get("processor_quota"), header.get("throttled_share")) == expected
