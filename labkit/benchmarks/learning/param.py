"""Collectives and messages of torch.distributed, as PARAM's comms.py prints them."""

from labkit.benchmarks import LogBenchmark

_CALLS = (
    *("all_reduce", "all_gather", "all_gather_base", "all_gather_v", "reduce_scatter", "reduce_scatter_base"),
    *("reduce_scatter_v", "all_to_all", "all_to_all_single", "all_to_allv", "broadcast", "reduce", "gather", "scatter"),
    *("incast", "multicast"),
)
_PATTERNS = ("ping", "ping-pong", "one-way window", "two-way window")

FORMS = {
    "param_collective": LogBenchmark(
        title="collectives of torch.distributed (PARAM)",
        metrics={"busbw_GBps": lambda spec: 1, "algbw_GBps": lambda spec: 1, "latency_us": lambda spec: 1},
        logs={f"PARAM {name}": {"collective": name} for name in _CALLS},
        quantities=("collective",),
        cadence="streaming",
        doc="""A collective of torch.distributed, as PARAM's comms.py prints it.

Every rank takes the mean over its iterations. The time is the median of these over ranks, and the bandwidths follow
from it. With `--z 0` (non-blocking, the default) PARAM starts all calls and waits after the last one. With `--z 1` each
call has a barrier before it and a wait after it. `blocking` says which. `cadence=isolated` of learning.* is `--z 1`;
`cadence=streaming` starts a call when the one before has ended.
""",
    ),
    "param_messages": LogBenchmark(
        title="messages of torch.distributed (PARAM)",
        metrics={
            "latency_us": lambda spec: 1,
            "round_trip_us": lambda spec: 1,
            "bandwidth_MBps": lambda spec: 1,
        },
        logs={f"PARAM {name}": {"pattern": name} for name in _PATTERNS},
        quantities=("pattern",),
        cadence="isolated",
        doc="""Messages between pairs of ranks, as PARAM's comms.py prints them (`--collective pt2pt`).

A ping is one message, a ping-pong a message and its answer, each after a barrier: mean over the iterations of a rank,
median over ranks. The windows count the bytes of all their messages over the time of the window, one way or both ways.
""",
    ),
}
