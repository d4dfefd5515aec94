"""Kernels of the NAS Parallel Benchmarks: computation and messages of a run whose result is verified.

labkit's own C code for NPB's problems: the same numbers, the same messages between the same ranks, the same formulas
of operations. An iteration is a whole run. As in NPB, the slowest rank determines its time, without the set-up of the
problem and one untimed step before it. The run time consists of the computation and the time inside MPI, which
includes waiting for ranks that are not there yet. The results of an untimed run and of the last timed one must agree
with the published values, within NPB's tolerances.

Operations are keys in IS, random numbers in EP, flops in the others, so rates are comparable only within a kernel and a
class.
"""

import numpy as np

from labkit.benchmarks import ApplicationBenchmark
from labkit.benchmarks.compute import _nas
from labkit.benchmarks.compute._nas import CLASSES as CLASSES
from labkit.benchmarks.compute._nas import COLLECTIVES as COLLECTIVES
from labkit.benchmarks.compute._nas import KERNELS as KERNELS
from labkit.benchmarks.compute._nas import RESULTS as RESULTS
from labkit.benchmarks.compute._nas import Kernel
from labkit.benchmarks.compute._nas import Options as Options
from labkit.benchmarks.compute._nas import letter as letter
from labkit.benchmarks.compute._nas import received as received


def _form(name: str, kernel: Kernel) -> ApplicationBenchmark:
    return ApplicationBenchmark(
        title=kernel.title,
        doc=f"{kernel.doc}\n\n{__doc__}",
        kernel=f"nas_{name}",
        options=_nas.Options,
        sized=False,
        ranks=(1, None),
        check=kernel.check,
        dtype=lambda spec: kernel.dtype,
        requests=lambda spec: kernel.requests,
        buffers=lambda spec: (kernel.places(spec)[0], _nas.received(spec)),
        work=lambda spec: {"places": np.array(kernel.places(spec), np.int64)},
        wrong=kernel.wrong,
        metrics={"operations_Mops": kernel.operations, "run_time_s": lambda spec: 1},
        phases={"computation_ns": "computation_s", "communication_ns": "communication_s"},
        derived={"communication_percent": _nas.share},
        warmup=(0, 0),
    )


FORMS = {f"nas_{name}": _form(name, kernel) for name, kernel in _nas.KERNELS.items()}
