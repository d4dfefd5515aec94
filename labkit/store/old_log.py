"""Converts log lines of campaigns from before `events.jsonl` to events.

Only `labkit.store.events` uses this, for campaigns without events. The log that labkit writes now is for people.
"""

from __future__ import annotations

import re
from typing import Any

LOG = "log.txt"
_LINES = (
    ("saved", r"(?:sha256:(?P<sha256>[0-9a-f]+) )?saved (?P<file>\S+)"),
    ("imported", r"(?:sha256:(?P<sha256>[0-9a-f]+) )?imported (?P<file>\S+)"),
    ("failed", r"failed (?P<what>.*?)(?:: (?P<reason>.*))?"),
    ("skipped", r"skipped (?P<what>.*?)(?:: (?P<reason>.*))?"),
    ("retried", r"retrying (?P<what>.*?) (?:by a fresh start|in a fresh start): (?P<reason>.*)"),
    ("run", r"run of (?P<suite>\S+) begins"),
    (
        "measuring",
        r"measuring (?P<points>\d{1,9}) of (?P<total>\d{1,9}) points(?: × launches)?, seed (?P<seed>-?\d{1,18})",
    ),
    ("compacted", r"compacted (?P<benchmark>\S+): (?P<points>\d{1,9}) points(?: × launches)? in one file"),
    ("left_out", r"node (?P<host>\S+) is (?:left out|excluded): (?P<reason>.*)"),
    ("notebook", r"notebook (?P<name>\S+) (?P<state>begins)(?:; it is not executed)?"),
    (
        "notebook",
        r"notebook (?P<name>\S+) (?P<state>done|measured|failed)(?:: (?P<error>.*))? after (?P<seconds>[\d.]{1,20}) s",
    ),
)
_KNOWN = tuple((kind, re.compile(pattern)) for kind, pattern in _LINES)
_COUNTS = ("points", "total", "seed")


def event(line: str) -> tuple[str, dict[str, Any], str] | None:
    """Return kind, facts and time of the event in a line of the log; None if no other process needs the line."""
    time, _, text = line.partition(" ")
    for kind, pattern in _KNOWN:
        if match := pattern.fullmatch(text):
            facts: dict[str, Any] = {name: value or "" for name, value in match.groupdict().items()}
            for name in _COUNTS:
                if name in facts:
                    facts[name] = int(facts[name])
            if "seconds" in facts:
                facts["seconds"] = _seconds(facts["seconds"])
            return kind, facts, time[:40]
    return None


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
