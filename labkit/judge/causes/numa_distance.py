"""Ranks, or a rank and its adapter, on different NUMA nodes."""

from __future__ import annotations

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.causes._places import adapters, nodes, ranks_of_first_host
from labkit.judge.finding import Evidence, Finding, Wanted
from labkit.store.samples import Samples


def test(case: Case) -> Finding | None:
    """Two ranks run on different nodes, or rank 0 runs on another node than its adapter."""
    samples = case.samples
    where = nodes(samples.host)
    used = {
        rank: {where.get(one, -1) for one in processors} for rank, processors in ranks_of_first_host(samples).items()
    }
    known = {rank: own.pop() for rank, own in used.items() if len(own) == 1 and -1 not in own}
    clues = [*_apart(known), *_adapter(samples, known)]
    if not clues:
        return None
    other = others(case, lambda column: column == "bind")
    return CAUSE.found(case, [*clues, *other.evidence], other.against, without=other.without, command=other.command)


def points(case: Case) -> list[Wanted]:
    """Return the point with ranks bound to sockets."""
    return [Wanted(case.spec.replace(bind="socket"))] if benchmarks.get(case.spec.benchmark).mpi else []


def _apart(known: dict[int, int]) -> list[Evidence]:
    """Return two ranks that are on different nodes."""
    other = next((rank for rank in known if known[rank] != known[min(known)]), None)
    if other is None:
        return []
    values = {
        "rank": str(min(known)), "other": str(other), "node": str(known[min(known)]), "second": str(known[other]),
    }  # fmt: skip
    return [Evidence(code="apart", values=values)]


def _adapter(samples: Samples, known: dict[int, int]) -> list[Evidence]:
    """Return the clue that the adapter which carried the bytes is on another node than rank 0."""
    for one in adapters(samples) if 0 in known else ():
        node = one.node
        if node >= 0 and node != known[0]:
            values = {"adapter": one.name, "second": str(node), "node": str(known[0])}
            return [Evidence(code="adapter", values=values)]
    return []


CAUSE = Cause(
    code="numa-distance",
    name="another NUMA node",
    seen="ranks on different NUMA nodes, or a rank on another node than its adapter",
    excluded="another binding of the ranks is not faster",
    decides="ranks on the node of the adapter, or on one node",
    clues={
        "apart": "rank {rank} is on NUMA node {node}, rank {other} on node {second}",
        "adapter": "rank 0 is on NUMA node {node}, {adapter} on node {second}",
        **CLUES,
    },
    remedy="Place the ranks on one NUMA node, that of the adapter: numactl --cpunodebind=NODE --membind=NODE.",
    test=test,
    points=points,
)
