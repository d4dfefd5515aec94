"""A lab for measuring, understanding and publishing how fast a cluster communicates.

Examples
--------
>>> from labkit import Spec, sweep
>>> [spec.size for spec in sweep("mpi.latency", sizes="1:4", transport="shm")]
[1, 2, 4]
"""

from __future__ import annotations

import os

__version__ = "0.1.0"
__all__ = ["Campaign", "Effort", "LabkitError", "LabkitWarning", "Spec", "load", "measure", "sweep"]

TYPE_CHECKING = False  # typing loads slowly, and Ctrl-C may arrive meanwhile
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pandas as pd

    from labkit.errors import LabkitError, LabkitWarning
    from labkit.point.spec import Effort, Spec, sweep
    from labkit.run.measuring import measure
    from labkit.store.campaign import Campaign

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # Arrow's own keeps 50 MB that it does not use

_HOMES = {
    "Campaign": "labkit.store.campaign",
    "Effort": "labkit.point.spec",
    "LabkitError": "labkit.errors",
    "LabkitWarning": "labkit.errors",
    "Spec": "labkit.point.spec",
    "sweep": "labkit.point.spec",
    "measure": "labkit.run.measuring",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing labkit costs nothing."""
    import importlib

    if name == "lab":  # notebooks from before labkit.apps.notebook had its name
        return importlib.import_module("labkit.apps.notebook")
    if name in ("notebook", "teaching"):  # notebooks import them under these short names
        return importlib.import_module(f"labkit.apps.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"labkit has no {name!r}; it has {', '.join(__all__)}")


def load(campaign: str | Path | Campaign) -> pd.DataFrame:
    """Records of a campaign: one row per spec and launch, columns as in docs/data-dictionary.md.

    Parameters
    ----------
    campaign : folder, name in data/campaigns, or what `measure` returned.

    Raises
    ------
    DataError
        If there is no such campaign, or a file in it is unreadable.
    """
    from labkit.read import columnar
    from labkit.store import campaign as campaigns

    opened = campaign if isinstance(campaign, campaigns.Campaign) else campaigns.Campaign(campaigns.find(campaign))
    return columnar.of(opened).records
