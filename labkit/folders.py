"""Where a user's own files lie: the folders of the XDG Base Directory Specification, as platformdirs finds them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from labkit.errors import DataError, LaunchError

NAME = "labkit"


def cache() -> Path:
    """Files that can be made again; ``$XDG_CACHE_HOME/labkit``, else ``~/.cache/labkit``."""
    return _found("user_cache_path", "XDG_CACHE_HOME")


def config() -> Path:
    """Settings that the user writes; ``$XDG_CONFIG_HOME/labkit``, else ``~/.config/labkit``."""
    return _found("user_config_path", "XDG_CONFIG_HOME")


def state() -> Path:
    """What labkit must remember from run to run; ``$XDG_STATE_HOME/labkit``, else ``~/.local/state/labkit``."""
    return _found("user_state_path", "XDG_STATE_HOME")


def fonts() -> tuple[Path, ...]:
    """Where fonts of the user may lie."""
    import platformdirs

    try:
        return platformdirs.user_data_path() / "fonts", Path("~/.fonts").expanduser()
    except RuntimeError:
        return ()


def _found(folder: str, variable: str) -> Path:
    """A folder of labkit's own, from the function of platformdirs with that name.

    Raises
    ------
    DataError
        If the user has no home folder.
    """
    import platformdirs  # here, for a rank imports this module, and should open few files

    try:
        return Path(getattr(platformdirs, folder)(NAME))
    except RuntimeError as error:
        raise DataError(
            f"User {os.getuid()} has no home folder, but labkit needs one for its files. Set HOME or {variable} to the "
            "absolute path of a folder of your own."
        ) from error


def runtime() -> Path:
    """Notes about running processes, for this user alone: ``labkit-UID`` in ``$XDG_RUNTIME_DIR``, else in ``/tmp``.

    This is not platformdirs' folder. That one depends on the mode of ``$XDG_RUNTIME_DIR`` and on whether
    ``/run/user/UID`` exists, so a login shell and a batch job of the same user may not find each other's notes.

    Raises
    ------
    LaunchError
        If it cannot be made, or belongs to somebody else.
    """
    place = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"{NAME}-{os.getuid()}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        owner = place.stat().st_uid
    except OSError as error:
        raise LaunchError(
            f"No folder for the state of testbeds: {error}. Set XDG_RUNTIME_DIR to a folder of your own."
        ) from error
    if owner != os.getuid():
        raise LaunchError(f"{place} belongs to another user. Set XDG_RUNTIME_DIR to a folder of your own.")
    return place
