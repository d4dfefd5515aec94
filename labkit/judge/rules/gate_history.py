"""Limits of the verdicts of `labkit.judge.gate`, and earlier campaigns that are not its reference."""

from __future__ import annotations

from labkit.judge.rule import Rule

RULE = Rule(
    code="gate-history",
    kind="observation",
    level="unknown",
    about="gate",
    must="enough earlier campaigns show how much each point varies",
    why="with too few of them a point that became worse is not noticed, or a good one fails",
    says={
        "few-campaigns": "fewer than {needed:number} earlier campaigns for {comparisons}: differences between days "
        "look like slower points. Add campaigns to the history.",
        "blind": "blind, so that a point {worse} worse is not noticed: {blind:number} of {comparisons}. Add campaigns "
        "to the history, judge fewer benchmarks, or add --worse 25%.",
        "undecided": "undecided: {undecided}, whose median is beyond the limit, but too few launches are. Measure "
        "again, with more launches: -p launches=12.",
        "not-measured": "{campaign} lacks {points} of the history, which cannot fail.",
        "none": "no point has enough history for a verdict. Add campaigns or launches.",
        "rejected": "not in the reference, because they were worse than the campaigns before: {campaigns}. If one of "
        "them is the new normal, add --accept to its gate.",
        "waiting": "not yet in the reference: {campaigns}. A campaign enters once {needed:number} later ones passed.",
    },
)
