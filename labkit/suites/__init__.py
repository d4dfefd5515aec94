"""Suites: notebooks with parameters, executed by papermill into a campaign, which keeps whatever was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labkit import campaign, extras, measuring, writing
from labkit.analysis import doubts
from labkit.campaign import Campaign, events
from labkit.errors import LabkitError
from labkit.records import cached, tables
from labkit.suites.definition import Entry, Suite, load, names
from labkit.suites.notebooks import PLOTLY, Executed, execute, finish, followed, inherited, measure_only, room
from labkit.units import format_duration

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 10  # kinds of warnings at the end of a run
MANY = 500  # files of a benchmark, from which on they are compacted at the end of a run
__all__ = [
    "PLOTLY",
    "Entry",
    "Executed",
    "Outcome",
    "Suite",
    "load",
    "names",
    "room",
    "run",
]


@dataclass(frozen=True)
class Outcome:
    """What became of a suite.

    Parameters
    ----------
    campaign : its folder.
    measured, there : points × launches that are new, and that were skipped because they were there.
    failed : points that are not there, each with its reason.
    retried : points that only a second start could measure; they are marked.
    warnings : badges and warnings of the records, each with how many records have it.
    """

    campaign: Path
    notebooks: tuple[Executed, ...]
    measured: int
    there: int
    failed: tuple[str, ...] = ()
    retried: int = 0
    warnings: tuple[tuple[str, int], ...] = ()

    @property
    def sound(self) -> bool:
        """Whether every notebook ran to its end."""
        return not any(one.error for one in self.notebooks)

    def text(self) -> str:
        """A summary for people."""
        lines = []
        for one in self.notebooks:
            state = "failed" if one.error else "done"
            place = one.path if one.path.exists() else "not executed"
            lines.append(f"{state:6}  {one.name}  {format_duration(one.seconds)}  {place}")
            lines += [f"        {line}" for line in one.error.splitlines()[:6]]
        failed = sum(bool(one.error) for one in self.notebooks)
        lines.append(
            f"{len(self.notebooks) - failed} of {len(self.notebooks)} notebooks done, {self.measured} points measured, "
            f"{self.there} were there already: {self.campaign}"
        )
        lines += [f"failed: {text}" for text in self.failed]
        lines += [f"{self.retried} points needed a second start and carry a mark"] if self.retried else []
        lines += [f"warning: {text} ({count} records)" for text, count in self.warnings[:SHOWN]]
        more = len(self.warnings) - SHOWN
        if left := extras.absent(*extras.NOTEBOOKS):
            lines.append(
                f"labkit measured the points but executed no notebook, because {left[0]} is not installed. For the "
                f"notebooks and the report: {extras.remedy(left[0])}, then: labkit report {self.campaign}"
            )
        return "\n".join([*lines, *([f"and {more} further kinds of warnings: labkit show"] if more > 0 else [])])


def run(
    suite: Suite, *, into: str | Path | None = None, progress: Callable[[measuring.Progress], None] | None = None
) -> Outcome:
    """Execute every notebook of a suite; a failing one is kept with its error and the others go on.

    Without the packages of the extra ``report``, the points are measured and no notebook is executed.

    Parameters
    ----------
    into : campaign folder; the suite's name below data/campaigns when left out.
    progress : told about every point that a notebook measures.

    Raises
    ------
    LaunchError
        If somebody else measures into the campaign, or too few files may be open.
    """
    room()
    held = Campaign(into or campaign.root() / suite.name)
    parameters = {entry.name: dict(entry.parameters) for entry in suite.entries}
    before, executed = held.done(), []
    carry_out = measure_only if extras.absent(*extras.NOTEBOOKS) else execute
    with held.lease(), inherited(held):
        held.tell("run", suite=suite.name)
        held.update({"suite": suite.name, "title": suite.title, "notebooks": [], "parameters": parameters})
        if suite.seed is not None:
            settings = {entry.name: dict(entry.setting) for entry in suite.entries}
            order = [entry.name for entry in suite.order]
            held.update({"sweep": {"seed": suite.seed, "order": order, "settings": settings}})
        there = set(before)
        missing = {entry.name: _missing(entry, there) for entry in suite.order}
        total, passed = sum(missing.values()), 0
        for entry in suite.order:
            with followed(held, passed, total, progress):
                executed.append(carry_out(entry, held))
            passed += missing[entry.name]
        executed.sort(key=lambda one: list(parameters).index(one.name))
        held.compact(least=MANY)
        finish([one.path for one in executed if one.path.exists()])
    table = cached.of(held)
    save_records(table, held.path / "records.parquet")
    held.update({"notebooks": [{"name": o.name, "seconds": round(o.seconds, 2), "error": o.error} for o in executed]})
    failed, retried = _told(held)
    new, warnings = held.done() - before, doubts.kinds([*table["warnings"], *table["badges"]])
    return Outcome(held.path, tuple(executed), len(new), len(before), failed, retried, tuple(warnings))


def _told(held: Campaign) -> tuple[tuple[str, ...], int]:
    """What the events say of this run: points that failed with their reasons, and how many were retried."""
    told = events.read(held.path)
    last = max((i for i, one in enumerate(told) if one.kind == "run"), default=0)
    failed = [f"{one['what']}: {one['reason']}"[:300] for one in told[last:] if one.kind == "failed"]
    return tuple(dict.fromkeys(failed)), sum(one.kind == "retried" for one in told[last:])


def save_records(frame: pd.DataFrame, target: str | Path) -> None:
    """Write records to Parquet; an option that benchmarks give different types becomes text."""
    with writing.opened(target) as file:
        plain = frame.astype({name: "string" for name in frame if name.startswith("option_")})
        file.write(tables.parquet(plain))


def _missing(entry: Entry, there: set[tuple[str, str, int]]) -> int:
    """How many points a notebook will measure, which are there then; 0 when its study cannot even start."""
    try:
        points = {(p.spec.benchmark, p.fingerprint, p.launch) for p in entry.study().points}
    except LabkitError:
        return 0
    new = points - there
    there |= new
    return len(new)
