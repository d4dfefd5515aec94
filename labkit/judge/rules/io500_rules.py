"""IO500-like runs that break its rule on the time of writing."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.benchmarks.storage import io500_like
from labkit.judge.finding import Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View

_METRIC = "shortest_write_s"


def check(view: View) -> Iterator[Finding]:
    """Yield points with a phase that writes for less time than IO500 requires, or less than their own stonewall."""
    for row in view.rows(view.column("benchmark") == "storage.io500_like"):
        took, wall = float(row[f"{_METRIC}_p50"]), float(row["option_stonewall"])
        if took < wall:
            took_s, wall_s = Value(value=took, unit="s"), Value(value=wall, unit="s")
            yield RULE.found(view.subject(row), "doubtful", form="limit", took=took_s, stonewall=wall_s)
        elif took < io500_like.RULE_S:
            yield RULE.found(view.subject(row), form="short", took=Value(value=took, unit="s"))


RULE = Rule(
    code="io500-rules",
    kind="violation",
    level="note",
    must=f"a score of IO500 comes from phases that write for {io500_like.RULE_S:.0f} s or more",
    why="caches take the data of a shorter phase; a submission to IO500 also needs its own program",
    says={
        "short": "IO500-like, not a valid submission: the shortest phase that writes takes {took}",
        "limit": "IO500-like, not a valid submission: a phase reached its limit of bytes or items after {took}, before "
        "the stonewall of {stonewall}",
    },
    remedy=f"Set stonewall={io500_like.RULE_S:.0f}, and limit and items so large that no phase reaches them.",
    check=check,
)
