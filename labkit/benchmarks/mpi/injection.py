"""Injection overhead: the time from one message to the next in a stream, and its parts for each message.

A window of non-blocking sends, their completion, and one answer of the receiver, as mpi.bandwidth; the times to post
and to complete the window are separate. For each message, the window's time is the injection overhead of Zambre et al.
(ICPP 2019), equation 2: post, completion, and a rest. Here the rest is the answer; there it is the posts that find the
queue full, because their benchmark has no answer. The receiver's speed limits a stream: if it is slower, posts wait.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import InFlight, allowed, first_half, from_active
from labkit.options import frozen
from labkit.options.ranks import Buffers
from labkit.point.spec import Spec


@frozen
class Options(InFlight, Buffers):
    """Options of mpi.injection."""


def _window(spec: Spec[Options]) -> int:
    return spec.options.window


BENCHMARK = KernelBenchmark(
    title="injection overhead",
    kernel="injection",
    options=Options,
    check=allowed,
    ranks=(2, 2),
    sizes="1:64Ki",
    window=_window,
    metrics={"injection_us": _window, "message_rate_per_s": _window},
    phases={"post_ns": "post_us", "complete_ns": "complete_us"},
    phase_work={"post_ns": _window, "complete_ns": _window},
    active=first_half,
    expected=from_active,
    cadence="windowed",
    warmup=(10, 2),
)
