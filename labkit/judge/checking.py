"""Apply rules to a campaign, and describe them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from labkit.io.collector import uncollected
from labkit.io.markdown import table
from labkit.judge import causes, rules
from labkit.judge.cause import Case, Cause, ranked
from labkit.judge.finding import HOW, Finding, Level, ordered, sound
from labkit.judge.rule import LINTED, METHOD, OBSERVED, PLAUSIBILITY, SETTINGS, Rule
from labkit.judge.twelve import JUDGEMENT
from labkit.judge.view import View
from labkit.read.records import rerun

_ASKING: tuple[Level, ...] = ("bad", "doubtful")  # verdicts that ask for a cause


def check(view: View, which: Sequence[Rule] | None = None, *, explain: bool = True) -> tuple[Finding, ...]:
    """Return the findings of rules in a campaign, with causes that the data show, in the order of display.

    Parameters
    ----------
    view : what rules see of the campaign.
    which : rules (default: those of `labkit lint`, about the method of measuring and the plausibility of results).
    explain : whether to look for causes, which may take longer than the rules.
    """
    chosen = rules.about(*LINTED) if which is None else which
    with uncollected():  # a rule may find something at each of very many points
        found = _undoubted([one for rule in chosen for one in rule.check(view) if sound(one)])
        told = explained(view, found) if explain else found
        return ordered(_wanting(view, one) if one.measure else one for one in told)


def _undoubted(found: Sequence[Finding]) -> list[Finding]:
    """Return findings without what settings cost by a point that contradicts what is expected."""
    about = {code: rule.about for code, rule in rules.every().items()}
    doubted = {one.subject.points[0] for one in found if about[one.code] == PLAUSIBILITY}
    return [one for one in found if about[one.code] != SETTINGS or doubted.isdisjoint(one.subject.points)]


def explained(view: View, found: Sequence[Finding]) -> list[Finding]:
    """Return findings with the causes that the data support or exclude."""
    alike = _by_code(found)
    every = causes.every().values()
    possible = {
        (one.code, one.form): [cause for cause in every if cause.may_explain(one)]
        for one in {(one.code, one.form): one for one in found}.values()
    }
    asking = [bool(possible[one.code, one.form]) and _asks(one) for one in found]
    points = [one.subject.points[0] for one, asks in zip(found, asking, strict=True) if asks]
    samples = view.first_launches(points)
    done = []
    for one, asks in zip(found, asking, strict=True):
        if asks and (launch := samples.get(one.subject.points[0])):
            case = Case(about=one, view=view, samples=launch, others=alike[one.code], all=alike)
            one = _tested(possible[one.code, one.form], case)
        done.append(one)
    return done


def _wanting(view: View, one: Finding) -> Finding:
    """Return a finding without the points that the campaign has, and with what measures the others."""
    measure = view.lacking(one.measure)
    return replace(one, measure=measure, command=one.command or view.deciding(measure))


def _asks(one: Finding) -> bool:
    """Whether a cause is looked for: of a value that is not good, or of an emulated device, and of any violation.

    A finding on what a setting costs has causes only if the launches show a difference.
    """
    if rules.every()[one.code].about == SETTINGS:
        return math.isfinite(one.cost)
    poor = one.level in _ASKING and "measured" in one.values
    return (one.kind != "verdict" or poor or one.form == "functional") and bool(one.subject.points)


def _by_code(found: Sequence[Finding]) -> dict[str, tuple[Finding, ...]]:
    """Return findings by the codes of their rules."""
    some: dict[str, list[Finding]] = {}
    for one in found:
        some.setdefault(one.code, []).append(one)
    return {code: tuple(alike) for code, alike in some.items()}


def _tested(possible: Sequence[Cause], case: Case) -> Finding:
    """Return a finding with the causes that the data support or exclude; if none explains it, with what to measure."""
    tested = [(cause, cause.test(case)) for cause in possible]
    found = ranked([one for _, one in tested if one is not None and sound(one)], case.about)
    about = replace(case.about, causes=found)
    asking = about.kind == "verdict" and about.level in _ASKING and not about.explained
    if not asking or not case.view.here or rerun.imported(case.spec):
        return about
    worth = [point for cause, one in tested if one is None and cause.worth for point in cause.lacking(case)]
    return replace(about, measure=(*about.measure, *worth))


def _level(rule: Rule) -> str:
    """Return the level of a rule, and whether a number that breaks it is invalid."""
    return f"{rule.level}, invalid" if rule.voids else rule.level


def described() -> str:
    """Return the rules about the method as the tables of `docs/lint.md`, in Markdown."""
    method = sorted(rules.about(METHOD), key=lambda rule: (rule.source or len(JUDGEMENT) + 1, rule.code))
    rows = [(f"`{r.code}`", _level(r), str(r.source or "labkit"), r.must, r.why) for r in method]
    codes = {n: ", ".join(f"`{r.code}`" for r in method if r.source == n) or "not checkable" for n in range(1, 13)}
    twelve = [(str(one.number), one.text, codes[one.number], one.author) for one in JUDGEMENT]
    return "\n\n".join(
        [
            table(["", "rule of Hoefler and Belli", "checked as", "what the author must do"], twelve, align="rlll"),
            table(["check", "level", "rule", "what must hold", "because"], rows, align="llrll"),
        ]
    )


def expected() -> str:
    """Return the rules on what is expected, and how sure findings are, as the tables of `docs/lint.md`."""
    rows = [(f"`{one.code}`", _level(one), one.must, one.why) for one in rules.about(PLAUSIBILITY)]
    decided = [(how, meaning) for how, meaning in HOW.items() if how]
    return "\n\n".join(
        [table(["rule", "level", "what is expected", "because"], rows), table(["decided", "means"], decided)]
    )


def observed() -> str:
    """Return the rules on what numbers show beside their values as a table of `docs/lint.md`, in Markdown."""
    rows = [(f"`{one.code}`", one.level, one.must, one.why) for one in rules.about(*OBSERVED, SETTINGS)]
    return table(["rule", "level", "what is expected", "because"], rows)
