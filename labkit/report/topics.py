"""What a chapter is about: the benchmarks of its study, and the points that its parameters ask for.

Chapters of one campaign may share benchmarks. Each speaks of its own points only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from labkit import studies
from labkit.errors import LabkitError
from labkit.report import statements
from labkit.report.campaigns import Member
from labkit.report.notebook import Chapter
from labkit.report.statements import Statement
from labkit.store.samples.facts import FINGERPRINT
from labkit.studies import Study

if TYPE_CHECKING:
    import pandas as pd


def finding(chapter: Chapter, member: Member) -> Statement | None:
    """Return what a chapter found; None where its notebook has no study, or nothing of it was measured."""
    study = _study(chapter)
    return _finding(member, chapter.path.stem, tuple(study.benchmarks), tuple(study.focus)) if study else None


@lru_cache(256)  # each part of a report asks for them
def own(member: Member, notebook: str) -> pd.DataFrame:
    """Return the rows of a campaign that a notebook shows; all rows where the campaign does not name its parameters."""
    study = _named(member).get(notebook)
    if study is None:
        return member.summary
    shown = {FINGERPRINT.of(one.meta) for one in member.points if study.asks_for(one)}
    return member.summary[member.summary["fingerprint"].isin(shown)]


def _study(chapter: Chapter) -> type[Study] | None:
    """Return the study of a chapter; None where its notebook has none."""
    try:
        return studies.of_notebook(chapter.path.name)
    except LabkitError:
        return None


@lru_cache(8)
def _named(member: Member) -> Mapping[str, Study]:
    """Return the study of each notebook that a campaign names."""
    return studies.of_campaign(member.facts, member.path)


@lru_cache(1024)  # the abstract, the verdicts and the conclusion ask for the same
def _finding(
    member: Member, notebook: str, benchmarks: tuple[str, ...], focus: tuple[tuple[str, str], ...]
) -> Statement | None:
    rows = own(member, notebook)
    sound = rows[~rows["fingerprint"].isin(member.doubted)] if len(rows) else rows
    return statements.of_topic(sound, benchmarks, focus, member.points)
