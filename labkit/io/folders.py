"""Find the folders for a user's files by the XDG Base Directory Specification, with platformdirs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from labkit.errors import DataError, LaunchError

NAME = "labkit"


def cache() -> Path:
    """Folder for files that labkit can make again; ``$XDG_CACHE_HOME/labkit``, else ``~/.cache/labkit``."""
    return _folder("user_cache_path", "XDG_CACHE_HOME")


def config() -> Path:
    """Folder for settings that the user writes; ``$XDG_CONFIG_HOME/labkit``, else ``~/.config/labkit``."""
    return _folder("user_config_path", "XDG_CONFIG_HOME")


def state() -> Path:
    """Folder for what labkit remembers from run to run; ``$XDG_STATE_HOME/labkit``, else ``~/.local/state/labkit``."""
    return _folder("user_state_path", "XDG_STATE_HOME")


def fonts() -> tuple[Path, ...]:
    """Folders that may hold fonts of the user."""
    import platformdirs  # as in `_folder`

    try:
        return platformdirs.user_data_path() / "fonts", Path("~/.fonts").expanduser()
    except RuntimeError:
        return ()


def _folder(function: str, variable: str) -> Path:
    """A folder of labkit's, from the function of platformdirs with this name.

    Raises
    ------
    DataError
        If the user has no home folder.
    """
    import platformdirs  # inside the function: a rank imports this module and should open few files

    try:
        return Path(getattr(platformdirs, function)(NAME))
    except RuntimeError as error:
        raise DataError(
            f"User {os.getuid()} has no home folder, but labkit needs one for its files. Set HOME or {variable} to the "
            "absolute path of a folder of your own."
        ) from error


def runtime() -> Path:
    """Folder for this user's notes on running processes: ``labkit-UID`` in ``$XDG_RUNTIME_DIR``, else in ``/tmp``.

    This is not platformdirs' folder. That one depends on the mode of ``$XDG_RUNTIME_DIR`` and on whether
    ``/run/user/UID`` exists, so a login shell and a batch job of the same user may not find each other's notes.

    Raises
    ------
    LaunchError
        If it cannot be made, or belongs to another user.
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
