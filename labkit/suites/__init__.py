"""Suites: notebooks with parameters. papermill executes them; a campaign keeps what they measure."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.errors import AbsentError, LabkitError
from labkit.io import atomic, extras
from labkit.point import doubts
from labkit.point.spec import Effort
from labkit.point.units import format_duration, plural
from labkit.read import columnar
from labkit.read.records import tables
from labkit.run import measuring, sessions
from labkit.store import events
from labkit.store.campaign import Campaign, root
from labkit.suites.definition import Entry, Suite, load, names
from labkit.suites.notebooks import (
    PLOTLY,
    Executed,
    add_static_figures,
    execute,
    measure_only,
    progress_reported,
    raise_open_file_limit,
)

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 10  # kinds of warnings shown at the end of a run
MANY = 500  # a benchmark with so many files is compacted at the end of a run
__all__ = [
    "PLOTLY",
    "Entry",
    "Executed",
    "Outcome",
    "Suite",
    "load",
    "names",
    "raise_open_file_limit",
    "run",
]


_LACKS = AbsentError.__name__  # of points that machine or library cannot run


@dataclass(frozen=True)
class Outcome:
    """The result of a run of a suite.

    Parameters
    ----------
    campaign : its folder.
    measured, present : points × launches that are new, and that were skipped because the campaign had them.
    failed : points that could not be measured, each with its reason.
    retried : points that only a second start could measure; they are marked.
    warnings : badges and warnings of the records, each with how many records have it.
    absent : what machine or library lack, each with the benchmarks that need it.
    older : by notebook, points that were already
        measured with a different effort.
    """

    campaign: Path
    notebooks: tuple[Executed, ...]
    measured: int
    present: int
    failed: tuple[str, ...] = ()
    retried: int = 0
    warnings: tuple[tuple[str, int], ...] = ()
    absent: tuple[str, ...] = ()
    older: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether every notebook ran to its end."""
        return not any(notebook.error for notebook in self.notebooks)

    def text(self) -> str:
        """A summary for people."""
        lines = []
        for notebook in self.notebooks:
            state = "failed" if notebook.error else "done"
            copy = notebook.path if notebook.path.exists() else "not executed"
            lines.append(f"{state:6}  {notebook.name}  {format_duration(notebook.seconds)}  {copy}")
            lines += [f"        {line}" for line in notebook.error.splitlines()[:6]]
        failed = sum(bool(notebook.error) for notebook in self.notebooks)
        lines.append(
            f"{len(self.notebooks) - failed} of {plural(len(self.notebooks), 'notebook')} done, "
            f"{plural(self.measured, 'point × launch')} measured, {self.present} there already: {self.campaign}"
        )
        lines += [f"warning: {text}" for text in self.older]
        lines += [f"left out: {text}" for text in self.absent]
        lines += [f"failed: {text}" for text in self.failed]
        if self.retried:
            lines.append(f"{plural(self.retried, 'point')} needed a second start (marked)")
        lines += [f"warning: {text} ({plural(count, 'record')})" for text, count in self.warnings[:SHOWN]]
        more = len(self.warnings) - SHOWN
        if extras.absent(*extras.NOTEBOOKS):
            lines.append(
                "labkit executed no notebook, because the extra labkit[report] is not installed. For the notebooks and "
                f"the report: {extras.command('report')}, then: labkit report {self.campaign}"
            )
        if more > 0:
            lines.append(f"and {more} further kinds of warnings: labkit show")
        return "\n".join(lines)


def run(
    suite: Suite,
    *,
    into: str | Path | None = None,
    progress: Callable[[measuring.Progress], None] | None = None,
    session: str = "",
) -> Outcome:
    """Execute every notebook of a suite. A notebook that fails is kept with its error; the others continue.

    Without the packages of the extra ``report``, labkit measures the points and executes no notebook.

    Parameters
    ----------
    into : campaign folder; by default the suite's name below data/campaigns.
    progress : called with every point that a notebook measures.
    session : start of the session that all launches belong to, if the suite has no sessions.

    Raises
    ------
    LaunchError
        If another run measures into the campaign, or the limit of open files is too low.
    """
    raise_open_file_limit()
    campaign = Campaign(into or root() / suite.name)
    parameters = {entry.name: dict(entry.parameters) for entry in suite.entries}
    before, executed = campaign.done(), list[Executed]()
    with campaign.lease():
        campaign.tell("run", suite=suite.name)
        campaign.update({"suite": suite.name, "title": suite.title, "notebooks": [], "parameters": parameters})
        if suite.seed is not None:
            settings = {entry.name: dict(entry.setting) for entry in suite.entries}
            order = [entry.name for entry in suite.order]
            campaign.update({"sweep": {"seed": suite.seed, "order": order, "settings": settings}})
        _go_through(suite, campaign, before, executed.append, progress, session)
        executed.sort(key=lambda notebook: list(parameters).index(notebook.name))
        campaign.compact(least=MANY)
        add_static_figures([notebook.path for notebook in executed if notebook.path.exists()])
    table = columnar.read_campaigns(campaign).records
    campaign.put("records.parquet", records_file(table))
    campaign.update(
        {"notebooks": [{"name": o.name, "seconds": round(o.seconds, 2), "error": o.error} for o in executed]}
    )
    failed, retried = _failures(campaign)
    new, warnings = campaign.done() - before, doubts.kinds([*table["warnings"], *table["badges"]])
    return Outcome(
        campaign.path,
        tuple(executed),
        len(new),
        len(before),
        failed,
        retried,
        tuple((one.text, count) for one, count in warnings),
        absent=(*_absent(campaign), *_lacking(suite)),
        older=tuple(text for entry in suite.entries for text in _older(entry, campaign, before)),
    )


def _go_through(
    suite: Suite,
    campaign: Campaign,
    before: set[tuple[str, str, int]],
    executed: Callable[[Executed], None],
    progress: Callable[[measuring.Progress], None] | None,
    session: str,
) -> None:
    """Measure the notebooks of a suite session by session, and execute them in the last one.

    Parameters
    ----------
    before : points that are there.
    executed : called with each executed notebook.
    """
    last = suite.effort.schedule[0] - 1
    parts, present, begun = [dict.fromkeys((e.name for e in suite.order), 0) for _ in range(last + 1)], set(before), 0
    for entry in suite.order:
        for point, number in _placed(entry, suite.effort):
            parts[number][entry.name] += point not in present
            begun = max(begun, number + 1) if point in before else begun
            present.add(point)
    total, finished = sum(sum(part.values()) for part in parts), 0

    def waiting(text: str, seconds: float) -> None:
        if progress is not None:
            progress(measuring.Progress(finished, total, text, 0.0, float("nan"), waits=seconds))

    schedule = sessions.Sessions(campaign, suite.effort, waiting, begun=begun)
    for number, part in enumerate(parts):
        name = (schedule.enter(number) if any(part.values()) else "") or session
        for entry in suite.reaching(number).order:
            notebook = replace(entry, session=name)
            if number < last and not part[entry.name]:
                continue
            with progress_reported(campaign, finished, total, progress):
                if number == last and not extras.absent(*extras.NOTEBOOKS):
                    executed(execute(notebook, campaign))
                elif (measured := measure_only(notebook, campaign)) and number == last:
                    executed(measured)
            finished += part[entry.name]


def _placed(entry: Entry, effort: Effort) -> list[tuple[tuple[str, str, int], int]]:
    """Return the points that a notebook asks for, each with its session; none if its study cannot start."""
    with suppress(LabkitError):
        study = entry.study()
        number = [
            sessions.place(launch, range(study.effort.launches), effort) for launch in range(study.effort.launches)
        ]
        return [((p.spec.benchmark, p.fingerprint, p.launch), number[p.launch]) for p in study.points]
    return []


def _of_run(campaign: Campaign) -> list[events.Event]:
    """Return the events of the last run."""
    every = list(events.read(campaign.path))
    return every[max((i for i, event in enumerate(every) if event.kind == "run"), default=0) :]


def _failures(campaign: Campaign) -> tuple[tuple[str, ...], int]:
    """Return the points of this run that failed, with their reasons, and how many were retried."""
    run_events = _of_run(campaign)
    failures = [event for event in run_events if event.kind == "failed" and event.facts.get("error") != _LACKS]
    failed = [f"{event['what']}: {event['reason']}"[:300] for event in failures]
    return tuple(dict.fromkeys(failed)), sum(event.kind == "retried" for event in run_events)


def _absent(campaign: Campaign) -> tuple[str, ...]:
    """Return what points of this run lacked, with the names of their benchmarks: a line for each reason."""
    needed: dict[str, dict[str, None]] = {}
    for event in _of_run(campaign):
        if event.kind == "failed" and event.facts.get("error") == _LACKS:
            label = str(event["what"]).rpartition(" launch ")[0]
            reason = str(event["reason"]).removeprefix(f"{label}: ")[:300]
            needed.setdefault(reason, {})[label.split(" ", 1)[0]] = None
    return tuple(f"{', '.join(sorted(names))}: {reason}" for reason, names in needed.items())


def _lacking(suite: Suite) -> list[str]:
    """Return which tools the suite's notebooks need and miss; nothing of a study that cannot start."""
    lines: list[str] = []
    for entry in suite.entries:
        with suppress(LabkitError):
            lines += entry.study().lacking
    return list(dict.fromkeys(lines))


def save_records(frame: pd.DataFrame, target: str | Path) -> None:
    """Write records to Parquet; an option that benchmarks give different types becomes text."""
    with atomic.opened(target) as file:
        file.write(records_file(frame))


def records_file(frame: pd.DataFrame) -> bytes:
    """Return the content of a Parquet file of records."""
    return tables.parquet(frame.astype({name: "string" for name in frame if name.startswith("option_")}))


def _older(entry: Entry, campaign: Campaign, before: set[tuple[str, str, int]]) -> list[str]:
    """Say which points of a notebook were measured with a different effort; nothing if its study cannot start."""
    if not before:
        return []
    try:
        return [f"{entry.name}: {text}" for text in entry.study(campaign).measured_before(before)]
    except LabkitError:
        return []
