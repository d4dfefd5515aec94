"""Measure, explain and publish how fast a cluster communicates.

Examples
--------
>>> from labkit import Spec, sweep
>>> [spec.size for spec in sweep("mpi.latency", sizes="1:4", transport="shm")]
[1, 2, 4]
"""

import os

__version__ = "0.1.0"
__all__ = ["Campaign", "Effort", "LabkitError", "LabkitWarning", "Spec", "load", "measure", "sweep"]

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # Arrow's own keeps 50 MB that it does not use

_HOMES = {
    "Campaign": "labkit.store.campaign",
    "Effort": "labkit.point.spec",
    "LabkitError": "labkit.errors",
    "LabkitWarning": "labkit.errors",
    "Spec": "labkit.point.spec",
    "load": "labkit.apps.loading",
    "measure": "labkit.run.measuring",
    "sweep": "labkit.point.spec",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: importing labkit costs nothing. `__init__.pyi` has their types."""
    import importlib  # loads slowly, and Ctrl-C may arrive meanwhile

    if name in ("notebook", "teaching"):  # notebooks import them under these short names
        return importlib.import_module(f"labkit.apps.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"labkit has no {name!r}; it has {', '.join(__all__)}")
