"""Build what pyproject.toml cannot describe: C kernels, programs, and copies of top-level folders for the wheel.

setuptools compiles every ``labkit/kernels/*.c`` once for each kind of MPI handle. The kernels are optional: without a
compiler labkit still installs, and measures with its mpi4py loops. Each ``labkit/programs/*.c`` becomes a program
beside its source; what needs one that is missing says so. Notebooks, templates, reference data and
recorded examples stay at the top of the repository; a wheel gets copies below ``labkit/_shipped``, where
``labkit/project.py`` finds them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError, LinkError

SOURCES = sorted(map(str, Path("labkit/kernels").glob("*.c")))
HEADERS = sorted(map(str, Path("labkit/kernels").glob("*.h")))
PROGRAMS = sorted(Path("labkit/programs").glob("*.c"))
SHIPPED = ("_quarto.yml", "notebooks", "templates", "docs", "data/reference", "data/campaigns/examples")
LEFT_OUT = ("templates/setup",)  # sets up a checkout
NOT_OURS = ("run-", "_start", ".", "__pycache__")  # files that learners, editors and Python leave behind


def shipped() -> list[str]:
    """List the files of the top-level folders that a wheel holds."""
    files = []
    for top in map(Path, SHIPPED):
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            ours = not any(part.startswith(NOT_OURS) for part in path.parts)
            if path.is_file() and ours and not path.as_posix().startswith(LEFT_OUT):
                files.append(path.as_posix())
    return files


class BuildPy(build_py):
    """Copy the shipped folders into the package, unless the installation is editable."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if not self.editable_mode:
            for source, target in self._shipped().items():
                Path(target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)

    def _shipped(self) -> dict[str, str]:
        return {name: str(Path(self.build_lib, "labkit", "_shipped", name)) for name in shipped()}

    def get_source_files(self) -> list[str]:
        """Files for an sdist."""
        return [*super().get_source_files(), *shipped(), *HEADERS, *map(str, Path("labkit/programs").glob("*.[ch]"))]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Files that it writes."""
        files = super().get_outputs(include_bytecode)
        return files if self.editable_mode else [*files, *self._shipped().values()]


class BuildExt(build_ext):
    """Build the kernels, then the programs."""

    def run(self) -> None:
        """Build; a program that cannot be built is left out, as a kernel is."""
        super().run()
        here = self.inplace or self.editable_mode
        for source in PROGRAMS if self.extensions else ():
            target = source.parent if here else Path(self.build_lib) / source.parent
            try:
                flags = ["-O2", "-Wall", "-Wextra"]
                objects = self.compiler.compile([str(source)], output_dir=self.build_temp, extra_postargs=flags)
                self.compiler.link_executable(objects, source.stem, output_dir=str(target), libraries=["m"])
            except (CompileError, LinkError) as error:
                self.warn(f"{source} was not built: {error}")


def kernels(handle: str) -> Extension:
    """Build the library for MPI handles that are ``int`` (MPICH and its relatives) or ``ptr`` (Open MPI, MPI-5 ABI)."""
    return Extension(
        f"labkit.kernels._kernels_{handle}",
        sources=SOURCES,
        depends=HEADERS,
        define_macros=[(f"HANDLE_{handle.upper()}", "1")],
        extra_compile_args=["-O2", "-Wall", "-Wextra"],
        py_limited_api=True,
        optional=True,
    )


setup(
    ext_modules=[kernels("int"), kernels("ptr")] if SOURCES else [],
    cmdclass={"build_py": BuildPy, "build_ext": BuildExt},
)
