"""Follow a campaign while a run measures it, from its files alone: what was saved, failed or began."""

from __future__ import annotations

import time
from collections.abc import Iterator

from labkit import benchmarks
from labkit.errors import LabkitError
from labkit.point.notes import joined
from labkit.read import records
from labkit.run.measuring import Progress
from labkit.store import events, names, samples
from labkit.store.campaign import Campaign
from labkit.store.events import Event

POLL = 0.5  # s
_SHOWN = (
    "failed",
    "retried",
    "notebook",
    "compacted",
    "measuring",
    "session",
    "waiting",
)  # shown in the words of the log


def news(campaign: Campaign, *, poll: float = POLL) -> Iterator[str | Progress]:
    """Report what happened in a campaign, and what happens until no run measures into it any more.

    Yields
    ------
    A line for each point with its result so far, failure or notebook; `Progress` of the point in flight. Never writes.
    """
    reader, last_state = events.Reader(campaign.path), None
    while True:
        over = not campaign.in_use  # checked first, so that the last events are read after the end
        yield from (text for event in reader.new() if (text := _text(campaign, event)))
        if over:
            return
        if (state := Progress.at(campaign)) is not None and state != last_state:
            last_state = state
            yield state
        time.sleep(poll)


def _text(campaign: Campaign, event: Event) -> str:
    """Return an event as text for people; empty for an event that is not shown."""
    if event.kind == "saved":
        return _result(campaign, event["file"])
    return event.text if event.kind in _SHOWN else ""


def _result(campaign: Campaign, name: str) -> str:
    """Return a saved point as text, with its result."""
    try:
        path = names.inside(campaign.path, name)
        if not path.exists():
            return ""  # compacted since
        point = samples.decode(samples.read(path), path, campaign.starts)
        row = records.table([point]).iloc[0]
        label = f"{benchmarks.label(point.spec)}, launch {point.launch + 1}"
        for metric in benchmarks.get(point.spec.benchmark).metrics:
            if (value := records.value_of(row, metric)).statistic:
                badges = f"  [{joined(row['badges'])}]" if row["badges"] else ""
                n = f", n {point.n:,}" if point.n else ""
                return f"{label}: {value.text} {value.unit} ({value.statistic}{n}){badges}"
    except LabkitError as error:
        return str(error)
    return label
