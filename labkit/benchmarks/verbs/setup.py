"""Cost of making every object of a connection: device, domain, memory, channel, queues, and the states of a queue pair.

A sample is the time of all of them with their ends; each step is a separate column. A program pays this before its
first message, in addition to the exchange of addresses.

With `rdma_cm` a sample is a connection to the other end by the RDMA connection manager, made and closed: the steps of
rdma-core's cmtime. The client finds device and path, makes its queue pair with its completion queues, connects until
both ends are established, and disconnects.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import VERBS
from labkit.options.verbs import Setup
from labkit.tools import pyverbs

STEPS = {
    "open_device_ns": "open_device_us",
    "protection_domain_ns": "protection_domain_us",
    "memory_4KiB_ns": "memory_us",
    "completion_channel_ns": "completion_channel_us",
    "completion_queue_ns": "completion_queue_us",
    "queue_pair_to_init_ns": "queue_pair_us",
    "init_to_rtr_ns": "to_rtr_us",
    "rtr_to_rts_ns": "to_rts_us",
    "address_handle_ns": "address_handle_us",
    "resolve_address_ns": "resolve_address_us",
    "resolve_route_ns": "resolve_route_us",
    "connect_ns": "connect_us",
    "disconnect_ns": "disconnect_us",
}


BENCHMARK = ToolBenchmark(
    title="set-up of a connection",
    options=Setup,
    sized=False,
    metrics={"latency_us": lambda spec: 1},
    phases=STEPS,
    tools=(pyverbs.setup,),
    ends=VERBS,
)
