"""Tools of RDMA: exact command lines, what is refused, and real runs of UCX over the loopback."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from labkit import benchmarks, tools
from labkit.errors import DataError, SpecError
from labkit.options.verbs import AtomicBandwidth, Uct, Ucx
from labkit.point.notes import texts
from labkit.point.spec import Effort, Spec
from labkit.testbeds import _rdma
from labkit.tools import Invocation, perftest, qperf, ucx_perftest

GOLDEN = Path(__file__).parent / "golden" / "tools"
SHORT = Effort(time_cap=0.2, time_limit=20)
Make = Callable[[Spec, Effort], Invocation]


def asked(make: Make, size: int = 8, **options: object) -> Spec:
    """A spec with options of the class that a tool reads."""
    kinds: dict[str, Any] = {qperf.__name__: AtomicBandwidth, ucx_perftest.__name__: Ucx}
    kind = kinds.get(make.__module__)
    return verbs(size).replace(options=kind(**options) if kind else options)


def ucx(size: int = 8, transport: str = "auto", **options: Any) -> Spec[Ucx]:
    return verbs(size, transport).replace(options=Ucx(**options)).of(Ucx)


def uct(size: int = 8, transport: str = "tcp", **options: Any) -> Spec[Uct]:
    return verbs(size, transport).replace(options=Uct(**options)).of(Uct)


def verbs(size: int = 8, transport: str = "auto", **options: object) -> Spec:
    return Spec(benchmark="verbs.any", size=size, ranks=1, transport=transport, options=options)  # type: ignore[arg-type]


# ---- perftest: command lines

HEAD = "{} -F -d {{device}} -x {{gid}} -p {{port}} -c RC "


@pytest.mark.parametrize(
    ("make", "program", "rest"),
    [
        (perftest.send_latency, "ib_send_lat", "-s 8 -n 1011 -u 18 -U"),
        (perftest.write_latency, "ib_write_lat", "-s 8 -n 1011 -u 18 -U"),
        (perftest.read_latency, "ib_read_lat", "-s 8 -n 1011 -u 18 -U"),
        (perftest.atomic_latency, "ib_atomic_lat", "-A FETCH_AND_ADD -n 1011 -u 18 -U"),
        (perftest.send_bandwidth, "ib_send_bw", "-s 8 -n 1000 -u 18"),
        (perftest.write_bandwidth, "ib_write_bw", "-s 8 -n 1000 -u 18"),
        (perftest.read_bandwidth, "ib_read_bw", "-s 8 -n 1000 -u 18"),
        (perftest.atomic_bandwidth, "ib_atomic_bw", "-A FETCH_AND_ADD -n 1000 -u 18"),
    ],
)
def test_perftest_as_it_is(make: Make, program: str, rest: str) -> None:
    job = make(verbs(), SHORT)
    assert " ".join(job.server) == HEAD.format(program) + rest
    assert " ".join(job.client) == HEAD.format(program) + rest + " {address}"
    assert (job.tool.name, job.tool.package, job.programs, job.listens) == ("perftest", "perftest", (program,), "tcp")
    assert job.retries == 2
    assert program in perftest.TOOL.programs
    assert program in job.definition


@pytest.mark.parametrize(
    ("make", "size", "options", "effort", "line"),
    [
        (
            perftest.send_latency,
            64,
            {
                "connection": "UD",
                "completion": "event",
                "inline": 64,
                "mtu": 1024,
                "tclass": 104,
                "gid": 3,
                "timeout": 14,
            },
            Effort(iterations=100, warmup=5),
            "ib_send_lat -F -d {device} -x 3 -p {port} -c UD -s 64 -n 106 -e -I 64 -m 1024 -u 14 --tclass=104 -U",
        ),
        (
            perftest.write_bandwidth,
            65536,
            {"tx_depth": 32, "qps": 4, "cq_moderation": 8, "post_list": 16, "bidirectional": True, "tclass": 0},
            SHORT,
            HEAD.format("ib_write_bw") + "-s 65536 -n 1008 -u 18 -t 32 -q 4 -Q 8 -l 16 --tclass=0 -b",
        ),
        (
            perftest.send_bandwidth,
            8,
            {"srq": True},
            Effort(iterations=5),
            HEAD.format("ib_send_bw") + "-s 8 -n 5 -u 18 --use-srq",
        ),
        (
            perftest.send_bandwidth,
            1048576,
            {"tx_depth": 0, "qps": 1, "post_list": 1, "inline": -1, "mtu": 0},
            SHORT,
            HEAD.format("ib_send_bw") + "-s 1048576 -n 64 -u 18",
        ),
        (
            perftest.read_bandwidth,
            8388608,
            {"duration": 2},
            SHORT,
            HEAD.format("ib_read_bw") + "-s 8388608 -D 2 -u 18",
        ),
        (
            perftest.atomic_bandwidth,
            8,
            {"operation": "compare_and_swap"},
            Effort(iterations=5),
            HEAD.format("ib_atomic_bw") + "-A CMP_AND_SWAP -n 5 -u 18",
        ),
        (
            perftest.read_latency,
            8388608,
            {"tx_depth": 3, "bidirectional": True, "duration": 2},
            SHORT,
            HEAD.format("ib_read_lat") + "-s 8388608 -n 31 -u 18 -U",
        ),
    ],
)
def test_perftest_with_options(make: Make, size: int, options: dict[str, object], effort: Effort, line: str) -> None:
    assert " ".join(make(verbs(size, **options), effort).server) == line


def test_perftest_with_rdma_cm_goes_to_the_address_on_the_link() -> None:
    job = perftest.send_latency(verbs(rdma_cm=True), Effort(iterations=50, warmup=0))
    line = HEAD.format("ib_send_lat") + "-s 8 -n 51 -u 18 -R -U"
    assert " ".join(job.server) == line
    assert " ".join(job.client) == line + " {rdma_address}"
    assert job.listens == "rdma_cm"


def test_a_receiver_of_multicast_joins_the_group_and_its_number_counts() -> None:
    job = perftest.send_bandwidth(verbs(connection="UD", multicast=True), Effort(iterations=700))
    line = "ib_send_bw -F -d {device} -x {gid} -p {port} -c UD -s 8 -n 700 -u 18 -g "
    line += "-M 0:0:0:0:0:0:0:0:0:0:255:255:239:255:77:1 --reversed -r 700"
    assert " ".join(job.server) == line
    assert job.client[:2] == ("python3", "-c")
    assert " ".join(job.client[3:]) == "239.255.77.1 {own_address} " + line + " {address}"
    assert "arrived" in job.definition
    assert "one of the multicast group that was lost" in job.hangs
    assert not perftest.send_bandwidth(verbs(connection="UD"), Effort(iterations=700)).hangs


def test_perftest_keeps_every_iteration_but_the_warm_up() -> None:
    text = (GOLDEN / "perftest" / "send_lat_U.txt").read_text()
    job = perftest.send_latency(verbs(8), Effort(iterations=57, warmup=2))
    parsed = job.parse(text, Path())
    assert parsed.time_ns[:2].tolist() == [66049, 28585]
    assert parsed.time_ns.dtype == np.int64
    assert len(parsed.time_ns) == 57
    assert parsed.warnings == ()
    assert {v.statistic for v in parsed.reported} == {"min", "max", "p50", "mean", "stddev", "p99", "p999"}
    usual = perftest.send_latency(verbs(8), SHORT).parse(text, Path())
    assert len(usual.time_ns) == 49


def test_perftest_output_of_another_size_is_refused() -> None:
    text = (GOLDEN / "perftest" / "send_bw_ud.txt").read_text()
    assert perftest.send_bandwidth(verbs(2048, connection="UD"), SHORT).parse(text, Path()).reported
    with pytest.raises(DataError, match="a row of 4096 B"):
        perftest.send_bandwidth(verbs(4096, connection="UD"), SHORT).parse(text, Path())


def test_atomics_have_eight_bytes() -> None:
    text = (GOLDEN / "perftest" / "atomic_lat_U.txt").read_text()
    for size in (0, 8):
        assert perftest.atomic_latency(verbs(size), SHORT).parse(text, Path()).time_ns.size == 49


# ---- perftest: what is refused


@pytest.mark.parametrize(
    ("make", "size", "options", "effort", "message"),
    [
        (perftest.write_latency, 8, {"connection": "UD"}, SHORT, "UD, but write works over RC, UC.*Set connection=RC"),
        (perftest.read_latency, 8, {"connection": "UC"}, SHORT, "read works over RC, XRC, DC, SRD"),
        (perftest.atomic_bandwidth, 8, {"connection": "SRD"}, SHORT, "atomic works over RC, XRC, DC"),
        (perftest.atomic_latency, 16, {}, SHORT, "size=16 B, but an atomic operation has 8 B. Set size=8"),
        (perftest.send_latency, 8192, {"connection": "UD"}, SHORT, "one MTU, 4096 B. Set size=4096, or use RC"),
        (perftest.send_bandwidth, 2048, {"connection": "UD", "mtu": 1024}, SHORT, "one MTU, 1024 B"),
        (perftest.send_latency, 8, {"connection": "UC", "rdma_cm": True}, SHORT, "Set rdma_cm=false"),
        (perftest.send_bandwidth, 8, {"multicast": True}, SHORT, "connection=RC. Only datagrams.*set connection=UD"),
        (
            perftest.send_bandwidth,
            8,
            {"multicast": True, "connection": "UD", "qps": 2},
            SHORT,
            "qps=2. A group has one sender here: set qps=1",
        ),
        (perftest.write_latency, 8, {"completion": "event"}, SHORT, "polling memory. Set completion=poll"),
        (perftest.read_bandwidth, 8, {"inline": 0}, SHORT, "inline=0, but a read sends no data"),
        (perftest.send_latency, 0, {}, SHORT, "at least 1 B"),
        (perftest.send_bandwidth, 8, {}, Effort(iterations=4), "at least 5. Set iterations=5"),
        (perftest.send_bandwidth, 8, {"post_list": 8}, Effort(iterations=12), "Set iterations=16"),
        (perftest.send_bandwidth, 8, {"post_list": 8, "cq_moderation": 3}, SHORT, "Set cq_moderation=8"),
        (perftest.send_bandwidth, 8, {"duration": 1}, Effort(iterations=9), "runs by time. Set duration=0"),
        (qperf.send_latency, 8, {}, Effort(iterations=9), "qperf runs for a time, not for a count.*use perftest"),
        (qperf.send_latency, 8, {"connection": "UD"}, SHORT, "supports RC only. Set connection=RC, or use perftest"),
        (qperf.write_bandwidth, 8, {"qps": 2}, SHORT, "qps=2, but qperf rc_rdma_write_bw supports 1 only"),
        (qperf.write_latency, 8, {"completion": "event"}, SHORT, "Set completion=poll"),
        (perftest.write_bandwidth, 8, {"buffers_in_turn": 4}, SHORT, "only the pyverbs loops.*Set tool=pyverbs"),
        (qperf.write_bandwidth, 8, {"buffers_in_turn": 4}, SHORT, "Set buffers_in_turn=1, or use pyverbs"),
        (ucx_perftest.latency, 0, {}, SHORT, "at least 1 B"),
        (ucx_perftest.latency, 8, {"operation": "swap"}, SHORT, "one of tag, put, get, am"),
    ],
)
def test_what_a_tool_cannot_do_is_refused(
    make: Make, size: int, options: dict[str, object], effort: Effort, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        make(asked(make, size, **options), effort)


# ---- qperf


@pytest.mark.parametrize(
    ("make", "options", "rest"),
    [
        (qperf.send_latency, {}, "-m 8 -cp1 -uu -vvs rc_lat"),
        (qperf.send_latency, {"completion": "event"}, "-m 8 -uu -vvs rc_lat"),
        (qperf.write_latency, {}, "-m 8 -uu -vvs rc_rdma_write_poll_lat"),
        (qperf.read_latency, {}, "-m 8 -cp1 -uu -vvs rc_rdma_read_lat"),
        (qperf.send_bandwidth, {}, "-m 8 -cp1 -uu -vvs rc_bw"),
        (qperf.write_bandwidth, {}, "-m 8 -cp1 -uu -vvs rc_rdma_write_bw"),
        (qperf.read_bandwidth, {"completion": "event"}, "-m 8 -uu -vvs rc_rdma_read_bw"),
        (qperf.atomic_bandwidth, {}, "-cp1 -uu -vvs rc_fetch_add_mr"),
        (qperf.atomic_bandwidth, {"operation": "compare_and_swap"}, "-cp1 -uu -vvs rc_compare_swap_mr"),
    ],
)
def test_qperf_over_rdma(make: Make, options: dict[str, object], rest: str) -> None:
    job = make(asked(make, **options), SHORT)
    assert " ".join(job.server) == "qperf -lp {port}"
    assert " ".join(job.client) == "qperf {rdma_address} -lp {port} -cm1 -t 1 " + rest
    assert job.stands_in_for == "perftest"
    assert "the options did not request" in job.warnings[0].text
    assert make(asked(make, rdma_cm=True, **options), SHORT).warnings == ()


# ---- ucx_perftest


@pytest.mark.parametrize(
    ("make", "spec", "words", "rest"),
    [
        (ucx_perftest.latency, ucx(), "", "-t tag_lat -s 8 -n 1000 -w 20"),
        (
            ucx_perftest.latency,
            ucx(8, "tcp", operation="put"),
            "env UCX_TLS=tcp UCX_NET_DEVICES=lo ",
            "-t ucp_put_lat -s 8 -n 1000 -w 20",
        ),
        (
            ucx_perftest.latency,
            ucx(8, "shm", operation="am"),
            "env UCX_TLS=sm,self ",
            "-t ucp_am_lat -s 8 -n 1000 -w 20",
        ),
        (
            ucx_perftest.latency,
            ucx(8, "rc", operation="get"),
            "env UCX_TLS=rc UCX_NET_DEVICES={device}:1 UCX_IB_GID_INDEX={gid} ",
            "-t ucp_get -s 8 -n 1000 -w 20",
        ),
        (
            ucx_perftest.bandwidth,
            ucx(1048576, "ud", operation="get", gid=0),
            "env UCX_TLS=ud UCX_NET_DEVICES={device}:1 UCX_IB_GID_INDEX=0 ",
            "-t ucp_get -O 32 -s 1048576 -n 64 -w 20",
        ),
        (
            ucx_perftest.latency,
            ucx().replace(device="mlx5_1"),
            "env UCX_NET_DEVICES={device}:1 UCX_IB_GID_INDEX={gid} ",
            "-t tag_lat -s 8 -n 1000 -w 20",
        ),
        (
            ucx_perftest.bandwidth,
            ucx(65536, "tcp").replace(device="eth0"),
            "env UCX_TLS=tcp UCX_NET_DEVICES=eth0 ",
            "-t tag_bw -s 65536 -n 1000 -w 20",
        ),
    ],
)
def test_ucx_perftest(make: Make, spec: Spec, words: str, rest: str) -> None:
    job = make(spec, SHORT)
    assert " ".join(job.server) == words + "ucx_perftest -p {port}"
    assert " ".join(job.client) == words + "ucx_perftest -p {port} {address} " + rest
    assert (job.tool.name, job.tool.package, job.programs) == ("ucx_perftest", "ucx-utils", ("ucx_perftest",))
    assert texts(job.badges) == (("shared memory",) if spec.transport == "shm" else ())


def test_ucx_perftest_refuses_paths_and_hosts_it_cannot_reach() -> None:
    with pytest.raises(SpecError, match=r"transport=srd.*auto, tcp, shm, rc, ud"):
        ucx_perftest.latency(ucx(8, "srd"), SHORT)
    with pytest.raises(SpecError, match="hosts=node1"):
        ucx_perftest.latency(ucx(8, "tcp").replace(hosts=("node1",)), SHORT)


@pytest.mark.parametrize(
    ("make", "spec", "words", "rest"),
    [
        (ucx_perftest.uct_latency, uct(), "", "-t am_lat -x tcp -d lo -D short"),
        (ucx_perftest.uct_latency, uct(8, "shm", operation="put"), "", "-t put_lat -x posix -d memory -D short"),
        (
            ucx_perftest.uct_bandwidth,
            uct(8, "sysv", operation="get", layout="bcopy"),
            "",
            "-t get -O 32 -x sysv -d memory -D bcopy",
        ),
        (
            ucx_perftest.uct_bandwidth,
            uct(8, "rc", operation="put", driver="mlx5"),
            "env UCX_IB_GID_INDEX={gid} ",
            "-t put_bw -O 32 -x rc_mlx5 -d {device}:1 -D short",
        ),
        (
            ucx_perftest.uct_latency,
            uct(8, "ud", gid=3, layout="zcopy"),
            "env UCX_IB_GID_INDEX=3 ",
            "-t am_lat -x ud_verbs -d {device}:1 -D zcopy",
        ),
        (
            ucx_perftest.uct_bandwidth,
            uct(8, "tcp").replace(device="eth0"),
            "",
            "-t am_bw -O 32 -x tcp -d eth0 -D short",
        ),
    ],
)
def test_uct(make: Make, spec: Spec, words: str, rest: str) -> None:
    job = make(spec, SHORT)
    assert " ".join(job.server) == words + "ucx_perftest -p {port}"
    assert " ".join(job.client) == words + f"ucx_perftest -p {{port}} {{address}} {rest} -s 8 -n 1000 -w 20"
    assert texts(job.badges) == (("shared memory",) if spec.transport in ucx_perftest.MEMORY else ())


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (uct(8, "auto"), "transport=auto, but a test of UCT runs over one transport: tcp, shm, posix, sysv, rc, ud"),
        (uct(8, "posix").replace(device="eth0"), "device=eth0, but posix uses the memory of the host"),
        (uct(8, "sysv").replace(hosts=("node1",)), "hosts=node1, but over sysv .* measures inside this machine"),
    ],
)
def test_uct_refuses_what_no_transport_serves(spec: Spec, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        ucx_perftest.uct_latency(spec, SHORT)


@pytest.mark.parametrize(
    ("size", "options", "said"),
    [
        (4, {}, "an active message has a header of 8 B. Set size=8."),
        (0, {"operation": "put"}, "at least 1 B"),
        (8, {"operation": "get"}, "a get has no short form. Set layout=bcopy or zcopy."),
    ],
)
def test_uct_refuses_sizes_and_layouts_that_a_test_has_not(size: int, options: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        benchmarks.resolve(Spec(benchmark="verbs.uct_latency", size=size, ranks=1, transport="tcp", options=options))


def test_a_transport_that_this_machine_lacks_is_refused_with_those_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ucx_perftest, "offered", lambda: {"tcp": ["eth0", "lo"], "posix": ["memory"]})
    ucx_perftest.uct_latency(uct(8, "posix"), SHORT).prepare(Path())
    there = r"It has tcp \(eth0, lo\), posix \(memory\)\. Set transport and device to one of these\."
    for spec, what in (
        (uct(8, "sysv"), "sysv on a device memory"),
        (uct(8, "rc"), "rc_verbs"),
        (uct(8, "tcp").replace(device="ib0"), "tcp on a device ib0"),
    ):
        with pytest.raises(SpecError, match=f"UCX has no transport {what} here. {there}"):
            ucx_perftest.uct_latency(spec, SHORT).prepare(Path())
    ucx_perftest.uct_latency(uct(8, "rc").replace(testbed="soft-roce"), SHORT).prepare(Path())  # has its own devices


def test_without_an_adapter_the_transports_of_ucx_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_rdma, "output_of", lambda command: "")
    monkeypatch.setattr(ucx_perftest, "offered", lambda: {"tcp": ["lo"], "sysv": ["memory"]})
    spec = benchmarks.resolve(Spec(benchmark="verbs.uct_latency", size=8, ranks=1, transport="rc"))
    with pytest.raises(
        SpecError, match=r"transport=rc, but this machine has no active RDMA device\. UCX has tcp \(lo\), sysv"
    ):
        _rdma.place(spec)
    assert _rdma.place(spec.replace(transport="sysv")).client == ()


@pytest.mark.parametrize(
    ("transport", "operation", "layout"),
    [
        ("posix", "am", "short"),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (("tcp", "am", "short"), ("sysv", "put", "bcopy"), ("posix", "get", "bcopy"))
        ),
    ],
)
def test_uct_runs(transport: str, operation: str, layout: str) -> None:
    options = {"operation": operation, "layout": layout}
    for name, metric in (("uct_latency", "latency_us"), ("uct_bandwidth", "bandwidth_MBps")):
        spec = Spec(benchmark=f"verbs.{name}", size=64, ranks=1, transport=transport, options=options)
        spec = benchmarks.resolve(spec)
        made = benchmarks.get(spec.benchmark).tools[0](spec, Effort(iterations=20_000, warmup=5, time_limit=30))
        if made.missing:
            pytest.skip(f"ucx_perftest not installed: Debian package {made.tool.package}")
        outcome = tools.run(made)
        values = {(v.name, v.statistic): v.value for v in outcome.reported}
        assert values[metric, "mean"] > 0
        assert f"{transport}, {layout}" in str(outcome.meta["definition"])


def test_bandwidth_tests_report_no_latency() -> None:
    text = (GOLDEN / "ucx_perftest" / "rc_get_O.txt").read_text()
    reported = ucx_perftest.bandwidth(ucx(65536, operation="get"), SHORT).parse(text, Path()).reported
    assert {v.name for v in reported} == {"overhead", "bandwidth_MBps", "message_rate_per_s"}


@pytest.mark.parametrize(
    ("transport", "operation"),
    [
        ("tcp", "tag"),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("tcp", "am"), ("shm", "put"), ("shm", "get"))),
    ],
)
def test_ucx_perftest_runs(transport: str, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Spec(benchmark="verbs.ucx_latency", size=8, ranks=1, transport=transport, options={"operation": operation})
    spec = benchmarks.resolve(spec)
    job = ucx_perftest.latency(spec, Effort(iterations=50, warmup=5, time_limit=30))
    if job.missing:
        pytest.skip(f"ucx_perftest not installed: Debian package {job.tool.package}")
    monkeypatch.setenv("LABKIT_TEST", mark := f"ucx-{os.getpid()}")
    outcome = tools.run(job)
    values = {(v.name, v.statistic): v.value for v in outcome.reported}
    assert values["latency_us", "mean"] > 0
    assert outcome.origin == "reported"
    assert outcome.meta["iterations"] == 50
    assert "loopback" in texts(outcome.badges)
    assert outcome.version != "unknown"
    left = [p for p in psutil.process_iter() if p.pid != os.getpid() and _marked(p, mark)]
    assert left == []


def _marked(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get("LABKIT_TEST") == mark
    except psutil.Error:
        return False


def test_ucx_bandwidth_runs() -> None:
    spec = benchmarks.resolve(Spec(benchmark="verbs.ucx_bandwidth", size=65536, ranks=1, transport="tcp"))
    if ucx_perftest.bandwidth(spec, SHORT).missing:
        pytest.skip("ucx_perftest not installed: Debian package ucx-utils")
    job = tools.available(benchmarks.get(spec.benchmark).tools, spec, Effort(iterations=50, warmup=5, time_limit=30))
    assert {v.name for v in tools.run(job).reported} == {"overhead", "bandwidth_MBps", "message_rate_per_s"}
