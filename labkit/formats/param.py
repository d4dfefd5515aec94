"""Tables of PARAM's comms.py: collectives and point-to-point messages of torch.distributed.

Each rank takes the mean over its iterations. The percentiles, the least and the largest value are over ranks. The
median over ranks is imported as the mean, the others under their own names (``p95_of_ranks``). ``AlgBW`` is
``total-size`` over that median, in GB/s of 10^9 B, and ``BusBW`` has the factors of nccl-tests. The total size is that
of a rank's longest buffer.

``pt2pt`` times a message until the sender has sent it and the receiver has it (ping), a round trip (ping-pong), and
windows of messages. Its bandwidths are means over all ranks that take part.

Tables of quantised collectives (``COMMS-RES-QUANT``), and of the benchmarks of overlap, are skipped: they have no
distinct name, and their columns have other meanings.
"""

from __future__ import annotations

import re

from labkit.formats import metric
from labkit.formats.reading.log import NUMBER, Lines, Log, Run
from labkit.point.notes import note
from labkit.point.spec import Reported, Scalar

_BEGINS = re.compile(r"\s*COMMS-RES +(?:total-)?size \(B\) ")
_COLUMN = re.compile(r"(?:total-)?size \(B\)|\S+")
_ROW = re.compile(rf"\s*COMMS-RES-(\w+)-(\w+?)(-\S*)?((?: +{NUMBER})+)$")
_GROUP = re.compile(r"\[Rank +\d+\] allSizes: .*\bgroupSize (\d{1,9})$")
_GIVEN = re.compile(r"\s*backend: (\S+) nw-stack: (\S+) .*\bargs\.z: (\d) ")
_FIRST = ["nElementsPerRank", "us:p50", "p75", "p95", "Min", "Max", "AlgBW(GB/s)", "BusBW(GB/s)"]
_PAIRS = [
    *("pingLatency(us):p50", "p75", "p95", "pingPongLatency(us):p50", "p75", "p95"),
    *("avgUniBW(GB/s)", "avgBiBW(GB/s)", "totalUniBW(GB/s)", "totalBiBW(GB/s)"),
]
_SHARES = ("mean", "p75_of_ranks", "p95_of_ranks", "min_of_ranks", "max_of_ranks")
_MEDIAN = note("median-of-ranks", "the mean is the median over ranks of each rank's mean over its iterations")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per row; of point-to-point messages one for each pattern."""
    lines, made = Lines(text, where), []
    for head, last, _ in lines.blocks(_BEGINS):
        columns = _COLUMN.findall(lines.texts[head - 1])[2:]
        columns = [re.sub(r"^(?:Time|Latency)\(us\)", "us", name) for name in columns]
        pairs = columns == _PAIRS
        if not pairs and (columns[:-1] != _FIRST and columns != _FIRST):
            continue
        above = lines.texts[:head]
        ranks = next((int(hit[1]) for line in reversed(above) if (hit := _GROUP.match(line))), 0)
        given = next((hit for line in reversed(above) if (hit := _GIVEN.match(line))), None)
        for number in range(head + 1, last + 1):
            row = _ROW.match(lines.texts[number - 1])
            if not row:
                if lines.texts[number - 1].lstrip().startswith("COMMS-RES-"):
                    raise lines.wrong(number, f"a name and {1 + len(columns)} numbers")
                continue
            cells = [lines.number(cell, number) for cell in row[4].split()]
            if len(cells) != 1 + len(columns):
                raise lines.wrong(number, f"{1 + len(columns)} numbers")
            options: dict[str, Scalar] = {"datatype": row[2]}
            if row[3]:
                options["tag"] = row[3][1:]
            if given:
                options |= {"backend": given[1], "blocking": given[3] == "1"}
            for test, values in _patterns(cells) if pairs else [(row[1], _collective(cells))]:
                made.append(
                    Run(
                        test=f"PARAM {test}",
                        values=tuple(values),
                        line=number,
                        size=int(cells[0]),
                        ranks=ranks,
                        options=options,
                        remarks=(_MEDIAN,),
                        doubts=() if ranks else (note("ranks-unknown", "the log does not list the ranks"),),
                        source=lines.source(head, head) + lines.source(number, number),
                    )
                )
    return made


def _collective(cells: list[float]) -> list[Reported]:
    """Return the values of a row of a collective: size, elements, times, bandwidths."""
    values = [metric("latency_us", share, value) for share, value in zip(_SHARES, cells[2:7], strict=True)]
    return [*values, metric("algbw_GBps", "mean", cells[7]), metric("busbw_GBps", "mean", cells[8])]


def _patterns(cells: list[float]) -> list[tuple[str, list[Reported]]]:
    """Return the values of a row of point-to-point messages by pattern."""

    def times(name: str, first: int) -> list[Reported]:
        return [metric(name, share, cells[first + k]) for k, share in enumerate(_SHARES[:3])]

    return [
        ("ping", times("latency_us", 1)),
        ("ping-pong", times("round_trip_us", 4)),
        ("one-way window", [metric("bandwidth_MBps", "mean", 1e3 * cells[7])]),
        ("two-way window", [metric("bandwidth_MBps", "mean", 1e3 * cells[8])]),
    ]


LOG = Log("PARAM", ("COMMS-RES",), _BEGINS, runs)
