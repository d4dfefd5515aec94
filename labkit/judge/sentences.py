"""Make the sentences about findings from their codes and values. No other module does this."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labkit.judge import causes, rules
from labkit.judge.finding import LEVELS, Evidence, Finding, Value, likeliest
from labkit.judge.guidelines import LARGER
from labkit.point.columns import of_rate
from labkit.point.notes import joined
from labkit.point.units import format_share, plural

if TYPE_CHECKING:
    from labkit.judge.answer import Step
    from labkit.judge.gate import Result

Detail = Literal["whole", "brief", "short"]


def sentence(one: Finding, *, intervals: bool = True) -> str:
    """Return what a finding claims, without its subject and without a full stop.

    Parameters
    ----------
    intervals : whether to show the intervals of values.
    """
    if one.kind == "cause":
        clues = joined(clue(one, each) for each in (one.against or one.evidence))
        return f"{causes.every()[one.code].name} ({clues})"
    template = rules.every()[one.code].template(one.form)
    values = one.values if intervals else {name: _Alone(each) for name, each in one.values.items()}
    if "{evidence}" not in template:
        return template.format_map(values)
    return template.format_map({**values, "evidence": joined(evidence(one))})


def claim(one: Finding) -> str:
    """Return the first clause of a finding's sentence, with the same numbers but without intervals and explanations."""
    template = rules.every()[one.code].template(one.form).partition(" (")[0]
    return template.format_map({name: _Alone(each) for name, each in one.values.items()})


def beyond(one: Finding) -> str:
    """Return why a bandwidth may slightly exceed its bound, as a sentence; empty for a bandwidth below it."""
    if (most := one.values.get("tolerance")) is None:
        return ""
    why = "headers can be smaller than assumed, and clocks are read at the ends of the path"
    return f"A value may exceed its bound by up to {most}, because {why}."


@dataclass(frozen=True)
class _Alone:
    """A value that is shown without its interval."""

    value: object

    def __format__(self, how: str) -> str:
        return format(self.value, {"interval": "alone", "ratio": "about"}.get(how, how))


def told(one: Finding, detail: Detail = "whole") -> str:
    """Return the claim of a finding as sentences, without its subject.

    Parameters
    ----------
    detail : ``whole`` shows evidence, launches, samples and likeliest cause; ``brief`` evidence only; ``short`` neither
        evidence nor intervals.
    """
    if detail == "short":
        return f"{sentence(one, intervals=False)}."
    parts = [sentence(one), *evidence(one)]
    if detail == "brief":
        return f"{joined(parts)}."
    samples = f", n ≥ {one.samples:,}" if one.samples else ", reported by a tool"
    if 1 < one.samples == one.launches:
        samples = " of one iteration each"
    text = f"{joined(parts)}; {plural(one.launches, 'launch')}{samples}."
    cause = likeliest(one)
    if cause is None:
        return text
    sure = any(each.code == "counted" for each in cause.evidence)
    return f"{text} {'Reason' if sure else 'Likely reason'}: {sentence(cause)}."


def no_claim(one: Finding) -> str:
    """Return why a finding supports no claim about performance; empty if it does."""
    if one.claims:
        return ""
    return "the device shows function and not performance" if one.functional else "there is one launch"


def evidence(one: Finding) -> list[str]:
    """Return the evidence of a finding as a sentence; a template shows it as ``{evidence}``."""
    return [clue(one, each) for each in one.evidence]


def clue(one: Finding, evidence: Evidence) -> str:
    """Return a piece of evidence of a finding as a sentence."""
    known = causes.every()[one.code].clues if one.kind == "cause" else rules.every()[one.code].clues
    return known[evidence.code].format_map(evidence.values)


def whole(one: Finding) -> str:
    """Return the claim of a finding with its subject and its evidence."""
    clues = joined(clue(one, each) for each in one.evidence)
    return ": ".join(filter(None, (str(one.subject), sentence(one)))) + (f" ({clues})" if clues else "")


def settings(findings: Sequence[Finding], most: int = 2) -> str:
    """Return the settings of a benchmark with their verdicts and reasons; empty for none.

    Parameters
    ----------
    most : settings to name, at most.
    """
    parts = []
    for one in findings[:most]:
        why = f", {name}" if (name := cause_name(one)) else ""
        parts.append(f"{one.subject.setting or one.subject.benchmark} ({one.level}{why})")
    more = len(findings) - len(parts)
    return joined([*parts, plural(more, "more setting")] if more else parts)


def purpose(step: Step) -> str:
    """Return the subject of a step: its topic, with the cause that it decides or removes, or with the finding.

    If the cause of a verdict is likely, also from which value on it would be good.
    """
    first = step.why[0]
    causes_ = [cause for one in step.why for cause in one.causes if cause.command == step.command and cause.supported]
    if open_ := [name_of(one) for one in causes_ if not one.likely]:
        return f"to decide whether the cause is {open_[0]}: for {step.about}"
    likely = next((name for one in step.why if (name := cause_name(one))), "")
    found = likely or ("" if first.kind == "verdict" else sentence(first, intervals=False))
    return f"for {step.about}: {found}{_goal(first) if likely else ''}" if found else f"for {step.about}"


def _goal(one: Finding) -> str:
    """Return the end of a sentence with the value from which on a number would be good; empty if it needs no better."""
    goal, measured = one.values.get("goal"), one.values.get("measured")
    if one.level not in ("bad", "doubtful") or not (isinstance(goal, Value) and isinstance(measured, Value)):
        return ""
    rate = of_rate(goal.unit)
    if measured.value >= goal.value if rate else measured.value <= goal.value:  # not good for another reason
        return ""
    return f"; {goal:2} or {'more' if rate else 'less'} would be good"


def name_of(cause: Finding) -> str:
    """Return the name of a cause."""
    return causes.every()[cause.code].name


def cause_name(one: Finding) -> str:
    """Return the name of the likeliest cause of a finding; empty if none is likely."""
    if (found := likeliest(one)) is None:
        return ""
    cause = causes.every()[found.code]
    return next((cause.names[each.code] for each in found.evidence if each.code in cause.names), cause.name)


def caused(one: Finding, text: str = "") -> str:
    """Return the likeliest cause of a finding, else the possible ones, as a sentence without its end.

    Parameters
    ----------
    text : name of the cause, in place of its whole sentence.
    """
    return f"{'Cause' if likeliest(one) is None else 'Likely cause'}: {text or cause(one)}"


def cause(one: Finding) -> str:
    """Return the likeliest cause of a finding, else the possible ones, as the end of a sentence.

    Examples
    --------
    >>> from labkit.judge.finding import Subject
    >>> cause(Finding(code="", kind="verdict", level="bad", subject=Subject()))
    'unknown'
    """
    if (found := likeliest(one)) is not None:
        return sentence(found)
    names = [causes.every()[each.code].name for each in one.causes if each.supported]
    return f"unknown; possible: {joined(names)}" if names else "unknown"


def first(findings: Sequence[Finding]) -> str:
    """Return the claim of the first finding with its subject, and the number of further ones.

    Parameters
    ----------
    findings : findings of one rule in one benchmark, as `labkit.judge.finding.grouped` yields them.
    """
    one, more = findings[0], len(findings) - 1
    claim = f"{one.subject.setting}: {sentence(one)}" if one.subject.setting else sentence(one)
    return f"{one.subject.benchmark or 'campaign'}: {claim}" + (f" (and {more} more)" if more else "")


def odd(findings: Sequence[Finding]) -> str:
    """Return a sentence on the number of odd, unexplained and undecided results; empty for none.

    Parameters
    ----------
    findings : about the plausibility of results.
    """
    sure = [one for one in findings if one.certain]
    undecided, unexplained = len(findings) - len(sure), sum(not one.explained for one in sure)
    parts = []
    if sure:
        verb = "result contradicts" if len(sure) == 1 else "results contradict"
        some = f"{unexplained} of them unexplained" if unexplained else "all explained"
        word = ["explained", "unexplained"][unexplained] if len(sure) == 1 else some
        parts.append(f"{len(sure)} {verb} what is expected, {word}")
    if undecided:
        what = f"{'result' if undecided == 1 else 'results'} may contradict what is expected"
        may = "may do so" if sure else what
        parts.append(f"{undecided} {may}, but launches are too few to decide it")
    return joined(parts) + "." if parts else ""


def broken(findings: Sequence[Finding], points: int, checked: int) -> str:
    """Return a sentence on the number of broken rules of each level.

    Parameters
    ----------
    points : number of points that were checked.
    checked : number of rules.
    """
    data = f"The data of {plural(points, 'point')} break"
    worst = {one.code: one.level for one in reversed(findings)}  # the worst level of a rule comes first
    if not worst:
        return f"{data} none of the {checked} rules that data can show."
    levels = [*worst.values()]
    parts = [f"{levels.count(level)} of level {level}" for level in LEVELS if level in levels]
    return f"{data} {len(worst)} of {checked} rules that data can show: {', '.join(parts)}."


def guidelines(violations: Sequence[Finding], checked: int) -> str:
    """Return how many comparisons of collectives violate a guideline, and the worst violation.

    Parameters
    ----------
    violations : as `labkit.judge.rules.guideline.judged` returns them.
    checked : number of comparisons.
    """
    if not violations:
        return f"None of {plural(checked, 'comparison')} violates a guideline."
    certain = [one for one in violations if one.supported]
    shown = certain or violations
    worst, count = shown[0], len(shown)
    what = f"{count} of {plural(checked, 'comparison')} {'violates' if count == 1 else 'violate'} a guideline"
    larger = sum(f"{one.values['guideline']}".endswith(LARGER) for one in shown)
    why = f"; {larger} of them because a larger size takes less time" if larger else ""
    most = f"{why}; the largest violation is {worst.subject}: {sentence(worst)}."
    if not certain:
        doubt = joined(clue(worst, each) for each in worst.against)
        return f"{what} by the medians, but the launches do not show it ({doubt}){most}"
    rest = len(violations) - count
    more = (
        f" {rest} more {'does' if rest == 1 else 'do'} by the medians, but the launches do not show it." if rest else ""
    )
    return f"{what}, and the launches show it{most}{more}"


def gated(result: Result) -> str:
    """Return the number of verdicts of a gate with each outcome, and the chance of a false alarm if known."""
    alarms = ""
    if not math.isnan(result.false_alarms):
        alarms = f"; chance of any false alarm {format_share(result.false_alarms)} (Bonferroni)"
    elif result.worse:
        alarms = "; the chance of a false alarm by --worse is not known"
    counts = ", ".join(f"{count} {outcome}" for outcome, count in result.counts.items() if count)
    return (
        f"{result.name}: {counts or 'nothing to compare with'}. {plural(result.comparisons, 'comparison')} with "
        f"{plural(len(result.history), 'earlier campaign')}{alarms}."
    )


def unlike(result: Result) -> list[str]:
    """Return each condition that differs from the past of a gate once, with the number of comparisons."""
    counts = Counter(words for _, one in result.compared for words in one.differs)
    return [f"unlike the past: {words} ({plural(count, 'comparison')})" for words, count in counts.items()]
