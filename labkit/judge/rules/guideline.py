"""Collectives that are slower than others that do their work, or than larger messages of their own."""

from __future__ import annotations

from collections.abc import Iterator

from labkit import stats
from labkit.errors import DataError
from labkit.judge import guidelines
from labkit.judge.finding import TIMES, Count, Decided, Evidence, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View

_DECIDED = Decided(how="tested", test="Mann and Whitney", correction="Holm", error=1 - stats.LEVEL)


def check(view: View) -> Iterator[Finding]:
    """Yield the guidelines that are violated, if the launches show it."""
    try:
        compared = guidelines.check(view.summary)
    except DataError:  # no collectives
        return
    checked = Evidence(code="checked", values={"comparisons": Count(compared.checked, "comparison")})
    for row in compared.table[compared.table["certain"]].to_dict("records"):
        point = view.row(row["fingerprint"])
        if point is None:
            continue
        left, right = (Value(value=row[f"{side}_us"], unit="µs", of=side) for side in ("left", "right"))
        yield RULE.found(
            view.subject(point),
            cost=row["ratio"],
            decided=_DECIDED,
            evidence=(checked,),
            guideline=row["guideline"],
            measured=left,
            other=right,
            what=row["right"],
            times=Value(value=row["ratio"], unit=TIMES),
        )


RULE = Rule(
    code="guideline",
    kind="violation",
    level="doubtful",
    about="guidelines",
    must="no collective is slower than others that do its work, nor than its own larger messages",
    why="the library has a better algorithm than the one that it chose (Träff, Gropp, Thakur 2010)",
    says="{measured} against {other} of {what}: {times:3} ({guideline})",
    clues={"checked": "the launches show it; {comparisons} were made"},
    remedy="Use the other algorithm, or choose one with the library's parameters; labkit tune tries them.",
    imported="Name the algorithm that the library chose.",
    check=check,
)
