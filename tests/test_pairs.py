"""Two logs that differ in one stated setting never share a point.

The settings are taken from the tools' own sources and help texts. The first log of each list is a real output in which
every setting has one value; each further log differs in one setting.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.run import importing
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import FINGERPRINT

LOGS = Path(__file__).parent / "golden" / "logs"
IMB = Path(__file__).parent / "golden" / "imb"
OMB = Path(__file__).parent / "golden" / "omb"

# perftest_resources.c, perftest_parameters.c: ctx_print_test_info
PERFTEST = (
    *("Dual-port", "Device", "Number of qps", "Transport type", "Connection type", "Using SRQ", "PCIe relax order"),
    *("ibv_wr* API", "TX depth", "RX depth", "CQ Moderation", "Post List", "Recv Post List", "Mtu", "Link type"),
    *(
        "Max inline data",
        "rdma_cm QPs",
        "Data ex. method",
        "Use DMA-BUF",
        "Memory type",
        "Using hugepages",
        "WRITE mode",
    ),
    *("Outstand reads", "Rate limit", "Using DDP", "Use Enhanced Reorder", "GPU memory"),
)
# perftest.c: print_test_config
UCX = ("API", "Test", "Data layout", "Send memory", "Recv memory", "Window size", "AM header size")
# iperf_api.c: iperf_on_test_start, and the keys of start and end
IPERF3 = (
    "omit",
    "duration",
    "bytes",
    "blocks",
    "reverse",
    "tos",
    "target_bitrate",
    "bidir",
    "fqrate",
    "interval",
    "gso",
)
IPERF3_START = ("sock_bufsize", "tcp_mss")
IPERF3_END = ("sender_tcp_congestion", "receiver_tcp_congestion")
# HOWTO.rst of fio
FIO = (
    *(
        "ioengine",
        "iodepth",
        "direct",
        "sync",
        "fsync",
        "fdatasync",
        "rwmixread",
        "numjobs",
        "thread",
        "buffered",
        "mem",
    ),
    *(
        "invalidate",
        "time_based",
        "runtime",
        "ramp_time",
        "size",
        "norandommap",
        "randrepeat",
        "zonesize",
        "hugepage-size",
    ),
    *(
        "rate",
        "rate_iops",
        "rate_process",
        "thinktime",
        "cpus_allowed",
        "numa_mem_policy",
        "numa_cpu_nodes",
        "nice",
        "prio",
    ),
    *("ioscheduler", "verify", "buffer_compress_percentage", "refill_buffers", "hipri", "registerfiles", "fixedbufs"),
    *("sqthread_poll", "offset", "fallocate", "fadvise_hint", "end_fsync", "overwrite", "group_reporting", "bsrange"),
    *(
        "bssplit",
        "blockalign",
        "random_distribution",
        "percentage_random",
        "file_service_type",
        "softrandommap",
        "loops",
    ),
    *(
        "lockmem",
        "exitall",
        "io_submit_mode",
        "iodepth_batch",
        "iodepth_batch_complete_min",
        "iodepth_low",
        "clocksource",
    ),
    *("gtod_reduce", "disable_lat", "nrfiles", "openfiles", "zero_buffers", "scramble_buffers", "dedupe_percentage"),
    *(
        "latency_target",
        "max_latency",
        "write_barrier",
        "rate_min",
        "zonemode",
        "write_hint",
        "sync_file_range",
        "thinktime_blocks",
        "atomic",
        "nonvectored",
        "uncached",
    ),
)
# memtier_benchmark.cpp: config_print_to_json
MEMTIER = (
    *(
        "protocol",
        "out_file_mode",
        "client_stats",
        "run_count",
        "debug",
        "requests",
        "rate_limiting",
        "clients",
        "threads",
    ),
    *("test_time", "ratio", "pipeline", "data_size", "data_offset", "random_data", "data_size_range", "data_size_list"),
    *("data_size_pattern", "expiry_range", "data_import", "data_verify", "verify_only", "generate_keys", "key_prefix"),
    *("key_minimum", "key_maximum", "key_pattern", "key_stddev", "key_median", "key_zipf_exp", "reconnect_interval"),
    *(
        "multi_key_get",
        "authenticate",
        "select_db",
        "no_expiry",
        "distinct_client_seed",
        "cluster_mode",
        "wait_ratio",
        "num_slaves",
        "wait_timeout",
        "tls",
    ),
)
# HPL_pdinfo.c, as HPL prints its input
HPL = ("PMAP", "PFACT", "NBMIN", "NDIV", "RFACT", "BCAST", "DEPTH", "SWAP", "L1", "U", "EQUIL", "ALIGN")
# parse_options.c and ior-output.c: ShowTestStart
IOR = (
    *("access", "type", "ordering in a file", "ordering inter file", "tasks offset", "nodes", "reorder"),
    *(
        "clients per node",
        "memoryBuffer",
        "dataAccess",
        "GPUDirect",
        "stonewallingTime",
        "stoneWallingWearOut",
        "apiVersion",
    ),
)
# IMB_benchmark_suites: the flags of IMB's command line
IMB_FLAGS = (
    *(
        "-iter",
        "-iter_policy",
        "-time",
        "-mem",
        "-map",
        "-root_shift",
        "-sync",
        "-imb_barrier",
        "-off_cache",
        "-zero_size",
    ),
    *(
        "-thread_level",
        "-data_type",
        "-red_data_type",
        "-contig_type",
        "-multi",
        "-warm_up",
        "-window_size",
        "-aggregate_mode",
    ),
)
# print_results.f90 of NPB 3.4
NPB = ("Iterations", "Total processes", "Active threads")
NPB_COMPILED = ("CC", "CLINK", "CFLAGS", "CLINKFLAGS", "FC", "FLINK", "FFLAGS", "FLINKFLAGS", "RAND")
# netlib.c, netperf_omni.c: selectors with -k
NETPERF = (
    *(
        "LSS_SIZE_REQ",
        "RSR_SIZE_REQ",
        "LOCAL_NODELAY",
        "REMOTE_NODELAY",
        "LOCAL_CORK",
        "BURST_SIZE",
        "LOCAL_CONG_CONTROL",
    ),
    *(
        "REMOTE_CONG_CONTROL",
        "LOCAL_SEND_ALIGN",
        "REMOTE_RECV_ALIGN",
        "LOCAL_SEND_OFFSET",
        "LOCAL_SOCKET_TOS",
        "DIRECTION",
    ),
)
# nccl-tests common.cu: the line of parameters
NCCL = ("nThread", "nGpus", "warmup iters", "iters", "agg iters", "validation", "graph")
# hpcc's summary, src/hpcc.c
HPCC = (
    "HPL_N",
    "HPL_NB",
    "HPL_depth",
    "HPL_nbdiv",
    "HPL_nbmin",
    "HPL_cpfact",
    "HPL_crfact",
    "HPL_ctop",
    "HPL_order",
    "LANG",
)
# YCSB's workloads
YCSB = (
    *("readproportion", "updateproportion", "scanproportion", "insertproportion", "requestdistribution", "fieldcount"),
    *("fieldlength", "readallfields", "writeallfields", "insertorder", "maxscanlength", "recordcount", "redis.timeout"),
)
# _metadata.py of pyperf
PYPERF = (
    "cpu_model_name",
    "cpu_affinity",
    "cpu_config",
    "aslr",
    "timer",
    "python_compiler",
    "python_cflags",
    "loops",
    "inner_loops",
)
QPERF = (
    "access_recv",
    "affinity",
    "flip",
    "listen_port_reuse",
    "mtu_size",
    "poll_mode",
    "rd_atomic",
    "service_level",
    "sock_buf_size",
)
SOCKPERF = (
    "mps",
    "burst",
    "reply-every",
    "tcp-avoid-nodelay",
    "nonblocked",
    "pre-warmup-wait",
    "uc-reuseaddr",
    "tos",
    "buffer-size",
)
IOZONE = ("-O", "-R", "-e", "-c", "-o", "-p", "-w", "-W", "-U", "-j", "-C", "-J", "-K", "-L", "-S", "-y", "-q")


def lines(names: tuple[str, ...], form: str, changed: int) -> str:
    """One line for each setting; the changed one has another value."""
    return "".join(form.format(name, 2 if n == changed else 1) for n, name in enumerate(names))


def before(text: str, anchor: str, more: str) -> str:
    """Put lines above the first line that an anchor matches."""
    place = re.search(anchor, text, re.MULTILINE)
    assert place, anchor
    return text[: place.start()] + more + text[place.start() :]


def with_line(file: str, anchor: str, names: tuple[str, ...], form: str, *, drop: str = "") -> Iterator[str]:
    """A real output with lines of settings above an anchor, then those in which one setting differs."""
    text = (LOGS / file).read_text()
    text = re.sub(drop, "", text, flags=re.MULTILINE) if drop else text
    for changed in range(-1, len(names)):
        yield before(text, anchor, lines(names, form, changed))


def in_json(file: str, find: str, names: tuple[str, ...]) -> Iterator[str]:
    """The same for a section of JSON: ``a.b`` names the keys that lead to it."""
    document = json.loads(re.sub(r"^[^{]*", "", (LOGS / file).read_text(), count=1))
    section: Any = document
    for key in find.split("."):
        section = section.setdefault(key, {})
    for job in document.get("jobs", ()):
        job.pop("job options", None)  # they would win over the global ones
    for changed in range(-1, len(names)):
        for n, name in enumerate(names):
            number = 2 if n == changed else 1
            section[name] = number if isinstance(section.get(name, ""), int) else str(number)
        yield json.dumps(document, indent=1)


def nccl() -> Iterator[str]:
    text = (LOGS / "nccl_tests/all_reduce_named.txt").read_text()
    for changed in range(-1, len(NCCL)):
        values = {name: 2 if n == changed else 1 for n, name in enumerate(NCCL)}
        line = "# nThread {nThread} nGpus {nGpus} minBytes 8 maxBytes 64 step: 2(factor) warmup iters: {warmup iters} "
        line += "iters: {iters} agg iters: {agg iters} validation: {validation} graph: {graph}\n"
        yield re.sub(r"^# nThread .*\n", line.format(**values), text, flags=re.MULTILINE)


def imb() -> Iterator[str]:
    text = next(
        one for one in (path.read_text() for path in sorted(IMB.glob("*.txt"))) if "# Calling sequence was:" in one
    )
    call = re.compile(r"(# Calling sequence was:\s*\n(?:#?\s*\n)*)(# ?\S*IMB-\w+.*)$", re.MULTILINE)
    assert call.search(text)
    for changed in range(-1, len(IMB_FLAGS)):
        flags = " ".join(f"{name} {2 if n == changed else 1}" for n, name in enumerate(IMB_FLAGS))
        yield call.sub(lambda match, flags=flags: f"{match[1]}# IMB-MPI1 {flags}", text, count=1)  # type: ignore[misc]


def ycsb() -> Iterator[str]:
    text = next(path.read_text() for path in sorted((LOGS / "ycsb").iterdir()) if "Command line:" in path.read_text())
    for changed in range(-1, len(YCSB)):
        given = " ".join(f"-p {name}={2 if n == changed else 1}" for n, name in enumerate(YCSB))
        yield re.sub(r"^(Command line: ).*$", rf"\1-db site.ycsb.db.RedisClient -t {given}", text, flags=re.MULTILINE)


def iozone() -> Iterator[str]:
    text = (LOGS / "iozone/single_directIO.txt").read_text()
    for changed in range(-1, len(IOZONE)):
        flag = f" {IOZONE[changed]}" if changed >= 0 else ""
        yield re.sub(r"(Command line used: iozone)", rf"\1{flag}", text)


def sockperf() -> Iterator[str]:
    text = (LOGS / "sockperf/pingpong_udp.txt").read_text()
    for changed in range(-1, len(SOCKPERF)):
        flags = " ".join(f"--{name}={2 if n == changed else 1}" for n, name in enumerate(SOCKPERF))
        yield f"# sockperf ping-pong {flags}\n{text}"


def qperf() -> Iterator[str]:
    text = (LOGS / "qperf/plain.txt").read_text()
    head, after, *_ = re.finditer(r"^\w+:$", text, re.MULTILINE)
    text = text[: after.start()]
    for changed in range(-1, len(QPERF)):
        more = lines(QPERF, "    {}  =  {}\n", changed)
        yield text[: head.end() + 1] + more + text[head.end() + 1 :]


CASES: dict[str, Any] = {
    "perftest": lambda: with_line(
        "perftest/write_bw_bidir.txt",
        r"^ #bytes",
        PERFTEST,
        " {} : {}\n",
        drop=rf"^ (?:{'|'.join(map(re.escape, PERFTEST))}) .*\n",
    ),
    "iperf3 test": lambda: in_json("iperf3/tcp.json", "start.test_start", IPERF3),
    "iperf3 start": lambda: in_json("iperf3/tcp.json", "start", IPERF3_START),
    "iperf3 end": lambda: in_json("iperf3/tcp.json", "end", IPERF3_END),
    "fio": lambda: in_json("fio/jobs.json", "global options", FIO),
    "memtier": lambda: in_json("memtier/redis.json", "configuration", MEMTIER),
    "hpl": lambda: with_line("hpl/of_hpcc.txt", r"^T/V", HPL, "{} : {}\n", drop=rf"^(?:{'|'.join(HPL)}) .*\n"),
    "ior": lambda: with_line("ior/shared.txt", r"^Results", IOR, "{} : {}\n", drop=rf"^(?:{'|'.join(IOR)}) *:.*\n"),
    "npb": lambda: with_line(
        "npb/npb_cg.txt", r"^ *Verification", NPB, " {} = {}\n", drop=rf"^ *(?:{'|'.join(NPB)}) *=.*\n"
    ),
    "npb compiled": lambda: with_line(
        "npb/npb_cg.txt",
        r"^ *Verification",
        NPB_COMPILED,
        "    {} = {}\n",
        drop=rf"^ *(?:{'|'.join(NPB_COMPILED)}) *=.*\n",
    ),
    "netperf": lambda: with_line("../tools/netperf/TCP_RR_k_keyval_j.txt", r"^THROUGHPUT=", NETPERF, "{}={}\n"),
    "hpcc": lambda: with_line(
        "hpcc/two_ranks.txt", r"^HPL_Tflops=", HPCC, "{}={}\n", drop=rf"^(?:{'|'.join(HPCC)})=.*\n"
    ),
    "nccl-tests": nccl,
    "IMB": imb,
    "ycsb": ycsb,
    "iozone": iozone,
    "sockperf": sockperf,
    "qperf": qperf,
    "pyperf": lambda: in_json("pyperf/fast.json", "metadata", PYPERF),
}


def points(folder: Path, texts: list[str]) -> list[str]:
    """Import texts as measured on one testbed; return the fingerprint of each point and launch."""
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number:03}.txt").write_text(text)
    importing.bring([str(folder)], into=folder / "c", testbed="T")
    return [str(FINGERPRINT.of(one.meta)) for one in Campaign(folder / "c").samples()]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in ("fio", "IMB") else ()) for name in CASES]
)
def test_logs_that_differ_in_a_stated_setting_share_no_point(name: str, tmp_path: Path) -> None:
    texts = list(CASES[name]())
    assert len(set(texts)) == len(texts), "each log differs"
    alone = len(set(points(tmp_path / "alone", texts[:1])))
    assert alone
    found = points(tmp_path / "all", texts)
    assert len(set(found)) == alone * len(texts), name


def test_there_are_enough_pairs() -> None:
    """Of all formats together."""
    assert sum(len(list(make())) - 1 for make in CASES.values()) >= 300


UCX_BOX = """\
+------------------------------------------------------------------------------------------+
| API:          {0}|
| Test:         {1}|
| Data layout:  {2}|
| Send memory:  {3}|
| Recv memory:  {4}|
| Message size: 104857600                                                                  |
| Window size:  {5}|
+------------------------------------------------------------------------------------------+
"""


def test_a_box_of_ucx_perftest_may_stand_above_or_below_the_head(tmp_path: Path) -> None:
    """If client and server share a terminal, the size and the memory types in the server's box are used."""
    text = (LOGS / "ucx_perftest/tcp_tag_lat.client.txt").read_text()
    values = ["protocol layer", "tag match latency", "(automatic)", "cuda", "cuda", "32"]
    box = UCX_BOX.format(*(f"{value:<75}" for value in values))
    head = re.search(r"^\|\s*(?:Stage|Test)\s*\| *# iterations.*\n(?:\+.*\n)?", text, re.MULTILINE)
    assert head
    below = text[: head.end()] + box + text[head.end() :]
    host = UCX_BOX.format(*(f"{value:<75}" for value in [*values[:3], "host", "host", "32"]))
    for number, one in enumerate((box + text, below, host + text)):
        (tmp_path / f"{number}.txt").write_text(one)
    importing.bring([str(tmp_path)], into=tmp_path / "c", testbed="T")
    found = list(Campaign(tmp_path / "c").samples())
    assert {one.spec.size for one in found} == {104857600}
    assert sorted((str(one.spec.values["send_memory"]), one.launch) for one in found) == [
        ("cuda", 0),
        ("cuda", 1),
        ("host", 0),
    ]


@pytest.mark.parametrize(
    ("api", "title", "benchmark", "operation"),
    [
        ("protocol layer", "tag sync match latency", "verbs.ucx_latency", "tag_sync"),
        ("protocol layer", "am latency", "verbs.ucx_latency", "am"),
        ("protocol layer", "atomic fetch-and-add latency / bandwidth / rate", "verbs.ucx_latency", "fadd"),
        ("transport layer", "put latency", "verbs.uct_latency", "put"),
    ],
)
def test_the_box_of_ucx_perftest_names_layer_and_operation(
    api: str, title: str, benchmark: str, operation: str, tmp_path: Path
) -> None:
    text = (LOGS / "ucx_perftest/tcp_tag_lat.client.txt").read_text()
    box = UCX_BOX.format(*(f"{value:<75}" for value in (api, title, "short", "host", "host", "32")))
    (tmp_path / "log.txt").write_text(box + text)
    importing.bring([str(tmp_path / "log.txt")], into=tmp_path / "c")
    (found,) = Campaign(tmp_path / "c").samples()
    assert (found.spec.benchmark, found.spec.values["operation"]) == (benchmark, operation)
    assert found.spec.values.get("driver") is None, "a log does not name it"


def test_a_line_at_the_end_of_nccl_tests_names_the_table_above(tmp_path: Path) -> None:
    """Later versions end a table with "Collective test concluded: all_reduce_perf", which does not name the next table's program."""
    table = (LOGS / "nccl_tests/all_reduce_unnamed.txt").read_text()
    (tmp_path / "log.txt").write_text(
        f"all_gather_perf -b 8\n{table}# Collective test concluded: all_gather_perf\n#\nbroadcast_perf -b 8\n{table}"
    )
    importing.bring([str(tmp_path / "log.txt")], into=tmp_path / "c")
    found = [one.spec.benchmark for one in Campaign(tmp_path / "c").samples()]
    half = len(found) // 2
    assert [name.rpartition(".")[2] for name in sorted(set(found))] == ["nccl_all_gather", "nccl_broadcast"]
    assert len(found) == 2 * half


CASES_GIVEN = {
    "post": """                    RDMA_Write Post List BW Test
 Number of qps   : 1\t\tTransport type : IB
 Post List       : {0}
 CQ Moderation   : {0}
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 64         5000             {1}             {1}\t\t   1.474560
---------------------------------------------------------------------------------------
""",
}


def test_runs_of_another_setting_are_not_averaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from labkit.apps.cli import main

    for posts, rate in ((1, "90.00"), (64, "700.00")):
        (tmp_path / f"{posts}.txt").write_text(CASES_GIVEN["post"].format(posts, rate))
    into = str(tmp_path / "c")
    assert main(["import", str(tmp_path / "1.txt"), str(tmp_path / "64.txt"), "--testbed", "T", "--into", into]) == 0
    capsys.readouterr()
    assert main(["show", into, "--format", "json"]) == 0
    rates = {round(one["bandwidth_MBps_mean"], 1) for one in json.loads(capsys.readouterr().out)["records"]}
    assert rates == {94.4, 734.0}
    summary = {one.spec.values["post_list"]: one.spec.values["qps"] for one in Campaign(tmp_path / "c").samples()}
    assert summary == {"1": 1, "64": 1}
    assert all(one.spec.values["tx_depth"] is None for one in Campaign(tmp_path / "c").samples()), (
        "the log does not state it"
    )


BIDIR = {
    "sum_sent": [400000000, 50000000],
    "sum_received": [400000000, 50000000],
}


def test_iperf3_3_7_prints_the_sums_of_both_directions_under_one_name(tmp_path: Path) -> None:
    """The second sum belongs to the reverse direction; any other duplicate key is refused by name."""
    sums = ",\n".join(
        f'"{name}": {{"seconds": 1, "bytes": {rate}, "bits_per_second": {8 * rate}, "sender": {str(not n).lower()}}}'
        for n in (0, 1)
        for name, rate in ((name, rates[n]) for name, rates in BIDIR.items())
    )
    test = '{"protocol": "TCP", "num_streams": 1, "blksize": 131072, "omit": 0, "duration": 1, "reverse": 0}'
    end = f'"streams": [],\n{sums},\n"cpu_utilization_percent": {{"host_total": 1, "remote_total": 1}}'
    text = f'{{\n"start": {{"version": "iperf 3.7", "test_start": {test}}},\n"intervals": [],\n"end": {{{end}}}\n}}\n'
    (tmp_path / "log.json").write_text(text)
    importing.bring([str(tmp_path / "log.json")], into=tmp_path / "c")
    (one,) = Campaign(tmp_path / "c").samples()
    assert one.spec.benchmark == "sockets.tcp_bidirectional"
    rates = {value.labels.get("direction"): value.value for value in one.reported if value.name == "bandwidth_MBps"}
    assert rates == {None: 450.0, "forward": 400.0, "reverse": 50.0}
    (tmp_path / "twice.json").write_text(text.replace('"blksize": 131072', '"blksize": 131072, "blksize": 1'))
    with pytest.raises(Exception, match="'blksize' occurs twice"):
        importing.bring([str(tmp_path / "twice.json")], into=tmp_path / "d")
