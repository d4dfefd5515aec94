"""Messages beside streams both ways: what runs, how both outputs become one point, and the real thing."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks
from labkit.errors import SpecError
from labkit.options.sockets import UnderStreams
from labkit.point.spec import Effort, Reported, Spec
from labkit.run import measuring
from labkit.tools import Parsed, _under_streams, sockperf

SPEC = Spec(benchmark="sockets.under_streams", size=64)
GOLDEN = Path(__file__).parent / "golden"


def test_both_pairs_run_between_the_same_hosts_and_the_streams_outlast_the_messages() -> None:
    options = {"streams": 3, "congestion": "reno", "message_rate": 500}
    spec = benchmarks.resolve(SPEC.replace(options=options)).of(UnderStreams)
    made = sockperf.under_streams(spec, Effort(time_cap=1.0))
    messages, streams = made.each
    assert messages["client"].startswith("sockperf under-load -m 64 --mps 500 --reply-every 1 -t 2 --full-log")
    assert streams["client"] == "iperf3 --bidir -P 3 -t 6 -l 131072 -C reno -J"
    assert (messages["listens"], streams["listens"]) == ("udp", "tcp")
    assert made.client[-3:] == ("{address}", "-p", "{port}")
    assert made.programs == ("sockperf", "iperf3")


def test_the_point_has_the_times_of_the_messages_and_the_rates_of_the_streams() -> None:
    times = np.array([3, 4], np.int64)
    messages = Parsed(time_ns=times, facts={"messages": 2})
    rate = Reported("bandwidth_MBps", "MB/s", "mean", 9.0, labels={"direction": "forward"})
    both = _under_streams._combined([messages, Parsed(reported=(rate,), facts={"payload_B": 7})])
    assert both.time_ns is times
    assert both.reported == (rate,)
    assert both.facts == {"messages": 2, "payload_B": 7}


@pytest.mark.parametrize("options", [{"streams": 0}, {"streams": 65}, {"message_rate": 0}])
def test_impossible_loads_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(SpecError, match=f"{next(iter(options))}="):
        benchmarks.resolve(SPEC.replace(options=options))


@pytest.mark.netns
def test_messages_wait_in_the_queue_that_streams_fill(tmp_path: Path) -> None:
    for program in ("sockperf", "iperf3"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    where = "virtual-cluster:2,rate=50mbit"
    effort = Effort(launches=1, time_cap=0.5)
    alone_too = Spec(benchmark="sockets.under_load", size=64, options={"message_rate": 200}, testbed=where)
    loads = [SPEC.replace(testbed=where), alone_too]
    beside, alone = measuring.measure(loads, effort, into=tmp_path / "c").samples()
    if beside.spec.benchmark != SPEC.benchmark:
        beside, alone = alone, beside
    assert np.median(beside.time_ns) > np.median(alone.time_ns)
    rates = [v for v in beside.reported if v.name == "bandwidth_MBps" and v.rank is None and v.labels]
    assert {str(v.labels["direction"]) for v in rates} >= {"forward"}
    assert all(v.value > 0 for v in rates)
    assert beside.meta["payload_B"] > 0
