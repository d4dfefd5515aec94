"""The description of a tool's program (`Tool`); every module ``tools/<name>.py`` has one."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from labkit import host
from labkit.host import Program


@dataclass(frozen=True, kw_only=True)
class Tool(Program):
    """A program that measures; the constant ``TOOL`` of its file, which bears its name.

    Parameters
    ----------
    programs : commands that must be on the PATH, those of its servers included.
    format : module of `labkit.formats` that reads what it prints; None if it prints labkit's own JSON.
    """

    programs: tuple[str, ...] = ()
    format: ModuleType | None = None


@cache
def programs() -> dict[str, Tool]:
    """Every tool by name, from the files of this package; sorted."""
    package = importlib.import_module(__package__ or "")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))
    return {name: importlib.import_module(f"{package.__name__}.{name}").TOOL for name in names}


def version(name: str) -> str:
    """Return the version that an installed tool prints; ``unknown`` if it is not installed or prints none."""
    tool = programs().get(name)
    if tool is None or tool.read_version is not None:
        return tool.read_version() if tool and tool.read_version else "unknown"
    program = host.find(tool)
    return program["version"] if program else "unknown"
