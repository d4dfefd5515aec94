"""Progress of a put: its latency while the target computes, and while the target waits inside MPI.

Rank 0 puts and flushes, once while rank 1 computes for `compute_us` without calling MPI, once while it waits in a
barrier. If puts are truly passive, both take the same time; if not, the first takes as long as the computation. IMB-RMA
Truly_passive_put measures the same.
"""

from labkit.benchmarks import OneSidedBenchmark
from labkit.benchmarks.mpi import _one_sided, first_half
from labkit.options import frozen
from labkit.options.ranks import Buffers, Exposed
from labkit.point.spec import Spec


@frozen
class Options(Exposed, Buffers):
    """Options of mpi.passive_put.

    Parameters
    ----------
    compute_us : how long the target computes, µs.
    """

    compute_us: float = 100.0


def _check(spec: Spec[Options]) -> str:
    compute_us = spec.options.compute_us
    return (
        ""
        if 0 < compute_us <= 1e6
        else f"compute_us={compute_us}, but it must be above 0, up to 1000000. Set compute_us=100."
    )


BENCHMARK = OneSidedBenchmark(
    title="latency of a put while the target computes",
    kernel="passive_put",
    options=Options,
    check=_check,
    ranks=(2, 2),
    sizes="1:1Mi",
    metrics={"latency_us": lambda spec: 1},
    phases={"helped_ns": "helped_us"},
    active=first_half,
    peers=_one_sided.near,
    loop=False,
    exposed=lambda spec, rank, send: send(0) if rank == 1 else None,
    work=lambda spec: {"clock": int(spec.options.compute_us * 1000)},
    cadence="streaming",
    equivalents={"IMB-RMA Truly_passive_put": {"memory": "create"}},
)
