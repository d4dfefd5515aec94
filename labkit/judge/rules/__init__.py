"""Rules: one file each, whose ``RULE`` says what must hold, why, and what to do. Files with ``_`` help them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from labkit.judge.rule import Rule


@cache
def every() -> Mapping[str, Rule]:
    """Return all rules by their codes, in the order of these."""
    names = sorted(one.name for one in pkgutil.iter_modules(__path__) if not one.name.startswith("_"))
    found: list[Rule] = [importlib.import_module(f"{__name__}.{name}").RULE for name in names]
    return {one.code: one for one in found}


def about(*what: str) -> list[Rule]:
    """Return the rules that judge one of these, such as ``method``, in the order of their codes."""
    return [one for one in every().values() if one.about in what]
