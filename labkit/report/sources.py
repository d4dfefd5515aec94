"""Read a campaign for the report: its facts, samples without their values, records, and failures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.errors import DataError
from labkit.judge import checking, rules
from labkit.judge.finding import Finding, ordered
from labkit.judge.iterations import Iterations
from labkit.judge.rule import LINTED, PLAUSIBILITY, Rule
from labkit.judge.view import View
from labkit.point.units import plural
from labkit.read.columnar import Launches, name_of
from labkit.read.columnar import read_campaigns as read_launches
from labkit.store import events, places, samples
from labkit.store.campaign import Campaign
from labkit.store.notebooks import AGAIN, FOLDER, NAME

if TYPE_CHECKING:
    import pandas as pd

_NOTHING = np.empty((0, 0), np.int64)


@dataclass(frozen=True, eq=False)  # a source is the same as itself alone: tables know no equality
class Source:
    """One campaign of a report.

    Parameters
    ----------
    path : its folder.
    facts : content of campaign.json.
    launches : records and metadata.
    summary : a row per point.
    failed : what was skipped or failed, with the reason; from campaign.json and its events.
    folders : folders with executed notebooks; the first folder with a notebook of a name counts.
    whole : the whole campaign, if launches and summary are restricted to some of its points; else None.
    """

    path: Path
    facts: dict[str, Any]
    launches: Launches
    summary: pd.DataFrame
    failed: tuple[tuple[str, str], ...]
    folders: tuple[Path, ...] = ()
    whole: Source | None = None

    def of_points(self, fingerprints: Collection[str]) -> Source:
        """Return the campaign with some of its points; data that belong to no point stay."""
        summary = self.summary
        if len(summary):
            summary = summary[summary["fingerprint"].isin([*fingerprints])].reset_index(drop=True)
        return replace(self, launches=self.launches.of_points(fingerprints), summary=summary, whole=self)

    @cached_property
    def fingerprints(self) -> frozenset[str]:
        """Fingerprints of its points."""
        return frozenset(self.summary["fingerprint"]) if len(self.summary) else frozenset()

    @property
    def records(self) -> pd.DataFrame:
        """A row per point and launch."""
        return self.launches.records

    @cached_property
    def points(self) -> tuple[samples.Samples, ...]:
        """Its samples, with their headers only."""
        if self.whole is not None:
            return tuple(one for one in self.whole.points if name_of(one)[1] in self.fingerprints)
        points: list[samples.Samples] = []
        for point in Campaign(self.path).samples():
            host = points[-1].host if points and points[-1].host == point.host else point.host  # one for all
            points.append(replace(point, host=host, time_ns=_NOTHING, extras={}, over=None))
        return tuple(points)

    @property
    def times(self) -> Iterations:
        """Effects in the times of iterations."""
        return self.view.iterations

    @cached_property
    def view(self) -> View:
        """View of the campaign for rules."""
        word = places.word(self.path)
        place = "" if Path(word).is_absolute() else word  # no report shows where a machine keeps its files
        return View(self.name, self.records, self.summary, self.launches, self.failed, place=place)

    def found(self, which: Sequence[Rule], *, explain: bool = True) -> tuple[Finding, ...]:
        """Return the findings of rules in its points.

        If it is restricted to some points, rules still compare these with all others. Findings without a point, such as
        a sum over launches, are about its own points.

        Parameters
        ----------
        which, explain : as in `labkit.judge.checking.check`.
        """
        own = checking.check(self.view, which, explain=explain)
        if self.whole is None:
            return own
        among = self.whole.found(which, explain=explain)
        mine = (one for one in among if not self.fingerprints.isdisjoint(one.subject.points))
        return ordered([*mine, *(one for one in own if not one.subject.points)])

    @cached_property
    def odd(self) -> tuple[Finding, ...]:
        """Odd results."""
        return self.found(rules.about(PLAUSIBILITY))

    @cached_property
    def doubted(self) -> frozenset[str]:
        """Fingerprints of points with odd results, which give no headline."""
        return frozenset(one.subject.points[0] for one in self.odd)

    @cached_property
    def invalid(self) -> tuple[Finding, ...]:
        """Findings that make numbers of the campaign invalid."""
        voiding = [rule for rule in rules.about(*LINTED) if rule.voids]
        return tuple(one for one in self.found(voiding, explain=False) if one.level == "bad")

    @property
    def name(self) -> str:
        """Name of the campaign."""
        return str(self.facts.get("name") or self.path.name)

    @property
    def host(self) -> dict[str, Any]:
        """Host of the campaign, else that of its first samples."""
        host = self.facts.get("host")
        if isinstance(host, dict) and host:
            return dict(host)
        return dict(self.launches.kinds[0].host) if self.launches.kinds else {}

    @cached_property
    def notebooks(self) -> list[Path]:
        """Executed notebooks, each once: those of the suite in its order, then others by name.

        Links are left out, because they may lead to files outside the campaign. The list is made at the first call; the
        next report shows later notebooks.
        """
        listed = [f"{entry['name']}.ipynb" for entry in _entries(self.facts)]
        paths: dict[str, Path] = {}
        for folder in self.folders:
            for path in sorted(folder.glob("[!.]*.ipynb")):
                if path.is_file() and path.resolve().parent == folder.resolve():
                    paths.setdefault(path.name, path)
        return sorted(
            paths.values(),
            key=lambda path: (listed.index(path.name) if path.name in listed else len(listed), path.name),
        )

    def error(self, notebook: Path) -> str:
        """Return the error that stopped a notebook, as recorded by the run; empty without one.

        Copies that a report executed again contain their own errors in their cells.
        """
        if notebook.parent.name == AGAIN:
            return ""
        return next((str(e.get("error") or "") for e in _entries(self.facts) if e["name"] == notebook.stem), "")

    def by_benchmark(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the name and the records of each benchmark."""
        if len(self.records):
            for name, rows in self.records.groupby("benchmark", sort=True):
                yield str(name), rows

    @property
    def files(self) -> list[Path]:
        """Samples files in the order of their names."""
        return sorted((self.path / "samples").glob("**/[!.]*.parquet"))


def _entries(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the notebooks of the run with their errors, as campaign.json holds them."""
    notebooks = facts.get("notebooks")
    if not isinstance(notebooks, list):
        return []
    entries = [entry for entry in notebooks if isinstance(entry, dict)]
    return [entry for entry in entries if isinstance(name := entry.get("name"), str) and NAME.fullmatch(name)]


def read(path: Path, *, again: bool = False, benchmark: str = "*") -> Source:
    """Read a campaign folder, and change nothing in it.

    Parameters
    ----------
    again : prefer notebooks that labkit executed again to those of the campaign.
    benchmark : name, or a pattern, of the benchmarks whose points are read.

    Raises
    ------
    DataError
        If the folder is not a campaign, or a samples file cannot be read.
    """
    path = Path(path)
    if not (path / "campaign.json").is_file():
        raise DataError(f"{path} is not a campaign: it has no campaign.json. Name a folder that 'labkit run' made.")
    campaign = Campaign(path)
    launches = read_launches(campaign, benchmark=benchmark)
    folders = tuple(dict.fromkeys((path / FOLDER, campaign.derived / FOLDER)))
    if again:
        folders = (campaign.derived / AGAIN, *folders)
    failed = tuple(_failed(campaign, folders))
    return Source(path, campaign.facts, launches, launches.summary, failed, folders)


def _failed(campaign: Campaign, folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield what was requested and is missing, with the reason, each once."""
    reasons: dict[tuple[str, str], None] = {}
    facts = campaign.facts
    skipped = facts.get("skipped")
    for entry in skipped if isinstance(skipped, list) else []:
        if isinstance(entry, dict):
            what = entry.get("point") or entry.get("notebook") or entry.get("name") or "?"
            reasons[str(what), str(entry.get("reason", "no reason was recorded"))] = None
        else:
            reasons[str(entry), "no reason was recorded"] = None
    for entry in _entries(facts):
        if not any((folder / f"{entry['name']}.ipynb").exists() for folder in folders):
            reasons[f"notebook {entry['name']}", str(entry.get("error") or "it did not run")] = None
    for event in events.unmeasured(campaign.path, campaign.done()):
        reasons[event["what"], event["reason"] or event.kind] = None
    yield from reasons


def described(campaign: Campaign, executed: Sequence[str]) -> str:
    """Describe a campaign in a short paragraph: origin, host, points, notebooks. Its own texts are cut to one line.

    Parameters
    ----------
    executed : names of labkit's own notebooks that will be executed on its samples.
    """
    facts, host = campaign.facts, campaign.facts.get("host")
    name = _short(facts.get("name") or campaign.name)
    where = _short(host.get("hostname") or host.get("name")) if isinstance(host, dict) else ""
    points = campaign.done()
    stored = sorted(path.stem for path in (campaign.path / "notebooks").glob("[!.]*.ipynb"))
    made = f"made by labkit {_short(facts.get('labkit')) or '?'} on {_short(facts.get('created')) or 'an unknown date'}"
    parts = [
        f"campaign {name}, {made}{f', host {where}' if where else ''}: {plural(len(points), 'point × launch')} of "
        f"{plural(len({point[0] for point in points}), 'benchmark')}."
    ]
    if stored:
        parts.append(f"It holds {plural(len(stored), 'executed notebook')}, which labkit reads but does not run.")
    if executed:
        parts.append(f"labkit executes {len(executed)} of its own notebooks on the samples: {', '.join(executed)}.")
    if campaign.derived != campaign.path:
        parts.append(f"labkit does not change the campaign; derived files go to {campaign.derived}.")
    return " ".join(parts)


def _short(value: Any) -> str:
    """Return a text on one line, at most 60 characters long."""
    text = " ".join(str(value or "").split())
    return text if len(text) <= 60 else f"{text[:59]}…"
