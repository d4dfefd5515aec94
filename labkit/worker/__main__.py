"""Entry of a rank: ``python -m labkit.worker PLAN``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from labkit.worker import Plan, failure
from labkit.worker.rank import Worker


def main(arguments: Sequence[str]) -> int:
    """Run the plan given as the one argument."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever an MPI library prints must not fall between the frames
    mpi: Any = None
    rank: int | None = None
    try:
        plan = Plan.decode(arguments[0])
        if plan.mpi:
            import mpi4py

            threaded = any(spec.values.get("threads", 1) > 1 for _, spec in plan.points)
            # as OSU does; mpi4py's default, multiple, costs 25 % at 8 B
            mpi4py.rc.thread_level = "multiple" if threaded else "single"
            from mpi4py import MPI

            mpi = MPI
            rank = mpi.COMM_WORLD.rank
        Worker(plan, out, mpi).run()
    except BaseException as error:
        print(failure(rank, error), file=sys.stderr, flush=True)
        if mpi is not None:
            mpi.COMM_WORLD.Abort(1)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
