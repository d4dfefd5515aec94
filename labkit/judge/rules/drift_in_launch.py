"""Launches whose iterations become steadily slower or faster."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import SHARE, Count, Decided, Evidence, Finding, Value, Values
from labkit.judge.iterations import BLOCKS, CHANCE
from labkit.judge.rule import ITERATIONS, Rule
from labkit.judge.rules._iterations import SEEN, in_most, seen_in
from labkit.judge.view import View
from labkit.read.records import in_effect


def check(view: View) -> Iterator[Finding]:
    """Yield points whose median time rises or falls steadily in more than half of the launches."""
    found = [*in_most(view, view.iterations.drifts)]
    samples = view.first_launches([str(row["fingerprint"]) for row, _, _ in found])
    for row, some, launches in found:
        drift = some[0][1]
        pinned = in_effect.pinned_frequency(samples[str(row["fingerprint"])].host)
        values: Values = {"blocks": str(BLOCKS), "iterations": Count(drift.count, "iteration")}
        yield RULE.found(
            view.subject(row),
            form="pinned" if pinned else "",
            decided=Decided(how="tested", test="Kendall", error=CHANCE),
            evidence=(Evidence(code="blocks", values=values), *seen_in(len(some), launches)),
            command="labkit doctor",
            change=Value(value=drift.change, unit=SHARE, launches=1),
        )


_SAYS = "from the first tenth of the iterations to the last, the median time changes by {change:+}, steadily"
RULE = Rule(
    code="drift-in-launch",
    kind="observation",
    level="note",
    about=ITERATIONS,
    must="the iterations of a launch take the same time from beginning to end",
    why="the median of a drifting launch depends on its length",
    says={
        "": f"{_SAYS}: governor, frequency, temperature or memory, or other load",
        "pinned": f"{_SAYS}: temperature, memory or other load",
    },
    clues={"blocks": "{blocks} blocks of {iterations} are in order", **SEEN},
    remedy="Look for what changes during a launch: frequency, temperature, other load.",
    check=check,
)
