"""Where files that labkit makes of a campaign lie: reports, executed notebooks, kept records, exports.

They lie in the campaign itself, where it is the user's own. The examples that come with labkit stay as they are. So
does a campaign that cannot be written to, or that has a link in the place of a file that labkit would write. Their
derived files lie below ``derived`` in the folder of all campaigns.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from labkit import folders, outside, project

EXAMPLES = project.CAMPAIGNS / "examples"
HOME = "derived"
WRITTEN = (
    "log.txt",
    "events.jsonl",
    "lease.json",
    "notebooks",
    "notebooks-again",
    "records",
    "records.parquet",
    "report",
    "exports",
    "gpcnet",
)


def bundled(path: Path) -> bool:
    """Whether a campaign is one of the examples that come with labkit."""
    return outside.resolved(path).is_relative_to(EXAMPLES)


def folder(path: Path, root: Path) -> Path:
    """Folder for the files that are made of a campaign; it need not be there.

    Parameters
    ----------
    path : the campaign.
    root : folder of all campaigns.
    """
    if not bundled(path) and os.access(path, os.W_OK) and not any((path / name).is_symlink() for name in WRITTEN):
        return path
    whole = outside.resolved(path)
    name = re.sub(r"[^\w.-]+", "_", whole.name, flags=re.ASCII) or "campaign"
    if not bundled(path):  # campaigns of other users may share a name
        name += f"-{hashlib.sha256(os.fsencode(whole)).hexdigest()[:8]}"
    return _home(root) / name


def _home(root: Path) -> Path:
    """A folder that can be written to: beside the campaigns, else in the user's cache."""
    there = next((parent for parent in (root, *root.parents) if parent.exists()), root)
    if os.access(there, os.W_OK):
        return root / HOME
    return folders.cache() / HOME
