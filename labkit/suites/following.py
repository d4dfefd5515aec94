"""A campaign while it is being measured: what was saved, failed or began since the last look, from its files alone."""

from __future__ import annotations

import time
from collections.abc import Iterator

from labkit import benchmarks, records, samples
from labkit.campaign import Campaign, events, names
from labkit.campaign.events import Event
from labkit.errors import LabkitError
from labkit.measuring import Progress
from labkit.notes import joined

POLL = 0.5  # s
_SHOWN = ("failed", "retried", "notebook", "compacted", "measuring")  # told in the words of the log


def news(held: Campaign, *, poll: float = POLL) -> Iterator[str | Progress]:
    """Everything that happened in a campaign, and what happens until nobody measures into it any more.

    Yields
    ------
    A line for each point with its result so far, failure or notebook; `Progress` of the point in flight. Never writes.
    """
    reader, before = events.Reader(held.path), None
    while True:
        over = not held.in_use  # asked first, so that the last events are read after the end
        yield from (text for one in reader.new() if (text := _told(held, one)))
        if over:
            return
        if (state := Progress.at(held)) is not None and state != before:
            before = state
            yield state
        time.sleep(poll)


def _told(held: Campaign, one: Event) -> str:
    """An event for people; empty for those that say nothing by themselves."""
    return _result(held, one["file"]) if one.kind == "saved" else one.text if one.kind in _SHOWN else ""


def _result(held: Campaign, name: str) -> str:
    """A point that was saved, with its number."""
    try:
        path = names.inside(held.path, name)
        if not path.exists():
            return ""  # compacted since
        one = samples.load(path)
        row = records.table([one]).iloc[0]
        label = f"{benchmarks.label(one.spec)}, launch {one.launch + 1}"
        for metric in benchmarks.get(one.spec.benchmark).metrics:
            if (value := records.value_of(row, metric)).statistic:
                badges = f"  [{joined(row['badges'])}]" if row["badges"] else ""
                n = f", n {one.n:,}" if one.n else ""
                return f"{label}: {value.text} {value.unit} ({value.statistic}{n}){badges}"
    except LabkitError as error:
        return str(error)
    return label
