"""Times of schedules against formulas of the literature and a simulator of single events."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import Effort, Spec, measure
from labkit.errors import SpecError
from labkit.models import schedules
from labkit.models.loggp_engine import Costs, Line, Segment, Stage, finish, hockney, loggp
from labkit.read import records

EVERY = [(collective, name) for collective, each in schedules.ALGORITHMS.items() for name in each]
NET = {"latency": 2e-6, "o_s": 0.5e-6, "o_r": 0.7e-6, "gap": 0.9e-6, "gap_per_byte": 1e-9}
microseconds = st.floats(0, 50).map(lambda value: value * 1e-6)


def by_events(stages: list[Stage], ranks: int, p: dict[str, float], combine: float = 0.0) -> list[float]:
    """One event after another, message by message: the definition of the model in plain words."""
    programs = defaultdict(list)  # rank → its stages: messages out, number of messages in
    for number, stage in enumerate(stages):
        for rank in range(ranks):
            out = [
                (int(t), int(m)) for s, t, m in zip(stage.source, stage.target, stage.size, strict=True) if s == rank
            ]
            programs[rank].append((number, out, int((stage.target == rank).sum()), stage.combined))
    cpu, out_free, in_free = [0.0] * ranks, [-math.inf] * ranks, [-math.inf] * ranks
    arrived: dict[tuple[int, int], list[tuple[float, int, int]]] = defaultdict(list)
    place, sent = [0] * ranks, [False] * ranks
    moved = True
    while moved:
        moved = False
        for rank in range(ranks):
            while place[rank] < len(programs[rank]):
                number, out, expected, combined = programs[rank][place[rank]]
                if not sent[rank]:
                    for k, (target, size) in enumerate(out):
                        begin = max(cpu[rank], out_free[rank])
                        cpu[rank] = begin + p["o_s"]
                        out_free[rank] = begin + p["gap"] + max(size - 1, 0) * p["gap_per_byte"]
                        there = begin + p["o_s"] + p["latency"] + max(size - 1, 0) * p["gap_per_byte"]
                        heapq.heappush(arrived[target, number], (there, rank * 10_000 + k, size))
                    sent[rank] = moved = True
                if len(arrived[rank, number]) < expected:
                    break
                while arrived[rank, number]:
                    there, _, size = heapq.heappop(arrived[rank, number])
                    in_free[rank] = max(there, in_free[rank] + p["gap"] + max(size - 1, 0) * p["gap_per_byte"])
                    cpu[rank] = max(cpu[rank], in_free[rank]) + p["o_r"] + (combine * size if combined else 0)
                place[rank], sent[rank], moved = place[rank] + 1, False, True
    assert all(place[rank] == len(programs[rank]) for rank in range(ranks))
    return cpu


# ---- the engine ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("collective", "name"), EVERY)
def test_engine_agrees_with_a_simulator_of_single_events(collective: str, name: str) -> None:
    for ranks, size in itertools.product([1, 2, 3, 4, 7, 8, 12], [0, 1, 1000]):
        stages = list(schedules.schedule(collective, name, ranks, size))
        ours = finish(stages, ranks, loggp(**NET), combine=3e-10)
        assert ours == pytest.approx(by_events(stages, ranks, NET, combine=3e-10), rel=1e-12)


@given(st.data())
@pytest.mark.slow
def test_engine_agrees_with_single_events_for_any_schedule(data: st.DataObject) -> None:
    ranks = data.draw(st.integers(2, 5))
    message = st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1), st.integers(0, 9000))
    stages = []
    for _ in range(data.draw(st.integers(1, 4))):
        rows = data.draw(st.lists(message.filter(lambda one: one[0] != one[1]), min_size=1, max_size=8))
        stages.append(Stage.of(*np.array(rows).T))
    net = {name: data.draw(microseconds) for name in ("latency", "o_s", "o_r", "gap")} | {
        "gap_per_byte": data.draw(st.floats(0, 1e-8))
    }
    assert finish(stages, ranks, loggp(**net)) == pytest.approx(by_events(stages, ranks, net), rel=1e-9, abs=1e-15)


def test_single_message_and_saturation_are_those_of_loggp() -> None:
    costs, m, n = loggp(**NET), 10_001, 64
    once = NET["o_s"] + NET["latency"] + NET["o_r"] + (m - 1) * NET["gap_per_byte"]
    assert finish([Stage.of(0, 1, m)], 2, costs)[1] == pytest.approx(once)
    many = finish([Stage.of([0] * n, [1] * n, m)], 2, costs)[1]
    assert many == pytest.approx(
        once + (n - 1) * max(NET["o_s"], NET["gap"] + (m - 1) * NET["gap_per_byte"])
    )  # PRTT(n, 0, s)
    slow = loggp(**(NET | {"o_s": 20e-6}))
    assert finish([Stage.of([0] * n, [1] * n, m)], 2, slow)[0] == pytest.approx(n * 20e-6)


@pytest.mark.parametrize("ranks", [2, 4, 16, 64])
def test_formulas_of_thakur_under_hockney(ranks: int) -> None:
    alpha, beta, gamma, n = 1e-6, 1e-9, 2e-10, 64 * 1024
    lg, part = math.log2(ranks), (ranks - 1) / ranks

    def seconds(collective: str, name: str, size: int = n) -> float:
        stages = schedules.schedule(collective, name, ranks, size)
        return float(finish(stages, ranks, hockney(alpha=alpha, beta=beta), combine=gamma).max())

    assert seconds("mpi.bcast", "binomial") == pytest.approx(lg * (alpha + n * beta))
    assert seconds("mpi.allgather", "ring", n // ranks) == pytest.approx((ranks - 1) * alpha + part * n * beta)
    assert seconds("mpi.allgather", "Bruck", n // ranks) == pytest.approx(lg * alpha + part * n * beta)
    assert seconds("mpi.allreduce", "recursive doubling") == pytest.approx(lg * (alpha + n * (beta + gamma)))
    assert seconds("mpi.allreduce", "Rabenseifner") == pytest.approx(2 * lg * alpha + part * n * (2 * beta + gamma))
    assert seconds("mpi.allreduce", "ring") == pytest.approx(2 * (ranks - 1) * alpha + part * n * (2 * beta + gamma))
    assert seconds("mpi.alltoall", "pairwise", n // ranks) == pytest.approx((ranks - 1) * alpha + part * n * beta)
    assert seconds("mpi.alltoall", "Bruck", n // ranks) == pytest.approx(lg * alpha + n / 2 * lg * beta)
    assert seconds("mpi.bcast", "scatter and ring") == pytest.approx((lg + ranks - 1) * alpha + 2 * part * n * beta)


@given(
    st.sampled_from(EVERY),
    st.integers(1, 17),
    st.sampled_from([0, 1, 100, 70_000]),
    st.fixed_dictionaries(
        dict.fromkeys(("latency", "o_s", "o_r", "gap"), microseconds) | {"gap_per_byte": st.floats(0, 1e-8)}
    ),
    st.sampled_from(["latency", "o_s", "o_r", "gap", "gap_per_byte", "combine"]),
    st.floats(0, 1e-5),
)
def test_adding_to_a_component_never_shortens_a_time(
    which: tuple[str, str], ranks: int, size: int, net: dict[str, float], component: str, more: float
) -> None:
    stages = list(schedules.schedule(*which, ranks, size))
    before = finish(stages, ranks, loggp(**net), combine=1e-10)
    combine = 1e-10 + (more if component == "combine" else 0)
    if component != "combine":
        net = net | {component: net[component] + more}
    after = finish(stages, ranks, loggp(**net), combine=combine)
    assert (after >= before * (1 - 1e-12)).all()


@given(st.sampled_from(EVERY), st.integers(2, 12), st.integers(0, 11), st.floats(0, 1e-3))
def test_a_late_rank_never_makes_another_earlier(which: tuple[str, str], ranks: int, late: int, by: float) -> None:
    stages = list(schedules.schedule(*which, ranks, 500))
    start = np.zeros(ranks)
    start[late % ranks] = by
    assert (finish(stages, ranks, loggp(**NET), start=start) >= finish(stages, ranks, loggp(**NET)) - 1e-15).all()


def test_costs_change_at_the_end_of_a_segment() -> None:
    eager = Segment(time=Line(1e-6), gap=Line(0), last=4096)
    costs = Costs((eager, Segment(time=Line(5e-6, 1e-9), gap=Line(0))))
    assert costs.time([0, 4096, 4097]).tolist() == pytest.approx([1e-6, 1e-6, 5e-6 + 4097e-9])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: loggp(**(NET | {"latency": -1e-9})),
        lambda: loggp(**(NET | {"gap": math.nan})),
        lambda: hockney(alpha=math.inf, beta=0),
        lambda: Costs(()),
        lambda: Costs((Segment(time=Line(1e-6, -1e-9), gap=Line(0)),)),
        lambda: Costs((Segment(time=Line(1), gap=Line(0), last=9), Segment(time=Line(1), gap=Line(0), last=5)) * 2),
        lambda: finish([Stage.of(0, 2, 1)], 2, loggp(**NET)),
        lambda: finish([Stage.of(0, 1, -1)], 2, loggp(**NET)),
        lambda: finish([], 2, loggp(**NET), combine=-1),
        lambda: schedules.schedule("mpi.allreduce", "rings", 2, 8),
        lambda: schedules.schedule("mpi.scan", "ring", 2, 8),
        lambda: schedules.schedule("mpi.bcast", "binomial", 0, 8),
    ],
)
def test_what_no_network_can_have_is_refused(wrong: object) -> None:
    with pytest.raises(SpecError):
        wrong()  # type: ignore[operator]


# ---- the schedules ---------------------------------------------------------------------------------------------------

TO_ALL = {"mpi.allreduce", "mpi.allgather", "mpi.reduce_scatter_block", "mpi.alltoall", "mpi.barrier"}


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 7, 8, 12, 17])
@pytest.mark.parametrize("collective", schedules.ALGORITHMS)
def test_everyone_hears_from_those_whose_data_it_needs(collective: str, ranks: int) -> None:
    for name in schedules.algorithms(collective):
        hears(collective, name, ranks)


def hears(collective: str, name: str, ranks: int) -> None:
    """Check by whom each rank is reached."""
    known = [{rank} for rank in range(ranks)]
    for stage in schedules.schedule(collective, name, ranks, 64 * ranks):
        before = [set(one) for one in known]
        for source, target in zip(stage.source, stage.target, strict=True):
            known[target] |= before[source]
        assert (stage.source != stage.target).all()
    if collective in TO_ALL:
        assert all(one == set(range(ranks)) for one in known)
    elif collective in ("mpi.reduce", "mpi.gather"):
        assert known[0] == set(range(ranks))
    else:
        assert all(0 in one for one in known)


@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 8, 13, 16])
def test_bytes_that_ranks_send(ranks: int) -> None:
    size = 48 * ranks * 16

    def sent(collective: str, name: str, size: int) -> list[int]:
        total = np.zeros(ranks, np.int64)
        for stage in schedules.schedule(collective, name, ranks, size):
            np.add.at(total, stage.source, stage.size)
        return list(total)

    assert sent("mpi.allreduce", "ring", size) == [2 * size * (ranks - 1) // ranks] * ranks
    if ranks & (ranks - 1) == 0:
        assert sent("mpi.allreduce", "Rabenseifner", size) == [2 * size * (ranks - 1) // ranks] * ranks
        assert sent("mpi.alltoall", "Bruck", size) == [size * ranks // 2 * int(math.log2(ranks))] * ranks
    for name in schedules.algorithms("mpi.allgather"):
        assert sent("mpi.allgather", name, size) == [size * (ranks - 1)] * ranks
    for collective, name in itertools.product(["mpi.alltoall"], ["pairwise", "linear"]):
        assert sent(collective, name, size) == [size * (ranks - 1)] * ranks
    assert sum(sent("mpi.scatter", "linear", size)) == size * (ranks - 1)
    assert sent("mpi.scatter", "binomial", size)[0] == size * (ranks - 1)


def test_blocks_of_a_vector_that_does_not_divide_are_whole() -> None:
    stages = list(schedules.schedule("mpi.allreduce", "ring", 7, 10))
    received = sum(int(stage.size[stage.target == 3].sum()) for stage in stages)
    assert all((stage.size >= 0).all() for stage in stages)
    assert received == 16  # in each half all blocks (2, 2, 2, 2, 2, 0, 0) but one of 2 B


@pytest.mark.slow
def test_4096_ranks_end_within_a_minute() -> None:
    begin = time.process_time()
    for name in schedules.algorithms("mpi.allreduce"):
        assert finish(schedules.schedule("mpi.allreduce", name, 4096, 1 << 20), 4096, loggp(**NET)).max() > 0
    assert time.process_time() - begin < 60


# ---- beside SimGrid --------------------------------------------------------------------------------------------------

SAME = [  # collective, name of the algorithm in SimGrid's testbed, ours; others differ there by more than their name
    ("allreduce", "recursive-doubling", "recursive doubling"),
    ("allreduce", "ring", "ring"),
    *(("bcast", name, name) for name in ("binomial", "linear")),
    ("reduce", "binomial", "binomial"),
    ("gather", "binomial", "binomial"),
    ("allgather", "ring", "ring"),
    ("allgather", "bruck", "Bruck"),
    ("alltoall", "pairwise", "pairwise"),
    ("alltoall", "bruck", "Bruck"),
    ("alltoall", "linear", "linear"),
]


@pytest.mark.simgrid
@pytest.mark.slow  # one of test_simulated.py is quick
@pytest.mark.parametrize(("collective", "there", "here"), SAME)
def test_engine_agrees_with_simgrid_where_no_link_is_shared(
    collective: str, there: str, here: str, tmp_path: Path
) -> None:
    testbed, ranks, rate = f"simulated:fat-tree,nodes=12,rate=10gbit,latency=1us,algorithm={there}", 8, 10e9 / 8
    specs = [Spec(benchmark=f"mpi.{collective}", ranks=ranks, size=size, testbed=testbed) for size in (8, 65536)]
    costs = Costs((Segment(time=Line(1e-6, 1 / rate), gap=Line(0, 1 / rate)),))
    simulated = measure(specs, Effort(iterations=1, warmup=0, launches=1), into=tmp_path / "c").samples()
    for one in simulated:
        stages = schedules.schedule(f"mpi.{collective}", here, ranks, one.spec.size)
        expected = records.seconds(one)[0]  # with at most 0.02 µs for each message that a rank sends
        assert finish(stages, ranks, costs).max() == pytest.approx(expected, rel=0.01, abs=0.3e-6), one.spec.size
