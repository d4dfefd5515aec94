"""Launches with incomplete metadata or host description."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding, Several
from labkit.judge.rule import Rule
from labkit.judge.rules._metadata import launches_with
from labkit.judge.view import View
from labkit.store.samples import Samples
from labkit.store.samples.facts import MEASURED, wrong

_HOST = ("cpu_model", "kernel", "distribution", "memory_total_B")  # a host is not described without these
_MISSING = " is missing"  # how the check of metadata ends


def check(view: View) -> Iterator[Finding]:
    """Yield launches measured by labkit with incomplete metadata or host description."""
    for row, missing in launches_with(view, _lacking):
        yield RULE.found(view.subject(row, launch=True), missing=missing)


def _lacking(one: Samples) -> Several | None:
    """Return what the metadata of a launch of labkit's own and the description of its host lack; None for nothing."""
    if one.origin not in MEASURED:
        return None
    fields = [text.removesuffix(_MISSING) for text in wrong(one.meta, one.origin) if text.endswith(_MISSING)]
    fields += [f"{key} of the host" for key in _HOST if not one.host.get(key)]
    return Several.of(fields, "field") if fields else None


RULE = Rule(
    code="undocumented",
    kind="violation",
    level="bad",
    source=9,
    must="metadata and host are complete",
    why="nobody can repeat a measurement on a machine that is not described",
    says="missing: {missing}",
    remedy="Measure again with this labkit.",
    check=check,
)
