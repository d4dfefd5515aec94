"""Another job that uses the same links."""

from __future__ import annotations

from labkit.judge import evidence
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._launches import SCATTER, scattered
from labkit.judge.causes._places import OTHERS, other_hosts
from labkit.judge.finding import TIMES, Evidence, Finding, Value
from labkit.point.columns import statistic_column
from labkit.read.records import headline_statistic
from labkit.store.samples.facts import EVIDENCE

_COUNTERS = ("wait", "pause", "cnp", "ecn", "congest", "discard", "cepkts")  # parts of names of counters of congestion
_IMPACT = "impact_p50_times"
_FELT = 1.1  # times as long as alone, from which a victim feels an aggressor


def test(case: Case) -> Finding | None:
    """Launches over a shared network differ widely, or its counters show congestion."""
    samples = case.samples
    if not case.networked:
        return None
    local = samples.spec.testbed == "local"  # on an emulated network, the bytes of links show other hosts
    own = evidence.beside_protocols(samples) if local else {}
    counted = [*_counted(EVIDENCE.of(samples.meta) | own), *other_hosts(samples)]
    apart = [one for one in scattered(case) if one.code == "apart"] if local else []
    if not counted and not apart:
        return None
    return CAUSE.found(case, [*counted, *apart, *_felt(case)], [] if counted else even(case))


def _counted(counters: dict[str, int]) -> list[Evidence]:
    """Return the counter of congestion that grew most."""
    grown = {
        name: count
        for name, count in counters.items()
        if count > 0 and any(part in name.rpartition(".")[2].lower() for part in _COUNTERS)
    }
    if not grown:
        return []
    name = max(grown, key=lambda one: grown[one])
    return [Evidence(code="counted", values={"name": name, "count": f"{grown[name]:,}"})]


def _felt(case: Case) -> list[Evidence]:
    """Return the clue that a benchmark of interference in the campaign felt a load on the network."""
    summary = case.view.summary
    column = statistic_column(_IMPACT, headline_statistic(summary, _IMPACT))
    felt = float(summary[column].max()) if column in summary else 0.0
    return [Evidence(code="felt", values={"times": Value(value=felt, unit=TIMES)})] if felt > _FELT else []


CAUSE = Cause(
    code="contention",
    name="another job on the same links",
    seen="launches differ widely over a shared network, counters of congestion grow, or other hosts move bytes",
    excluded="the value is even",
    decides="launches spread over hours, or a reserved network",
    clues={
        "counted": "{name} grew by {count}",
        **OTHERS,
        "felt": "beside a load of labkit's own, messages here take {times} as long",
        **SCATTER,
        **EVEN,
    },
    remedy="Spread launches over time (--spread), look at the counters of the switches, or reserve the nodes.",
    test=test,
    weak=("felt", *SCATTER),
)
