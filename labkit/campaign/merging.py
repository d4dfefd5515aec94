"""Campaigns put into one: nothing is lost, nothing counts twice, every point remembers where it is from.

A point is known by the identity of the campaign that measured it, by its launch there, and by its content. So a point
that was merged before, or comes back in a copy or an archive of the same campaign, is recognised. Two campaigns of the
same name are two. The metadata of a point say where it is from: ``campaign_id``, ``first_launch``, and ``campaign``,
the name that people read.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labkit import samples
from labkit.campaign import Campaign, archive, identity, names
from labkit.campaign.packing import Limits
from labkit.samples import Samples
from labkit.samples.facts import CAMPAIGN, CAMPAIGN_ID, FIRST_LAUNCH

MARKS = (CAMPAIGN.name, CAMPAIGN_ID.name, FIRST_LAUNCH.name)
ORIGINS = "origins"
_OWN = (
    "samples",
    "report",
    "records.parquet",
    "campaign.json",
    ORIGINS,
)  # what does not go to origins/<name>/ as it is


@dataclass
class Merged:
    """What a merge did.

    Parameters
    ----------
    campaign : that has the points now.
    added : points that are new in it, conflicts among them.
    same : points that were there: the same point of the same campaign, byte for byte.
    conflicts : points whose origin and launch another point has with other content; both are kept.
    """

    campaign: Campaign
    added: int = 0
    same: int = 0
    conflicts: list[str] = field(default_factory=list)

    def text(self) -> str:
        """For people."""
        parts = [f"{self.added} new points", f"{self.same} skipped (the same point of the same campaign)"]
        lines = [f"merged: {', '.join(parts)}, {len(self.conflicts)} conflicts"]
        if self.conflicts:
            lines.append(
                f"conflicts: {len(self.conflicts)} of the new points have the campaign and launch of another, but "
                f"other content; both are kept, as launches of their own. First: {self.conflicts[0]}"
            )
        return "\n".join([*lines, f"samples: {self.campaign.path}"])


def merge(sources: Sequence[Path], into: Path, limits: Limits | None = None) -> Merged:
    """Put the points of several campaigns, folders or archives, into one; each remembers where it is from.

    A point that two campaigns have keeps both, as launches of their own. What else a campaign holds goes to
    ``origins/<name>/``.

    Raises
    ------
    DataError
        If a source is damaged; nothing was merged then.
    """
    with ExitStack() as stack:
        folders = [stack.enter_context(archive.opened(source, limits)) for source in sources]
        held = Campaign(into)
        stack.enter_context(held.lease())
        target = _Target(held)
        for folder in folders:
            target.take(Campaign.existing(folder))
        return target.outcome


def origins(held: Campaign) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Identity → name and facts of each campaign whose points were merged into one."""
    found = {}
    for name, facts in held.facts.get(ORIGINS, {}).items():
        found[identity.of(facts, held.path / ORIGINS / name)] = (name, facts)
    return found


@dataclass(frozen=True)
class _From:
    """Where a point was first measured: identity of the campaign, and launch there."""

    campaign: str
    launch: int


class _Target:
    """The campaign that gets the points, and what it knows of their origins."""

    def __init__(self, held: Campaign) -> None:
        self.outcome, self._held, self._own = Merged(held), held, held.identity
        self._facts: dict[str, Any] = dict(held.facts.get(ORIGINS, {}))
        self._names = {one: name for one, (name, _) in origins(held).items()}
        self._points: dict[tuple[str, str], dict[_From, set[str]]] = {}
        self._launches: dict[tuple[str, str], set[int]] = {}
        for benchmark, fingerprint, one, source in _points(held):
            key = benchmark, fingerprint
            self._points.setdefault(key, {}).setdefault(source, set()).add(samples.content(one, MARKS))
            self._launches.setdefault(key, set()).add(one.launch)

    def take(self, source: Campaign) -> None:
        """Take what is new of a campaign."""
        known = {source.identity: (str(source.facts.get("name") or source.name), _brief(source.facts))}
        known |= {one: (name, _brief(facts)) for one, (name, facts) in origins(source).items()}
        for benchmark, fingerprint, one, place in _points(source):
            self._add(benchmark, fingerprint, one, place, known)
        for campaign, (name, facts) in known.items():
            if campaign != self._own:
                self._note(campaign, name, facts)
        self._keep(source)
        self._held.update({ORIGINS: self._facts})

    def _add(
        self, benchmark: str, fingerprint: str, one: Samples, place: _From, known: Mapping[str, tuple[str, Any]]
    ) -> None:
        """Save a point, unless it is there; under its own launch where that is free."""
        key, content = (benchmark, fingerprint), samples.content(one, MARKS)
        there = self._points.setdefault(key, {}).setdefault(place, set())
        if content in there:
            self.outcome.same += 1
            return
        launches = self._launches.setdefault(key, set())
        launch = one.launch if one.launch not in launches else max(launches) + 1
        meta = {k: v for k, v in one.meta.items() if k not in MARKS}
        if place != _From(self._own, launch):
            name = self._held.name
            if place.campaign != self._own:
                name = self._note(place.campaign, *known.get(place.campaign, ("unknown", {})))
            meta |= dict(zip(MARKS, (name, place.campaign, place.launch), strict=True))
        path = self._held.save(replace(one, launch=launch, meta=meta), fingerprint)
        if there:
            self.outcome.conflicts.append(path.relative_to(self._held.path).as_posix())
        there.add(content)
        launches.add(launch)
        self.outcome.added += 1

    def _note(self, one: str, name: str, facts: Mapping[str, Any]) -> str:
        """The name that a campaign has here: its own, with its date or identity where another has that already."""
        if one not in self._names:
            names.part(name, "the name of a campaign")
            when = "".join(c for c in str(facts.get("created", ""))[:19] if c.isdigit())
            further = [
                f"{name}-{text}" for text in (when[:8], f"{when[:8]}-{when[8:]}", one[:8], one) if text.strip("-")
            ]
            taken = {self._held.name, *self._facts}
            self._names[one] = next(text for text in (name, *further) if text not in taken)
        self._facts[self._names[one]] = {**facts, identity.KEY: one}
        return self._names[one]

    def _keep(self, source: Campaign) -> None:
        """Copy what a campaign holds beside samples, and what it keeps of those merged into it before."""
        places = {"": source.identity} | {name: one for one, (name, _) in origins(source).items()}
        for path in archive.files(source.path)[0]:
            parts = path.relative_to(source.path).parts
            name, inner = (parts[1], parts[2:]) if parts[0] == ORIGINS and len(parts) > 2 else ("", parts)
            one = places.get(name, self._own)
            if one == self._own or inner[0] in _OWN:
                continue
            target = names.inside(self._held.path, "/".join((ORIGINS, self._names[one], *inner)))
            # of two states of a file, as of a log, the longer one is kept: so the order of merges does not matter
            if not target.exists() or target.stat().st_size < path.stat().st_size:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)


def _brief(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of an origin without those of its own origins, which are kept beside it."""
    return {key: value for key, value in facts.items() if key != ORIGINS}


def _points(held: Campaign) -> Iterator[tuple[str, str, Samples, _From]]:
    """Benchmark, fingerprint and samples of every point, and where it was first measured."""
    by_name = {name: one for one, (name, _) in origins(held).items()}
    own = held.identity
    for benchmark in held.benchmarks():
        for fingerprint, one in held.named(benchmark):
            name = CAMPAIGN.of(one.meta)
            first = FIRST_LAUNCH.of(one.meta) if FIRST_LAUNCH.given(one.meta) else one.launch
            # points that were merged before campaigns had identities tell a name alone
            usual = by_name.get(name, own)
            where = identity.valid(CAMPAIGN_ID.of(one.meta)) or usual
            yield benchmark, fingerprint, one, _From(where, int(first))
