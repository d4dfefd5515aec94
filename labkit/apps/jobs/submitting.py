"""Submit a suite. labkit refuses an impossible request before it submits anything."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from labkit import benchmarks, suites
from labkit.apps.jobs import site as sites
from labkit.apps.jobs.inside import default_parameters, left_out
from labkit.apps.jobs.script import Request, apart, render
from labkit.apps.jobs.site import Site
from labkit.apps.jobs.submitted import Job, jobs, signable
from labkit.apps.jobs.systems import SYSTEMS
from labkit.errors import LaunchError, SpecError
from labkit.host.allocation import Allocation
from labkit.io import beneath, safe_read
from labkit.point.units import format_duration, plural
from labkit.store import lease
from labkit.store.campaign import Campaign, root
from labkit.store.signatures import sign

Say = Callable[[str], None]
PATIENCE = 30.0  # s that a submission waits for another one into the same campaign


def folder(suite: str, into: str | None, site: Site) -> Path:
    """Return the campaign folder of a submission, under the name that all nodes use."""
    default = (site.folder or root()) / Path(suite).stem
    return safe_read.resolved(Path(into).expanduser() if into else default)


def submit(request: Request, place: Path | None, into: Path, say: Say) -> Job:
    """Check the suite, write the script into the campaign, and submit it.

    Parameters
    ----------
    place : file of the site; None to use the batch system of this machine.
    into : campaign folder.

    Raises
    ------
    SpecError
        If suite, site or request is invalid. Nothing was submitted.
    LaunchError
        If the batch system refuses, or a job for this campaign waits or runs.
    """
    site = sites.load(place)
    suite = check(request, site, into, say)
    exists = (into / "campaign.json").exists()
    if exists:
        _refuse_active_job(into)
    before = {path.name for path in into.iterdir()} if into.is_dir() else None
    try:
        return _submitted(request, place, site, suite, into, say)
    except LaunchError:
        if not exists and not jobs(into):  # somebody else may have submitted into the same new folder meanwhile
            _forget(into, before)
        raise


def _forget(into: Path, before: set[str] | None) -> None:
    """Remove what a submission created: the whole folder if it is new, else only its own files."""
    with suppress(OSError):
        for path in into.iterdir():
            if before is None or path.name not in before:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if before is None:
            into.rmdir()


def _submitted(request: Request, place: Path | None, site: Site, suite: suites.Suite, into: Path, say: Say) -> Job:
    """Write the script into the campaign, and submit it."""
    jobs_folder = into / "jobs"
    campaign = Campaign(into, {"suite": suite.name, "title": suite.title})
    with _submission_lock(into):
        _refuse_active_job(into)
        if local_folder := _node_local(into):
            say(
                f"warning: {into} is below {local_folder}, which is local to each node on most clusters. Use a shared "
                "folder: --into."
            )
        number = 1 + max(
            (int(path.stem) for path in jobs_folder.glob("[0-9]*.json") if path.stem.isdecimal()), default=0
        )
        exclude = sorted(left_out(into))
        for host in exclude:
            say(f"node {host} is excluded: {left_out(into)[host]}. To use it again, delete {jobs_folder}/left-out.txt.")
        script = jobs_folder / f"{number}.{SYSTEMS[site.system].template.rpartition('.')[2]}"
        campaign.put(f"jobs/{script.name}", render(request, site, into, submission=number, exclude=exclude))
        campaign.put(f"jobs/{number}.toml", place.read_text() if place else f'system = "{site.system}"\n')
        # before the job starts: two hosts that append to one file on NFS overwrite each other's lines
        campaign.log(
            f"submission {number} to {site.system}, {plural(request.nodes, 'node')}, "
            f"{plural(request.minutes, 'minute')}"
        )
        try:
            job_number = SYSTEMS[site.system].submit(str(script))
            if request.spread:
                _spread(request, site, job_number)
        except LaunchError:
            for path in jobs_folder.glob(f"{number}.*"):
                campaign.drop(f"jobs/{path.name}")
            raise
        job = Job(into, number, site.system, job_number, time.time(), request.array)
        facts = {"system": job.system, "number": job.number, "submitted": job.submitted, "request": request.__dict__}
        facts["signature"] = sign(signable(job.system, job.number))
        campaign.put(f"jobs/{number}.json", json.dumps(facts, default=list, indent=1) + "\n", durable=True)
    return job


def _spread(request: Request, site: Site, number: str) -> None:
    """Spread the jobs of an array over time; cancel all of them if the batch system refuses."""
    try:
        SYSTEMS[site.system].spread(number, request.array, apart(request))
    except LaunchError:
        SYSTEMS[site.system].cancel(number)
        raise


def _waiting(request: Request, suite: suites.Suite, say: Say) -> None:
    """Warn of sessions in one job, which holds its nodes between them; refuse them if they outlast it."""
    sessions, apart_s = suite.effort.schedule
    if sessions == 1:
        return
    whole = format_duration((sessions - 1) * apart_s)
    if (sessions - 1) * apart_s > request.minutes * 60:
        raise SpecError(
            f"--time {request.minutes}, but {suite.name} has {sessions} sessions over {whole}. Set a longer --time, or "
            f"leave sessions out of the suite and submit with --array {sessions} --spread."
        )
    say(
        f"warning: the job holds its nodes between its {sessions} sessions, over {whole}. With --array and --spread, "
        "each session is a separate job."
    )


def check(request: Request, site: Site, into: Path, say: Say) -> suites.Suite:
    """Load the suite of a request and check it against the site, the batch system and the notebooks.

    Raises
    ------
    SpecError
        If it is impossible: too many nodes, too long, an unknown partition, more ranks than cores, a parameter out of
        range.
    LaunchError
        If the batch system would refuse it, in its own words.
    """
    text = render(request, site, into, exclude=sorted(left_out(into)))
    suite = suites.load(request.suite, request.parameters)
    _waiting(request, suite, say)
    for entry in suite.entries:
        _check_parameters(entry)
    hosts = tuple(f"node{i}" for i in range(request.nodes))
    defaults = default_parameters(site, Allocation(site.system, "0", hosts=hosts, tasks=request.ppn))
    for entry in suites.load(request.suite, request.parameters, defaults).entries:
        try:
            _check_parameters(entry)
        except SpecError as error:
            say(
                f"warning: {entry.name} will fail on {plural(request.nodes, 'node')} with {request.ppn} ranks each: "
                f"{error.brief}"
            )
    SYSTEMS[site.system].check(
        text, request.partition or site.partition, nodes=request.nodes, ppn=request.ppn, minutes=request.minutes
    )
    return suite


def _check_parameters(entry: suites.Entry) -> None:
    """Refuse parameters that no machine could measure with. The job's hosts may have what this host lacks."""
    try:
        study = entry.study(measure=False)
        for spec in study.specs():
            benchmarks.resolve(spec)
    except LaunchError:
        pass


def _refuse_active_job(into: Path) -> None:
    """Refuse a campaign for which a job waits or runs."""
    active = next((job for job in reversed(jobs(into)) if job.goes_on()), None)
    if active is not None:
        raise LaunchError(
            f"Job {active.number} for {into} is {active.state().words}. Follow it with: labkit attach {into}; "
            f"end it with: labkit cancel {into}; or choose another campaign with --into."
        )


@contextmanager
def _submission_lock(into: Path) -> Iterator[None]:
    """Let nobody else submit into a campaign meanwhile, from this host or another one."""
    jobs_folder = into / "jobs"
    end = time.monotonic() + PATIENCE
    with ExitStack() as stack:
        place = stack.enter_context(beneath.folder(into, jobs_folder.name, make=True))
        while True:
            try:
                stack.enter_context(lease.hold(place))
                break
            except LaunchError as error:
                if time.monotonic() > end:
                    holder = lease.holder(jobs_folder) or {"pid": "?", "host": "?"}
                    raise LaunchError(
                        f"Process {holder['pid']} on {holder['host']} is submitting into {jobs_folder.parent} for "
                        f"longer than {PATIENCE:g} s. Wait for it, or end it; then look with: "
                        f"labkit status {jobs_folder.parent}"
                    ) from error
                time.sleep(0.1)
        yield


def _node_local(into: Path) -> str:
    """Return the folder above a campaign that other nodes probably do not see; empty if there is none."""
    return next((str(p) for p in map(Path, ("/tmp", "/var/tmp", "/dev/shm", "/run")) if p in into.parents), "")
