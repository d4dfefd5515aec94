"""Nothing was injected: parts of further recorded examples: hosts of a Slurm job, labs, sessions of one machine.

As in `healthy_recorded`, nobody changed anything, and ranks and tools took the path that they should take. The parts
were chosen by this alone, before labkit judged them.
"""

import itertools
from pathlib import Path

import numpy as np

from bench.situations import Kind, NotShownError, Parameters
from bench.situations._recorded import costs, kept, launched, part
from labkit.store.campaign import Campaign

_SHM = {"transport": "shm"}
_FAR = {"transport": "tcp"}
_PARTS: dict[int, tuple[str, tuple[str, ...], dict[str, str]]] = {  # example, benchmarks, fields of the spec
    0: ("sixteen-hosts", ("mpi.all_pairs",), {}),
    5: ("sixteen-hosts", ("apps.halo3d26", "apps.fft_subcom3d"), {}),
    6: ("sixteen-hosts", ("congestion.incast",), {}),
    7: ("two-cores-launches", ("mpi.latency",), _SHM),
    8: ("two-cores-quiet", ("mpi.latency",), _SHM),
    9: ("two-cores-protocols", ("mpi.latency",), _SHM),
    10: ("two-cores-settings", ("mpi.allreduce",), _SHM),
    11: ("two-cores-labs", ("mpi.latency", "mpi.host_overhead"), _SHM),
    12: ("two-cores-labs", ("mpi.hotspot_receive",), _FAR),
    13: ("two-cores-labs", ("mpi.bandwidth", "mpi.multi_bandwidth"), _FAR),
    14: ("two-cores-labs", ("sockets.tcp_rr", "sockets.udp_rr", "sockets.unix_rr"), {}),
    15: ("two-cores-labs", ("congestion.incast",), {}),
}  # not the collectives of sixteen-hosts, whose ranks share two cores
_LAUNCHES = {"two-cores-launches": 18, "two-cores-settings": 12, "sixteen-hosts": 2, "two-cores-labs": 3}  # others: 6
_EACH = 3
_HARMLESS = {"OMPI_MCA_hwloc_base_binding_policy", "LABKIT_LAB_NOBODY_READS"}  # the first lets ranks share cores


def _cases(random: np.random.Generator) -> list[Parameters]:
    cases: list[Parameters] = []
    for number, (example, _, _) in _PARTS.items():
        count = _LAUNCHES.get(example, 6)
        fewer = [[*some] for some in itertools.combinations(range(count), max(1, count - 1))]
        chosen = random.choice(len(fewer), _EACH - 1, replace=False)
        every = [[*range(count)], *(fewer[place] for place in chosen)]
        cases += [{"part": number, "group": number, "launches": launches} for launches in every]
    return cases


def _make(case: Parameters, folder: Path) -> Campaign:
    example, names, fields = _PARTS[case["part"]]
    some = [
        one
        for name in names
        for one in part(example, name)
        if {variable for variable, _ in one.spec.environment} <= _HARMLESS
        and all(getattr(one.spec, key) == value for key, value in fields.items())
    ]
    return kept(folder, example, [*launched(some, case["launches"]), *costs(example)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    counts = [sum(1 for _ in campaign.samples(name)) for name in _PARTS[case["part"]][1]]
    if not all(counts):
        raise NotShownError(f"a part without launches: {counts}")
    return f"{sum(counts)} launches as they were recorded"


KIND = Kind(
    words="nothing: parts of further recorded examples",
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
)
