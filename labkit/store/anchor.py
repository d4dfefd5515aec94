"""Keeps the folder of a running campaign open, to notice at once when it is moved, deleted or replaced.

labkit writes through the open folder, not through its name. So a run whose campaign was renamed never creates a second
folder under the old name.
"""

from __future__ import annotations

import os
from pathlib import Path

from labkit.errors import LostError
from labkit.io import safe_read
from labkit.point.units import plural

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
        path = Path(f"/proc/self/fd/{self._handle}")
        self.path = path if path.exists() else folder

    def close(self) -> None:
        """Close the folder."""
        os.close(self._handle)

    def check(self) -> None:
        """Check that the name still leads to the open folder.

        Raises
        ------
        LostError
            If it does not. The message says where the campaign is, and what is kept.
        """
        try:
            if os.path.samestat(self._folder.stat(), os.fstat(self._handle)):
                return
            warning = "Another folder has its name now. labkit wrote nothing to it."
        except OSError:
            warning = "labkit wrote nothing under the old name."
        place, count = self._where(), ""
        if self.saved:
            count = f", {self.saved} of them saved by this process,"
        if not place:
            raise LostError(
                f"{self._folder} was deleted during a run, with {plural(self.saved, 'point')} that this process had "
                "saved. Start the run again."
            )
        raise LostError(
            f"{self._folder} was moved to {place} during a run. {warning} The run stops. Its points"
            f"{count} are kept in {place}. Go on with: --into {place}"
        )

    def _where(self) -> str:
        """Return the path of the folder now; empty if it was deleted."""
        try:
            path = str(Path(f"/proc/self/fd/{self._handle}").readlink())
        except OSError:
            return "an unknown place"
        return "" if path.endswith(_GONE) or not os.fstat(self._handle).st_nlink else path


def unwritable(folder: Path, error: OSError, saved: int) -> LostError:
    """Return the error for a campaign that can no longer be written."""
    return LostError(
        f"{folder} cannot be written: {error.strerror or error}. All points saved so far are kept in it, {saved} of "
        f"them by this process. {safe_read.remedy(error)}; then run again: labkit measures only what is missing."
    )
