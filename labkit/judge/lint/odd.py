"""Rules that ask for a comment on each odd result that `labkit.judge.plausibility` finds."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.lint.evidence import Breach, Evidence, Rule


def odd_result(evidence: Evidence) -> Iterator[Breach]:
    """Yield results that contradict what must be expected, with a possible reason or none."""
    for one in evidence.odd:
        if one.confidence != "undecided":
            why = f"possible: {one.explanations[0]}" if one.explained else "unexplained"
            yield Breach(one.benchmark, one.setting, f"{one.what} ({one.rule}, {one.confidence}); {why}")


def undecided(evidence: Evidence) -> Iterator[Breach]:
    """Yield results of single launches that may contradict what must be expected."""
    for one in evidence.odd:
        if one.confidence == "undecided":
            yield Breach(one.benchmark, one.setting, f"{one.what} ({one.rule})")


ODD = (
    Rule(
        "odd-result",
        "warning",
        0,
        "a result agrees with what must be expected, or its text comments on it",
        "Run the command that labkit lint names for it; if it stays, explain it, or call it unexplained.",
        odd_result,
    ),
    Rule(
        "odd-undecided",
        "note",
        0,
        "a surprising value stands on enough launches to decide",
        "Run the command that labkit lint names for it.",
        undecided,
    ),
)
