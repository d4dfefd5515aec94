"""A worker one rank of which sleeps 20 ms every tenth time: delayed_worker.py LIBRARY DELAY RANK PLAN."""

import ctypes
import sys

from labkit.kernels import native
from labkit.worker.__main__ import main

genuine = native.Native._functions


def delayed(loaded: native.Native) -> object:
    """The genuine table; on the one rank with the sleeping functions."""
    library, delay, rank = sys.argv[1:4]
    table = genuine(loaded)
    if loaded._mpi.COMM_WORLD.rank == int(rank):
        getattr(ctypes.CDLL(library), delay)(ctypes.byref(table))
    return table


if __name__ == "__main__":
    native.Native._functions = delayed
    sys.exit(main(sys.argv[4:]))
