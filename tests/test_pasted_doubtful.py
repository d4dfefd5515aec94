"""Pastes that somebody has shortened, damaged or mixed: every value is right, or an error names the line."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from labkit.errors import DataError, LabkitError
from labkit.formats.reading.log import SHORTENED
from labkit.run import importing
from labkit.run.importing.text import UnknownError, parts
from tests.test_fuzz_foreign import bounded

GOLDEN = Path(__file__).parent / "golden" / "logs"
# a row of each table whose middle is cut away
ROWS = {
    "hey/two_workers.txt": r" +50% in",
    "hpcc/two_ranks.txt": "StarSTREAM_Scale=",
    "io500/result_summary.txt": r"\[RESULT\] .*mdtest-easy-write",
    "ior/shared.txt": "read +18517",
    "iozone/auto_R_nosync.txt": r" +128 +8 ",
    "iozone/throughput_t2.txt": r"\tChildren see throughput for 2 re-readers",
    "mdtest/three_iterations.txt": " +(File|Directory) +(stat|removal)",
    "nccl_tests/all_reduce_named.txt": r" +1048576 +\d+",
    "netpipe/client.txt": r" +5: ",
    "qperf/v.txt": " +msg_rate",
    "sockperf/pingpong_udp.txt": "sockperf: ---> percentile 99.0",
    "wrk/wrk_latency.txt": " +(Latency +[0-9]|75%)",
    "ycsb/redis_workloada_run.txt": r"\[(READ|UPDATE)\], (Operations|99th)",
    "ycsb/go_ycsb_run.txt": r"(READ|UPDATE) +- Takes",
}
DOTS = ["...", "…", "[...]", "  [snip]", "# ...", "...   ...   ..."]
OMB = """# OSU MPI Latency Test v7.4
# Size          Latency (us)
8                 1.25
16                1.50
"""
STREAM = """-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           {}0000.5     0.030000     0.020000     0.040000
Scale:          80000.5     0.030000     0.020000     0.040000
Add:            70000.5     0.030000     0.020000     0.040000
Triad:          60000.5     0.030000     0.020000     0.040000
-------------------------------------------------------------
"""


def values(path: Path) -> Counter[str]:
    """What a file holds: each value with test and size."""
    runs = [run for text in parts(path) for run in text.runs(lambda count: None)]
    return Counter(f"{run.test} {run.size} {value.as_dict()}" for run in runs for value in run.values)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_lacks_its_end_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    rows = (GOLDEN / name).read_text().split("\n")
    places = [n for n, row in enumerate(rows) if re.match(ROWS[name], row)]
    assert places
    damaged = tmp_path / "log.txt"
    for place in places:
        row = rows[place].rstrip()
        damaged.write_text("\n".join([*rows[:place], row[: len(row) * 2 // 5].rstrip(), *rows[place + 1 :]]))
        with pytest.raises(DataError, match="wanted"):
            values(damaged)


@pytest.mark.parametrize("name", [name for name in ROWS if not name.startswith("io500")])
def test_a_line_of_dots_loses_nothing_and_warns(name: str, tmp_path: Path) -> None:
    rows = (GOLDEN / name).read_text().split("\n")
    place = next(n for n, row in enumerate(rows) if re.match(ROWS[name], row))
    wanted = values(GOLDEN / name)
    for dots in DOTS:
        for where in (place, place + 1):
            log = tmp_path / "log.txt"
            log.write_text("\n".join([*rows[:where], dots, *rows[where:]]))
            assert values(log) == wanted, dots
            (text,) = parts(log)
            runs = text.runs(lambda count: None)
            assert all(SHORTENED in run.doubts for run in runs)


def test_the_dots_that_fio_prints_itself_are_no_gap() -> None:
    (text,) = parts(GOLDEN / "fio" / "jobs.txt")
    assert not any(SHORTENED in run.doubts for run in text.runs(lambda count: None))


def test_two_outputs_side_by_side_are_refused(tmp_path: Path) -> None:
    other = OMB.replace("1.25", "1.75").split("\n")
    for between in ("   ", "  | ", "\t"):
        both = tmp_path / "both.txt"
        both.write_text(
            "\n".join(f"{row:40}{between}{beside}" for row, beside in zip(OMB.split("\n"), other, strict=True))
        )
        with pytest.raises(UnknownError, match=r"line 1: found .* the same text twice. Save each of the two"):
            parts(both)


@pytest.mark.parametrize("label", ["[1,{}]<stdout>:", "[1,{}]<stdout>: ", "{}: ", "[{}] "])
def test_ranks_that_print_at_the_same_time_are_parted_by_their_labels(label: str, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    outputs = [STREAM.format(rank).splitlines() for rank in (1, 2)]
    log.write_text(
        "".join(f"{label.format(k)}{row}\n" for rows in zip(*outputs, strict=True) for k, row in enumerate(rows))
    )
    outcome = importing.bring([log], into=tmp_path / "c")
    assert outcome.added == 8
    texts = parts(log)
    assert [text.inside for text in texts] == ["rank-0", "rank-1"]
    first = [text.runs(lambda count: None)[0] for text in texts]
    assert [(run.test, run.values[0].value) for run in first] == [("STREAM Copy", 10000.5), ("STREAM Copy", 20000.5)]


def test_labels_of_one_rank_that_prints_are_taken_away_as_before(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("".join(f"0: {row}\n" for row in OMB.splitlines()) + "1: a message of another rank\n")
    (text,) = parts(log)
    assert [row.size for table in text.tables(text.lines(lambda count: None)) for row in table.rows] == [8, 16]


@pytest.mark.parametrize("row", ["1,024   2.50", "2048   1,234", "2048   12,34.50"])
def test_a_row_of_omb_with_a_comma_of_unknown_meaning_is_refused(row: str, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(f"{OMB}{row}\n")
    with pytest.raises(DataError, match=r"line 5: found '[12],?[0-9]+ "):
        importing.bring([log], into=tmp_path / "c")


def test_closing_comments_belong_to_the_output_above_them(tmp_path: Path) -> None:
    """They do not belong to the next output, although comments above an output are its own."""
    nccl = (GOLDEN / "nccl_tests" / "all_reduce_named.txt").read_text().rstrip("\n") + "\n"
    assert nccl.splitlines()[-1].startswith("#")
    log = tmp_path / "log.txt"
    log.write_text(nccl + OMB)
    omb, other = sorted(parts(log), key=lambda text: text.kind != "OMB")
    assert other.own == ((0, nccl.count("\n") - 1),)
    assert omb.own[0][0] == nccl.count("\n")


def test_lines_of_iperf_may_be_indented_by_tabs(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    rows = (GOLDEN / "iperf" / "tcp_P2_plain.txt").read_text().splitlines()
    log.write_text("The client:\n" + "".join(f"\t{row}\n" for row in rows))
    assert values(log) == values(GOLDEN / "iperf" / "tcp_P2_plain.txt")


@pytest.mark.parametrize(
    "words", ["$ ", "# ", "netperf -t ", "mpirun osu_latency ", '{"a": 1}, ', "|-", "| ", "a \\ ", "..  "]
)
@pytest.mark.parametrize("above", ["", OMB])
def test_a_long_line_is_read_or_refused_before_long(words: str, above: str, tmp_path: Path) -> None:
    """No pattern takes a time that grows with the square of a line."""
    path = tmp_path / "long.txt"
    path.write_text(f"{above}{words * (60_000 // len(words))}\n")
    with bounded():
        try:
            for text in parts(path):
                assert text.runs(lambda count: None) if text.log else [*text.tables(text.lines(lambda count: None))]
        except LabkitError:
            pass
