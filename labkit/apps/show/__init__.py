"""Write what the command line prints: tables, descriptions, results."""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from labkit import benchmarks
from labkit.apps.show.texttable import paragraph, text_table, to_file
from labkit.errors import unknown_name
from labkit.io import atomic, csv_export
from labkit.point.columns import METRICS
from labkit.point.spec import Effort
from labkit.point.units import format_duration, plural

MANY = 2000  # points × launches that are printed without asking which
_REASONS, _LONGEST = 3, 400  # reasons of points that failed, and characters of one, at most

if TYPE_CHECKING:
    import pandas as pd

    from labkit.run.measuring import Point
    from labkit.store.campaign import Campaign
    from labkit.store.samples import Samples
    from labkit.suites import Suite
    from labkit.suites.plan import Planned


def benchmarks_text(form: str) -> str:
    """Return a list of all benchmarks, for people or as JSON."""
    listed = benchmarks.find().values()
    if form == "json":
        return json.dumps([{"name": b.name, "title": b.title, "metrics": list(b.metrics)} for b in listed], indent=1)
    rows = [(b.name, b.title, ", ".join(b.metrics), b.by) for b in listed]
    imported = [name for name, one in benchmarks.every().items() if isinstance(one, benchmarks.LogBenchmark)]
    table = text_table(("benchmark", "measures", "metrics", "by"), rows)
    told = paragraph(f"imported from logs, not run by labkit (docs/import.md): {', '.join(imported)}")
    return f"{table}\n\n{told}"


def description(name: str) -> str:
    """Return definition, metrics, sizes and options of a benchmark."""
    benchmark = benchmarks.get(name)
    low, high = benchmark.ranks
    lines = [f"{benchmark.name}: {benchmark.title}", "", benchmark.doc.strip(), "", "metrics:"]
    lines += [f"  {m}  {METRICS[m].meaning}" for m in [*benchmark.metrics, *benchmark.derived]]
    if (sample := benchmark.sampled)[0]:
        lines += ["", "statistics:", f"  p50, p95, …  of {sample[0]}", f"  osu_mean     {sample[1]}: what OSU prints"]
    ranks = f"{low} or more" if high is None else f"{low} to {high}"
    lines += ["", f"sizes:  {benchmark.sizes if benchmark.sized else 'none'}"]
    lines += [f"ranks:  {low if low == high else ranks}"]
    lines += [f"cadence: {benchmark.cadence}", "", "options (-o key=value):"]
    meanings, kinds = benchmarks.meanings(benchmark.options), get_type_hints(benchmark.options)
    for field in dataclasses.fields(benchmark.options):
        lines.append(f"  {field.name}={field.default}  {meanings.get(field.name, '')}  [{_type(kinds[field.name])}]")
    return "\n".join(lines if dataclasses.fields(benchmark.options) else lines[:-1])


def _type(kind: Any) -> str:
    """Return a type for people: the choices of a Literal, the name of other types."""
    choices = getattr(kind, "__args__", None) or [kind]
    return " | ".join(str(getattr(choice, "__name__", choice)) for choice in choices)


def doctor(form: str) -> tuple[str, bool]:
    """Return the checks of this machine as text, and whether none is bad."""
    from labkit import host, testbeds, tools  # these, 0.2 s that lists and descriptions need not wait for
    from labkit.kernels import programs as own
    from labkit.run import launch

    programs = launch.programs() | tools.programs() | host.PROGRAMS
    watch, machine, testbed_checks = host.Watch(), host.describe(), testbeds.checks()
    machine["load"]["others"] = watch.after_a_while()
    installed = host.installed(programs) | {"unbuilt": own.unbuilt()}
    checks = [*host.checks(machine, installed, programs), *testbed_checks]
    sound = all(check.state != "bad" for check in checks)
    if form == "json":
        return json.dumps([dataclasses.asdict(check) for check in checks], indent=1), sound
    lines = []
    for check in checks:
        lines += [f"{check.state:4}  {check.name}: {check.found}"]
        if check.state != "ok":
            lines += [f"      wanted: {check.wanted}", *([f"      do: {check.remedy}"] if check.remedy else [])]
    counts = (f"{sum(c.state == state for c in checks)} {state}" for state in ("ok", "warn", "bad"))
    return "\n".join([*lines, "", ", ".join(counts)]), sound


def plan(points: Sequence[Point], effort: Effort) -> str:
    """Return the points of a measurement with the settings that differ, and the command lines that start them."""
    from labkit.run import estimate, measuring, sample_volume  # 0.2 s

    first = [p for p in points if p.launch == 0]
    names = dict.fromkeys(name for p in first for name in p.spec.setting if name != "transport")  # in the label
    settings = [name for name in names if len({p.spec.setting.get(name) for p in first}) > 1]
    head = ("point", *settings, "library", "fingerprint")
    rows = [
        (benchmarks.label(p.spec), *(p.spec.setting.get(n, "-") for n in settings), p.library, p.fingerprint)
        for p in first
    ]
    launches = len({p.launch for p in points})  # one for points of a simulation
    size = sum(sample_volume.volume(p.spec, effort).kept for p in first) * launches
    return "\n".join(
        [
            text_table(head, rows),
            "",
            f"{estimate.told(points, effort)}.",
            *_sessions(effort),
            f"Samples: {sample_volume.told(size)}.",
            "Starts of a launch, in the order of the first launch:",
            "",
            *measuring.commands(points, effort),
        ]
    )


def _sessions(effort: Effort) -> list[str]:
    """Return a line about the sessions of a measurement; none without a schedule."""
    count, apart = effort.schedule
    return [f"{plural(count, 'session')}, {format_duration(apart)} from one to the next."] if count > 1 else []


def suite(planned: Sequence[Planned], planned_suite: Suite) -> str:
    """Return the notebooks of a suite in the order of execution: points, places, times and the source of the times."""
    from labkit.run import sample_volume  # 0.2 s

    rows = []
    for notebook in planned:
        source = "nothing to do"
        if notebook.missing:
            source = f"{notebook.known} from earlier, {notebook.missing - notebook.known} from the cap"
        parameters = {**notebook.entry.parameters, **notebook.entry.setting}
        rows.append(
            (
                notebook.entry.name,
                f"{notebook.missing} of {notebook.points}",
                format_duration(notebook.seconds),
                sample_volume.size(notebook.bytes),
                notebook.problem or source,
                ", ".join(notebook.on) or "-",
                ", ".join(f"{k}={v}" for k, v in parameters.items()),
            )
        )
    head = ("notebook", "points to measure", "time", "samples", "time from", "on", "parameters")
    total, missing = sum(notebook.seconds for notebook in planned), sum(notebook.missing for notebook in planned)
    known = sum(notebook.known for notebook in planned)
    lines = [
        text_table(head, rows, right=(1, 2, 3)),
        "",
        f"{plural(missing, 'point')} to measure, about {format_duration(total)} of timed work: "
        f"{plural(known, 'point')} timed from earlier "
        f"campaigns, {missing - known} from their time cap. Starts and figures take extra time.",
        f"Samples: {sample_volume.told(sum(notebook.bytes for notebook in planned))}.",
    ]
    lines += _sessions(planned_suite.effort)
    if planned_suite.seed is not None:
        lines.append(f"Swept notebooks run in random order, seed {planned_suite.seed}.")
    return "\n".join(lines)


# ---- results ---------------------------------------------------------------------------------------------------


def write(samples: Sequence[Samples], form: str, output: str | None, *, campaign: str = "", full: bool = False) -> None:
    """Print results in a format, or write them to a file; `full` adds the columns of OMB's option -f."""
    from labkit.read import records  # pandas, 0.4 s

    _write(records.table(samples, campaign=campaign), samples, form, output, full)


def campaign(
    campaign: Campaign, benchmark: str, form: str, output: str | None, *, full: bool = False, beside: bool = False
) -> None:
    """Print the results of a campaign, of one benchmark or of all; read samples only where records do not suffice.

    Lines below a table mention odd results, and points that could not be measured.

    Parameters
    ----------
    full : add the columns of OMB's option -f.
    beside : print published numbers of the same benchmarks after the results, as a table or in JSON.

    Raises
    ------
    SpecError
        If the campaign has other benchmarks only, measured or not.
    """
    from labkit.apps.show import grown  # pandas, 0.4 s
    from labkit.apps.show.odd import hint  # pandas, 0.4 s
    from labkit.read import columnar

    if not campaign.benchmarks(benchmark) and (names := campaign.benchmarks()) and not _unmeasured(campaign, benchmark):
        raise unknown_name(f"benchmark in {campaign.name} called", benchmark, names)
    launches = columnar.read_campaigns(campaign, benchmark=benchmark)
    frame = launches.records
    below = ""
    if form == "table":
        odd = hint(frame, str(campaign.path)) if len(frame) <= MANY else ""
        counted = grown.lines(launches) if len(frame) <= MANY else ""
        below = "\n".join(filter(None, [_unmeasured(campaign, benchmark), counted, odd]))
    _write(frame, _Unread(campaign, benchmark), form, output, full, beside, below)


def _unmeasured(campaign: Campaign, benchmark: str) -> str:
    """Return lines about the points that failed and have no result; empty if there are none."""
    from labkit.store import events  # loads numpy; measuring and --help start without it

    reasons: dict[str, dict[str, None]] = {}  # reason → points, each once
    for event in events.unmeasured(campaign.path, campaign.done(benchmark)):
        if fnmatch.fnmatch(str(event.facts.get("benchmark", "")), benchmark):
            reasons.setdefault(event["reason"], {})[event["what"]] = None
    if not reasons:
        return ""
    lines = []
    for reason, (first, *others) in reasons.items():
        text = f"not measured: {first}{f' and {len(others)} more' if others else ''}: {reason}"
        lines.append(" ".join(text.split())[:_LONGEST])
    more = [f"and {plural(len(lines) - _REASONS, 'further reason')}"] if len(lines) > _REASONS else []
    return "\n".join([*lines[:_REASONS], *more, f"commands and output of what failed: {campaign.path / events.LOG}"])


class _Unread(Iterable["Samples"]):
    """Samples that are read only when they are iterated."""

    def __init__(self, campaign: Campaign, benchmark: str) -> None:
        self._campaign, self._benchmark = campaign, benchmark

    def __iter__(self) -> Iterator[Samples]:
        return self._campaign.samples(self._benchmark)


def _write(
    frame: pd.DataFrame,
    samples: Iterable[Samples],
    form: str,
    output: str | None,
    full: bool,
    beside: bool = False,
    below: str = "",
) -> None:
    """Print or write records, and `below` after a table; take from the samples what records do not hold."""
    from labkit.apps.show.results import result_table  # pandas, 0.4 s that lists and descriptions need not wait for
    from labkit.read.records import tables

    if form == "parquet":
        from labkit.suites import save_records  # 0.2 s more

        name = str(frame["campaign"].iloc[0]) if len(frame) else ""
        target = output or f"{name or 'records'}.parquet"
        save_records(frame, target)
        print(f"records: {target}", file=sys.stderr)
        return
    if beside:
        from labkit.apps.show import published  # and what papers published, 0.01 s
    forms: dict[str, Callable[[], str]] = {
        "table": lambda: "\n\n".join(
            filter(None, [result_table(frame, samples), published.beside(frame) if beside else "", below])
        ),
        "json": lambda: result_json(frame, published.rows_beside(frame) if beside else None),
        "csv": lambda: csv_export.of_frame(tables.printed(frame)).rstrip(),
    }
    with to_file(bool(output)):
        text = forms[form]() if form in forms else _foreign(samples, form, full)
    if output:
        atomic.text(output, text + "\n")
    else:
        print(text)


def _foreign(samples: Iterable[Samples], form: str, full: bool) -> str:
    """Return results in the layout of another program."""
    from labkit.judge import gpcnet, traces  # pandas, 0.4 s
    from labkit.read import equivalents

    if form == "otlp":
        return traces.text(samples).removesuffix("\n")
    text = gpcnet.text(list(samples)) if form == "gpcnet" else equivalents.text(list(samples), form, full=full)
    return text.removesuffix("\n")


def listing(campaign: Campaign) -> str:
    """Return a line for each benchmark of a campaign that is too large to be printed; empty for other campaigns.

    It reads the names of files only.
    """
    if len(done := campaign.done()) <= MANY:
        return ""
    names: dict[str, set[str]] = {}
    launches: dict[str, int] = {}
    for name, fingerprint, _ in done:
        names.setdefault(name, set()).add(fingerprint)
        launches[name] = launches.get(name, 0) + 1
    size = {name: _bytes(campaign.path / "samples" / name) for name in names}
    rows = [(n, f"{len(names[n]):,}", f"{launches[n]:,}", f"{size[n] / 1e6:,.1f}") for n in sorted(names)]
    table = text_table(("benchmark", "points", "points × launches", "MB"), rows, right=(1, 2, 3))
    return f"{table}\n\n{len(done):,} in all; the results of one: labkit show {campaign.path} --benchmark {rows[0][0]}"


def _bytes(folder: Path) -> int:
    """Return the size of all files in a folder."""
    with os.scandir(folder) as entries:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)


def result_json(frame: pd.DataFrame, beside: Sequence[dict[str, Any]] | None = None) -> str:
    """Return ``{"records": […], "points": […], "warnings": […]}``; absent values are null.

    Keys are those of `labkit.point.columns`: a record is one launch, a point all its launches.

    Parameters
    ----------
    beside : published numbers, which get a list ``published`` of their own; None for no such list.
    """
    from labkit.apps.show.results import points_json  # pandas, 0.4 s

    points = points_json(frame) if len(frame) else []
    cells = [*_once(frame["warnings"]), *(point["warnings"] for point in points)] if len(frame) else []
    warnings = sorted({note.text for cell in cells for note in cell})
    points = [{name: _plain(value) for name, value in point.items()} for point in points]
    document: dict[str, Any] = {"points": points, "warnings": warnings}
    if beside is not None:
        document["published"] = list(beside)
    rest = json.dumps(document, indent=1, allow_nan=False)[1:]
    if not len(frame):
        return f'{{\n "records": [],{rest}'
    columns = [_encoded(frame[name], f"   {json.dumps(name)}: ") for name in frame]
    rows = "\n  },\n  {\n".join(map(",\n".join, zip(*columns, strict=True)))
    return f'{{\n "records": [\n  {{\n{rows}\n  }}\n ],{rest}'


def _once(cells: pd.Series) -> list[Any]:
    """Return the different objects in a column; many cells are one."""
    return list({id(cell): cell for cell in cells.tolist()}.values())


def _encoded(column: pd.Series, key: str) -> list[str]:
    """Return each value as one or more lines of a JSON document with rows indented by three."""
    values = column.tolist()
    if column.dtype.kind == "f":
        return [f"{key}{value!r}" if math.isfinite(value) else f"{key}null" for value in values]
    if column.dtype.kind in "iu":
        return [f"{key}{value}" for value in values]
    known: dict[
        Any, str
    ] = {}  # True, 1 and 1.0 are equal, but not of one type; equal lists of notes are mostly one object
    lines = []
    for value in values:
        same = id(value) if isinstance(value, tuple) else (type(value), value)
        if same not in known:
            known[same] = key + json.dumps(_plain(value), indent=1, allow_nan=False).replace("\n", "\n   ")
        lines.append(known[same])
    return lines


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: the texts of notes, and null without a number."""
    if isinstance(value, tuple):
        return [str(note) for note in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
