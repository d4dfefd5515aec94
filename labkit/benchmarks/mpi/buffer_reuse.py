"""Latency with many buffers: ping-pong, one-way time, another buffer for every message.

In scheme 1 (the working set), messages use `buffers_in_turn` buffers one after the other. In scheme 2 (`reuse` above
0), a message uses the first buffer with this probability, else a random one. This shows the cost of address translation
and registration in the adapter, and of cache misses. From Liu et al. (2003), section 4.5. Without an adapter that reads
memory, it shows only the effect of caches.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import POISON, KernelBenchmark
from labkit.benchmarks.mpi import Timed, allowed, first_half
from labkit.options import frozen
from labkit.point.spec import Spec

PAGE = 4096  # B; every buffer begins on a separate page


@frozen
class Options(Timed):
    """Options of mpi.buffer_reuse.

    Parameters
    ----------
    buffers_in_turn : different buffers.
    reuse : % of the messages that use the first buffer again.
    """

    buffers_in_turn: int = 16
    reuse: int = 0


def _check(spec: Spec[Options]) -> str:
    turn, reuse = spec.options.buffers_in_turn, spec.options.reuse
    if not 1 <= turn <= 65536:
        return f"buffers_in_turn={turn}, but it must be 1 to 65536. Set buffers_in_turn=16."
    if not 0 <= reuse <= 100:
        return f"reuse={reuse}, but it must be a percentage, 0 to 100. Set reuse=100."
    return allowed(spec)


def _distance(spec: Spec) -> int:
    """Distance of a buffer from the next one, B."""
    return max(-(-spec.size // PAGE) * PAGE, PAGE)


def room(spec: Spec[Options]) -> int:
    """Size of all buffers together, B."""
    return _distance(spec) * spec.options.buffers_in_turn


def places(spec: Spec[Options]) -> NDArray[np.int64]:
    """Offsets of the buffers of successive messages, B: cyclic, or the first one for a share of messages."""
    buffers, reuse = spec.options.buffers_in_turn, spec.options.reuse
    order = np.arange(buffers) * _distance(spec)
    if not reuse:
        return order
    chance = np.random.default_rng(1)  # both ranks must draw the same
    return np.where(chance.random(4 * buffers) < reuse / 100, 0, order[chance.integers(0, buffers, 4 * buffers)])


def _received(spec: Spec[Options], rank: int, send: Callable[[int], Any]) -> NDArray[np.uint8]:
    """What the first message leaves in the receive buffers, to its end."""
    place = int(places(spec)[0])
    message = np.asarray(send(1 - rank))[place : place + spec.size]
    return np.concatenate([np.full(place, POISON, np.uint8), message.astype(np.uint8)])


BENCHMARK = KernelBenchmark(
    title="latency with many buffers",
    kernel="latency_buffers",
    options=Options,
    check=_check,
    ranks=(2, 2),
    max_size=64 * 1024 * 1024,
    buffers=lambda spec: (room(spec), room(spec)),
    metrics={"latency_us": lambda spec: 2},
    active=first_half,
    expected=_received,
    work=lambda spec: {"places": places(spec), "nplaces": len(places(spec))},
    cadence="streaming",
)
