"""The functions that a notebook calls: study, measure, show, overlay, table, save. The report lays out what it gets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from IPython import get_ipython
from IPython.display import Markdown, display

from labkit import benchmarks, figures, studies
from labkit.apps import progress
from labkit.errors import LabkitWarning, SpecError
from labkit.figures import parts, publication, tabulated
from labkit.io import atomic, extras, markdown
from labkit.point.columns import ENDS, METRICS, SHOWN, STATISTICS, split, title
from labkit.point.notes import note
from labkit.point.units import MOST_MB, format_count, format_duration, format_number, format_size, plural
from labkit.read import reference
from labkit.read.records import value_of
from labkit.run.measuring import Progress
from labkit.store.campaign import Campaign, find
from labkit.studies import Study, needs
from labkit.suites.following import news

if TYPE_CHECKING:
    import pandas as pd

_DIGITS = 3  # of a number without an interval in a table
_plain_warning = warnings.showwarning
_forms: dict[str, Any] = {}  # study → its form


def study(name: str, namespace: Mapping[str, Any]) -> Study:
    """Return the study of a notebook, with the parameters that its first cell set and those changed in its form.

    Parameters
    ----------
    name : name of the study, such as ``latency``.
    namespace : ``globals()`` of the notebook.

    Raises
    ------
    SpecError
        For a plain value that is not a parameter of the study, a wrong value, or an impossible point; nothing was
        measured.
    """
    plain = {
        key: value
        for key, value in namespace.items()
        if isinstance(value, str | int | float) and not key.startswith("_")
    }
    if name in _forms:
        chosen = _forms[name].changed()
        plain |= chosen
        if isinstance(namespace, dict):
            namespace.update(chosen)
    extras.import_notebooks()  # plotly needs nbformat to display a figure
    if get_ipython():
        warnings.showwarning = _warn  # the kernel is this notebook's own
    return studies.get(name)(**plain)


def form(name: str) -> None:
    """Display the parameters of a notebook as a form, if somebody looks at it; a batch run and a report have none.

    A value in the form replaces the value of the cell below.

    Parameters
    ----------
    name : name of the study, such as ``latency``.
    """
    if not watched():
        return
    from labkit.apps.form import Form  # ipywidgets, 0.2 s, which a batch run may lack

    _forms[name] = Form(name)
    display(_forms[name])


def watched() -> bool:
    """Whether the cell was started in a page, such as JupyterLab's, which names it; papermill does not."""
    shell = get_ipython()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    return "cellId" in (parent.get("metadata") or {})


def _warn(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Display a warning of labkit as a part, which its report reads; other warnings go to standard error."""
    if issubclass(category, LabkitWarning):
        display(parts.bundle(parts.Warned((note("warning", str(message)),))), raw=True)
    else:
        _plain_warning(message, category, *where, **more)


def namespace() -> Mapping[str, Any]:
    """Return the names of the notebook that runs; none outside of a notebook."""
    shell = get_ipython()
    return shell.user_ns if shell else {}


def _own_study() -> Study | None:
    """Return the study of the notebook that runs: the last one among its names."""
    return next((one for one in reversed(list(namespace().values())) if isinstance(one, Study)), None)


def measure(study: Study) -> None:
    """Measure the missing points of a study, show the progress, and summarise."""
    handle = display(Markdown("Starting …"), display_id=True)
    last: list[Progress] = []

    def tell(state: Progress) -> None:
        last[:] = [state]
        handle.update(progress.bar(state))

    before = study.campaign.done()
    campaign = study.run(tell)
    studies.remember(study)
    if study.only_reads:
        handle.update(Markdown("This notebook measures nothing."))
        return
    count = len(study.samples)
    done = "Nothing was missing" if study.points else "There was nothing to measure"
    if last:
        done = f"Measured {plural(last[0].total, 'point × launch')} in {format_duration(last[0].elapsed)}"
    lines = [f"{done}; {count} are in the campaign `{campaign.name}`.", *study.lacking, *study.measured_before(before)]
    handle.update(Markdown("\n\n".join(lines)))


def follow(campaign: str, lines: int = 10) -> None:
    """Show the progress of a run in another process until it ends.

    Parameters
    ----------
    campaign : its folder, or its name in data/campaigns.
    lines : how many of the last results are shown.
    """
    watched = Campaign(find(campaign))
    handle = display(Markdown(f"Watching `{watched.name}` …"), display_id=True)
    state, last, count = "no run in progress", list[str](), 0
    for entry in news(watched):
        if isinstance(entry, str):
            last, count = [*last, entry][-lines:], count + 1
        else:
            state = f"{entry.done} of {plural(entry.total, 'point × launch')}: {entry.label}"
        text = "\n".join(f"- {line}" for line in last)
        handle.update(Markdown(f"`{watched.name}`: {state}\n\n{text}"))
    handle.update(
        Markdown(
            f"`{watched.name}` has no run in progress. Its log has {plural(count, 'entry')}.\n\n"
            + "\n".join(f"- {line}" for line in last)
        )
    )


def show(thing: Any) -> None:
    """Display a part of a study, a figure of plotly, text as Markdown, or a widget, which a report leaves out.

    Parts that are left out, and figures with one point per line, name the parameters that they need.

    Parameters
    ----------
    thing : part from `labkit.figures.parts`, plotly figure, string, or widget.

    Raises
    ------
    SpecError
        For anything else.
    """
    if hasattr(type(thing), "model_id"):
        display(thing)
        return
    part = parts.as_part(thing)
    study = _own_study()
    if part == parts.NOTHING and study:
        part = needs.omitted(study)
    if isinstance(part, parts.Figure) and study:
        needs.note_one_place(part.plot)
    display(parts.bundle(part), raw=True)


def overlay(figure: Any, *words: str) -> Any:
    """Return a figure with the published numbers of its benchmarks and metric beside the measured ones.

    Parameters
    ----------
    figure : against message size, or with bars; a text or `Omitted` is returned unchanged.
    words : words that the numbers must have, such as ``"kenny2020", "roce"``; none for all numbers that match.

    Raises
    ------
    SpecError
        If no number matches, or the figure is of another kind.
    """
    if isinstance(figure, parts.Omitted | parts.Text):
        return figure
    plot = figure.plot if isinstance(figure, parts.Figure) else figure
    about = figures.subject(plot)
    every = reference.matching(about["benchmarks"], about["metric"], words)
    # a figure does not know the options of its points, so numbers that need some do not go into it
    entries = figures.fitting(plot, [one for one in every if not one.number.arguments])
    if not entries:
        known = sorted({name for one in reference.entries() for name in one.number.benchmarks})
        raise SpecError(
            f"No published number of {', '.join(about['benchmarks'])} in {METRICS[about['metric']].label} "
            f"{'has all of these words' if words else 'fits the figure'}. There are numbers of {', '.join(known)}; "
            "`labkit reference WORDS` searches them."
        )
    return parts.Figure(figures.overlay(plot, entries))


def save(
    shown: Any,
    path: str | Path,
    *,
    paper: str = "",
    width: float = 0.0,
    height: float = 0.0,
    font: str = "",
    size: float = 0.0,
) -> None:
    """Save a figure at the size at which a paper prints it, or a table as the source of a paper.

    It displays what belongs into the caption of a figure.

    Parameters
    ----------
    shown : a figure of `labkit.figures` or of plotly, a part of a study, or a frame.
    path : its folder is made. A figure ends in .pdf, .svg, .tex or .pgf, a table in .tex, .typ or .md.
    paper, width, height, font, size : paper, width, height, font and size of a figure, see
        `labkit.figures.publication.save`.

    Raises
    ------
    SpecError
        If the file name has another ending, the paper is unknown, a size is outside its limits, or a table is empty.
    ReportError
        If a picture cannot be drawn.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    rows = shown if isinstance(shown, parts.Table) else of_frame(shown) if hasattr(shown, "columns") else None
    if isinstance(rows, parts.Omitted):
        raise SpecError(f"The table for {str(path)!r} has no rows. Select rows that the campaign has.")
    if rows:
        atomic.replace(target, tabulated.written(rows, target.suffix))
        display(Markdown(f"Saved `{target}`, {plural(len(rows.rows), 'row')}."))
        return
    drawn = shown.plot if isinstance(shown, parts.Figure) else shown
    notes = publication.save(drawn, target, paper=paper, width=width, height=height, font=font, size=size)
    wide = width or publication.column_of(paper).width
    display(Markdown(f"Saved `{target}`, {wide:g} mm wide." + (f" For the caption: {notes}." if notes else "")))


def table(frame: pd.DataFrame, columns: Sequence[str] | None = None) -> None:
    """Display columns of a frame as a table, with the units in the heads; a sentence if it has no rows.

    Parameters
    ----------
    frame : from a study's `records` or `summary`.
    columns : which, in this order; all when left out.
    """
    show(of_frame(frame, columns))


def sections(study: studies.Study) -> None:
    """Display heading, table and figure for each benchmark with points in a study."""
    for name in study.sections():
        show(f"### {benchmarks.get(name).title} (`{name}`)")
        table(study.table(name))  # type: ignore[attr-defined]
        show(study.figure(name))  # type: ignore[attr-defined]


def of_frame(frame: pd.DataFrame, columns: Sequence[str] | None = None) -> parts.Table | parts.Omitted:
    """Return what `table` displays."""
    if frame.empty:
        return parts.NOTHING
    several = "campaign" in frame and frame["campaign"].nunique() > 1
    shown = list(columns) if columns is not None else list(frame)
    chosen = frame[["campaign", *(name for name in shown if name != "campaign")] if several else shown]
    rows = chosen.to_dict("records")
    large = {name: "GB/s" for name in METRICS if METRICS[name].unit == "MB/s" and _exceeds(chosen, name)}
    short = [_head(column, large) for column in chosen.columns]
    heads = [_long(c, large) if short.count(head) > 1 else head for c, head in zip(chosen.columns, short, strict=True)]
    sides = ["r" if kind.kind in "iuf" else "l" for kind in chosen.dtypes]
    return parts.Table(
        tuple(
            parts.Column(str(c), markdown.quiet(h), side)
            for c, h, side in zip(chosen.columns, heads, sides, strict=True)
        ),
        tuple(zip(*(map(markdown.quiet, _cells(rows, column, large)) for column in chosen.columns), strict=True)),
        tuple(tuple(_plain(row[column]) for column in chosen.columns) for row in rows),
    )


def _plain(value: Any) -> Any:
    """Return a value of a frame as JSON has it: a number, a text, or None for none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


def _long(column: str, large: Mapping[str, str]) -> str:
    """Return the title of a column, with the unit that it is told in."""
    named = split(column)
    unit = large.get(named[0]) if named else None
    return title(column).replace(f"({METRICS[named[0]].unit})", f"({unit})") if named and unit else title(column)


def _exceeds(frame: pd.DataFrame, metric: str) -> bool:
    """Whether a column of a metric in MB/s has a number that is easier to read in GB/s."""
    columns = [name for name in frame if (named := split(name)) and named[0] == metric]
    return any(frame[name].max() > MOST_MB for name in columns)


def _head(column: str, large: Mapping[str, str]) -> str:
    """Return a short head: ``median (µs)`` for latency_us_p50; the caption names the metric, if it is one.

    Parameters
    ----------
    large : metric → unit that it is told in, where that is another than its own.
    """
    if named := split(column):
        metric, statistic = named
        name = "median" if statistic == "p50" else STATISTICS[statistic].label if "_" in statistic else statistic
        return f"{name} ({large.get(metric) or METRICS[metric].unit})"
    return "message size" if column == "message_size_B" else title(column).replace("option ", "")


def _cells(rows: Sequence[Mapping[str, Any]], column: str, large: Mapping[str, str]) -> list[str]:
    """Return the cells of a column: numbers without an interval have the same number of digits."""
    cells = [_cell(row, column, large) for row in rows]
    fractions = any(isinstance(one, float) and math.isfinite(one) and one != round(one) for one in cells)
    return [format_number(one, digits=_DIGITS, zeros=fractions) if isinstance(one, float) else one for one in cells]


def _cell(row: Mapping[str, Any], column: str, large: Mapping[str, str]) -> str | float:
    """Return a cell: a statistic with the digits of its interval, other numbers unchanged, a dash for a gap."""
    value, named = row[column], split(column)
    if column.endswith("_size_B"):
        return format_size(int(value))
    if column == "n" and isinstance(value, int):
        return format_count(value)
    if named and named[1] in ENDS:
        return value_of(row, named[0]).in_unit(large.get(named[0], "")).ends[ENDS.index(named[1])]
    if named and named[1] in SHOWN:
        shown = value_of(row, *named).in_unit(large.get(named[0], ""))
        open_ = not (shown.coarse or shown.high > shown.low or shown.step > 0)
        return shown.value if open_ else shown.text
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return float(value) if isinstance(value, float) else str(value)
