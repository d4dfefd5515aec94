"""Requirements on the numbers of a campaign: one file for each rule in `labkit/judge/rules`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labkit.judge.finding import Finding, Kind, Level, Subject, Values

if TYPE_CHECKING:
    from labkit.judge.view import View

METHOD = "method"  # of measuring: what must hold before anybody interprets a number
PLAUSIBILITY = "plausibility"  # of results: what is expected of a network
ITERATIONS = "iterations"  # of launches: what they show beside their median
SETTINGS = "settings"  # what their levels cost, and how values run over sizes; the report's first page chooses of it
OBSERVED = (ITERATIONS, "sizes", "guidelines")  # what numbers show beside their values
LINTED = (METHOD, PLAUSIBILITY)  # what `labkit lint` judges


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A requirement.

    Parameters
    ----------
    code : name for programs; that of its file, with ``-`` for ``_``.
    kind, level : kind and level of its findings; a finding may state another level.
    about : subject in one word, such as ``method``; rules on the same subject are listed together.
    must : the requirement, as a part of a sentence.
    why : reason or reference.
    says : template of the sentence about a finding, with the names of its values in braces, and ``{evidence}`` for its
        evidence; a template for each form of a rule with several.
    remedy : what to do; empty if a finding has a command, or for nothing.
    imported : what to do about imported points, if `remedy` needs another measurement.
    clues : code → template of the sentence about a piece of evidence.
    check : yields the findings in a campaign; nothing if the rule needs more than a campaign, such as a gate.
    source : number of the rule of Hoefler and Belli; 0 for others.
    voids : whether a number that breaks it is invalid, as reports then state.
    """

    code: str
    kind: Kind
    level: Level
    must: str
    why: str
    says: str | Mapping[str, str]
    check: Callable[[View], Iterator[Finding]] = lambda view: iter(())
    about: str = METHOD
    remedy: str = ""
    imported: str = ""
    clues: Mapping[str, str] = field(default_factory=dict)
    source: int = 0
    voids: bool = False

    def found(self, subject: Subject, level: Level | None = None, **given: Any) -> Finding:
        """Return a finding of this rule.

        Parameters
        ----------
        level : level of the finding (default: that of the rule).
        given : fields of `Finding`; other names are values of the sentence.
        """
        fields = {name: given.pop(name) for name in _FIELDS & given.keys()}
        values: Values = given
        return Finding(
            code=self.code, kind=self.kind, level=level or self.level, subject=subject, values=values, **fields
        )

    def template(self, form: str) -> str:
        """Return the template of a form."""
        return self.says if isinstance(self.says, str) else self.says[form]

    @property
    def origin(self) -> str:
        """Source of the rule in words."""
        return f"Hoefler and Belli, rule {self.source}" if self.source else "labkit"

    def remedy_for(self, findings: Sequence[Finding]) -> str:
        """Return what to do about some of its findings."""
        texts = [self.imported if one.subject.imported and self.imported else self.remedy for one in findings]
        return " ".join(dict.fromkeys(filter(None, texts)))


_FIELDS = frozenset(("form", "cost", "decided", "evidence", "against", "causes", "command", "measure"))
