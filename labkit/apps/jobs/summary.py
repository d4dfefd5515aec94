"""Summarise a campaign that jobs measured: done, skipped, failed with reasons, warnings."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from labkit.apps.jobs.inside import left_out
from labkit.apps.jobs.submitted import read
from labkit.point import doubts
from labkit.point.units import format_duration, plural
from labkit.read.records import tables
from labkit.store import events
from labkit.store.campaign import Campaign


def failures(campaign: Campaign) -> dict[str, str]:
    """Return notebook → its error."""
    notebooks = campaign.facts.get("notebooks", [])
    return {notebook["name"]: notebook["error"] for notebook in notebooks if notebook["error"]}


def summary(campaign: Campaign, running: Collection[str] = ()) -> str:
    """Return the summary, in lines for people.

    Parameters
    ----------
    running : numbers of its jobs that run now.
    """
    facts, failed = campaign.facts, failures(campaign)
    notebooks = [one["name"] for one in facts.get("notebooks", [])]
    done, planned = len(campaign.done()), int(facts.get("planned", 0))
    lines = [
        f"done:     {len(notebooks) - len(failed)} of {plural(len(facts.get('parameters', {})), 'notebook')}, "
        f"{f'{done} of ' if planned else ''}{plural(planned or done, 'point × launch')}"
    ]
    notes = _notes(campaign)
    for note in notes:
        if "end" in note:
            time_taken = format_duration(round(note["end"] - note["start"], 1))
            hosts = ", ".join(note["allocation"]["hosts"])
            lines.append(
                f"          job {note['allocation']['name']} on {hosts}: {plural(note['measured'], 'point × launch')} "
                f"measured, {note['before']} there already, {time_taken}"
            )
        elif note is notes[-1] and note["allocation"]["job"] in running:
            hosts, ago = ", ".join(note["allocation"]["hosts"]), format_duration(round(time.time() - note["start"]))
            lines.append(f"          job {note['allocation']['name']} on {hosts}: runs since {ago}")
        else:
            lines.append(f"          job {note['allocation']['name']}: did not finish{_last_event(campaign, note)}")
    lines += [f"skipped:  {name}: {reason}" for name, reason in facts.get("absent", {}).items()]
    lines += [f"left out: node {host}: {reason}" for host, reason in left_out(campaign.path).items()]
    lines += [f"failed:   {name}: {error.splitlines()[0]}" for name, error in failed.items()]
    lines += [f"warning:  {text} ({count} of {plural(done, 'point × launch')})" for text, count in warnings(campaign)]
    return "\n".join([*lines, f"campaign: {campaign.path}"])


def _last_event(campaign: Campaign, note: Mapping[str, Any]) -> str:
    """Say when the campaign gave its last sign of life since a job began, and its progress then."""
    try:
        since = datetime.fromtimestamp(float(note["start"]), UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):  # a note of others
        return ""
    recent = [one for one in events.read(campaign.path) if one.time >= since]
    beats = [one for one in recent if one.kind == "heartbeat"]
    progress = f" at {beats[-1]['done']} of {plural(beats[-1]['total'], 'point × launch')}" if beats else ""
    return f"; last sign of life {recent[-1].time[:19]} UTC{progress}" if recent else ""


def warnings(campaign: Campaign) -> list[tuple[str, int]]:
    """Return the warnings of all points, each with how many points have it."""
    path = campaign.path / "records.parquet"
    if not path.exists():
        return []
    return [(one.text, count) for one, count in doubts.kinds(tables.read(path, ["warnings"])["warnings"])]


def _notes(campaign: Campaign) -> list[dict[str, Any]]:
    """Return the notes of all allocations, in order of time."""
    notes = [read(path) for path in (campaign.path / "jobs").glob("[0-9]*-*.json")]
    complete = [note for note in notes if note and {"start", "allocation"} <= set(note)]
    return sorted(complete, key=lambda note: float(note["start"]))
