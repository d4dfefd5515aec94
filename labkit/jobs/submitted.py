"""Jobs that were submitted for a campaign, read from its folder: whoever looks need not be who submitted."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit import campaign, outside
from labkit.campaign.signatures import signed
from labkit.errors import DataError, LabkitWarning
from labkit.jobs.systems import SYSTEMS, State, System

NUMBER = re.compile(r"\w[^\s\x00-\x1f\x7f]{0,99}")  # never an option of a program


@dataclass(frozen=True)
class Job:
    """A job that was submitted.

    Parameters
    ----------
    campaign : its folder.
    submission : which one into that campaign, from 1.
    system : batch system.
    number : of the job there.
    submitted : when, s since the epoch.
    array : how many jobs it is, one after the other.
    own : whether this user submitted it, by the signature in its file.
    """

    campaign: Path
    submission: int
    system: str
    number: str
    submitted: float
    array: int = 1
    own: bool = True

    @property
    def batch(self) -> System:
        """Its batch system."""
        return SYSTEMS[self.system]

    def state(self) -> State:
        """How it is now."""
        return self.batch.state(self.number)

    def notes(self) -> list[dict[str, Any]]:
        """What its allocations noted from inside, by name."""
        paths = sorted((self.campaign / "jobs").glob(f"{self.submission}-*.json"))
        return [note for note in map(read, paths) if note is not None]

    def goes_on(self) -> bool:
        """Whether it waits or runs; one whose allocations all noted their end is not asked for."""
        notes = self.notes()
        if len(notes) >= self.array and all("status" in note for note in notes):
            return False
        return self.state().kind in ("pending", "running")

    def output(self) -> str:
        """The end of what it wrote."""
        paths = (self.campaign / "jobs").glob(f"{self.submission}-*.out*")
        newest = max(paths, key=lambda path: path.stat().st_mtime, default=None)
        return "\n".join(outside.text(newest, "replace").strip().splitlines()[-15:]) if newest else ""


def signable(system: str, number: str) -> bytes:
    """What is signed of a job: others may write any number into a campaign, and `cancel` must not end that job."""
    return f"job {system} {number}".encode()


def read(path: Path) -> dict[str, Any] | None:
    """What a file of ``jobs/`` holds; None, with a warning, where it is damaged."""
    try:
        return outside.json_object(path)
    except DataError as error:
        _damaged(path, str(error).removeprefix(str(path)).strip(": ."))
        return None


def _damaged(path: Path, why: object) -> None:
    text = f"{path} is damaged, so labkit ignores it: {why}. Delete it, or restore it from a backup."
    warnings.warn(text, LabkitWarning, stacklevel=3)


def jobs(into: Path) -> list[Job]:
    """Jobs that were submitted for a campaign, in order.

    Warns
    -----
    LabkitWarning
        For a submission whose file is damaged; it is left out.
    """
    found = []
    for path in sorted((into / "jobs").glob("[0-9]*.json")):
        held = read(path) if path.stem.isdigit() else None
        if held is None:
            continue
        try:
            if held["system"] not in SYSTEMS:
                raise ValueError(f"there is no batch system {held['system']!r}")
            array = int(dict(held.get("request", {})).get("array", 1))
            number, submitted = str(held["number"]), float(held["submitted"])
            if not NUMBER.fullmatch(number):
                raise ValueError(f"{number[:40]!r} is no number of a job")
            mine = signed(signable(held["system"], number), held.get("signature"))
            found.append(Job(into, int(path.stem), held["system"], number, submitted, array, mine))
        except (KeyError, TypeError, ValueError) as error:
            _damaged(path, f"there is no {error}" if isinstance(error, KeyError) else error)
    return sorted(found, key=lambda job: job.submission)


def shown(found: Sequence[Job]) -> list[Job]:
    """Those jobs of a campaign that wait or run, and the last one."""
    return [job for job in found if job is found[-1] or job.goes_on()]


def latest(name: str | Path) -> Job:
    """The last job of a campaign that waits or runs; where none does, the last.

    Raises
    ------
    DataError
        If there is no such campaign, or nothing was submitted for it.
    """
    found = _of(name)
    return next((job for job in reversed(found) if job.goes_on()), found[-1])


def of(name: str | Path) -> list[Job]:
    """Jobs of a campaign that wait or run, and its last one.

    Raises
    ------
    DataError
        If there is no such campaign, or nothing was submitted for it.
    """
    return shown(_of(name))


def _of(name: str | Path) -> list[Job]:
    """All jobs of a campaign, one at least."""
    into = outside.resolved(campaign.find(name))
    if found := jobs(into):
        return found
    raise DataError(f"Campaign {into} has no job. Submit one with: labkit submit SUITE --into {into}")


def every() -> list[Job]:
    """Jobs that wait or run, and the last job of every campaign."""
    paths = campaign.root().glob("**/jobs/[0-9]*.json")
    folders = {path.parent.parent for path in paths if path.stem.isdigit() and _held(path.parent.parent)}
    return sorted((job for one in folders for job in shown(jobs(one))), key=lambda job: job.submitted)


def _held(folder: Path) -> bool:
    """Whether a folder is a campaign; what merged campaigns kept of their jobs is none."""
    return (folder / "campaign.json").exists() and "origins" not in folder.parts
