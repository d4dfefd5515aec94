"""Know what labkit executed copies of notebooks from, so that it executes them again when that has changed.

Copies that a campaign holds are its own. Those that labkit executed on its samples are noted in
``records/notebooks.json`` among its derived files; that file may be deleted.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from labkit.errors import DataError
from labkit.io import beneath, file_state, project, safe_read
from labkit.store.campaign import Campaign
from labkit.suites.definition import Entry

_writing = Lock()  # two notebooks run at a time


def shared(campaign: Campaign) -> str:
    """Return a fingerprint of what all copies are made from: samples, labkit, packages, reference data."""
    data = file_state.states_of(project.SHIPPED / "data" / "reference", packaged=True)
    return file_state.digest([*file_state.states_of(campaign.path / "samples"), *file_state.installed(), *data])


def made_from(entry: Entry, shared: str) -> str:
    """Return a fingerprint of all that the copy of a notebook is made from: `shared`, parameters, the notebook."""
    chosen = (sorted(entry.parameters.items()), sorted(entry.setting.items()))
    return file_state.digest([shared, chosen, entry.notebook.read_bytes()])


def note(campaign: Campaign, entry: Entry, copy: Path, inputs: str) -> None:
    """Note from what a copy was made. A failure does no harm: the copy then counts as one of the campaign."""
    with _writing, suppress(OSError, DataError):
        file = _file(campaign)
        known = _known(file) | {entry.name: {"inputs": inputs, "copy": file_state.digest(file_state.states_of(copy))}}
        beneath.put(campaign.derived, f"{file.parent.name}/{file.name}", json.dumps(known, indent=1).encode())


def noted(campaign: Campaign, name: str, copy: Path) -> str:
    """Return the fingerprint of what labkit made a copy from; empty if it did not, or if the copy was changed."""
    entry = _known(_file(campaign)).get(name)
    if not isinstance(entry, dict) or entry.get("copy") != file_state.digest(file_state.states_of(copy)):
        return ""
    return str(entry.get("inputs", ""))


def _file(campaign: Campaign) -> Path:
    return campaign.derived / "records" / "notebooks.json"


def _known(file: Path) -> dict[str, Any]:
    """Return what is noted; nothing if the file cannot be read."""
    try:
        return safe_read.json_object(file)
    except DataError:
        return {}
