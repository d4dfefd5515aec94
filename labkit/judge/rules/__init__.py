"""Rules: one file each. Its ``RULE`` defines requirement, reason and remedy. Files with ``_`` hold shared code."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from labkit.judge.rule import Rule


@cache
def every() -> Mapping[str, Rule]:
    """Return all rules by code, in alphabetical order."""
    names = sorted(one.name for one in pkgutil.iter_modules(__path__) if not one.name.startswith("_"))
    found: list[Rule] = [importlib.import_module(f"{__name__}.{name}").RULE for name in names]
    return {one.code: one for one in found}


def about(*what: str) -> list[Rule]:
    """Return the rules about these subjects, such as ``method``, sorted by code."""
    return [one for one in every().values() if one.about in what]
