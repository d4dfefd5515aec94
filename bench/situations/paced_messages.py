"""Messages were sent with pauses, in which the processors sleep, and are told as sent back to back: measured."""

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Effort, Reported, Spec
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.testbeds import Testbed

_TOLD, _SIZE = _measured.ROUND_TRIP, 64
_EFFORT = Effort(launches=3, warmup=1, time_cap=0.5)
_LEAST = 20  # messages of a launch
_BEFORE = "back-to-back.json"  # beside the samples: µs of a round trip back to back
# sockperf computes between two messages, so that its processor stays awake; these sleep
_SERVER = f"""
import socket, sys
listening = socket.create_server(("", 0))
listening.settimeout(10)
print(listening.getsockname()[1], flush=True)
one, _ = listening.accept()
one.settimeout(10)
one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while one.recv({_SIZE}): one.sendall(b"x" * {_SIZE})
"""
_CLIENT = f"""
import json, socket, sys, time
host, port, rate, count = sys.argv[1], *map(int, sys.argv[2:])
one = socket.create_connection((host, port), timeout=5)
one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
begin, starts, times = time.monotonic(), [], []
for number in range(count + 1):
    time.sleep(max(0.0, begin + number / rate - time.monotonic()))
    start = time.perf_counter_ns()
    one.sendall(b"x" * {_SIZE})
    one.recv({_SIZE})
    starts.append(start)
    times.append(time.perf_counter_ns() - start)
print(json.dumps([starts[1:], times[1:]]))
"""


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"message_rate": int(rate)} for rate in random.choice([20, 30, 50, 70, 100], 4, replace=False)]


def _spec() -> Spec:
    return Spec(benchmark=_TOLD, size=_SIZE, ranks=1, testbed=_measured.LINK, options={"tool": "sockperf"})


def _paced(cluster: Testbed, rate: int) -> tuple[list[int], list[int]]:
    """Return starts and round trips, ns, of messages at a rate between two hosts."""
    here, there = [*cluster.hosts][:2]
    words = cluster.on(there, [sys.executable, "-c", _SERVER])
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port, count = server.stdout.readline().strip(), max(_LEAST, round(rate * _EFFORT.time_cap))
        client = [sys.executable, "-c", _CLIENT, there, port, str(rate), str(count)]
        done = subprocess.run(cluster.on(here, client), capture_output=True, text=True, check=True, timeout=30)
    starts, times = json.loads(done.stdout)
    return starts, times


def _make(case: Parameters, folder: Path) -> Campaign:
    rate = case["message_rate"]
    with tempfile.TemporaryDirectory() as place:
        true = _measured.measured(_measured.of_machine(), Path(place) / "true")
        _measured.measured([_spec()], true.path, _EFFORT)
        alone = 1e6 * _measured.typical(true.samples(_TOLD))
        with _measured.kept_up(_measured.LINK) as cluster:
            paced = [_paced(cluster, rate) for _ in range(_EFFORT.launches)]

        def told(one: Samples) -> Samples:
            if one.spec.benchmark != _TOLD:
                return one
            starts, times = (np.array([own], np.int64) for own in paced[one.launch])
            reached = Reported("transaction_rate_per_s", "1/s", "mean", 1e9 * (starts.size - 1) / np.ptp(starts))
            return replace(one, time_ns=times, extras={"start_ns": starts}, reported=(reached,))

        campaign = _measured.rewritten(true, folder, told)
    (folder / _BEFORE).write_text(json.dumps(alone))
    return campaign


def _shown(campaign: Campaign, case: Parameters) -> str:
    alone = json.loads((campaign.path / _BEFORE).read_text())
    paced = 1e6 * _measured.typical(campaign.samples(_TOLD))
    return _measured.above("µs of a round trip with pauses and back to back", paced, alone, 2.0)


KIND = Kind(
    words="messages with pauses, in which the processors sleep",
    labels=(Label(_TOLD, ("cadence",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
