"""Whether the campaigns on show differ at the benchmark of plot A, by a test of their launches (`labkit compare`)."""

from __future__ import annotations

import html
import re
from typing import Any

import ipywidgets as widgets

from labkit.apps.explorer import relation
from labkit.apps.explorer.session import Session
from labkit.errors import LabkitError, SpecError
from labkit.judge.comparison import Compared, Comparison
from labkit.judge.comparison.judging import MOST
from labkit.point.units import format_number, format_range, format_size, plural
from labkit.stats.decision import RELEVANT

TITLE, PLACE, ORDER = "Verdict", "under", 3
_HEAD = ("size", "setting", "side", "ratio", "95 % interval", "p (Holm)", "order", "verdict", "launches needed")


def build(session: Session) -> Any:
    """The panel."""
    style = {"description_width": "initial"}
    base = widgets.Dropdown(description="base", style=style, layout={"width": "260px"})
    by = widgets.Text(relation.CAMPAIGN, description="by", style=style, layout={"width": "180px"})
    allow = widgets.Text(description="allow", placeholder="library, host, …", style=style, layout={"width": "260px"})
    relevant = widgets.FloatText(RELEVANT, description="relevant", step=0.01, style=style, layout={"width": "150px"})
    test = widgets.Button(description="Test launches", tooltip="compare the campaigns on show at plot A's benchmark")
    result = widgets.HTML(layout={"max_height": "420px", "overflow": "auto"})
    about = session.subject

    def offered() -> None:
        before = base.value
        base.options = list(session.campaigns)
        base.value = before if before in session.campaigns else next(iter(session.campaigns), None)

    def cleared() -> None:
        """Take away what was said of other points."""
        nonlocal about
        if about != (about := session.subject):
            result.value = ""

    def tested(button: Any) -> None:
        nonlocal about
        view, about = session.views.get("A"), session.subject
        try:
            words = [word.strip() for word in allow.value.split(",") if word.strip()]
            result.value = _html(
                _compared(session, view.benchmark if view else "", base.value, by.value, words, relevant.value)
            )
        except (LabkitError, OSError) as error:
            result.value = html.escape(_in_page(str(error)))

    test.on_click(tested)
    session.on("campaigns", offered)
    session.on("data", offered)
    session.on("view", cleared)
    offered()
    for widget, name in ((base, "base"), (by, "by"), (allow, "allow"), (relevant, "relevant"), (test, "test")):
        widget.add_class(f"lab-verdict-{name}")
    row = widgets.HBox([base, by, allow, relevant, test], layout={"flex_flow": "row wrap"})
    return widgets.VBox([row, result.add_class("lab-verdict-result")])


def _compared(
    session: Session, benchmark: str, base: str | None, by: str, allow: list[str], relevant: float
) -> Comparison:
    """Compare the campaigns on show, or the levels of a factor in them; the base comes first."""
    if not 0 < relevant < 1:
        raise SpecError(f"relevant={relevant:g}, but it must be a number between 0 and 1. Set 0.02.")
    if not benchmark or base is None:
        raise SpecError("Plot A shows no benchmark. Select a campaign and a benchmark above.")
    return relation.compared(session.campaigns, benchmark, base, by=by, allow=allow, relevant=relevant)


def _html(outcome: Comparison) -> str:
    """Return the result as a table with a sentence above and warnings below."""
    head = "".join(f"<th style='text-align: left; padding-right: 12px'>{name}</th>" for name in _HEAD)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in _cells(one))}</tr>" for one in outcome.rows
    )
    notes = [f"differs: {one}" for one in outcome.differences] + list(outcome.warnings)
    if outcome.unmatched:
        notes.append(f"{plural(len(outcome.unmatched), 'point')} not on all sides, such as {outcome.unmatched[0][0]}")
    items = "".join(f"<li>{html.escape(_in_page(text))}</li>" for text in notes)
    sentence = f"<p>{html.escape(outcome.sentence)}</p>"
    return f"{sentence}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><ul>{items}</ul>"


def _in_page(text: str) -> str:
    """A sentence about a comparison with the names of the page's fields, for those of the command's flags."""
    return re.sub(r"--(by|allow|relevant)\b", r"\1", text).replace(" (--benchmark, --where)", "")


def _cells(one: Compared) -> list[str]:
    """Return the cells of a row."""
    judged, needed = one.judgement, one.judgement.launches_needed
    return [
        format_size(one.size),
        ", ".join(f"{name}={level}" for name, level in one.setting.items()),
        one.side,
        judged.times,
        format_range(judged.ratio_low, judged.ratio_high),
        format_number(judged.p_adjusted, digits=2),
        judged.design,
        judged.verdict,
        f"> {MOST}" if needed is None else str(needed or "–"),
    ]
