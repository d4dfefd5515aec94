"""What the NAS kernels must compute, and on how many ranks: no ranks."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labkit import benchmarks, figures
from labkit.benchmarks import ApplicationBenchmark
from labkit.benchmarks.compute import _nas, _skeletons
from labkit.benchmarks.compute._ft_checksums import CHECKSUMS
from labkit.errors import DataError, SpecError
from labkit.formats import npb
from labkit.point.spec import Spec
from labkit.studies import nas_kernels
from labkit.worker import solution

NAMES = [f"compute.nas_{name}" for name in _nas.KERNELS]


def nas(name: str, ranks: int = 1, letter: str = "S") -> Spec:
    return benchmarks.resolve(Spec(benchmark=f"compute.nas_{name}", ranks=ranks, options={"npb_class": letter}))


def wrong(spec: Spec, *values: float) -> str:
    benchmark = benchmarks.get(spec.benchmark)
    assert isinstance(benchmark, ApplicationBenchmark)
    return benchmark.wrong(spec, np.array([*values] + [0.0] * (_nas.RESULTS - len(values))))


@pytest.mark.parametrize("letter", _nas.CLASSES)
def test_published_values_pass_and_others_fail(letter: str) -> None:
    zeta = _nas._MATRICES[letter][4]
    assert wrong(nas("cg", 1, letter), zeta * (1 + 9e-11)) == ""
    assert wrong(nas("cg", 1, letter), zeta * (1 + 2e-10)).startswith("zeta is")
    assert wrong(nas("cg", 1, letter), float("nan"))
    x, y = _nas._SUMS[letter]
    assert wrong(nas("ep", 1, letter), x * (1 - 9e-9), y) == ""
    assert "sum of Y" in wrong(nas("ep", 1, letter), x, y * (1 + 2e-8))
    norm = _nas._CUBES[letter][2]
    assert wrong(nas("mg", 1, letter), norm * (1 + 9e-9)) == ""
    assert wrong(nas("mg", 1, letter), norm * (1 + 2e-8)).startswith("norm")
    sums = [part for value in CHECKSUMS[letter] for part in (value.real, value.imag)]
    assert len(sums) == 2 * _nas._BOXES[letter][3]
    assert wrong(nas("ft", 1, letter), *sums) == ""
    sums[-1] *= 1 + 3e-12
    assert f"step {len(sums) // 2} is" in wrong(nas("ft", 1, letter), *sums)


@pytest.mark.parametrize("letter", _nas.CLASSES)
def test_one_key_in_the_wrong_place_fails(letter: str) -> None:
    spec, keys = nas("is", 1, letter), 1 << _nas._KEYS[letter][0]
    ranks = [_nas._TESTS[letter].rank(test, round_) for round_ in range(1, 11) for test in range(5)]
    assert wrong(spec, *ranks, 0, keys) == ""
    assert "out of order" in wrong(spec, *ranks, 1, keys)
    assert "out of order" in wrong(spec, *ranks, 0, keys - 1)
    ranks[23] += 1
    assert "test key 3" in wrong(spec, *ranks, 0, keys)


@pytest.mark.parametrize("kernel", ["cg", "ep", "is"])  # the log of MG is of NPB 3.0, whose class W is another one
def test_operations_are_those_of_npb_s_outputs(kernel: str) -> None:
    """Mop/s times seconds, within half of the last digit of both."""
    log = Path(__file__).parent / "golden" / "logs" / "npb" / f"npb_{kernel}.txt"
    (run,) = npb.LOG.read(log.read_text(), log.name)
    printed = {value.name: value.value for value in run.values}
    operations = _nas.KERNELS[kernel].operations(nas(kernel, 1, str(run.options["npb_class"])))
    digits = 0.006 / printed["run_time_s"] + 0.006 / printed["operations_Mops"]
    assert printed["operations_Mops"] * printed["run_time_s"] == pytest.approx(operations * 1e-6, rel=digits)


@pytest.mark.parametrize(
    ("name", "ranks", "said"),
    [
        ("is", 3, "power of two. Set ranks=2 or 4"),
        ("cg", 6, "Set ranks=4 or 8"),
        ("is", 256, "at most 128. Set ranks=128"),
        ("ep", 257, "at most 256. Set ranks=256"),
        ("mg", 5, "Set ranks=4 or 8"),
        ("ft", 128, "at most 64. Set ranks=64"),
        ("bt_skeleton", 5, "needs a square. Set ranks=4 or 9"),
        ("sp_skeleton", 25, "cells for at most 16. Set ranks=16"),
        ("lu_skeleton", 3, "power of two. Set ranks=2 or 4"),
        ("lu_skeleton", 1, "ranks=1, but compute.nas_lu_skeleton needs at least 2"),
    ],
)
def test_impossible_numbers_of_ranks_say_what_to_set(name: str, ranks: int, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        nas(name, ranks)


def test_one_rank_and_odd_numbers_where_they_are_possible() -> None:
    for name in NAMES:
        assert benchmarks.resolve(Spec(benchmark=name, ranks=1)).ranks == 1
    assert nas("ep", 3).ranks == 3


# ---- skeletons


@pytest.mark.parametrize(
    ("name", "letter", "ranks", "pairs", "messages", "size"),
    [
        ("bt", "S", 4, 12, 48, 233_760),
        ("bt", "W", 4, 12, 48, 844_320),
        ("bt", "W", 9, 54, 162, 1_777_680),
        ("sp", "W", 4, 12, 48, 1_509_888),
        ("sp", "W", 9, 54, 162, 3_019_776),
        ("lu", "S", 2, 2, 22, 31_040),
        ("lu", "W", 4, 8, 256, 502_240),
        ("lu", "W", 8, 20, 640, 1_004_480),
    ],
)
def test_a_step_has_the_messages_of_npb(
    name: str, letter: str, ranks: int, pairs: int, messages: int, size: int
) -> None:
    """Pairs of ranks, messages and bytes of a step of NPB 3.3's own programs, counted by MPI's profiling interface."""
    spec = nas(f"{name}_skeleton", ranks, letter)
    sent = [
        (rank, peer, tag, count)
        for rank in range(ranks)
        for kind, peer, count, tag, _ in _skeletons.calls(spec, rank)
        if kind in (_skeletons.SEND, _skeletons.ISEND)
    ]
    assert len({(rank, peer) for rank, peer, _, _ in sent}) == pairs
    assert (len(sent), 8 * sum(count for *_, count in sent)) == (messages, size)
    steps = _skeletons.steps(spec)
    assert (_skeletons.messages(spec), _skeletons.moved(spec)) == (steps * messages, steps * size)


@pytest.mark.parametrize(("name", "ranks"), [("bt", 9), ("sp", 16), ("lu", 2), ("lu", 8), ("lu", 16)])
def test_every_message_of_a_skeleton_has_its_receive(name: str, ranks: int) -> None:
    """In the same order for each pair of ranks and tag, of the same size, and slots hold one message at a time."""
    spec, sent, received = nas(f"{name}_skeleton", ranks, "A"), {}, {}  # type: ignore[var-annotated]
    for rank in range(ranks):
        busy: set[int] = set()
        for kind, peer, count, tag, slot in _skeletons.calls(spec, rank):
            assert 0 <= tag < _skeletons.TAGS
            assert 0 <= slot < _skeletons.SLOTS
            assert count <= _skeletons.stride(spec)
            if kind in (_skeletons.SEND, _skeletons.ISEND):
                sent.setdefault((rank, peer, tag), []).append(count)
            if kind in (_skeletons.RECV, _skeletons.IRECV):
                received.setdefault((peer, rank, tag), []).append(count)
            if kind in (_skeletons.IRECV, _skeletons.ISEND):
                assert slot not in busy
                busy.add(slot)
            if kind == _skeletons.WAIT:
                busy.remove(slot)
            if kind == _skeletons.WAITALL:
                assert busy == set(range(count))
                busy.clear()
        assert busy == set()
    assert sent == received


def test_a_skeleton_whose_messages_were_wrong_fails() -> None:
    spec = nas("lu_skeleton", 2)
    assert wrong(spec, 0.0, 1100.0) == ""
    assert "1 of 1100 messages were not those" in wrong(spec, 1.0, 1100.0)
    assert "there must be 1100" in wrong(spec, 0.0, 1099.0)


def specs(**values: str) -> list[tuple[str, int]]:
    """Kernel and ranks of each point that the notebook plans."""
    study = nas_kernels.Study(measure=False, campaign="none", **{"skeletons": "", **values})
    return [(spec.benchmark.removeprefix("compute.nas_"), spec.ranks) for spec in study.specs()]


def test_the_notebook_leaves_out_ranks_that_a_kernel_cannot_use() -> None:
    assert specs(kernels="EP,is", ranks="2,3") == [("ep", 2), ("ep", 3), ("is", 2)]
    with pytest.raises(SpecError, match="power of two"):
        specs(kernels="is,cg", ranks="3")
    with pytest.raises(SpecError, match="NAS kernel"):
        specs(kernels="sp")
    with pytest.raises(SpecError, match="skeleton"):
        specs(skeletons="cg")
    assert specs(kernels="ep", ranks="2,3,4", skeletons="bt,lu") == [
        *(("ep", ranks) for ranks in (2, 3, 4)),
        *(("bt_skeleton", 4), ("lu_skeleton", 2), ("lu_skeleton", 4)),
    ]
    assert specs(kernels="ep", ranks="2,4", originals="bt,ua") == [("ep", 2), ("ep", 4), ("compute.npb", 4)]
    with pytest.raises(SpecError, match="class"):
        specs(classes="X")


def test_the_original_programs_stand_beside_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = {"ranks": 2, "transport": "auto", "option_npb_class": "S", "run_time_s_step": 0.01}
    rows = [
        {**shared, "benchmark": "compute.nas_cg", "operations_Mops_p50": 900.0},
        {
            **shared,
            "benchmark": "compute.npb",
            "option_kernel": "CG",
            "operations_Mops_value": 1000.0,
            "run_time_s_value": 0.04,
        },
        {
            **shared,
            "benchmark": "compute.npb",
            "option_kernel": "BT",
            "operations_Mops_value": 2000.0,
            "run_time_s_value": 2.5,
        },
    ]
    monkeypatch.setattr(nas_kernels.Study, "summary", pd.DataFrame(rows))
    monkeypatch.setattr(nas_kernels.Study, "apart", {})
    study = nas_kernels.Study(measure=False, campaign="none")
    table = study.originals()
    assert list(table["program, class"]) == ["BT S", "CG S"]
    assert list(table["Mop/s"]) == [2000.0, 1000.0]
    assert list(table["time (s)"]) == ["2.5", "≤ 0.04"]
    assert table["Mop/s of labkit's kernel"].fillna(0).tolist() == [0.0, 900.0]
    assert list(study.rows()["problem"]) == ["CG S"]


def test_the_figures_have_every_rank_and_every_pair() -> None:
    computing, inside = np.array([0.3, 0.1]), np.array([0.1, 0.3])
    split = figures.time_split([figures.Shares("CG S", computing, inside)], small="of a run")
    assert [list(trace.y) for trace in split.data] == [[75.0, 25.0], [25.0, 75.0]]
    messages = np.array([[0, 20], [10, 0]])
    quiet = figures.Traffic("EP S", np.zeros((2, 2), int), np.zeros((2, 2), int))
    drawn = figures.traffic([quiet, figures.Traffic("CG S", messages, messages * 1500)])
    assert [one.type for one in drawn.data] == ["heatmap", "scatter", "scatter"], "texts stand apart, dark or light"
    assert drawn.data[0].text[0] == ["", "20 ×<br>1.5 kB"]
    assert drawn.data[0].z[1] == [pytest.approx(4.176, abs=1e-3), None]
    with pytest.raises(DataError, match="two ranks or more"):
        figures.traffic([quiet])
    with pytest.raises(DataError, match="nas_cg"):
        figures.time_split([])


class Node:
    """An MPI whose ranks all run on one host."""

    COMM_TYPE_SHARED = 0
    size = 4
    COMM_WORLD = property(lambda self: self)

    def Split_type(self, kind: int) -> "Node":  # noqa: N802
        return self

    def Free(self) -> None:  # noqa: N802
        """Nothing to free."""

    def Get_processor_name(self) -> str:  # noqa: N802
        return "node1"


def test_memory_that_is_not_there_is_named_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = nas("ft", 4, "C")
    benchmark = benchmarks.get(spec.benchmark)
    assert isinstance(benchmark, ApplicationBenchmark)
    monkeypatch.setattr(solution, "_available", lambda here: 2 * 2**30)
    assert "7.52 GB for 4 ranks on node1, where 2.15 GB are available" in solution.short(Node(), spec, benchmark)
    assert solution.short(Node(), nas("ft", 4), benchmark) == ""
    monkeypatch.setattr(solution, "_available", lambda here: None)
    assert solution.short(Node(), spec, benchmark) == ""
