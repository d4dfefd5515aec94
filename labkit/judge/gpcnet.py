"""Write samples as GPCNeT's own tables, by its definitions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from labkit import stats
from labkit.benchmarks import resolve
from labkit.benchmarks.congestion import gpcnet as network_tests
from labkit.errors import DataError, LabkitWarning, SpecError
from labkit.formats import gpcnet
from labkit.judge.congestion import LOADED, seconds
from labkit.point.spec import Spec
from labkit.point.units import MiB
from labkit.store.samples import Samples
from labkit.store.samples.facts import CHUNKS, LIBRARY, RANK_HOSTS, WARMUP

NAMES = ("congestion.gpcnet_isolated", LOADED)


def check(name: str) -> None:
    """Refuse a benchmark without a table in GPCNeT.

    Raises
    ------
    SpecError
        Names those that it has.
    """
    if name not in NAMES:
        raise SpecError(f"format=gpcnet, but {name} is not a GPCNeT test. GPCNeT tests: {', '.join(NAMES)}.")


def text(samples: Sequence[Samples]) -> str:
    """Format results as GPCNeT does: one text for each launch and choice of congestors.

    Benchmarks without a table in GPCNeT are left out with a warning.

    Raises
    ------
    SpecError
        If all are of other benchmarks.
    """
    groups: dict[tuple[object, ...], list[Samples]] = {}
    others = sorted({point.spec.benchmark for point in samples} - set(NAMES))
    if others and len(samples) == sum(point.spec.benchmark in others for point in samples):
        check(others[0])
    if others:
        message = f"Not shown, because GPCNeT has no tables for it: {', '.join(others)}."
        warnings.warn(message, LabkitWarning, stacklevel=2)
    for point in (point for point in samples if point.spec.benchmark in NAMES):
        options = {
            name: value
            for name, value in resolve(point.spec).values.items()
            if name not in ("pattern", "ring", "window")
        }
        where = point.spec.replace(size=0, options={})
        groups.setdefault((where, tuple(options.items()), str(LIBRARY.of(point.meta)), point.launch), []).append(point)
    return "\n".join(gpcnet.write(report(sorted(group, key=_place))) for group in groups.values())


def _place(samples: Samples) -> tuple[int, int]:
    """Where a test stands in the tables: in GPCNeT's order, by size."""
    order = ("latency", "get_latency", "bandwidth", "bandwidth_sync", "put_bandwidth", "allreduce", "alltoall")
    return order.index(_resolved(samples).options.pattern), samples.spec.size


def _resolved(samples: Samples) -> Spec[network_tests.Victims]:
    return resolve(samples.spec).of(network_tests.Victims)


def report(points: Sequence[Samples]) -> gpcnet.Report:
    """Return GPCNeT's tables, by its definitions; `labkit.formats.gpcnet.write` formats them.

    Parameters
    ----------
    points : one launch of each point, all of `congestion.gpcnet_isolated`, or all of `congestion.gpcnet_loaded`, on the
        same ranks.

    Raises
    ------
    DataError
        If there are none, or they do not belong together.
    """
    kinds = {(s.spec.benchmark, s.spec.ranks, s.spec.ppn, s.launch) for s in points}
    if len(kinds) != 1 or next(iter(kinds))[0] not in NAMES or not all(s.n for s in points):
        raise DataError(f"Points of {sorted(map(str, kinds))}, but they must be of one launch of {' or '.join(NAMES)}.")
    spec = resolve(points[0].spec)
    roles, hosts = network_tests.roles(spec), RANK_HOSTS.of(points[0].meta) or range(spec.ranks)

    def nodes(groups: Sequence[Sequence[int]]) -> int:
        return len({hosts[rank] for group in groups for rank in group})

    if spec.benchmark != LOADED:
        return gpcnet.Report(spec.ranks, nodes(roles.victims), tuple(_result(s, "time_ns") for s in points))
    isolated, loaded = ([_result(s, phase) for s in points] for phase in ("isolated_ns", "time_ns"))
    return gpcnet.Report(
        spec.ranks,
        len(set(hosts)),
        tuple(isolated),
        tuple(loaded),
        nodes(roles.victims),
        nodes(roles.congestors),
        min(nodes([group]) for group in roles.congestors),
    )


def over_links(samples: Samples, phase: str) -> tuple[float, float] | None:
    """Share of the bytes of the tables that left their host, and what the busiest host sent to others, MB/s.

    The tables count what a rank sends to both neighbours, on its own host too. Only the rest can be compared with a
    link. None for patterns without a bandwidth, and without the hosts of the ranks or the order of the rings.
    """
    spec, hosts = _resolved(samples), RANK_HOSTS.of(samples.meta)
    chunks, warmup = CHUNKS.of(samples.meta), WARMUP.of(samples.meta)
    if "bandwidth" not in spec.options.pattern or len(hosts) != spec.ranks or sum(chunks) != samples.n:
        return None
    iterations = np.concatenate([warmup + np.arange(count) for count in chunks])
    sent = network_tests.leaving(spec, hosts, iterations).sum(axis=1)
    victims = sum(len(ring) for ring in network_tests.roles(spec).victims)
    time_s = float(seconds(samples, phase).max(axis=0).sum())
    return sent.sum() / (victims * network_tests.moved(spec) * samples.n), sent.max() / time_s / 1e6


def _result(samples: Samples, phase: str) -> gpcnet.Result:
    """Average over ranks and 99 % of all times of one phase, in GPCNeT's units."""
    spec, times = _resolved(samples), seconds(samples, phase)
    pattern, natural = spec.options.pattern, spec.options.ring == "natural"
    two_sided = {"latency": "Two-sided Lat", "bandwidth": "Two-sided BW", "bandwidth_sync": "Two-sided BW+Sync"}
    rest = {"get_latency": "Get Lat", "put_bandwidth": "Put BW"}
    ring = f"{'Nat' if natural else 'RR'} {(two_sided | rest).get(pattern, '')}"
    name = {"allreduce": "Multiple Allreduce", "alltoall": "Multiple Alltoall"}.get(pattern, ring)
    tail = stats.quantile(times, 0.99)
    if "latency" in pattern or pattern == "allreduce":
        units = network_tests.waits(spec)
        values = (float(times.mean()) / units * 1e6, tail / units * 1e6, "usec")
    else:
        work = network_tests.moved(spec) / MiB
        values = (float((work / times.mean(axis=1)).mean()), work / tail, "MiB/s/rank")
    return gpcnet.Result(f"{name} ({spec.size} B)", *values)
