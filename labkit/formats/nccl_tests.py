"""Tables and JSON (``-J``) of nccl-tests and rccl-tests, out of place and in place.

``time`` is loop time divided by iterations, by default the mean over ranks (``-a``). ``algbw`` is the size
over that time, in GB/s of 10^9 B; ``busbw`` is ``algbw`` times a factor of the collective (``doc/PERFORMANCE.md``).
The size is the longest buffer of a rank: of all-gather and reduce-scatter the sum over ranks. Of hypercube ``algbw``
leaves out the rank's own part. So do all-gather and reduce-scatter of versions before 2.9.

The first version (2017) heads sizes with ``bytes`` and ``N``, and prints times in ms with three decimals, of broadcast
only out of place. Up to 2.11 a collective has the columns ``redop`` and ``root`` only if it has these, and the last
column of a place is the largest relative error of an element (``error``). From 2.13 on every table has both columns,
and the last one counts wrong elements (``#wrong``). ``-I`` adds four columns to each place.

Versions before 2.16.7 do not print which collective ran. The columns distinguish most collectives (`_collective`). The
others are imported without a name, unless a line above names the program. Rows without a head are read by the number of
their columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.formats import metric
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import CUT, HEAD_MISSING, NUMBER, Lines, Log, Run, flat, setting_name, settings
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
_DAMAGED = re.compile(r" *\d+ +\d+(?: +[a-z]| *$)")
_LARGEST_ERROR = {"half": 1e-2, "bfloat16": 1e-2, "float": 1e-5, "double": 1e-12}  # up to 2.11, for each further rank
_BYTES = {
    **dict.fromkeys(("int8", "uint8", "char", "f8e4m3", "f8e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16"), 2),
    **dict.fromkeys(("int", "int32", "uint32", "float"), 4),
    **dict.fromkeys(("int64", "uint64", "double"), 8),
}
_PROGRAM = re.compile(r"(?:.*[/ ])?(\w+?)_perf(?:_mpi)?(?:\.exe)?(?::|[ ].*)?$")
_RANK = re.compile(r"#? +Rank +(\d{1,9}) ")
_NAMES = {"alltoall": "all_to_all", "alltoallv": "all_to_allv"}
_PLACES = ("out_of_place", "in_place")
_CLOSING = 200  # lines of rows and of the end of a table


@dataclass(frozen=True)
class _Layout:
    """Columns of a table.

    Parameters
    ----------
    root : whether a row names the root.
    places : out of place, in place, or the first alone.
    every : whether ``-I`` added columns.
    old : whether the first version printed it, with times in ms.
    counts : whether the last column of a place counts wrong elements, and is not an error.
    """

    root: bool
    places: tuple[str, ...]
    every: bool = False
    old: bool = False
    counts: bool = True

    @property
    def wide(self) -> int:
        """Columns of a place."""
        return 8 if self.every else 4


def _named(head: str) -> _Layout:
    """Return the layout that a head names."""
    names = head.replace("#", " ").split()
    places, old = _PLACES[: names.count("algbw")], names[0] == "bytes"
    return _Layout("root" in names, places, names.count("i_min") == 2, old, "wrong" in names)


def _counted(row: str) -> _Layout | None:
    """Return the layout of a row without a head, which has 4, 8 or 16 numbers behind its words and root; else None.

    The bandwidth must be the size over the time, up to the rank's own part.
    """
    cells = match[6].split() if (match := _ROWS[False].match(row)) else []
    root = len(cells) % 4 == 1
    if not match or len(cells) - root not in (4, 8, 16) or (root and not re.fullmatch(r"-?\d{1,9}", cells[0])):
        return None
    cells = cells[root:]
    layout = _Layout(root, _PLACES[: 2 if len(cells) > 4 else 1], len(cells) == 16, counts="e" not in cells[3])
    for place in range(len(layout.places)):
        part = cells[place * layout.wide :][:3]
        if "N/A" in part:
            continue
        time, algorithm, _ = map(float, part)
        whole = float(match[1]) / time / 1e3 if time > 0 else math.nan
        if not 0.49 * whole - 0.01 <= algorithm <= 1.01 * whole + 0.01:
            return None
    return layout


def runs(text: str, where: str) -> list[Run]:
    """Return one run per size and place."""
    if re.match(r"\s*\{", text):
        return _json(document(text, where))
    lines, made = Lines(text, where), []
    heads = [number for number, line in lines if _HEAD.match(line)]
    first = heads[0] if heads else len(lines) + 1
    for start, begin, end in _headless(lines, first):
        layout = _counted(lines.texts[begin - 1])
        assert layout
        made += _table(lines, start, begin - 1, end, layout, (HEAD_MISSING,))
    for above, head, below in zip([0, *heads], heads, [*heads[1:], len(lines) + 1], strict=False):
        made += _table(lines, above + 1, head, below - 1, _named(lines.texts[head - 1]))
    if heads and not made:
        raise lines.wrong(heads[-1], "a row below the head")
    return made


def _headless(lines: Lines, before: int) -> list[tuple[int, int, int]]:
    """Return the groups of rows above line `before`, which have no head: first line above them, first and last row."""
    groups: list[tuple[int, int, int]] = []
    open_, above = False, 1
    for number in range(1, before):
        line = lines.texts[number - 1]
        if _counted(line):
            groups[-1:] = [(*groups[-1][:2], number)] if open_ else [*groups[-1:], (above, number, number)]
            open_, above = True, number + 1
        else:
            open_ = open_ and not line
    return groups


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


def _rows_of(lines: Lines, first: int, last: int, layout: _Layout) -> tuple[Rows, bool]:
    """Return the rows of a table, and whether the text ends inside one."""
    rows: Rows = []
    wanted, pattern = len(layout.places) * layout.wide, _ROWS[layout.root]
    for number in range(first, last + 1):
        line = lines.texts[number - 1]
        row = pattern.match(line)
        cells = row[6].split() if row else []
        if row and len(cells) == wanted:
            rows.append((number, row, cells))
        elif row or _DAMAGED.match(line):
            if rows and number == len(lines) and len(cells) < wanted:
                return rows, True
            raise lines.wrong(number, f"size, count, type, reduction where there is one, and {wanted} numbers")
    return rows, False


def _table(lines: Lines, start: int, head: int, end: int, layout: _Layout, doubts: tuple[Note, ...] = ()) -> list[Run]:
    """Read one table with its rows on lines `head` + 1 to `end`; its settings begin at line `start`."""
    above = lines.texts[_concluded(lines, start) : head]
    listed = {int(match[1]) for line in above if (match := _RANK.match(line))}
    program = [match[1] for line in above if (match := _PROGRAM.match(line))]
    version = next((line.split()[3] for line in above if line.startswith("# nccl-tests version ")), "")
    wide, places = layout.wide, layout.places
    rows, cut = _rows_of(lines, head + 1, end, layout)
    doubts += (CUT,) if cut else ()
    if not rows:
        return []
    collective, doubt = _collective(lines, program, len(listed), wide, rows)
    doubts += tuple(doubt)
    if not (ranks := len(listed)):
        ranks = _ranks(collective, rows)
        doubts += (_RANKS_DERIVED if ranks else _RANKS_UNKNOWN,)
    stated = _stated(above)
    made = []
    for number, row, cells in rows:
        for place, name in enumerate(places):
            part = cells[place * wide : (place + 1) * wide]
            if any(cell == "N/A" for cell in part[:3]) or not int(row[1]):
                continue
            time, *rates = (lines.number(cell, number) for cell in part[:3])
            values = _values(time * 1e3 if layout.old else time, *rates)
            if layout.every and "N/A" not in part[4:7]:
                times = zip(("min", "max", "p99"), part[4:7], strict=True)
                values += [metric("latency_us", s, lines.number(cell, number)) for s, cell in times]
            checked = part[3] != "N/A"
            accepted = 0 if layout.counts else _LARGEST_ERROR.get(row[3], 0) * max(1, ranks - 1)
            wrong = checked and lines.number(part[3], number) > accepted
            made.append(
                Run(
                    test=f"nccl-tests {collective}",
                    values=tuple(values),
                    line=number,
                    size=int(row[1]),
                    ranks=ranks,
                    options=_options(name, row[3], row[4] or "none", row[5] or "-1"),
                    stated=stated,
                    version=version,
                    verified=checked and not wrong,
                    doubts=(*doubts, *([note("wrong-bytes", "nccl-tests found wrong elements")] if wrong else [])),
                    source=lines.source(head, head) + lines.source(number, number),
                    clock_ns=_FIRST_NS if layout.old else math.nan,
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


_UNNAMED = "unnamed"
_NO_NAME = note(
    "collective-unknown", "the log does not name the collective: write its command, such as all_gather_perf, above it"
)
_RANKS_UNKNOWN = note("ranks-unknown", "the log does not list the ranks")
_RANKS_DERIVED = note("ranks-derived", "the log does not list the ranks: their number follows from the columns")
_MOST_RANKS = 4096
Rows = list[tuple[int, re.Match[str], list[str]]]  # number, row, numbers behind its words


def _ranks(collective: str, rows: Rows) -> int:
    """Return the number of ranks with which all rows of a collective agree; 0 if there are none or several.

    Where the buffer is divided it is the size over the bytes of the count. The `busbw` of all-reduce is 2(n-1)/n times
    its `algbw`; both have two decimals.
    """
    if collective in ("all_gather", "reduce_scatter", "all_to_all"):
        parts = {int(row[1]) / (_BYTES.get(row[3], 0) * int(row[2]) or math.inf) for _, row, _ in rows if int(row[1])}
        (ranks,) = parts if len(parts) == 1 else (0.0,)
        return int(ranks) if ranks == int(ranks) and ranks > 1 else 0
    if collective != "all_reduce":
        return 0
    fitting = set(range(2, _MOST_RANKS))
    for _, _, cells in rows:
        if "N/A" not in cells[1:3]:
            algorithm, bus = float(cells[1]), float(cells[2])
            fitting = {n for n in fitting if abs(2 * (n - 1) / n * algorithm - bus) <= 0.0151}
    return fitting.pop() if len(fitting) == 1 else 0


def _collective(lines: Lines, program: list[str], ranks: int, wide: int, rows: Rows) -> tuple[str, list[Note]]:
    """Return the collective: from the program's name, or if only one collective prints such rows.

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
    if not elements or not int(row[1]) or ranks == 1 or (factor is not None and not bus):  # with one rank all are equal
        return _UNNAMED, [_NO_NAME]
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
        return _UNNAMED, [_NO_NAME]
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
            doubts += [] if program else [_NO_NAME]
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


LOG = Log("nccl-tests", (" algbw ", *(f'"{key}"' for key in _SUMMARIES)), _BEGINS, runs, rows=_counted)
