"""Logs as people paste them: without a head or an end, with messages among the rows, and of other versions."""

from __future__ import annotations

import json
import re
import textwrap
import zipfile
from pathlib import Path

import pytest

from labkit import load
from labkit.errors import DataError
from labkit.formats import logs
from labkit.formats.reading.log import Run
from labkit.run.importing import bring
from tests.test_logs import identify

RULE = "-" * 87 + "\n"
BW = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
LAT = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
LAT_ROW = " 8       1000          2.10           9.90         2.20     \t       2.25        \t0.30   \t\t3.10    \t\t9.80   \n"
BW_ROW = " 65536      1000             100.00             90.00              1.500000\n"
NOISE = "Conflicting CPU frequency values detected: 3295.212000 != 5023.444000. CPU Frequency is not max.\n"
DIM = "+--------------+-----------------------------+---------------------+-----------------------+\n"
MEMTIER = """4         Threads
25        Connections per thread
30        Seconds


ALL STATS
==========================================================================================
Type         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency   p99.9 Latency       KB/sec
------------------------------------------------------------------------------------------
Sets         1000.50          ---          ---         0.40000         0.30000         2.50000       100.00
Gets         9000.25      8000.00      1000.25         0.20000         0.10000         1.50000       900.00
Waits           0.00          ---          ---             ---             ---             ---          ---
Totals      10000.75      8000.00      1000.25         0.22000         0.12000         1.75000      1000.00
"""
IOZONE = """\tCommand line used: iozone -a -s 16M -r 4 -i 0 -i 2
\tOutput is in Kbytes/sec
\tTime Resolution = 0.000001 seconds.
                                                            random  random    bkwd   record   stride
              KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read
           16384       4   40000   50000                     20000   10000
"""
IOR_2 = """IOR-2.10.3: MPI Coordinated Test of Parallel I/O

Summary:
\tapi                = POSIX
\taccess             = file-per-process

Operation  Max (MiB)  Min (MiB)  Mean (MiB)   Std Dev  Max (OPs)  Min (OPs)  Mean (OPs)   Std Dev  Mean (s)  Op grep #Tasks tPN reps  fPP reord reordoff reordrand seed segcnt blksiz xsize aggsize

---------  ---------  ---------  ----------   -------  ---------  ---------  ----------   -------  --------
write        3000.00    1000.00     2000.00    500.00    3000.00    1000.00     2000.00    500.00   0.50000 64 8 3 1 0 1 0 0 1 16777216 1048576 1073741824 -1 POSIX EXCEL
"""
IOR_3 = """IOR-3.0.1: MPI Coordinated Test of Parallel I/O

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev    Mean(s) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt blksiz xsize aggsize API RefNum
write         200.00     200.00     200.00       0.00   16.00000 0 16 8 1 0 0 1 1 0 1 209715200 20971520 3355443200 POSIX 0

"""
FIO_2 = """seq: (g=0): rw=write, bs=64K-64K/64K-64K/64K-64K, ioengine=libaio, iodepth=4
fio-2.2.10
Starting 1 process

seq: (groupid=0, jobs=1): err= 0: pid=77: Wed Jan  4 18:20:31 2017
  write: io=512.0MB, bw=100.0MB/s, iops=1600, runtime=  5120msec
    slat (usec): min=2, max=220, avg= 5.25, stdev= 2.25
    clat (usec): min=48, max=4320, avg=2495.00, stdev=101.00
     lat (usec): min=54, max=4330, avg=2500.50, stdev=101.50
    clat percentiles (usec):
     | 50.00th=[ 2400], 99.00th=[ 3000]
    lat (usec) : 50=0.01%, 100=99.99%
  cpu          : usr=12.20%, sys=40.45%, ctx=79163, majf=0, minf=24
     issued    : total=r=0/w=8192/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0
"""
NCCL = """# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
{row}
# Out of bounds values : 0 OK
"""
STREAM = """STREAM version $Revision: 5.10 $
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           90000.5     0.030000     0.020000     0.040000
Scale:          80000.5     0.030000     0.020000     0.040000
Add:            70000.5     0.030000     0.020000     0.040000
Triad:          60000.5     0.030000     0.020000     0.040000
-------------------------------------------------------------
"""
GPU_STREAM = """NVIDIA-STREAM 25.4.0  -- NVIDIA accelerated STREAM benchmark -- NVIDIA
 Array size (float)=1000000*4*8 (30 MB)
Function      Rate (MB/s)   Avg time     Min time     Max time
Copy:      3000000.5000       0.0030       0.0020       0.0040
Scale:     3000000.5000       0.0030       0.0020       0.0040
Add:       3000000.5000       0.0030       0.0020       0.0040
Triad:     3000000.5000       0.0030       0.0020       0.0040
"""
UDP_31 = """Connecting to host 192.0.2.1, port 5201
[  4] local 192.0.2.2 port 40000 connected to 192.0.2.1 port 5201
[ ID] Interval           Transfer     Bandwidth       Total Datagrams
[  4]   0.00-1.00   sec  1.00 MBytes  8.00 Mbits/sec  128
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-2.00   sec  2.00 MBytes  8.00 Mbits/sec  0.050 ms  64/256 (25%)
[  4] Sent 256 datagrams

iperf Done.
"""
SERVER = """-----------------------------------------------------------
Server listening on 5201 (test #1)
-----------------------------------------------------------
Accepted connection from 192.0.2.2, port 41404
[  5] local 192.0.2.1 port 5201 connected to 192.0.2.2 port 41406
[ ID] Interval           Transfer     Bandwidth
[  5]   0.00-1.00   sec  1.00 GBytes  8.00 Gbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth
[  5]   0.00-1.04   sec  0.00 Bytes  0.00 bits/sec                  sender
[  5]   0.00-1.04   sec  1.00 GBytes  8.40 Gbits/sec                  receiver
-----------------------------------------------------------
Server listening on 5201 (test #2)
-----------------------------------------------------------
"""
END_ONLY = """[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-30.00  sec   100 GBytes  24.0 Gbits/sec    0             sender
[  5]   0.00-30.00  sec   100 GBytes  23.2 Gbits/sec                  receiver
[  7]   0.00-30.00  sec   100 GBytes  24.0 Gbits/sec    0             sender
[  7]   0.00-30.00  sec   100 GBytes  23.2 Gbits/sec                  receiver
[SUM]   0.00-30.00  sec   200 GBytes  48.0 Gbits/sec    0             sender
[SUM]   0.00-30.00  sec   200 GBytes  46.4 Gbits/sec                  receiver
"""
OMNI_O = """OMNI Send TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET
Throughput Throughput  Stddev       Local
           Units       Latency      CPU
                       Microseconds Util
                                    %
16000.00   10^6bits/s  23.50        30.25
"""
QPERF = """tcp_bw:
    bw          =  8.00 GB/sec
    msg_rate    =   120 K/sec
    send_bytes  =  80.0 GB
    send_msgs   =  1.20 million
    recv_bytes  =  80.0 GB
    recv_msgs   =  1.20 million
see the manual for more
"""
SOCKPERF = """[ 0] IP = 192.0.2.1       PORT =  8302 # TCP
sockperf: [Total Run] RunTime=2.400 sec; SentMessages=3000; ReceivedMessages=3000
sockperf: [Valid Duration] RunTime=2.000 sec; SentMessages=2000; ReceivedMessages=2000
sockperf: ====> avg-lat= 12.500 (std-dev=1.250)
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: ---> <MAX> observation =   40.000
sockperf: ---> percentile 99.00 =   20.000
sockperf: ---> percentile 50.00 =   12.000
sockperf: ---> <MIN> observation =   10.000
"""
UCX_14 = (
    DIM
    + "|              |       latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |\n"
    + DIM.replace("-----------------------------", "---------+---------+---------")
    + "| # iterations | typical | average | overall |  average |  overall |   average |   overall |\n"
    + DIM
    + "        500000     0.900     0.950     0.960       4.00       4.10      500000      510000\n"
    + "       1000000     0.800     0.850     0.875       4.50       4.25      520000      530000\n"
)
REDIS = """====== SET ======
  100000 requests completed in 1.25 seconds
  50 parallel clients
  3 bytes payload
  keep alive: 1

Summary:
  throughput summary: 80000.00 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.250     0.125     0.225     0.375     0.500     1.500
"""
REDIS_5 = """====== PING_INLINE ======
  100000 requests completed in 1.25 seconds
  50 parallel clients
  3 bytes payload
  keep alive: 1

99.86% <= 1 milliseconds
100.00% <= 1 milliseconds
80000.00 requests per second

"""
# name → kind, text, test, size, some values of its first point, and a doubt that it must have
CASES: dict[str, tuple[str, str, str, int, dict[str, float], str]] = {
    "perftest, messages among the rows": (
        *("perftest", f"{RULE}                    Send Latency Test\n{RULE}{LAT}{NOISE}{LAT_ROW}{RULE}"),
        *("perftest Send Latency", 8, {"latency_us p50": 2.2, "latency_us p999": 9.8}, ""),
    ),
    "perftest, no title but a command": (
        *("perftest", f"$ ib_read_bw -d mlx5_0 node2\n{BW}{BW_ROW}"),
        *(
            "perftest RDMA_Read BW",
            65536,
            {"bandwidth_MBps mean": 90 * 2**20 / 1e6, "message_rate_per_s mean": 1.5e6},
            "cut",
        ),
    ),
    "iperf3 3.1, UDP": (
        *("iperf3", UDP_31, "iperf3 UDP", 0),
        *({"sent_MBps mean": 1.0, "lost_percent mean": 25.0, "jitter_us mean": 50.0}, "size-unknown"),
    ),
    "iperf3, server": ("iperf3", SERVER, "iperf3 TCP", 0, {"bandwidth_MBps mean": 1050.0}, "size-unknown"),
    "iperf3, the end alone": (
        *("iperf3", END_ONLY, "iperf3 TCP", 0, {"bandwidth_MBps mean": 5800.0, "sent_MBps mean": 6000.0}, "cut"),
    ),
    "memtier_benchmark, table": (
        *("memtier_benchmark", MEMTIER, "memtier_benchmark", 0),
        *(
            {"transaction_rate_per_s mean": 1000.5, "round_trip_us mean": 400, "round_trip_us p999": 2500},
            "size-unknown",
        ),
    ),
    "IOzone, no banner and no end": (
        *("IOzone", IOZONE, "IOzone", 0, {"bandwidth_MBps mean": 40000 * 1024e-6}, "cut"),
    ),
    "IOR 2.10": (
        *("IOR", IOR_2, "IOR", 1 << 20, {"bandwidth_MBps max": 3000 * 2**20 / 1e6, "run_time_s mean": 0.5}, ""),
    ),
    "IOR 3.0": ("IOR", IOR_3, "IOR", 20971520, {"bandwidth_MBps mean": 200 * 2**20 / 1e6, "run_time_s mean": 16}, ""),
    "fio 2, text": (
        *("fio", FIO_2, "fio write", 65536),
        *(
            {"bandwidth_MBps mean": 104.8576, "iops_per_s mean": 1600, "latency_us mean": 2500.5, "clat_us p99": 3000},
            "",
        ),
    ),
    "STREAM, no settings": (
        *("STREAM", STREAM, "STREAM Copy", 0, {"bandwidth_MBps max": 90000.5, "run_time_s min": 0.02}, "array-unknown"),
    ),
    "STREAM, the table alone": (
        *("STREAM", STREAM.partition("\n")[2], "STREAM Copy", 0, {"bandwidth_MBps max": 90000.5}, "array-unknown"),
    ),
    "STREAM of NVIDIA": ("STREAM", GPU_STREAM, "STREAM Copy", 4000000, {"bandwidth_MBps max": 3000000.5}, ""),
    "netperf -O": (
        *("netperf", OMNI_O, "netperf TCP_STREAM", 0),
        *({"bandwidth_MBps mean": 2000.0, "send_call_us stddev": 23.5}, "protocol-unknown"),
    ),
    "qperf, counts in words and a line below": (
        *("qperf", QPERF, "qperf tcp_bw", 0, {"bandwidth_MBps mean": 8000.0, "send_msgs total": 1.2e6}, "size-unknown"),
    ),
    "sockperf 2": (
        *("sockperf", SOCKPERF, "sockperf ping-pong tcp", 0),
        *({"round_trip_us mean": 25.0, "round_trip_us p50": 24.0, "transaction_rate_per_s mean": 1000.0}, ""),
    ),
    "redis-benchmark 7": (
        *("redis-benchmark", REDIS, "redis-benchmark", 3),
        *({"transaction_rate_per_s mean": 80000.0, "round_trip_us p99": 500.0, "round_trip_us mean": 250.0}, ""),
    ),
    "redis-benchmark 5": (
        *("redis-benchmark", REDIS_5, "redis-benchmark", 3, {"transaction_rate_per_s mean": 80000.0}, ""),
    ),
    "redis-benchmark -q": (
        *("redis-benchmark", "MSET (10 keys): 8000.00 requests per second, p50=0.250 msec\n", "redis-benchmark", 0),
        *({"transaction_rate_per_s mean": 8000.0, "round_trip_us p50": 250.0}, "size-unknown"),
    ),
    "UCX 1.4": (
        *("ucx_perftest", UCX_14, "ucx_perftest latency", 0),
        *({"latency_us p50": 0.8, "latency_us mean": 0.875, "message_rate_per_s mean": 530000}, "final-unknown"),
    ),
}


def read(folder: Path, text: str) -> tuple[str, list[Run]]:
    """Return the kind of a text and its runs."""
    file = folder / "log"
    file.write_text(text)
    known = identify(file)
    return known.kind, known.runs(lambda count: None)


@pytest.mark.parametrize("name", CASES)
def test_a_pasted_log_is_read(name: str, tmp_path: Path) -> None:
    kind, text, test, size, values, doubt = CASES[name]
    found, runs = read(tmp_path, text)
    assert (found, runs[0].test, runs[0].size) == (kind, test, size)
    told = {f"{v.name} {v.statistic}": v.value for v in reversed(runs[0].values)}
    assert {key: told.get(key) for key in values} == pytest.approx(values)
    assert not doubt or doubt in {one.code for one in runs[0].doubts}


def test_a_table_of_perftest_without_title_or_command_names_no_operation(tmp_path: Path) -> None:
    _, (bandwidth,) = read(tmp_path, BW + BW_ROW)
    _, (latency,) = read(tmp_path, LAT + LAT_ROW)
    assert (bandwidth.test, latency.test) == ("perftest unnamed BW", "perftest unnamed Latency")
    assert {one.code for one in latency.doubts} == {"cut", "operation-unknown", "untitled"}
    assert latency.values[0].value == 2.1


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        (" 65536      5000             419.30             361.10 \t\t   0.005778\n", {"mean": 378.64, "max": 439.67}),
        (
            " 65536      5000             97.71              97.69 \t\t   0.186330\n",
            {"mean": 12211.25, "max": 12213.75},
        ),
        (" 8          2249             0.00               0.48   \t\t   7.498617\n", {"mean": 60.0}),
        (LAT_ROW, {"p50": 2.2, "p99": 3.1, "max": 9.9}),
    ],
)
def test_rows_of_perftest_without_a_head_show_their_columns_by_their_values(
    rows: str, values: dict[str, float], tmp_path: Path
) -> None:
    kind, (run,) = read(tmp_path, rows)
    told = {value.statistic: value.value for value in run.values if value.name in ("bandwidth_MBps", "latency_us")}
    assert kind == "perftest"
    assert {name: told[name] for name in values} == pytest.approx(values, rel=1e-4)
    assert {one.code for one in run.doubts} == {"cut", "operation-unknown", "head-missing"}
    title = (
        f"                    RDMA_Read {'BW' if 'mean' in values else 'Latency'} Test\n Number of qps   : 2\n{RULE}"
    )
    _, (run,) = read(tmp_path, f"{title}{rows}{RULE}")
    assert (run.test.split()[1], run.options["qps"]) == ("RDMA_Read", 2)
    _, runs = read(tmp_path, f"$ ib_send_bw -d a\n{rows}$ ib_write_bw -d b\n{rows}")
    assert [run.test.split()[1] for run in runs] == ["Send", "RDMA_Write"]


@pytest.mark.parametrize(
    "row",
    [
        " 65536      5000             419.30             361.10              0.105778\n",  # another rate
        " 65536      5000             361.10              0.005778\n",
        " 8       1000          2.10           1.90         2.20            2.25         0.30         3.10         9.80\n",
    ],
)
def test_numbers_that_do_not_agree_are_no_row_of_perftest(row: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="above this row the head of its table, or the command"):
        read(tmp_path, row)
    with pytest.raises(DataError, match="a heading '#bytes"):
        read(tmp_path, f"                    RDMA_Read BW Test\n{RULE}{row}{RULE}")


def test_two_processes_may_print_the_head_of_perftest(tmp_path: Path) -> None:
    _, (run,) = read(tmp_path, BW + BW + BW_ROW)
    assert run.values[1].value == pytest.approx(90 * 2**20 / 1e6)


def test_runs_of_unknown_settings_are_no_launches_of_one_point(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(f"On one node:\n{BW}{BW_ROW}\nOn two nodes:\n{BW}{BW_ROW.replace('90.00', '80.00')}")
    records = load(bring([file], into=tmp_path / "campaign").campaign)
    assert len(records) == 2
    assert set(records["benchmark"]) == {"verbs.perftest_bandwidth"}


def test_the_command_of_perftest_may_stand_above_the_fence(tmp_path: Path) -> None:
    _, (run,) = read(tmp_path, f"**Write (ib_write_bw):**\n```\n{BW}{BW_ROW}```\nIs that fast?\n")
    assert (run.test, run.size) == ("perftest RDMA_Write BW", 65536)


def test_the_server_of_perftest_prints_no_table(tmp_path: Path) -> None:
    """Server and client in one paste: the server of a read has a head and no result."""
    title = f"{RULE}                    RDMA_Read Latency Test\n Number of qps   : 1\n{RULE}"
    _, runs = read(tmp_path, f"{title}\n{title}{LAT}{LAT_ROW}{RULE}")
    assert [run.line for run in runs] == [11]


def test_memtier_takes_options_from_a_command_if_there_is_one_only(tmp_path: Path) -> None:
    command = "$ memtier_benchmark -s db -d 1024 --ratio=1:9 --pipeline=8 -P memcache_text\n"
    _, (sets, gets, totals) = read(tmp_path, command + MEMTIER)
    assert (sets.size, sets.options["ratio"], sets.options["pipeline"]) == (1024, "1:9", 8)
    assert (sets.options["threads"], sets.options["clients"]) == (4, 25)
    assert [run.options["operation"] for run in (gets, totals)] == ["GET", "OVERALL"]
    assert {one.code for one in gets.doubts} == {"missing-keys"}
    _, runs = read(tmp_path, command + command.replace("1:9", "1:1") + MEMTIER)
    assert runs[0].options["ratio"] == "unknown"


def test_the_json_of_fio_2_counts_kib_and_us(tmp_path: Path) -> None:
    times = {"min": 10, "max": 90, "mean": 40.5, "stddev": 2.0}
    way = {"bw": 1000, "iops": 250.0, "slat": dict.fromkeys(times, 0), "clat": times, "lat": times}
    none = way | {"bw": 0, "iops": 0}
    cpu = {"usr_cpu": 1.0, "sys_cpu": 2.0}
    job = {"jobname": "j", "error": 0, "read": way, "write": none, **cpu}
    _, (run,) = read(tmp_path, json.dumps({"fio version": "fio-2.1.4", "jobs": [job]}, indent=2))
    told = {f"{v.name} {v.statistic}": v.value for v in run.values}
    assert told["bandwidth_MBps mean"] == pytest.approx(1.024)
    assert (told["latency_us mean"], told["latency_us max"]) == pytest.approx((40.5, 90))


def test_terse_lines_of_fio(tmp_path: Path) -> None:
    """A job that wrote 2000 KiB/s, with a submission of its own; the block size is that of the line above."""
    idle = "0;0;0;0;0;0;0;0;0;0;0;0;" + "0%=0;" * 20 + "0;0;0;0;0;0;0%;0;0;"
    shares = "50.000000%=90;99.900000%=250;" + "0%=0;" * 18
    wrote = f"4000;2000;500;2000;1;2;1.5;0.1;80;300;98.5;9;{shares}82;302;100.25;9.5;0;0;0%;0;0;"
    setup = "j: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=4\n"
    line = f"3;fio-3.36;j;0;0;{idle}{wrote}1.5%;2.5%;10;0;9;100.0%\n"
    kind, (run,) = read(tmp_path, setup + line)
    told = {f"{v.name} {v.statistic}": v.value for v in run.values}
    assert (kind, run.test, run.size, run.options["pattern"]) == ("fio", "fio write", 4096, "random")
    assert (told["bandwidth_MBps mean"], told["iops_per_s mean"]) == pytest.approx((2.048, 500))
    assert (told["latency_us mean"], told["clat_us p50"], told["clat_us p999"]) == pytest.approx((100.25, 90, 250))
    with pytest.raises(DataError, match="the log is cut"):
        read(tmp_path, line[:300] + "\n")


def test_fio_without_times_has_no_latency(tmp_path: Path) -> None:
    """With gtod_reduce fio prints 0 for every time."""
    zeros = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    way = {"total_ios": 9, "bw_bytes": 4096, "iops": 1.0, "slat_ns": zeros, "clat_ns": zeros, "lat_ns": zeros}
    cpu = {"usr_cpu": 1.0, "sys_cpu": 2.0}
    job = {"jobname": "j", "error": 0, "read": way, "write": way | {"total_ios": 0}, **cpu}
    _, (run,) = read(tmp_path, json.dumps({"fio version": "fio-3.28", "jobs": [job]}, indent=2))
    assert {v.name for v in run.values} == {"iops_per_s", "bandwidth_MBps", "usr_cpu", "sys_cpu"}


@pytest.mark.parametrize(
    ("row", "collective"),
    [
        ("1048576 262144 float sum -1 50.00 20.00 37.50 0 50.00 20.00 37.50 0", "all_reduce"),
        ("1048576 16384 float sum -1 50.00 20.00 18.75 0 50.00 20.00 18.75 0", "reduce_scatter"),
        ("256 4 float sum -1 50.00 0.01 0.00 0 50.00 0.01 0.00 0", "reduce_scatter"),
        ("256 64 float sum -1 50.00 0.01 0.01 0 50.00 0.01 0.01 0", "all_reduce"),
        ("256 64 float sum -1 50.00 0.01 0.01 0 50.00 0.01 0.01 N/A", "sendrecv"),
        ("256 64 float none -1 50.00 0.01 0.01 0 50.00 0.01 0.01 N/A", "sendrecv"),
        ("256 64 float sum -1 50.00 0.01 0.01 N/A 50.00 0.01 0.01 N/A", "unnamed"),
        ("1048576 16384 float none -1 50.00 20.00 18.75 0 50.00 20.00 18.75 0", "all_gather"),
        ("1048576 16384 float none -1 50.00 20.00 18.75 0 50.00 20.00 18.75 N/A", "all_to_all"),
        ("1048576 262144 float none 0 50.00 20.00 20.00 0 50.00 20.00 20.00 0", "broadcast"),
        ("1048576 262144 float sum 0 50.00 20.00 20.00 0 50.00 20.00 20.00 0", "reduce"),
        ("1048576 262144 float sum -1 50.00 20.00 20.00 0 50.00 20.00 20.00 0", "all_reduce"),  # of two ranks
        ("1048576 262144 float sum -1 50.00 20.00 18.75 0 50.00 20.00 18.75 0", "unnamed"),
        (
            "1048576 16384 float none -1 50.00 20.00 18.75 N/A 50.00 20.00 18.75 N/A",
            "unnamed",
        ),
    ],
)
def test_the_columns_of_nccl_tests_tell_the_collective(row: str, collective: str, tmp_path: Path) -> None:
    text = NCCL.format(row="     ".join(["", *row.split()]))
    assert {run.test for run in read(tmp_path, text)[1]} == {f"nccl-tests {collective}"}


_OF_2017 = """# NCCL Tests compiled with NCCL 2.0
# Using devices
#   Rank  0 on   gpu01 device  0 [0x04] Tesla P100
#   Rank  1 on   gpu01 device  1 [0x06] Tesla P100
#                                                 out-of-place                    in-place
#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res
     1048576        262144   float     sum    0.125   8.39   8.39    0e+00    0.123   8.52   8.52    0e+00
 Out of bounds values : 0 OK
 Avg bus bandwidth    : 4.1

"""


def test_the_first_nccl_tests_printed_milliseconds(tmp_path: Path) -> None:
    _, runs = read(tmp_path, _OF_2017)
    assert [(run.test, run.size, run.ranks, run.values[0].value, run.clock_ns) for run in runs] == [
        ("nccl-tests all_reduce", 1048576, 2, pytest.approx(125.0), 1000.0),
        ("nccl-tests all_reduce", 1048576, 2, pytest.approx(123.0), 1000.0),
    ]
    broadcast = re.sub(r"(in-place|(?<=res) +time.*| {4}0\.123.*)", "", _OF_2017).replace("  op ", "root ")
    _, (run,) = read(tmp_path, broadcast.replace("   sum ", "     0 "))
    assert (run.test, run.values[0].value, run.options["root"]) == ("nccl-tests broadcast", pytest.approx(125.0), 0)


_NCCL_ROWS = """    33554432       8388608     float     sum      -1   3417.2    9.82   17.18      0   3418.8    9.81   17.17      0
    67108864      16777216     float     sum      -1   6834.4    9.82   17.18      0   6837.6    9.81   17.17      0
"""


@pytest.mark.parametrize(
    ("rows", "test", "ranks", "place", "time"),
    [
        (_NCCL_ROWS, "all_reduce", 8, "in place", 3418.8),
        (_NCCL_ROWS.replace("sum      -1", "sum").replace(" 0 ", " 2e-07 "), "all_reduce", 8, "in place", 3418.8),
        (re.sub(r"(?<= 0)   (3|6)\d+\.\d .*", "", _NCCL_ROWS), "all_reduce", 8, "out of place", 3417.2),
        (
            "1048576  32768  float  -1  66.7  15.72  13.75  0e+00  64.9  16.15  14.13  0e+00",
            "all_gather",
            8,
            "in place",
            64.9,
        ),
        (
            "1048576  32768  float  66.7  15.72  13.75  0e+00  64.9  16.15  14.13  0e+00",
            "all_gather",
            8,
            "in place",
            64.9,
        ),
        ("1048576  262144  float  0  66.7  15.72  15.72  0  64.9  16.15  16.15  0", "broadcast", 0, "in place", 64.9),
    ],
)
def test_rows_of_nccl_tests_without_a_head_are_read_by_their_columns(
    rows: str, test: str, ranks: int, place: str, time: float, tmp_path: Path
) -> None:
    kind, runs = read(tmp_path, f"This is what I get:\n{rows}\n# Avg bus bandwidth    : 17\n")
    run = next(run for run in runs if run.options["place"] == place)
    assert (kind, run.test, run.ranks, run.values[0].value) == ("nccl-tests", f"nccl-tests {test}", ranks, time)
    assert "head-missing" in {one.code for one in run.doubts}


def test_groups_of_rows_of_nccl_tests_belong_to_the_line_above(tmp_path: Path) -> None:
    _, runs = read(
        tmp_path, f"NCCL_ALGO=Ring\n{_NCCL_ROWS}\nNCCL_ALGO=Tree\n{_NCCL_ROWS}\n./reduce_perf:\n{_NCCL_ROWS}"
    )
    assert [run.stated.get("nccl_algo") for run in runs] == ["Ring"] * 4 + ["Tree"] * 4 + [None] * 4
    assert [run.test for run in runs] == ["nccl-tests all_reduce"] * 8 + ["nccl-tests reduce"] * 4


def test_numbers_that_do_not_agree_are_no_row_of_nccl_tests(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the output of a benchmark that labkit reads"):
        read(tmp_path, _NCCL_ROWS.replace("9.8", "19.8"))


def test_the_last_row_of_nccl_tests_may_be_cut(tmp_path: Path) -> None:
    text = NCCL.format(row=_NCCL_ROWS).partition("# Out")[0].rstrip()
    _, runs = read(tmp_path, text[:-20])
    assert [(run.size, run.options["place"]) for run in runs] == [(33554432, "out of place"), (33554432, "in place")]
    assert all("cut" in {one.code for one in run.doubts} for run in runs)


def test_lines_of_an_issue_may_be_quoted_in_part_and_labelled_by_pals(tmp_path: Path) -> None:
    quoted = "\n".join(f"> {line}" for line in NCCL.format(row=_NCCL_ROWS.rstrip()).splitlines())
    assert len(read(tmp_path, f"I have the same with eight GPUs:\n\n{quoted}\n\nAny idea?\n")[1]) == 4
    labelled = "\n".join(f"x1000c0s0b0n0.hostmgmt 0: {line}" for line in NCCL.format(row=_NCCL_ROWS).splitlines())
    assert len(read(tmp_path, labelled)[1]) == 4


def test_a_head_that_several_processes_print_may_have_no_rows(tmp_path: Path) -> None:
    head = _OF_2017.splitlines()[5] + "\n"
    assert len(read(tmp_path, head + _OF_2017)[1]) == 2
    with pytest.raises(DataError, match="wanted a row below the head"):
        read(tmp_path, head)


def test_a_nonblocking_barrier_of_omb_5_has_a_head_without_a_mark(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(
        "# OSU benchmarks of my cluster\n\n"
        "# OSU MPI Non-blocking Barrier Latency Test v5.8\n# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
        "       Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
        "             40.50             20.25             10.75             50.00\n"
    )
    known = identify(file)
    (table,) = known.tables(known.lines(lambda count: None))
    assert (table.test, table.rows[0].values) == ("osu_ibarrier", (40.5, 20.25, 10.75, 50.0))


def test_an_odd_fence_hides_nothing(tmp_path: Path) -> None:
    """A paste that begins inside a fence."""
    assert read(tmp_path, f"```\n{STREAM}```\nIs that fast?\n```\n")[1]


def test_the_line_of_a_vendors_hpcg_and_its_report_are_one_run() -> None:
    report = (Path(__file__).parent / "golden/logs/hpcg/report_3_1.txt").read_text()
    line = "HPCG result is VALID with a GFLOP/s rating of 2.756250\n"
    assert len(logs()["HPCG"].runs(line + report, "log")) == 1
    assert len(logs()["HPCG"].runs(line, "log")) == 1
    with pytest.raises(DataError, match="its result invalid"):
        logs()["HPCG"].runs("Final Summary::HPCG result is INVALID.=\n", "log")


def test_a_table_of_memtier_may_lack_its_title_and_the_best_run_is_not_the_mean(tmp_path: Path) -> None:
    counts, table = MEMTIER.split("\n\n\nALL STATS\n")
    assert [run.values for run in read(tmp_path, f"{counts}\n{table.partition(chr(10))[2]}")[1]] == [
        run.values for run in read(tmp_path, MEMTIER)[1]
    ]
    best = table.replace("1000.50", "1111.50")
    several = f"{counts}\n\nBEST RUN RESULTS\n{best}\nAGGREGATED AVERAGE RESULTS (3 runs)\n{table}"
    assert [run.values[0].value for run in read(tmp_path, several)[1]] == [1000.5, 9000.25, 10000.75]
    moved = table.replace("  Avg. Latency", "   MOVED/sec  Avg. Latency").replace("         0.4", "  0.00   0.4")
    with pytest.raises(DataError, match="9 cells"):
        read(tmp_path, f"ALL STATS\n{moved}")
    with pytest.raises(DataError, match="head of the table"):
        read(tmp_path, f"{MEMTIER}\nALL STATS\n")


def test_statistics_of_wrk_below_those_of_a_test_are_a_further_run(tmp_path: Path) -> None:
    head = "Running 10s test @ http://db/\n  2 threads and 8 connections\n"
    once = (
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     2.50ms    0.50ms   9.00ms   80.00%\n"
        "    Req/Sec     1.50k   100.00     1.75k    70.00%\n  {}000 requests in 10.00s, 1.00MB read\n"
        "Requests/sec:   {}00.00\nTransfer/sec:    100.00KB\n"
    )
    _, runs = read(tmp_path, head + once.format(3, 3) + "\n" + once.format(4, 4))
    assert [run.values[0].value for run in runs] == [300, 400]
    none = once.format(3, 3).replace(
        "  3000 requests", "  Latency Distribution\n     50%    2.00ms\n     75%    0.00us\n  3000 requests"
    )
    (run,) = read(tmp_path, head + none)[1]
    assert [value.statistic for value in run.values if value.statistic.startswith("p")] == ["p50"]
    apart = (head + once.format(5, 5)).replace("\n", "\n ")
    assert len(read(tmp_path, f"{head}{once.format(3, 3)}\n {apart}")[1]) == 2  # one of two fences is indented
    assert {(run.options["threads"], run.parameters["url"]) for run in runs} == {(2, "http://db/")}


def test_omb_2_puts_its_version_in_brackets(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("# OSU MPI Latency Test (Version 2.0)\n# Size          Latency (us) \n0               1.50\n")
    known = identify(file)
    (table,) = known.tables(known.lines(lambda count: None))
    assert (table.test, table.version, table.rows[0].values) == ("osu_latency", "2.0", (1.5,))


@pytest.mark.parametrize("name", ["iperf3/tcp", "mdtest/three_iterations", "netperf/TCP_RR", "ycsb/redis_load"])
def test_of_two_fences_one_may_be_indented(name: str, tmp_path: Path) -> None:
    text = (Path(__file__).parent / f"golden/logs/{name}.txt").read_text()
    once = [run.values for run in read(tmp_path, text)[1]]
    twice = f"```\n{text}\n```\n\nAnd again:\n\n ```\n{textwrap.indent(text, '  ')}\n ```\n"
    assert [run.values for run in read(tmp_path, twice)[1]] == [*once, *once]


_WRITE = """                    RDMA_Write BW Test
 Number of qps   : 1\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]{columns}
 65536      940800           0.00               98.64  \t\t     0.188137{further}
{rule}
"""
_RULE = "-" * 87


def test_perftest_prints_further_columns_for_the_ports_and_the_lowest_bandwidth(tmp_path: Path) -> None:
    text = _WRITE.format(columns="    BW min[Gb/sec]", further="   80.00", rule=_RULE)
    _, (run,) = read(tmp_path, text)
    assert {v.statistic: v.value for v in run.values if v.name == "bandwidth_MBps"} == {"mean": 12330.0, "min": 10000.0}
    columns = "   BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]"
    _, (run,) = read(tmp_path, _WRITE.format(columns=columns, further="   50.0   0.09   48.64   0.098", rule=_RULE))
    told = {v.name: v.value for v in run.values}
    assert (told["bandwidth_MBps"], told["BW Port1"], told["BW Port2"]) == (12330.0, 50.0, 48.64)


def test_perftest_that_runs_forever_prints_periods_of_one_run(tmp_path: Path) -> None:
    again = "\n 65536      940700           0.00               99.00  \t\t     0.188137"
    _, runs = read(tmp_path, _WRITE.format(columns="", further=again, rule="^C"))
    assert [(run.size, run.values[0].value) for run in runs] == [(65536, 12330.0), (65536, 12375.0)]
    assert all({"cut", "periods"} == {doubt.code for doubt in run.doubts} for run in runs)
    with pytest.raises(DataError, match="a rate above 0"):
        read(tmp_path, _WRITE.format(columns="", further=again.replace(" 99.00", "-99.00"), rule=_RULE))


def test_a_stressed_number_and_raw_ethernet_of_perftest(tmp_path: Path) -> None:
    text = _WRITE.format(columns="", further="", rule=_RULE)
    _, (run,) = read(tmp_path, text.replace("98.64", "**98.64**"))
    assert run.values[0].value == 12330.0
    assert read(tmp_path, text.replace("RDMA_Write", "Send Raw Ethernet"))[1][0].test == "perftest Raw_Ethernet BW"


def test_the_summary_of_sockperf_alone(tmp_path: Path) -> None:
    """A latency is half a round trip."""
    for line, trip in (("Latency is 8.431 usec", 16.862), ("Round trip is 8.431 usec", 8.431)):
        _, (run,) = read(tmp_path, f"sockperf: ====> avg-latency=8.431 (std-dev=1.102)\nsockperf: Summary: {line}\n")
        assert (run.test, run.values[0].value) == ("sockperf ping-pong udp", pytest.approx(trip))
        assert {"summary-alone", "size-unknown"} == {doubt.code for doubt in run.doubts}


def test_ucx_perftest_before_1_9_prints_0_for_the_percentile(tmp_path: Path) -> None:
    text = """|              |       latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+---------+---------+---------+----------+----------+-----------+-----------+
| # iterations | typical | average | overall |  average |  overall |   average |   overall |
+--------------+---------+---------+---------+----------+----------+-----------+-----------+
       1000000     0.000     1.205     1.205        6.33       6.33      829790      829790
"""
    _, (run,) = read(tmp_path, text)
    assert [(v.statistic, v.value) for v in run.values if v.name == "latency_us"] == [("mean", 1.205)]


_UCX_HEAD = """+--------------+--------------+------------------------------+---------------------+-----------------------+
|              |              |        latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
"""
_UCX_ROW = (
    "[thread 0]            300000      1.550     1.510     1.508        5.06       5.06      663277      663277\n"
)
_UCX_FINAL = (
    "Final:               1000000      1.520     1.560     1.502        4.88       5.08      639449      665726\n"
)
_UCX_CSV = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
_UCX_LISTED = "300000,1.550,1.510,1.508,5.06,5.06,663277,663277\n1000000,1.520,1.560,1.502,4.88,5.08,639449,665726\n"
# log → test, size, operation, mean time and a doubt
_UCX: dict[str, tuple[str, str, int, str, float, str]] = {
    "stopped": (
        f"$ ucx_perftest -t ucp_am_lat -s 8 a\n{_UCX_HEAD}{_UCX_ROW}^C\n",
        "latency",
        8,
        "am",
        1.508,
        "stopped",
    ),
    "the result alone": (f"$ ucx_perftest -t tag_bw -s 8 a\n{_UCX_FINAL}", "bandwidth", 8, "tag", 1.502, ""),
    "no command": (_UCX_HEAD + _UCX_ROW + _UCX_FINAL, "latency", 8, "unknown", 1.502, "size-derived"),
    "another size": (f"ucx_perftest -t tag_lat -s 4096 a\n{_UCX_FINAL}", "latency", 8, "tag", 1.502, "size-derived"),
    "-v": (f"ucx_perftest -v -t tag_bw -s 8 a\n{_UCX_CSV}{_UCX_LISTED}", "bandwidth", 8, "tag", 1.502, ""),
    "-v -b": (
        *(f"pow2,tests,{_UCX_CSV}" + "".join(f"8,ucp_get_lat,{row}\n" for row in _UCX_LISTED.split()), "latency", 8),
        *("get", 1.502, ""),
    ),
    "-b": (
        *(_UCX_HEAD + "+put_lat/8-----+---------+----------+----------+\n" + _UCX_ROW + _UCX_FINAL, "UCT latency", 8),
        *("put", 1.502, ""),
    ),
    "-f -b": (
        _UCX_HEAD.replace("Stage", " Test") + _UCX_FINAL.replace("Final:  ", "tag_lat/8"),
        "latency",
        8,
        "tag",
        1.502,
        "",
    ),
    "-N": (_UCX_HEAD + _UCX_FINAL.replace("    665726", "   665,726"), "latency", 8, "unknown", 1.502, "size-derived"),
    "threads": (
        *(f"ucx_perftest -t tag_bw -T 2 -s 8 a\n{_UCX_HEAD}Final:     2000000      1.502      5.08     665726\n",),
        *("bandwidth", 8, "tag", 1.502, ""),
    ),
}


@pytest.mark.parametrize("name", _UCX)
def test_excerpts_of_ucx_perftest(name: str, tmp_path: Path) -> None:
    text, test, size, operation, mean, doubt = _UCX[name]
    kind, (run,) = read(tmp_path, text)
    told = {value.name: value.value for value in run.values if value.statistic == "mean"}
    assert (kind, run.test, run.size) == ("ucx_perftest", f"ucx_perftest {test}", size)
    assert run.options["operation"] == operation
    assert told["latency_us" if "latency" in test else "overhead"] == mean
    assert {one.code for one in run.doubts} - {"test-unknown"} == ({doubt} if doubt else set())


def test_ucx_perftest_prints_one_result_for_each_test_of_a_batch(tmp_path: Path) -> None:
    larger = _UCX_FINAL.replace("5.08 ", "40.63").replace("4.88 ", "39.03")
    names = ["+tag_lat/8-----+---------+--------+\n", "+tag_lat/64----+---------+--------+\n"]
    _, runs = read(tmp_path, _UCX_HEAD + names[0] + _UCX_ROW + _UCX_FINAL + names[1] + _UCX_ROW + larger)
    assert [run.size for run in runs] == [8, 64]


@pytest.mark.parametrize("text", [_UCX_FINAL, _UCX_CSV + _UCX_LISTED])
def test_a_result_of_ucx_perftest_without_heading_and_command_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"above it the heading 'latency \(usec\)'.*or the command with -t"):
        read(tmp_path, text)


def test_the_ping_pong_of_fabtests(tmp_path: Path) -> None:
    table = """bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec
64      10k     1.2m        0.31s      4.13      15.50       0.06
1m      1k      1.9g        0.40s   5242.88     200.00       0.01
"""
    _, runs = read(tmp_path, f"$ fi_rdm_pingpong -p efa 172.31.1.1\n{table}")
    assert [(run.test, run.size, run.values[0].value) for run in runs] == [
        ("fi_pingpong", 64, 31.0),
        ("fi_pingpong", 1 << 20, 400.0),
    ]
    assert all(run.options == {"provider": "efa"} and not run.doubts for run in runs)
    assert [run.test for run in read(tmp_path, table)[1]] == ["fi_pingpong"] * 2  # twice the bytes of its iterations


def test_other_tests_of_fabtests_move_data_in_one_direction(tmp_path: Path) -> None:
    """Bytes over a time in µs are MB/s; k and m of iterations are 10^3 and 10^6, of sizes 2^10 and 2^20."""
    rows = "64      20k     1.2m        0.01s    100.00      0.64       1.56\n8k      20k     156m        0.02s   6553.60      1.25       0.80\n"
    head = "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
    named = "".join(f"fi_rma_bw{' ' * 41}{line}" for line in rows.splitlines(keepends=True))
    old = head.replace("MB", "Gb").replace("   Mxfers/sec", "")
    for text, test in (
        (f"fi_rdm_tagged_bw -p efa -S all\n{head}{rows}", "fi_rdm_tagged_bw"),
        (f"name{' ' * 46}{head}{named}", "fi_rma_bw"),
        (head + rows, "unknown"),
    ):
        kind, runs = read(tmp_path, text)
        assert (kind, runs[0].test, [run.options["test"] for run in runs]) == ("fi_pingpong", "fabtests", [test] * 2)
        told = {value.name: value.value for value in runs[1].values}
        assert (runs[1].size, told) == (8192, {"bandwidth_MBps": 6553.6, "message_rate_per_s": 8e5})
    _, (run,) = read(tmp_path, f"name      {old}64_lat    64      100k    6.1m       23.26s      2.00     232.57\n")
    assert (run.options["test"], run.values[1].value) == ("64_lat", 250.0)
    yaml = "---\n./fi_rdm_bw -m :\n- { xfer_size: 64, iterations: 100, total: 6400, time: 0.000064, MB/sec: 100.0, usec/xfer: 0.640000, Mxfers/sec: 1.562500 }\n"
    _, (run,) = read(tmp_path, yaml)
    assert (run.options["test"], run.size, run.values[1].value) == ("fi_rdm_bw", 64, 100.0)


def test_a_table_of_fabtests_whose_test_nothing_tells_is_refused(tmp_path: Path) -> None:
    head = "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
    with pytest.raises(DataError, match="above it the command"):
        read(tmp_path, f"{head}1m      1k      1.9g        0.40s   5242.88     200.00       0.01\n")


_SENDRECV = (
    "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec\n262144 160 30.48 33.50 32.24 15650.39\n"
)


def _tables(path: Path, text: str) -> list[tuple[str, dict[str, str], int | None, float]]:
    """Test, what is known, size and last value of the last row of each table of IMB."""
    file = path / "log"
    file.write_text(text)
    known = identify(file)
    assert known.kind == "IMB"
    tables = known.tables(known.lines(lambda count: None))
    return [(t.test, dict(t.parameters), t.rows[-1].size, float(str(t.rows[-1].values[-1]))) for t in tables]


@pytest.mark.parametrize(
    "above",
    [
        "# Benchmarking Sendrecv\n",
        "Benchmarking Sendrecv \n",
        "Sendrecv:\n",
        "### Sendrecv\n\n```\n",
        "**Sendrecv**\n~~~~~~~~\n",
        "#-----------------------------------\n# Benchmarking Sendrecv\n#-----------------------------------\n",
    ],
)
def test_excerpts_of_imb_need_the_name_of_the_test_alone(above: str, tmp_path: Path) -> None:
    assert _tables(tmp_path, above + _SENDRECV) == [("IMB-MPI1 Sendrecv", {}, 262144, 15650.39)]
    exchange = f"Exchange:\n~~~~\n{_SENDRECV.replace('15650.39', '99.00')}"
    found = _tables(tmp_path, f"{above}{_SENDRECV}\nand\n{exchange}")
    assert [(test, value) for test, *_, value in found] == [
        ("IMB-MPI1 Sendrecv", 15650.39),
        ("IMB-MPI1 Exchange", 99.0),
    ]


def test_a_table_of_imb_without_a_name_is_refused(tmp_path: Path) -> None:
    for text in (_SENDRECV, f"Sendrecv\n{_SENDRECV}On two nodes:\n{_SENDRECV}"):
        with pytest.raises(DataError, match=r"found '#bytes #repetitions.*wanted a line '# Benchmarking …' above"):
            _tables(tmp_path, text)


def test_an_excerpt_of_imb_may_begin_within_a_table(tmp_path: Path) -> None:
    rows = "        65536          100        13.88        14.35        14.12\n"
    head = "# Benchmarking Bcast\n# ( #processes = 4 ) \n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n"
    assert _tables(tmp_path, rows + head + rows) == [("IMB-MPI1 Bcast", {"#processes": "4"}, 65536, 14.12)]


def _points(path: Path, name: str, text: str) -> list[tuple[str, int, float]]:
    """Benchmark, size and first value of each point of a file, sorted."""
    (path / name).write_text(text)
    records = load(bring([path / name], into=path / "campaign").campaign)
    columns = [name for name in records.columns if name.endswith(("_mean", "_max")) and records[name].notna().any()]
    values = records[columns].bfill(axis=1).iloc[:, 0]
    return sorted(zip(records["benchmark"], records["message_size_B"], values, strict=True))


_OSU = "# OSU MPI Latency Test v7.0\n# Size          Latency (us)\n1                       1.25\n2                       1.50\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("text.json", json.dumps({"job": {"nodes": 2, "out": _OSU, "note": "one\ntwo"}})),
        ("labelled.json", json.dumps([f"0: {_OSU}".replace("\n", "\n0: ")])),
        ("ansible.json", json.dumps({"rc": 0, "stdout": _OSU, "stdout_lines": _OSU.splitlines()})),
        ("lines.json", json.dumps({"stdout_lines": _OSU.splitlines()})),
        (
            "docker.log",
            "".join(json.dumps({"log": f"{line}\n", "stream": "stdout"}) + "\n" for line in _OSU.splitlines()),
        ),
        ("block.yaml", f"job: a\nout: |\n{textwrap.indent(_OSU, '  ')}rc: 0\n"),
    ],
)
def test_outputs_inside_documents(name: str, text: str, tmp_path: Path) -> None:
    assert _points(tmp_path, name, text) == [("mpi.latency", 1, 1.25), ("mpi.latency", 2, 1.5)]


def test_outputs_of_one_document_are_no_launches_of_one_point(tmp_path: Path) -> None:
    text = json.dumps({"native": _OSU, "container": _OSU.replace("1.25", "2.25"), "wrk": "a\nb"})
    assert [value for *_, value in _points(tmp_path, "two.json", text)] == [1.25, 2.25, 1.5, 1.5]


def test_a_log_may_stand_in_a_document(tmp_path: Path) -> None:
    assert len(_points(tmp_path, "s.json", json.dumps({"out": STREAM}))) == 4
    (tmp_path / "none.json").write_text(json.dumps({"out": "one\ntwo\nthree"}))
    with pytest.raises(DataError, match="the output of a benchmark that labkit reads"):
        bring([tmp_path / "none.json"], into=tmp_path / "none")
    (tmp_path / "cut.json").write_text(json.dumps({"out": "# OSU MPI Latency Test v7.0\n1 1.25\n"}))
    with pytest.raises(DataError, match=r"cut\.json \(out\), line 2.*the names of the columns"):
        bring([tmp_path / "cut.json"], into=tmp_path / "none")


_PERFLOGS = {
    "3": (
        "2022-06-23T20:18:19|reframe 3.9.2|Stream on a:b using gnu|jobid=1|num_tasks=4|Copy=6606.1|ref=0 (l=null, u=null)|MB/s\n"
        "2022-06-23T20:18:19|reframe 3.9.2|Stream on a:b using gnu|jobid=1|num_tasks=4|Scale=6447.7|ref=0 (l=null, u=null)|MB/s\n"
    ),
    "3, unit before the reference": (
        "|reframe 3.2-dev1 (rev: 7)|Stream on a:b using gnu|jobid=1|Copy=6606.1|MB/s|ref=0 (l=None, u=None)|num_tasks=4,stream\n"
        "|reframe 3.2-dev1 (rev: 7)|Stream on a:b using gnu|jobid=1|Scale=6447.7|MB/s|ref=0 (l=None, u=None)|num_tasks=4,stream\n"
    ),
    "4": (
        "result|job_completion_time|environ|jobid|name|num_tasks|partition|Copy_value|Copy_unit|Copy_ref|Scale_value|Scale_unit|system\n"
        "pass|2024-02-21T22:51:16|gnu|65|Stream|4|b|6606.1|MB/s|0|6447.7|MB/s|a\n"
    ),
    "4, with commas": (
        "job_completion_time,info,num_tasks,Copy_value,Copy_unit,Scale_value,Scale_unit,system:partition,environ\n"
        "2024-02-21T22:51:16,Stream /de04c10b @a:b+gnu,4,6606.1,MB/s,6447.7,MB/s,a:b,gnu\n"
    ),
}


@pytest.mark.parametrize("version", _PERFLOGS)
def test_performance_logs_of_reframe(version: str, tmp_path: Path) -> None:
    kind, (run,) = read(tmp_path, _PERFLOGS[version])
    assert (kind, run.options, run.ranks) == ("ReFrame", {"test": "Stream", "system": "a:b:gnu"}, 4)
    assert [(v.name, v.unit, v.value) for v in run.values] == [("Copy", "MB/s", 6606.1), ("Scale", "MB/s", 6447.7)]


def test_each_job_of_reframe_is_a_run_and_a_failed_one_is_doubtful(tmp_path: Path) -> None:
    _, runs = read(tmp_path, _PERFLOGS["3"] + _PERFLOGS["3"].replace("jobid=1", "jobid=2"))
    assert [len(run.values) for run in runs] == [2, 2]
    row = _PERFLOGS["4"].splitlines()[1].replace("pass", "fail").replace("6447.7", "null")
    _, (_, run) = read(tmp_path, f"{_PERFLOGS['4']}{row}\n")
    assert ([v.name for v in run.values], run.doubts[0].code) == (["Copy"], "test-failed")
    with pytest.raises(DataError, match="13 cells"):
        read(tmp_path, f"{_PERFLOGS['4']}{row[:40]}\n")


def test_lines_of_iperf_without_a_head(tmp_path: Path) -> None:
    intervals = "[  3]  0.0- 1.0 sec   372 MBytes  3.12 Gbits/sec\n[  3]  1.0- 2.0 sec   345 MBytes  2.88 Gbits/sec\n"
    whole = "[  3]  0.0- 2.0 sec   717 MBytes  3.00 Gbits/sec\n"
    kind, (run,) = read(tmp_path, intervals + whole)
    assert (kind, run.test, run.values[0].value) == ("iperf", "iperf TCP", 375.0)
    assert len(read(tmp_path, whole + whole)[1]) == 2
    served = whole.replace("3.00 Gbits/sec", "1.04 Mbits/sec   0.024 ms    1/  893 (0.11%)")
    _, (run,) = read(tmp_path, f"{whole}[  3] Sent 893 datagrams\n[  3] Server Report:\n{served}")
    assert {v.name: v.value for v in run.values} == pytest.approx(
        {"bandwidth_MBps": 0.13, "jitter_us": 24.0, "lost_percent": 100 / 893}
    )
    with pytest.raises(DataError, match="a line from 0 to the end"):
        read(tmp_path, intervals)
    with pytest.raises(DataError, match="for several streams"):
        read(tmp_path, whole + whole.replace("3]", "4]"))
    _, (run,) = read(
        tmp_path, whole + whole.replace("3]", "4]") + whole.replace("  3]", "SUM]").replace("3.00", "6.00")
    )
    assert run.values[0].value == 750.0


_DRAWN = "+------+--------------+\n| Size | Latency (us) |\n+------+--------------+\n| 8    | 1.25         |\n| 1024 | 1024.50      |\n+------+--------------+\n"
_HEAD = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{_HEAD}8                 1,25\n1024              1024,50\n",
        f"{_HEAD}8                 1.25\n1,024             1,024.50\n",
        f"{_HEAD}8                 1,25\n1.024             1.024,50\n",
        "Size,Latency (us)\n8,1.25\n1024,1024.50\n",
        '"Size";"Latency (us)"\n"8";"1,25"\n"1024";"1024,50"\n',
        "Size\tLatency (us)\n8\t1.25\n1024\t1024.50\n",
        _DRAWN,
        _DRAWN.replace("|", "\u2502").replace("-", "\u2500").replace("+", "\u253c"),
        f"My result:\n\n{_DRAWN}\nThanks!\n",
    ],
    ids=["comma", "thousands", "German", "csv", "semicolons", "tabs", "drawn", "boxes", "prose"],
)
def test_tables_of_spreadsheets_and_of_other_languages(text: str) -> None:
    table = load(text)
    assert [*zip(table["message_size_B"], table["latency_us_mean"], strict=True)] == [(8, 1.25), (1024, 1024.5)]


@pytest.mark.parametrize("rows", ["8  1,024\n", "8  1,25\n16  1.25\n", "8  1,2,5\n"], ids=["either", "both", "several"])
def test_a_comma_that_may_mean_either_is_refused(rows: str) -> None:
    with pytest.raises(DataError, match="1,"):
        load(f"{_HEAD}{rows}")


@pytest.mark.parametrize(
    "text", [f"{_HEAD}8  1,024\n", "tcp_lat:\n    latency  =  12,5 us\n"], ids=["a table", "a line of qperf"]
)
def test_the_error_for_a_line_names_its_comma(text: str) -> None:
    with pytest.raises(DataError, match=r"has a comma, which may be decimal or between thousands: write a decimal"):
        load(text)


def test_one_line_is_an_output_if_it_ends() -> None:
    (value,) = load("Triad:          82523.4     0.029300     0.029083     0.029600\n")["bandwidth_MBps_max"]
    assert value == 82523.4
    with pytest.raises(DataError, match="There is no campaign"):
        load("Triad")


def test_last_lines_of_fio_and_rows_of_stream_and_linpack(tmp_path: Path) -> None:
    group = "Run status group 0 (all jobs):\n   READ: bw=112MiB/s (118MB/s), 112MiB/s-112MiB/s (118MB/s-118MB/s), io=1024MiB (1074MB), run=9120-9120msec\n"
    kind, (run,) = read(tmp_path, group)
    assert (kind, run.test, run.values[0].value) == ("fio", "fio read", 118.0)
    assert "untitled" in {doubt.code for doubt in run.doubts}
    old = "  WRITE: io=1024.0MB, aggrb=1024KB/s, minb=1024KB/s, maxb=1024KB/s, mint=9120msec, maxt=9120msec\n"
    _, (run,) = read(tmp_path, old)
    assert (run.test, run.values[0].value) == ("fio write", 1.048576)
    with pytest.raises(DataError, match="above 0"):
        read(tmp_path, group.replace("(118MB/s),", "(0MB/s),"))
    rows = "Copy:           85123.4     0.018900     0.018796     0.019100\nTriad:          82523.4     0.029300     0.029083     0.029600\n"
    kind, runs = read(tmp_path, rows)
    assert (kind, [run.test for run in runs]) == ("STREAM", ["STREAM Copy", "STREAM Triad"])
    with pytest.raises(DataError, match="between least and greatest"):
        read(tmp_path, rows.replace("0.018900", "0.118900"))
    trials = "1000   1000   4       0.020      33.0120  1.0e-12 3.5e-02   pass\n1000   1000   4       0.010      66.0000  1.0e-12 3.5e-02   pass\n"
    kind, (run,) = read(
        tmp_path, f"Size   LDA    Align.  Time(s)    GFlops   Residual     Residual(norm) Check\n{trials}"
    )
    assert (kind, run.options["n"], run.values[0].value) == ("LINPACK", 1000, 49.506)


def _iperf(rows: str, way: str = "", streams: int = 1, extra: str = "") -> str:
    """What a client of iperf 2.1 prints above and in its rows."""
    opened = "".join(
        f"[  {n}] local 10.0.0.1 port 5000{n} connected with 10.0.0.2 port 5001{way and f' ({way})'}\n"
        for n in range(1, streams + 1)
    )
    rule = f"{'-' * 60}\n"
    head = f"{rule}Client connecting to 10.0.0.2, TCP port 5001{extra}\nTCP window size: 16.0 KByte (default)\n{rule}"
    return f"{head}{opened}[ ID] Interval       Transfer     Bandwidth\n{rows}"


def test_iperf_reads_what_the_server_sends_to_the_client(tmp_path: Path) -> None:
    """``-R``: the rows of the client have a star, whole and in intervals, of one stream or several."""
    whole = "[ *1] 0.0000-2.0123 sec  3.11 GBytes  8.00 Gbits/sec\n"
    intervals = (
        "[ *1] 0.0000-1.0000 sec   459 MBytes  3.85 Gbits/sec\n[ *1] 1.0000-2.0000 sec  333 MBytes  2.80 Gbits/sec\n"
    )
    for rows in (whole, intervals + whole):
        _, (run,) = read(tmp_path, _iperf(rows, "reverse"))
        assert (run.test, run.stated["reverse"]) == ("iperf TCP", "1")
        assert [v.value for v in run.values] == [1000.0]
    two = whole + whole.replace("*1", "*2") + "[SUM] 0.0000-2.0200 sec  6.22 GBytes  16.0 Gbits/sec\n"
    _, (run,) = read(tmp_path, _iperf(two, "reverse", 2))
    assert (run.options["streams"], run.values[0].value) == (2, 2000.0)
    _, (plain,) = read(tmp_path, _iperf(whole.replace("*", " ")))
    assert "reverse" not in plain.stated
    arrived = whole.replace("8.00 Gbits/sec", "8.00 Mbits/sec   0.002 ms 0/1786 (0%)")
    _, (run,) = read(tmp_path, _iperf(arrived, "reverse").replace("TCP port", "UDP port"))
    assert {v.name: v.value for v in run.values} == {"bandwidth_MBps": 1.0, "jitter_us": 2.0, "lost_percent": 0.0}
    with pytest.raises(DataError, match="the log is cut"):
        read(tmp_path, _iperf(intervals, "reverse"))
    server = _iperf(whole.replace("*", " "), "reverse").replace("Client connecting to 10.0.0.2,", "Server listening on")
    _, (run,) = read(tmp_path, server)
    assert run.stated["reverse"] == "1"


def test_iperf_in_both_directions_without_its_last_line(tmp_path: Path) -> None:
    """Without ``-e`` the sum is called SUM, and with ``-i`` there is none."""
    rows = (
        "[ *1] 0.0000-1.9860 sec   996 MBytes  4.00 Gbits/sec\n[  1] 0.0000-2.0001 sec  1.71 GBytes  8.00 Gbits/sec\n"
    )
    for text in (rows, rows + "[SUM] 0.0000-1.9860 sec  2.68 GBytes  12.0 Gbits/sec\n"):
        _, (run,) = read(tmp_path, _iperf(text, "full-duplex"))
        assert [v.value for v in run.values] == [1500.0, 1000.0, 500.0]
    with pytest.raises(DataError, match=r"\[FD1\]"):
        read(tmp_path, _iperf(rows, "full-duplex", extra=" with pid 7 (1 flows)"))


@pytest.mark.parametrize(("end", "doubted"), [("1.0", True), ("5.0", True), ("10.0", False), ("60.0", False)])
def test_an_only_line_of_old_iperf_may_be_an_interval_unless_it_lasts_as_long_as_a_test(
    end: str, doubted: bool, tmp_path: Path
) -> None:
    text = _iperf(f"[  1]  0.0-{end} sec  1.00 GBytes  8.00 Gbits/sec\n")
    (run,) = read(tmp_path, text)[1]
    assert ("cut" in {doubt.code for doubt in run.doubts}) is doubted
    line = f"20250514110000,10.0.0.1,50000,10.0.0.2,5001,3,0.0-{end},1000,8000\n"
    (run,) = read(tmp_path, f"Loading openmpi/4.1\n{line}")[1]
    assert ("cut" in {doubt.code for doubt in run.doubts}) is doubted


def test_excerpts_of_mdtest_wrk_sockperf_and_ycsb(tmp_path: Path) -> None:
    rows = "   Operation      Max   Min   Mean   Std Dev\n   ---------      ---   ---   ----   -------\n   File creation : 20.000 10.000 15.000 5.000\n"
    _, (run,) = read(tmp_path, f"SUMMARY rate: (of 2 iterations)\n{rows}")
    assert (run.ranks, run.values[2].value, run.doubts[0].code) == (0, 15.0, "untitled")
    _, (run,) = read(
        tmp_path, f"mdtest-1.9.3 was launched with 16 total task(s) on 2 nodes\nSUMMARY: (of 2 iterations)\n{rows}"
    )
    assert (run.ranks, run.doubts) == (16, ())
    wrk = (
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     2.50ms    0.50ms   9.00ms   80.00%\n"
        "    Req/Sec     1.50k   100.00     1.75k    70.00%\n  3000 requests in 10.00s, 1.00MB read\n"
        "Requests/sec:   300.00\nTransfer/sec:    100.00KB\n"
    )
    kind, (run,) = read(tmp_path, wrk)
    assert (kind, run.options, run.values[1].value, run.doubts[0].code) == ("wrk", {}, 2500.0, "untitled")
    rate = "sockperf: Summary: Message Rate is 100000 [msg/sec]\nsockperf: Summary: BandWidth is 95.367 MBps (762.936 Mbps)\n"
    _, runs = read(tmp_path, f"  *** plain ***\n{rate}\n  *** bypass ***\n{rate}")
    assert [(run.size, run.doubts[-1].code) for run in runs] == [(1000, "untitled")] * 2
    _, (run,) = read(tmp_path, "".join(f"[OUTPUT] {line}\n" for line in SOCKPERF.splitlines()))
    assert run.values[0].value == 25.0
    ycsb = (
        "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 500.0\n[READ], 99thPercentileLatency(us), 40\n"
    )
    failed = "[READ-FAILED], Operations, 0\n[READ-FAILED], AverageLatency(us), NaN\n"
    _, runs = read(tmp_path, ycsb + failed)
    assert [(v.statistic, v.value) for v in runs[1].values] == [("p99", 40.0)]


def test_a_workbook_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "results.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(
        DataError, match=r"found 'an archive or workbook', wanted a file of text. Unpack it; of an Excel"
    ):
        bring([tmp_path / "results.xlsx"], into=tmp_path / "campaign")


def test_the_lines_of_fio_may_lack_those_of_the_job(tmp_path: Path) -> None:
    shown = FIO_2[FIO_2.index("  write:") :]
    whole = read(tmp_path, FIO_2)[1][0]
    kind, (run,) = read(tmp_path, shown)
    assert (kind, run.test, run.size, run.values) == ("fio", whole.test, 0, whole.values)
    assert "untitled" in {one.code for one in run.doubts}
    _, (run,) = read(tmp_path, f"{FIO_2.splitlines()[0]}\n{shown}")
    assert (run.size, run.options["pattern"]) == (65536, "sequential")
    with pytest.raises(DataError, match=r"cpu|issued"):
        read(tmp_path, shown.partition("  cpu")[0])


def test_a_row_of_hpl_needs_no_head_if_its_rate_follows_from_order_and_time(tmp_path: Path) -> None:
    row = "WR11C2R4        1000   192     2     4               1.00             6.6817e-01\n"
    check = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.80e-03 ...... PASSED\n"
    kind, (run,) = read(tmp_path, f"==========\nT/V  N  NB  P  Q  Time  Gflops\n{row}{check}")
    assert (kind, run.test, run.ranks, run.verified) == ("HPL", "HPL", 8, True)
    assert ([v.value for v in run.values], run.doubts[0].code) == ([0.66817, 1.0], "untitled")
    assert len(read(tmp_path, f"> {row}> {row.replace('192', '256')}")[1]) == 2
    with pytest.raises(DataError, match="the output of a benchmark that labkit reads"):
        read(tmp_path, row.replace("6.6817e-01", "9.6817e-01"))
