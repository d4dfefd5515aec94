"""Causes: one file each, whose ``CAUSE`` says what must be visible if it holds, and what would exclude it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from labkit.judge.cause import Cause


@cache
def every() -> Mapping[str, Cause]:
    """Return all causes by their codes, in the order of these."""
    names = sorted(one.name for one in pkgutil.iter_modules(__path__) if not one.name.startswith("_"))
    found: list[Cause] = [importlib.import_module(f"{__name__}.{name}").CAUSE for name in names]
    return {one.code: one for one in found}
