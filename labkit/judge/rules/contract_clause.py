"""Clauses of an acceptance contract, which `labkit.judge.contract` judges."""

from __future__ import annotations

from labkit.judge.rule import Rule

RULE = Rule(
    code="contract-clause",
    kind="verdict",
    level="bad",
    about="contract",
    must="enough points fulfil each clause of the contract, and the hosts and pairs that it demands were measured",
    why="supplier and customer agreed on it",
    says={
        "points": "fulfilled at {fulfilled:number} of {points}; worst: {evidence}",
        "hosts": "{coverage}",
        "both": "{coverage}; fulfilled at {fulfilled:number} of {points}; worst: {evidence}",
        "no-point": "{evidence}, so nothing shows that the clause is fulfilled",
    },
    remedy="What a clause lacks is measured by the commands that labkit gate --contract FILE --plan prints.",
    clues={
        "value": "{point}: {value}, launches: {launches}",
        "interval": "{point}: {value} (end of the interval), launches: {launches}",
        "clock": "{point}: {value} (clock resolution), launches: {launches}",
        "no-value": "{point}: no {statistic}, launches: {launches}",
        "launches": "{point}, launches: {launches}",
        "no-column": "no point has {key}",
        "no-point": "it selects no point of the campaign",
    },
)
