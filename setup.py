"""Build what pyproject.toml cannot describe: C kernels, programs, and copies of top-level folders for the wheel.

setuptools compiles every ``labkit/kernels/*.c`` once for each kind of MPI handle. The kernels are optional: without a
compiler labkit still installs, and measures with its mpi4py loops. With ``LABKIT_KERNELS=required`` a kernel that does
not compile is an error, as it must be for a wheel that others install. Each ``labkit/kernels/programs/*.c`` becomes a
program beside its source; what needs one that is missing says so. So does each ``labkit/kernels/programs/*.cc`` and
``*.f90`` in a checkout, if the libraries that its first comment names are installed; a wheel has none of these.
Notebooks, templates, reference data and recorded examples stay at the top of the repository; a wheel gets copies below
``labkit/_shipped``, where ``labkit/io/project.py`` finds them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError, LinkError

SOURCES = sorted(map(str, Path("labkit/kernels").glob("*.c")))
HEADERS = sorted(map(str, Path("labkit/kernels").glob("*.h")))
PROGRAMS = sorted(Path("labkit/kernels/programs").glob("*.c"))
LINKED = sorted(one for one in Path("labkit/kernels/programs").iterdir() if one.suffix in (".cc", ".f90"))
SOURCE = (".c", ".cc", ".f90", ".h", ".proto", ".thrift", ".java", ".xml")
MADE_OF = sorted(one for one in Path("labkit/kernels/programs").iterdir() if one.suffix in SOURCE)
REQUIRED = os.environ.get("LABKIT_KERNELS") == "required"
BUILT_WITH = re.compile(r"Built with gfortran and the library (\w+)\.")
BUILT_FROM = re.compile(r"Built from ([\w.]+) with the libraries ([\w+ ]+)\.")
GENERATORS = {
    ".proto": ("protoc", "--cpp_out={folder}", "-I{parent}"),
    ".thrift": ("thrift", "--gen", "cpp:no_skeleton", "-out", "{folder}"),
}
SHIPPED = (
    "_quarto.yml",
    "index.qmd",
    "notebooks",
    "templates",
    "docs",
    "data/reference",
    "data/peers",
    "data/campaigns/examples",
)
LEFT_OUT = ("templates/setup",)  # sets up a checkout
NOT_OURS = ("run-", "_start", ".", "__pycache__")  # files that learners, editors and Python leave behind


LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)]+\))")


def readme() -> str:
    """Return README.md with absolute links and pictures, because its page on PyPI has no files beside it."""
    source = tomllib.loads(Path("pyproject.toml").read_text())["project"]["urls"]["Source"]

    def absolute(link: re.Match[str]) -> str:
        picture, text, target = link.groups()
        return f"{picture}{text}{source}/{'raw' if picture else 'blob'}/main/{target}"

    return LINK.sub(absolute, Path("README.md").read_text())


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
        return [*super().get_source_files(), *shipped(), *HEADERS, *map(str, MADE_OF)]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Files that it writes."""
        files = super().get_outputs(include_bytecode)
        return files if self.editable_mode else [*files, *self._shipped().values()]


class BuildExt(build_ext):
    """Build the kernels, one kind after the other because they share the names of their objects, then the programs."""

    def run(self) -> None:
        """Build; what cannot be built is left out, as a kernel is."""
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
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for source, error in zip(LINKED, pool.map(self._linked, LINKED if here else ()), strict=False):
                if error:
                    self.warn(f"{source} was not built: {error}")

    def _linked(self, source: Path) -> str:
        """Build a program beside its source, unless it is newer than what it is made of; return what failed."""
        target, folder = source.with_suffix(""), Path(self.build_temp, source.stem)
        changed = max(one.stat().st_mtime for one in (Path("setup.py"), *MADE_OF))
        if target.exists() and target.stat().st_mtime > changed:
            return ""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if source.suffix == ".f90":
            return _coarrays(source, folder / target.name)
        interface, libraries = BUILT_FROM.search(source.read_text()).groups()
        compiler = (os.environ.get("CXX", "c++"), "-std=c++17", "-O2", "-Wall", "-Wextra", f"-I{folder}")
        generator = [word.format(folder=folder, parent=source.parent) for word in GENERATORS[Path(interface).suffix]]
        try:
            _run(*generator, source.parent / interface)
            sources = [source, *(one for one in folder.iterdir() if one.suffix in (".cc", ".cpp"))]
            objects = [folder / f"{one.stem}.o" for one in sources]
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                compiled = zip(objects, sources, strict=True)
                list(pool.map(lambda pair: _run(*compiler, "-c", "-o", *pair), compiled))
            wanted = [f"-l{name}" for name in libraries.split()]
            _run(compiler[0], "-o", folder / target.name, *objects, "-Wl,--copy-dt-needed-entries", *wanted)
            (folder / target.name).replace(target)
        except (OSError, subprocess.CalledProcessError) as error:
            return _first_error(error)
        return ""


def _coarrays(source: Path, built: Path) -> str:
    """Build a program with coarrays, and move it beside its source; return what failed."""
    compiler = (os.environ.get("FC", "gfortran"), "-O2", "-Wall", "-Wextra", "-fcoarray=lib")
    try:
        _run(*compiler, "-o", built, source, f"-l{BUILT_WITH.search(source.read_text())[1]}")
        built.replace(source.with_suffix(""))
    except (OSError, subprocess.CalledProcessError) as error:
        return _first_error(error)
    return ""


def _first_error(error: OSError | subprocess.CalledProcessError) -> str:
    lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
    return next((line for line in lines if "error" in line.lower()), lines[-1])


def _run(*command: object) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)


def kernels(handle: str) -> Extension:
    """Build the library for MPI handles that are ``int`` (MPICH and its relatives) or ``ptr`` (Open MPI, MPI-5 ABI)."""
    return Extension(
        f"labkit.kernels._kernels_{handle}",
        sources=SOURCES,
        depends=HEADERS,
        define_macros=[(f"HANDLE_{handle.upper()}", "1")],
        extra_compile_args=["-O2", "-Wall", "-Wextra"],
        py_limited_api=True,
        optional=not REQUIRED,
    )


setup(
    ext_modules=[kernels("int"), kernels("ptr")] if SOURCES else [],
    cmdclass={"build_py": BuildPy, "build_ext": BuildExt},
    long_description=readme(),
    long_description_content_type="text/markdown",
)
