"""Versions of labkit that others cannot get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from labkit.judge.finding import Count, Finding, Subject
from labkit.judge.rule import Rule
from labkit.judge.rules._metadata import launches_with
from labkit.judge.view import View
from labkit.store.samples import Samples


def check(view: View) -> Iterator[Finding]:
    """Yield versions of labkit with changes that were not committed."""
    for commit, launches in Counter(commit for _, commit in launches_with(view, _commit)).items():
        yield RULE.found(Subject(), commit=commit, launches=Count(launches, "launch"))


def _commit(one: Samples) -> str | None:
    """Return the commit of the labkit that measured a launch, if it had changes."""
    versions = one.host.get("versions")
    commit = str(versions.get("commit") or "") if isinstance(versions, Mapping) else ""
    return commit if commit.endswith("-dirty") else None


RULE = Rule(
    code="uncommitted",
    kind="violation",
    level="doubtful",
    source=9,
    must="others can get the version of labkit that measured",
    why="nobody can repeat a measurement with code that was never published",
    says="labkit {commit} measured {launches}",
    remedy="Commit the changes and measure again, or publish them.",
    check=check,
)
