"""Bandwidth and message rate of a stream of SEND into posted receives, with several messages under way.

The definition of perftest's ib_send_bw: bytes of all messages over the time from the first post to the last completion
at the sender.

With `multicast` the messages go to a group that the receiver has joined (ib_send_bw -g). The bandwidth is that of the
receiver, so it counts only what arrives. With a count of messages the receiver waits for all of them: where some are
lost, set `duration`.

With pyverbs a sample is a window of `tx_depth` messages on each queue pair, from the first post to the last completion:
it includes the end of each window, but not the pause before the next one.
"""

from labkit.benchmarks.verbs import bandwidth
from labkit.options.verbs import SendStream
from labkit.tools import perftest, pyverbs, qperf

BENCHMARK = bandwidth(
    "SEND stream", "send", (perftest.send_bandwidth, pyverbs.send_bandwidth, qperf.send_bandwidth), SendStream
)
