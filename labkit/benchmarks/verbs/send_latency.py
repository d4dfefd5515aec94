"""Latency of SEND: ping-pong into posted receives, one-way time.

The definition of perftest's ib_send_lat: half the round trip. The samples are halved too. Over pyverbs every call goes
through Python. The cost of an empty call is stored with the samples.
"""

from labkit.benchmarks.verbs import latency
from labkit.options.verbs import Send
from labkit.tools import perftest, pyverbs, qperf

BENCHMARK = latency(
    "SEND into a posted receive latency",
    "send",
    (perftest.send_latency, pyverbs.send_latency, qperf.send_latency),
    Send,
)
