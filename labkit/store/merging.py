"""Merges campaigns into one. Nothing is lost, nothing counts twice, and every point keeps its origin.

The identity of the campaign that measured a point, its launch there and its content identify the point. So labkit
recognises a point that was merged before, or comes back in a copy or an archive of the same campaign. Two campaigns of
the same name stay two. The metadata of a point hold its origin: ``campaign_id``, ``first_launch``, and ``campaign``,
the name that people read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labkit.io import beneath
from labkit.point.units import plural
from labkit.store import archive, derived, identity, names, samples
from labkit.store.campaign import Campaign
from labkit.store.packing import Limits
from labkit.store.places import whole
from labkit.store.samples import Samples, start
from labkit.store.samples.facts import CAMPAIGN, CAMPAIGN_ID, FIRST_LAUNCH
from labkit.store.saving import Saving

MARKS = (CAMPAIGN.name, CAMPAIGN_ID.name, FIRST_LAUNCH.name)
ORIGINS = "origins"
ROOM = 256 << 20  # B of samples that a merge keeps in memory between the check of a source and its points
_NOT_COPIED = ("samples", start.FOLDER, "records.parquet", "campaign.json", ORIGINS)  # to origins/<name>/


@dataclass
class Merged:
    """Outcome of a merge.

    Parameters
    ----------
    campaign : the campaign that has the points now.
    added : number of new points, including conflicts.
    same : number of points skipped: the same point of the same campaign, byte for byte.
    conflicts : files of points that have the origin and launch of another point, but other content; both are kept.
    """

    campaign: Campaign
    added: int = 0
    same: int = 0
    conflicts: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return a summary for people."""
        parts = [
            plural(self.added, "new point × launch"),
            f"{self.same} skipped (the same point of the same campaign)",
        ]
        lines = [f"merged: {', '.join(parts)}, {plural(len(self.conflicts), 'conflict')}"]
        if self.conflicts:
            lines.append(
                f"conflicts: {len(self.conflicts)} of the new points have the campaign and launch of another, but "
                f"other content; both are kept, as separate launches. First: {self.conflicts[0]}"
            )
        return "\n".join([*lines, f"samples: {self.campaign.path}"])


def merge(sources: Sequence[Path], into: Path, limits: Limits | None = None) -> Merged:
    """Merge the points of several campaigns, folders or archives, into one; each point keeps its origin.

    If two campaigns have a point, the target gets both, as separate launches. All other files of a campaign go to
    ``origins/<name>/``.

    Raises
    ------
    DataError
        If a source is damaged; nothing was merged then.
    """
    with ExitStack() as stack:
        held = [_Held() for _ in sources]
        folders = [
            stack.enter_context(archive.opened(source, limits, keep))
            for source, keep in zip(sources, held, strict=True)
        ]
        stack.enter_context(whole(into, new=not os.path.lexists(into)))
        campaign = Campaign(into)
        stack.enter_context(campaign.lease())
        merger = _Merger(campaign)
        for folder, points in zip(folders, held, strict=True):
            merger.take(Campaign.existing(folder), points)
        return merger.outcome


def origins(campaign: Campaign) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return identity → name and facts of each campaign whose points were merged into this one."""
    merged = {}
    for name, facts in campaign.facts.get(ORIGINS, {}).items():
        merged[identity.identity_of(facts, f"{campaign.path / 'campaign.json'}, origin {name!r},")] = (name, facts)
    return merged


@dataclass(frozen=True)
class _Origin:
    """Identity of the campaign that measured a point, and its launch there."""

    campaign_id: str
    launch: int


class _Held:
    """Points of a source that were read to check it, as many as memory allows, with their contents."""

    def __init__(self) -> None:
        self.points: dict[str, dict[tuple[str, int], Samples]] = {}
        self._contents: dict[tuple[str, str, int], str] = {}
        self._room = ROOM

    def __call__(self, benchmark: str, name: tuple[str, int], point: Samples) -> None:
        """Keep a point."""
        if (benchmark, *name) in self._contents:  # in two files: the first counts
            return
        self._contents[benchmark, *name] = samples.content(point, MARKS)
        self._room -= sum(array.nbytes for array in (point.time_ns, *point.phases.values(), *point.extras.values()))
        if self._room > 0:
            self.points.setdefault(benchmark, {})[name] = point

    def content(self, benchmark: str, fingerprint: str, point: Samples) -> str:
        """Content of a point."""
        return self._contents.get((benchmark, fingerprint, point.launch)) or samples.content(point, MARKS)


class _Merger:
    """Adds points to a campaign, and keeps its list of origins."""

    def __init__(self, campaign: Campaign) -> None:
        self.outcome, self._campaign, self._id = Merged(campaign), campaign, campaign.identity
        self._origins: dict[str, Any] = dict(campaign.facts.get(ORIGINS, {}))
        self._names = {campaign_id: name for campaign_id, (name, _) in origins(campaign).items()}
        self._points: dict[tuple[str, str], dict[_Origin, set[str]]] = {}
        self._launches: dict[tuple[str, str], set[int]] = {}
        for benchmark, fingerprint, point, origin in _points(campaign, {}):
            key = benchmark, fingerprint
            self._points.setdefault(key, {}).setdefault(origin, set()).add(samples.content(point, MARKS))
            self._launches.setdefault(key, set()).add(point.launch)

    def take(self, source: Campaign, held: _Held) -> None:
        """Add the points and files of a campaign that are new."""
        known = {source.identity: (str(source.facts.get("name") or source.name), _without_origins(source.facts))}
        known |= {key: (name, _without_origins(facts)) for key, (name, facts) in origins(source).items()}
        with self._campaign.saving() as saving:
            for benchmark, fingerprint, point, origin in _points(source, held.points):
                content = held.content(benchmark, fingerprint, point)
                self._add(saving, benchmark, fingerprint, point, content, origin, known)
        for campaign_id, (name, facts) in known.items():
            if campaign_id != self._id:
                self._note(campaign_id, name, facts)
        self._keep(source)
        self._campaign.update({ORIGINS: self._origins})

    def _add(
        self,
        saving: Saving,
        benchmark: str,
        fingerprint: str,
        point: Samples,
        content: str,
        origin: _Origin,
        known: Mapping[str, tuple[str, Any]],
    ) -> None:
        """Save a point, unless the campaign has it. It keeps its launch if that number is free."""
        key = benchmark, fingerprint
        contents = self._points.setdefault(key, {}).setdefault(origin, set())
        if content in contents:
            self.outcome.same += 1
            return
        launches = self._launches.setdefault(key, set())
        launch = point.launch if point.launch not in launches else max(launches) + 1
        meta = {k: v for k, v in point.meta.items() if k not in MARKS}
        if origin != _Origin(self._id, launch):
            name = self._campaign.name
            if origin.campaign_id != self._id:
                name = self._note(origin.campaign_id, *known.get(origin.campaign_id, ("unknown", {})))
            meta |= dict(zip(MARKS, (name, origin.campaign_id, origin.launch), strict=True))
        path = saving.add(replace(point, launch=launch, meta=meta), fingerprint)
        if contents:
            self.outcome.conflicts.append(path.relative_to(self._campaign.path).as_posix())
        contents.add(content)
        launches.add(launch)
        self.outcome.added += 1

    def _note(self, campaign_id: str, name: str, facts: Mapping[str, Any]) -> str:
        """Return the name of an origin: the campaign's own, with its date or identity if that name is taken."""
        if campaign_id not in self._names:
            names.part(name, "the name of a campaign")
            digits = "".join(c for c in str(facts.get("created", ""))[:19] if c.isdecimal())
            suffixes = (digits[:8], f"{digits[:8]}-{digits[8:]}", campaign_id[:8], campaign_id)
            alternatives = [f"{name}-{suffix}" for suffix in suffixes if suffix.strip("-")]
            taken = {self._campaign.name, *self._origins}
            self._names[campaign_id] = next(text for text in (name, *alternatives) if text not in taken)
        self._origins[self._names[campaign_id]] = {**facts, identity.KEY: campaign_id}
        return self._names[campaign_id]

    def _keep(self, source: Campaign) -> None:
        """Copy the other files of a campaign, and of the campaigns that were merged into it before."""
        ids = {"": source.identity} | {name: campaign_id for campaign_id, (name, _) in origins(source).items()}
        for path in archive.files(source.path)[0]:
            parts = path.relative_to(source.path).parts
            name, inner = (parts[1], parts[2:]) if parts[0] == ORIGINS and len(parts) > 2 else ("", parts)
            campaign_id = ids.get(name, self._id)
            if campaign_id == self._id or inner[0] in _NOT_COPIED or derived.is_report(inner[0]):
                continue
            target = "/".join((ORIGINS, self._names[campaign_id], *inner))
            there = names.inside(self._campaign.path, target)
            # of two states of a file, as of a log, the longer one is kept: so the order of merges does not matter
            if not there.exists() or there.stat().st_size < path.stat().st_size:
                with self._campaign.writing():
                    beneath.put(self._campaign.open_path, target, beneath.copied(path))


def _without_origins(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of an origin, without the facts of its own origins, which are listed separately."""
    return {key: value for key, value in facts.items() if key != ORIGINS}


def _points(
    campaign: Campaign, held: Mapping[str, Mapping[tuple[str, int], Samples]]
) -> Iterator[tuple[str, str, Samples, _Origin]]:
    """Yield benchmark, fingerprint, samples and origin of every point; those that are held are not read again."""
    own_id = campaign.identity
    for benchmark in campaign.benchmarks():
        for fingerprint, point in campaign.named(benchmark, held.get(benchmark)):
            first = FIRST_LAUNCH.of(point.meta) if FIRST_LAUNCH.given(point.meta) else point.launch
            measured_by = identity.valid(CAMPAIGN_ID.of(point.meta)) or own_id
            yield benchmark, fingerprint, point, _Origin(measured_by, int(first))
