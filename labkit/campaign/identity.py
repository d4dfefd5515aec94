"""The identity of a campaign: what stays the same when its folder is renamed, copied, archived or unpacked.

A campaign gets a random UUID when it is made: ``id`` in campaign.json. One that was made before there were any has the
UUID that follows from when and as what it was made and from the first line of its log: these never change, and copies
share them. An identity is a label, no proof: whoever writes a campaign can give it any.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.campaign.reading import first_line

KEY = "id"
_OLD = uuid.UUID("6ba0d0de-4b7c-5f0e-9a55-6c61626b6974")  # names what the derived ones are derived for


def new() -> str:
    """A new identity."""
    return str(uuid.uuid4())


def of(facts: Mapping[str, Any], folder: Path) -> str:
    """Identity of the campaign with these facts.

    Parameters
    ----------
    facts : what its campaign.json holds.
    folder : where its log.txt lies.
    """
    return valid(facts.get(KEY)) or str(
        uuid.uuid5(_OLD, f"{facts.get('created', '')}\n{facts.get('name', '')}\n{first_line(folder / 'log.txt')}")
    )


def valid(text: object) -> str:
    """An identity as it is written; empty where it is none."""
    try:
        return str(uuid.UUID(text)) if isinstance(text, str) else ""
    except ValueError:
        return ""
