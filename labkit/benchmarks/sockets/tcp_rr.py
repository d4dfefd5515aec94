"""Round trip of a request and its response over one TCP connection, one at a time.

The definition of netperf's TCP_RR: request and response both have the message size, and the time is the whole round
trip. Replacements are sockperf's ping-pong, qperf's tcp_lat, NetPIPE and iperf's bounce-back; labkit doubles the
numbers of tools that report half a round trip. sockperf also gives every packet's time, NetPIPE the best of several
trials. All tools wait for an answer before the next request. A late answer therefore delays requests that would also
have been late, and tails look too good (coordinated omission). `sockets.under_load` avoids this.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.sockets import TcpRr
from labkit.tools import iperf, netperf, netpipe, qperf, sockperf

BENCHMARK = ToolBenchmark(
    title="TCP round trip",
    options=TcpRr,
    sizes="1:64Ki",
    max_size=2**20 - 1,
    check=lambda spec: "" if spec.size else "size=0, but a request has at least 1 B. Set size=1.",
    metrics={"round_trip_us": lambda spec: 1, "transaction_rate_per_s": lambda spec: 1},
    tools=(netperf.tcp_rr, sockperf.tcp_rr, qperf.tcp_rr, iperf.tcp_rr, netpipe.tcp_rr),
    logs={test: {} for test in ("netperf TCP_RR", "sockperf ping-pong tcp", "qperf tcp_lat", "iperf bounce-back")},
    cadence="streaming",
    ends=Ends(where="asked", sockets=True),
    crossings=2,
)
