"""Apply rules to a campaign, and describe them."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.io.collector import uncollected
from labkit.io.markdown import table
from labkit.judge import rules
from labkit.judge.finding import Finding, ordered, sound
from labkit.judge.rule import METHOD, Rule
from labkit.judge.twelve import JUDGEMENT
from labkit.judge.view import View


def check(view: View, which: Sequence[Rule] | None = None) -> tuple[Finding, ...]:
    """Return what rules find in a campaign, in the order in which findings are shown.

    Parameters
    ----------
    view : what rules see of the campaign.
    which : rules (default: those about the method of measuring).
    """
    chosen = rules.about(METHOD) if which is None else which
    with uncollected():  # a rule may find something at each of very many points
        return ordered(one for rule in chosen for one in rule.check(view) if sound(one))


def described() -> str:
    """Return the rules about the method as the tables of `docs/statistics.md`, in Markdown."""
    method = sorted(rules.about(METHOD), key=lambda rule: (rule.source or len(JUDGEMENT) + 1, rule.code))
    rows = [(f"`{r.code}`", r.level, str(r.source or "labkit"), r.must, r.why, _remedy(r)) for r in method]
    codes = {n: ", ".join(f"`{r.code}`" for r in method if r.source == n) or "not checkable" for n in range(1, 13)}
    twelve = [(str(one.number), one.text, codes[one.number], one.author) for one in JUDGEMENT]
    return "\n\n".join(
        [
            table(["", "rule of Hoefler and Belli", "checked as", "what the author must do"], twelve, align="rlll"),
            table(["check", "level", "rule", "what must hold", "because", "remedy"], rows, align="llrlll"),
        ]
    )


def _remedy(rule: Rule) -> str:
    """Return the remedies of a rule in one text."""
    return f"{rule.remedy} For imported points: {rule.imported}" if rule.imported else rule.remedy
