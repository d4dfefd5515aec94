"""The nights of a history: where tonight is measured, and when it becomes part of the history.

A night is measured in ``HISTORY/.unfinished/DATE``, where no gate looks, and moved to ``HISTORY/DATE`` when it was
judged. So a night that was killed never counts as a night of the past, and stays readable.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from labkit.errors import DataError, LaunchError, SpecError
from labkit.io import atomic, project, safe_read
from labkit.store import lease
from labkit.store.campaign import Campaign, root
from labkit.suites import Entry, Suite

UNFINISHED = ".unfinished"  # hidden, so that history/* names finished nights alone
RESUMED = timedelta(hours=12)  # a night that began this long ago is resumed after it was killed
PAGE = "91-history"  # notebook that shows the night among those before it


@contextmanager
def opened(name: str) -> Iterator[Path]:
    """Make the folder of a history if it is missing, and hold its lock.

    Parameters
    ----------
    name : path of the folder, or its name below data/campaigns.

    Raises
    ------
    SpecError
        If it is a single campaign.
    LaunchError
        If another night runs.
    DataError
        If it cannot be written, or its name is not UTF-8.
    """
    try:
        name.encode()
    except UnicodeError as error:
        raise safe_read.explained(error, name) from None
    path = Path(name)
    if not path.is_dir() and (root() / name).is_dir():
        path = root() / name
    if (path / "campaign.json").exists():
        raise SpecError(
            f"--against {name} is one campaign, but it must be a folder of campaigns, to which nightly adds one each "
            f"night. Name another folder, such as {path.parent / 'history'}."
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{path} cannot be created: {error.strerror}. {safe_read.remedy(error)}.") from error
    if (other := lease.holder(path)) is not None:
        raise LaunchError(
            f"Another night runs in {path}: process {other['pid']} on {other['host']}, since {other['start']}. Wait "
            "for its end, or end that process."
        )
    with lease.hold(path):
        yield path


def finished(history: Path) -> list[Campaign]:
    """Return the nights that a gate compares with."""
    return [Campaign.existing(file.parent) for file in sorted(history.glob("*/campaign.json"))]


def unfinished(history: Path) -> list[Campaign]:
    """Return the nights that never ended, in the order of their beginning."""
    nights = [Campaign.existing(file.parent) for file in (history / UNFINISHED).glob("*/campaign.json")]
    return sorted(nights, key=_began)


def begin(history: Path, suite: str) -> tuple[Campaign, bool]:
    """Return the campaign to measure tonight into, and whether it resumes a night that was killed.

    A night of the same suite is resumed if it began less than 12 hours ago. Older ones are not changed.
    """
    now = datetime.now(UTC)
    for one in reversed(unfinished(history)):
        if one.facts.get("suite", suite) == suite and now - _began(one) < RESUMED:
            return one, True
    day = now.astimezone().strftime("%Y-%m-%d")
    for count in itertools.count(1):
        name = day if count == 1 else f"{day}-{count}"
        if not (history / name).exists() and not (history / UNFINISHED / name).exists():
            return Campaign(history / UNFINISHED / name), False
    raise AssertionError


def _began(night: Campaign) -> datetime:
    try:
        return datetime.fromisoformat(str(night.facts.get("created"))).astimezone(UTC)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def with_page(suite: Suite, history: Path) -> Suite:
    """Return a suite with the notebook that shows the history, if there is a night in it."""
    source = project.notebook_of(PAGE)
    if source is None or not finished(history) or any(one.notebook.stem == PAGE for one in suite.entries):
        return suite
    entry = Entry(source, {"past": str(safe_read.resolved(history))})
    return replace(suite, entries=(*suite.entries, entry))


def keep(history: Path, night: Campaign) -> Campaign:
    """Make a night part of the history.

    Raises
    ------
    DataError
        If it cannot be moved.
    """
    target = history / night.name
    try:
        night.path.rename(target)
        atomic.settle(history)
        with suppress(OSError):  # others are in it
            night.path.parent.rmdir()
    except OSError as error:
        raise DataError(
            f"{night.path} cannot be moved to {target}: {error.strerror}. Move it there, so that later nights are "
            "compared with it."
        ) from error
    return Campaign.existing(target)
