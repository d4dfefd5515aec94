"""Suites on a cluster: submit a job for a suite, and follow it in the campaign's folder, also later.

``jobs/`` of a campaign holds for every submission its script, the site's settings, the facts of the job, its output,
and a note of each allocation, which the job itself writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from labkit.apps.jobs.following import Follower, Look
from labkit.apps.jobs.script import Request
from labkit.apps.jobs.site import Site
from labkit.apps.jobs.submitted import Job, every, jobs, jobs_of, latest
from labkit.apps.jobs.submitting import Say, check, folder, submit
from labkit.apps.jobs.summary import failures, summary
from labkit.apps.jobs.systems import State
from labkit.errors import LaunchError
from labkit.run.measuring import Progress
from labkit.store.campaign import Campaign

__all__ = [
    "Job",
    "Look",
    "Request",
    "Site",
    "State",
    "attach",
    "cancel",
    "check",
    "every",
    "folder",
    "jobs",
    "jobs_of",
    "latest",
    "submit",
    "summary",
]

QUICK, SLOW = 0.5, 5.0  # s between two queries of the batch system; the interval grows while nothing changes


def attach(job: Job, tell: Callable[[Progress], None], say: Say) -> str:
    """Follow a job to its end; return the summary of its campaign.

    Raises
    ------
    LaunchError
        If it failed: the reason in the batch system's words, and what is kept.
    """
    campaign = Campaign(job.campaign)
    follower, last_words, interval = Follower(campaign, tell), "", QUICK
    state, asked_at = job.state(), time.monotonic()
    while state.kind != "ended":
        if state.words != last_words:
            where = f" on {state.nodes}" if state.nodes and state.kind == "running" else ""
            say(f"job {job.number}: {state.words}{where}")
            last_words, interval = state.words, QUICK
        time.sleep(min(QUICK, interval))
        follower.look()
        if time.monotonic() - asked_at >= interval:
            state, asked_at, interval = job.state(), time.monotonic(), min(interval * 1.3, SLOW)
    text = summary(campaign)
    notes = _final_notes(job)
    # a job that the batch system has forgotten is judged by its own notes
    forgotten = state.words == "gone from the queue" and notes and all(note.get("status") == 0 for note in notes)
    if not state.good and not forgotten:
        raise LaunchError(f"{_failure(job, state, notes)}\n{text}")
    return text


def _final_notes(job: Job) -> list[dict[str, Any]]:
    """Return the notes of a job that ended; wait for them, as a network file system shows them a little later."""
    for _ in range(10):
        if notes := job.notes():
            return notes
        time.sleep(QUICK / 5)
    return []


def _failure(job: Job, state: State, notes: Sequence[dict[str, Any]]) -> str:
    """Return why a job failed, and what to do."""
    output, advice = job.output(), "Submit again with the same arguments to measure the rest."
    if not notes and not state.nodes:
        return f"Job {job.number} ended before it started: {state.words}. It measured nothing. {advice}"
    if not notes and not output:
        return (
            f"Job {job.number} ended at once ({state.words}), and nothing of it is in {job.campaign}: the nodes "
            f"({state.nodes}) probably do not see that folder. Use a folder that all nodes share: set --into, or "
            "scratch in the site file."
        )
    look = Look.at(Campaign(job.campaign))
    if not notes:
        return f"Job {job.number} ended before labkit started ({state.words}). Its output:\n{output}"
    if all(note.get("status") is not None for note in notes) and (bad := failures(Campaign(job.campaign))):
        return f"Job {job.number} ended with {len(bad)} failed notebooks ({state.words}). {advice}"
    ways = {"TIMEOUT": "It reached its time limit", "CANCELLED": "It was cancelled"}
    how = next((way for word, way in ways.items() if word in state.words), "It ended early")
    return f"Job {job.number}: {state.words}. {how} with {look.words(live=False)}; these are kept. {advice}"


def cancel(job: Job) -> State:
    """End a job, and wait until it has ended.

    Raises
    ------
    LaunchError
        If it ended already, or this user's labkit did not submit it.
    """
    if not job.submitted_here:
        words = " ".join(job.batch.cancels)
        raise LaunchError(
            f"{job.campaign} names job {job.number} of {job.system}, but you did not submit it from here: the campaign "
            "is from another user or another machine. If the job is yours, end it with: "
            f"{words} {job.number}"
        )
    state = job.state()
    if state.kind == "ended":
        raise LaunchError(
            f"Job {job.number} of {job.campaign} has already ended: {state.words}. There is nothing to cancel."
        )
    job.batch.cancel(job.number)
    end = time.monotonic() + 60
    while (state := job.state()).kind != "ended" and time.monotonic() < end:
        time.sleep(QUICK)
    return state
