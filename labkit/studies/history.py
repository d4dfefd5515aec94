"""How did each point change over several campaigns, and what of the system changed there?"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from labkit import studies
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.figures.timeline import timeline
from labkit.judge import history as analysis
from labkit.judge.history import Change, History, Run, Series
from labkit.point import ranges
from labkit.point.columns import METRICS
from labkit.point.notes import joined
from labkit.point.spec import Spec
from labkit.point.units import format_number, format_share
from labkit.read import columnar
from labkit.store.campaign import Campaign, collected
from labkit.studies import words
from labkit.studies._derived import derived

_DRAWN = 4  # series in the figure
_SAID = 10  # changes in the findings
COLUMNS = ["series", "from", "before", "after", "change", "p", "certainty", "what changed"]


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on histories.

    Parameters
    ----------
    past : campaigns, or folders that contain campaigns, separated by commas.
    benchmark : a benchmark, or a pattern such as ``mpi.*``.
    false_alarms : chance of a false change over all series.
    weaker : also show candidates with a p up to this in their series alone, such as 0.3; 0 shows none.
    """

    past: str = ""
    benchmark: str = "*"
    false_alarms: float = analysis.CHANCE
    weaker: float = 0.0


class Study(studies.Study):
    """Each point over several campaigns, by date."""

    parameters: ClassVar = Parameters
    only_reads: ClassVar = True
    values: Parameters

    def specs(self) -> list[Spec]:
        """Nothing: a history is read."""
        ranges.check("false_alarms", self.values.false_alarms)
        return []

    @derived(lambda study: (study.campaign.path, study.values))
    def history(self) -> History:
        """The history of the campaigns that the parameters name, and of the one of the run."""
        campaigns = {one.identity: one for one in [*collected(words(self.values.past)), self.campaign]}
        return analysis.history(
            [run_of(one, self.values.benchmark) for one in campaigns.values()],
            chance=self.values.false_alarms,
            weaker=self.values.weaker,
        )

    def figure(self) -> Figure | Omitted:
        """The series with the surest changes over time; without a change, those that vary most."""
        series = [one for one in self.history.series if len(one.moments) > 1]
        return Figure(timeline(self.history, _clearest(series))) if series else NOTHING

    def table(self) -> pd.DataFrame:
        """A row for each change: before and after, how sure, and what of the system changed."""
        return changes_table(self.history)

    def system(self) -> pd.DataFrame:
        """A row for each campaign before which something of the system changed."""
        rows = [
            (run.name, run.created[:10], joined(texts))
            for run, texts in zip(self.history.runs[1:], self.history.system, strict=True)
            if texts
        ]
        return pd.DataFrame(rows, columns=["campaign", "date", "what changed before it"])

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        past = self.history
        if not past.series:
            return NOTHING
        said = [analysis.told(one, change, past.chance) for one, change in _every(past)[:_SAID]]
        return listed([past.sentence, *said])


def run_of(campaign: Campaign, benchmark: str = "*") -> Run:
    """Return a campaign as a moment of a history."""
    facts = campaign.facts
    host = facts.get("host")
    records = columnar.read_campaigns(campaign, benchmark=benchmark).records
    if len(records):
        records = records[[fnmatch.fnmatchcase(name, benchmark) for name in records["benchmark"]]]
    return Run(campaign.name, str(facts.get("created") or ""), records, host if isinstance(host, dict) else {})


def changes_table(past: History) -> pd.DataFrame:
    """Return a row for each change of a history, the sure ones first."""
    rows = []
    for one, change in _every(past):
        unit, moment = METRICS[one.metric].unit, one.moments[change.place]
        rows.append(
            (
                one.name,
                f"{moment.name}, {moment.created[:10]}{_back(one, change)}",
                format_number(change.before, unit, digits=3),
                format_number(change.after, unit, digits=3),
                format_share(change.ratio - 1, sign=True),
                format_number(change.p if change.p > past.chance else change.p_adjusted, digits=2),
                change.degree(past.chance),
                joined(change.system) or "nothing recorded",
            )
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _every(past: History) -> list[tuple[Series, Change]]:
    """Return the sure changes, the possible ones, and the candidates."""
    return [*past.changed, *past.possible, *past.candidates]


def _back(one: Series, change: Change) -> str:
    """Return until when the level stayed; empty if it stays."""
    return f", until {one.moments[change.back - 1].name}" if change.back is not None else ""


def _clearest(series: list[Series]) -> list[Series]:
    """Return the series to draw: series with changes first, then series with the widest range of values."""

    def reach(one: Series) -> float:
        values = [moment.value for moment in one.moments]
        return max(values) / min(values) if min(values) > 0 else 0.0

    changed = [one for one in series if one.changes or one.candidates]
    return (changed or sorted(series, key=reach, reverse=True))[:_DRAWN]
