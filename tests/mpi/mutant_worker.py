"""A worker whose kernels are given faulty MPI functions: mutant_worker.py LIBRARY FAULT PLAN."""

import ctypes
import sys

from labkit.kernels import native
from labkit.worker.__main__ import main

genuine = native.Native._functions


def faulty(loaded: native.Native) -> object:
    """The genuine table with faults put in."""
    library, fault = sys.argv[1:3]
    table = genuine(loaded)
    handle = loaded._mpi._handleof(loaded._mpi.COMM_SELF)
    wide = loaded._mpi._sizeof(loaded._mpi.Comm) == 8
    install = getattr(ctypes.CDLL(library), fault)
    install(ctypes.byref(table), ctypes.c_void_p(handle) if wide else ctypes.c_int(handle))
    return table


if __name__ == "__main__":
    native.Native._functions = faulty
    sys.exit(main(sys.argv[3:]))
