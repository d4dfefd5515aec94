"""The folder of files that labkit makes from a campaign: reports, executed notebooks, cached records, exports.

Usually this is the campaign itself. labkit never changes its examples, campaigns that it cannot write to, and campaigns
with a link in place of a file that it would write. Their derived files are below ``derived`` in the folder of all
campaigns.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from labkit.io import folders, project, safe_read

EXAMPLES = project.CAMPAIGNS / "examples"
HOME = "derived"
REPORT = "report"  # folder of the report in the style of this name; other styles have a folder each
_LONGEST = 120  # characters of the name of a report's folder
WRITTEN = (
    "log.txt",
    "events.jsonl",
    "lease.json",
    "notebooks",
    "notebooks-again",
    "records",
    "records.parquet",
    REPORT,
    "exports",
    "gpcnet",
)


def bundled(path: Path) -> bool:
    """Return whether a campaign is one of labkit's examples."""
    return safe_read.resolved(path).is_relative_to(safe_read.resolved(EXAMPLES))


def folder(path: Path, root: Path) -> Path:
    """Return the folder for the derived files of a campaign. It need not exist.

    Parameters
    ----------
    path : the campaign.
    root : folder of all campaigns.
    """
    if not bundled(path) and os.access(path, os.W_OK):
        written = [*(path / name for name in WRITTEN), *path.glob(f"{REPORT}[-+]*")]
        if not any(one.is_symlink() for one in written):
            return path
    resolved = safe_read.resolved(path)
    name = re.sub(r"[^\w.-]+", "_", resolved.name, flags=re.ASCII) or "campaign"
    if not bundled(path):  # campaigns of other users may share a name
        name += f"-{hashlib.sha256(os.fsencode(resolved)).hexdigest()[:8]}"
    return _home(root) / name


def report(style: str, others: Sequence[Path] = ()) -> str:
    """Return the name of a report's folder, made of its style and of the other campaigns in it.

    Parameters
    ----------
    style : style of the report.
    others : the further campaigns.

    Examples
    --------
    >>> report("report"), report("survey"), report("survey", [Path("after"), Path("runs/later")])
    ('report', 'report-survey', 'report-survey+after+later')
    """
    alone = REPORT if style == REPORT else f"{REPORT}-{style}"
    names = [safe_read.resolved(one).name for one in others]
    whole = "+".join([alone, *(re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII) for name in names)])
    if len(whole) <= _LONGEST:
        return whole
    return f"{alone}+{len(names)}-campaigns-{hashlib.sha256('/'.join(names).encode()).hexdigest()[:8]}"


def is_shared(name: str) -> bool:
    """Return whether the name of a report's folder belongs to a report of several campaigns.

    Examples
    --------
    >>> is_shared("report-survey"), is_shared("report-survey+after")
    (False, True)
    """
    return is_report(name) and "+" in name


def is_report(name: str) -> bool:
    """Return whether a name belongs to a report's folder.

    Examples
    --------
    >>> is_report("report-survey"), is_report("report+after"), is_report("reports")
    (True, True, False)
    """
    return name == REPORT or name.startswith((f"{REPORT}-", f"{REPORT}+"))


def _home(root: Path) -> Path:
    """Return a folder that can be written to: beside the campaigns, else in the user's cache."""
    existing = next((parent for parent in (root, *root.parents) if parent.exists()), root)
    if os.access(existing, os.W_OK):
        return root / HOME
    return folders.cache() / HOME
