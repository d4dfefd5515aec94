"""Inside a job that runs a suite: take its settings, note its allocation, wait for a killed job before it."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit import suites
from labkit.apps.jobs.script import SUBMISSION
from labkit.apps.jobs.site import WORD, Site
from labkit.errors import DataError, LabkitError
from labkit.host import allocation
from labkit.host.allocation import Allocation
from labkit.io import safe_read
from labkit.store import lease
from labkit.store.campaign import Campaign
from labkit.store.lease import HEARTBEAT


def default_parameters(site: Site, job: Allocation | None) -> dict[str, Any]:
    """Return parameters for notebooks, for which neither suite nor command line has a value."""
    parameters: dict[str, Any] = {} if site.launcher == "mpirun" else {"launcher": site.launcher}
    if job is not None and len(job.hosts) > 1:
        parameters |= {"transports": site.transports, "ranks": str(len(job.hosts) * max(job.tasks, 1))}
    return parameters


def session() -> str:
    """Return the start of the session of this process: each job of an array is one; empty outside of an array."""
    job = allocation.current()
    return datetime.now(UTC).isoformat(timespec="milliseconds") if job is not None and job.index else ""


def repeated(suite: suites.Suite, repeats: int) -> suites.Suite:
    """Multiply the launches of a suite. The launches of earlier jobs count, so each job adds its share."""
    if repeats == 1:
        return suite
    entries = [entry.having(launches=entry.launches * repeats) for entry in suite.entries]
    effort = dataclasses.replace(suite.effort, launches=suite.effort.launches * repeats)
    return dataclasses.replace(suite, entries=tuple(entries), effort=effort)


def left_out(folder: Path) -> dict[str, str]:
    """Return the hosts that failed in earlier jobs of a campaign, with the reasons."""
    try:
        lines = safe_read.text(folder / "jobs" / "left-out.txt", "replace").splitlines()
    except DataError:
        return {}
    return {host: reason for host, _, reason in (line.partition("\t") for line in lines) if WORD.fullmatch(host)}


@contextmanager
def noted(campaign: Campaign, suite: suites.Suite, say: Callable[[str], None]) -> Iterator[Callable[[int], None]]:
    """Note the allocation in the campaign while the suite runs; do nothing outside of a batch job.

    Yields
    ------
    A function that takes the exit status at the end.
    """
    job = allocation.current()
    if job is None:
        yield lambda status: None
        return
    folder = campaign.path / "jobs"
    os.environ[allocation.LEFT_OUT_FILE] = str(folder / "left-out.txt")
    note = f"jobs/{os.environ.get(SUBMISSION, '0')}-{job.name}.json"
    facts: dict[str, Any] = {"allocation": job.facts(), "start": time.time(), "before": len(campaign.done())}
    if (campaign.path / note).exists():
        facts["requeued"] = True
    campaign.put(note, _json(facts))
    _wait_for_killed_job(campaign, say)
    campaign.update({"planned": planned(suite, campaign)})
    campaign.log(f"job {job.name} begins on {', '.join(job.hosts)}")

    def ended(status: int) -> None:
        end = {"end": time.time(), "status": status, "measured": len(campaign.done()) - facts["before"]}
        campaign.put(note, _json(facts | end))
        campaign.log(f"job {job.name} ended with {status}")

    yield ended


def planned(suite: suites.Suite, campaign: Campaign) -> int:
    """Return how many points the campaign will have after the suite."""
    points = campaign.done()
    for entry in suite.entries:
        try:
            points |= {(p.spec.benchmark, p.fingerprint, p.launch) for p in entry.study().points}
        except LabkitError:
            continue  # the notebook reports it
    return len(points)


def _wait_for_killed_job(campaign: Campaign, say: Callable[[str], None]) -> None:
    """Wait for a job that was killed: its campaign lock is stale only after three heartbeats."""
    end, said = time.monotonic() + 3 * HEARTBEAT + 5, False
    while (holder := lease.holder(campaign.path)) and time.monotonic() < end:
        if not said:
            say(f"process {holder['pid']} on {holder['host']} used the campaign a moment ago. Waiting for it.")
        said = True
        time.sleep(1)


def _json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, indent=1) + "\n"
