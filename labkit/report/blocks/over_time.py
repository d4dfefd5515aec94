"""Show several campaigns over time in the report: changes, with simultaneous changes of the system."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from labkit.errors import LabkitWarning
from labkit.figures.static import svgs
from labkit.figures.timeline import timeline
from labkit.judge import history as analysis
from labkit.judge.history import History, Run
from labkit.report import markdown
from labkit.report.campaigns import all_members
from labkit.report.content import Content
from labkit.report.figures import Picture
from labkit.report.markdown import escape
from labkit.studies.history import changes_table

MIN_CAMPAIGNS = 3  # campaigns that a reader wants to see over time; of two, a comparison says more
_DRAWN = 4  # series in the figure
_ROWS = 20


def history_of(content: Content) -> History | None:
    """Return the history of the campaigns of a report; None for fewer than three, or without a common point."""
    runs = [Run(m.name, str(m.facts.get("created") or ""), m.records, m.host) for m in all_members(content)]
    if len({run.created for run in runs}) < MIN_CAMPAIGNS:
        return None
    past = analysis.history(runs)
    return past if any(len(one.moments) >= MIN_CAMPAIGNS for one in past.series) else None


def picture(past: History) -> tuple[dict[str, Any], str]:
    """Return the figure of the clearest series, and its svg, which is empty if it cannot be drawn."""
    drawn = timeline(past, past.series[:_DRAWN]).to_plotly_json()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabkitWarning)  # figures of the chapters warn already
        return drawn, svgs([drawn])[0] or ""


def section(content: Content) -> str:
    """Return the section on the campaigns over time, and add its picture; empty without a history."""
    past = history_of(content)
    if past is None:
        return ""
    parts = ["## Over time {.unnumbered}", escape(past.sentence)]
    spec, svg = picture(past)
    if svg:
        words = "Points over the campaigns: those with the surest changes first."
        parts.append(markdown.here(content.show(Picture("history", "fig-over-time", words, spec, svg))))
    table = changes_table(past)
    if len(table):
        rows = [[escape(str(cell)) for cell in row] for row in table.head(_ROWS).itertuples(index=False)]
        caption = "Changes over the campaigns, and simultaneous changes of the system. {#tbl-over-time}"
        parts.append(markdown.table(list(table.columns), rows, caption=caption))
    parts.append(_system(past))
    return "\n\n".join(filter(None, parts))


def _system(past: History) -> str:
    """Return what of the system changed between campaigns, a line each."""
    lines: Sequence[str] = [
        f"before {escape(run.name)} ({run.created[:10]}): {escape('; '.join(texts))}"
        for run, texts in zip(past.runs[1:], past.system, strict=True)
        if texts
    ]
    return f"Changes of the system:\n\n{markdown.bullets(lines)}" if lines else ""


BLOCKS = {"over-time": section}
