"""Round trip of messages sent at a fixed rate while TCP streams fill the path in both directions.

The measurement of Flent's test rrul ("realtime response under load"): streams both ways, and the delay that a small
message then sees. `streams` connections of iperf3 send in each direction (``--bidir``), and sockperf's under-load sends
between the same two hosts and does not wait for answers. The streams begin 2.5 s before the first message and end after
the last one. `sockets.under_load` with the same rate is the delay without streams: the difference is the queues. Beside
the round trips there are the bandwidths of both directions. Unlike rrul, with four streams of different DSCP, all
streams have the same DSCP, and there is one probe. Over UDP a lost message has no sample; ``dropped_messages`` counts
them.

T. Høiland-Jørgensen et al., Flent: The FLExible Network Tester, VALUETOOLS 2017.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.sockets import UnderStreams
from labkit.point.spec import Spec
from labkit.tools import sockperf

_MOST = 64  # streams of iperf3 each way


def _check(spec: Spec[UnderStreams]) -> str:
    options = spec.options
    if options.message_rate <= 0:
        return f"message_rate={options.message_rate}, but it must be above 0 per second. Set message_rate=100."
    if not 1 <= options.streams <= _MOST:
        return f"streams={options.streams}, but it must be 1 to {_MOST}. Set streams=4."
    return ""


BENCHMARK = ToolBenchmark(
    title="round trip beside streams both ways",
    options=UnderStreams,
    sizes="64",
    max_size=65507,
    check=_check,
    metrics={"round_trip_us": lambda spec: 1},
    tools=(sockperf.under_streams,),
    cadence="paced",
    ends=Ends(where="asked", sockets=True),
)
