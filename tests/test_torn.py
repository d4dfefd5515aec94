"""A log that was cut after any line gives whole values, with a warning where lines are missing, or one clear error."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import labkit
from labkit import importing
from labkit.errors import DataError
from labkit.formats import logs
from labkit.formats._log import Run
from labkit.importing.text import UnknownError, identify
from labkit.notes import has

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(path for path in (GOLDEN / "logs").glob("*/*") if path.is_file())
MOST = 30  # places to cut a file at
# cuts that leave a whole log: of qperf without -v or with fewer settings, of a test of one second
SHORTER = {"v.txt": (2,), "loop.txt": (2, 3, 4), "tcp_yC.csv": (1,)}
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
            else:
                wrong = not any(warned - {doubt.code for doubt in one.doubts} for one in whole if _part_of(run, one))
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


def test_two_runs_of_sockperf_in_one_file_are_two_points() -> None:
    one = (GOLDEN / "logs" / "sockperf" / "pingpong_udp.txt").read_text()
    read = logs()["sockperf"].runs
    alone, both = read(one, "one"), read(one + one, "two")
    assert [_facts(run) for run in both] == 2 * [_facts(alone[0])]
    assert both[0].line < both[1].line
    with pytest.raises(DataError, match="line"):
        read(one + "".join(one.splitlines(True)[:9]), "the second one is cut")


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
