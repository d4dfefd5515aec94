"""Round trip of messages sent at a fixed rate, without waiting for answers.

sockperf's under-load with an answer to every message: one thread sends, another one receives. A late answer therefore
delays no later message, and the messages behind it are late in the samples as they would be in a program. Unlike
`sockets.tcp_rr`, this has no coordinated omission. A full socket or the scheduler may still delay the sender. Each
sample therefore has ``late_ns``, the delay of its message against the schedule. The sum of both is what a program would
have waited.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.sockets import UnderLoad
from labkit.point.spec import Spec
from labkit.tools import sockperf


def _check(spec: Spec[UnderLoad]) -> str:
    rate = spec.options.message_rate
    return "" if rate > 0 else f"message_rate={rate}, but it must be above 0 per second. Set message_rate=10000."


BENCHMARK = ToolBenchmark(
    title="round trip under load",
    options=UnderLoad,
    sizes="64",
    max_size=2**20 - 1,
    check=_check,
    metrics={"round_trip_us": lambda spec: 1},
    tools=(sockperf.under_load,),
    logs={"sockperf under-load tcp": {"protocol": "tcp"}, "sockperf under-load udp": {"protocol": "udp"}},
    cadence="paced",
    ends=Ends(where="asked", sockets=True),
)
