"""The identity of a campaign, which stays the same when its folder is renamed, copied, archived or unpacked.

A new campaign gets a random UUID: ``id`` in campaign.json. Copies share it. An identity is a label, not a proof: anyone
who writes a campaign can choose it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from labkit.errors import DataError

KEY = "id"


def new() -> str:
    """Return a new identity."""
    return str(uuid.uuid4())


def identity_of(facts: Mapping[str, Any], where: object) -> str:
    """Return the identity of a campaign.

    Parameters
    ----------
    facts : content of its campaign.json.
    where : that file, for the error.

    Raises
    ------
    DataError
        If there is none.
    """
    if stated := valid(facts.get(KEY)):
        return stated
    raise DataError(
        f"{where} has {KEY}={repr(facts.get(KEY))[:60]}, but it must be a UUID, which labkit writes into each new "
        "campaign. Restore the file, or measure again."
    )


def valid(text: object) -> str:
    """Return an identity in its usual form; empty if the text is not one."""
    try:
        return str(uuid.UUID(text)) if isinstance(text, str) else ""
    except ValueError:
        return ""
