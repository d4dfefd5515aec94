"""The view of a page as text: for links, saved views, undo and redo."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.apps.explorer.view import View
from labkit.errors import DataError, unknown_name
from labkit.io import atomic, safe_read
from labkit.point.spec import validated
from labkit.store import campaign

FOLDER = "views"  # below the folder of all campaigns
_MOST = 100_000  # characters of a state; also of what it unpacks to


@dataclass(frozen=True, kw_only=True)
class State:
    """The view of a page.

    Parameters
    ----------
    campaigns : on show.
    views : views of the plots, by their letter: what differs from an empty view.
    second : whether plot B is on show.
    point : the point that was clicked: campaign, benchmark, fingerprint, metric; empty for none.
    pinned : points beside it.
    """

    campaigns: tuple[str, ...] = ()
    views: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    second: bool = False
    point: tuple[str, ...] = ()
    pinned: tuple[tuple[str, ...], ...] = ()

    @property
    def text(self) -> str:
        """The state for a link: letters, digits, ``-`` and ``_``."""
        return base64.urlsafe_b64encode(zlib.compress(_json(dataclasses.asdict(self)).encode(), 9)).decode().rstrip("=")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def differing(view: View) -> dict[str, Any]:
    """Fields of a view that are not at their default; the campaigns are those of the page."""
    usual = View()
    fields = (one.name for one in dataclasses.fields(view) if one.name != "campaigns")
    found = {name: getattr(view, name) for name in fields if getattr(view, name) != getattr(usual, name)}
    return dict(json.loads(_json(found)))


def read(text: str) -> State:
    """Read the text of a link.

    Raises
    ------
    DataError
        If it is none.
    """
    problem = "This link does not hold a view of the Explorer. Copy it again, whole."
    if len(text) > _MOST or not re.fullmatch(r"[\w-]+", text, re.ASCII):
        raise DataError(problem)
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), _MOST)
        return _checked(json.loads(data), problem)
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise DataError(problem) from error


def _checked(value: Any, problem: str) -> State:
    """State from plain data of others."""
    if not isinstance(value, Mapping):
        raise DataError(problem)
    made: State = validated(State, dict(value), what="the view")
    for fields in made.views.values():
        validated(View, fields, what="the view")
    return made


def folder() -> Path:
    """Folder of the saved views."""
    return campaign.root() / FOLDER


def saved() -> list[str]:
    """Names of the saved views."""
    return sorted(path.stem for path in folder().glob("*.json"))


def save(name: str, state: State) -> Path:
    """Keep a state under a name; an earlier one of that name is not replaced.

    Raises
    ------
    DataError
        If the name is none, or taken.
    """
    path = _path(name)
    if path.exists():
        raise DataError(f"There is a view {name!r} already. Choose another name, or delete {path}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.replace(path, json.dumps(dataclasses.asdict(state), ensure_ascii=False, indent=1) + "\n")
    return path


def load(name: str) -> State:
    """Read a saved view, by its name or by the path of its file.

    Raises
    ------
    DataError
        If there is none, or the file is not one.
    """
    path = Path(name) if name.endswith(".json") else _path(name)
    if not path.is_file():
        raise unknown_name("view", name, saved(), error=DataError)
    problem = f"{path} is not a view that the Explorer saved. Save it again."
    with safe_read.about(path):
        try:
            return _checked(json.loads(safe_read.text(path, most=_MOST)), problem)
        except ValueError as error:
            raise DataError(problem) from error


def _path(name: str) -> Path:
    """File of a saved view."""
    if not re.fullmatch(r"[A-Za-z0-9][\w .+-]{0,79}", name.strip()):
        raise DataError(
            f"{name[:80]!r} cannot be the name of a view: use letters, digits, spaces, '.', '-', '+' and '_', and "
            "begin with a letter or digit."
        )
    return folder() / f"{name.strip()}.json"
