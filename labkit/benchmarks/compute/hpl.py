"""Solution of a dense system of linear equations by all ranks (HPL, High-Performance Linpack).

The performance is 2/3 N³ + 3/2 N² operations over the wall time of the solution, as HPL counts; the fraction of peak
divides it by cores × clock × operations in a cycle, as the point's `peak_method` states. Order `n`, block `nb` and the
grid `p` by `q` of processes are options of the point. A too large residual is an error.

An `xhpl` on the PATH serves, one that `make hpl SOURCE=~/hpl-2.3` built, or HPC Challenge. That also runs its other
tests: the point keeps their values with the label `hpcc_test`. `MPI` tests use all ranks together, `Star` tests run on
all ranks at once and give the mean over ranks, `Single` tests run on one rank. A rank has one thread of the BLAS
unless `environment` sets OMP_NUM_THREADS or the like.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.options.compute import Hpl
from labkit.tools import hpcc, xhpl

BENCHMARK = ProgramBenchmark(
    title="dense linear system (HPL)",
    options=Hpl,
    sized=False,
    metrics={"performance_GFLOPS": lambda spec: 1, "run_time_s": lambda spec: 1, "peak_percent": lambda spec: 1},
    tools=(xhpl.solve, hpcc.solve),
    logs={"HPL": {}},
    chosen=xhpl.chosen,
    check=xhpl.wrong,
    cadence="streaming",
)
