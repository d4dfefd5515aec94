"""A host, a link or an uplink that is slower than the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labkit import benchmarks
from labkit.judge import all_pairs
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.causes._predicted import MISSED, missed
from labkit.judge.finding import SHARE, Count, Evidence, Finding, Value, Values, Wanted
from labkit.models import bounds
from labkit.models.bounds import Stated
from labkit.point.adapters import links_of
from labkit.point.columns import statistic_column
from labkit.point.spec import Spec
from labkit.read.records import statistic_of
from labkit.store.samples import Samples
from labkit.store.samples.facts import RANK_HOSTS, TESTBED


def test(case: Case) -> Finding | None:
    """The testbed has a slow link on the path, or mpi.all_pairs found the hosts of the point slow."""
    if not case.networked:
        return None
    hosts = _hosts(case.samples)
    stated, predicted = _stated(case, hosts)
    measured, alike = _of_pairs(case, hosts)
    against = [*(missed(case, predicted) if predicted else []), *([] if stated else alike)]
    pairs, without = _of_points(case, hosts)
    if not pairs and not stated:
        other = others(case, ("host", "hosts").__contains__)
        pairs, without = [*other.evidence], other.without
    clues = [*stated, *measured, *([] if stated or measured else pairs)]
    return CAUSE.found(case, clues, against, predicted=predicted, without=without if pairs else None)


def points(case: Case) -> list[Wanted]:
    """Return mpi.all_pairs over all hosts of the testbed, twice; without a testbed, further hosts are unknown."""
    nodes = TESTBED.of(case.samples.meta).get("nodes")
    if not isinstance(nodes, int) or nodes < 3:
        return []
    launcher = case.spec.launcher if benchmarks.get(case.spec.benchmark).mpi else "auto"
    spec = Spec(benchmark=all_pairs.BENCHMARK, size=8, ranks=nodes, testbed=case.spec.testbed, launcher=launcher)
    return [Wanted(spec, launches=2)]


def _hosts(samples: Samples) -> list[str]:
    """Return the hosts of a point; empty if the samples do not show them."""
    known = RANK_HOSTS.of(samples.meta) or [host.partition(":")[0] for host in samples.spec.hosts]
    return [*dict.fromkeys(known)]


def _stated(case: Case, hosts: Sequence[str]) -> tuple[list[Evidence], Value | None]:
    """Return the slowest link that the testbed has between hosts, unless the limit is its rate already."""
    known, limit = links_of(TESTBED.of(case.samples.meta)), case.about.values.get("limit")
    usual = known.shaped
    if case.about.code != "bandwidth-of-path" or not usual > 0 or not isinstance(limit, Value):
        return [], None
    rates = {f"the link of {host}": known.slow[host] for host in hosts if host in known.slow}
    if (wire := bounds.path(case.samples, Stated())) is not None and wire.usual:  # by the bytes that the links counted
        rates[f"the {wire.name}"] = wire.rate
    places = [int(host[2:]) for host in hosts if host[2:].isdecimal()]
    if known.per_leaf and len({place // known.per_leaf for place in places}) > 1 and known.uplink:
        rates["the uplink"] = known.uplink
    name = min(rates, key=lambda one: rates[one], default="")
    if not name or rates[name] >= usual or name.removeprefix("the ") in str(case.about.values.get("what")):
        return [], None
    values: dict[str, Value | Count | str] = {"name": name, "share": Value(value=rates[name] / usual, unit=SHARE)}
    predicted = Value(value=limit.value * rates[name] / usual, unit=limit.unit, origin="computed")
    return [Evidence(code="stated", values=values)], predicted


def _of_pairs(case: Case, hosts: Sequence[str]) -> tuple[list[Evidence], list[Evidence]]:
    """Return what mpi.all_pairs found in this campaign: a slow part, a slow pair, or hosts that are all alike."""
    known = case.view.slow_pairs
    if known is None or len(hosts) != 2:
        return [], []
    every, parts, slow = known
    places = {host: place for place, host in enumerate(np.unique(every).tolist())}
    if not {*hosts} <= {*places}:
        return [], []
    one, other = (places[host] for host in hosts)
    for part in parts:
        if part.members[one, other]:
            values: dict[str, Value | Count | str] = {"name": part.name, "excess": Value(value=part.excess, unit=SHARE)}
            return [Evidence(code="part", values=values)], []
    ranks = [[rank for rank, host in enumerate(every) if host == name] for name in hosts]
    if slow[np.ix_(*ranks)].any() or slow[np.ix_(*ranks[::-1])].any():
        return [Evidence(code="pair", values={"one": hosts[0], "other": hosts[1]})], []
    return [], [Evidence(code="alike", values={"hosts": Count(len(places), "host")})]


def _of_points(case: Case, hosts: Sequence[str]) -> tuple[list[Evidence], Value | None]:
    """Return a host with which every point of the benchmark is slower than every point without it, and these."""
    if not case.metric:
        return [], None
    table, statistic = case.table, statistic_of(case.row, case.metric)
    name = statistic_column(case.metric, statistic)
    if name not in table.columns or "hosts" not in table.columns:
        return [], None
    values, sizes = table.columns[name], table.columns["message_size_B"]
    there = np.flatnonzero((sizes == sizes[case.place]) & (values > 0)).tolist()
    costs = {place: float(1 / values[place] if case.rate else values[place]) for place in there}
    of_points = {place: {*str(table.columns["hosts"][place]).split(",")} for place in there}
    for host in hosts:
        slow, fast = ([place for place in there if (host in of_points[place]) is with_it] for with_it in (True, False))
        if min(len(slow), len(fast)) < _FEWEST:
            continue
        last = max(fast, key=lambda place: costs[place])
        if min(costs[place] for place in slow) > _APART * costs[last]:
            value = case.view.value(table.row(last), case.metric, statistic)
            said: Values = {"host": host, "count": Count(len(slow), "point"), "value": value}
            return [Evidence(code="always", values=said)], value
    return [], None


_FEWEST, _APART = 2, 1.1  # points with a host, and without it; times by which all of them are apart
CAUSE = Cause(
    code="slow-part",
    name="a slow host, link or uplink",
    seen="the path has a slower link in the testbed, mpi.all_pairs names the hosts of the point, or all points with "
    "a host are slower than all others",
    excluded="mpi.all_pairs found these hosts as fast as the others, or the slow link explains another value",
    decides="mpi.all_pairs over all hosts, twice",
    clues={
        **CLUES,
        "always": "all {count} with {host} are slower than all others, of which the slowest has {value}",
        "stated": "{name} has {share} of the rate of the others",
        "part": "mpi.all_pairs found {name} slower by {excess}",
        "pair": "mpi.all_pairs found {one} with {other} slower than other pairs",
        "alike": "mpi.all_pairs found the {hosts} alike",
        **MISSED,
    },
    remedy="Measure mpi.all_pairs over all hosts, and compare the host's adapter, cable and port with the others.",
    test=test,
    points=points,
)
