"""A study claims a difference, a ratio or a share only where its launches show it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks, figures, studies
from labkit.point.spec import Reported, Spec
from labkit.stats.decision import OPEN, TOO_FEW
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

from . import made

CLAIM = re.compile(r"\d times|takes less time|(?:adds|takes off) \d|certainly send more")
Point = Callable[..., list[Samples]]


def point(name: str, times: Sequence[float], *, busy: bool = False, size: int = 8, **fields: Any) -> list[Samples]:
    """The launches of a point, each with one time (µs) of a message in all its iterations."""
    known = {field for field in Spec.__dataclass_fields__ if field in fields}
    options = {key: value for key, value in fields.items() if key not in known}
    fields = {key: fields[key] for key in known} | {"benchmark": name, "size": size, "options": options}
    spec = benchmarks.resolve(Spec.from_dict(fields))
    metrics = benchmarks.get(name).metrics
    work = next((metrics[one](spec) for one in metrics if one.endswith("rate_per_s")), 1.0)
    meta = {"fingerprint": spec.fingerprint({}), "badges": ["busy-machine"] if busy else [], "engine": "pyverbs"}
    clock = np.arange(200) % 7  # ns: the values stand on no coarse steps
    return [
        made.samples(spec, 1000 * time * work + clock * (time > 0), launch=n, meta=meta) for n, time in enumerate(times)
    ]


PAIRS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {  # study → points, fast and slow by turns; parameters
    "rpc": (
        [
            {"name": "sockets.tcp_rr", "tool": "sockperf", "ranks": 1},
            {"name": "rpc.latency", "transport": "tcp", "system": "grpc", "ranks": 1},
            {"name": "rpc.latency", "transport": "tcp", "system": "thrift", "ranks": 1},
            {"name": "rpc.latency", "transport": "tcp", "system": "thrift", "language": "python", "ranks": 1},
        ],
        {"mpi": False},
    ),
    "gpu_and_nccl": (
        [
            {"name": "gpu.mpi_latency", "memory": one, "peer_memory": one, "accelerator": "stand-in"}
            for one in ("host", "device")
        ],
        {},
    ),
    "message_rate": (
        [
            {"name": "mpi.multi_bandwidth", "ranks": 2, "transport": "shm"},
            {"name": "mpi.multi_bandwidth", "ranks": 4, "transport": "shm"},
            {"name": "mpi.bandwidth", "window": 64, "transport": "shm"},
            {"name": "mpi.queue_depth", "depth": 64, "transport": "shm"},
            {"name": "mpi.bandwidth", "window": 16, "transport": "shm"},
        ],
        {},
    ),
    "registration_and_buffers": ([{"name": "verbs.write_bandwidth", "qps": qps} for qps in (1, 16)], {}),
    "binding_layers": ([{"name": "mpi.latency", "binding": one} for one in ("c", "buffers")], {}),
    "completion": (
        [{"name": "verbs.send_latency", "tool": "pyverbs", "completion": one} for one in ("poll", "event")],
        {},
    ),
    "echo_sequencer_kv": ([{"name": "verbs.echo", "clients": clients, "size": 64} for clients in (1, 8)], {}),
    "halo_and_fft": (
        [{"name": "apps.halo3d26", "ranks": 8, "periodic": one, "neighbours": "26"} for one in (False, True)],
        {},
    ),
}


@pytest.fixture
def said(tmp_path: Path) -> Callable[..., str]:
    """Return what a study finds in points; it reads nothing else."""
    Campaign(tmp_path / "c")

    def read(name: str, fast: Sequence[float], slow: Sequence[float], *, busy: bool = False) -> str:
        kind, (fields, parameters) = studies.get(name), PAIRS[name]
        every = [one for n, each in enumerate(fields) for one in point(times=(fast, slow)[n % 2], busy=busy, **each)]
        study = type("Read", (kind,), {"samples": every, "__module__": kind.__module__})
        return str(study(campaign=str(tmp_path / "c"), measure=False, **parameters).findings())

    return read


@pytest.mark.parametrize("name", PAIRS)
def test_a_difference_is_claimed_where_launches_show_it_and_nowhere_else(name: str, said: Callable[..., str]) -> None:
    fast, slow = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05], [3.0, 3.01, 3.02, 3.03, 3.04, 3.05]
    assert CLAIM.search(said(name, fast, slow)), "launches are apart"
    assert not CLAIM.search(said(name, [1.0, 5.0, 9.0] * 2, [2.0, 6.0, 8.0] * 2)), "launches decide nothing"
    assert not CLAIM.search(said(name, [2.0] * 6, [2.0] * 6)), "no effect"
    assert not CLAIM.search(said(name, [0.0] * 6, [0.0] * 6)), "zeros"
    for count in (1, 3):
        assert not CLAIM.search(said(name, fast[:count], slow[:count])), "too few launches"


def incast(
    senders: int, mbps: float, again: float, launch: int = 0, *, busy: bool = False, size: int = 1 << 20
) -> Samples:
    """A launch of senders that share a link of 200 Mbit/s evenly."""
    options = {"senders": senders, "streams": 1, "duration": 2}
    spec = benchmarks.resolve(
        Spec(benchmark="congestion.incast", size=size, transport="tcp", testbed="virtual-cluster:4", options=options)
    )
    streams = [
        Reported("bandwidth_MBps", "MB/s", "mean", mbps / senders, rank=n, labels={"sender": n}) for n in range(senders)
    ]
    total = [Reported("bandwidth_MBps", "MB/s", "mean", mbps), Reported("retransmits", "", "total", again)]
    badges = ["busy-machine"] if busy else []
    meta = {"fingerprint": spec.fingerprint({}), "badges": badges, "testbed": {"rate_bps": 200e6}}
    return made.samples(spec, launch=launch, reported=[*total, *streams], meta=meta)


def reading(name: str, samples: list[Samples], folder: Path, **parameters: Any) -> Any:
    """A study of samples."""
    Campaign(folder)
    kind = studies.get(name)
    study = type("Read", (kind,), {"samples": samples, "__module__": kind.__module__})
    return study(campaign=str(folder), measure=False, **parameters)


def found(name: str, samples: list[Samples], folder: Path, **parameters: Any) -> str:
    """What a study finds in samples."""
    return str(reading(name, samples, folder, **parameters).findings())


def test_incast_claims_losses_and_full_links_only_where_launches_show_them(tmp_path: Path) -> None:
    def said(one: Sequence[float], several: Sequence[float], mbps: float = 24.0, *, busy: bool = False) -> str:
        counts = [(1, n, again) for n, again in enumerate(one)] + [(3, n, again) for n, again in enumerate(several)]
        return found("incast", [incast(k, mbps, again, n, busy=busy) for k, n, again in counts], tmp_path / "c")

    apart = said([0, 1, 0, 1, 1, 1], [90, 100, 95, 95, 95, 95])
    assert (
        "3 senders of 1 stream with calls of 1 MiB send 95 segments (90 to 100 in 6 launches) again, 1 sender 1"
        in apart
    )
    assert "overflows" in apart
    assert "100 % of what the receiver's link carries as payload, which is full" in apart
    for none in (said([0] * 6, [0] * 6), said([0, 90, 200] * 2, [10, 100, 150] * 2), said([0], [90])):
        assert "in none do many send more segments again" in none or "No difference is certain: the launches do" in none
        assert "overflows" not in none
    assert "as payload, which" not in said([0], [90])
    above = said([0, 0], [0, 0], mbps=40.0)  # more than the link carries: no share of it
    assert "the receiver's link carries" not in above
    assert "2 of 2 sums are above what the link carries" in above


def test_the_fewest_senders_stand_for_one_where_one_was_not_measured(tmp_path: Path) -> None:
    counts = [(3, n, 10 * n) for n in range(2)] + [(15, n, 19_000 + n * 1000) for n in range(2)]
    said = found("incast", [incast(k, 24.0, again, n) for k, n, again in counts], tmp_path / "c")
    assert (
        "15 senders of 1 stream with calls of 1 MiB send 19,500 segments (19,000 to 20,000 in 2 launches) again" in said
    )
    assert "No difference is certain: the launches do not decide (2 launches)." in said


@pytest.mark.parametrize(("senders", "first", "axis"), [(3, "sender 0", "stream"), (15, "0", "sender")])
def test_a_stream_of_each_sender_is_named_once(senders: int, first: str, axis: str) -> None:
    figure = figures.streams([incast(senders, 24.0, 0.0)], "bandwidth_MBps")
    assert figure.data[0].x[0] == first
    assert figure.layout.xaxis.title.text == axis


def test_interference_claims_a_factor_only_where_launches_show_it(tmp_path: Path) -> None:
    def said(alone: Sequence[float], beside: Sequence[float], *, busy: bool = False) -> str:
        spec = benchmarks.resolve(
            Spec(benchmark="congestion.interference", size=10_000, ranks=2, testbed="virtual-cluster:4")
        )
        meta = {"fingerprint": spec.fingerprint({}), "badges": ["busy-machine"] if busy else []}
        clock = 1 + np.arange(200) % 7 / 1000
        times = [
            [np.tile(us * 1000 * clock, (2, 1)).astype(np.int64) for us in pair]
            for pair in zip(alone, beside, strict=True)
        ]
        launches = [
            made.samples(spec, late, launch=n, meta=meta, extras={"alone_ns": quiet})
            for n, (quiet, late) in enumerate(times)
        ]
        return found("interference_and_qos", launches, tmp_path / "c")

    assert re.search(r"the median takes 3 times as long", said([10, 10.1, 10.2, 10.3], [30, 30.3, 30.6, 30.9]))
    for none, why in (
        (said([10] * 6, [10] * 6), "they differ by less than 2 %"),
        (said([10] * 4, [5, 20, 30, 7]), OPEN),
        (said([10], [30]), TOO_FEW),
        (said([10] * 3, [30] * 3), TOO_FEW),
        (said([0] * 6, [30] * 6), "a value is missing or zero"),
        (said([30] * 4, [10] * 4), "it fell"),
    ):
        assert "no rise of the median is certain" in none
        assert why in none


def test_the_table_of_interference_names_the_rate_of_emulated_links(tmp_path: Path) -> None:
    spec = benchmarks.resolve(
        Spec(benchmark="congestion.interference", size=10_000, ranks=2, testbed="virtual-cluster:4")
    )
    times = np.full((2, 200), 10_000, np.int64)
    for facts, known in (({"rate_bps": 200_000_000}, ["200 Mbit/s"]), ({}, None)):
        meta = {"fingerprint": spec.fingerprint({}), "badges": [], "testbed": facts}
        launch = made.samples(spec, times, launch=0, meta=meta, extras={"alone_ns": times})
        table = reading("interference_and_qos", [launch], tmp_path / str(len(facts))).table()
        assert (table["links"].tolist() if known else known) == known
        assert ("links" in table) is bool(known)


def test_victims_that_certainly_feel_nothing_share_a_sentence(tmp_path: Path) -> None:
    launches = []
    for aggressor, times in (("halo3d26", (10, 20)), ("incast", (10, 30)), ("udp", (10, 15))):
        options = {"aggressor": aggressor}
        given = Spec(
            benchmark="congestion.interference", size=10_000, ranks=2, testbed="virtual-cluster:4", options=options
        )
        spec = benchmarks.resolve(given)
        quiet, late = (np.full((2, 200), us * 1000, np.int64) for us in times)
        meta = {"fingerprint": spec.fingerprint({}), "badges": []}
        launches += [made.samples(spec, late, launch=n, meta=meta, extras={"alone_ns": quiet}) for n in range(2)]
    said = found("interference_and_qos", launches, tmp_path / "c")
    assert said.count("no rise of the median is certain") == 1
    assert "In 3 of 3 cases no rise of the median is certain: 1.5 to 3 times (2 launches each or more)" in said
    assert "The median rose in 6 of 6 interleaved pairs." in said


def test_iozone_tells_records_and_flags_only_where_launches_show_them(tmp_path: Path) -> None:
    def table(scale: float, launches: int, gain: float = 2.0, **options: Any) -> list[Samples]:
        spec = benchmarks.resolve(Spec(benchmark="storage.iozone", ranks=1, options=options))
        meta = {"fingerprint": spec.fingerprint({}), "filesystem": "ext4"}
        cells = {record: 100 * scale * (gain if record > 4096 else 1) for record in (4096, 65536)}
        return [
            made.samples(
                spec,
                launch=launch,
                meta=meta,
                reported=[
                    Reported("bandwidth_MBps", "MB/s", "mean", mbps * (1 + launch / 1000), labels=labels)
                    for record, mbps in cells.items()
                    for labels in [{"test": "write", "file_size_B": 1 << 20, "record_size_B": record}]
                ],
            )
            for launch in range(launches)
        ]

    records_told, flag_told = "records of 64 KiB are 2 times as fast", "has 50 % of its rate without"
    many, few = (
        found("iozone", [*table(1.0, count), *table(0.5, count, sync=True)], tmp_path / str(count)) for count in (6, 3)
    )
    assert records_told in many
    assert flag_told in many
    assert records_told not in few
    assert flag_told not in few
    assert "no difference is claimed, because a comparison needs at least 4 launches on each side" in few
    same = found("iozone", table(1.0, 6, gain=1.0), tmp_path / "same")
    assert "times" not in same


@pytest.mark.parametrize(("launches", "told"), [(6, True), (3, False)])
def test_hpl_is_slower_than_one_rank_only_where_launches_show_it(tmp_path: Path, launches: int, *, told: bool) -> None:
    def run(ranks: int, seconds: float) -> list[Samples]:
        spec = benchmarks.resolve(Spec(benchmark="compute.hpl", ranks=ranks))
        meta = {"fingerprint": spec.fingerprint({})}
        return [
            made.samples(
                spec,
                launch=n,
                meta=meta,
                reported=[
                    *made.values("run_time_s", value=seconds * (1 + n / 1000)),
                    *made.values("performance_GFLOPS", value=1.0),
                ],
            )
            for n in range(launches)
        ]

    said = found("hpl", [*run(1, 10.0), *run(2, 20.0)], tmp_path / "c")
    assert "The speedup of 2 ranks is 0.5" in said
    assert ("slower than one rank" in said) is told
