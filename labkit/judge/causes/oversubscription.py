"""More ranks than cores."""

from __future__ import annotations

import math

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._launches import ONE_SIDED, SCATTER, SELDOM, marked, one_sided, scattered, throttled
from labkit.judge.causes._other_settings import VARIED, every, varied
from labkit.judge.finding import TIMES, Count, Evidence, Finding, Value, Values, Wanted
from labkit.read.records import in_effect
from labkit.store.samples import Samples
from labkit.store.samples.facts import RANK_AFFINITY, RANK_HOSTS


def test(case: Case) -> Finding | None:
    """Ranks share processors. An even value that other benchmarks reproduce excludes it."""
    if case.about.code == "setting-matters":
        if case.about.values.get("factor") in _OF_WORK:  # more ranks have more to do, and not only fewer cores each
            return None
        return CAUSE.found(case, one_sided(case, "oversubscription", worse=True))
    clues = _shared(case.samples)
    if not clues and throttled(case) >= SELDOM:  # a quota leaves so few cores
        return None
    crowded = marked(case, "oversubscription")
    if crowded and case.spec.testbed.startswith("virtual-cluster"):  # true of all its points, so it tells none apart
        crowded = [Evidence(code="emulated")]
    clues = [*crowded, *clues]
    if not clues and marked(case, "no-core-left") and scattered(case):
        clues = [Evidence(code="full"), *scattered(case)]
    if not clues:
        return None
    better, same = _judged(case)
    gone, stays = varied(case, points(case))
    return CAUSE.found(case, [*clues, *better, *gone], [*([] if better else even(case)), *same, *stays])


_OF_WORK = ("ranks", "ppn")


def _judged(case: Case) -> tuple[list[Evidence], list[Evidence]]:
    """Return the clue that the verdict on the point with fewer ranks is better, or that it is not."""
    rows = [row for one in points(case) if (row := case.view.measured(one)) is not None]
    if case.about.kind != "verdict" or not rows:
        return [], []
    names = {str(row["fingerprint"]) for row in rows}
    alike = [one for one in case.others if names & {*one.subject.points} and one.cost >= 1]
    if not alike or not case.about.cost > 1:
        return [], []
    values: Values = {"ranks": Count(int(rows[0]["ranks"]), "rank"), "cost": Value(value=alike[0].cost, unit=TIMES)}
    explains = alike[0].cost < math.sqrt(case.about.cost)
    clue = [Evidence(code="fewer" if explains else "fewer too", values=values)]
    return (clue, []) if explains else ([], clue)


def _shared(samples: Samples) -> list[Evidence]:
    """Return the clue that the ranks of a host may use fewer processors than they are."""
    hosts, affinity = RANK_HOSTS.of(samples.meta), RANK_AFFINITY.of(samples.meta)
    if len(hosts) != len(affinity):
        return []
    for host in dict.fromkeys(hosts):
        own = [set(processors) for name, processors in zip(hosts, affinity, strict=True) if name == host]
        may = len(set().union(*own))
        if 0 < may < len(own):
            ranks, cores = Count(len(own), "rank"), Count(may, "processor")
            return [Evidence(code="shared", values={"ranks": ranks, "cores": cores, "host": host})]
    return []


def points(case: Case) -> list[Wanted]:
    """Return the points with as many ranks as there are cores, where one host has all ranks."""
    cores, spec = case.samples.host.get("cpus_usable"), case.spec
    if len(spec.hosts) > 1 or not isinstance(cores, int) or not 2 <= cores < spec.ranks:
        return []
    if case.about.kind not in ("verdict", "violation"):
        return []
    return [] if in_effect.enough_cores(case.samples) else every(case, lambda one: one.replace(ranks=cores))


CAUSE = Cause(
    code="oversubscription",
    name="too few cores for the ranks",
    seen="more ranks on a host than processors that they may use",
    excluded="the value is even",
    decides="at most one rank per core",
    clues={
        "marked": "ranks shared cores in {marked} of {launches}",
        "emulated": "the emulated hosts share the cores of one machine, as at all other points",
        "shared": "{ranks} on {host} may use {cores} only",
        "full": "the ranks use all cores, and leave none for the system",
        **ONE_SIDED,
        "fewer": "with {ranks} it takes {cost:2} what is necessary",
        "fewer too": "with {ranks} it takes {cost:2} what is necessary too",
        **VARIED,
        **SCATTER,
        **EVEN,
    },
    remedy="Measure with at most one rank for each core: with fewer ranks, or with more cores.",
    test=test,
    weak=("full", "emulated", *SCATTER),
    points=points,
    explains=("verdict", "size-jump", "slow-launch", "two-modes", "setting-matters"),
)
