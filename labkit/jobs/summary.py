"""What became of a campaign that jobs measured: done, skipped, failed with reasons, warnings."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from labkit.analysis import doubts
from labkit.campaign import Campaign, events
from labkit.jobs.inside import left_out
from labkit.jobs.submitted import read
from labkit.units import format_duration


def failures(held: Campaign) -> dict[str, str]:
    """Notebook → its error."""
    return {one["name"]: one["error"] for one in held.facts.get("notebooks", []) if one["error"]}


def summary(held: Campaign, going: Collection[str] = ()) -> str:
    """In lines for people.

    Parameters
    ----------
    going : numbers of its jobs that run now.
    """
    facts, failed = held.facts, failures(held)
    notebooks = [one["name"] for one in facts.get("notebooks", [])]
    done, planned = len(held.done()), int(facts.get("planned", 0))
    lines = [
        f"done:     {len(notebooks) - len(failed)} of {len(facts.get('parameters', {}))} notebooks, {done} points"
        + (f" of {planned}" if planned else "")
    ]
    notes = _notes(held)
    for note in notes:
        if "end" in note:
            took = format_duration(round(note["end"] - note["start"], 1))
            hosts = ", ".join(note["allocation"]["hosts"])
            lines.append(
                f"          job {note['allocation']['name']} on {hosts}: {note['measured']} points measured, "
                f"{note['before']} were there already, {took}"
            )
        elif note is notes[-1] and note["allocation"]["job"] in going:
            hosts, ago = ", ".join(note["allocation"]["hosts"]), format_duration(round(time.time() - note["start"]))
            lines.append(f"          job {note['allocation']['name']} on {hosts}: runs since {ago}")
        else:
            lines.append(f"          job {note['allocation']['name']}: did not finish{_heard(held, note)}")
    lines += [f"skipped:  {name}: {reason}" for name, reason in facts.get("absent", {}).items()]
    lines += [f"left out: node {host}: {reason}" for host, reason in left_out(held.path).items()]
    lines += [f"failed:   {name}: {error.splitlines()[0]}" for name, error in failed.items()]
    lines += [f"warning:  {text} ({count} of {done} points)" for text, count in warnings(held)]
    return "\n".join([*lines, f"campaign: {held.path}"])


def _heard(held: Campaign, note: Mapping[str, Any]) -> str:
    """When the campaign gave its last sign of life since a job began, and how far it was."""
    try:
        since = datetime.fromtimestamp(float(note["start"]), UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):  # a note of others
        return ""
    told = [one for one in events.read(held.path) if one.time >= since]
    beats = [one for one in told if one.kind == "heartbeat"]
    far = f" at {beats[-1]['done']} of {beats[-1]['total']} points" if beats else ""
    return f"; last sign of life {told[-1].time[:19]} UTC{far}" if told else ""


def warnings(held: Campaign) -> list[tuple[str, int]]:
    """Warnings of all points, with how many have each."""
    from labkit.records import tables

    path = held.path / "records.parquet"
    if not path.exists():
        return []
    return doubts.kinds(tables.read(path, ["warnings"])["warnings"])


def _notes(held: Campaign) -> list[dict[str, Any]]:
    """Notes of all allocations, in order of time."""
    found = [read(path) for path in (held.path / "jobs").glob("[0-9]*-*.json")]
    whole = [note for note in found if note and {"start", "allocation"} <= set(note)]
    return sorted(whole, key=lambda note: float(note["start"]))
