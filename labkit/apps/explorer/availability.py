"""Find why a benchmark cannot be measured here, without starting ranks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from functools import cache

from labkit import benchmarks, testbeds, tools
from labkit.benchmarks import Benchmark, KernelBenchmark
from labkit.errors import LabkitError
from labkit.host.network import rdma_devices
from labkit.point.spec import Effort, Spec
from labkit.point.units import parse_sizes
from labkit.run import launch, runner

_ABSENT = """
import ctypes, importlib.util, sys
library = ctypes.CDLL(importlib.util.find_spec("mpi4py.MPI").origin)
print(*(name for name in sys.argv[1:] if not any(hasattr(library, n) for n in (name, name.replace("MPI_", "MPIX_")))))
"""


def reasons(testbed: str = "local") -> Mapping[str, str]:
    """Benchmarks that cannot be measured with their defaults, each with the reason in a few words; sorted.

    Parameters
    ----------
    testbed : as in `labkit.point.spec.Spec`.
    """
    checked = {name: _reason(benchmark, testbed) for name, benchmark in benchmarks.find().items()}
    return {name: reason for name, reason in checked.items() if reason}


def _reason(benchmark: Benchmark, testbed: str) -> str:
    """Reason why a benchmark cannot be measured; empty if it can."""
    if benchmark.mpi and not launch.installed():
        return "no MPI launcher is installed"
    try:
        size = parse_sizes(benchmark.sizes)[0] if benchmark.sized else 0
        spec = Spec(
            benchmark=benchmark.name,
            size=size,
            ranks=1 if benchmark.single else max(benchmark.ranks[0], 2),
            testbed=testbeds.resolved(testbed),
        )
        spec, outline = benchmarks.resolve(spec), testbeds.outline(spec.testbed)
        runner.runner_of(spec).launched(spec, Effort())
        served = benchmarks.tools_of(benchmark.name) if outline.network is None else ()
        invocation = tools.available(served, spec, Effort()) if served else None
    except LabkitError as error:
        return str(error)
    if invocation and not outline.rdma and _wants_device(invocation) and not rdma_devices():
        return "this machine has no RDMA device; use the testbed soft-roce"
    absent = [name for name in _calls(benchmark) if name in _absent()]
    return f"this MPI library has no {', '.join(absent)}" if absent else ""


def _wants_device(invocation: tools.Invocation) -> bool:
    """Whether a tool's commands name an RDMA device."""
    return any("{device}" in word for word in (*invocation.client, *invocation.server))


def _calls(benchmark: Benchmark) -> tuple[str, ...]:
    """MPI functions that a benchmark calls and that not every library has."""
    return benchmark.calls if isinstance(benchmark, KernelBenchmark) else ()


@cache
def _absent() -> frozenset[str]:
    """Functions that benchmarks call but this Python's MPI library lacks; a child process loads the library."""
    wanted = sorted({name for one in benchmarks.find().values() for name in _calls(one)})
    done = subprocess.run([sys.executable, "-c", _ABSENT, *wanted], capture_output=True, text=True, check=False)
    return frozenset(done.stdout.split())  # empty if the library could not be loaded
