"""Nothing was injected: parts of recorded examples by benchmark and path, with some of their launches.

The machine of the examples may have been busy, so "healthy" means that nobody changed anything, and that ranks and
tools took the path that they should take. The parts were chosen by this alone, before labkit judged them.
"""

from pathlib import Path

import numpy as np

from bench.situations import Kind, NotShownError, Parameters
from bench.situations._recorded import SPINE, costs, kept, launched, part, with_launches
from labkit.store.campaign import Campaign

_SHM = {"transport": "shm"}
_AUTO = {"transport": "auto"}
_PARTS: tuple[
    tuple[str, tuple[str, ...], dict[str, str], dict[str, str]], ...
] = (  # example, benchmarks, fields of the spec, options
    ("virtual-cluster", ("mpi.bandwidth",), {"testbed": SPINE}, {}),
    ("virtual-cluster", ("mpi.latency",), {"testbed": SPINE}, {}),
    ("virtual-cluster", ("sockets.tcp_stream",), {"testbed": SPINE}, {}),
    ("virtual-cluster", ("sockets.tcp_stream",), {"testbed": SPINE.replace("200mbit", "100mbit")}, {}),
    ("virtual-cluster", ("sockets.tcp_stream",), {"testbed": SPINE.replace("200mbit", "50mbit")}, {}),
    ("virtual-cluster", ("sockets.tcp_rr",), {"testbed": SPINE}, {}),
    ("virtual-cluster", ("mpi.bandwidth", "sockets.tcp_stream", "mpi.latency"), {"testbed": SPINE}, {}),
    ("virtual-cluster", ("mpi.all_pairs",), {"testbed": SPINE}, {}),
    ("two-cores", ("mpi.bandwidth",), _SHM, {}),
    ("two-cores", ("mpi.latency",), _SHM, {}),
    ("two-cores", ("mpi.bandwidth",), _AUTO, {"binding": "c"}),
    ("two-cores", ("mpi.latency",), _AUTO, {"binding": "c"}),
    ("two-cores", ("mpi.allreduce", "mpi.latency"), _SHM, {}),
    ("two-cores", ("mpi.bcast", "mpi.latency"), _SHM, {}),
    ("two-cores", ("mpi.reduce", "mpi.latency"), _SHM, {}),
    ("two-cores", ("mpi.alltoall", "mpi.latency"), _SHM, {}),
    ("two-cores", ("mpi.get_latency",), _AUTO, {}),
    ("two-cores", ("mpi.put_latency",), _AUTO, {}),
    ("two-cores", ("mpi.get_bandwidth",), _AUTO, {}),
    ("two-cores", ("sockets.tcp_rr",), {}, {"tool": "sockperf"}),
    ("two-cores", ("sockets.udp_rr",), {}, {}),
    ("two-cores", ("sockets.unix_rr",), {}, {}),
    ("two-cores", ("sockets.tcp_stream",), {}, {"tool": "auto"}),
    ("two-cores-limits", ("mpi.bandwidth",), {"testbed": "virtual-cluster:2,rate=50mbit"}, {}),
    ("two-cores-limits", ("mpi.bandwidth",), _SHM, {}),
)
_EACH = 6


def _cases(random: np.random.Generator) -> list[Parameters]:
    cases: list[Parameters] = []
    for number in range(len(_PARTS)):
        of_part = [{"part": number, "group": number}] * _EACH
        cases += [{**of_part[0], "launches": [*range(6)]}, *with_launches(random, of_part[1:])]
    return cases


def _make(case: Parameters, folder: Path) -> Campaign:
    example, names, fields, options = _PARTS[case["part"]]
    some = [
        one
        for name in names
        for one in part(example, name)
        if all(getattr(one.spec, key) == value for key, value in fields.items())
        and all(one.spec.values.get(key) == value for key, value in options.items())
    ]
    return kept(folder, example, [*launched(some, case["launches"]), *costs(example)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    names = _PARTS[case["part"]][1]
    counts = [sum(1 for _ in campaign.samples(name)) for name in names]
    if not all(counts):
        raise NotShownError(f"a part without launches: {names}")
    return f"{sum(counts)} launches as they were recorded"


KIND = Kind(words="nothing: parts of recorded examples", source="recorded", cases=_cases, make=_make, shown=_shown)
