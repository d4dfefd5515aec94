"""Tools: exact command lines, real runs over the loopback, and that nothing of them is left, whatever happens."""

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks, testbeds, tools
from labkit.errors import DataError, LaunchError, SpecError
from labkit.io import project
from labkit.point import storage
from labkit.point.notes import texts
from labkit.point.spec import Effort, Spec
from labkit.run import programs
from labkit.tools import Invocation, Place, _run, fio, iozone, iperf3, netperf, qperf, sockperf
from tests.waiting import commandline, marked, until

SHORT = Effort(time_cap=0.2, time_limit=120)
MODULES = (netperf, iperf3, sockperf, qperf, fio, iozone)
SELECTORS = (
    "THROUGHPUT,THROUGHPUT_UNITS,MIN_LATENCY,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY,"
    "STDDEV_LATENCY,LOCAL_CPU_UTIL,REMOTE_CPU_UTIL,LOCAL_TRANSPORT_RETRANS,REMOTE_TRANSPORT_RETRANS,ELAPSED_TIME,"
    "LOCAL_NODELAY,PROTOCOL"
)


def resolved(name: str, size: int = 4096, **options: object) -> Spec:
    return benchmarks.resolve(Spec(benchmark=name, size=size, ranks=1, options=options))  # type: ignore[arg-type]


def need(*modules: object) -> None:
    """Skip, naming the package, unless the tools are installed."""
    for module in modules:
        probe = module.TOOL.programs  # type: ignore[attr-defined]
        job = dataclasses.replace(JOB, needs=probe)
        if job.missing:
            pytest.skip(f"{', '.join(job.missing)} not installed: Debian package {module.TOOL.package}")  # type: ignore[attr-defined]


def parsed(text: str, folder: Path) -> tools.Parsed:
    return tools.Parsed()


def failing(text: str, folder: Path) -> tools.Parsed:
    raise DataError(f"found {text!r}, wanted more.")


JOB = Invocation(
    tool=tools.Tool(name="true", programs=("true",), package="coreutils", purpose="tests"),
    client=("true",),
    parse=parsed,
    definition="",
    duration=0,
    time_limit=20,
)


# ---- command lines


@pytest.mark.parametrize(
    ("options", "effort", "server", "client"),
    [
        (
            {},
            SHORT,
            "netserver -4 -L {address} -p {port} -D",
            f"netperf -H {{address}} -4 -p {{port}} -t TCP_RR -l 1 -c -C -j -- -r 64,64 -D -k {SELECTORS}",
        ),
        (
            {"ip": "ipv6", "nodelay": False, "socket_buffer": 65536},
            Effort(time_cap=2.2, iterations=500),
            "netserver -6 -L {address} -p {port} -D",
            "netperf -H {address} -6 -p {port} -t TCP_RR -l -500 -c -C -j -- -r 64,64 -s 65536 -S 65536 "
            f"-k {SELECTORS}",
        ),
    ],
)
def test_netperf_tcp_rr(options: dict[str, object], effort: Effort, server: str, client: str) -> None:
    job = netperf.tcp_rr(resolved("sockets.tcp_rr", 64, **options), effort)
    assert (" ".join(job.server), " ".join(job.client)) == (server, client)
    assert (job.tool.name, job.tool.package, job.stands_in_for) == ("netperf", "netperf", "")


def test_netperf_tcp_stream() -> None:
    spec = resolved("sockets.tcp_stream", 65536)
    for effort, length in ((Effort(time_cap=2.2), "3"), (Effort(iterations=10), "-655360")):
        assert " ".join(netperf.tcp_stream(spec, effort).client) == (
            f"netperf -H {{address}} -4 -p {{port}} -t TCP_STREAM -l {length} -c -C -j -- -m 65536 -k {SELECTORS}"
        )


def test_iperf3_tcp_stream() -> None:
    job = iperf3.tcp_stream(resolved("sockets.tcp_stream", 65536, socket_buffer=4096, nodelay=True), SHORT)
    assert " ".join(job.server) == "iperf3 -s -1 -B {address} -p {port}"
    assert " ".join(job.client) == "iperf3 -c {address} -p {port} -t 1 -i 0.1 -l 65536 -w 4096 -N -J"
    assert job.stands_in_for == "netperf"
    counted = iperf3.tcp_stream(resolved("sockets.tcp_stream", 65536), Effort(iterations=10, time_cap=10))
    assert " ".join(counted.client) == "iperf3 -c {address} -p {port} -k 10 -i 0.5 -l 65536 -J"


def test_sockperf_tcp_rr() -> None:
    job = sockperf.tcp_rr(resolved("sockets.tcp_rr", 64, socket_buffer=4096, nodelay=False), Effort(time_cap=1))
    both = "--tcp -i {address} -p {port} -m 64 --buffer-size 4096 --tcp-avoid-nodelay"
    assert " ".join(job.server) == f"sockperf server {both}"
    assert " ".join(job.client) == f"sockperf ping-pong {both} -t 2 --full-log packets.csv"


def test_qperf_tcp_rr() -> None:
    job = qperf.tcp_rr(resolved("sockets.tcp_rr", 64, socket_buffer=4096), SHORT)
    assert " ".join(job.server) == "qperf -lp {port}"
    assert " ".join(job.client) == (
        "qperf {address} -lp {port} -ip {data_port} -t 1 -m 64 -sb 4096 -uu -vvc -vvs tcp_lat"
    )
    assert "Nagle" in job.warnings[0].text
    assert not qperf.tcp_rr(resolved("sockets.tcp_rr", 64, nodelay=False), SHORT).warnings


FIO = "fio --name=labkit --filename=data --rw={rw} --bs=4096 --size=16777216 --io_size={amount} --runtime={ms}ms {how} "
FIO += "--lat_percentiles=1 --clat_percentiles=0 --percentile_list=50:95:99:99.9 "
FIO += "--write_lat_log=io --log_avg_msec=0 --eta=never --output-format=json"


@pytest.mark.parametrize(
    ("options", "rw", "how", "badges"),
    [
        ({}, "read", "--ioengine=psync --direct=0 --invalidate=1", ("page cache",)),
        ({"pattern": "random"}, "randread", "--ioengine=psync --direct=0 --invalidate=1", ()),
        ({"cache": "direct"}, "read", "--ioengine=psync --direct=1", ()),
        ({"cache": "direct", "depth": 8}, "read", "--ioengine=libaio --iodepth=8 --direct=1", ()),
        ({"cache": "warm"}, "read", "--ioengine=psync --direct=0 --invalidate=0 --pre_read=1", ("page cache",)),
    ],
)
def test_fio_read(options: dict[str, object], rw: str, how: str, badges: tuple[str, ...], tmp_path: Path) -> None:
    job = fio.read(resolved("storage.read", **options), SHORT)
    amount = 16777216 if "--invalidate=1" in how else fio.MAX_IOS * 4096
    assert " ".join(job.client) == FIO.format(rw=rw, amount=amount, ms=200, how=how)
    assert texts(storage.badges(job.prepare(tmp_path))) == badges


@pytest.mark.parametrize(
    ("options", "rw", "how", "badges"),
    [
        ({}, "write", "--ioengine=psync", ("page cache",)),
        ({"sync": "fsync"}, "write", "--ioengine=psync --fsync=1", ()),
        ({"sync": "osync", "pattern": "random"}, "randwrite", "--ioengine=psync --sync=1", ()),
        ({"sync": "direct", "depth": 2}, "write", "--ioengine=libaio --iodepth=2 --direct=1", ()),
    ],
)
def test_fio_write(options: dict[str, object], rw: str, how: str, badges: tuple[str, ...], tmp_path: Path) -> None:
    effort = Effort(iterations=100, warmup=10, time_limit=20)
    job = fio.write(resolved("storage.write", **options), effort)
    assert " ".join(job.client) == FIO.format(rw=rw, amount=110 * 4096, ms=20000, how=how)
    assert texts(storage.badges(job.prepare(tmp_path))) == badges


def test_iozone_table(tmp_path: Path) -> None:
    line = "iozone -a -n 64k -g 1024k -y 4k -q 256k -i 0 -i 1 {}-R -f data"
    for options, words, badges in (
        ({}, "", ("page cache",)),
        ({"sync": True}, "-o ", ("page cache",)),
        ({"direct": True}, "-I ", ()),
    ):
        job = iozone.table(resolved("storage.iozone", **options), SHORT)
        assert " ".join(job.client) == line.format(words)
        assert texts(storage.badges(job.prepare(tmp_path))) == badges


# ---- what is refused


@pytest.mark.parametrize(
    ("make", "spec", "effort", "message"),
    [
        (sockperf.tcp_rr, ("sockets.tcp_rr", 8, {}), SHORT, "size=8 B, but sockperf sends 14 to 1048575 B"),
        (sockperf.tcp_rr, ("sockets.tcp_rr", 64, {"ip": "ipv6"}), SHORT, "Set ip=ipv4"),
        (
            qperf.tcp_rr,
            ("sockets.tcp_rr", 64, {}),
            Effort(iterations=9),
            "iterations=9, but qperf runs for a time, not for a count",
        ),
        (fio.read, ("storage.read", 0, {}), SHORT, "size=0 B.*Set size=4096"),
        (fio.read, ("storage.read", 8192, {"file_size": "4Ki"}), SHORT, "file's 4096 B"),
        (fio.read, ("storage.read", 1000, {"cache": "direct"}), SHORT, "512 B"),
        (fio.write, ("storage.write", 4096, {"depth": 2}), SHORT, "depth=2, but only direct"),
        (fio.read, ("storage.read", 4096, {}), Effort(iterations=5000), "Set file_size=20480000"),
        (iozone.table, ("storage.iozone", 0, {}), Effort(iterations=2), "every cell once"),
        (iozone.table, ("storage.iozone", 0, {"min_record_size": 100}), SHORT, "multiple of 1Ki"),
        (iozone.table, ("storage.iozone", 0, {"max_file_size": "32Ki"}), SHORT, "min_file_size=65536 B is above"),
    ],
)
def test_what_a_tool_cannot_do_is_refused(
    make: Callable[[Spec, Effort], Invocation], spec: tuple[str, int, dict[str, object]], effort: Effort, message: str
) -> None:
    name, size, options = spec
    with pytest.raises(SpecError, match=message):
        make(resolved(name, size, **options), effort)


def test_other_hosts_are_refused() -> None:
    spec = resolved("sockets.tcp_rr", 64).replace(hosts=("node1", "node2"))
    with pytest.raises(SpecError, match=r"--hosts node1,node2, but sockets\.tcp_rr starts its server on this machine"):
        programs.launched(spec, SHORT)
    programs.refuse_place(spec.replace(hosts=("localhost",)), testbeds.outline("local"))


def test_options_with_sizes_are_the_same_work_however_they_are_written() -> None:
    assert resolved("storage.read", file_size="16Mi") == resolved("storage.read", file_size=16777216)
    assert resolved("storage.iozone", max_file_size="1Mi") == resolved("storage.iozone")


# ---- which tool


@pytest.fixture
def empty_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """A PATH that has the named programs alone; they are never started."""

    def only(*programs: str) -> None:
        for name in programs:
            (tmp_path / name).touch(mode=0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    return only


def test_the_first_tool_that_is_installed_is_taken(empty_path: Callable[..., None]) -> None:
    jobs, spec = benchmarks.get("sockets.tcp_rr").tools, resolved("sockets.tcp_rr", 64)
    empty_path("qperf")
    assert tools.available(jobs, spec, SHORT).tool.name == "qperf"
    empty_path("sockperf")
    assert tools.available(jobs, spec, SHORT).tool.name == "sockperf"
    empty_path("netperf")
    assert tools.available(jobs, spec, SHORT).tool.name == "sockperf", "netserver is missing"
    empty_path("netserver")
    assert tools.available(jobs, spec, SHORT).tool.name == "netperf"


def test_a_missing_tool_is_installed_by_the_smallest_set_up_or_alone(
    empty_path: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, spec = benchmarks.get("sockets.tcp_rr").tools, resolved("sockets.tcp_rr", 64)
    empty_path()
    monkeypatch.setattr(project, "make", lambda target: f"make {target}")
    with pytest.raises(LaunchError, match=r"Install with 'make setup', or 'sudo apt-get install sockperf'\.$"):
        tools.available(jobs, spec, SHORT)
    monkeypatch.setattr(project, "make", lambda target: "")
    with pytest.raises(LaunchError, match=r"Install with 'sudo apt-get install sockperf'\.$"):
        tools.available(jobs, spec, SHORT)


def test_a_tool_that_cannot_is_passed_over(empty_path: Callable[..., None]) -> None:
    jobs = benchmarks.get("sockets.tcp_rr").tools
    empty_path("sockperf", "qperf")
    assert tools.available(jobs, resolved("sockets.tcp_rr", 8), SHORT).tool.name == "qperf"


def test_the_tool_can_be_named(empty_path: Callable[..., None]) -> None:
    jobs = benchmarks.get("sockets.tcp_rr").tools
    empty_path("netperf", "netserver", "qperf")
    assert tools.available(jobs, resolved("sockets.tcp_rr", 64, tool="qperf"), SHORT).tool.name == "qperf"
    with pytest.raises(LaunchError, match=r"needs sockperf, which is not installed\. .*apt-get install sockperf'"):
        tools.available(jobs, resolved("sockets.tcp_rr", 64, tool="sockperf"), SHORT)
    with pytest.raises(SpecError, match="14 to"):
        tools.available(jobs, resolved("sockets.tcp_rr", 8, tool="sockperf"), SHORT)


def test_without_any_tool_the_error_names_each_and_what_is_here_but_cannot(empty_path: Callable[..., None]) -> None:
    empty_path()
    each = r"needs one of netperf \(netperf, netserver\), sockperf, qperf, iperf, netpipe \(NPtcp\), and none is installed\."
    with pytest.raises(LaunchError, match=each):
        tools.available(benchmarks.get("sockets.tcp_rr").tools, resolved("sockets.tcp_rr", 64), SHORT)
    with pytest.raises(
        LaunchError, match=r"needs iozone, which is not installed\. .*'sudo apt-get install iozone3'\.$"
    ):
        tools.available(benchmarks.get("storage.iozone").tools, resolved("storage.iozone"), SHORT)
    with pytest.raises(LaunchError) as caught:
        tools.available(benchmarks.get("sockets.tcp_rr").tools, resolved("sockets.tcp_rr", 8), SHORT)
    assert "cannot do it" not in str(caught.value), "sockperf is not here either"
    empty_path("sockperf")
    with pytest.raises(LaunchError, match=r"What is installed cannot do it: sockperf: size=8 B, but sockperf sends 14"):
        tools.available(benchmarks.get("sockets.tcp_rr").tools, resolved("sockets.tcp_rr", 8), SHORT)


def test_every_tool_says_what_it_is() -> None:
    for module in MODULES:
        assert module.__name__.rpartition(".")[2] == module.TOOL.name
        assert module.TOOL.package
        assert all(module.TOOL.programs)
    assert tools.version("no-such-tool") == "unknown"


# ---- real runs over the loopback


def run(name: str, size: int, effort: Effort = SHORT, **options: object) -> tools.Outcome:
    spec = resolved(name, size, **options)
    return tools.run(tools.available(benchmarks.get(name).tools, spec, effort))


def reported(outcome: tools.Outcome, name: str, statistic: str = "mean") -> float:
    return next(v.value for v in outcome.reported if (v.name, v.statistic, v.t) == (name, statistic, None))


@pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
def test_netperf_runs(ip: str, mark: str) -> None:
    need(netperf)
    outcome = run("sockets.tcp_rr", 64, tool="netperf", ip=ip)
    assert outcome.origin == "reported"
    assert outcome.time_ns.shape == (0, 0)
    assert reported(outcome, "round_trip_us", "p50") > 0
    rate, mean = reported(outcome, "transaction_rate_per_s"), reported(outcome, "round_trip_us")
    assert 1e6 / mean == pytest.approx(rate, rel=0.2)
    assert texts(outcome.badges) == ("loopback",)
    assert "THROUGHPUT=" in outcome.source
    assert outcome.command.startswith("netserver -")
    assert " & netperf -H " in outcome.command
    assert marked(mark) == []


def test_netperf_stream_runs() -> None:
    need(netperf)
    outcome = run("sockets.tcp_stream", 65536, Effort(iterations=1000, time_limit=20), tool="netperf")
    assert reported(outcome, "bandwidth_MBps") > 0


def test_iperf3_runs(mark: str) -> None:
    need(iperf3)
    outcome = run("sockets.tcp_stream", 65536, tool="iperf3")
    assert reported(outcome, "bandwidth_MBps") == pytest.approx(reported(outcome, "sent_MBps"), rel=0.5)
    assert len([v for v in outcome.reported if v.t is not None]) >= 8
    assert texts(outcome.badges) == ("loopback", "iperf3 stands in for netperf")
    assert outcome.meta["stands_in_for"] == "netperf"
    assert outcome.version == tools.version("iperf3") != "unknown"
    assert marked(mark) == []


def test_sockperf_gives_samples(mark: str) -> None:
    need(sockperf)
    outcome = run("sockets.tcp_rr", 64, Effort(time_cap=0.2, iterations=300, warmup=20, time_limit=20), tool="sockperf")
    assert outcome.origin == "measured"
    assert outcome.time_ns.shape == outcome.extras["start_ns"].shape == (1, 300)
    assert outcome.time_ns.dtype == np.int64
    assert outcome.ranks == (0,)
    assert outcome.time_ns.min() >= reported(outcome, "round_trip_us", "min") * 1e3 - 2
    assert outcome.warnings == ()
    assert marked(mark) == []


def test_qperf_runs(mark: str) -> None:
    need(qperf)
    outcome = run("sockets.tcp_rr", 1, tool="qperf")
    trips = reported(outcome, "round_trip_us") * reported(outcome, "transaction_rate_per_s")
    assert trips == pytest.approx(1e6, rel=0.05)
    assert texts(outcome.badges) == ("loopback", "qperf stands in for netperf")
    assert marked(mark) == []


@pytest.mark.parametrize("options", [{}, {"pattern": "random"}, {"cache": "warm"}])
def test_fio_reads(options: dict[str, object], mark: str, tmp_path: Path) -> None:
    need(fio)
    outcome = run("storage.read", 4096, file_size="1Mi", directory=str(tmp_path), **options)
    assert outcome.origin == "measured"
    whole = options.get("cache") != "warm"
    count = outcome.time_ns.shape[1]
    assert 0 < count <= 256 if whole else count > 256  # a slow disk may end the pass at the time cap
    assert outcome.time_ns.min() == pytest.approx(reported(outcome, "latency_us", "min") * 1e3)
    assert outcome.time_ns.mean() == pytest.approx(reported(outcome, "latency_us", "mean") * 1e3)
    assert outcome.meta["filesystem"]
    assert int(outcome.meta["memory_B"] or 0) > 0
    assert list(tmp_path.iterdir()) == []
    assert marked(mark) == []


@pytest.mark.parametrize("sync", ["none", "fsync", "osync"])
def test_fio_writes(sync: str, tmp_path: Path) -> None:
    need(fio)
    effort = Effort(iterations=20, warmup=2, time_limit=20)
    outcome = run("storage.write", 4096, effort, file_size="1Mi", sync=sync, directory=str(tmp_path))
    assert outcome.time_ns.shape == ((0, 0) if sync == "fsync" else (1, 20))
    assert reported(outcome, "latency_us") > 0
    if sync == "fsync":
        assert reported(outcome, "latency_us") > reported(outcome, "write_us")
    assert ("page cache" in texts(outcome.badges)) == (sync == "none")
    assert list(tmp_path.iterdir()) == []


def test_iozone_runs(mark: str, tmp_path: Path) -> None:
    need(iozone)
    outcome = run("storage.iozone", 0, max_file_size="128Ki", min_record_size="64Ki", directory=str(tmp_path))
    cells = {(v.labels["test"], v.labels["file_size_B"], v.labels["record_size_B"]) for v in outcome.reported}
    points = [(65536, 65536), (131072, 65536), (131072, 131072)]
    assert cells == {(test, *point) for test in ("write", "rewrite", "read", "reread") for point in points}
    assert outcome.badges[0].code == "page-cache"
    assert list(tmp_path.iterdir()) == []
    assert marked(mark) == []


# ---- folders


def test_direct_in_memory_is_refused() -> None:
    need(fio)
    memory = Path("/dev/shm")
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        pytest.skip("there is no /dev/shm here")
    with pytest.raises(SpecError, match=r"/dev/shm is tmpfs.*without direct"):
        run("storage.write", 4096, sync="direct", directory=str(memory))
    outcome = run("storage.write", 4096, Effort(iterations=5, time_limit=20), file_size="64Ki", directory=str(memory))
    assert texts(outcome.badges) == ("memory file system",)


def test_a_directory_that_cannot_serve_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="Create it, or set another"):
        tools.run(dataclasses.replace(JOB, directory=str(tmp_path / "none")))
    need(fio)
    with pytest.raises(SpecError, match="MiB free, but the files need"):
        run("storage.write", 4096, file_size="4096GiB", directory=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_the_campaign_may_lend_its_folder(tmp_path: Path) -> None:
    seen = []

    def look(text: str, folder: Path) -> tools.Parsed:
        seen.append(folder)
        return tools.Parsed()

    tools.run(dataclasses.replace(JOB, parse=look), scratch=tmp_path)
    assert seen[0].parent == tmp_path
    assert list(tmp_path.iterdir()) == []


# ---- ends, whatever happens


def serving(**changes: object) -> Invocation:
    """A job with the server of iperf3 and a client that sleeps."""
    need(iperf3)
    job = iperf3.tcp_stream(resolved("sockets.tcp_stream", 65536), SHORT)
    return dataclasses.replace(job, client=("sleep", "60"), **changes)  # type: ignore[arg-type]


def test_a_client_that_does_not_end_is_ended(mark: str) -> None:
    with pytest.raises(LaunchError, match=r"did not finish within 0\.3 s.*longer time limit") as caught:
        tools.run(serving(time_limit=0.3))
    assert caught.value.command == ("sleep", "60")
    assert marked(mark) == []


def test_a_client_that_may_wait_for_ever_names_why(mark: str) -> None:
    with pytest.raises(LaunchError, match=r"so labkit killed it.* A datagram was lost\. Send fewer\."):
        tools.run(serving(time_limit=0.3, hangs="A datagram was lost. Send fewer."))
    assert marked(mark) == []


def test_a_server_that_reports_ends_the_result(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import socket, sys, time; s = socket.socket(); s.bind(('127.0.0.1', int(sys.argv[1]))); s.listen(); "
    job = dataclasses.replace(
        JOB,
        client=("echo", "sent"),
        server=(sys.executable, "-c", program + "time.sleep(0.5); print('arrived')", "{port}"),
        address="127.0.0.1",
        server_reports=True,
    )
    assert tools.run(job).source == "sent\narrived\n"
    monkeypatch.setattr(_run, "_REPORT_S", 0.1)
    endless = dataclasses.replace(job, server=(*job.server[:2], program + "time.sleep(60)", "{port}"))
    assert tools.run(endless).source == "sent\n"
    assert marked(mark) == []


@pytest.mark.parametrize("name", ["storage.ior", "storage.mdtest", "compute.hpl", "compute.npb"])
def test_a_program_that_ended_early_is_one_clear_error(name: str) -> None:
    spec_ = benchmarks.resolve(Spec(benchmark=name, ranks=2, size=65536 if name == "storage.ior" else 0))
    for factory in benchmarks.tools_of(name):
        job = dataclasses.replace(
            factory(spec_, SHORT),
            needs=("sh",),
            client=("sh", "-c", "echo half; echo why >&2; exit 3"),
            prepare=lambda folder: {},
        )
        with pytest.raises(LaunchError, match="gave no result") as caught:
            tools.run(job)
        assert "Name a file" not in str(caught.value)
        assert (caught.value.exit_status, caught.value.stderr.strip()) == (3, "why")
        if job.tool.name != "hpcc":  # its result is a file
            assert "Read the output below" in str(caught.value)


def test_output_that_is_no_result_ends_the_server(mark: str) -> None:
    job = dataclasses.replace(serving(), client=("sh", "-c", "echo half; echo why >&2; exit 3"), parse=failing)
    with pytest.raises(LaunchError, match=r"iperf3 gave no result. found 'half\\n'") as caught:
        tools.run(job)
    assert (caught.value.exit_status, caught.value.stderr.strip()) == (3, "why")
    assert isinstance(caught.value.__cause__, DataError)
    assert marked(mark) == []


@pytest.mark.slow
def test_a_run_that_gave_no_result_is_repeated(mark: str, tmp_path: Path) -> None:
    counter = tmp_path / "count"
    job = dataclasses.replace(serving(), client=("sh", "-c", f"echo run >>{counter}; wc -l <{counter}"))

    def third(text: str, folder: Path) -> tools.Parsed:
        if text.strip() != "3":
            raise DataError(f"found {text.strip()}, wanted 3.")
        return tools.Parsed()

    with pytest.raises(LaunchError, match="found 2, wanted 3"):
        tools.run(dataclasses.replace(job, parse=third, retries=1))
    counter.unlink()
    outcome = tools.run(dataclasses.replace(job, parse=third, retries=2))
    assert [text.rpartition(": ")[2] for text in texts(outcome.warnings)] == [
        "found 1, wanted 3.",
        "found 2, wanted 3.",
    ]
    assert marked(mark) == []


def test_a_client_that_is_killed_is_an_error(mark: str) -> None:
    need(iperf3)
    # five seconds' worth, of which it gets one half at most
    job = iperf3.tcp_stream(resolved("sockets.tcp_stream", 65536), Effort(time_cap=5, time_limit=20))
    killed = threading.Event()

    def kill() -> None:
        (client,) = until(lambda: [pid for pid in marked(mark) if commandline(pid).startswith("iperf3 -c")])
        os.kill(client, signal.SIGKILL)
        killed.set()

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(LaunchError, match="gave no result") as caught:
        tools.run(job)
    thread.join()
    assert killed.is_set()
    assert caught.value.exit_status == 128 + signal.SIGKILL
    assert marked(mark) == []


def test_an_error_of_the_lab_itself_ends_the_server(mark: str) -> None:
    def broken(text: str, folder: Path) -> tools.Parsed:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tools.run(dataclasses.replace(serving(), client=("true",), parse=broken))
    assert marked(mark) == []


def test_tools_end_when_the_lab_is_killed(monkeypatch: pytest.MonkeyPatch, mark: str, tmp_path: Path) -> None:
    need(iperf3)
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # a lab that is killed cannot clear up its folder
    program = (
        "from labkit import benchmarks, tools; from labkit.point.spec import Effort, Spec\n"
        "spec = Spec(benchmark='sockets.tcp_stream', size=65536, ranks=1, options={'tool': 'iperf3'})\n"
        "spec = benchmarks.resolve(spec)\n"
        "tools.run(tools.available(benchmarks.get(spec.benchmark).tools, spec, Effort(time_cap=600)))\n"
    )
    lab = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    until(lambda: any("iperf3 -c" in commandline(pid) for pid in marked(mark)), runs=lab)
    lab.kill()
    lab.wait()
    until(lambda: not marked(mark))


# ---- servers and ports


def test_a_port_that_is_taken_meanwhile_is_replaced(monkeypatch: pytest.MonkeyPatch, mark: str) -> None:
    need(iperf3)
    free, asked = _run.free_ports, []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = taken.getsockname()[1]

        def ports(address: str, count: int) -> list[int]:
            asked.append(address)
            return [busy, 0] if len(asked) == 1 else free(address, count)

        monkeypatch.setattr(_run, "free_ports", ports)
        outcome = tools.run(dataclasses.replace(serving(), client=("true",), parse=parsed))
    assert len(asked) == 2
    assert f"-p {busy} " not in f"{outcome.command} "
    assert marked(mark) == []


def test_a_server_that_never_comes_up_is_an_error(monkeypatch: pytest.MonkeyPatch, mark: str) -> None:
    need(iperf3)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(_run, "free_ports", lambda address, count: [port, port])
        with pytest.raises(LaunchError, match="server of iperf3 ended 3 times before it listened") as caught:
            tools.run(serving())
    assert "Address already in use" in caught.value.stderr
    assert caught.value.command[-1] == str(port)
    monkeypatch.setattr(_run, "_READY_S", 0.3)
    with pytest.raises(LaunchError, match=r"did not listen within 0\.3 s"):
        tools.run(serving(server=("sleep", "60")))
    assert marked(mark) == []


def test_a_server_that_listens_on_udp_is_waited_for() -> None:
    program = (
        "import socket, sys, time; s = socket.socket(type=socket.SOCK_DGRAM); time.sleep(0.2); "
        "s.bind(('127.0.0.1', int(sys.argv[1]))); time.sleep(60)"
    )
    job = dataclasses.replace(
        JOB, server=(sys.executable, "-S", "-c", program, "{port}"), listens="udp", address="127.0.0.1"
    )
    assert texts(tools.run(job).badges) == ("loopback",)


def test_a_place_puts_words_before_both_commands() -> None:
    need(iperf3)
    place = Place(address="127.0.0.2", server=("env", "A=1"), client=("env", "B=1"))
    outcome = tools.run(iperf3.tcp_stream(resolved("sockets.tcp_stream", 65536), SHORT), place=place)
    server, client = outcome.commands
    assert server[:5] == ("env", "A=1", "iperf3", "-s", "-1")
    assert client[:5] == ("env", "B=1", "iperf3", "-c", "127.0.0.2")
    assert outcome.meta["address"] == "127.0.0.2"


def test_ports_are_free_and_differ() -> None:
    first, second = _run.free_ports("127.0.0.1", 2)
    assert first != second
    for port in (first, second):
        with socket.create_server(("127.0.0.1", port)):
            pass
    assert _run.free_ports("192.0.2.1", 1)[0] > 0, "an address of another machine"


def test_a_program_that_is_missing_names_its_package() -> None:
    tool = tools.Tool(name="true", programs=("no-such-program",), package="some-package", purpose="tests")
    with pytest.raises(LaunchError, match=r"needs no-such-program\. Install Debian package some-package"):
        tools.run(dataclasses.replace(JOB, tool=tool))


def test_fewer_iterations_than_asked_for_are_told() -> None:
    few = tools.Parsed(time_ns=np.arange(5), extras={"start_ns": np.arange(5)})
    kept = tools.trimmed(few, Effort(iterations=4, warmup=2))
    assert kept.time_ns.tolist() == kept.extras["start_ns"].tolist() == [2, 3, 4]
    assert texts(kept.warnings) == ("3 iterations instead of 4: the time limit was reached.",)
    assert tools.trimmed(few, Effort()).warnings == ()


def test_a_run_that_ends_within_its_warm_up_is_no_result() -> None:
    """Otherwise the tool's own statistics, of the warm-up alone, became a row of the point."""
    few = tools.Parsed(time_ns=np.arange(5))
    with pytest.raises(LaunchError, match=r"made 5 iterations, and -x is 5\. Set a smaller -x"):
        tools.trimmed(few, Effort(warmup=5))
