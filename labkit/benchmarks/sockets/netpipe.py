"""NetPIPE's series of sizes: ping-pong over TCP with growing sizes, each also with some bytes less and more.

One run gives every size, as reported values with the label ``block_size_B``: latency (half the round trip), round trip
and bandwidth of the best of several trials. The sizes next to a power of two (``perturbation``) show the cost of
alignment. For one size as a separate point there is ``sockets.tcp_rr`` with ``tool=netpipe``.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.sockets import Netpipe
from labkit.tools import netpipe

BENCHMARK = ToolBenchmark(
    title="NetPIPE's ladder",
    options=Netpipe,
    sized=False,
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: 1},
    tools=(netpipe.ladder,),
    cadence="streaming",
    ends=Ends(where="asked", sockets=True),
)
