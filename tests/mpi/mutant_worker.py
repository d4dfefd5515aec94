"""A worker whose kernels are given faulty MPI functions: mutant_worker.py LIBRARY FAULT PLAN."""

import ctypes
import sys

from labkit import kernels
from labkit.worker.__main__ import main

genuine = kernels.Native._functions


def faulty(native: kernels.Native) -> object:
    """The genuine table with faults put in."""
    library, fault = sys.argv[1:3]
    table = genuine(native)
    handle = native._mpi._handleof(native._mpi.COMM_SELF)
    wide = native._mpi._sizeof(native._mpi.Comm) == 8
    install = getattr(ctypes.CDLL(library), fault)
    install(ctypes.byref(table), ctypes.c_void_p(handle) if wide else ctypes.c_int(handle))
    return table


if __name__ == "__main__":
    kernels.Native._functions = faulty
    sys.exit(main(sys.argv[3:]))
