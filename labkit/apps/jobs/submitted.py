"""Jobs that were submitted for a campaign. Its folder names them, so any user can look."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.apps.jobs.systems import SYSTEMS, State, System
from labkit.errors import DataError, LabkitWarning
from labkit.io import safe_read
from labkit.store import campaign
from labkit.store.signatures import signed

NUMBER = re.compile(r"\w[^\s\x00-\x1f\x7f]{0,99}")  # never an option of a program


@dataclass(frozen=True)
class Job:
    """A job that was submitted.

    Parameters
    ----------
    campaign : its folder.
    submission : number of the submission into that campaign, from 1.
    system : batch system.
    number : number of the job there.
    submitted : time of the submission, s since the epoch.
    array : number of jobs, one after the other.
    submitted_here : whether this user submitted it, by the signature in its file.
    """

    campaign: Path
    submission: int
    system: str
    number: str
    submitted: float
    array: int = 1
    submitted_here: bool = True

    @property
    def batch(self) -> System:
        """Its batch system."""
        return SYSTEMS[self.system]

    def state(self) -> State:
        """Ask the batch system for the state of the job."""
        return self.batch.state(self.number)

    def notes(self) -> list[dict[str, Any]]:
        """Return the notes that its allocations wrote, by name."""
        paths = sorted((self.campaign / "jobs").glob(f"{self.submission}-*.json"))
        return [note for note in map(read, paths) if note is not None]

    def goes_on(self) -> bool:
        """Whether it waits or runs. If all its allocations noted their end, the batch system is not asked."""
        notes = self.notes()
        if len(notes) >= self.array and all("status" in note for note in notes):
            return False
        return self.state().kind in ("pending", "running")

    def output(self) -> str:
        """Return the end of its output."""
        paths = (path for path in (self.campaign / "jobs").glob(f"{self.submission}-*.out*") if path.is_file())
        newest = max(paths, key=lambda path: path.stat().st_mtime, default=None)
        return safe_read.tail(newest, 15) if newest else ""


def signable(system: str, number: str) -> bytes:
    """Return the bytes to sign. Others may write any number into a campaign, and `cancel` must not end that job."""
    return f"job {system} {number}".encode()


def read(path: Path) -> dict[str, Any] | None:
    """Read a file of ``jobs/``; return None, with a warning, if it is damaged."""
    try:
        return safe_read.json_object(path)
    except DataError as error:
        _damaged(path, str(error).removeprefix(str(path)).strip(": ."))
        return None


def _damaged(path: Path, reason: object) -> None:
    text = f"{path} is damaged, so labkit ignores it: {reason}. Delete it, or restore it from a backup."
    warnings.warn(text, LabkitWarning, stacklevel=3)


def jobs(into: Path) -> list[Job]:
    """Return the jobs that were submitted for a campaign, in order.

    Warns
    -----
    LabkitWarning
        For a submission whose file is damaged; the list omits it.
    """
    submitted_jobs = []
    for path in sorted((into / "jobs").glob("[0-9]*.json")):
        facts = read(path) if path.stem.isdecimal() else None
        if facts is None:
            continue
        try:
            if facts["system"] not in SYSTEMS:
                raise ValueError(f"there is no batch system {facts['system']!r}")
            array = int(dict(facts.get("request", {})).get("array", 1))
            number, submitted = str(facts["number"]), float(facts["submitted"])
            if not NUMBER.fullmatch(number):
                raise ValueError(f"{number[:40]!r} is not a number of a job")
            submitted_here = signed(signable(facts["system"], number), facts.get("signature"))
            submitted_jobs.append(Job(into, int(path.stem), facts["system"], number, submitted, array, submitted_here))
        except (KeyError, TypeError, ValueError) as error:
            _damaged(path, f"there is no {error}" if isinstance(error, KeyError) else error)
    return sorted(submitted_jobs, key=lambda job: job.submission)


def _active_and_last(jobs_of_campaign: Sequence[Job]) -> list[Job]:
    """Return the jobs of a campaign that wait or run, and the last one."""
    return [job for job in jobs_of_campaign if job is jobs_of_campaign[-1] or job.goes_on()]


def latest(name: str | Path) -> Job:
    """Return the last job of a campaign that waits or runs; if none does, the last job.

    Raises
    ------
    DataError
        If there is no such campaign, or nothing was submitted for it.
    """
    jobs_of_campaign = _jobs_of(name)
    return next((job for job in reversed(jobs_of_campaign) if job.goes_on()), jobs_of_campaign[-1])


def jobs_of(name: str | Path) -> list[Job]:
    """Return the jobs of a campaign that wait or run, and its last one.

    Raises
    ------
    DataError
        If there is no such campaign, or nothing was submitted for it.
    """
    return _active_and_last(_jobs_of(name))


def _jobs_of(name: str | Path) -> list[Job]:
    """Return all jobs of a campaign, at least one."""
    into = safe_read.resolved(campaign.find(name))
    if found_jobs := jobs(into):
        return found_jobs
    raise DataError(f"Campaign {into} has no job. Submit one with: labkit submit SUITE --into {into}")


def every() -> list[Job]:
    """Return the jobs that wait or run, and the last job of every campaign."""
    paths = campaign.root().glob("**/jobs/[0-9]*.json")
    folders = {path.parent.parent for path in paths if path.stem.isdecimal() and _is_campaign(path.parent.parent)}
    return sorted((job for folder in folders for job in _active_and_last(jobs(folder))), key=lambda job: job.submitted)


def _is_campaign(folder: Path) -> bool:
    """Whether a folder is a campaign, and not the jobs that a merged campaign kept of its origins."""
    return (folder / "campaign.json").exists() and "origins" not in folder.parts
