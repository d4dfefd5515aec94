"""Suites on a cluster: submit a job that runs one, follow it by its campaign's folder, leave it and come back.

``jobs/`` of a campaign holds for every submission its script, the site's settings, what is known of the job, what it
wrote, and, from inside, a note of each allocation.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit import batch, campaign
from labkit.campaign import Campaign
from labkit.errors import DataError, LaunchError
from labkit.jobs import site as sites
from labkit.jobs.following import Follower, Look
from labkit.jobs.inside import left_out
from labkit.jobs.script import Request, render
from labkit.jobs.site import Site
from labkit.jobs.summary import failures, summary
from labkit.jobs.systems import SYSTEMS, State, System
from labkit.measuring import Progress

__all__ = ["Job", "Look", "Request", "Site", "State", "attach", "cancel", "jobs", "latest", "submit", "summary"]

Say = Callable[[str], None]
QUICK, SLOW = 0.5, 5.0  # s between two questions to the batch system; it grows while nothing changes


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
    """

    campaign: Path
    submission: int
    system: str
    number: str
    submitted: float

    @property
    def batch(self) -> System:
        """Its batch system."""
        return SYSTEMS[self.system]

    def state(self) -> State:
        """How it is now."""
        return self.batch.state(self.number)

    def notes(self) -> list[dict[str, Any]]:
        """What its allocations noted from inside, by name."""
        found = sorted((self.campaign / "jobs").glob(f"{self.submission}-*.json"))
        return [json.loads(path.read_text()) for path in found]

    def output(self) -> str:
        """The end of what it wrote."""
        paths = (self.campaign / "jobs").glob(f"{self.submission}-*.out*")
        newest = max(paths, key=lambda path: path.stat().st_mtime, default=None)
        return "\n".join(newest.read_text(errors="replace").strip().splitlines()[-15:]) if newest else ""


def folder(suite: str, into: str | None, site: Site) -> Path:
    """Where the campaign of a submission lies, as all nodes name it."""
    usual = (site.folder or campaign.root()) / Path(suite).stem
    return Path(into).expanduser().resolve() if into else usual.resolve()


def submit(request: Request, place: Path | None, into: Path, say: Say) -> Job:
    """Check the suite, write the script into the campaign, and submit it.

    Parameters
    ----------
    place : file of the site; None to take what is found here.
    into : campaign folder.

    Raises
    ------
    SpecError
        If suite, site or request cannot be; nothing was submitted.
    LaunchError
        If the batch system refuses, or a job for this campaign waits or runs.
    """
    site, suite = sites.load(place), batch.load(request.suite, request.parameters)
    running = next((job for job in jobs(into) if job.state().kind in ("pending", "running")), None)
    if running is not None:
        raise LaunchError(
            f"Job {running.number} for {into} is {running.state().words}. Follow it with: labkit attach {into}; "
            f"end it with: labkit cancel {into}; or choose another campaign with --into."
        )
    held = Campaign(into, {"suite": suite.name, "title": suite.title})
    own = into / "jobs"
    own.mkdir(exist_ok=True)
    if local := _local(into):
        say(f"warning: {into} is below {local}, which most nodes have for themselves. Name another with --into.")
    number = 1 + max((int(path.stem) for path in own.glob("[0-9]*.json") if path.stem.isdigit()), default=0)
    exclude = sorted(left_out(into))
    for host in exclude:
        say(f"node {host} is left out: {left_out(into)[host]}. To use it again, delete {own}/left-out.txt.")
    script = own / f"{number}.{SYSTEMS[site.system].template.rpartition('.')[2]}"
    script.write_text(render(request, site, into, submission=number, exclude=exclude))
    (own / f"{number}.toml").write_text(place.read_text() if place else f'system = "{site.system}"\n')
    # before the job is there: two hosts that add to one file on NFS overwrite each other's lines
    held.log(f"submission {number} to {site.system}, {request.nodes} nodes, {request.minutes} minutes")
    try:
        job = Job(into, number, site.system, SYSTEMS[site.system].submit(str(script)), time.time())
    except LaunchError:
        for path in own.glob(f"{number}.*"):
            path.unlink()
        raise
    facts = {"system": job.system, "number": job.number, "submitted": job.submitted, "request": request.__dict__}
    (own / f"{number}.json").write_text(json.dumps(facts, default=list, indent=1) + "\n")
    return job


def _local(into: Path) -> str:
    """The folder above a campaign that other nodes hardly see; empty where there is none."""
    return next((str(p) for p in map(Path, ("/tmp", "/var/tmp", "/dev/shm", "/run")) if p in into.parents), "")


def jobs(into: Path) -> list[Job]:
    """Jobs that were submitted for a campaign, in order."""
    found = []
    for path in (into / "jobs").glob("[0-9]*.json"):
        if path.stem.isdigit():
            held = json.loads(path.read_text())
            found.append(Job(into, int(path.stem), held["system"], held["number"], held["submitted"]))
    return sorted(found, key=lambda job: job.submission)


def latest(name: str | Path) -> Job:
    """The last job of a campaign.

    Raises
    ------
    DataError
        If there is no such campaign, or nothing was submitted for it.
    """
    into = campaign.find(name).resolve()
    found = jobs(into)
    if not found:
        raise DataError(f"No job was submitted for {into}. Submit one with: labkit submit SUITE --into {into}")
    return found[-1]


def every() -> list[Job]:
    """The last job of every campaign."""
    folders = {path.parent.parent for path in campaign.root().glob("**/jobs/1.json")}
    return sorted((jobs(one)[-1] for one in folders), key=lambda job: job.submitted)


def attach(job: Job, tell: Callable[[Progress], None], say: Say) -> str:
    """Follow a job to its end; the summary of its campaign.

    Raises
    ------
    LaunchError
        If it did not end well: why, in the batch system's words, and what is kept.
    """
    held = Campaign(job.campaign)
    follower, before, wait = Follower(held, tell), "", QUICK
    state, asked = job.state(), time.monotonic()
    while state.kind != "ended":
        if state.words != before:
            where = f" on {state.nodes}" if state.nodes and state.kind == "running" else ""
            say(f"job {job.number}: {state.words}{where}")
            before, wait = state.words, QUICK
        time.sleep(min(QUICK, wait))
        follower.look()
        if time.monotonic() - asked >= wait:
            state, asked, wait = job.state(), time.monotonic(), min(wait * 1.3, SLOW)
    text = summary(held)
    notes = _settled(job)
    # a job that nobody remembers is judged by its own notes
    forgotten = state.words == "gone from the queue" and notes and all(note.get("status") == 0 for note in notes)
    if not state.good and not forgotten:
        raise LaunchError(f"{_why(job, state, notes)}\n{text}")
    return text


def _settled(job: Job) -> list[dict[str, Any]]:
    """Notes of a job that ended; a network file system shows them a little later."""
    for _ in range(10):
        if notes := job.notes():
            return notes
        time.sleep(QUICK / 5)
    return []


def _why(job: Job, state: State, notes: Sequence[dict[str, Any]]) -> str:
    """Why a job did not end well, and what to do."""
    said, again = job.output(), "Submit again with the same words, and the rest is measured."
    if not notes and not state.nodes:
        return f"Job {job.number} ended before it began: {state.words}. Nothing was measured by it. {again}"
    if not notes and not said:
        return (
            f"Job {job.number} ended at once ({state.words}), and nothing of it is in {job.campaign}: the nodes "
            f"({state.nodes}) hardly see that folder. Name one that all nodes share: --into, or scratch of the site."
        )
    look = Look.at(Campaign(job.campaign))
    if not notes:
        return f"Job {job.number} ended before labkit began ({state.words}). It wrote:\n{said}"
    if all(note.get("status") is not None for note in notes) and (bad := failures(Campaign(job.campaign))):
        return f"Job {job.number} ended with {len(bad)} failed notebooks ({state.words}). {again}"
    limit = "Its time was over" if "TIMEOUT" in state.words else "It was ended"
    return f"Job {job.number}: {state.words}. {limit} with {look.words()}; these are kept. {again}"


def cancel(job: Job) -> State:
    """End a job, and wait until it has ended.

    Raises
    ------
    LaunchError
        If it ended already.
    """
    state = job.state()
    if state.kind == "ended":
        raise LaunchError(
            f"Job {job.number} of {job.campaign} ended already: {state.words}. There is nothing to cancel."
        )
    job.batch.cancel(job.number)
    end = time.monotonic() + 60
    while (state := job.state()).kind != "ended" and time.monotonic() < end:
        time.sleep(QUICK)
    return state
