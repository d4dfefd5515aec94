"""Solution of a dense system of linear equations by all ranks (HPL, High-Performance Linpack).

The performance is 2/3 N³ + 3/2 N² operations over the wall time of the solution, as HPL counts; the fraction of peak
divides it by cores × clock × operations in a cycle, as the point's `peak_method` states. Order `n`, block `nb` and the
grid `p` by `q` of processes are options of the point. A result whose residual is too large is an error.

An `xhpl` on the PATH serves, or HPC Challenge, whose other tests run too: the point keeps their values with the label
`hpcc_test`. `MPI` tests use all ranks together, `Star` tests run on all ranks at once and give the mean over ranks,
`Single` tests run on one rank. A rank has one thread of the BLAS unless `environment` sets OMP_NUM_THREADS or the like.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ProgramBenchmark
from labkit.tools import hpcc, xhpl


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of compute.hpl.

    Parameters
    ----------
    n : order of the matrix; 0 for the largest whose matrix takes 80 % of the hosts' memory.
    nb : rows of a block; 0 for 192, or fewer for a small matrix.
    p, q : rows and columns of the grid of processes; 0 for the most square one with p ≤ q.
    variant : mapping, depth, broadcast, factorisations and their parts, as HPL prints it; that of HPCC's example.
    tool : `xhpl`, `hpcc`, or the first of them that is installed.
    directory : of the input and output files; where ranks run on several hosts, all must see it.
    """

    n: int = 0
    nb: int = 0
    p: int = 0
    q: int = 0
    variant: str = "WR11C2R4"
    tool: Literal["auto", "xhpl", "hpcc"] = "auto"
    directory: str = ""


BENCHMARK = ProgramBenchmark(
    title="dense linear system (HPL)",
    options=Options,
    sized=False,
    metrics={"performance_GFLOPS": lambda spec: 1, "run_time_s": lambda spec: 1, "peak_percent": lambda spec: 1},
    tools=(xhpl.solve, hpcc.solve),
    logs={"HPL": {}},
    chosen=xhpl.chosen,
    check=xhpl.wrong,
    cadence="streaming",
)
