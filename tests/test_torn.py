"""A log that was cut gives whole values, with a warning where lines are missing, or one clear error.

So does a file with the outputs of several runs: each of them is imported, or an error names them.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

import labkit
from labkit.errors import DataError
from labkit.formats import logs
from labkit.formats.reading.log import Run
from labkit.point.notes import has
from labkit.run import importing
from labkit.run.importing.text import UnknownError, parts
from tests.test_logs import identify

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(path for path in (GOLDEN / "logs").glob("*/*") if path.is_file())
MOST = 30  # places to cut a file at
# cuts that leave a whole log: with fewer settings (qperf), with fewer figures of merit (Ramble)
SHORTER = {"loop.txt": (3, 4), "results.txt": (7,)}
TOGETHER = [
    *FILES,
    *(path for name in ("omb", "imb", "gpcnet") for path in sorted((GOLDEN / name).iterdir()) if path.is_file()),
]
SMALL = 100_000  # B of a file that others are appended to
NETPERF = """OMNI Send|Recv TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : demo
THROUGHPUT=83168.15
THROUGHPUT_UNITS=Trans/s
REQUEST_SIZE=64
RESPONSE_SIZE=64
MEAN_LATENCY=11.98
P50_LATENCY=4
P99_LATENCY=35
PROTOCOL=UDP
"""
GO = """READ   - Takes(s): 10.0, Count: 10, OPS: 1.0, Avg(us): 999, Min(us): 1, Max(us): 999, 99th(us): 999
Run finished, takes 20s
READ   - Takes(s): 20.0, Count: 508, OPS: 25.4, Avg(us): 26, Min(us): 11, Max(us): 745, 99th(us): 78
"""


def _values(run: Run) -> Counter[str]:
    return Counter(repr(value.as_dict()) for value in run.values)


def _part_of(run: Run, whole: Run) -> bool:
    return run.test == whole.test and not _values(run) - _values(whole)


def _facts(run: Run) -> tuple[object, ...]:
    return run.test, run.size, run.ranks, sorted(run.options.items()), sorted(_values(run).items())


def _problems(kind: str, lines: list[str], shorter: tuple[int, ...] = ()) -> list[str]:
    """What is wrong in the runs of a log that is cut after each of its lines."""
    whole = logs()[kind].runs("".join(lines), "whole")
    if kind == "HPCC":  # prints fewer digits in its sections than in its summary
        whole += logs()[kind].runs("".join(lines).partition("Begin of Summary")[0], "sections")
    facts = {repr(_facts(run)): run for run in whole}
    found = []
    for cut in range(1, len(lines), max(1, len(lines) // MOST)):
        try:
            runs = logs()[kind].runs("".join(lines[:cut]), "cut") if cut not in shorter else []
        except DataError:
            continue
        for run in runs:
            warned = {doubt.code for doubt in run.doubts}
            if same := facts.get(repr(_facts(run))):
                wrong = same.stated != run.stated and not warned
            else:  # ucx_perftest prints its progress, which is a result of its own
                wrong = not warned & {"stopped", "cut"} and not any(
                    warned - {doubt.code for doubt in one.doubts} for one in whole if _part_of(run, one)
                )
            if wrong:
                found.append(f"cut after line {cut}: {_facts(run)}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_log_that_is_cut_gives_no_wrong_value(path: Path) -> None:
    try:
        kind = identify(path).kind
        logs()[kind].runs(path.read_text(errors="replace"), "whole")
    except (UnknownError, DataError, KeyError):
        pytest.skip("no log that can be imported whole")
    assert not _problems(kind, path.read_text(errors="replace").splitlines(True), SHORTER.get(path.name, ()))


@pytest.mark.parametrize(("kind", "text"), [("netperf", NETPERF), ("YCSB", GO)])
def test_a_cut_list_of_selectors_and_interim_lines_give_no_wrong_value(kind: str, text: str) -> None:
    assert not _problems(kind, text.splitlines(True))


def _told(path: Path) -> list[tuple[bool, str]]:
    """Return each value of a file with its test, its coordinates, and whether it is marked as from a cut log."""
    found = []
    for text in parts(path):
        if text.log:
            for run in text.runs(lambda count: None):
                marked = bool(text.doubts) or bool(MARKS & {doubt.code for doubt in run.doubts})
                point = f"{run.test} {run.size} {run.ranks} {sorted(run.options.items())}"
                found += [(marked, f"{point} {value.as_dict()}") for value in run.values]
            continue
        lines = text.lines(lambda count: None)
        for table in text.tables(lines):
            marked = bool(text.doubts or lines.cuts)
            found += [(marked, f"{table.test} {row.size} {row.values}") for row in table.rows]
    return found


def _cut_inside(path: Path, most: int, place: Path) -> list[str]:
    """Return the values without a mark that a whole file lacks, if it is cut at so many places, mostly inside lines."""
    text = path.read_text(errors="replace")
    try:
        whole = {value for _, value in _told(path)}
    except DataError:
        return []
    wrong = []
    for cut in sorted(random.Random(path.name).sample(range(1, len(text)), min(most, len(text) - 1))):
        place.write_text(text[:cut])
        with suppress(DataError):
            wrong += [f"{cut}: {value}" for marked, value in _told(place) if not marked and value not in whole]
    return wrong


MARKS = {"cut", "stopped", "untitled", "head-missing", "run-left-out"}
SOME = 8
# line by line these are the most easily torn: each value is alone in its line, or the last in its row
EVERYWHERE = ("param", "hpcg", "ramble", "jube", "qperf", "redis_benchmark")


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in TOGETHER}))
def test_a_log_that_is_cut_inside_a_line_gives_no_wrong_value_without_a_mark(folder: str, tmp_path: Path) -> None:
    most = 100 if folder in EVERYWHERE else SOME
    for path in TOGETHER:
        if path.parent.name == folder:
            assert not _cut_inside(path, most, tmp_path / "cut"), path.name


@pytest.mark.slow
@pytest.mark.parametrize("path", TOGETHER, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_log_that_is_cut_anywhere_gives_no_wrong_value_without_a_mark(path: Path, tmp_path: Path) -> None:
    assert not _cut_inside(path, 300, tmp_path / "cut")


def _rows(path: Path) -> tuple[str, Counter[str]]:
    """Return the kind of a file, and what an import makes of it: the runs of a log, or the rows of its tables."""
    found, texts = Counter[str](), parts(path)
    for text in texts:
        if text.log:
            found.update(repr(_facts(run)) for run in text.runs(lambda count: None))
            continue
        for table in text.tables(text.lines(lambda count: None)):
            found.update(repr((table.test, row.size, row.values)) for row in table.rows)
    return texts[0].kind, found


def _whole_files() -> dict[Path, tuple[str, Counter[str]]]:
    """Return the golden outputs that can be imported, with their kind and rows."""
    found = {}
    for path in TOGETHER:
        with suppress(DataError):
            if path.stat().st_size < SMALL:
                found[path] = _rows(path)
    return found


_AT_BEGIN = "table.csv"  # of JUBE: a table of comma-separated values is recognised at the begin of a text only


def _lost(pairs: Iterable[tuple[Path, Path]], rows: Mapping[Path, tuple[str, Counter[str]]], place: Path) -> list[str]:
    """Return the pairs of files of which some rows are lost without an error, if one follows the other in one file."""
    lost = []
    for first, second in pairs:
        if second.name == _AT_BEGIN:
            continue
        place.write_text(first.read_text(errors="replace").rstrip("\n") + "\n" + second.read_text(errors="replace"))
        with suppress(DataError):
            if _rows(place)[1] != rows[first][1] + rows[second][1]:
                lost.append(f"{first.parent.name}/{first.name} and {second.parent.name}/{second.name}")
    return lost


def test_of_two_outputs_in_one_file_nothing_is_lost(tmp_path: Path) -> None:
    """All pairs with a format that contains others, two runs of one log, and some other pairs."""
    rows = _whole_files()
    holding = {log.name: log.holds for log in logs().values() if log.holds}
    pairs = [(a, b) for a in rows for b in rows if rows[b][0] in holding.get(rows[a][0], ())]
    pairs += [(b, a) for a, b in pairs] + [(path, path) for path in rows if rows[path][0] in logs()]
    every = list(itertools.product(rows, rows))
    assert len(pairs) > 50
    assert not _lost(pairs + random.Random(1).sample(every, 60), rows, tmp_path / "both.txt")


@pytest.mark.slow
def test_of_any_two_outputs_in_one_file_nothing_is_lost(tmp_path: Path) -> None:
    rows = _whole_files()
    assert not _lost(itertools.product(rows, rows), rows, tmp_path / "both.txt")


@pytest.mark.parametrize("order", [1, -1])
def test_hpl_beside_hpcc_is_refused(order: int, tmp_path: Path) -> None:
    """HPCC's own output contains HPL, so the runs of a separate HPL would be taken for a part of it."""
    texts = [(GOLDEN / "logs" / name).read_text() for name in ("hpl/of_hpcc.txt", "hpcc/two_ranks.txt")]
    file = tmp_path / "both.txt"
    file.write_text("".join(texts[::order]))
    with pytest.raises(DataError, match=r"HPLinpack.*the output of HPCC alone: split it into one file per program"):
        importing.bring([file], into=tmp_path / "c")


def test_tests_of_qperf_with_and_without_v_are_whole() -> None:
    """The column of the equals signs shows which lines belong to a test, whatever other tests print."""
    plain, verbose = ((GOLDEN / "logs/qperf" / name).read_text() for name in ("plain.txt", "v.txt"))
    read = logs()["qperf"].runs
    assert [run.test for run in read(plain + verbose, "both")] == [
        run.test for run in read(plain, "1") + read(verbose, "2")
    ]
    with pytest.raises(DataError, match="the log is cut"):
        read(verbose.rpartition("    loc_cpus_used")[0] + plain, "cut before the other run")


CSV = "20261121002939,127.0.0.1,51076,127.0.0.1,15301,1,{}"
NO_TIME = "19700101000000,127.0.0.1,51076,127.0.0.1,15301,1,{}"


@pytest.mark.parametrize(
    ("lines", "rates"),
    [
        ([CSV.format("0.0-1.0,100,800"), CSV.format("0.0-1.0,101,808")], [808]),  # an interval and the whole
        ([CSV.format("0.0-1.0,100,800"), CSV.format("0.0-1.0,99,792")], [800, 792]),  # the whole is no less
        ([NO_TIME.format("0.0-1.0,100,800"), NO_TIME.format("0.0-1.0,101,808")], [800, 808]),  # no intervals
        ([CSV.format("0.0-2.0,10,80"), CSV.format("0.0-2.0,20,160").replace("002939", "002941")], [80, 160]),
        ([CSV.format("0.0-9.0,10,80"), CSV.format("0.0-9.0,20,160").replace("127.0.0.1,5", "127.0.0.2,5")], [80, 160]),
    ],
)
def test_lines_of_iperf_with_the_same_number_and_port_stay_apart(lines: list[str], rates: list[int]) -> None:
    runs = logs()["iperf"].runs("".join(f"{line}\n" for line in lines), "file")
    assert [round(run.values[0].value * 8e6) for run in runs] == rates


HEAD = f"""{"-" * 60}
SIDE, TCP port 5001
TCP window size: 85.3 KByte (default)
{"-" * 60}
"""
OPENED = "[  4] local 10.0.0.1 port {} connected with 10.0.0.2 port {}\n"
OLD = "[  4]  {}.0- {}.0 sec  112 MBytes   941 Mbits/sec\n"
NEW = "[  4] {}-{} sec  112 MBytes   941 Mbits/sec\n"
INTERVALS = OLD.format(0, 1) + OLD.format(1, 2).replace("941", "939") + OLD.format(0, 2).replace("941", "940")


def _ends(text: str) -> list[list[tuple[float, bool]]]:
    """Return the rates of iperf's log after each of its lines, and whether they are marked; none for an error."""
    found = []
    for cut in range(1, text.count("\n") + 1):
        with suppress(DataError):
            runs = logs()["iperf"].runs("".join(text.splitlines(True)[:cut]), "file")
            found.append([(run.values[0].value * 8, "cut" in {doubt.code for doubt in run.doubts}) for run in runs])
    return found


def test_an_interval_of_iperf_without_its_test_is_marked_or_an_error() -> None:
    client, server = HEAD.replace("SIDE", "Client connecting to 10.0.0.2"), HEAD.replace("SIDE", "Server listening on")
    server = server.replace("on, TCP", "on TCP")
    head = client + OPENED.format(41000, 5001)
    assert _ends(head + INTERVALS) == [[(941, True)], [(940, False)]]
    assert _ends(head + OLD.format(0, 2)) == [[(941, True)]], "of a whole log too: an interval looks the same"
    assert _ends(head + OLD.format(0, 2) + head + INTERVALS)[-1] == [(941, False), (940, False)]
    accepted = OPENED.format(5001, 41000)
    assert _ends(server + 2 * (accepted + INTERVALS)) == [
        [(941, True)],
        [(940, False)],
        [(940, False)],
        [(940, False), (941, True)],
        [(940, False), (940, False)],
    ]
    again = accepted + NEW.format("0.0000", "1.0000") + NEW.format("0.0000", "1.0123").replace("941", "940")
    assert _ends(server + 2 * again) == [[(940, False)], [(940, False)], [(940, False), (940, False)]]


def test_a_line_of_iperf_that_may_be_an_interval_is_marked_unless_a_later_test_follows() -> None:
    lines = [CSV.format("0.0-9.0,100,800"), CSV.format("0.0-9.0,99,808").replace("002939", "002948")]
    assert _ends("".join(f"{line}\n" for line in lines)) == [[(0.0008, True)], [(0.0008, False), (0.000808, True)]]
    other = [lines[0], lines[1].replace("127.0.0.1,5", "127.0.0.2,5").replace("002948", "002944")]
    assert _ends("".join(f"{line}\n" for line in other))[-1] == [(0.0008, True), (0.000808, True)]
    with pytest.raises(DataError, match="14 digits"):
        logs()["iperf"].runs(lines[0].replace("20261121", "20261321") + "\n", "file")


def test_the_log_of_a_server_that_sent_too_is_refused() -> None:
    head = HEAD.replace("SIDE", "Client connecting to 10.0.0.2")
    with pytest.raises(DataError, match="wanted the output of the client"):
        logs()["iperf"].runs(head + OPENED.format(5001, 41000) + INTERVALS, "file")


def test_a_server_of_iperf3_that_received_nothing_is_no_result() -> None:
    head = "Accepted connection from 10.0.0.2, port 41000\n[  5] local 10.0.0.1 port 5201 connected to 10.0.0.2 port 41001\n"
    row = "[  5]   0.00-10.04  sec  {}                  {}\n"
    sent = row.format("0.00 Bytes  0.00 bits/sec", "sender")
    (run,) = logs()["iperf3"].runs(head + sent + row.format("1.10 GBytes  941 Mbits/sec", "receiver"), "file")
    assert [(value.name, value.value * 8) for value in run.values] == [("bandwidth_MBps", 941)]
    with pytest.raises(DataError, match="the log is cut"):
        logs()["iperf3"].runs(head + sent, "file")


def test_of_io500_a_run_of_ior_without_a_summary_is_whole() -> None:
    read, text = logs()["IOR"].runs, (GOLDEN / "logs/ior/io500_hard_write.txt").read_text()
    assert [run.doubts for run in read(text, "file")] == [()]
    ((doubt,),) = [run.doubts for run in read(text.replace("stoneWallingStatusFile=", ""), "file")]
    assert doubt.code == "cut"


def test_answers_of_hey_that_are_missing_mark_the_log() -> None:
    lines = (GOLDEN / "logs/hey/two_workers.txt").read_text().splitlines(True)
    at = next(number for number, line in enumerate(lines) if "[503]" in line)
    doubts = [[doubt.code for doubt in logs()["hey"].runs("".join(lines[:end]), "x")[0].doubts] for end in (at, at + 1)]
    assert doubts == [["cut"], ["failed-requests"]]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ((GOLDEN / "logs/netperf/TCP_RR_o.txt").read_text(), "35775.06,Trans/s,1,1,27.90,15,29\n"),
        (NETPERF, "THROUGHPUT=1.0\n"),
    ],
)
def test_a_second_test_of_netperf_without_a_head_is_refused(text: str, row: str) -> None:
    with pytest.raises(DataError, match="without a head"):
        logs()["netperf"].runs(text + row, "file")


def test_two_runs_of_sockperf_in_one_file_are_two_points() -> None:
    one = (GOLDEN / "logs" / "sockperf" / "pingpong_udp.txt").read_text()
    read = logs()["sockperf"].runs
    alone, both = read(one, "one"), read(one + one, "two")
    assert [_facts(run) for run in both] == 2 * [_facts(alone[0])]
    assert both[0].line < both[1].line
    with pytest.raises(DataError, match="line"):
        read(one + "".join(one.splitlines(True)[:9]), "the second one is cut")


def test_of_two_ranks_in_one_log_only_the_one_that_is_cut_says_so(tmp_path: Path) -> None:
    lines = (GOLDEN / "logs/wrk/wrk_latency.txt").read_text().splitlines()
    text = "\n".join(f"{rank}: {line}" for line in lines for rank in (0, 1))
    file = tmp_path / "ranks.txt"
    for content, marked in ((text, [False, True]), (f"{text}\n", [False, False])):
        file.write_text(content)
        assert [bool(one.doubts) for one in parts(file)] == marked


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["omb/pt2pt_latency.txt", "logs/netperf/*", "logs/ucx_perftest/*", "logs/wrk/*"])
def test_a_log_that_ends_inside_a_line_says_so(name: str, tmp_path: Path) -> None:
    """``1.2`` may be the begin of ``1.27``. A log without its last line end is marked, and a whole one is not."""
    text = sorted(GOLDEN.glob(name))[0].read_text().rstrip("\n")
    assert text[-1].isalnum()
    for number, (content, marked) in enumerate([(text, True), (text + "\n", False)]):
        file = tmp_path / f"{number}.txt"
        file.write_text(content)
        outcome = importing.bring([file], into=tmp_path / str(number))
        assert any("may be cut" in one for one in outcome.warnings) is marked
        warnings = labkit.load(outcome.campaign)["warnings"]
        assert {has(each, "open-end") for each in warnings} == {marked}
