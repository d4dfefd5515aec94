"""NAS Parallel Benchmarks: rate and time of the timed part, as the original programs print them.

Each kernel counts its own operations (IS keys, EP random numbers, DT units of 2^20 numbers in messages, DC tuples, UA
points advanced, the others flops), so rates are comparable only within a kernel and a class. The time is that of the
slowest rank, without the set-up. A result that the program itself does not find right is an error.

labkit takes a program on the PATH, else one that `make npb SOURCE=~/NPB3.4.3` built. Its own kernels of EP, IS, CG, MG
and FT (`compute.nas_*`) need no source. The launcher starts an OpenMP program as one rank that is bound to no core.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.options.compute import Npb
from labkit.tools import npb

_KERNELS = ("BT", "CG", "DC", "DT", "EP", "FT", "IS", "LU", "MG", "SP", "UA", "BT-MZ", "LU-MZ", "SP-MZ")

BENCHMARK = ProgramBenchmark(
    title="NAS Parallel Benchmarks",
    options=Npb,
    sized=False,
    metrics={"operations_Mops": lambda spec: 1, "run_time_s": lambda spec: 1},
    tools=(npb.solve,),
    quantities=("kernel", "graph"),
    logs={f"NPB {kernel}": {} for kernel in _KERNELS},
    chosen=npb.chosen,
    check=npb.wrong,
    cadence="streaming",
)
