"""Every test of the OSU and Intel MPI benchmarks has a counterpart, or a reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks
from labkit.benchmarks.mpi import _forms
from labkit.point.spec import Spec

from . import parity

ROOT = Path(__file__).parent.parent


def test_the_page_is_up_to_date() -> None:
    shown = (ROOT / "docs" / "parity.md").read_text()
    assert shown == parity.document(), "run: python tests/parity.py > docs/parity.md"


def test_nearly_all_have_a_counterpart_and_the_others_a_reason() -> None:
    known = parity.answers()
    missing = [name for name in parity.names() if name not in known]
    assert set(missing) == set(parity.LEFT_OUT)
    assert set(parity.imports()) == {test for tests in parity.IMPORTED.values() for test in tests.split()}
    assert len(missing) <= 0.05 * len(parity.names())


def test_no_counterpart_is_of_a_test_that_does_not_exist() -> None:
    assert set(parity.answers()) <= {*parity.names(), *parity.FORK}
    assert not set(parity.FORK) & set(parity.names()), "tests of a fork are not counted"


def test_the_options_of_every_counterpart_are_possible() -> None:
    for test, (name, options) in parity.answers().items():
        benchmark = benchmarks.get(name)
        spec = Spec(benchmark=name, size=8, ranks=max(2, benchmark.ranks[0]), options=options)
        assert benchmarks.resolve(spec).benchmark == name, test


# for each option on the page a benchmark of each kind that the page says has it
HAVE = {
    "window": ("mpi.bandwidth", "mpi.bibandwidth", "mpi.multi_bandwidth"),
    "buffers": ("mpi.bandwidth",),
    "buffers_in_turn": ("mpi.buffer_reuse",),
    "layout": ("mpi.latency", "mpi.bcast"),
    "block": ("mpi.latency", "mpi.bcast"),
    "datatype": ("mpi.allreduce", "mpi.accumulate_latency"),
    "operation": ("mpi.allreduce", "mpi.accumulate_latency"),
    "in_place": ("mpi.allreduce", "mpi.alltoall"),
    "root": ("mpi.bcast", "mpi.reduce"),
    "rotate": ("mpi.bcast", "mpi.reduce"),
    "tests": ("mpi.iallreduce", "mpi.ibcast"),
    "threads": ("mpi.latency", "mpi.allreduce"),
    "topology": ("mpi.neighbor_allgather", "mpi.neighbor_alltoall"),
    "memory": ("mpi.put_latency", "mpi.get_bandwidth"),
    "synchronisation": ("mpi.put_latency", "mpi.get_bandwidth"),
    "cadence": ("mpi.allreduce", "mpi.bcast"),
}


def test_every_option_on_the_page_is_one_of_the_benchmarks_it_names() -> None:
    words = {word for _, ours, _ in parity.OPTIONS for word in ours.split("`")[1::2]} - {"max_size"}
    assert words == set(HAVE)
    lacking = {
        (word, name)
        for word, names in HAVE.items()
        for name in names
        if word not in benchmarks.get(name).options.__dataclass_fields__
    }
    assert not lacking
    assert all(isinstance(benchmarks.get(name).max_size, int | None) for name in ("mpi.latency", "mpi.bcast"))


@pytest.mark.slow
def test_the_page_is_printed_by_one_command() -> None:
    command = [sys.executable, str(ROOT / "tests" / "parity.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "docs")
    assert done.stdout == (ROOT / "docs" / "parity.md").read_text()


def test_overlap_is_that_of_imb_nbc() -> None:
    ms = 1_000_000
    phases = {  # two ranks; the second takes longest
        "time_ns": np.array([[9 * ms, 11 * ms], [12 * ms, 14 * ms]]),
        "pure_ns": np.array([[2 * ms, 2 * ms], [8 * ms, 8 * ms]]),
        "compute_ns": np.array([[9 * ms, 9 * ms], [10 * ms, 10 * ms]]),
    }
    # IMB_output.c: 100 * max(0, min(1, (t_pure + t_comp - t_ovrlp) / max(t_pure, t_comp)))
    assert _forms.overlap_imb(phases) == pytest.approx(100 * (8 + 10 - 13) / 10)
    assert np.isnan(_forms.overlap_imb({"time_ns": phases["time_ns"]}))
