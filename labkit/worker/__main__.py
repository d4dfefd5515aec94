"""Entry of a rank: ``python -m labkit.worker PLAN``, or ``stdin:LEVEL`` for a plan that comes by standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from labkit.errors import LaunchError
from labkit.worker import INPUT, PIECE, Frame, Plan, adapters, failure
from labkit.worker.group import Together
from labkit.worker.rank import Worker


def main(arguments: Sequence[str]) -> int:
    """Run the plan that the one argument is, or announces."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever an MPI library prints must not fall between the frames
    mpi: Any = None
    rank: int | None = None
    init_ns = 0
    try:
        word, level = arguments[0], "none"
        if word.startswith(INPUT):
            word, level = "", word.removeprefix(INPUT)
        else:
            plan = Plan.decode(word)
            if plan.mpi:
                # as OSU does; mpi4py's default, multiple, costs 25 % at 8 B
                level = "multiple" if plan.threaded else "single"
        if level != "none":
            adapters.choose()
            import mpi4py

            mpi4py.rc.initialize = mpi4py.rc.finalize = False  # both are timed here
            from mpi4py import MPI

            began = perf_counter_ns()
            MPI.Init_thread(getattr(MPI, f"THREAD_{level.upper()}"))
            init_ns = perf_counter_ns() - began
            mpi = MPI
            for comm in (mpi.COMM_WORLD, mpi.COMM_SELF):
                comm.Set_errhandler(mpi.ERRORS_RETURN)
            rank = mpi.COMM_WORLD.rank
        if not word:
            plan = Plan.decode(_received(mpi, out))
        worker = Worker(plan, out, mpi, init_ns)
        worker.run()
        worker.close()
        if mpi is not None and not mpi.Is_finalized():
            began = perf_counter_ns()
            mpi.Finalize()
            worker.send("finalized", ns=perf_counter_ns() - began)
    except BaseException as error:
        print(failure(rank, error), file=sys.stderr, flush=True)
        from labkit.io.supervise import leftovers  # inside the function: a rank that succeeds opens no more files

        leftovers.remove_own()
        if mpi is not None and not mpi.Is_finalized():
            mpi.COMM_WORLD.Abort(1)
        return 1
    return 0


def _received(mpi: Any, out: int) -> str:
    """Read the plan from standard input on rank 0, piece by piece, and broadcast it."""
    word = bytearray()
    while (mpi is None or mpi.COMM_WORLD.rank == 0) and not word.endswith(b"\n"):
        piece = os.read(0, PIECE)
        if not piece:
            raise LaunchError(f"the launcher passed only {len(word):,} B of the plan to rank 0. Use another launcher.")
        for _ in range((len(word) + len(piece)) // PIECE - len(word) // PIECE):
            os.write(out, Frame({"kind": "more"}).encode())
        word += piece
    if mpi is None:
        return word.decode()
    return Together(mpi.COMM_WORLD).text(word.decode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
