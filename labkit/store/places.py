"""Folders of campaigns: the common folder, the folder of a named campaign, and a new one."""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path, PurePath

from labkit.errors import DataError, alike
from labkit.io import project, safe_read

HOME = "LABKIT_CAMPAIGNS"
EXAMPLES = "examples"  # folder of the campaigns that labkit brings, below data/campaigns


def root() -> Path:
    """Folder of all campaigns: $LABKIT_CAMPAIGNS, else data/campaigns of project, checkout or working folder."""
    return Path(os.environ.get(HOME) or project.home() / "data" / "campaigns")


def find(name: str | Path) -> Path:
    """Find the folder of a campaign by its path, its name below `root`, or the name of an example, ``examples/NAME``.

    Raises
    ------
    DataError
        If there is none. The message lists the names of all campaigns.
    """
    if found := _own(name) or example(name):
        return found
    if Path(name).suffix == ".zip" and Path(name).is_file():
        raise DataError(f"{name} is an archive of campaigns. Unpack it first: labkit merge {name} --into CAMPAIGN.")
    with suppress(OSError):  # a name that is too long
        if Path(name).is_dir():
            remedy = f"If it holds logs, read them: labkit import {shlex.quote(str(name))}."
            raise DataError(f"{name} is a folder without a campaign. {remedy}")
    names: list[str] = []
    for folder, pattern in ((root(), "**"), (project.CAMPAIGNS, f"{EXAMPLES}/**")):
        names += sorted(str(path.parent.relative_to(folder)) for path in folder.glob(f"{pattern}/campaign.json"))
    same = [one for one in names if Path(one).name == str(name)]
    meant = f"Did you mean {same[0]}? " if same else alike(str(name), names)
    available = ", ".join(dict.fromkeys(names)) or "none yet; see labkit run --help"
    raise DataError(f"There is no campaign {str(name)!r}. {meant}There are: {available}.")


def name_of(name: str | Path) -> str:
    """Return a name that `find` finds a campaign by in any folder: below `root` its name there, elsewhere its path.

    Raises
    ------
    DataError
        If there is none.
    """
    path, folder = find(name).resolve(), root().resolve()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def word(campaign: Path) -> str:
    """Return the shortest word that `find` finds a campaign by: its name, or its path from the working folder."""
    path = safe_read.resolved(campaign)
    for folder in (root(), project.CAMPAIGNS, Path()):
        home = safe_read.resolved(folder)
        if path.is_relative_to(home) and path != home:
            name = path.relative_to(home)
            if (found := _own(name) or example(name)) and safe_read.resolved(found) == path:
                return str(name)
    return str(path)


def titles(names: Iterable[str]) -> dict[str, str]:
    """Return name → title of campaigns shown together: the folder's name, with enough parent folders to make it unique.

    Examples
    --------
    >>> titles(["two-cores", "/tmp/monday/night", "/tmp/tuesday/night"])
    {'two-cores': 'two-cores', '/tmp/monday/night': 'monday/night', '/tmp/tuesday/night': 'tuesday/night'}
    """
    parts = {name: PurePath(name).parts or (name,) for name in names}

    def title(name: str) -> str:
        mine = parts[name]
        for count in range(1, len(mine)):
            if sum(other[-count:] == mine[-count:] for other in parts.values()) == 1:
                return str(PurePath(*mine[-count:]))
        return name

    return {name: title(name) for name in parts}


def example(name: str | Path) -> Path | None:
    """Return the folder of an example that labkit brings; None for any other name, and for the user's own campaigns."""
    parts = Path(name).parts
    parts = parts[2:] if parts[:2] == ("data", "campaigns") else parts
    if parts[:1] != (EXAMPLES,) or ".." in parts or _own(name):
        return None
    return _campaign(project.CAMPAIGNS.joinpath(*parts))


def _own(name: str | Path) -> Path | None:
    """Return the folder of a campaign by its path or by its name below `root`."""
    return _campaign(Path(name)) or _campaign(root() / name)


def _campaign(path: Path) -> Path | None:
    """Return the folder if it is a campaign."""
    with suppress(OSError):  # a name that is too long, or links in a circle
        return path if (path / "campaign.json").exists() else None
    return None


def newest() -> Path:
    """Return the folder of the campaign below `root` that something happened in last.

    Raises
    ------
    DataError
        If there is none.
    """
    moments = {}
    for path in root().glob("*/campaign.json"):
        with suppress(OSError):  # deleted meanwhile
            events = path.parent / "events.jsonl"
            moments[path.parent] = (events if events.exists() else path).stat().st_mtime_ns
    if not moments:
        raise DataError(
            f"There is no campaign in {root()}. Name one, or make one: labkit import FOLDER, or labkit run."
        )
    return max(moments, key=lambda path: (moments[path], path.name))


def fresh(kind: str) -> Path:
    """Create an empty folder below `root`, named after the time; two in one second get different names.

    Parameters
    ----------
    kind : first word of the name, such as ``measure``.

    Raises
    ------
    DataError
        If it cannot be created.
    """
    stem = datetime.now().strftime(f"{kind}-%Y%m%d-%H%M%S")
    for count in itertools.count(1):
        path = root() / (stem if count == 1 else f"{stem}-{count}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except FileExistsError:
            if not path.exists():  # something above it is not a folder
                raise DataError(f"{path} cannot be created: {path.parent} is not a folder. Set {HOME}.") from None
            continue
        except OSError as error:
            raise DataError(
                f"{path} cannot be created: {error.strerror}. {safe_read.remedy(error)}: --into."
            ) from error
        return path
    raise AssertionError


@contextmanager
def whole(place: Path, *, new: bool) -> Iterator[None]:
    """Remove a new campaign if a signal ends the block.

    Parameters
    ----------
    new : whether this process created the campaign; others are kept.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if new:
            shutil.rmtree(place, ignore_errors=True)
        raise
