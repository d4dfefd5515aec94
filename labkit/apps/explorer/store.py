"""Read campaigns as tables while they grow; each point is read once."""

from __future__ import annotations

import operator
import re
import threading
import zipfile
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pandas as pd

from labkit.apps import deciding, loading
from labkit.errors import DataError, LabkitError, SpecError
from labkit.io import safe_read, scratch
from labkit.judge import answer
from labkit.judge import view as judge
from labkit.judge.answer import Answer
from labkit.read import columnar, records
from labkit.report import sources
from labkit.run import importing
from labkit.store import campaign, derived, events, merging
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import CAMPAIGN

Name = tuple[str, int]  # fingerprint and launch
SORTED = ["benchmark", "message_size_B", "fingerprint", "launch"]


def names() -> list[str]:
    """All campaigns below `labkit.store.campaign.root`, newest first."""
    root = campaign.root()
    paths = sorted(root.glob("**/campaign.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    return [str(path.parent.relative_to(root)) for path in paths]


def brought(place: str) -> str:
    """Return the name of a campaign from elsewhere; a file is first unpacked or imported.

    Parameters
    ----------
    place : its folder or name; or a file that `labkit export` wrote or that a benchmark printed, whose points are then
        kept in a campaign named after it; or what a benchmark printed itself.

    Raises
    ------
    DataError
        If it is none of these.
    """
    if not place.strip():
        raise DataError("The field is empty. Write a path, or paste what a benchmark printed.")
    if loading.is_text(place):
        with scratch.folder(loading.BEGINS) as folder:
            return loading.pasted(place, folder).path.name
    path = Path(place.strip())
    with suppress(RuntimeError):  # a user who is not there
        path = path.expanduser()
    with safe_read.about(path):
        if not path.is_file():
            return campaign.name_of(str(path))
        into = campaign.root() / f"added-{path.stem}"
        if zipfile.is_zipfile(path):
            merging.merge([path], into)
        else:
            importing.bring([path], into=into)
    return into.name


def place(name: str) -> Path:
    """Folder below `labkit.store.campaign.root` for a campaign that a form names.

    Raises
    ------
    SpecError
        If it would lie elsewhere, or is not a name.
    """
    root, parts = campaign.root().resolve(), Path(name.strip()).parts
    wrong = not parts or any(not re.fullmatch(r"[A-Za-z0-9][\w.+=-]{0,99}", part) for part in parts)
    try:
        path = root.joinpath(*parts).resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle
        wrong, path = True, root
    if wrong or path == root or not path.is_relative_to(root):
        raise SpecError(
            f"into {name[:80]!r}, but it must be a name below {root}: letters, digits, '_', '-', '.' and '/', each "
            "part beginning with a letter or digit, of at most 100 characters, and no link to another place. Name "
            "another campaign."
        )
    if derived.bundled(path):
        raise SpecError(f"into {name[:80]!r}, but labkit never changes that example. Name another campaign.")
    return root.joinpath(*parts)


def opened(name: str) -> Campaign:
    """A campaign by its name."""
    return Campaign(campaign.find(name))


def launches(name: str, benchmark: str, fingerprint: str) -> list[Samples]:
    """All launches of a point."""
    source = opened(name)
    wanted = {(fingerprint, launch) for _, other, launch in source.done(benchmark) if other == fingerprint}
    return sorted(source.samples(benchmark, wanted), key=lambda one: one.launch)


def _as_columns(source: Campaign, name: str, benchmark: str, present: set[Name]) -> pd.DataFrame | None:
    """Return the records of a benchmark, read as columns; None if those are not the records of just these points."""
    try:
        whole = columnar.read_campaigns(source, benchmark=benchmark)
        table = whole.records
    except DataError:  # reading point by point tells which one it is
        return None
    if {*zip(table["fingerprint"].tolist(), table["launch"].tolist(), strict=True)} != present:
        return None
    merged = [str(CAMPAIGN.of(kind.meta)) for kind in whole.kinds]  # the campaign that measured a point
    return table.assign(campaign=[merged[kind] or name for kind in whole.kind.tolist()]).astype({"campaign": "str"})


def _version(path: Path) -> tuple[int, ...]:
    """Return what changes with each write of a file; nothing without one."""
    try:
        about = path.stat()
    except OSError:
        return ()
    return about.st_mtime_ns, about.st_size, about.st_ino


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Records of several campaigns, one below the other."""
    return pd.concat(frames, ignore_index=True) if frames else records.table([])


class Store:
    """Records that were read so far, by campaign and benchmark."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], set[Name]] = {}
        self._frames: dict[tuple[str, str], pd.DataFrame] = {}
        self._summaries: deque[tuple[list[pd.DataFrame], pd.DataFrame]] = deque(maxlen=4)
        self.lost: dict[str, str] = {}  # campaign → why it cannot be read
        self.unreadable: dict[tuple[object, ...], str] = {}
        self._answers: dict[str, tuple[object, Answer]] = {}  # campaign → its state when it was judged, and the answer
        self._judging: tuple[object, judge.View] | None = None  # state and view of the campaign that is judged now
        self._lock = threading.Lock()  # a campaign is judged only once

    def records(self, name: str, benchmark: str) -> pd.DataFrame:
        """Rows of one benchmark in a campaign; the column ``campaign`` has the given name."""
        key, source = (name, benchmark), opened(name)
        seen = self._seen.get(key, set())
        present = {(fingerprint, launch) for _, fingerprint, launch in source.done(benchmark)}
        if seen - present:
            seen = set()
        whole = None if seen else _as_columns(source, name, benchmark, present)
        new = self._load(source, benchmark, present - seen) if whole is None else []
        if new or key not in self._frames or not seen:
            frame = records.table(new, campaign=name) if whole is None else whole
            frames = [self._frames[key], frame] if seen and new and len(self._frames[key]) else [frame]
            self._frames[key] = pd.concat(frames, ignore_index=True).sort_values(
                SORTED, ignore_index=True, kind="stable"
            )
        self._seen[key] = present
        return self._frames[key]

    def _load(self, source: Campaign, benchmark: str, wanted: set[Name]) -> list[Samples]:
        """Samples of points; those that cannot be read are noted in `unreadable` and left out."""
        try:
            return list(source.samples(benchmark, wanted)) if wanted else []
        except DataError as error:
            if len(wanted) == 1:
                self.unreadable[source.path, benchmark, *wanted] = str(error)
                return []
        return [one for name in sorted(wanted) for one in self._load(source, benchmark, {name})]

    def summary(self, campaigns: Sequence[str], benchmark: str) -> pd.DataFrame:
        """One row per point and campaign, over its launches."""
        frames = [frame for name in self.present(campaigns) if len(frame := self.records(name, benchmark))]
        for before, known in self._summaries:
            if len(before) == len(frames) and all(map(operator.is_, before, frames)):
                return known
        frame = joined(frames)
        made = records.summary(frame) if len(frame) else frame
        self._summaries.append((frames, made))
        return made

    def answer(self, name: str) -> Answer:
        """Return the answer about a campaign; it is judged once in each state of its points, events and facts."""
        with self._lock:
            found = self.known(name)
            if found is None:
                state = self._state(name)
                found = answer.answer(self._seen_by_rules(name, state))
                self._answers[name], self._judging = (state, found), None
            return found

    def known(self, name: str) -> Answer | None:
        """Return the answer about a campaign; None until it was judged in its present state."""
        state, found = self._answers.get(name, (None, None))
        return found if found is not None and state == self._state(name) else None

    def verdicts(self, name: str) -> Answer:
        """Return the answer about a campaign without a look for causes, which takes most of the time."""
        with self._lock:
            return answer.verdicts(self._seen_by_rules(name, self._state(name)))

    def _seen_by_rules(self, name: str, state: object) -> judge.View:
        """Return what rules see of a campaign; it is kept until the campaign is judged."""
        if self._judging is None or self._judging[0] != state:
            source = opened(name)
            view = replace(sources.read(source.path).view, place=name, here=deciding.here(source))
            self._judging = (state, view)
        return self._judging[1]

    def _state(self, name: str) -> object:
        """Return what changes with the points, events and facts of a campaign."""
        source = opened(name)
        files = (source.path / events.NAME, source.path / "campaign.json")
        return (source.path, source.identity, frozenset(source.done()), *map(_version, files))

    def present(self, campaigns: Sequence[str]) -> list[str]:
        """Those campaigns that can be read; why the others cannot is noted in `lost`."""
        found = []
        self.lost = {name: why for name, why in self.lost.items() if name in campaigns}
        for name, title in campaign.titles(campaigns).items():
            try:
                opened(name)
                found.append(name)
                self.lost.pop(name, None)
            except (LabkitError, OSError) as error:
                there = campaign.root().joinpath(name, "campaign.json").exists()
                gone = f"The campaign {title} was deleted, moved or renamed. Untick it, or add it from its new place."
                self.lost[name] = f"{title}: {error}" if there else gone
        return found

    def benchmarks(self, campaigns: Sequence[str]) -> list[str]:
        """Benchmarks that occur in some campaigns."""
        return sorted({benchmark for name in self.present(campaigns) for benchmark in opened(name).benchmarks()})
