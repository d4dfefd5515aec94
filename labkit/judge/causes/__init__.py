"""Causes: one file each. Its ``CAUSE`` defines what must be visible if it holds, and what would exclude it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from labkit.io.markdown import table
from labkit.judge.cause import Cause


@cache
def every() -> Mapping[str, Cause]:
    """Return all causes by code, in alphabetical order."""
    names = sorted(one.name for one in pkgutil.iter_modules(__path__) if not one.name.startswith("_"))
    found: list[Cause] = [importlib.import_module(f"{__name__}.{name}").CAUSE for name in names]
    return {one.code: one for one in found}


def described() -> str:
    """Return all causes as a table in Markdown."""
    rows = [(f"`{one.code}`: {one.name}", one.seen, one.excluded, one.decides) for one in every().values()]
    return table(("cause", "speaks for it", "excludes it", "measure to decide"), rows)
