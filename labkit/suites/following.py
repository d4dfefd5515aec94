"""A campaign while it is being measured: what was saved, failed or began since the last look, from its files alone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from labkit import benchmarks, outside, records, samples
from labkit.campaign import Campaign, names
from labkit.errors import LabkitError
from labkit.measuring import Progress
from labkit.notes import joined

POLL = 0.5  # s
_LINE = re.compile(r"\S+ (?:sha256:\w+ )?(saved|failed|retrying|notebook|compacted|measuring) (.*)")


def news(held: Campaign, *, poll: float = POLL) -> Iterator[str | Progress]:
    """Everything that happened in a campaign, and what happens until nobody measures into it any more.

    Yields
    ------
    A line for each point with its result so far, failure or notebook; `Progress` of the point in flight. Never writes.
    """
    log, place, before = held.path / "log.txt", 0, None
    while True:
        over = not held.in_use  # asked first, so that the last lines are read after the end
        if log.exists():
            with outside.regular(log).open("rb") as file:
                file.seek(place)
                *lines, _ = file.read().split(b"\n")
            place += sum(len(line) + 1 for line in lines)
            yield from (text for line in lines if (text := _told(held, line.decode(errors="replace"))))
        if over:
            return
        if (state := Progress.at(held)) is not None and state != before:
            before = state
            yield state
        time.sleep(poll)


def _told(held: Campaign, line: str) -> str:
    """A line of the log for people; empty for others."""
    match = _LINE.fullmatch(line)
    if match is None:
        return ""
    return _result(held, match[2]) if match[1] == "saved" else f"{match[1]} {match[2]}"


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
