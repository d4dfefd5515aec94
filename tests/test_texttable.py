"""Tables of text fit the terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from labkit.apps.show.texttable import columns, text_table, to_file

HEAD = ("benchmark", "measures", "latency (µs)", "launches")
ROWS = [
    ("mpi.latency", "one way of a message between two ranks", "1,234.5", "6"),
    ("mpi.barrier", "barrier", "2", "12"),
]


def table(monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    return text_table(HEAD, ROWS, right=(2, 3)).splitlines()


@pytest.mark.parametrize("width", [24, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_no_cell_is_lost(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    lines = table(monkeypatch, width)
    assert max(map(len, lines)) <= width
    text = "".join("".join(lines).split())
    assert all(word in text for word in ("mpi.latency", "1,234.5", "mpi.barrier"))


def test_numbers_stay_in_one_piece_and_texts_wrap_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    assert table(monkeypatch, 43) == [
        "benchmark    measures     latency  launches",
        "                             (µs)",
        "-----------  ---------  ---------  --------",
        "mpi.latency  one way      1,234.5         6",
        "             of a",
        "             message",
        "             between",
        "             two ranks",
        "mpi.barrier  barrier            2        12",
    ]


def test_a_terminal_that_is_very_narrow_gets_a_block_for_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = table(monkeypatch, 26)
    assert lines[0] == "benchmark     mpi.latency"
    assert "launches      12" in lines


def test_a_file_and_a_pipe_have_lines_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = text_table(HEAD, ROWS, right=(2, 3))
    assert "one way of a message between two ranks  " in whole
    monkeypatch.setenv("COLUMNS", "30")
    with to_file():
        assert columns() == 0
        assert text_table(HEAD, ROWS, right=(2, 3)) == whole


def test_a_real_terminal_is_asked_for_its_width() -> None:
    """The command line replaces the standard output of Python, which `shutil.get_terminal_size` would ask."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 60, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "labkit", "list"], stdout=theirs, stderr=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 65536):
                said += piece
        except OSError:  # a terminal that nobody holds any more
            pass
        os.close(ours)
    lines = said.decode().splitlines()
    assert process.returncode == 0
    assert len(lines) > 100
    assert max(map(len, lines)) <= 60
