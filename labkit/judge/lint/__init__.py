"""Check what a campaign's data show against the rules of sound benchmarking.

A rule is one entry of `RULES`: the twelve rules of Hoefler and Belli [1]_ as far as data can show them
(`labkit/judge/lint/twelve.py`), and labkit's own (`labkit/judge/lint/numbers.py`, `repeats.py`, `odd.py`).
`JUDGEMENT` lists what only an author can judge.

References
----------
.. [1] T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC15, doi 10.1145/2807591.2807644.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from labkit.io.markdown import table
from labkit.judge.lint.evidence import LEVELS, Breach, Evidence, Level, Rule
from labkit.judge.lint.numbers import NUMBERS
from labkit.judge.lint.odd import ODD
from labkit.judge.lint.repeats import REPEATS
from labkit.judge.lint.twelve import JUDGEMENT, TWELVE, Judgement
from labkit.judge.plausibility import Oddity
from labkit.point.units import plural

__all__ = [
    "JUDGEMENT",
    "LEVELS",
    "RULES",
    "Breach",
    "Evidence",
    "Finding",
    "Group",
    "Judgement",
    "Level",
    "Result",
    "lint",
]

RULES: tuple[Rule, ...] = (*TWELVE, *NUMBERS, *REPEATS, *ODD)


@dataclass(frozen=True)
class Finding:
    """A rule that a campaign breaks, and where.

    Parameters
    ----------
    rule : which; it says what must be, and the remedy.
    breach : place, and what is.
    """

    rule: Rule
    breach: Breach

    @property
    def remedy(self) -> str:
        """What to do; about an imported point, what can be done without measuring it again."""
        return self.rule.brought if self.breach.brought and self.rule.brought else self.rule.remedy


@dataclass(frozen=True)
class Group:
    """Findings of one rule in one benchmark.

    Parameters
    ----------
    findings : at least one, in the order of the points.
    """

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The finding that stands for the group."""
        return self.findings[0]

    @property
    def text(self) -> str:
        """What is, in the first point, and how many points are like it."""
        breach, more = self.first.breach, len(self.findings) - 1
        text = f"{breach.point}: {breach.what}" if breach.point else breach.what
        return f"{text} (and {more} more)" if more else text


@dataclass(frozen=True)
class Result:
    """What `lint` says about a campaign.

    Parameters
    ----------
    name : of the campaign.
    findings : errors first, then in the order of `RULES`.
    points : points that were checked, each counted once for all its launches.
    odd : results that contradict what must be expected, the surest first.
    """

    name: str
    findings: tuple[Finding, ...]
    points: int
    odd: tuple[Oddity, ...] = ()

    @cached_property
    def sound(self) -> bool:
        """Whether the campaign breaks no rule of the level ``error``."""
        return not any(one.rule.level == "error" for one in self.findings)

    @cached_property
    def groups(self) -> list[Group]:
        """Findings by rule and benchmark."""
        groups: dict[tuple[str, str], list[Finding]] = {}
        for one in self.findings:
            groups.setdefault((one.rule.code, one.breach.benchmark), []).append(one)
        return [Group(tuple(each)) for each in groups.values()]

    def remedies(self, rule: Rule) -> str:
        """What to do about all places where a rule is broken."""
        own = (group for group in self.groups if group.first.rule.code == rule.code)
        return " ".join(dict.fromkeys(one.remedy for group in own for one in group.findings))

    @cached_property
    def broken(self) -> list[Rule]:
        """Rules that are broken, each once: errors first."""
        return list({group.first.rule.code: group.first.rule for group in self.groups}.values())

    @property
    def sentence(self) -> str:
        """How many rules are broken, in a sentence."""
        counts = [(level, sum(rule.level == level for rule in self.broken)) for level in LEVELS]
        parts = [f"{count} of level {level}" for level, count in counts if count]
        if not parts:
            return (
                f"The data of {plural(self.points, 'point')} break none of the {len(RULES)} rules that data can show."
            )
        return (
            f"The data of {plural(self.points, 'point')} break {len(self.broken)} of {len(RULES)} rules that data can "
            "show: "
            f"{', '.join(parts)}."
        )


def lint(evidence: Evidence, rules: Sequence[Rule] = RULES) -> Result:
    """Check the data of a campaign against rules.

    Parameters
    ----------
    evidence : what the campaign holds.
    rules : which (default: all).

    Returns
    -------
    Every place where a rule is broken.
    """
    findings = [Finding(rule, breach) for rule in rules for breach in rule.check(evidence)]
    findings.sort(key=lambda one: LEVELS.index(one.rule.level))  # stable: rules stay in their order
    return Result(evidence.name, tuple(findings), len(evidence.summary), evidence.odd)


def _remedy(rule: Rule) -> str:
    """Return the remedies of a rule in one text."""
    return f"{rule.remedy} For imported points: {rule.brought}" if rule.brought else rule.remedy


def described() -> str:
    """Return all rules as the tables of `docs/statistics.md`, in Markdown."""
    rules = [(f"`{r.code}`", r.level, str(r.source or "labkit"), r.must, _remedy(r)) for r in RULES]
    codes = {n: ", ".join(f"`{r.code}`" for r in RULES if r.source == n) or "not checkable" for n in range(1, 13)}
    twelve = [(str(one.number), one.text, codes[one.number], one.author) for one in JUDGEMENT]
    return "\n\n".join(
        [
            table(["", "rule of Hoefler and Belli", "checked as", "what the author must do"], twelve, align="rlll"),
            table(["check", "level", "rule", "what must be", "remedy"], rules, align="llrll"),
        ]
    )
