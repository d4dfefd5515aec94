"""Texts that OMB 7.4 and IMB 2021.11 really printed: exact values, the same text back, an error for all else."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import DataError
from labkit.formats import imb, omb
from labkit.formats.reading.table import Table
from labkit.point.columns import METRICS
from labkit.point.spec import Reported

GOLDEN = Path(__file__).parent / "golden"
BROKEN = {"opt_latency_bad", "opt_latency_version", "coll_neighbor_allgather"}  # ended early
NOISY = {"pt2pt_latency_mt"}  # with what a launcher wrote among it
WHOLE = {
    f"{form.__name__.rpartition('.')[2]}/{path.stem}": (form, path.read_text())
    for form in (omb, imb)
    for path in sorted((GOLDEN / form.__name__.rpartition(".")[2]).glob("*.txt"))
    if path.stem not in BROKEN | NOISY
}
real = pytest.mark.parametrize("name", WHOLE)
Key = tuple[str, tuple[tuple[str, str], ...], object, object]


def text(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text()


def one(name: str) -> Table:
    """The only table of a text."""
    (table,) = WHOLE[name][0].parse(text(name))
    return table


def values(form: ModuleType, table: Table, size: int | None) -> dict[tuple[str, str], float]:
    """What a row reports, by name and statistic."""
    row = next(row for row in table.rows if row.size == size)
    reported: list[Reported] = form.reported(table, row)
    for v in reported:
        assert v.name not in METRICS or v.unit == METRICS[v.name].unit
    return {(v.name, v.statistic): v.value for v in reported}


# ---- what is read


@real
def test_reading_and_writing_give_the_same_text_back(name: str) -> None:
    form, printed = WHOLE[name]
    tables = form.parse(printed)
    assert form.write(tables) == printed
    assert form.parse(form.write(tables)) == tables


@real
def test_every_row_knows_its_line_and_every_line_has_its_table(name: str) -> None:
    form, printed = WHOLE[name]
    tables, lines = form.parse(printed), printed.splitlines()
    for table in tables:
        assert table.test
        for row in table.rows:
            assert str(row.size if row.size is not None else row.values[0]) in lines[row.line - 1].split()[:2]
    spans = [(table.first, table.last) for table in tables]
    assert [first for first, _ in spans] == [1, *(last + 1 for _, last in spans[:-1])]
    assert spans[-1][1] == len(lines)


def test_windows_ends_of_lines_are_read_alike() -> None:
    printed = text("omb/opt_mbw_V")
    assert omb.parse(printed.replace("\n", "\r\n")) == omb.parse(printed)


def test_omb_latency_and_bandwidth() -> None:
    latency = one("omb/pt2pt_latency")
    assert (latency.test, latency.title, latency.version) == ("osu_latency", "OSU MPI Latency Test", "7.4")
    assert latency.parameters == {"Datatype": "MPI_CHAR"}
    assert [row.size for row in latency.rows] == [2**i for i in range(11)]
    assert values(omb, latency, 8) == {("latency_us", "mean"): 0.27}
    assert values(omb, one("omb/pt2pt_bw"), 1024) == {("bandwidth_MBps", "mean"): 4199.10}
    assert one("omb/pt2pt_latency_mp").parameters["Number of forked processes in sender"] == "2"


def test_omb_percentiles_of_bandwidth_become_those_of_the_slow_side() -> None:
    numbers = values(omb, one("omb/opt_bw_z"), 64)
    assert numbers == {
        ("bandwidth_MBps", "mean"): 0.88,
        ("bandwidth_MBps", "p50"): 451.25,
        ("bandwidth_MBps", "p10"): 492.84,
        ("bandwidth_MBps", "p1"): 796.58,
    }
    asked = text("omb/opt_bw_z").replace("P50 Tail BW", " P1 Tail BW").replace("P90 Tail BW", " P5 Tail BW")
    (table,) = omb.parse(asked)
    numbers = values(omb, table, 64)
    assert numbers["bandwidth_MBps", "p99"] == 451.25
    assert numbers["bandwidth_MBps", "p95"] == 492.84


def test_omb_percentiles_of_latency() -> None:
    numbers = values(omb, one("omb/opt_latency_z"), 1)
    assert [numbers["latency_us", p] for p in ("p50", "p90", "p99")] == [0.31, 0.54, 1.09]
    (table,) = omb.parse(text("omb/opt_latency_z").replace("P99 Tail", "P99.9 Tail"))
    assert values(omb, table, 1)["latency_us", "p999"] == 1.09
    # index -1 in osu_util_mpi.c: printed as 0.00, and no value
    assert ("latency_us", "p1") not in values(omb, one("omb/opt_latency_z_custom"), 1)


def test_omb_collectives_are_means_over_ranks_and_so_are_their_percentiles() -> None:
    table = one("omb/opt_allreduce_fzc")
    assert [table.value(row, "Validation") for row in table.rows] == ["Pass", "Pass", "Fail"]
    assert table.closing == ("DATA VALIDATION ERROR: osu_allreduce exited with status 1 on message size 16.",)
    numbers = values(omb, table, 4)
    assert numbers["latency_us", "osu_mean"] == 170.57
    assert (numbers["latency_us", "rank_min"], numbers["latency_us", "rank_max"]) == (164.96, 176.17)
    assert numbers["latency_us", "osu_p99"] == 604.54
    assert not {"p99", "mean", "min", "max"} & {statistic for _, statistic in numbers}


def test_omb_overlap() -> None:
    numbers = values(omb, one("omb/coll_iallgather"), 1)
    assert numbers == {
        ("latency_us", "osu_mean"): 1.60,
        ("compute_us", "osu_mean"): 1.06,
        ("pure_us", "osu_mean"): 0.76,
        ("overlap_osu_percent", "value"): 29.38,
    }
    assert values(omb, one("omb/coll_ibarrier"), None)["overlap_osu_percent", "value"] == 29.30
    full = values(omb, one("omb/opt_iallreduce_f"), 4)
    assert (full["init_us", "osu_mean"], full["wait_us", "osu_mean"], full["pure_us", "rank_max"]) == (0.23, 0.27, 1.12)


def test_omb_tables_of_other_shapes() -> None:
    assert values(omb, one("omb/coll_barrier"), None) == {("latency_us", "osu_mean"): 0.69}
    assert not one("omb/coll_barrier").sized
    assert [t.parameters["Datatype"] for t in omb.parse(text("omb/opt_latency_typeall"))] == [
        "MPI_CHAR",
        "MPI_INT",
        "MPI_FLOAT",
    ]
    put = one("omb/opt_putlat_w")
    assert (put.test, put.parameters["Synchronization"]) == ("osu_put_latency", "MPI_Win_lock/unlock")
    assert values(omb, one("omb/opt_latency_ddt"), 256)["transmit_size_B", "value"] == 128
    matrix = one("omb/opt_mbw_V")
    assert matrix.columns == ("Window", "MB/s", "Messages/s")
    assert len(matrix.rows) == 9 * 8
    assert matrix.rows[2].values == (4, 4.35, 4351515.42)
    assert one("omb/opt_mbw_R0").columns == ("MB/s",)


def test_omb_prose() -> None:
    (init,) = omb.parse("# OSU MPI Init Test v7.4\nnprocs: 2, min: 105 ms, max: 119 ms, avg: 112 ms\n")
    assert init.parameters == {"nprocs": "2"}
    assert values(omb, init, None) == {
        ("init_ms", "rank_min"): 105,
        ("init_ms", "rank_max"): 119,
        ("init_ms", "osu_mean"): 112,
    }
    hello = "# OSU MPI Hello World Test v7.4\nThis is a test with 4 processes\n"
    (table,) = omb.parse(hello)
    assert (table.test, table.parameters, table.rows) == ("osu_hello", {"processes": "4"}, ())
    assert omb.write([table]) == hello


def test_omb_programs_that_share_a_title_or_name_an_accelerator() -> None:
    w = text("omb/coll_alltoallw")
    assert [t.test for t in omb.parse("Dimensions size = 2 \n" + w)] == ["osu_neighbor_alltoallw"]
    assert [t.test for t in omb.parse(w)] == ["osu_alltoallw"]
    (table,) = omb.parse(text("omb/pt2pt_latency").replace("MPI Latency", "MPI-CUDA Latency"))
    assert (table.test, table.title) == ("osu_latency", "OSU MPI-CUDA Latency Test")


def test_omb_outputs_in_a_row() -> None:
    both = text("omb/pt2pt_latency") + text("omb/pt2pt_mbw_mr") + text("omb/opt_putlat_w")
    assert [table.test for table in omb.parse(both)] == ["osu_latency", "osu_mbw_mr", "osu_put_latency"]
    assert omb.write(omb.parse(both)) == both


def test_imb_mpi1() -> None:
    tables = {table.test: table for table in imb.parse(text("imb/MPI1"))}
    assert len(tables) == 19
    pingpong = tables["IMB-MPI1 PingPong"]
    assert (pingpong.version, pingpong.parameters["#processes"], pingpong.parameters["Machine"]) == (
        "2021.11",
        "2",
        "x86_64",
    )
    assert values(imb, pingpong, 64) == {("latency_us", "mean"): 0.31, ("bandwidth_MBps", "mean"): 204.05}
    assert values(imb, pingpong, 0) == {("latency_us", "mean"): 0.23}
    assert values(imb, tables["IMB-MPI1 Sendrecv"], 64) == {
        ("latency_us", "rank_min"): 0.41,
        ("latency_us", "rank_max"): 0.41,
        ("latency_us", "osu_mean"): 0.41,
        ("bandwidth_MBps", "mean"): 310.94,
    }
    assert values(imb, tables["IMB-MPI1 Barrier"], None)["latency_us", "rank_max"] == 0.40


def test_imb_nbc() -> None:
    tables = {table.test: table for table in imb.parse(text("imb/NBC"))}
    assert values(imb, tables["IMB-NBC Ibcast"], 1) == {
        ("latency_us", "mean"): 0.47,
        ("pure_us", "mean"): 0.80,
        ("compute_us", "mean"): 0.16,
        ("overlap_imb_percent", "value"): 61.69,
    }
    assert not tables["IMB-NBC Ibarrier"].sized


def imb_text(part: str, block: str) -> str:
    """A text with one table, as IMB frames it."""
    head = text("imb/MPI1").split("\n# PingPong\n")[0].replace("MPI-1 part", f"{part} part")
    return f"{head}\n\n# {block.split()[2]}\n\n{block}\n\n# All processes entering MPI_Finalize\n\n"


RULE = "#-----------------------------------------------------------------------------\n"
IMB_BLOCKS = {
    "aggregate": (
        "MPI-2",
        f"{RULE}# Benchmarking Unidir_Put \n# #processes = 2 \n{RULE}#\n#    MODE: AGGREGATE \n#\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec      defects\n"
        "            4         1000         0.10         0.12         0.11        33.33         0.00\n",
        {"MODE": "AGGREGATE", "#processes": "2"},
    ),
    "io": (
        "MPI-IO",
        f"{RULE}# Benchmarking S_Write_Indv \n# #processes = 1 \n# ( 3 additional processes waiting in MPI_Barrier)\n"
        f"{RULE}#\n#    MODE: NON-AGGREGATE \n#\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n"
        "            0           50         0.10         0.12         0.11         0.00\n",
        {"MODE": "NON-AGGREGATE", "#processes": "1"},
    ),
    "groups": (
        "MPI-1",
        f"{RULE}# Benchmarking Multi-PingPong \n# ( 2 groups of 2 processes each running simultaneous ) \n"
        f"# Group  0:     0    1\n# \n# Group  1:     2    3\n# \n{RULE}"
        "        Group       #bytes #repetitions      t[usec]   Mbytes/sec\n"
        "\n            0            0           20         0.23         0.00\n"
        "            1            0           20         0.25         0.00\n"
        "\n            0            1           20         0.27         3.70\n"
        "            1            1           20         0.26         3.85\n",
        {"groups": "2", "#processes": "2"},
    ),
    "p2p": (
        "IMB-P2P",
        f"{RULE}# Benchmarking Stencil2D (2 x 3)\n# #processes = 6\n{RULE}"
        "       #bytes #repetitions      t[usec]   Mbytes/sec      Msg/sec\n"
        "            1         1000         1.50        16.00     16000000\n",
        {"grid": "(2 x 3)", "#processes": "6"},
    ),
    "failure": (
        "MPI-1",
        f"{RULE}# Benchmarking Alltoall \n# #processes = 2 \n{RULE}"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        "            1           20         0.03         0.03         0.03\n"
        '      4194304 out-of-mem.; needed X=   1.002 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)\n',
        {"#processes": "2"},
    ),
    "passive": (
        "MPI-RMA",
        f"{RULE}# Benchmarking Truly_passive_put \n# #processes = 2 \n{RULE}"
        "       #bytes #repetitions t_pure[usec] t_ovrl[usec]\n"
        "            1          100         1.25         9.50\n",
        {"#processes": "2"},
    ),
}


@pytest.mark.parametrize("name", IMB_BLOCKS)
def test_imb_tables_of_other_shapes(name: str) -> None:
    part, block, parameters = IMB_BLOCKS[name]
    printed = imb_text(part, block)
    (table,) = imb.parse(printed)
    assert table.test == f"{imb.PARTS[part]} {block.split()[3]}"
    assert parameters.items() <= table.parameters.items()
    assert imb.write([table]) == printed


def test_imb_values_of_other_shapes() -> None:
    (groups,) = imb.parse(imb_text(*IMB_BLOCKS["groups"][:2]))
    assert [(row.size, row.values[0]) for row in groups.rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    (failed,) = imb.parse(imb_text(*IMB_BLOCKS["failure"][:2]))
    assert failed.rows[1].size == 4 * 2**20
    assert failed.rows[1].values == ()
    assert failed.rows[1].remark.startswith("out-of-mem.")
    (grid,) = imb.parse(imb_text(*IMB_BLOCKS["p2p"][:2]))
    assert values(imb, grid, 1)["message_rate_per_s", "mean"] == 16e6
    (passive,) = imb.parse(imb_text(*IMB_BLOCKS["passive"][:2]))
    assert values(imb, passive, 1) == {("pure_us", "mean"): 1.25, ("latency_us", "mean"): 9.5}


def test_imb_mt_has_neither_beginning_nor_end_and_counts_all_threads() -> None:
    printed = (
        f"\n{RULE}# Benchmarking UniBandMT\n# #processes = 2 (threads: 2)\n# window_size = 64\n{RULE}"
        "       #bytes #repetitions  t_avg[usec]   Mbytes/sec      Msg/sec\n"
        "           16         1000         0.50        64.00      4000000\n"
        f"\n{RULE}# Benchmarking BarrierMT\n# NO SUCCESSFUL EXECUTIONS\n{RULE}\n"
    )
    (table,) = imb.parse(printed)
    assert (table.test, table.version, table.parameters["window_size"]) == ("IMB-MT UniBandMT", "", "64")
    assert imb.size(table, table.rows[0]) == 8
    assert imb.write([table]) == printed


def test_imb_before_2018_counted_binary_megabytes() -> None:
    old = text("imb/MPI1").replace("Benchmarks 2021.11", "Benchmarks 4.1")
    assert values(imb, imb.parse(old)[0], 64)["bandwidth_MBps", "mean"] == pytest.approx(204.05 * 1.048576)


@pytest.mark.parametrize("number", ["nan", "-nan", "inf"])
def test_what_is_not_finite_is_no_value_and_stays_in_the_text(number: str) -> None:
    (table,) = omb.parse(text("omb/coll_ibarrier").replace("29.30", number.rjust(5)))
    assert ("overlap_osu_percent", "value") not in values(omb, table, None)
    assert "latency_us" in {name for name, _ in values(omb, table, None)}


# ---- what is not read


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("omb/opt_latency_bad", "", "", "line 1: found 'Usage: osu_latency [options]', wanted a line '# OSU …'"),
        ("omb/opt_latency_version", "", "", "line 2: found 'the end of the text', wanted the names of the columns"),
        ("omb/coll_neighbor_allgather", "", "", "line 2: found 'the end of the text'"),
        ("omb/pt2pt_latency", "0.27\n", "x\n", "line 8: found '8                       x', wanted Avg Latency(us)"),
        ("omb/pt2pt_latency", "16 ", "4 ", "wanted a size above 8"),
        ("omb/pt2pt_latency", "Avg Latency(us)", "Average", "wanted the names of the columns"),
        ("omb/opt_latency_typeall", "MPI_INT", "MPI_CHAR", "the datatype is the same as before"),
        ("omb/opt_mbw_V", "# Message Rate Profile", "", "wanted '# Message Rate Profile'"),
        ("omb/opt_allreduce_fz", "    50              0.68", "    50", "line 5: found '4  "),
        (
            "imb/MPI1",
            "# All processes entering MPI_Finalize",
            "",
            "found 'the end of the text', wanted '# All processes",
        ),
        ("imb/MPI1", "# Benchmarking Exchange \n", "", "line 93: found '#bytes #repetitions  t_min[usec]"),
        ("imb/MPI1", "Benchmarks 2021.11, MPI-1", "Benchmarks 2021.11, MPI-9", "line 2: found"),
        ("imb/MPI1", "       #bytes #rep", "       #bites #rep", "line 52: found '#bites"),
        ("imb/MPI1", "            0           20", "            0", "line 53: found '0         0.23"),
    ],
)
def test_other_text_is_one_clear_error(name: str, old: str, new: str, said: str) -> None:
    form = omb if name.startswith("omb") else imb
    assert old in text(name)
    with pytest.raises(DataError, match=r"^some/path\.txt, line ") as raised:
        form.parse(text(name).replace(old, new, 1), "some/path.txt")
    assert said in str(raised.value)


def test_a_last_row_without_all_its_digits_is_left_out() -> None:
    (whole,), (cut,) = omb.parse(text("omb/pt2pt_latency")), omb.parse(text("omb/pt2pt_latency")[:-2])
    assert cut.rows == whole.rows[:-1]
    first = text("omb/pt2pt_latency").index(whole.rows[0].text) + len(whole.rows[0].text)
    with pytest.raises(DataError, match=r"found '\d+ .* \d\.\d', wanted .*its last line has no line end"):
        omb.parse(text("omb/pt2pt_latency")[: first - 1])


def test_an_excerpt_of_imb_has_neither_title_nor_end() -> None:
    rows = "  0  1000  0.20  0.00\n  1048576  1000  100.00  {}\n"
    head = "# Benchmarking PingPong \n# #processes = 2 \n#-----------------------\n #bytes #repetitions t[usec] Mbytes/sec\n"
    for rate in ("10485.76", "10000.00"):  # of 10^6 B, and of 2^20 B before IMB 2018
        (table,) = imb.parse(head + rows.format(rate))
        assert (table.test, table.version, table.parameters["#processes"]) == ("IMB-MPI1 PingPong", "", "2")
        assert values(imb, table, 1048576)["bandwidth_MBps", "mean"] == pytest.approx(10485.76)
    (table,) = imb.parse((head + rows.format("5.00")).replace("PingPong", "Unidir_put"))
    assert table.test == "IMB-RMA Unidir_put"
    assert set(values(imb, table, 1048576)) == {("latency_us", "mean")}  # of neither unit


def test_a_run_of_imb_that_did_not_end_before_the_next_is_noted() -> None:
    whole = text("imb/MPI1")
    lines = imb.lines_of(whole.replace(imb.END, "", 1) + whole, "some/path.txt")
    tables = list(imb.tables(lines))
    assert len(tables) == 2 * len(imb.parse(whole))
    assert [cut.wanted for cut in lines.cuts] == [f"{imb.END!r}, with which IMB ends"]


def test_tables_may_be_indented() -> None:
    fenced = "fine:\n\n{}\nand\n   ```\n   # OSU MPI Barrier Latency Test v7.4\n   # Avg Latency(us)\n               0.45\n   ```\n"
    latency, barrier = omb.parse(fenced.format(text("omb/pt2pt_latency")))
    assert (latency.test, barrier.test, barrier.rows[0].values) == ("osu_latency", "osu_barrier", (0.45,))
    told = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n1                       0.21\n"
    for indent in ("", "    ", "\t"):
        (table,) = omb.parse("".join(f"{indent}{line}\n" for line in told.splitlines()))
        assert table.parameters == {"Datatype": "MPI_CHAR"}


def known(form: ModuleType, printed: str) -> set[Key]:
    """All rows of a text with what they belong to."""
    return {
        (table.test, tuple(sorted(table.parameters.items())), row.size, (row.values, row.remark))
        for table in form.parse(printed)
        for row in table.rows
    }


def facts(rows: set[Key]) -> set[tuple[object, ...]]:
    """Rows without what stands above their table, which a deleted line may take away."""
    return {(test, size, values) for test, _, size, values in rows}


def part_or_error(form: ModuleType, whole: str, part: str) -> None:
    """Only rows of the whole text come out of a part of it, or one error."""
    try:
        parsed = known(form, part)
    except DataError as error:
        assert re.search(r", line \d+: found .+, wanted .+\. \S.+\.$", str(error), flags=re.DOTALL)  # noqa: PT017
    else:
        assert facts(parsed) <= facts(known(form, whole))


@settings(max_examples=300, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(WHOLE)))
def test_a_text_cut_off_anywhere_is_an_error_or_whole_up_to_there(data: st.DataObject, name: str) -> None:
    form, printed = WHOLE[name]
    part_or_error(form, printed, printed[: data.draw(st.integers(0, len(printed)))])


@settings(max_examples=300, deadline=None)
@given(data=st.data(), names=st.lists(st.sampled_from(sorted(WHOLE)), min_size=1, max_size=2))
def test_a_text_that_lost_lines_is_an_error_or_has_right_rows(data: st.DataObject, names: list[str]) -> None:
    form = WHOLE[names[0]][0]
    printed = "".join(WHOLE[name][1] for name in names if WHOLE[name][0] is form)
    lines = printed.splitlines(keepends=True)
    # with title and blank line gone, a second text reads like the next datatype of -T all: nobody could tell
    most = 4 if len(names) == 1 else 1
    gone = data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=most))
    part_or_error(form, printed, "".join(line for i, line in enumerate(lines) if i not in gone))


@settings(max_examples=300, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(WHOLE)), other=st.text(max_size=20))
def test_a_text_with_other_text_in_it_is_an_error_or_a_table(data: st.DataObject, name: str, other: str) -> None:
    form, printed = WHOLE[name]
    at = data.draw(st.integers(0, len(printed)))
    try:
        tables = form.parse(printed[:at] + other + printed[at:])
    except DataError:
        return
    assert all(len(row.values) == len(table.columns) or row.remark for table in tables for row in table.rows)
    assert form.parse(form.write(tables)) == tables


@settings(deadline=None)
@given(st.text() | st.text(alphabet="# \n0123456789.SizeOUBenchmarking-", max_size=200))
def test_random_text_is_an_error(other: str) -> None:
    for form in (omb, imb):
        with pytest.raises(DataError):
            form.parse(other)
