"""What one machine costs without a network: kernels of the family micro, run here."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks
from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.micro import _cores
from labkit.errors import KernelError, SpecError
from labkit.kernels import native
from labkit.point.spec import Effort, Spec
from labkit.run import measuring
from labkit.store.samples import Samples
from labkit.worker import Plan
from labkit.worker.rank import Worker
from labkit.worker.verify import verify

MOVING = ("_copy", "loopback")  # bytes, which are verified
NAMES = ("core_to_core", "core_to_core_copy", "loopback", "memory_copy", "noise", "system_call", "wake_up")
TWO = len(os.sched_getaffinity(0)) > 1
pytestmark = pytest.mark.skipif(not native.compiled(), reason="the C kernels are not compiled")


def _specs() -> list[Spec]:
    specs = [Spec(benchmark=f"micro.{name}", ranks=1) for name in NAMES if TWO or not name.startswith("core_to_core")]
    return [spec.replace(size=4096) if spec.benchmark.endswith(MOVING) else spec for spec in specs]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Samples]:
    effort = Effort(launches=1, iterations=20, time_cap=0.2)
    campaign = measuring.measure(_specs(), effort, into=tmp_path_factory.mktemp("micro"))
    return {one.spec.benchmark: one for one in campaign.samples()}


def test_every_kernel_times_each_iteration(measured: dict[str, Samples]) -> None:
    assert set(measured) == {spec.benchmark for spec in _specs()}
    for one in measured.values():
        assert one.n == 20
        assert (one.phases["time_ns"] > 0).all(), one.spec


def test_a_copy_is_verified(measured: dict[str, Samples]) -> None:
    for one in measured.values():
        assert one.meta.get("verified", False) is one.spec.benchmark.endswith(MOVING), one.spec


def test_quanta_have_their_place_in_time(measured: dict[str, Samples]) -> None:
    gaps = measured["micro.noise"].phases["gap_ns"]
    assert (gaps >= 0).all()
    assert (gaps[:, 1:] > 0).all(), "the clock is read between two quanta"


def test_a_copy_with_wrong_bytes_is_refused() -> None:
    genuine = benchmarks.get("micro.memory_copy")
    assert isinstance(genuine, KernelBenchmark)
    spec, effort = Spec(benchmark=genuine.name, size=4096, ranks=1), Effort(launches=1, iterations=1)
    worker = Worker(Plan([spec], effort, False), os.open(os.devnull, os.O_WRONLY), None)
    assert verify(worker, spec, genuine) == ("", True)

    def other(spec: Spec, rank: int, send: Any) -> Any:
        return np.roll(send(rank), 1)

    complaint, compared = verify(worker, spec, dataclasses.replace(genuine, expected=other))
    assert compared
    assert "wrong bytes on rank 0" in complaint


@pytest.mark.skipif(not TWO, reason="one processor")
def test_the_caller_may_run_where_it_could_before() -> None:
    before = os.sched_getaffinity(0)
    empty = np.zeros(1, np.uint8)
    first, second = _cores.chosen(benchmarks.resolve(Spec(benchmark="micro.core_to_core", ranks=1)))
    more = {"left": first, "right": second}
    work = native.Work(comm=None, datatype=None, op=None, count=0, itemsize=1, send=empty, recv=empty, more=more)
    loaded = native.Native(None)
    assert loaded.prepare("core_to_core", work)(1, 10).shape == (1, 1, 10)
    assert os.sched_getaffinity(0) == before
    wrong = dataclasses.replace(work, more={"left": first, "right": 1023})
    with pytest.raises(KernelError, match="wake_up: Invalid argument"):
        loaded.prepare("wake_up", wrong)(1, 10)
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("core_to_core", {"cores": "a"}, "cores=a, but it must be auto, one, or two numbers of processors"),
        ("wake_up", {"cores": "1-2-3"}, "Set cores=0-1"),
        ("core_to_core", {"cores": "1-1"}, "cores=1-1, but a line changes cores only between two"),
        ("core_to_core_copy", {"cores": "one"}, "cores=one, but a line changes cores only between two"),
        ("noise", {"steps": 1}, "steps=1, but it must be 1,000 to 100,000,000"),
    ],
)
def test_wrong_options_are_one_clear_error(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        measuring.expand([Spec(benchmark=f"micro.{name}", ranks=1, options=options)], Effort())


def test_cores_are_chosen_of_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "cpu2" / "topology"
    folder.mkdir(parents=True)
    (folder / "thread_siblings_list").write_text("2-3\n")
    monkeypatch.setattr(_cores, "_CPUS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {2, 3, 5})
    auto = benchmarks.resolve(Spec(benchmark="micro.core_to_core", ranks=1))
    assert _cores.chosen(auto) == (2, 5)
    assert _cores.chosen(auto.replace(options={"cores": "one"})) == (2, 2)
    with pytest.raises(KernelError, match="the process may use 2, 3, 5, not 7"):
        _cores.chosen(auto.replace(options={"cores": "2-7"}))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {2, 3})
    with pytest.raises(KernelError, match="needs two cores, but the process may use one: processor 2"):
        _cores.chosen(auto)
