"""A measurement that a panel started: a child process that ends with this one, but not with the page."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from labkit.errors import DataError
from labkit.io import safe_read, supervise
from labkit.point.units import format_duration, plural
from labkit.run.measuring import PROGRESS, Progress
from labkit.store import events, signatures
from labkit.store.campaign import Campaign

NOTE = "explorer.json"
GRACE = 1.0  # s that ranks have to end by themselves


class Measurement:
    """One ``labkit`` run into a campaign, noted there so that a later process can continue it.

    Parameters
    ----------
    campaign : campaign to measure into.
    words : words of `labkit measure` without ``--into``, or of `labkit explain --decide` without the campaign.
    """

    def __init__(self, campaign: Campaign, words: Sequence[str]) -> None:
        self.campaign, self.words = campaign, list(words)
        self.stopping = False
        campaign.drop(PROGRESS)
        place = str(campaign.path.resolve())
        command = [sys.executable, "-m", "labkit", *words, *(["--into"] if words[0] == "measure" else []), place]
        self._before = 0  # events of earlier runs
        with suppress(OSError, DataError):
            self._before = len(events.read(campaign.path))
        note(campaign, self.words, "running")
        self._tree = supervise.start(
            command, env=os.environ | {"PYTHONUNBUFFERED": "1"}, stdout=supervise.DEVNULL, grace=GRACE
        )

    @property
    def running(self) -> bool:
        """Whether any of its processes runs."""
        return self._tree.poll() is None

    def stop(self) -> None:
        """End all ranks, and return at once; what was measured is kept."""
        self.stopping = True
        threading.Thread(target=self._tree.stop, daemon=True).start()

    def progress(self) -> Progress | None:
        """Progress that the process last wrote; None if it has written none."""
        return Progress.at(self.campaign)

    def state(self) -> str:
        """State of the run, in a sentence."""
        seen = self.progress()
        count = f"{seen.done} of {plural(seen.total, 'measurement')}" if seen else ""
        if self.running:
            word = "stopping" if self.stopping else "running"
            if seen is None:
                return f"{word}: starting"
            rest = "" if math.isnan(seen.remaining) else f" · about {format_duration(round(seen.remaining))} left"
            rest += ", more than on an idle machine" if seen.slow else ""
            return f"{word}: {count}{rest} · {seen.label}"
        kept = f"all {len(self.campaign.done())} in the campaign are kept"
        if self.stopping:
            return f"stopped: {count or 'nothing measured'}, {kept}"
        if self._tree.returncode:
            return f"ended with an error: {count or 'nothing measured'}, {kept}"
        return f"done: {count}" if seen else "done: all points were already measured"

    @property
    def failed(self) -> bool:
        """Whether it ended with an error, not by request."""
        return not self.running and bool(self._tree.returncode) and not self.stopping

    def failure(self) -> str:
        """Number of failed points, reasons and remedies, in sentences; empty if none failed."""
        if not self.failed:
            return ""
        with suppress(OSError, DataError):
            found = [one for one in events.read(self.campaign.path)[self._before :] if one.kind == "failed"]
            if found:
                reasons = Counter(str(one["reason"]).splitlines()[0] for one in found)
                first = f"{plural(len(found), 'point')} failed, such as {found[0]['what']}."
                why = " ".join(f"{reason} ({count} times)." for reason, count in reasons.most_common(3))
                return f"{first} {why} All others are kept. Repair what it says, and press Continue."
        lines = self.error().splitlines()
        told = next((line for line in reversed(lines) if line.startswith("labkit: ")), lines[-1] if lines else "")
        return f"The run did not measure: {told.removeprefix('labkit: ') or 'it ended without a word'}"

    def error(self) -> str:
        """Last lines of its standard error, if it failed."""
        failed = self.failed
        lines = [line for line in self._tree.stderr_tail(40).split("\r")[-1].splitlines() if "%|" not in line]
        return "\n".join(lines).strip() if failed else ""

    def ended(self) -> None:
        """Note in the campaign that the run is complete, or that it was interrupted."""
        note(self.campaign, self.words, "stopped" if self.stopping or self._tree.returncode else "done")


def note(campaign: Campaign, words: Sequence[str], state: str) -> None:
    """Note in a campaign which run measures into it."""
    signature = signatures.sign(json.dumps(list(words)).encode())
    content = {"words": list(words), "state": state, "pid": os.getpid(), "signature": signature}
    campaign.put(NOTE, json.dumps(content))


def unfinished(folder: Path) -> list[str]:
    """Command of an interrupted run in this campaign (stopped, or its kernel ended); empty if there is none.

    Words without this user's signature do not count, because labkit would run them.
    """
    with suppress(KeyError, TypeError, DataError):
        seen = safe_read.json_object(folder / NOTE)
        if not signatures.signed(json.dumps(seen["words"]).encode(), seen.get("signature")):
            return []
        lives = seen["state"] == "running" and Path(f"/proc/{seen['pid']}").exists()
        return [] if seen["state"] == "done" or lives else [str(word) for word in seen["words"]]
    return []


def log(folder: Path, lines: int = 12) -> str:
    """The last lines of a campaign's log."""
    with suppress(DataError):
        return safe_read.tail(folder / "log.txt", lines)
    return ""
