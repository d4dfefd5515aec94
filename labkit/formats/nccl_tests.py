"""Tables and JSON (``-J``) of nccl-tests and rccl-tests, out of place and in place.

``time`` is that of the whole loop over its iterations, by default the mean over ranks (``-a``). ``algbw`` is the size
over that time, in GB/s of 10^9 B; ``busbw`` is ``algbw`` times a factor of the collective (``doc/PERFORMANCE.md``).
The size is the longest buffer of a rank: of all-gather and reduce-scatter the sum over ranks. Of hypercube ``algbw``
leaves out the rank's own part. So do all-gather and reduce-scatter of versions before 2.9.

The first version (2017) heads sizes with ``bytes`` and ``N``, and prints times in ms with three decimals, of broadcast
only out of place. Up to 2.11 a collective has the columns ``redop`` and ``root`` only if it has these, and the last
column of a place is the largest relative error of an element (``error``). From 2.13 on every table has both columns,
and the last one counts wrong elements (``#wrong``). ``-I`` adds four columns to each place.

Versions before 2.16.7 do not print which collective ran. Its columns tell most of them apart (`_collective`); labkit
leaves the rest out, unless a line above names the program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from labkit.formats import metric
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import NUMBER, Lines, Log, Run, flat, setting_name, settings
from labkit.point.notes import Note, note
from labkit.point.spec import Reported, Scalar

CLOCK_NS = 10.0  # prints µs with two decimals
_FIRST_NS = 1000.0  # printed ms with three decimals

_COLUMNS = (
    r"#? +(?:size +count +type +(?:redop +)?(?:root +)?(?:cpu)?time|bytes +N +type +(?:op +)?(?:root +)?time)"
    r" +algbw +busbw "
)
_SUMMARIES = ("average_bus_bandwidth", "average_bus_bandwidith")  # the second one up to 2.17.8
_BEGINS = re.compile(rf"{_COLUMNS}|[^\n]{{0,2000}}\"(?:{'|'.join(_SUMMARIES)})\"")
_HEAD = re.compile(_COLUMNS)
_NUMBERS = rf"((?:\s+(?:{NUMBER}|N/A)){{4,17}})(?: +\S.*)?$"
# by whether the table has the column root; a collective without a reduction may leave its column empty
_ROWS = {
    root: re.compile(rf" *(\d{{1,18}}) +(\d{{1,18}}) +([a-z]\w*)(?: +([a-z]\w*))?{where}{_NUMBERS}")
    for root, where in ((True, r" +(-?\d{1,9})"), (False, "()"))
}
_LARGEST_ERROR = {"half": 1e-2, "bfloat16": 1e-2, "float": 1e-5, "double": 1e-12}  # up to 2.11, for each further rank
_BYTES = {
    **dict.fromkeys(("int8", "uint8", "char", "f8e4m3", "f8e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16"), 2),
    **dict.fromkeys(("int", "int32", "uint32", "float"), 4),
    **dict.fromkeys(("int64", "uint64", "double"), 8),
}
_PROGRAM = re.compile(r"(?:.*[/ ])?(\w+?)_perf(?:_mpi)?(?:\.exe)?(?: .*)?$")
_RANK = re.compile(r"#? +Rank +(\d{1,9}) ")
_NAMES = {"alltoall": "all_to_all", "alltoallv": "all_to_allv"}
_PLACES = ("out_of_place", "in_place")
_CLOSING = 200  # lines of rows and of the end of a table


def runs(text: str, where: str) -> list[Run]:
    """Make a run of each size and place."""
    if re.match(r"\s*\{", text):
        return _json(document(text, where))
    lines, made = Lines(text, where), []
    heads = [number for number, line in lines if _HEAD.match(line)]
    for above, head, below in zip([0, *heads], heads, [*heads[1:], len(lines) + 1], strict=False):
        made += _table(lines, above + 1, head, below - 1)
    if heads and not made:
        raise lines.wrong(heads[-1], "a row below the head")
    return made


_ENDS = re.compile(r"# Avg bus bandwidth|#? ?Collective test concluded: |# GPU memory usage")


def _concluded(lines: Lines, start: int) -> int:
    """Return where the output of the program above a table ends: at a line that repeats the program's name."""
    last = start - 1
    for number in range(start, min(start + _CLOSING, len(lines)) + 1):
        if _ENDS.match(lines.texts[number - 1]):
            last = number
        elif _HEAD.match(lines.texts[number - 1]):
            break
    return last


def _table(lines: Lines, start: int, head: int, end: int) -> list[Run]:
    """Read one table."""
    above = lines.texts[_concluded(lines, start) : head]
    ranks = {int(match[1]) for line in above if (match := _RANK.match(line))}
    program = [match[1] for line in above if (match := _PROGRAM.match(line))]
    version = next((line.split()[3] for line in above if line.startswith("# nccl-tests version ")), "")
    names, rows = lines.texts[head - 1].replace("#", " ").split(), []
    every, old = names.count("i_min") == 2, names[0] == "bytes"
    wide = 8 if every else 4  # columns of a place
    places = _PLACES[: names.count("algbw")]
    pattern = _ROWS["root" in names]
    for number in range(head + 1, end + 1):
        line = lines.texts[number - 1]
        row = pattern.match(line)
        if row:
            cells = row[6].split()
            if len(cells) != len(places) * wide:
                raise lines.wrong(number, f"{len(places) * wide} numbers behind the words of the row")
            rows.append((number, row, cells))
        elif rows and re.match(r" *\d+ +\d+ +[a-z]", line):
            raise lines.wrong(number, "a row of size, count, type, reduction and numbers")
    if not rows:
        return []
    collective, doubts = _collective(lines, program, len(ranks), wide, rows)
    if not ranks:
        doubts.append(note("ranks-unknown", "the log does not list the ranks"))
    stated = _stated(above)
    made = []
    for number, row, cells in rows:
        for place, name in enumerate(places):
            part = cells[place * wide : (place + 1) * wide]
            if any(cell == "N/A" for cell in part[:3]) or not int(row[1]):
                continue
            time, *rates = (lines.number(cell, number) for cell in part[:3])
            values = _values(time * 1e3 if old else time, *rates)
            if every and "N/A" not in part[4:7]:
                times = zip(("min", "max", "p99"), part[4:7], strict=True)
                values += [metric("latency_us", s, lines.number(cell, number)) for s, cell in times]
            checked = part[3] != "N/A"
            accepted = 0 if "wrong" in names else _LARGEST_ERROR.get(row[3], 0) * max(1, len(ranks) - 1)
            wrong = checked and lines.number(part[3], number) > accepted
            made.append(
                Run(
                    test=f"nccl-tests {collective}",
                    values=tuple(values),
                    line=number,
                    size=int(row[1]),
                    ranks=len(ranks),
                    options=_options(name, row[3], row[4] or "none", row[5] or "-1"),
                    stated=stated,
                    version=version,
                    verified=checked and not wrong,
                    doubts=(*doubts, *([note("wrong-bytes", "nccl-tests found wrong elements")] if wrong else [])),
                    source=lines.source(head, head) + lines.source(number, number),
                    clock_ns=_FIRST_NS if old else math.nan,
                )
            )
    return made


def _stated(above: Sequence[str]) -> dict[str, str]:
    """Return the settings of the line ``# nThread 1 nGpus 8 minBytes …`` and of others, without the range of sizes."""
    found = settings(line for line in above if not _RANK.match(line))
    for line in above:
        if line.startswith("# nThread "):
            pairs = re.findall(r"([A-Za-z]+(?: [a-z]+)?):? +(\d+)", line.partition("step:")[0])
            pairs += re.findall(r"([a-z][\w ]*?): *(\w+)", line.partition("step:")[2])
            found |= {setting_name(name): value for name, value in pairs}
    left_out = ("minbytes", "maxbytes", "step", "out_of_bounds_values", "avg_bus_bandwidth")
    return {name: value for name, value in found.items() if name not in left_out}


def _options(place: str, datatype: str, reduction: str, root: str) -> dict[str, Scalar]:
    """Return the coordinates of a row; the root is -1 where the collective has none."""
    options: dict[str, Scalar] = {"place": place.replace("_", " "), "datatype": datatype, "reduction": reduction}
    return options if int(root) < 0 else options | {"root": int(root)}


def _values(time: float, algorithm: float, bus: float) -> list[Reported]:
    """Return the three numbers of a place."""
    return [
        metric("latency_us", "mean", time),
        metric("algbw_GBps", "mean", algorithm),
        metric("busbw_GBps", "mean", bus),
    ]


_UNNAMED = "of a collective that the log does not name (write its command, such as all_gather_perf, above the table)"


def _collective(
    lines: Lines, program: list[str], ranks: int, wide: int, rows: list[tuple[int, re.Match[str], list[str]]]
) -> tuple[str, list[Note]]:
    """Return which collective ran: by the program's name, or where only one prints such rows.

    The count is the number of elements in a rank's shorter buffer. In all-reduce, reduce, broadcast and send-receive
    both buffers have the size of the row. The other collectives divide the buffer, so that the size is the count times
    the number of ranks. The factor from `algbw` to `busbw` is 2(n-1)/n for all-reduce, (n-1)/n where the buffer is
    divided, and else 1. In place, nccl-tests does not check all-to-all and send-receive. Rows of send-receive name a
    reduction.
    """
    if program:
        return _NAMES.get(program[-1], program[-1]), []
    number, row, cells = rows[-1]
    algorithm, bus = (lines.number(cell, number) for cell in cells[1:3]) if "N/A" not in cells[1:3] else (0.0, 0.0)
    factor = None  # of small sizes, whose rates have too few digits
    if algorithm >= 0.5:  # both have two decimals
        factor = 1 if abs(bus / algorithm - 1) <= 0.01 / algorithm else 2 if bus > algorithm else 0
    elements = _BYTES.get(row[3], 0) * int(row[2])
    if not elements or not int(row[1]) or ranks == 1 or (factor is not None and not bus):  # of one rank all are alike
        return _UNNAMED, []
    whole, reduces, rooted = int(row[1]) == elements, (row[4] or "none") != "none", int(row[5] or -1) >= 0
    checked = cells[3] != "N/A" and len(cells) == 2 * wide
    in_place = cells[wide + 3] != "N/A" if checked else None  # None: not known
    if (reduces, rooted, whole) == (True, False, True):
        by_check = {True: "all_reduce", False: "sendrecv", None: ""}[in_place]
        by_factor = {2: "all_reduce", 1: "sendrecv" if ranks > 2 else by_check, None: by_check}.get(factor, "")
        name = by_factor if by_check in ("", by_factor) else ""
    else:
        name = {
            (True, False, False): "reduce_scatter",
            (True, True, True): "reduce",
            (False, True, True): "broadcast",
            (False, False, True): "sendrecv",
            (False, False, False): "" if in_place is None else "all_gather" if in_place else "all_to_all",
        }.get((reduces, rooted, whole), "")
    if not name:
        return _UNNAMED, []
    return name, [note("collective-derived", f"the log does not name the collective: its columns are those of {name}")]


def _json(whole: Entry) -> list[Run]:
    """Read the JSON file."""
    words = whole.get("args", "").value
    words = " ".join(map(str, words)) if isinstance(words, list) else str(words)
    program = re.search(r"(\w+?)_perf", words)
    stated = {setting_name(name): value for name, value in re.findall(r"(?:^| )(-[-\w]+)[ =]([^\s-]\S*)", words)}
    config = whole.get("config", {})
    stated |= flat(config.table(), "devices")
    made = []
    for number, row in enumerate(whole["results"].items(), 1):
        size = row["size"].whole()
        for name in _PLACES if size else ():
            if name not in row:
                continue
            part = row[name]
            time = part["time" if "time" in part else "cpu_time"].real()
            values = _values(time, part["alg_bw"].real(), part["bus_bw"].real())
            if f"{name}_per_iter" in row:
                each = row[f"{name}_per_iter"]
                values += [metric("latency_us", s, each[f"{s}_us"].real()) for s in ("min", "max", "p50", "p95", "p99")]
            wrong = part.get("nwrong", None).value
            doubts = [note("wrong-bytes", "nccl-tests found wrong elements")] if wrong not in (None, 0) else []
            test = _NAMES.get(program[1], program[1]) if program else _UNNAMED
            kinds = [str(row[key].value).strip() for key in ("type", "redop", "root")]
            if not re.fullmatch(r"-?\d{1,9}", kinds[2]):
                raise row["root"].wrong("a rank, or -1")
            made.append(
                Run(
                    test=f"nccl-tests {test}",
                    values=tuple(values),
                    line=number,
                    size=size,
                    ranks=len(config.get("devices", []).items()),
                    options=_options(name, *kinds),
                    stated=stated,
                    verified=wrong == 0,
                    doubts=tuple(doubts),
                    source=str(row.value)[:2000],
                )
            )
    if not made:
        raise whole["results"].wrong("results with sizes, out_of_place or in_place")
    return made


LOG = Log("nccl-tests", (" algbw ", *(f'"{key}"' for key in _SUMMARIES)), _BEGINS, runs)
