"""Find odd results: rules of plausibility over the records of a campaign, each finding with its evidence.

A rule is one entry of `RULES` and says what must be expected of a network: more bytes take more time, no link is
faster than its rate, a tail lies above its median. What contradicts it is an `Oddity`: the values, how sure the
contradiction is, what in the data may explain it, and the command that decides it. No rule fires on the spread of
iterations: the launches decide (`labkit.judge.plausibility.deciding`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from labkit.io.markdown import table
from labkit.judge.plausibility import orders, single
from labkit.judge.plausibility.explaining import explained
from labkit.judge.plausibility.oddity import CONFIDENCES, Confidence, Explanation, Oddity, Reading, ordered
from labkit.judge.plausibility.view import View
from labkit.point.notes import joined
from labkit.point.units import format_number

__all__ = [
    "CONFIDENCES",
    "RULES",
    "Confidence",
    "Explanation",
    "Oddity",
    "Reading",
    "Rule",
    "View",
    "check",
    "counts",
    "described",
    "numbers",
    "sentence",
]


@dataclass(frozen=True)
class Rule:
    """Something that a plausible result fulfils.

    Parameters
    ----------
    code : name for programs.
    expected : what must be, as a sentence.
    why : the reason for it.
    check : yields what contradicts it.
    """

    code: str
    expected: str
    why: str
    check: Callable[[View], Iterator[Oddity]]


RULES: tuple[Rule, ...] = (
    Rule(
        "size-order",
        "the time of a message, and its bytes per time, do not fall with its size",
        "a larger message contains the work of a smaller one",
        orders.size_order,
    ),
    Rule(
        "size-jump",
        f"a time is below {orders.JUMP:g} times the line through the neighbouring sizes",
        "protocols of MPI libraries change times by less",
        orders.size_jump,
    ),
    Rule(
        "rank-order",
        "a collective is not faster with more ranks",
        "more ranks take part in the same work",
        orders.rank_order,
    ),
    Rule("loss-order", "nothing is faster on a link that loses more", "lost packets are sent again", orders.loss_order),
    Rule("delay-order", "nothing is faster on a link with more delay", "each message waits longer", orders.delay_order),
    Rule("rate-order", "nothing is slower on a link with a higher rate", "each bit takes less time", orders.rate_order),
    Rule(
        "above-link",
        "no flow is faster than the rate of its link",
        "every byte crosses the link",
        single.above_link,
    ),
    Rule(
        "tail-order",
        "p50, p95, p99 and p99.9 are in this order",
        "a percentile contains those below it",
        single.tail_order,
    ),
    Rule(
        "lossless",
        "an adapter retransmits nothing on a link that loses nothing",
        "no packet is missing",
        single.lossless,
    ),
    Rule(
        "slow-launch",
        "no launch is far from all others if these agree",
        "launches repeat the same work",
        single.slow_launch,
    ),
    Rule("two-modes", "iterations lie around one time", "iterations repeat the same work", single.two_modes),
)


def check(view: View, rules: Sequence[Rule] = RULES) -> tuple[Oddity, ...]:
    """Return the odd results of a campaign, the surest first.

    Parameters
    ----------
    view : what the rules see.
    rules : which (default: all).
    """
    if not len(view.summary):
        return ()
    return ordered(explained(view, [one for rule in rules for one in rule.check(view)]))


def counts(oddities: Sequence[Oddity]) -> str:
    """Return how many results are odd, unexplained and undecided, in a sentence; empty for none."""
    sure = [one for one in oddities if one.confidence != "undecided"]
    open_ones, unexplained = len(oddities) - len(sure), sum(not one.explained for one in sure)
    parts = []
    if sure:
        verb = "result contradicts" if len(sure) == 1 else "results contradict"
        rest = (
            f"{unexplained or 'none'} of them unexplained"
            if len(sure) > 1
            else ["explained", "unexplained"][unexplained]
        )
        parts.append(f"{len(sure)} {verb} what must be expected, {rest}")
    if open_ones:
        parts.append(f"{open_ones} may do so, but a single launch cannot decide it")
    return joined(parts) + "." if parts else ""


def sentence(one: Oddity) -> str:
    """Return an odd result in words, with its numbers, its confidence and its possible reasons.

    Examples
    --------
    >>> nan = float("nan")
    >>> slow = Reading("launch 2", 9.0, nan, nan, "µs", 1)
    >>> sentence(Oddity("slow-launch", "mpi.latency", "8 B", "launch 2 is slower", (slow,), 3.0, "observed"))
    'mpi.latency, 8 B: launch 2 is slower (launch 2: 9 µs); 3 times. Observed; unexplained.'
    """
    head = ", ".join(filter(None, (one.benchmark, one.setting)))
    times = "" if math.isnan(one.times) else f"; {format_number(one.times, digits=2)} times"
    notes = joined(one.evidence)
    notes = f" {notes[:1].upper()}{notes[1:]}." if notes else ""
    why = f"possible: {'; '.join(map(str, one.explanations))}" if one.explained else "unexplained"
    return f"{head}: {one.what} ({numbers(one)}){times}.{notes} {one.confidence.capitalize()}; {why}."


def numbers(one: Oddity) -> str:
    """Return the values that an odd result rests on."""
    return ", ".join(map(_reading, one.readings))


def _reading(one: Reading) -> str:
    ends = (
        "" if math.isnan(one.low) else f" [{format_number(one.low, digits=3)} to {format_number(one.high, digits=3)}]"
    )
    return f"{one.where}: {format_number(one.value, one.unit, digits=3)}{ends}"


def described() -> str:
    """Return all rules and degrees of confidence as the tables of `docs/statistics.md`, in Markdown."""
    rules = [(f"`{rule.code}`", rule.expected, rule.why) for rule in RULES]
    sure = [(name, meaning) for name, meaning in CONFIDENCES.items()]
    return "\n\n".join([table(["rule", "what is expected", "because"], rules), table(["confidence", "means"], sure)])
