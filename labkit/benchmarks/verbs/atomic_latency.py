"""Latency of an atomic operation on 8 B of the other end's memory: from the post to the completion.

The definition of perftest's ib_atomic_lat. The processor of the other end does nothing.
"""

from labkit.benchmarks.verbs import latency
from labkit.options import frozen
from labkit.options.verbs import Atomic, Verbs
from labkit.tools import perftest, pyverbs


@frozen
class Options(Atomic, Verbs):
    """Options of verbs.atomic_latency."""


BENCHMARK = latency(
    "atomic operation latency",
    "atomic",
    (perftest.atomic_latency, pyverbs.atomic_latency),
    Options,
    sizes="8",
    max_size=8,
    crossings=0,  # how long the device takes for the operation itself is not known
)
