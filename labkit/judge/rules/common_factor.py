"""Changes that all points of a transport share in a night, as `labkit.judge.gate` removes them."""

from __future__ import annotations

from labkit.judge.rule import Rule

RULE = Rule(
    code="common-factor",
    kind="observation",
    level="note",
    about="gate",
    must="each point is judged without the change that all points of its transport share",
    why="a night in which the machine as a whole is slower would fail every point",
    says={
        "removed": "a common factor of {change:+}, from {points}, is removed from each of them",
        "few-points": "no common factor is removed, because {points:number} of them are too few (of {needed:number})",
        "few-campaigns": "no common factor is removed, because {campaigns} of the past are too few "
        "(of {needed:number})",
    },
)
