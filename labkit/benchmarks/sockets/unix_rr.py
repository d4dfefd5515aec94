"""Round trip of a message over a Unix stream socket, one at a time: what sockets cost without a network below them.

fio's net engine with ``pingpong``: the time of each message until the same bytes have come back, as `sockets.tcp_rr`
counts it. netperf has such tests (STREAM_RR, DG_RR) only if it was built with Unix sockets, and Debian's was not.
sockperf has them from version 3.8 on. labkit uses neither.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.tools import fio

BENCHMARK = ToolBenchmark(
    title="Unix socket round trip",
    sizes="1:64Ki",
    max_size=2**17,  # fio stands still with messages that the buffer of a socket cannot take, 208 KiB by default
    check=lambda spec: "" if spec.size else "size=0, but a message has at least 1 B. Set size=1.",
    metrics={"round_trip_us": lambda spec: 1, "transaction_rate_per_s": lambda spec: 1},
    tools=(fio.unix_rr,),
    cadence="streaming",
    ends=Ends(where="unix", sockets=True),
    crossings=2,
)
