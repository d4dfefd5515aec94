"""Latency and rate of an atomic operation on an int (4 B) or a long long (8 B) in the memory of another PE.

PE r of the first half works on the elements of PE r + ranks/2, one after the other, all pairs at once. A fetching
operation is timed until its value has arrived, any other one until the call returns. As osu_oshm_atomics (OMB 7.4,
openshmem/osu_oshm_atomics.c) with `timing=total`: it writes 500 elements, 8 B apart, works on them once, and prints the
mean latency of the pairs and the sum of their rates. Here the elements are written again after each round. Its operand
is 1 or a random number, here the first element of a message.

In Open MPI 4.1.4 `compare_swap` on 4 B writes over the stack of its caller, so ranks crash in it, and so does
osu_oshm_atomics.
"""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from labkit.benchmarks import POISON, shmem
from labkit.benchmarks.mpi import Values, first_half
from labkit.options import frozen
from labkit.point.spec import Spec

Operation = Literal["fetch_add", "fetch_inc", "add", "inc", "compare_swap", "swap", "set", "fetch"]


@frozen
class Options(shmem.Pair):
    """Options of shmem.atomic.

    Parameters
    ----------
    call : which operation: shmem_int_atomic_fetch_add and so on.
    window : elements at the target, used in turn.
    """

    call: Operation = "fetch_add"
    window: int = 500


def _check(spec: Spec[Options]) -> str:
    if spec.size not in (4, 8):
        return f"size={spec.size} B, but an atomic operation works on 4 or 8 B. Set size=8."
    return shmem.paired(spec) or shmem.countable(spec.options.window)


def _expected(spec: Spec[Options], rank: int, send: Callable[[int], Values]) -> Values | None:
    """The first element: its old value on the PE that fetches, its new value at the target."""
    call, dtype = spec.options.call, np.dtype(shmem.element(spec))
    former = np.full(dtype.itemsize, POISON, np.uint8).view(dtype)
    if first_half(spec, rank):
        return former if call in ("fetch_add", "fetch_inc", "compare_swap", "swap", "fetch") else None
    operand = send((rank + spec.ranks // 2) % spec.ranks)[:1]
    if call in ("fetch_add", "add"):
        return former + operand
    if call in ("fetch_inc", "inc"):
        return former + 1
    return former if call == "fetch" else operand


BENCHMARK = shmem.pair(
    title="atomic operation of OpenSHMEM",
    kernel="shmem_atomic",
    options=Options,
    check=_check,
    ranks=(2, None),
    sizes="4,8",
    max_size=8,
    dtype=shmem.element,
    window=lambda spec: spec.options.window,
    buffers=lambda spec: (8, 8),
    apart=True,
    requests=lambda spec: 1,
    expected=_expected,
    metrics={"latency_us": lambda spec: 1, "operation_rate_per_s": lambda spec: spec.ranks // 2},
    reduce="mean",
    equivalents={"osu_oshm_atomics": {"timing": "total"}},
    work=lambda spec: {"mode": get_args(Operation).index(spec.options.call) + (8 if spec.size == 8 else 0)},
)
