"""The verdicts of the gate on the campaign of the report."""

from __future__ import annotations

from labkit.judge import sentences
from labkit.point.units import format_share, plural
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import escape

_MOST = 20  # rows of the table
_HEAD = ("verdict", "benchmark", "point", "new", "usual", "change", "launches beyond the limit")


def verdicts(content: Content) -> str:
    """Return the verdict on the night with the points that became worse; empty without a gate."""
    result = content.gate
    if result is None:
        return ""
    kind, title = "note", "The gate passed"
    if result.failed:
        kind, title = "important", "The gate failed"
    elif result.inconclusive:
        kind, title = "warning", "The gate could not decide"
    told = [sentences.gated(result), *(sentences.whole(one.finding) for one in result.common if one.removed)]
    told += [*sentences.unlike(result), *map(sentences.whole, result.outside), *map(sentences.sentence, result.doubts)]
    box = markdown.callout(kind, title, markdown.bullets(map(escape, told)))
    rows = [
        [
            verdict.form,
            escape(one.benchmark),
            escape(one.name),
            *(escape(f"{value}") for value in one.new_and_usual),
            format_share(one.change, sign=True, none="–"),
            one.decisive[1] or "–",
        ]
        for verdict, one in result.compared
        if verdict.form in ("fail", "undecided")
    ]
    if not rows:
        return box
    more = len(rows) - _MOST
    caption = "Points that became worse." + (f" {plural(more, 'more point')} left out." if more > 0 else "")
    return f"{box}\n\n{markdown.table(_HEAD, rows[:_MOST], align='lllrrrr', caption=f'{caption} {{#tbl-gate}}')}"


BLOCKS = {"gate": verdicts}
