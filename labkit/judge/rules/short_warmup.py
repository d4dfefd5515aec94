"""Launches whose first iterations are slower than the rest."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import TIMES, Count, Decided, Evidence, Finding, Value, Values
from labkit.judge.iterations import CHANCE
from labkit.judge.rule import ITERATIONS, Rule
from labkit.judge.rules._iterations import SEEN, in_most, seen_in
from labkit.judge.view import View
from labkit.read.records import in_effect, rerun

_MORE = 10  # times the first iterations, or the warm-up that there was


def check(view: View) -> Iterator[Finding]:
    """Yield points whose first iterations are slower than the rest in more than half of the launches."""
    found = [*in_most(view, view.iterations.starts)]
    samples = view.first_launches([str(row["fingerprint"]) for row, _, _ in found])
    for row, some, launches in found:
        one, start = samples[str(row["fingerprint"])], some[0][1]
        more = str(_MORE * max(start.count, in_effect.warmup(one)))
        values: Values = {
            "above": str(start.above),
            "first": Count(start.count, "iteration"),
            "rest": f"{start.rest:,}",
        }
        yield RULE.found(
            view.subject(row),
            cost=start.ratio,
            decided=Decided(how="tested", test="binomial", error=CHANCE),
            evidence=(Evidence(code="above", values=values), *seen_in(len(some), launches)),
            command="" if rerun.imported(one.spec) else rerun.command(one.spec, "-x", more),
            first=Count(start.count, "iteration"),
            times=Value(value=start.ratio, unit=TIMES, launches=1),
        )


RULE = Rule(
    code="short-warmup",
    kind="violation",
    level="doubtful",
    about=ITERATIONS,
    must="the first timed iterations take as long as the rest",
    why="caches, connections and frequencies settle in the first iterations",
    says="the first {first} take {times:3} the rest (medians): the warm-up was too short",
    clues={"above": "{above} of the first {first} take longer than the median of the other {rest}", **SEEN},
    remedy="Measure again with more untimed iterations (-x).",
    imported="State that the tool's warm-up was too short.",
    check=check,
)
