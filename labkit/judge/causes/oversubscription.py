"""More ranks than cores."""

from __future__ import annotations

from labkit import benchmarks
from labkit.errors import SpecError
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._launches import ONE_SIDED, SCATTER, marked, one_sided, scattered
from labkit.judge.finding import Count, Evidence, Finding
from labkit.read.records import in_effect, rerun
from labkit.store.samples import Samples
from labkit.store.samples.facts import RANK_AFFINITY, RANK_HOSTS


def test(case: Case) -> Finding | None:
    """Ranks share processors; a number that others reproduce, and that does not scatter, denies it."""
    if case.about.code == "setting-matters":
        return CAUSE.found(case, one_sided(case, "oversubscription", worse=True))
    clues = [*marked(case, "oversubscription"), *_shared(case.samples)]
    if not clues and marked(case, "no-core-left") and scattered(case):
        clues = [Evidence(code="full"), *scattered(case)]
    if not clues:
        return None
    return CAUSE.found(case, clues, even(case), command=_fewer(case.samples))


def _shared(samples: Samples) -> list[Evidence]:
    """Return that the ranks of a host may use fewer processors than they are."""
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


def _fewer(samples: Samples) -> str:
    """Return the command with as many ranks as there are cores, where one host has all ranks."""
    cores, spec = samples.host.get("cpus_usable"), samples.spec
    if len(spec.hosts) > 1 or not isinstance(cores, int) or not 2 <= cores < spec.ranks:
        return ""
    if in_effect.enough_cores(samples):
        return ""
    fewer = spec.replace(ranks=cores)
    try:
        benchmarks.resolve(fewer)
    except SpecError:  # the benchmark needs more ranks
        return ""
    return rerun.command(fewer)


CAUSE = Cause(
    code="oversubscription",
    name="more ranks than cores",
    seen="more ranks on a host than processors that they may use",
    excluded="the value does not scatter, and another benchmark on the path has the same",
    decides="the same point with at most one rank for each core",
    clues={
        "marked": "ranks shared cores in {marked} of {launches}",
        "shared": "{ranks} on {host} may use {cores} only",
        "full": "ranks leave no core for the system",
        **ONE_SIDED,
        **SCATTER,
        **EVEN,
    },
    remedy="Measure with at most one rank for each core: fewer ranks, or more hosts.",
    test=test,
    explains=("verdict", "size-jump", "slow-launch", "two-modes", "setting-matters"),
)
