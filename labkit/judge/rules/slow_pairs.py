"""Hosts, switches and links that are slower than the others in two launches of all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from labkit.judge import all_pairs
from labkit.judge.all_pairs import Twice
from labkit.judge.finding import SHARE, Count, Decided, Finding, Several, Subject, Value
from labkit.judge.pair_causes import ALONE, Part
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.read.records import per_rank
from labkit.store.samples.facts import RANK_HOSTS

_FEWEST = 3  # pairs, one of which may stand out
_NAMED = 20  # pairs that a sentence names


def check(view: View) -> Iterator[Finding]:
    """Yield a verdict on each host, switch and link that was slow twice at a point; on the point if none was."""
    names = view.records["fingerprint"][view.records["benchmark"] == all_pairs.BENCHMARK]
    for name in dict.fromkeys(names):
        rows, row = view.rows_of(name)[:2].tolist(), view.row(name)
        some = [*view.launches.samples(rows).values()] if view.launches else []
        if row and len(some) > 1 and all(len(s.time_ns) == s.spec.ranks and RANK_HOSTS.of(s.meta) for s in some):
            yield from found(view.subject(row), all_pairs.bad_pairs(some[0], some[1], per_rank.switches(some[0])))


def found(subject: Subject, twice: Twice) -> Iterator[Finding]:
    """Yield the findings of two measurements of a point."""
    for part in twice.parts:
        yield slow_part(subject, part)
    for cause, rows in twice.table.groupby("cause", sort=False):
        excess = Value(value=float(rows["excess"].median()), unit=SHARE)
        yield RULE.found(
            _at(subject, "single pairs" if cause == ALONE else str(cause)),
            form="alone" if cause == ALONE else "pairs",
            cost=1 + excess.value,
            decided=Decided(how="tested", test="scatter of pairs, in both launches", correction="Bonferroni"),
            pairs=Count(len(rows), "pair"),
            excess=excess,
            named=Several.of([f"{row.host} and {row.other_host}" for row in rows.itertuples()], "pair", most=_NAMED),
            path=_PATH,
        )
    if not twice.parts and twice.table.empty and twice.pairs >= _FEWEST:
        yield RULE.found(
            subject,
            "unknown" if twice.unjudged else "good",
            form="seldom" if twice.unjudged else "none",
            pairs=Count(twice.pairs, "pair"),
            few=Count(twice.unjudged, "pair"),
            path=_PATH,
        )


def slow_part(subject: Subject, part: Part) -> Finding:
    """Return the verdict on a host or switch that is slow as a whole."""
    excess, low, high = (Value(value=one, unit=SHARE) for one in (part.excess, part.low, part.high))
    return RULE.found(
        _at(subject, part.name),
        form="part",
        cost=1 + part.excess,
        decided=Decided(how="tested", test="rank sum of its pairs", correction="Bonferroni"),
        pairs=Count(part.pairs, "pair"),
        excess=excess,
        low=low,
        high=high,
        path=_PATH,
    )


def _at(subject: Subject, name: str) -> Subject:
    return replace(subject, setting=", ".join(filter(None, (subject.setting, name))))


_PATH = "all pairs of hosts, compared with one another"
RULE = Rule(
    code="slow-pairs",
    kind="verdict",
    level="bad",
    about="pairs",
    must="every pair of hosts takes about as long as the others on the same kind of path",
    why="a slow card, cable or switch delays every program that uses it, and all that wait for it",
    says={
        "part": "slow as a whole: its {pairs} of hosts take {excess} longer than the others (95 % interval {low} to "
        "{high})",
        "pairs": "{pairs} slow in both measurements, by {excess} (median)",
        "alone": "no host and no switch in common with other slow pairs: {named}; by {excess} (median)",
        "none": "none of {pairs} was slower than the others in both measurements",
        "seldom": "none of {pairs} was slower than the others in both measurements, but {few} met less than six times, "
        "too seldom for a judgement",
    },
    remedy="Compare adapter, cable and port with those of the other hosts; measure the slow pairs alone.",
    check=check,
)
