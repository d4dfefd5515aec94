"""The identity of a campaign, which stays the same when its folder is renamed, copied, archived or unpacked.

A new campaign gets a random UUID: ``id`` in campaign.json. For a campaign from before there were identities, the UUID
follows from its time of creation, its name and the first line of its log. These never change, and copies share them.
An identity is a label, not a proof: anyone who writes a campaign can choose it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.store.reading import first_line

KEY = "id"
_OLD = uuid.UUID("6ba0d0de-4b7c-5f0e-9a55-6c61626b6974")  # namespace of derived identities


def new() -> str:
    """Return a new identity."""
    return str(uuid.uuid4())


def of(facts: Mapping[str, Any], folder: Path) -> str:
    """Return the identity of a campaign.

    Parameters
    ----------
    facts : content of its campaign.json.
    folder : the folder with its log.txt.
    """
    if stated := valid(facts.get(KEY)):
        return stated
    log = first_line(folder / "log.txt")
    return str(uuid.uuid5(_OLD, f"{facts.get('created', '')}\n{facts.get('name', '')}\n{log}"))


def valid(text: object) -> str:
    """Return an identity in its usual form; empty if the text is not one."""
    try:
        return str(uuid.UUID(text)) if isinstance(text, str) else ""
    except ValueError:
        return ""
