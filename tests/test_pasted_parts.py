"""Parts of outputs that people paste: tables without title or head, in Markdown, or folded by a mail program."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import load
from labkit.errors import DataError
from labkit.formats.reading.log import HEAD_MISSING, UNTITLED, Run
from labkit.run import importing
from labkit.run.importing.text import parts
from labkit.store.campaign import Campaign

RULE = "-" * 87
LATENCY = "# Size          Latency (us)\n0                 1.10\n8                 1.25\n"
RESULTS = "write     {}    44821      0.000523    1024.00    64.00      0.000022   0.000715   0.000046   {}   0\n"
OLD = "write     {}    1024.00    64.00      0.000022   0.000715   0.000046   0.000714   {}\n"
SUMMARY = (
    "write        3000.00    2000.00    2500.00     500.00   48000.00   32000.00   40000.00    8000.00"
    "    0.00072         NA            NA     0      2   2    3   0     0        1         0    0      1  1048576"
    "    65536       2.0 POSIX      0\n"
)


def runs(text: str, folder: Path) -> list[Run]:
    """What a text holds that is a log."""
    path = folder / "log.txt"
    path.write_text(text)
    (one,) = parts(path)
    return one.runs(lambda count: None)


def told(made: list[Run]) -> list[tuple[str, int, float]]:
    """Test, size and first value of each run."""
    return [(run.test, run.size, run.values[0].value) for run in made]


@pytest.mark.parametrize(
    ("above", "test"),
    [
        ("", "OMB unnamed latency"),
        ("$ mpirun -n 2 ./pt2pt/osu_latency -m 8\n", "osu_latency"),
        ("osu_latency\n", "osu_latency"),
        ("[me@host ~]$ srun -n 2 osu_multi_lat\n", "osu_multi_lat"),
        ("OSU MPI Latency Test v5.8\n", "osu_latency"),
        ("Both hosts are idle:\n\n", "OMB unnamed latency"),
    ],
)
def test_a_table_of_osu_without_its_title_has_its_program_from_above(above: str, test: str, tmp_path: Path) -> None:
    made = runs(above + LATENCY, tmp_path)
    assert told(made) == [(test, 0, 1.10), (test, 8, 1.25)]
    assert all(UNTITLED in run.doubts for run in made)


def test_rows_below_a_command_of_osu_have_the_columns_of_that_program(tmp_path: Path) -> None:
    text = "$ mpirun -n 2 osu_bw\n1   10.10\n2   20.25\n\n$ mpirun -n 2 osu_mbw_mr\n1   40.50   40500000.00\n"
    made = runs(text, tmp_path)
    assert told(made) == [("osu_bw", 1, 10.10), ("osu_bw", 2, 20.25), ("osu_mbw_mr", 1, 40.50)]
    assert made[2].values[1].as_dict()["value"] == 40500000.0


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("osu_bw\n" + LATENCY, "line 3: found .* wanted a table of osu_bw, but its columns are"),
        (LATENCY + "4     1.30\n", "line 4: found '4     1.30', wanted a size above 8"),
        (LATENCY + "16    1.3\n", "line 4: found '16    1.3'"),
        (LATENCY + "16\n32   1.50\n", "line 4: found '16'"),
        ("# Size   Latency\n8   1.25\n", r"line 1: .* a head with units, as '# Size  Latency \(us\)'"),
        ("Size  Bandwidth (MB/s)\n", "a row of Size, Bandwidth"),
        ("8   1.25\n16   1.50\n", "line 1: .* the head of its table, or the command"),
    ],
)
def test_a_table_of_osu_that_contradicts_itself_is_refused(text: str, wanted: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=wanted):
        runs(text, tmp_path)


def test_a_table_of_osu_without_a_title_becomes_points(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(f"{LATENCY}\nosu_bw\n1   10.10\n")
    importing.bring([log], into=tmp_path / "c")
    campaign = Campaign(tmp_path / "c")
    assert set(campaign.benchmarks()) == {"mpi.omb_latency", "mpi.bandwidth"}
    assert set(load(campaign)["ranks"]) == {2}


def test_tables_of_markdown_are_read_as_text(tmp_path: Path) -> None:
    rows = "|--:|--:|\n| 0 | 1.10 |\n| 8 | **1.25** |\n"
    made = runs(f"We see:\n\n| Size | Latency (us) |\n{rows}\nWhy?\n", tmp_path)
    assert [(run.line, *told([run])[0]) for run in made] == [
        (5, "OMB unnamed latency", 0, 1.10),
        (6, "OMB unnamed latency", 8, 1.25),
    ]
    perftest = "| #bytes | #iterations | BW peak[MB/sec] | BW average[MB/sec] | MsgRate[Mpps] |\n|-|-|-|-|-|\n"
    made = runs(f"`ib_write_bw`:\n\n{perftest}| 65536 | 1000 | 100.00 | 90.00 | 0.001440 |\n", tmp_path)
    assert told(made) == [("perftest RDMA_Write BW", 65536, pytest.approx(104.8576))]
    omb = tmp_path / "omb.md"
    omb.write_text(f"# OSU MPI Latency Test v5.8\n| Size | Latency (us) |\n{rows}")
    (text,) = parts(omb)
    (table,) = text.tables(text.lines(lambda count: None))
    assert (table.test, [row.values for row in table.rows]) == ("osu_latency", [(1.10,), (1.25,)])
    with pytest.raises(DataError, match=r"line 6: found '8  1.25  9'"):
        runs(f"osu_latency\n\n| Size | Latency (us) |\n{rows}".replace("**1.25**", "1.25 | 9"), tmp_path)


def test_lines_of_perftest_that_are_folded_are_joined(tmp_path: Path) -> None:
    head = " #bytes     #iterations    BW peak[MB/sec]\n    BW average[MB/sec]   MsgRate[Mpps]\n"
    command = "$ ib_read_bw -d mlx5_0 \\\n    -s 65536 \\\n    192.0.2.1\n"
    row = " 65536      1000             100.00\n             90.00              0.001440\n"
    made = runs(f"{command}{RULE}\n{head}{row}{RULE}\n", tmp_path)
    assert told(made) == [("perftest RDMA_Read BW", 65536, pytest.approx(104.8576))]
    assert [value.value for value in made[0].values][1:] == [pytest.approx(94.371840), 1440.0]
    latency = "ib_send_lat\n #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
    latency += "  t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n 8 1000 2.10 9.90 2.20 2.25\n 0.30 3.10 9.80\n"
    assert told(runs(f"{latency}{RULE}\n", tmp_path)) == [("perftest Send Latency", 8, 2.10)]


@pytest.mark.parametrize("second", [" 131072     1000   100.00   90.00   0.000720\n", "  100.00   80.00   0.000720\n"])
def test_two_damaged_rows_of_perftest_do_not_become_one(second: str, tmp_path: Path) -> None:
    head = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    with pytest.raises(DataError, match="found '65536      1000', wanted bytes, iterations and a number"):
        runs(f"ib_write_bw\n{head} 65536      1000\n{second}{RULE}\n", tmp_path)


def test_rows_of_ior_without_their_head_have_columns_by_their_number(tmp_path: Path) -> None:
    made = runs(
        RESULTS.format("2801.34", "0.000714")
        + RESULTS.format("4000.00", "0.000500").replace("write", "read").replace("44821", "64000"),
        tmp_path,
    )
    assert [(run.options["operation"], *told([run])[0]) for run in made] == [
        ("write", "IOR", 65536, pytest.approx(2801.34 * 1.048576)),
        ("read", "IOR", 65536, pytest.approx(4000.00 * 1.048576)),
    ]
    assert all(HEAD_MISSING in run.doubts for run in made)
    (run,) = runs(OLD.format("2801.34", 0) + OLD.format("2800.34", 1), tmp_path)
    assert [(v.statistic, v.value) for v in run.values][:3] == [
        ("max", pytest.approx(2801.34 * 1.048576)),
        ("min", pytest.approx(2800.34 * 1.048576)),
        ("mean", pytest.approx(2800.84 * 1.048576)),
    ]
    (run,) = runs(SUMMARY, tmp_path)
    assert (run.ranks, run.size, run.options["block_size"], run.options["api"]) == (2, 65536, 1048576, "POSIX")
    assert [v.value for v in run.values][:6] == [*(pytest.approx(n * 1048.576) for n in (3, 2, 2.5)), 48e3, 32e3, 40e3]


@pytest.mark.parametrize("row", [RESULTS.format("3801.34", "0.000714"), RESULTS.format("2801.34", "0.000714 1")])
def test_rows_of_ior_that_contradict_themselves_are_refused(row: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: found 'write "):
        runs(RESULTS.format("2801.34", "0.000714") + row, tmp_path)


def test_rows_of_netperf_below_their_command_need_no_head(tmp_path: Path) -> None:
    """With -P 0 netperf prints no head: the command names test and unit."""
    made = runs(
        "$ netperf -H 192.0.2.1 -P 0\n131072  16384  16384    10.00    9415.53\n"
        "$ for i in 1 2; do netperf -H 192.0.2.1 -t TCP_RR -P 0; done\n"
        "16384  131072 1        1       10.00    26543.21\n16384  131072\n"
        "16384  131072 1        1       10.00    25000.00\n16384  131072\n"
        "$ netperf -t UDP_STREAM -f g -P 0\n212992   65507   10.00       12000      0    6.29\n"
        "212992           10.00       11000           5.77\n"
        "$ netperf -v 0 -t TCP_MAERTS -P0\n9000.00\n",
        tmp_path,
    )
    assert told(made) == [
        ("netperf TCP_STREAM", 16384, pytest.approx(9415.53 / 8)),
        ("netperf TCP_RR", 1, 26543.21),
        ("netperf TCP_RR", 1, 25000.0),
        ("netperf UDP_STREAM", 65507, pytest.approx(5.77 * 125)),
        ("netperf TCP_MAERTS", 0, 1125.0),
    ]
    assert [v.value for v in made[3].values][1:] == [pytest.approx(6.29 * 125), pytest.approx(100 / 12)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("netperf -t TCP_RR -P 0\n16384  131072 1  1   10.00\n", 2),
        ("netperf -t UDP_STREAM -P 0\n212992   65507   10.00   12000   0  6.29\n", 2),
        ("netperf -t TCP_SENDFILE -P 0\n131072  16384  16384    10.00    9415.53\n", 1),
    ],
)
def test_rows_of_netperf_of_another_shape_are_refused(text: str, line: int, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"line {line}: found"):
        runs(text, tmp_path)


def test_a_classic_table_of_netperf_with_a_second_row_is_refused(tmp_path: Path) -> None:
    """The second row is of another test, with -P 0."""
    table = (Path(__file__).parent / "golden" / "logs" / "netperf" / "TCP_RR.txt").read_text()
    row = next(line for line in table.splitlines() if len(line.split()) == 6 and line.split()[0].isdecimal())
    with pytest.raises(DataError, match="one row of values: another test without a head"):
        runs(f"{table}\n{row}\n", tmp_path)


def test_a_folded_head_of_netperf_is_joined(tmp_path: Path) -> None:
    (run,) = runs(
        "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to 192.0.2.1 () port 0 AF_INET\n"
        "Throughput,Throughput Units,50th Percentile\nLatency Microseconds,99th Percentile Latency\n"
        "Microseconds\n2000.50,Trans/s,400,600\n",
        tmp_path,
    )
    assert [(v.statistic, v.value) for v in run.values] == [("mean", 2000.5), ("p50", 400.0), ("p99", 600.0)]


def test_netpipe_2_prints_seconds(tmp_path: Path) -> None:
    row = "  {}:      {} bytes    7 times -->   {} Mbps in {} sec\n"
    made = runs(row.format(0, 4096, "24.96", "0.001252") + row.format(1, 1, " 0.06", "0.000123"), tmp_path)
    assert told(made) == [("NetPIPE", 4096, pytest.approx(1252.0, rel=1e-3)), ("NetPIPE", 1, pytest.approx(123.0))]
    with pytest.raises(DataError, match=r"line 1: .*that follow from one another"):
        runs(row.format(0, 4096, "24.96", "0.002252"), tmp_path)


def test_netpipe_in_both_directions_and_one_way(tmp_path: Path) -> None:
    """``-2`` prints twice the size into its file, and twice the rate for the client; ``-s`` has no latency."""
    file = "       {}   0.505440   0.00003019\n"
    rows = "".join(
        file.format(size).replace("0.505440", f"{8 * size / 3.019e-5 / 2**20:.6f}") for size in (2, 4, 6, 8, 12)
    )
    with pytest.raises(DataError, match="without -2, which prints twice the size"):
        runs(rows, tmp_path)
    (first, *_) = runs(file.format(1).replace("0.505440", "0.252720") + rows, tmp_path)
    assert {doubt.code for doubt in first.doubts} == {"direction-unknown"}
    row = "  0:       1 bytes   7592 times -->      {} Mbps in      30.19 usec\n"
    with pytest.raises(DataError, match="follow from one another, as without -2"):
        runs(row.format("0.51"), tmp_path)
    (alone,) = runs("Streaming in one direction only.\n" + row.format("0.25"), tmp_path)
    assert [(v.name, v.value) for v in alone.values] == [("bandwidth_MBps", pytest.approx(1 / 30.19))]


def test_fi_pingpong_cuts_sizes_to_two_digits(tmp_path: Path) -> None:
    text = (Path(__file__).parent / "golden/logs/fi_pingpong/1500_B.txt").read_text()
    (run,) = runs(text, tmp_path)
    assert [str(doubt) for doubt in run.doubts if doubt.code == "size-cut"] == [
        "the size is printed with two digits: it is 1434 B or up to 102 B more"
    ]
    (run,) = runs(f"$ fi_pingpong -p tcp -S 1500 192.0.2.1\n{text}", tmp_path)
    assert (run.size, "size-cut" in {doubt.code for doubt in run.doubts}) == (1500, False)
    every = (Path(__file__).parent / "golden/logs/fi_pingpong/all_sizes_tcp.txt").read_text()
    assert not any(doubt.code == "size-cut" for run in runs(every, tmp_path) for doubt in run.doubts)


def test_a_run_of_hpcc_without_a_summary_does_not_hide_the_others(tmp_path: Path) -> None:
    """HPCC appends each run to its file."""
    whole = (Path(__file__).parent / "golden" / "logs" / "hpcc" / "two_ranks.txt").read_text()
    stopped = whole[: whole.index("Begin of MPIRandomAccess section")]
    made, others = runs(stopped + whole, tmp_path), runs(whole, tmp_path)
    assert [run.values for run in made] == [run.values for run in others]
    assert all("run-left-out" in {doubt.code for doubt in run.doubts} for run in made)
    with pytest.raises(DataError, match="wanted a whole section or 'Begin of Summary section'"):
        runs(stopped, tmp_path)


def test_memtier_without_answers_is_refused_with_its_totals(tmp_path: Path) -> None:
    text = "ALL STATS\n======\nType         Ops/sec      Latency       KB/sec\n------\nSets  0.00  10.5  0.00\n"
    with pytest.raises(DataError, match=r"line 6: .*a rate above 0: memtier_benchmark had no answer"):
        runs(text + "Totals  0.00  10.5  0.00\n", tmp_path)


def test_rates_at_the_stonewall_of_mdtest_are_no_damaged_rows(tmp_path: Path) -> None:
    table = (Path(__file__).parent / "golden" / "logs" / "mdtest" / "three_iterations.txt").read_text()
    place = table.index("   File creation") if "   File creation" in table else table.index("File creation")
    stonewall = "   File create (stonewall)   :             NA             NA        810.174             NA\n"
    made = runs(table[:place] + stonewall.lstrip() + table[place:], tmp_path)
    assert len(made) == len(runs(table, tmp_path))


IOZONE = """              KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read
              64       4  939223 2203800  4274062  3738358  200000  100000  300000   400000   500000
"""


def test_a_table_of_iozone_needs_no_banner(tmp_path: Path) -> None:
    (run,) = runs(f"server 4: Output is in Kbytes/sec\n{IOZONE}", tmp_path)
    assert [v.value for v in run.values][:2] == [pytest.approx(939223 * 1024e-6), pytest.approx(2203800 * 1024e-6)]
    assert "unit-assumed" not in {doubt.code for doubt in run.doubts}
    (run,) = runs(IOZONE, tmp_path)
    assert "unit-assumed" in {doubt.code for doubt in run.doubts}
    again = IOZONE.splitlines()[1].replace("939223", "839223")
    first, second = runs(f"{IOZONE}{again}\n", tmp_path)
    assert (first.values[0].value, second.values[0].value) == (pytest.approx(961.764352), pytest.approx(859.364352))
    with pytest.raises(DataError, match="output in kBytes/sec"):
        runs(f"Output is in furlongs/sec\n{IOZONE}", tmp_path)
    for above, name in (
        ("OPS Mode. Output is in operations per second.", "iops_per_s"),
        ("$ iozone -a -O -f data", "iops_per_s"),
        ("\tCommand line used: iozone -RcO -a", "iops_per_s"),
        ("Microseconds/op Mode. Output is in microseconds per operation.", "latency_us"),
        ("$ iozone -s 64k -N", "latency_us"),
    ):
        cells = runs(f"{above}\n{IOZONE}", tmp_path)
        (cell,) = [one for one in cells if one.options["test"] == "rewrite"]
        assert [(v.name, v.value) for v in cell.values] == [(name, 2203800)], above
        assert (cell.test, cell.size, cell.options["file_size"]) == ("IOzone operations", 4096, 65536)


def test_rows_without_a_head_beside_other_outputs_are_read_too(tmp_path: Path) -> None:
    row = "WC00C2R2       1000   128     2     2               0.34              1.958e+00\n"
    log = tmp_path / "log.txt"
    log.write_text(f"# Notes\n\n$ ./xhpl\n{row}\n# OSU MPI Latency Test v5.8\n{LATENCY}")
    assert {text.kind for text in parts(log)} == {"HPL", "OMB"}
    log.write_text(f"{row}\n$ mpirun -n 2 osu_latency\n{LATENCY}")
    assert {text.kind for text in parts(log)} == {"HPL", "OMB excerpt"}


def test_summaries_of_sockperf_alone_are_runs_with_their_percentiles(tmp_path: Path) -> None:
    one = "$ sockperf pp -i 192.0.2.1\nsockperf: Summary: Round trip is {}.5 usec\nsockperf: Total 2379 observations\n"
    one += "sockperf: ---> <MAX> observation = 402.115\nsockperf: ---> percentile 99.900 =  198.442\n\n"
    first, second = runs(one.format(84) + one.format(184), tmp_path)
    assert [(v.statistic, v.value) for v in first.values] == [("mean", 84.5), ("max", 402.115), ("p999", 198.442)]
    assert second.values[0].value == 184.5
    with pytest.raises(DataError, match=r"line 5: found 'sockperf: ---> percentile 99.9"):
        runs(one.format(84).replace("00 =  198.442", ""), tmp_path)


def test_settings_above_a_table_of_stream_are_its_own(tmp_path: Path) -> None:
    """The program in Fortran prints the number of threads above each table."""
    table = "Number of Threads =            {}\nFunction     Rate (MB/s)  Avg time   Min time  Max time\n"
    rows = "".join(f"{name}:   {{}}1.3242   0.5232   0.5218   0.5242\n" for name in ("Copy", "Scale", "Add", "Triad"))
    made = runs(table.format(1) + rows.replace("{}", "6") + table.format(2) + rows.replace("{}", "8"), tmp_path)
    assert [(run.values[0].value, run.options["threads"]) for run in made[::4]] == [(61.3242, 1), (81.3242, 2)]


def test_an_excerpt_of_wrk_keeps_the_connections_above_it(tmp_path: Path) -> None:
    log = (Path(__file__).parent / "golden" / "logs" / "wrk" / "wrk_latency.txt").read_text()
    (run,) = runs(log[log.index("\n") + 1 :], tmp_path)
    (whole,) = runs(log, tmp_path)
    assert (run.options, run.values) == (whole.options, whole.values)


def test_selectors_of_netperf_name_the_values_of_a_row_without_a_head(tmp_path: Path) -> None:
    command = "netperf -P 0 -t TCP_RR -H h -- -r 1,1 -o P50_LATENCY,P99_LATENCY,THROUGHPUT\n"
    (run,) = runs(f"{command}63,90,12000.5\n", tmp_path)
    assert [(v.statistic, v.value) for v in run.values] == [("mean", 12000.5), ("p50", 63.0), ("p99", 90.0)]
    with pytest.raises(DataError, match="line 2: found '63,90', wanted 3 values, as -o names them"):
        runs(f"{command}63,90\n", tmp_path)


def test_a_table_of_fi_pingpong_may_be_indented_and_its_provider_quoted(tmp_path: Path) -> None:
    head = "    bytes   #sent   #ack     total       time      MB/sec    usec/xfer   Mxfers/sec\n"
    row = "    64      1k      1k       128k        0.10s       1.29       49.44       0.02\n"
    (run,) = runs(f'fi_pingpong -p "tcp;ofi_rxm" -e rdm 192.0.2.1\n\n{head}{row}    ...\n', tmp_path)
    assert (run.size, run.values[0].value, run.options) == (64, 98.88, {"provider": "tcp;ofi_rxm", "endpoint": "rdm"})


def test_tables_of_gpcnet_alone_are_read(tmp_path: Path) -> None:
    table = (
        "+----+\n|           {}           |\n+---+---+\n|   Name |   Avg |   99% |   Units |\n+---+---+\n"
        "|  RR Two-sided Lat (8 B) |  {} |  4.5 |   usec |\n+---+---+\n"
    )
    isolated = table.format("Isolated Network Tests", 2.5)
    loaded = table.format("Network Tests running with Congestion Tests", 3.5)
    made = runs(isolated + loaded, tmp_path)
    assert [(run.options["load"], run.size, [v.value for v in run.values]) for run in made] == [
        ("isolated", 8, [2.5, 4.5]),
        ("loaded", 8, [3.5, 4.5]),
    ]
    verbose = (Path(__file__).parent / "golden/logs/gpcnet/load_verbose.txt").read_text()
    tables = runs(verbose[verbose.index("\n+---") :], tmp_path)
    whole = runs(verbose, tmp_path)
    assert sorted(map(str, told(tables))) == sorted(map(str, told(whole)))
    with pytest.raises(DataError, match=r"line 6: .*name, average above 0"):
        runs(isolated.replace("|  4.5 ", ""), tmp_path)


LINPACK = """=================== Timing linear equation system solver ===================

Size   LDA    Align. Time(s)    GFlops   Residual     Residual(norm) Check
1000   1000   4      0.007      100.5000 9.900691e-13 3.376390e-02   pass
1000   1000   4      0.006      110.5000 9.900691e-13 3.376390e-02   {}

Performance Summary (GFlops)

Size   LDA    Align.  Average  Maximal
1000   1000   4       105.5000 {}
"""


def test_trials_of_linpack_and_their_summary_agree(tmp_path: Path) -> None:
    (run,) = runs(LINPACK.format("fail", "110.5000"), tmp_path)
    assert "wrong-result" in {doubt.code for doubt in run.doubts}
    with pytest.raises(DataError, match=r"line 10: .*the greatest rate of its trials, 110\.5"):
        runs(LINPACK.format("pass", "210.5000"), tmp_path)
    with pytest.raises(DataError, match=r"line 5: .*a row of Size LDA Align"):
        runs(LINPACK.format("", "110.5000"), tmp_path)
    (run,) = runs(LINPACK[LINPACK.index("Performance") :].format("110.5000"), tmp_path)
    assert (run.values[0].value, UNTITLED in run.doubts) == (105.5, True)
