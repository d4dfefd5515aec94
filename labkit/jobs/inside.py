"""What a job does that runs a suite: it takes its settings, notes its allocation, and waits for the one before it."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labkit import outside, studies, suites, writing
from labkit.campaign import Campaign, lease
from labkit.campaign.lease import HEARTBEAT
from labkit.errors import DataError, LabkitError
from labkit.host import allocation
from labkit.host.allocation import Allocation
from labkit.jobs.script import SUBMISSION
from labkit.jobs.site import WORD, Site


def usual(site: Site, job: Allocation | None) -> dict[str, Any]:
    """Parameters that notebooks get where neither suite nor command line sets them."""
    found: dict[str, Any] = {} if site.launcher == "mpirun" else {"launcher": site.launcher}
    if job is not None and len(job.hosts) > 1:
        found |= {"transports": site.transports, "ranks": str(len(job.hosts) * max(job.tasks, 1))}
    return found


def repeated(suite: suites.Suite, repeats: int) -> suites.Suite:
    """A suite with so many times the launches: those of the jobs before count, so each job adds its share."""
    if repeats == 1:
        return suite
    entries = []
    for entry in suite.entries:
        base = entry.parameters.get("launches", studies.defaults(studies.of_notebook(entry.notebook))["launches"])
        entries.append(dataclasses.replace(entry, parameters={**entry.parameters, "launches": base * repeats}))
    return dataclasses.replace(suite, entries=tuple(entries))


def left_out(folder: Path) -> dict[str, str]:
    """Hosts that failed in earlier jobs of a campaign, with why."""
    try:
        lines = outside.text(folder / "jobs" / "left-out.txt", "replace").splitlines()
    except DataError:
        return {}
    return {host: why for host, _, why in (line.partition("\t") for line in lines) if WORD.fullmatch(host)}


@contextmanager
def noted(held: Campaign, suite: suites.Suite, say: Callable[[str], None]) -> Iterator[Callable[[int], None]]:
    """Note the allocation in the campaign for as long as the suite runs; nothing outside of a batch job.

    Yields
    ------
    Takes the exit status, once it is known.
    """
    job = allocation.current()
    if job is None:
        yield lambda status: None
        return
    own = held.path / "jobs"
    own.mkdir(exist_ok=True)
    os.environ[allocation.LEFT_OUT] = str(own / "left-out.txt")
    note = own / f"{os.environ.get(SUBMISSION, '0')}-{job.name}.json"
    facts: dict[str, Any] = {"allocation": job.facts(), "start": time.time(), "before": len(held.done())}
    if note.exists():
        facts["requeued"] = True
    _write(note, facts)
    _patiently(held, say)
    held.update({"planned": planned(suite, held)})
    held.log(f"job {job.name} begins on {', '.join(job.hosts)}")

    def ended(status: int) -> None:
        end = {"end": time.time(), "status": status, "measured": len(held.done()) - facts["before"]}
        _write(note, facts | end)
        held.log(f"job {job.name} ended with {status}")

    yield ended


def planned(suite: suites.Suite, held: Campaign) -> int:
    """Points that are there or will be, when the suite is through."""
    points = held.done()
    for entry in suite.entries:
        try:
            points |= {(p.spec.benchmark, p.fingerprint, p.launch) for p in entry.study().points}
        except LabkitError:
            continue  # told by the notebook
    return len(points)


def _patiently(held: Campaign, say: Callable[[str], None]) -> None:
    """Wait for a job that was killed: its lease is stale only after three heartbeats."""
    end, told = time.monotonic() + 3 * HEARTBEAT + 5, False
    while (holder := lease.holder(held.path)) and time.monotonic() < end:
        if not told:
            say(f"process {holder['pid']} on {holder['host']} used the campaign a moment ago. Waiting for it.")
        told = True
        time.sleep(1)


def _write(path: Path, facts: dict[str, Any]) -> None:
    writing.replace(path, json.dumps(facts, indent=1) + "\n")
