"""Holds the folder that is measured into, so that its move, its loss or a stranger in its place is noticed at once.

labkit writes through the open folder, not through its name: a run whose campaign was renamed never makes a second
folder under the old name.
"""

from __future__ import annotations

import os
from pathlib import Path

from labkit.errors import LostError

_GONE = " (deleted)"


class Anchor:
    """An open campaign folder.

    Parameters
    ----------
    folder : as the user named it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self.saved = folder, 0
        self._handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        own = Path(f"/proc/self/fd/{self._handle}")
        self.place = own if own.exists() else folder

    def close(self) -> None:
        """Let the folder go."""
        os.close(self._handle)

    def check(self) -> None:
        """Refuse to go on when the name leads elsewhere.

        Raises
        ------
        LostError
            If it does: says where the campaign is, and what is kept.
        """
        try:
            if os.path.samestat(self._folder.stat(), os.fstat(self._handle)):
                return
            now = "Another folder has its name now. labkit wrote nothing to it."
        except OSError:
            now = "labkit wrote nothing under the old name."
        where, count = self._where(), f", {self.saved} of them saved by this process," if self.saved else ""
        if not where:
            raise LostError(
                f"{self._folder} was deleted during a run. The {self.saved} points that this process "
                "had saved are lost. Start the run again."
            )
        raise LostError(
            f"{self._folder} was moved to {where} during a run. {now} The run stops. Its points"
            f"{count} are kept in {where}. Go on with: --into {where}"
        )

    def _where(self) -> str:
        """Where the folder lies now; empty if it was deleted."""
        try:
            told = str(Path(f"/proc/self/fd/{self._handle}").readlink())
        except OSError:
            return "an unknown place"
        return "" if told.endswith(_GONE) or not os.fstat(self._handle).st_nlink else told


def unwritable(folder: Path, error: OSError, saved: int) -> LostError:
    """The error for a campaign that cannot be written any more."""
    return LostError(
        f"{folder} cannot be written: {error.strerror or error}. All points saved so far are kept in it, {saved} of "
        "them by this process. Free space or make it writable, then run again: labkit measures only what is missing."
    )
