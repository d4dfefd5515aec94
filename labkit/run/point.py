"""A point to be measured, and one that failed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from labkit import benchmarks
from labkit.errors import LabkitError
from labkit.point.notes import Note, note
from labkit.point.spec import Spec


@dataclass(frozen=True)
class Point:
    """One spec and launch that is to be measured.

    Parameters
    ----------
    spec : resolved, with a launcher's name instead of ``auto``.
    launch : which fresh start, from 0.
    fingerprint : names the work on this system.
    library : MPI library of the launcher, or tool, with its version.
    retried : why the first start failed, for a point that is measured by a second one.
    session : start of the session that a schedule puts the launch in; empty without a schedule.
    """

    spec: Spec
    launch: int
    fingerprint: str
    library: str
    retried: str = ""
    session: str = ""

    @property
    def title(self) -> str:
        """The point and its launch, as the log names them."""
        return f"{benchmarks.label(self.spec)} launch {self.launch}"

    @property
    def marks(self) -> tuple[dict[str, str], list[Note]]:
        """Metadata and warnings: the session, and why a first start failed."""
        meta = {"session": self.session} if self.session else {}
        if not self.retried:
            return meta, []
        text = f"measured in a second start, because the first failed: {self.retried}"
        return meta | {"retried": self.retried}, [note("retried", text, reason=self.retried)]


@dataclass(frozen=True)
class Failure:
    """A point that could not be measured, and why."""

    point: Point
    error: LabkitError

    def facts(self) -> dict[str, Any]:
        """Values of the failure's event: the point, and the error with command, exit status and standard error."""
        point = self.point
        names = {"benchmark": point.spec.benchmark, "fingerprint": point.fingerprint, "launch": point.launch}
        return self.error.facts() | names

    def retry(self) -> Point:
        """The point to measure once more, marked with the reason of this failure."""
        return dataclasses.replace(self.point, retried=_short(self.error.brief))


def _short(reason: str, most: int = 160) -> str:
    """Return a reason in at most this many characters; it is kept with each point."""
    return reason if len(reason) <= most else f"{reason[: most - 1]}…"
