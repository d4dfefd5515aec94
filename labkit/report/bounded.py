"""Say how near a topic's numbers come to what their paths allow, for the first page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from labkit.models import costs, verdict
from labkit.models.verdict import Judged
from labkit.point.units import plural
from labkit.report.campaigns import Member
from labkit.report.content import Content
from labkit.report.findings import listed
from labkit.report.markdown import escape
from labkit.report.sources import Source

if TYPE_CHECKING:
    import pandas as pd

_ORDER = ("above its bound", "bad", "doubtful", "good")  # what a reader must see first
_WORDS = {"above its bound": "above it"}


def judged(content: Content, source: Source, member: Member, rows: pd.DataFrame | None = None) -> list[Judged]:
    """Return the verdicts on a campaign; worked out once.

    Parameters
    ----------
    rows : of its summary, which are judged; all if left out.
    """
    chosen = member.summary if rows is None else rows

    def made() -> list[Judged]:
        if not len(chosen):
            return []
        return verdict.judge(source.launches, chosen, None, costs.measured_costs(member.summary))

    name = f"judged {source.path} {member.name} {sorted(chosen['fingerprint']) if len(chosen) else ''}"
    if name not in content.made:
        content.made[name] = made()
    result: list[Judged] = content.made[name]
    return result


def of_topic(some: Sequence[Judged], benchmarks: Collection[str]) -> str:
    """Say how many settings of a topic are good, and name the worst; the floor of a latency where there is no rate.

    Returns
    -------
    Markdown; empty where nothing has a bound.
    """
    mine = [one for one in some if one.benchmark in benchmarks and one.bound]
    defects = verdict.defects(mine)
    rates = [one for one in mine if one.verdict in _ORDER]
    if rates:
        worst = min(rates, key=lambda one: (_ORDER.index(one.verdict), one.share))
        lowest = "The lowest: " if len(rates) > 1 else ""
        return f"{_counted(rates)}{lowest}{escape(verdict.sentence(worst))}"
    floors = defects or [one for one in mine if one.verdict == "above its floor"]
    return escape(verdict.sentence(max(floors, key=lambda one: one.share))) if floors else ""


def overall(some: Sequence[Judged]) -> str:
    """Say of the whole campaign how many settings are good, doubtful and bad beside their bounds."""
    rates = [one for one in some if one.verdict in _ORDER]
    defects = verdict.defects(some)
    text = _counted(rates) if len(rates) > 1 else ""
    text += f"{plural(len(defects), 'value')} beyond what the path allows: a defect. " if defects else ""
    return text.strip()


def _counted(rates: Sequence[Judged]) -> str:
    """Say how many settings have each verdict; nothing of a single one."""
    if len(rates) < 2:
        return ""
    counts = Counter[str](one.verdict for one in rates)
    words = [f"{counts[name]} {_WORDS.get(name, name)}" for name in reversed(_ORDER) if counts[name]]
    return f"{len(rates)} bandwidths have a bound: {listed(words)}. "
