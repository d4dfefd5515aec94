"""Submitting a suite: what cannot be is refused before the batch system is asked for anything."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from labkit import benchmarks, campaign, outside, suites, writing
from labkit.campaign import Campaign, lease
from labkit.campaign.signatures import sign
from labkit.errors import LaunchError, SpecError
from labkit.host.allocation import Allocation
from labkit.jobs import site as sites
from labkit.jobs.inside import left_out, usual
from labkit.jobs.script import Request, render
from labkit.jobs.site import Site
from labkit.jobs.submitted import Job, jobs, signable
from labkit.jobs.systems import SYSTEMS

Say = Callable[[str], None]
PATIENCE = 30.0  # s that a submission waits for another one into the same campaign


def folder(suite: str, into: str | None, site: Site) -> Path:
    """Where the campaign of a submission lies, as all nodes name it."""
    usual = (site.folder or campaign.root()) / Path(suite).stem
    return outside.resolved(Path(into).expanduser() if into else usual)


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
    site = sites.load(place)
    suite = check(request, site, into, say)
    own = into / "jobs"
    if (into / "campaign.json").exists():
        _free(into)
    held = Campaign(into, {"suite": suite.name, "title": suite.title})
    own.mkdir(exist_ok=True)
    with _alone(own):
        _free(into)
        if local := _local(into):
            say(
                f"warning: {into} is below {local}, which is local to each node on most clusters. Use a shared "
                "folder: --into."
            )
        number = 1 + max((int(path.stem) for path in own.glob("[0-9]*.json") if path.stem.isdigit()), default=0)
        exclude = sorted(left_out(into))
        for host in exclude:
            say(f"node {host} is excluded: {left_out(into)[host]}. To use it again, delete {own}/left-out.txt.")
        script = own / f"{number}.{SYSTEMS[site.system].template.rpartition('.')[2]}"
        script.write_text(render(request, site, into, submission=number, exclude=exclude))
        (own / f"{number}.toml").write_text(place.read_text() if place else f'system = "{site.system}"\n')
        # before the job is there: two hosts that add to one file on NFS overwrite each other's lines
        held.log(f"submission {number} to {site.system}, {request.nodes} nodes, {request.minutes} minutes")
        try:
            sent = SYSTEMS[site.system].submit(str(script))
        except LaunchError:
            for path in own.glob(f"{number}.*"):
                path.unlink()
            raise
        job = Job(into, number, site.system, sent, time.time(), request.array)
        facts = {"system": job.system, "number": job.number, "submitted": job.submitted, "request": request.__dict__}
        facts["signature"] = sign(signable(job.system, job.number))
        writing.replace(own / f"{number}.json", json.dumps(facts, default=list, indent=1) + "\n", durable=True)
    return job


def check(request: Request, site: Site, into: Path, say: Say) -> suites.Suite:
    """The suite of a request, which site, batch system and notebooks have nothing against.

    Raises
    ------
    SpecError
        If it cannot be: too many nodes, too long, no such partition, more ranks than cores, a parameter out of range.
    LaunchError
        If the batch system would refuse it, in its own words.
    """
    text = render(request, site, into, exclude=sorted(left_out(into)))
    suite = suites.load(request.suite, request.parameters)
    for entry in suite.entries:
        _possible(entry)
    hosts = tuple(f"node{i}" for i in range(request.nodes))
    meant = usual(site, Allocation(site.system, "0", hosts=hosts, tasks=request.ppn))
    for entry in suites.load(request.suite, request.parameters, meant).entries:
        try:
            _possible(entry)
        except SpecError as error:
            say(
                f"warning: {entry.name} will fail on {request.nodes} nodes with {request.ppn} ranks each: {error.brief}"
            )
    SYSTEMS[site.system].check(
        text, request.partition or site.partition, nodes=request.nodes, ppn=request.ppn, minutes=request.minutes
    )
    return suite


def _possible(entry: suites.Entry) -> None:
    """Refuse parameters that no machine could measure with; what this host lacks, the job's may have."""
    try:
        study = entry.study(measure=False)
        for spec in study.specs():
            benchmarks.resolve(spec)
    except LaunchError:
        pass


def _free(into: Path) -> None:
    """Refuse a campaign for which a job waits or runs."""
    running = next((job for job in reversed(jobs(into)) if job.goes_on()), None)
    if running is not None:
        raise LaunchError(
            f"Job {running.number} for {into} is {running.state().words}. Follow it with: labkit attach {into}; "
            f"end it with: labkit cancel {into}; or choose another campaign with --into."
        )


@contextmanager
def _alone(own: Path) -> Iterator[None]:
    """Have nobody else submit into a campaign meanwhile, from this host or another one."""
    end = time.monotonic() + PATIENCE
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lease.hold(own))
                break
            except LaunchError as error:
                if time.monotonic() > end:
                    who = lease.holder(own) or {"pid": "?", "host": "?"}
                    raise LaunchError(
                        f"Process {who['pid']} on {who['host']} is submitting into {own.parent} for longer than "
                        f"{PATIENCE:g} s. Wait for it, or end it; then look with: labkit status {own.parent}"
                    ) from error
                time.sleep(0.1)
        yield


def _local(into: Path) -> str:
    """The folder above a campaign that other nodes hardly see; empty where there is none."""
    return next((str(p) for p in map(Path, ("/tmp", "/var/tmp", "/dev/shm", "/run")) if p in into.parents), "")
