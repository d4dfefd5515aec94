"""GPCNeT's congestors without victims: the load that they put on the network.

A sample is one round of a group: every rank exchanges a message with every other in pairs (`alltoall`), all send or put
one to the first rank (`incast`, `put_incast`), or all get one from it (`get_broadcast`); a barrier follows every eighth
round, outside the timed part. The slowest rank counts. The bandwidth counts the bytes of all groups in the time of the
slowest. GPCNeT 1.3 uses 4096 B.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.congestion import _gpcnet
from labkit.options import frozen
from labkit.point.spec import Spec


@frozen
class Options(_gpcnet.Congestors, _gpcnet.Windows):
    """Options of congestors alone."""


def _moved(spec: Spec) -> float:
    """B of one round of all groups."""
    assignment = _gpcnet.roles(spec)
    return spec.size * sum(
        (len(members) - 1) * (len(members) if pattern == "alltoall" else 1)
        for members, pattern in zip(assignment.congestors, assignment.patterns, strict=True)
    )


BENCHMARK = KernelBenchmark(
    title="GPCNeT's congestors",
    kernel="loads",
    every_time=True,
    options=Options,
    check=_gpcnet.check,
    ranks=(2, None),
    sizes="4Ki",
    max_size=16 * 1024 * 1024,
    requests=_gpcnet.requests,
    buffers=_gpcnet.buffers,
    peers=_gpcnet.peers,
    splits=_gpcnet.splits,
    expected=_gpcnet.expected,
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": _moved},
    work=_gpcnet.allocated,
    formerly=_gpcnet.formerly,
    cadence="streaming",
    warmup=(10, 2),
)
