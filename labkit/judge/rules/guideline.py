"""Collectives that are slower than others that do the same work, or than their own larger messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from labkit import stats
from labkit.errors import DataError
from labkit.judge import guidelines
from labkit.judge.finding import TIMES, Count, Decided, Evidence, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View

_DECIDED = Decided(how="tested", test="Mann and Whitney", correction="Holm", error=1 - stats.LEVEL)
_COLUMNS = ("guideline", "message_size_B", "ranks", "left_us", "right_us", "ratio", "certain", "doubt", "right")


@dataclass(frozen=True)
class Judged:
    """The guidelines in a campaign.

    Parameters
    ----------
    violations : by the medians over launches, the worst first; `supported` if the launches show them.
    checked : number of comparisons.
    unchecked : guideline → why it could not be compared at any size.
    """

    violations: tuple[Finding, ...]
    checked: int
    unchecked: Mapping[str, str]


def judged(view: View, *, able: bool = False) -> Judged:
    """Return the violations of guidelines, including those that the launches do not show.

    Parameters
    ----------
    able : as in `labkit.judge.guidelines.compare`.

    Raises
    ------
    DataError
        If the campaign has no latency of a collective.
    """
    compared = guidelines.compare(view.summary, able=able)
    checked = Evidence(code="checked", values={"comparisons": Count(compared.checked, "comparison")})
    found = []
    for one in compared.violations:
        point = view.row(one.fingerprint)
        if point is None:
            continue
        found.append(
            RULE.found(
                view.subject(point),
                cost=one.ratio,
                decided=_DECIDED,
                evidence=(checked,),
                against=(Evidence(code="doubt", values={"why": one.doubt}),) if one.doubt else (),
                guideline=one.guideline,
                measured=Value(value=one.left, unit="µs", of="left"),
                other=Value(value=one.right, unit="µs", of="right"),
                what=one.instead,
                times=Value(value=one.ratio, unit=TIMES),
            )
        )
    return Judged(tuple(found), compared.checked, compared.unchecked)


def table(view: View, violations: Sequence[Finding]) -> pd.DataFrame:
    """Return violations as a table.

    Returns
    -------
    A row each: guideline, message_size_B, ranks, left_us, right_us, ratio (left over right), certain (the launches show
    it), doubt (why they do not; empty if they do), right (what was compared, with sizes).
    """
    rows = []
    for one in violations:
        point = view.row(one.subject.points[0])
        assert point is not None, one.subject
        numbers = (one.number(name) for name in ("measured", "other", "times"))
        shown = (one.supported, "".join(f"{each.values['why']}" for each in one.against), one.values["what"])
        rows.append((one.values["guideline"], point["message_size_B"], point["ranks"], *numbers, *shown))
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def check(view: View) -> Iterator[Finding]:
    """Yield the guidelines that are violated, if the launches show it."""
    try:
        found = judged(view, able=True)
    except DataError:  # no collectives
        return
    yield from (one for one in found.violations if one.supported)


RULE = Rule(
    code="guideline",
    kind="violation",
    level="doubtful",
    about="guidelines",
    must="no collective is slower than others that do its work, nor than its own larger messages",
    why="the library has a better algorithm than the one that it chose (Träff, Gropp, Thakur 2010)",
    says="{measured} against {other} of {what}: {times:3} ({guideline})",
    clues={"checked": "the launches show it; {comparisons} were made", "doubt": "{why}"},
    remedy="Use the other algorithm, or choose one with the library's parameters; labkit tune tries them.",
    imported="Name the algorithm that the library chose.",
    check=check,
)
