"""Entry of a rank: ``python -m labkit.worker PLAN``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from labkit.worker import Plan, failure
from labkit.worker.rank import Worker


def main(arguments: Sequence[str]) -> int:
    """Run the plan given as the one argument."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever an MPI library prints must not fall between the frames
    mpi: Any = None
    rank: int | None = None
    init_ns = 0
    try:
        plan = Plan.decode(arguments[0])
        if plan.mpi:
            import mpi4py

            threaded = any(spec.values.get("threads", 1) > 1 for _, spec in plan.points)
            # as OSU does; mpi4py's default, multiple, costs 25 % at 8 B
            level = "multiple" if threaded else "single"
            mpi4py.rc.initialize = mpi4py.rc.finalize = False  # both are timed here
            from mpi4py import MPI

            began = perf_counter_ns()
            MPI.Init_thread(getattr(MPI, f"THREAD_{level.upper()}"))
            init_ns = perf_counter_ns() - began
            mpi = MPI
            for comm in (mpi.COMM_WORLD, mpi.COMM_SELF):
                comm.Set_errhandler(mpi.ERRORS_RETURN)
            rank = mpi.COMM_WORLD.rank
        worker = Worker(plan, out, mpi, init_ns)
        worker.run()
        if mpi is not None:
            began = perf_counter_ns()
            mpi.Finalize()
            worker.send("finalized", ns=perf_counter_ns() - began)
    except BaseException as error:
        print(failure(rank, error), file=sys.stderr, flush=True)
        if mpi is not None and not mpi.Is_finalized():
            mpi.COMM_WORLD.Abort(1)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
