"""A worker one rank of which sleeps 20 ms every tenth time: delayed_worker.py LIBRARY DELAY RANK PLAN."""

import ctypes
import sys

from labkit import kernels
from labkit.worker.__main__ import main

genuine = kernels.Native._functions


def delayed(native: kernels.Native) -> object:
    """The genuine table; on the one rank with the sleeping functions."""
    library, delay, rank = sys.argv[1:4]
    table = genuine(native)
    if native._mpi.COMM_WORLD.rank == int(rank):
        getattr(ctypes.CDLL(library), delay)(ctypes.byref(table))
    return table


if __name__ == "__main__":
    kernels.Native._functions = delayed
    sys.exit(main(sys.argv[4:]))
