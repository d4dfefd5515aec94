"""IOzone's tables of ``-a -R``: throughput over file size and record size.

IOzone's kB is 1024 B: its ``-n 64k`` is a file of 65536 B, and rates are bytes over time shifted right by 10
(``iozone.c``: ``writerate[j] >>= 10``), so they are whole KiB/s, rounded down. Here they are MB/s of 10^6 B.
"""

from __future__ import annotations

import re

from labkit.formats import malformed, metric
from labkit.spec import Reported

KIB = 1024
TESTS = {"Writer report": "write", "Re-writer report": "rewrite", "Reader report": "read", "Re-Reader report": "reread"}
_WHAT = "iozone -R output"


def parse(text: str) -> list[Reported]:
    """Parse every cell of every table.

    Returns
    -------
    ``bandwidth_MBps`` mean, labelled ``test`` (write, rewrite, read, reread), ``file_size_B`` and ``record_size_B``.
    Records longer than their file have no cell. Cells that IOzone left out, where it prints 0, are left out here.

    Raises
    ------
    DataError
        If IOzone did not complete, a row does not fit its head, or a table lacks cells.
    """
    lines = text.splitlines()
    if not any("iozone test complete" in line for line in lines):
        last = next((line for line in reversed(lines) if line.strip()), "nothing")
        raise malformed(_WHAT, len(lines), last, "'iozone test complete.'")
    points = [rates for line in lines if (rates := _rates(line))]
    tables = [name for name in TESTS if f'"{name}"' in lines]
    if not points or len(tables) < min(len(points[0]), len(TESTS)):
        raise malformed(_WHAT, len(lines), lines[-1], f"the tables {', '.join(TESTS)}: run iozone with -R -i 0 -i 1")
    cells: list[Reported] = []
    for name in tables:
        table = _table(lines, lines.index(f'"{name}"'), TESTS[name])
        if len(table) != len(points):
            raise malformed(_WHAT, 0, f"{len(table)} cells in the {name}", f"{len(points)}, as were run")
        cells += table
    return cells


def _rates(line: str) -> list[int]:
    """Return the rates, in kB/s, of a line that IOzone prints while it runs: file size, record size, a rate a test."""
    match = re.fullmatch(r" +\d+ +\d+((?: +\d+)+) *", line)
    return [int(rate) for rate in match[1].split()] if match else []


def _table(lines: list[str], start: int, test: str) -> list[Reported]:
    """Parse the cells of the table whose name stands in line `start` (from 0)."""
    head = lines[start + 1] if start + 1 < len(lines) else ""
    records = [int(text) * KIB for text in re.findall(r'"(\d+)"', head)]
    if not records or re.sub(r'["\d\s]', "", head):
        raise malformed(_WHAT, start + 2, head, 'record sizes in kB, as in "4" "8"')
    cells = []
    for number, line in enumerate(lines[start + 2 :], start + 3):
        if not line.strip():
            break
        row = re.fullmatch(r'"(\d+)"((?:\s+\d+)+)\s*', line)
        rates = [int(text) for text in row[2].split()] if row else []
        if not row or len(rates) > len(records):
            raise malformed(_WHAT, number, line, f"a file size in quotes and at most {len(records)} rates")
        size = int(row[1]) * KIB
        cells += [
            metric(
                "bandwidth_MBps",
                "mean",
                rate * KIB * 1e-6,
                {"test": test, "file_size_B": size, "record_size_B": record},
            )
            for record, rate in zip(records, rates, strict=False)
            if rate
        ]
    return cells
