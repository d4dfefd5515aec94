"""Points that became worse than the launches of earlier campaigns explain, as `labkit.judge.gate` finds them."""

from __future__ import annotations

from labkit.judge.rule import Rule

RULE = Rule(
    code="worse-than-past",
    kind="change",
    level="bad",
    about="gate",
    must="no point is worse than its launches of earlier campaigns explain",
    why="a change of the system or of the software made it slower",
    says="{evidence}",
    remedy="Look at what differs from the past; if the campaign is the new normal, labkit gate --accept says so.",
    clues={
        "past-has": "the past has {past}",
        "short": "{past}, but {launches:number} new ones need {needed} of the past",
        "change": "{new} ({change:+} from {usual})",
        "limit": "limit {limit}: {beyond:number} of {launches} beyond it, {fail:number} fail",
        "undecided": "{beyond:number} of {launches} beyond the limit of {limit}, {fail:number} needed: undecided",
        "limit-alone": "limit {limit}",
        "worse": "{over:number} of {launches} worse by {worse} or more, and so is the median: fails",
        "not-worse": "{over:number} of {launches} worse by {worse} or more, but the median is not",
        "drift": "the last {campaigns} are together {change:+} worse than {past}, {allowed:+} fails",
        "common": "all points together: {change:+} worse, which the limit allows",
        "smallest": "smallest change that fails: {smallest:+}",
        "far": "smallest change that fails: more than {times}",
        "past": "{past}",
        "unlike": "unlike the past: {what}",
    },
)
