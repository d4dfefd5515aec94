"""Round trip of a message through libfabric, by any of its providers.

fi_pingpong reports half of it, converted here. Its providers over sockets are tcp (endpoint msg), udp (dgram) and
``tcp;ofi_rxm`` (rdm); ``fi_info`` lists those there are. Provider sockets, which libfabric no longer maintains, may
hang.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.sockets import FabricPingpong
from labkit.tools import fi_pingpong

BENCHMARK = ToolBenchmark(
    title="libfabric round trip",
    options=FabricPingpong,
    sizes="1:64Ki:*4",
    max_size=2**20,
    check=lambda spec: "" if spec.options.provider else "provider is empty. Set provider=tcp.",
    metrics={"round_trip_us": lambda spec: 1, "transaction_rate_per_s": lambda spec: 1},
    tools=(fi_pingpong.pingpong,),
    logs={"fi_pingpong": {}},
    cadence="streaming",
    ends=Ends(where="asked", sockets=True),
)
