"""Logs of tools: what each says, in labkit's units, as points; folders sorted by content."""

from __future__ import annotations

import os
import re
import shutil
import zlib
from pathlib import Path

import pytest

from labkit import benchmarks, studies
from labkit.apps.cli import main
from labkit.errors import DataError, SpecError
from labkit.figures.parts import NOTHING
from labkit.formats import logs
from labkit.formats.reading.log import Run
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.notes import joined
from labkit.point.spec import Spec
from labkit.read import records
from labkit.run import importing
from labkit.run.importing import folders
from labkit.run.importing.text import Text, parts
from labkit.store import campaign
from labkit.store.campaign import Campaign
from labkit.suites import sections

LOGS = Path(__file__).parent / "golden" / "logs"
FILES = sorted(path for path in LOGS.glob("*/*") if path.is_file())

LEFT_OUT = ("netperf TCP_RR with other response sizes",)  # tests that no benchmark equals

OWN = ("Flent", "JUBE", "Ramble")  # tests with runs whose values have names of their own only

# file → number of runs, and of one of them: test, size, ranks, some options, some values
EXPECTED: dict[str, tuple[str, int, str, int, int, dict[str, object], dict[str, float]]] = {
    "stream/openmp.txt": (
        *("STREAM", 4, "STREAM Triad", 16_000_000, 1),
        {"kernel": "triad", "threads": 2},
        {"bandwidth_MBps max": 75234.2, "run_time_s mean": 0.014788, "run_time_s min": 0.000638},
    ),
    "stream/serial.txt": ("STREAM", 4, "STREAM Copy", 16_000_000, 1, {"threads": 1}, {"bandwidth_MBps max": 22425.7}),
    "hpl/of_hpcc.txt": (
        *("HPL", 1, "HPL", 0, 2),
        {"n": 500, "nb": 64, "p": 1, "q": 2},
        {"performance_GFLOPS value": 3.55, "run_time_s value": 0.02},
    ),
    "hpcg/report_3_1.txt": (
        *("HPCG", 1, "HPCG", 0, 2),
        {"threads": 4, "nx": 32, "ny": 32, "nz": 32},
        {"performance_GFLOPS value": 2.75625, "run_time_s value": 60.25},
    ),
    "fi_pingpong/tcp.txt": (
        *("fi_pingpong", 6, "fi_pingpong", 65536, 1),
        {},
        {"round_trip_us mean": 707.3, "transaction_rate_per_s mean": 0.5e6 / 353.65},
    ),
    "fi_pingpong/all_sizes_tcp.txt": (
        *("fi_pingpong", 6, "fi_pingpong", 4096, 1),
        {},
        {"round_trip_us mean": 2 * 10.39},
    ),
    "fi_pingpong/1500_B.txt": ("fi_pingpong", 1, "fi_pingpong", 1434, 1, {}, {"round_trip_us mean": 2 * 439.45}),
    "fi_pingpong/verbose.txt": ("fi_pingpong", 1, "fi_pingpong", 8, 1, {}, {"round_trip_us mean": 2 * 37.76}),
    "hey/two_workers.txt": (
        *("hey", 1, "hey", 0, 1),
        {"connections": 0},
        {"transaction_rate_per_s mean": 999.5002, "round_trip_us p99": 4900, "round_trip_us max": 41200},
    ),
    "hpcc/two_ranks.txt": (
        *("HPCC", 27, "HPCC PingPong", 0, 2),
        {"test": "PingPong", "message_size": 8},
        {"latency_us max_of_pairs": 0.257722, "latency_us value": 0.253917},
    ),
    "npb/npb_cg.txt": (
        *("NPB", 1, "NPB CG", 0, 1),
        {"npb_class": "W", "threads": 2, "model": "openmp"},
        {"run_time_s value": 2.76, "operations_Mops value": 152.51},
    ),
    "npb/npb33_omp_ua.s.txt": (
        *("NPB", 1, "NPB UA", 0, 1),
        {"npb_class": "S", "threads": 2, "model": "openmp"},
        {"run_time_s value": 9.06, "operations_Mops value": 1.38},
    ),
    "npb/npb33_ser_ep.s.txt": ("NPB", 1, "NPB EP", 0, 1, {"threads": 1}, {"operations_Mops value": 9.79}),
    "npb/npb33_mpi_is.s.2.txt": ("NPB", 1, "NPB IS", 0, 2, {"model": "mpi"}, {"operations_Mops value": 385.35}),
    "npb/npb33_mpi_dt.s.txt": ("NPB", 1, "NPB DT", 0, 5, {"graph": "BH"}, {"operations_Mops value": 27.25}),
    "ior/shared.txt": (
        *("IOR", 2, "IOR", 65536, 2),
        {"operation": "write", "file": "shared"},
        {"bandwidth_MBps mean": 2801.34 * 2**20 / 1e6, "iops_per_s max": 49545.12, "run_time_s mean": 0.00072},
    ),
    "ior/io500_hard_write.txt": (
        *("IOR", 1, "IOR", 47008, 2),
        {"operation": "write", "api": "POSIX", "file": "shared", "block_size": 47008, "segments": 68000},
        {"bandwidth_MBps mean": 1182.14 * 2**20 / 1e6, "run_time_s mean": 1.14},
    ),
    "ior/file_per_process.json": (
        *("IOR", 2, "IOR", 16384, 2),
        {"operation": "read", "file": "file per process", "block_size": 262144},
        {"bandwidth_MBps stddev": 74.6783 * 2**20 / 1e6},
    ),
    "mdtest/three_iterations.txt": (
        *("mdtest", 10, "mdtest", 0, 2),
        {"operation": "file stat", "items": 20},
        {"operation_rate_per_s mean": 6698.606, "operation_rate_per_s stddev": 7942.218},
    ),
    "mdtest/rate_and_time.txt": ("mdtest", 10, "mdtest", 0, 2, {"operation": "tree removal"}, {}),
    "ycsb/redis_workloada_run.txt": (
        *("YCSB", 3, "YCSB", 0, 1),
        {"operation": "READ", "threads": 2},
        {"round_trip_us p95": 255, "round_trip_us mean": 232.45871559633028},
    ),
    "ycsb/redis_interval_both.txt": (
        *("YCSB", 5, "YCSB", 0, 1),
        {"operation": "READ", "interval": "intended", "target": 200, "records": 200},
        {"response_us p99": 33887},
    ),
    "ycsb/redis_workloada.json": ("YCSB", 3, "YCSB", 0, 1, {"operation": "READ"}, {"round_trip_us p999": 7971}),
    "ycsb/go_ycsb_run.txt": (
        *("YCSB", 3, "go-ycsb", 0, 1),
        {"operation": "OVERALL"},
        {"transaction_rate_per_s mean": 52255.7, "round_trip_us p99": 201},
    ),
    "memtier/redis.json": (
        *("memtier_benchmark", 3, "memtier_benchmark", 64, 1),
        {"operation": "GET", "clients": 2, "threads": 1, "ratio": "1:9"},
        {"transaction_rate_per_s mean": 22590.93, "round_trip_us min": 24, "round_trip_us p999": 2847},
    ),
    "redis_benchmark/two_commands.csv": (
        *("redis-benchmark", 2, "redis-benchmark", 0, 1),
        {"command": "get"},
        {"transaction_rate_per_s mean": 50505.05, "round_trip_us p99": 1799},
    ),
    "redis_benchmark/quiet_progress.txt": (
        *("redis-benchmark", 3, "redis-benchmark", 0, 1),
        {"command": "lpush"},
        {"transaction_rate_per_s mean": 41666.67, "round_trip_us p50": 591},
    ),
    "redis_benchmark/two_threads.txt": (
        *("redis-benchmark", 2, "redis-benchmark", 3, 1),
        {"command": "get", "clients": 50},
        {"transaction_rate_per_s mean": 17543.86, "round_trip_us p99": 11631, "round_trip_us max": 14847},
    ),
    "redis_benchmark/own_command.txt": (
        *("redis-benchmark", 1, "redis-benchmark", 0, 1),
        {"command": "eval return 1 0"},
        {"transaction_rate_per_s mean": 10948.91},
    ),
    "wrk/wrk_latency.txt": (
        *("wrk", 1, "wrk", 0, 1),
        {"connections": 2},
        {"transaction_rate_per_s mean": 41.67, "round_trip_us p99": 135900},
    ),
    "wrk/wrk2_readme.txt": (
        *("wrk", 1, "wrk2", 0, 1),
        {"threads": 2, "connections": 100},
        {
            "response_us p50": 6670,
            "response_us p95": 10015,
            "response_us p999": 12300,
            "transaction_rate_per_s mean": 2000.28,
        },
    ),
    "wrk/wrk2_uncorrected.txt": (
        *("wrk", 1, "wrk2", 0, 1),
        {"threads": 2, "connections": 10},
        {
            "response_us mean": 1691,
            "response_us min": 163,
            "response_us p99": 7630,
            "response_us max": 9504,
            "round_trip_us mean": 938,
            "round_trip_us stddev": 1416,
            "round_trip_us max": 8352,
        },
    ),
    "wrk/wrk2_short.txt": (*("wrk", 1, "wrk2", 0, 1), {}, {"response_us mean": 2170, "requests total": 600}),
    "fio/jobs.json": (
        *("fio", 4, "fio write", 65536, 1),
        {"sync": "fsync", "depth": 1},
        {"latency_us mean": (35276.203125 + 10807581.634921) * 1e-3},
    ),
    "fio/jobs.txt": (
        *("fio", 4, "fio read", 4096, 1),
        {"pattern": "random", "depth": 4},
        {"clat_us p99": 21365, "latency_us max": 59671, "bandwidth_MBps mean": 7.119, "iops_per_s mean": 1738},
    ),
    "gpcnet/network_load_test.txt": (
        *("GPCNeT", 6, "GPCNeT loaded", 131072, 10),
        {"test": "RR Two-sided BW+Sync", "nodes": 10},
        {"bandwidth_MBps value": 424.5 * 2**20 / 1e6, "bandwidth_MBps p99": 23.8 * 2**20 / 1e6},
    ),
    "gpcnet/load_verbose.txt": (
        *("GPCNeT", 22, "GPCNeT loaded", 4096, 10),
        {"test": "Two-sided Incast", "beside": "Multiple Allreduce"},
        {
            "bandwidth_MBps value": 560.1 * 2**20 / 1e6,
            "bandwidth_MBps p999": 391.6 * 2**20 / 1e6,
            "bandwidth_MBps min_of_ranks": 560.1 * 2**20 / 1e6,
        },
    ),
    "iozone/throughput_t2.txt": (
        *("IOzone", 4, "IOzone throughput", 65536, 1),
        {"test": "initial writers", "file_size": 1 << 20},
        {"bandwidth_MBps mean": 7324340 * 1024e-6, "parent_bandwidth_MBps mean": 110767.13 * 1024e-6},
    ),
    "iozone/operations_O.txt": (
        *("IOzone", 90, "IOzone operations", 4096, 1),
        {"test": "random write", "file_size": 262144},
        {"iops_per_s mean": 378715},
    ),
    "iozone/throughput_t2_O.txt": (
        *("IOzone", 4, "IOzone operations", 65536, 1),
        {"test": "rewriters", "processes": 2},
        {"iops_per_s mean": 147108.57, "parent_iops_per_s mean": 3486.04},
    ),
    "iperf/tcp_P2_plain.txt": ("iperf", 1, "iperf TCP", 0, 1, {"streams": 2}, {"bandwidth_MBps mean": 14890 / 8}),
    "iperf/tcp_P2_bytes.txt": (
        *("iperf", 1, "iperf TCP", 0, 1),
        {"streams": 2},
        {"bandwidth_MBps mean": (511 + 439) * 1.048576},
    ),
    "iperf/tcp_P2_intervals.txt": (
        *("iperf", 1, "iperf TCP", 131072, 1),
        {"streams": 2},
        {"bandwidth_MBps mean": (13400 + 10300) / 8},
    ),
    "iperf/udp_plain.txt": (
        *("iperf", 1, "iperf UDP", 1470, 1),
        {"streams": 1},
        {
            "bandwidth_MBps mean": 44.3 / 8,
            "sent_MBps mean": 51.9 / 8,
            "jitter_us mean": 2,
            "lost_percent mean": 65500 / 4457,
        },
    ),
    "iperf/server_multicast.txt": (
        *("iperf", 1, "iperf UDP", 0, 1),
        {"multicast": True},
        {"bandwidth_MBps mean": 10022 / 8e3, "lost_percent mean": 0},
    ),
    "iperf/bounceback.txt": ("iperf", 1, "iperf bounce-back", 100, 1, {}, {"round_trip_us max": 1085}),
    "iperf3/tcp_P2_R.txt": (
        *("iperf3", 1, "iperf3 TCP", 0, 1),
        {"streams": 2},
        {"bandwidth_MBps mean": 9580 / 8, "sent_MBps mean": 9520 / 8},
    ),
    "iperf3/tcp_P3_gbytes.txt": (
        *("iperf3", 1, "iperf3 TCP", 0, 1),
        {"streams": 3},
        {"bandwidth_MBps mean": 0.82 * 1073.741824, "sent_MBps mean": 0.84 * 1073.741824},
    ),
    "iperf3/omitted_kbytes.txt": (
        *("iperf3", 1, "iperf3 TCP", 0, 1),
        {"streams": 1},
        {"bandwidth_MBps mean": 813188 * 1024e-6, "sent_MBps mean": 816896 * 1024e-6},
    ),
    "iperf3/bidir_V.txt": (
        *("iperf3", 1, "iperf3 TCP both", 65536, 1),
        {"streams": 1},
        {"sent_MBps mean": (2660 + 2830) / 8},
    ),
    "iperf3/udp.txt": ("iperf3", 1, "iperf3 UDP", 0, 1, {}, {"bandwidth_MBps mean": 49.1 / 8, "jitter_us mean": 26}),
    "iperf3/tcp.json": ("iperf3", 1, "iperf3 TCP", 65536, 1, {"streams": 1}, {"retransmits total": 1}),
    "nccl_tests/all_reduce_unnamed.txt": (
        *("nccl-tests", 6, "nccl-tests all_reduce", 1 << 26, 8),
        {"place": "in place", "datatype": "float", "reduction": "sum"},
        {"busbw_GBps mean": 257.11, "latency_us mean": 456.77},
    ),
    "nccl_tests/all_gather_command.txt": (
        *("nccl-tests", 6, "nccl-tests all_gather", 1 << 23, 4),
        {"place": "out of place"},
        {"algbw_GBps mean": 86.93},
    ),
    "nccl_tests/sendrecv.json": (
        *("nccl-tests", 2, "nccl-tests sendrecv", 1 << 20, 2),
        {"place": "out of place"},
        {"busbw_GBps mean": 25.575},
    ),
    "nccl_tests/broadcast_2_10.txt": (
        *("nccl-tests", 6, "nccl-tests broadcast", 1 << 24, 4),
        {"place": "in place", "reduction": "none", "root": 2},
        {"algbw_GBps mean": 124.04, "latency_us mean": 135.3},
    ),
    "nccl_tests/two_tables_2_10.txt": (
        *("nccl-tests", 8, "nccl-tests all_gather", 1 << 24, 4),
        {"place": "out of place", "reduction": "none"},
        {"algbw_GBps mean": 119.67, "busbw_GBps mean": 89.75},
    ),
    "nccl_tests/alltoall_per_iteration.txt": (
        *("nccl-tests", 4, "nccl-tests all_to_all", 1 << 20, 4),
        {"place": "in place"},
        {"busbw_GBps mean": 15.86, "latency_us min": 44.61, "latency_us p99": 64.44},
    ),
    "nccl_tests/reduce_2_17_8.json": (
        *("nccl-tests", 2, "nccl-tests reduce", 1 << 20, 2),
        {"place": "in place", "root": 1},
        {"latency_us mean": 41.5},
    ),
    "param/collectives_tag.txt": (
        *("PARAM", 15, "PARAM all_gather", 32768, 2),
        {"datatype": "float32", "backend": "gloo", "blocking": False, "tag": "try"},
        {
            "latency_us mean": 291.3,
            "latency_us max_of_ranks": 296.3,
            "algbw_GBps mean": 0.112,
            "busbw_GBps mean": 0.056,
        },
    ),
    "param/pt2pt.txt": (
        *("PARAM", 12, "PARAM one-way window", 65536, 2),
        {"blocking": True},
        {"bandwidth_MBps mean": 736},
    ),
    "netperf/TCP_RR_o.txt": (
        *("netperf", 1, "netperf TCP_RR", 1, 1),
        {"nodelay": False},
        {"transaction_rate_per_s mean": 35774.06, "round_trip_us p99": 29},
    ),
    "netperf/TCP_RR_cpu_nodelay.txt": (
        *("netperf", 1, "netperf TCP_RR", 64, 1),
        {"nodelay": True},
        {"transaction_rate_per_s mean": 12994.67},
    ),
    "netperf/TCP_RR_v3.txt": (
        *("netperf", 1, "netperf TCP_RR", 0, 1),
        {"nodelay": False},
        {"transaction_rate_per_s mean": 31486.488, "round_trip_us mean": 31.76},
    ),
    "netperf/TCP_RR_O_rate.txt": (
        *("netperf", 1, "netperf TCP_RR", 0, 1),
        {},
        {"transaction_rate_per_s mean": 20092.404, "round_trip_us max": 25279, "round_trip_us stddev": 437.36},
    ),
    "netperf/omni_k_all.txt": (
        *("netperf", 1, "netperf TCP_STREAM", 16384, 1),
        {},
        {"bandwidth_MBps mean": 7202.07 / 8, "send_call_us p99": 30, "send_call_us mean": 17.63},
    ),
    "netperf/UDP_STREAM_fG.txt": (
        *("netperf", 1, "netperf UDP_STREAM", 1400, 1),
        {},
        {"bandwidth_MBps mean": 0.04 * 2**30 / 1e6, "sent_MBps mean": 0.13 * 2**30 / 1e6},
    ),
    "netperf/omni_rr.txt": (
        *("netperf", 1, "netperf TCP_RR", 1, 1),
        {"nodelay": False},
        {"transaction_rate_per_s mean": 8194.59},
    ),
    "netperf/omni_receive.txt": (
        *("netperf", 1, "netperf TCP_MAERTS", 16384, 1),
        {},
        {"bandwidth_MBps mean": 327.03 * 1.048576},
    ),
    "netperf/TCP_STREAM_M.txt": (
        "netperf",
        1,
        "netperf TCP_STREAM",
        16384,
        1,
        {},
        {"bandwidth_MBps mean": 2011.17 * 1.048576},
    ),
    "netperf/TCP_STREAM_cpu.txt": (
        "netperf",
        1,
        "netperf TCP_STREAM",
        65536,
        1,
        {},
        {"bandwidth_MBps mean": 3619.08 / 8},
    ),
    "netperf/UDP_STREAM.txt": (
        *("netperf", 1, "netperf UDP_STREAM", 1024, 1),
        {},
        {"bandwidth_MBps mean": 31.86 / 8, "sent_MBps mean": 429.67 / 8, "lost_percent mean": 100 * (1 - 3889 / 52455)},
    ),
    "netpipe/np_tcp.out": (
        *("NetPIPE", 58, "NetPIPE", 4096, 1),
        {},
        {"latency_us value": 8e6 * 4096 / (11299.310345 * 2**20), "bandwidth_MBps value": 11299.310345 * 2**20 / 8e6},
    ),
    "netpipe/client_p0.txt": (
        *("NetPIPE", 24, "NetPIPE", 1, 1),
        {},
        {"latency_us value": 10.63, "bandwidth_MBps value": 1 / 10.63},
    ),
    "netpipe/invalidate.out": ("NetPIPE", 16, "NetPIPE", 1, 1, {}, {"latency_us value": 8e6 / (0.989199 * 2**20)}),
    "linpack/two_sizes.txt": (
        *("LINPACK", 2, "LINPACK", 0, 1),
        {"n": 1000, "lda": 1000, "threads": 4},
        {"performance_GFLOPS mean": 105.5, "performance_GFLOPS max": 110.5, "performance_GFLOPS min": 100.5},
    ),
    "omb_excerpt/three_tables.txt": ("OMB excerpt", 5, "osu_bw", 16, 2, {}, {"bandwidth_MBps mean": 21.25}),
    "netpipe/client.txt": ("NetPIPE", 58, "NetPIPE", 1024, 1, {}, {"latency_us value": 8e6 * 1024 / (2441.73 * 2**20)}),
    "perftest/send_lat_all.txt": (
        *("perftest", 23, "perftest Send Latency", 2, 1),
        {"connection": "RC", "mtu": 4096},
        {"latency_us p50": 34.98, "latency_us min": 24.2},
    ),
    "perftest/write_bw_bidir.txt": ("perftest", 1, "perftest RDMA_Write BW", 4096, 1, {"bidirectional": True}, {}),
    "perftest/send_lat.json": ("perftest", 1, "perftest Send Latency", 8, 1, {}, {"latency_us p50": 28.13}),
    "pyperf/fast.json": ("pyperf", 10, "pyperf", 0, 1, {"name": "timeit"}, {}),
    "qperf/conf.txt": ("qperf", 1, "qperf tcp_lat", 0, 1, {}, {"round_trip_us mean": 2 * 32.2}),
    "qperf/plain.txt": (
        *("qperf", 4, "qperf udp_bw", 0, 1),
        {},
        {"sent_MBps mean": 2140, "bandwidth_MBps mean": 470},
    ),
    "qperf/loop.txt": ("qperf", 4, "qperf tcp_lat", 4096, 1, {}, {"round_trip_us mean": 22.8}),
    "reframe/report.json": (
        *("ReFrame", 1, "ReFrame", 0, 1),
        {"test": "StreamTest", "system": "generic:default:builtin"},
        {"copy_bw value": 43605.5, "run_time_s value": 1.7725355625152588},
    ),
    "sockperf/pingpong_multicast.txt": (
        *("sockperf", 1, "sockperf ping-pong udp", 0, 1),
        {"multicast": True},
        {"round_trip_us mean": 2 * 6.963},
    ),
    "sockperf/throughput_udp.txt": (
        *("sockperf", 1, "sockperf throughput udp", 1400, 1),
        {"protocol": "udp"},
        {"sent_MBps mean": 397.26 * 1.048576, "message_rate_per_s mean": 297541},
    ),
    "sockperf/underload_tcp.txt": (
        *("sockperf", 1, "sockperf under-load tcp", 0, 1),
        {"protocol": "tcp"},
        {"round_trip_us p50": 64.6, "round_trip_us max": 2 * 2469.859},
    ),
    "ucx_perftest/tcp_tag_lat.client.txt": (
        *("ucx_perftest", 1, "ucx_perftest latency", 0, 1),
        {"operation": "unknown"},
        {"latency_us p50": 3.418, "latency_us mean": 787.295},
    ),
    "ucx_perftest/posix_am_lat.txt": (
        *("ucx_perftest", 1, "ucx_perftest UCT latency", 8, 1),
        {"operation": "am", "layout": "short"},
        {"latency_us p50": 0.525, "latency_us mean": 447.648},
    ),
    "ucx_perftest/sysv_put_bw.txt": (
        *("ucx_perftest", 1, "ucx_perftest UCT bandwidth", 64, 1),
        {"operation": "put", "layout": "bcopy"},
        {"bandwidth_MBps mean": 2976.74 * 1.048576, "message_rate_per_s mean": 48795362},
    ),
    "flent/rrul.flent": (
        *("Flent", 3, "Flent", 0, 1),
        {"test": "rrul", "series": "TCP download"},
        {"bandwidth_MBps mean": 800 / 8, "bandwidth_MBps min": 700 / 8, "bandwidth_MBps max": 900 / 8},
    ),
    "flent/format1.json": (
        *("Flent", 2, "Flent", 0, 1),
        {"test": "tcp_download", "series": "Ping (ms) UDP BE"},
        {"round_trip_us mean": 21000, "round_trip_us p50": 21000},
    ),
    "perfsonar/throughput_archived.json": (
        *("perfSONAR", 1, "pScheduler throughput TCP", 0, 1),
        {"streams": 2},
        {"bandwidth_MBps mean": 9360 / 8, "sent_MBps mean": 9400 / 8, "retransmits total": 12},
    ),
    "perfsonar/latency.json": (
        *("perfSONAR", 1, "pScheduler latency", 0, 1),
        {},
        {"latency_us mean": 2697.5, "latency_us max": 9750, "lost_percent mean": 100 / 101},
    ),
    "perfsonar/rtt_run.json": (
        *("perfSONAR", 1, "pScheduler rtt", 64, 1),
        {},
        {"round_trip_us p50": 10300, "round_trip_us stddev": 819, "lost_percent mean": 20},
    ),
    "io500/result.txt": (
        *("IO500", 3, "IO500", 0, 40),
        {"phase": "ior-easy-write"},
        {"bandwidth_MBps value": 12.5 * 2**30 / 1e6, "run_time_s value": 320.5},
    ),
    "io500/result_summary.txt": (
        *("IO500", 3, "IO500", 0, 0),
        {"phase": "mdtest-easy-write"},
        {"operation_rate_per_s value": 80250, "run_time_s value": 200.25},
    ),
    "io500/old_summary.txt": (
        *("IO500", 5, "IO500", 0, 0),
        {"phase": "ior-hard-write"},
        {"bandwidth_MBps value": 0.1 * 2**30 / 1e6},
    ),
    "linktest/version1.txt": (
        *("LinkTest", 1, "LinkTest", 131072, 4),
        {},
        {"latency_us mean": 25, "latency_us max_of_pairs": 40, "bandwidth_MBps max_of_pairs": 6250 * 1.048576},
    ),
    "linktest/version2.txt": (
        *("LinkTest", 1, "LinkTest", 262144, 0),
        {},
        {
            "latency_us mean": 24,
            "bisection_bandwidth_MBps mean": 40.6901 * 1073.741824,
            "bisection_bandwidth_MBps max": 42.4592 * 1073.741824,
        },
    ),
    "jube/pretty.txt": (
        *("JUBE", 3, "JUBE", 0, 1),
        {"table": "scaling", "nodes": "4"},
        {"time value": 0.8, "bw_avg value": 11.2},
    ),
    "jube/table.csv": ("JUBE", 2, "JUBE", 0, 1, {"nodes": "1"}, {"time value": 2.5}),
    "ramble/repeats.json": (
        *("Ramble", 2, "Ramble", 0, 2),
        {"experiment": "osu-micro-benchmarks.osu_latency.two_nodes", "context": "Message Size: 8"},
        {"Latency value": 1.5},
    ),
    "ramble/results.txt": ("Ramble", 2, "Ramble", 0, 0, {"context": "N-NB-P-Q = 1000-64-2-2"}, {"GFlops value": 53.4}),
}


def identify(path: Path) -> Text:
    """Return the text of a file that one program has written."""
    (text,) = parts(path)
    return text


def read(path: Path) -> list[Run]:
    text = identify(path)
    assert text.log
    return text.runs(lambda count: None)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_log_is_known_by_its_content_and_says_only_what_labkit_knows(path: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "file"
    shutil.copy(path, renamed)
    runs = read(renamed)
    known = {test: b for b in benchmarks.every().values() for test in (*b.equivalents, *b.logs)}
    for run in runs:
        if run.test in LEFT_OUT:
            continue
        benchmark = known[run.test]
        assert run.values
        assert run.source
        for value in run.values:
            if value.name in METRICS:
                assert value.unit == METRICS[value.name].unit, value
        if not any(value.labels for value in run.values):
            columns = {(v.name, v.statistic) for v in run.values}
            own = run.test in OWN and not any(name in METRICS for name, _ in columns)
            assert own or any(name in benchmark.metrics and kind in STATISTICS for name, kind in columns), run


def _of_size(runs: list[Run], size: int) -> Run:
    (run,) = [one for one in runs if one.size == size]
    return run


@pytest.mark.parametrize("name", EXPECTED)
def test_values_are_those_that_the_file_says(name: str) -> None:
    kind, count, test, size, ranks, options, values = EXPECTED[name]
    assert identify(LOGS / name).kind == kind
    runs = read(LOGS / name)
    assert len(runs) == count
    fits = [one for one in runs if one.test == test and options.items() <= dict(one.options).items()]
    run = fits[0] if kind in ("pyperf", "Ramble") else next(iter(fits)) if len(fits) == 1 else _of_size(fits, size)
    assert (run.size, run.ranks) == (size, ranks)
    said = {f"{v.name} {v.statistic}": v.value for v in run.values}
    for column, value in values.items():
        assert said[column] == pytest.approx(value), column


@pytest.mark.slow
def test_a_folder_is_sorted_by_content_and_each_file_left_out_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old" / "deep"
    old.mkdir(parents=True)
    shutil.copy(LOGS / "stream" / "openmp.txt", old / "a")
    shutil.copy(LOGS / "ior" / "shared.txt", old.parent / "b.log")
    shutil.copy(LOGS.parent / "omb" / "pt2pt_latency.txt", old / "c")
    (old / "cut.txt").write_text((LOGS / "stream" / "serial.txt").read_text()[:1230])
    (old / "notes.md").write_text("# What I did\n")
    (old / "empty").touch()
    (old / "noise").write_bytes(b"\xff\x00\xfe\x80" * 20)
    (old / ".hidden").write_text("x")
    into = tmp_path / "c"
    assert main(["import", str(old.parent), "--into", str(into)]) == 0
    out = capsys.readouterr().out
    assert "17 points imported\nfiles: 1 of IOR, 1 of OMB, 1 of STREAM\nleft out: 4 files\n" in out
    assert "  deep/empty: empty\n" in out
    assert "  deep/notes.md: begins with '# What I did', which no benchmark that labkit reads prints\n" in out
    assert "  deep/noise: not text\n" in out
    assert "  deep/cut.txt: line 24: found 'Copy:" in out
    frame = records.table(Campaign(into).samples())
    assert set(frame["testbed"]) == {"deep/a", "b.log", "deep/c"}
    assert main(["import", str(old.parent), "--into", str(into)]) == 0
    assert "0 points imported, 17 already imported" in capsys.readouterr().out
    assert main(["show", str(into)]) == 0
    shown = capsys.readouterr().out
    assert "compute.stream · STREAM 5.10 · deep/a" in shown
    assert "storage.ior · IOR 4.1.0+dev · b.log" in shown


def test_a_folder_with_huge_data_or_other_file_systems_takes_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(LOGS / "stream" / "serial.txt", tmp_path / "a")
    (tmp_path / "core").touch()
    os.truncate(tmp_path / "core", 1 << 40)  # would take a quarter of an hour to read
    (tmp_path / "proc").mkdir()
    shutil.copy(LOGS / "stream" / "serial.txt", tmp_path / "proc" / "b")
    monkeypatch.setattr(Path, "is_mount", lambda path: path.name == "proc")
    texts, left_out = folders.collected([tmp_path])
    assert [text.name for text in texts] == ["a"]
    assert left_out == [("core", "not text")]


def test_a_folder_of_very_many_files_is_refused_before_any_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MOST", 2)
    monkeypatch.setattr(folders, "parts", lambda *args: pytest.fail("a file was read"))
    for name in "abc":
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"has more than 2 files. Name a folder with"):
        folders.collected([tmp_path])


def test_a_folder_without_any_log_is_an_error_and_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "notes.md").write_text("# What I did\n")
    with pytest.raises(DataError, match=r"no file of this folder. notes.md: begins with '# What I did'"):
        importing.bring([tmp_path / "old"], into=tmp_path / "c")
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="it has no file"):
        importing.bring([tmp_path / "none"], into=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_named_file_that_is_damaged_keeps_nothing(tmp_path: Path) -> None:
    cut = tmp_path / "cut.txt"
    cut.write_text((LOGS / "stream" / "serial.txt").read_text()[:1230])
    with pytest.raises(DataError, match=r"cut.txt, line 24: found 'Copy:"):
        importing.bring([LOGS / "ior" / "shared.txt", cut], into=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_files_of_one_testbed_are_launches(tmp_path: Path) -> None:
    paths = [LOGS / "npb" / "npb_cg.txt", tmp_path / "again.txt"]
    paths[1].write_text(paths[0].read_text().replace("2.76", "2.86"))
    held = importing.bring(paths, into=tmp_path / "c", testbed="laptop").campaign
    frame = records.summary(records.table(held.samples()))
    assert list(frame["launches"]) == [2]
    assert frame["run_time_s_value"].iloc[0] == pytest.approx(2.81)


def test_a_benchmark_of_logs_is_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert "compute.stream" not in benchmarks.find()
    assert benchmarks.get("compute.stream").by == "imported log"
    with pytest.raises(SpecError, match=r"labkit does not run compute\.stream: it imports the output of the original"):
        benchmarks.resolve(Spec(benchmark="compute.stream"))
    assert main(["measure", "compute.stream"]) == 1
    assert "labkit does not run compute.stream" in capsys.readouterr().err
    assert main(["describe", "compute.stream"]) == 0
    assert "memory bandwidth (STREAM)" in capsys.readouterr().out


def test_what_a_number_is_goes_with_it(tmp_path: Path) -> None:
    held = importing.bring([LOGS / "stream" / "openmp.txt"], into=tmp_path / "c")
    assert held.warnings == ()
    frame = records.table(held.campaign.samples())
    assert all("the best of 10 repetitions, not their mean" in joined(cell) for cell in frame["warnings"])
    assert list(frame["verified"]) == [True] * 4
    assert "bandwidth_MBps_mean" not in frame


@pytest.mark.parametrize(("name", "algorithm"), [("o", "reno"), ("O", "bbr"), ("k", "bbr")])
def test_the_congestion_control_of_netperf_is_a_setting_in_every_layout(name: str, algorithm: str) -> None:
    (run,) = read(LOGS / "netperf" / f"TCP_STREAM_{name}_congestion.txt")
    assert {run.stated[f"{side}_cong_control"] for side in ("local", "remote")} == {algorithm}


def test_wrong_results_are_doubted(tmp_path: Path) -> None:
    for name, right, wrong, words in (
        ("npb/npb_cg.txt", "SUCCESSFUL", "UNSUCCESSFUL", "verification was unsuccessful"),
        ("hpl/of_hpcc.txt", "PASSED", "FAILED", "residual is too large"),
        ("stream/serial.txt", "Solution Validates", "Failed Validation on array a[]", "arrays right"),
    ):
        path = tmp_path / Path(name).name
        path.write_text((LOGS / name).read_text().replace(right, wrong))
        outcome = importing.bring([path], into=tmp_path / f"c{zlib.crc32(name.encode())}")
        assert any(words in text for text in outcome.warnings), (name, outcome.warnings)
        assert not any(one.meta["verified"] for one in outcome.campaign.samples())


def test_every_kind_of_log_has_golden_files() -> None:
    seen = {identify(path).kind for path in FILES}
    assert seen == set(logs())
    assert {path.parent.name for path in FILES} == {name.partition("/")[0] for name in EXPECTED}


def test_nccl_tests_says_which_elements_it_found_right() -> None:
    """The error of versions up to 2.11 may be as large as rounding makes it; later versions count wrong elements."""
    by_error = {(run.test[11:], run.size): run for run in read(LOGS / "nccl_tests" / "two_tables_2_10.txt")}
    assert by_error["all_reduce", 131072].verified, "an error of 2e-07 is rounding"
    assert not by_error["all_reduce", 1 << 24].verified
    assert [doubt.code for doubt in by_error["all_reduce", 1 << 24].doubts] == ["wrong-bytes"]
    out, within = read(LOGS / "nccl_tests" / "reduce_2_17_8.json")
    assert (out.verified, within.verified) == (True, False)
    assert [doubt.code for doubt in within.doubts] == ["wrong-bytes"]
    unchecked = [run for run in read(LOGS / "nccl_tests" / "alltoall_per_iteration.txt") if not run.verified]
    assert {run.options["place"] for run in unchecked} == {"in place"}, "nccl-tests does not check these"
    assert not any(run.doubts for run in unchecked)


def test_tables_of_param_that_mean_something_else_are_skipped_and_damaged_rows_are_refused(tmp_path: Path) -> None:
    text = (LOGS / "param" / "collectives_tag.txt").read_text()
    older = text.replace("      Time(us):p50", "   Latency(us):p50").replace(" TotalTime(us):p50", "")
    older = "\n".join(line[:-20] if "COMMS-RES-" in line else line for line in older.splitlines())
    path = tmp_path / "older.txt"
    path.write_text(older)
    assert len(read(path)) == 15
    path.write_text(text.replace("  nElementsPerRank", "  nElementsPerRank  nElementsPairPerRank"))
    with pytest.raises(DataError, match="a result of PARAM"):
        read(path)
    path.write_text(text.replace("       291.3", ""))
    with pytest.raises(DataError, match="wanted 10 numbers"):
        read(path)
    path.write_text(text.replace("       291.3", "       here "))
    with pytest.raises(DataError, match="wanted a name and 10 numbers"):
        read(path)


def test_json_that_is_nested_or_not_finite_is_refused(tmp_path: Path) -> None:
    for text in ('{"Command line": "ior"' + ', "a": [' * 100_000, '{\n"Command line": "ior", "summary": [NaN]}'):
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(DataError):
            importing.bring([path], into=tmp_path / "c")


def test_an_import_names_the_notebook_and_its_study_shows_every_benchmark(tmp_path: Path) -> None:
    paths = [LOGS / name for name in ("reframe/report.json", "stream/openmp.txt", "ior/shared.txt", "npb/npb_cg.txt")]
    held = importing.bring(paths, into=tmp_path / "c").campaign
    assert held.facts["parameters"] == {"95-imported": {}}
    study = studies.get("imported")(campaign=str(held.path), measure=False)
    assert "STREAM 5.10: 4 points of `compute.stream` from 1 file." in str(study.findings())
    table = study.table("compute.stream")
    assert list(table) == ["kernel", "size", "bandwidth (MB/s), maximum", "run time (s), mean"]
    assert list(table["kernel"]) == ["add", "copy", "scale", "triad"]
    assert study.table("storage.mdtest").empty
    assert study.figure("storage.mdtest") == study.figure("compute.npb") == NOTHING  # one point is not a figure
    assert sum(len(bar.x) for bar in study.figure("compute.stream").data) == 4
    assert set(study.variables()["variable"]) == {"copy_bw", "triad_time"}
    assert "the best of 10 repetitions" in str(study.warnings())


@pytest.mark.slow
@pytest.mark.parametrize("all_tools", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_notebook_has_a_section_for_each_benchmark_of_the_campaign(tmp_path: Path, all_tools: bool) -> None:
    """No benchmark is left out for not being listed, such as IMB's Reduce or osu_mbw_mr alone."""
    paths = [LOGS.parent / "imb", LOGS.parent / "omb", *sorted(path for path in LOGS.iterdir() if path.is_dir())]
    paths = paths if all_tools else [LOGS.parent / "imb" / "MPI1.txt"]
    held = importing.bring(paths, into=tmp_path / "c").campaign
    study = studies.get("imported")(campaign=str(held.path), measure=False)
    assert set(study.sections()) == set(held.benchmarks())
    notebook = sections.expanded(Path(__file__).parents[1] / "notebooks" / "95-imported.ipynb", lambda: study)
    assert notebook is not None
    text = "\n".join("".join(cell["source"]) for cell in notebook["cells"])
    assert [name for name in held.benchmarks() if text.count(f'study.table("{name}")') != 1] == []
    assert len(re.findall(r"#\| label: ", text)) == len(set(re.findall(r"#\| label: (\S+)", text)))
    assert [name for name in held.benchmarks() if name != "storage.iozone" and study.table(name).empty] == []


def test_what_imb_prints_of_the_ranks_is_shown_and_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "reduce.txt"
    log.write_text(
        f"#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n#{'-' * 64}\n# Benchmarking Reduce \n# #processes = 4 \n#{'-' * 64}\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        "            8         1000         1.00         9.00         4.00\n\n# All processes entering MPI_Finalize\n"
    )
    held = importing.bring([log], into=tmp_path / "c").campaign
    assert main(["show", str(held.path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"fastest rank \(µs\) +slowest rank \(µs\)", out)
    assert re.search(r"8 B +4 +- +- +1 +9", out)
    assert "gives only" not in out
    frame = records.table(held.samples())
    assert list(frame["latency_us_rank_min"]) == [1.0]
    assert list(frame["latency_us_rank_max"]) == [9.0]
    (row,) = studies.get("imported")(campaign=str(held.path), measure=False).table("mpi.reduce").to_dict("records")
    assert list(row.values())[-3:] == ["4", "1", "9"]


def test_values_of_a_tools_own_are_shown_with_their_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    importing.bring([LOGS / "reframe" / "report.json"], into=tmp_path / "c")
    assert main(["show", str(tmp_path / "c")]) == 0
    assert re.search(r"StreamTest +copy_bw +value +43,606 +MB/s", capsys.readouterr().out)


def test_runs_of_unknown_size_are_no_launches_of_one_point(tmp_path: Path) -> None:
    held = importing.bring([LOGS / "iperf" / "server.txt"], into=tmp_path / "c").campaign
    frame = records.summary(records.table(held.samples()))
    assert list(frame["launches"]) == [1, 1, 1, 1]
    assert set(frame["testbed"]) == {"server.txt", "server.txt,run=2", "server.txt,run=3", "server.txt,run=4"}


def test_the_newest_campaign_is_that_of_the_last_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_CAMPAIGNS", str(tmp_path))
    with pytest.raises(DataError, match="There is no campaign in"):
        campaign.newest()
    for name in ("b", "a"):
        importing.bring([LOGS / "npb" / "npb_cg.txt"], into=tmp_path / name)
    os.utime(tmp_path / "b" / "events.jsonl", (1, 1))
    assert campaign.newest() == tmp_path / "a"


def test_points_with_and_without_a_median_are_in_one_table_and_one_figure(tmp_path: Path) -> None:
    with_percentiles = LOGS.parent / "omb" / "opt_latency_z.txt"
    plain = LOGS.parent / "omb" / "pt2pt_latency.txt"
    held = importing.bring([with_percentiles, plain], into=tmp_path / "c").campaign
    study = studies.get("imported")(campaign=str(held.path), measure=False)
    table = study.table("mpi.latency")
    assert list(table.columns[:2]) == ["testbed", "size"]
    values = table[[name for name in table if name.startswith("latency (µs)")]]
    assert values.shape[1] > 1
    assert (values != "–").any(axis=1).all()
    names = [trace.name for trace in study.figure("mpi.latency").data]
    assert any(plain.name in name for name in names)
    assert any(with_percentiles.name in name for name in names)


def test_a_report_says_what_its_values_are() -> None:
    """A mean printed by OSU is not described as a median over launches of medians over iterations."""
    from labkit.report import summary

    number = type("Number", (), {"statistic": "osu_mean", "origin": "imported", "n": 0})
    own = type("Number", (), {"statistic": "p50", "origin": "measured", "n": 9})
    content = type("Content", (), {"sources": [object()]})

    def said(*numbers: object) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(summary, "key_numbers", lambda source: list(numbers))
            return summary.value_kinds(content)  # type: ignore[arg-type]

    assert (
        said(number)
        == "Each value is what its source states: mean over ranks (imported). labkit has no samples of it (n: –)."
    )
    assert said(own) == "Each value is the median over launches of the median over iterations."
    assert "Each value with a number of samples (n) is the median over launches" in said(own, number)
