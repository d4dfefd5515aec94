"""Some packets take a slower way and arrive after later ones, as over links that share a load unevenly: measured.

Both ways together have the rate of the link, and nothing is lost, but TCP sends again what it takes for lost.
"""

import json
import subprocess
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, NotShownError, Parameters, _measured
from labkit.point.spec import Effort
from labkit.store.campaign import Campaign
from labkit.testbeds import Testbed

_EFFORT = Effort(launches=3, iterations=40, warmup=1, time_cap=2.0)
_COUNTED = "counted.json"  # beside the samples: what Linux and the queues counted
_VAIN = "TCPDSACKRecv"  # of Linux: segments that were sent again although they had arrived
_RATE = 200.0  # Mbit/s of both ways together


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"sixteenths": int(some)} for some in random.permutation([1, 2, 2, 3])]


def _ways(sixteenths: int) -> list[str]:
    """Return commands that send some sixteenths of the packets another way, chosen by their number in the header."""
    other = _RATE * sixteenths / 16
    numbers = [16 * place // sixteenths for place in range(sixteenths)]

    def rate(mbit: float) -> str:
        return f"htb rate {mbit:.1f}mbit ceil {mbit:.1f}mbit burst 3028 cburst 3028 quantum 60000"

    return [
        "ip link set dev eth0 gso_max_segs 1",  # each packet of TCP goes its own way
        f"tc class change dev eth0 parent 1: classid 1:1 {rate(_RATE - other)}",
        f"tc class add dev eth0 parent 1: classid 1:2 {rate(other)}",
        "tc qdisc add dev eth0 parent 1:2 handle 20: bfifo limit 1048576",
        *(
            f"tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match u16 {number} 0x000f at 4 flowid 1:2"
            for number in numbers
        ),
    ]


def _counted(cluster: Testbed) -> dict[str, int]:
    """Return the segments sent in vain by the first host, and the packets that its queues dropped."""

    def printed(*words: str) -> str:
        done = subprocess.run(cluster.on("vc0", words), check=True, timeout=30, capture_output=True, text=True)
        return done.stdout

    names, values = (line.split() for line in printed("cat", "/proc/net/netstat").splitlines()[:2])
    queues = json.loads(printed(_measured.program("tc"), "-s", "-j", "qdisc", "show", "dev", "eth0"))
    return {
        "vain": int(dict(zip(names, values, strict=True))[_VAIN]),
        "dropped": sum(int(one.get("drops", 0)) for one in queues),
    }


def _make(case: Parameters, folder: Path) -> Campaign:
    with _measured.kept_up(_measured.LINK) as cluster:
        _measured.change(cluster, *_ways(case["sixteenths"]))
        campaign = _measured.measured(_measured.connections(_measured.LINK), folder, _EFFORT)
        (folder / _COUNTED).write_text(json.dumps(_counted(cluster)))
    return campaign


def _shown(campaign: Campaign, case: Parameters) -> str:
    counted = json.loads((campaign.path / _COUNTED).read_text())
    if counted["dropped"] or counted["vain"] < 100:
        raise NotShownError(f"{counted['vain']} segments were sent in vain, and queues dropped {counted['dropped']}")
    return f"{_measured.slow_stream(campaign, 1.15)}; {counted['vain']} segments sent in vain, none lost"


KIND = Kind(
    words="packets that overtake one another",
    labels=(Label(_measured.STREAM, ("reordering",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
