"""Generated blocks of chapters, one file per topic; each file has ``BLOCKS``: name → function of the report's content.

A line ``<!-- generated: name -->`` in a chapter inserts a block. If a block returns an empty text, its section is left
out, and the appendix lists it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labkit.report.content import Content


@cache
def find() -> Mapping[str, Callable[[Content], str]]:
    """Return the blocks by name, from the files of this package."""
    blocks: dict[str, Callable[[Content], str]] = {}
    for module in pkgutil.iter_modules(__path__):
        blocks |= importlib.import_module(f"{__name__}.{module.name}").BLOCKS
    return blocks
