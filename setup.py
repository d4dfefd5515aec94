"""The C kernels: every ``labkit/kernels/*.c``, compiled once for each kind of MPI handle.

Optional: without a compiler labkit installs all the same and measures with its mpi4py loops. Everything else about
the package stands in pyproject.toml.
"""

from pathlib import Path

from setuptools import Extension, setup

SOURCES = sorted(map(str, Path("labkit/kernels").glob("*.c")))
HEADERS = sorted(map(str, Path("labkit/kernels").glob("*.h")))


def kernels(handle: str) -> Extension:
    """The library for MPI handles that are ``int`` (MPICH and its relatives) or ``ptr`` (Open MPI, MPI-5 ABI)."""
    return Extension(
        f"labkit.kernels._kernels_{handle}",
        sources=SOURCES,
        depends=HEADERS,
        define_macros=[(f"HANDLE_{handle.upper()}", "1")],
        extra_compile_args=["-O2", "-Wall", "-Wextra"],
        py_limited_api=True,
        optional=True,
    )


setup(ext_modules=[kernels("int"), kernels("ptr")] if SOURCES else [])
