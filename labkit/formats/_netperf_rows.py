"""Rows of netperf's classic tables without their head (``-P 0``), below the command that printed them.

The command names the test (``-t``) and the unit (``-f``), and so the columns. A loop prints several rows below one
command; each row is one run. With ``-v 0`` netperf prints the throughput alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from labkit.formats.reading.log import NUMBER, Lines

_PROGRAM = re.compile(r"(?:^|[\s/$#>;&(\"'])netperf +(?=-)")
_NO_HEAD = re.compile(r"-P ?0\b")
_TEST = re.compile(r"-t +\"?(?P<protocol>TCP|UDP|SCTP)_(?P<what>RR|CRR|STREAM|MAERTS)\b")
_SELECTORS = re.compile(r" -o +\"?([A-Za-z0-9_]+(?:,[A-Za-z0-9_]+)*)")
_CSV = re.compile(r"-?[\d.]+(?:,[^,\s]*[\w/^.-]+)*")
_UNIT = re.compile(r"-f +([kmgKMG])\b")
_UNITS = {letter: f"10^{power}bits/s" for letter, power in (("k", 3), ("m", 6), ("g", 9))} | {
    letter: f"{letter}Bytes/s" for letter in "KMG"
}
_NUMBERS = re.compile(rf" *({NUMBER}(?: +{NUMBER})*)")
_TRANSACTIONS, _STREAM, _DATAGRAMS = 6, 5, 6  # least number of columns
_BELOW_DATAGRAMS, _BELOW_TRANSACTIONS = 4, 2  # columns of the second row


def flags_of(line: str) -> str:
    """Return the flags of the last netperf that a line runs with ``-P 0``; empty if it runs none."""
    last = max((match.start() for match in _NO_HEAD.finditer(line)), default=-1)
    ends = [match.end() for match in _PROGRAM.finditer(line) if match.end() <= last]
    return line[ends[-1] :] if ends else ""


def tests(lines: Lines) -> Iterator[tuple[int, str, str, dict[str, str]]]:
    """Yield line, protocol, test and selectors of each row below a command; refuse a row of another shape."""
    starts = [(number, flags) for number, line in lines if (flags := flags_of(line))]
    for place, (first, flags) in enumerate(starts):
        last = starts[place + 1][0] - 1 if place + 1 < len(starts) else len(lines)
        test, unit = _TEST.search(flags), _UNIT.search(flags)
        if not test and "-t " in flags:
            raise lines.wrong(first, "TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, UDP_RR or TCP_CRR behind -t")
        protocol, what = (test["protocol"], test["what"]) if test else ("TCP", "STREAM")
        units = _UNITS[unit[1] if unit else "m"] if what in ("STREAM", "MAERTS") else "Trans/s"
        selectors = _SELECTORS.search(flags)
        asked = selectors[1].upper().split(",") if selectors else []
        below = 0  # columns of a row that belongs to the one above
        for number in range(first + 1, last + 1):
            if asked and (values := _CSV.fullmatch(lines.texts[number - 1])):
                cells = values[0].split(",")
                if len(cells) != len(asked):
                    raise lines.wrong(number, f"{len(asked)} values, as -o names them")
                known = {"THROUGHPUT_UNITS": units, "PROTOCOL": protocol}
                yield number, protocol, what, known | dict(zip(asked, cells, strict=True))
                continue
            row = None if asked else _NUMBERS.fullmatch(lines.texts[number - 1])
            cells = row[1].split() if row else []
            if not cells or (below and len(cells) == below):
                below = 0
                continue
            wanted = "columns of a row of this test, as the command above it says"
            if re.search(r"-v *0\b", flags):
                if len(cells) != 1:
                    raise lines.wrong(number, "one number, as with -v 0")
                pairs = {"THROUGHPUT": cells[0]}
            elif what in ("RR", "CRR"):
                if len(cells) < _TRANSACTIONS:
                    raise lines.wrong(number, wanted)
                pairs = {"REQUEST_SIZE": cells[2], "RESPONSE_SIZE": cells[3], "THROUGHPUT": cells[5]}
                below = _BELOW_TRANSACTIONS
            elif protocol == "UDP":
                pairs, below = _datagrams(lines, number, cells), _BELOW_DATAGRAMS
            else:
                if len(cells) < _STREAM:
                    raise lines.wrong(number, wanted)
                pairs = {"LOCAL_SEND_SIZE": cells[2], "THROUGHPUT": cells[4]}
            yield number, protocol, what, pairs | {"THROUGHPUT_UNITS": units, "PROTOCOL": protocol}


def _datagrams(lines: Lines, number: int, cells: list[str]) -> dict[str, str]:
    """Return the selectors of the two rows of a test of datagrams: what was sent, and what arrived."""
    line = lines.texts[number] if number < len(lines) else ""
    below = line.split() if _NUMBERS.fullmatch(line) else []
    if len(cells) < _DATAGRAMS or len(below) < _BELOW_DATAGRAMS or not lines.number(cells[3], number) > 0:
        raise lines.wrong(number, "six columns, and below them the row of the receiver")
    lost = 100 * (1 - lines.number(below[2], number + 1) / lines.number(cells[3], number))
    return {"LOCAL_SEND_SIZE": cells[1], "THROUGHPUT": below[3], "SENT": cells[5], "LOST": f"{max(lost, 0.0)}"}
