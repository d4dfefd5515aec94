"""Programs that labkit starts as tools; ``setup.py`` builds those in C, C++ and Fortran beside their sources."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.io import project

_FOLDER = Path(__file__).parent
_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Recipe:
    """What a program is built with.

    Parameters
    ----------
    compilers : commands of the compiler, one of which is enough.
    generator : command that makes sources from an interface; empty for none.
    header, library : a header that the sources include, and a library that the program is linked to; empty for none.
    """

    compilers: tuple[str, ...] = ("cc", "gcc", "clang")
    generator: str = ""
    header: str = ""
    library: str = ""


_CXX = ("c++", "g++", "clang++")
RECIPES: Mapping[str, Recipe] = {
    "coarray": Recipe(("gfortran",), library="libcaf_openmpi.so"),
    "delayed_link": Recipe(),
    "kv_client": Recipe(),
    "microservices": Recipe(),
    "rpc_grpc": Recipe(_CXX, "protoc", "grpcpp/grpcpp.h", "libgrpc++.so"),
    "rpc_thrift": Recipe(_CXX, "thrift", "thrift/Thrift.h", "libthriftnb.so"),
}


def path(name: str) -> Path:
    """Return where set-up builds a program."""
    return _FOLDER / name


def unbuilt() -> list[str]:
    """Return the programs of a checkout that could be built here but are not."""
    if project.CHECKOUT is None:
        return []
    return [name for name, recipe in RECIPES.items() if not path(name).exists() and _can_build(recipe)]


def how(name: str, packages: str) -> str:
    """Return the name of a program that is not built and the command that builds it, as part of a sentence."""
    command = project.make("setup" if RECIPES[name] == Recipe() else "setup-all")
    return f"{name} ({command or 'a checkout of labkit'} builds it with {packages})"


def original(name: str, command: str) -> str:
    """Return an original program: its name if it is on the PATH or nowhere, else the path of the one that is built.

    Parameters
    ----------
    name : target of `make` that builds it from the user's source.
    command : file name of the program.
    """
    built = path(name) / command
    return str(built) if built.exists() and not shutil.which(command) else command


def from_source(name: str, source: str) -> str:
    """Return the command that brings original programs: `make` in a checkout, else the module of a site."""
    made = project.make(f"{name} SOURCE={source}")
    module = f"module load {name}"
    return f"{made}   # or {module}" if made else f"{module}   # or build it, and put its programs on the PATH"


def _can_build(recipe: Recipe) -> bool:
    compiler = next(filter(shutil.which, recipe.compilers), None)
    if compiler is None or (recipe.generator and not shutil.which(recipe.generator)):
        return False
    asked = f"#if !__has_include(<{recipe.header}>)\n#error\n#endif\n"
    if recipe.header and _asked([compiler, "-E", "-x", "c++", "-"], asked).returncode:
        return False
    # the compiler prints the bare name of a library that it does not find
    return not recipe.library or "/" in _asked([compiler, f"-print-file-name={recipe.library}"]).stdout


def _asked(command: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
