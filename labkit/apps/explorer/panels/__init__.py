"""Panels of the Explorer: one file each, found by scanning this folder.

A panel's file defines ``TITLE``, ``PLACE`` (one of `PLACES`), ``ORDER`` (from the top) and ``build(session)``, which
returns a widget. It communicates with other panels only through `labkit.apps.explorer.session.Session`.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

PLACES = ("top", "main", "side", "beside", "under")  # columns of a wide page; a narrow one has them below each other


def find() -> list[ModuleType]:
    """All panels, in their order."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return sorted(modules, key=lambda module: (module.ORDER, module.__name__))
