"""Read and write tables of GPCNeT 1.3 (network_test and network_load_test; utils.c prints them).

``Avg`` is the mean over ranks and draws. 99 % of all single iterations of all ranks are below ``99%``, or for a
bandwidth above it. Latencies are in µs, bandwidths in MiB/s of one rank, 2^20 B. The impact factors follow from
the printed numbers, with one decimal: loaded over isolated for latencies, isolated over loaded for bandwidths.

A build with ``VERBOSE`` also prints 99.9 %, the lowest and the highest mean of a rank in a test, the mean of the worst
rank of each test, and the congestors' rates alone and beside each network test.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from labkit.errors import DataError
from labkit.formats import _gpcnet_tables, malformed, metric
from labkit.formats.reading.log import UNTITLED, Lines, Log, Run, settings
from labkit.point.notes import note

CLOCK_NS = 100.0  # prints µs with one decimal
VERSION = "1.3"
ISOLATED, LOADED, CONGESTORS = _gpcnet_tables.ISOLATED, _gpcnet_tables.LOADED, _gpcnet_tables.CONGESTORS
IMPACT = f"{LOADED} - Key Results"
_OUTER, _NAME = "+" + "-" * 78 + "+", "-" * 33
_INNER = f"+{_NAME}+" + ("-" * 14 + "+") * 3
_HEADS = {ISOLATED: (28, 28), LOADED: (17, 18), IMPACT: (10, 11)}  # blanks beside a title
_RULE = re.compile(r"\+[-+]+\+")
_LEGEND = {
    "RR": "random ring communication pattern",
    "Nat": "natural ring communication pattern",
    "Lat": "latency",
    "BW": "bandwidth",
    "BW+Sync": "bandwidth with barrier",
}
_RANKS = re.compile(r" *Test with (\d{1,9}) MPI ranks \((\d{1,9}) nodes\)")
_PARTS = re.compile(r" *(\d{1,9}) nodes running (Network|Congestion) Tests(?: \(min (\d{1,9}) nodes per congestor\))?")
_SHARES = {"99.9%": "p999", "Min": "min_of_ranks", "Max": "max_of_ranks", "Avg(Worst)": "mean_of_worst_ranks"}


@dataclass(frozen=True)
class Result:
    """One test.

    Parameters
    ----------
    name : as printed, with the size: ``RR Two-sided Lat (8 B)``.
    average, p99 : in its unit.
    unit : ``usec`` or ``MiB/s/rank``.
    more : further statistics of a build with ``VERBOSE``, by labkit's name.
    beside : network test that runs beside a congestor.
    """

    name: str
    average: float
    p99: float
    unit: str
    more: Mapping[str, float] = field(default_factory=dict)
    beside: str = ""

    @property
    def rate(self) -> bool:
        """Whether more is better."""
        return self.unit.startswith("MiB/s")


@dataclass(frozen=True)
class Report:
    """Output of one run.

    Parameters
    ----------
    ranks, nodes : in all.
    isolated, loaded : tests without and with congestors; none loaded in network_test.
    network, congestion : nodes of either kind; None in network_test.
    each : least number of nodes of a congestor; None in network_test.
    version : version of GPCNeT.
    congestors : their own results, alone and beside a network test, of a build with ``VERBOSE``.
    """

    ranks: int
    nodes: int
    isolated: tuple[Result, ...]
    loaded: tuple[Result, ...] = ()
    network: int | None = None
    congestion: int | None = None
    each: int | None = None
    version: str = VERSION
    congestors: tuple[Result, ...] = ()

    @property
    def impact(self) -> tuple[tuple[str, float, float], ...]:
        """Name, and impact on average and 99 %, of the tests in both tables; computed from the numbers as printed."""
        before = {result.name: result for result in self.isolated}
        return tuple(
            (now.name, _factor(before[now.name].average, now), _factor(before[now.name].p99, now, tail=True))
            for now in self.loaded
            if now.name in before
        )


def _factor(before: float, now: Result, *, tail: bool = False) -> float:
    """Return loaded over isolated, or isolated over loaded for a rate; NaN if the divisor is printed as 0.0."""
    isolated, loaded = round(before, 1), round(now.p99 if tail else now.average, 1)
    over, under = (isolated, loaded) if now.rate else (loaded, isolated)
    return over / under if under else float("nan")


class _Text:
    """Lines of a text, without those that are blank."""

    def __init__(self, text: str, where: str) -> None:
        self._lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
        self._where, self._end, self.at = where, len(text.splitlines()) + 1, 0

    @property
    def ahead(self) -> str:
        return self._lines[self.at][1] if self.at < len(self._lines) else ""

    @property
    def beyond(self) -> str:
        return self._lines[self.at + 1][1] if self.at + 1 < len(self._lines) else ""

    def take(self, pattern: re.Pattern[str] | str, wanted: str) -> re.Match[str]:
        match = re.fullmatch(pattern, self.ahead)
        if not match:
            raise self.wrong(wanted)
        self.at += 1
        return match

    def wrong(self, wanted: str) -> DataError:
        ended = self.at >= len(self._lines)
        number = self._end if ended else self._lines[self.at][0]
        return malformed(self._where, number, "the end of the text" if ended else self.ahead, wanted)

    def fields(self, count: int, wanted: str) -> list[str]:
        """Cells of a row between bars."""
        cells = [cell.strip() for cell in self.ahead.strip().strip("|").split("|")]
        if not self.ahead.startswith("|") or len(cells) != count:
            raise self.wrong(wanted)
        self.at += 1
        return cells


def parse(text: str, where: str = "GPCNeT's output") -> Report:
    """Parse the output of network_test or network_load_test.

    Raises
    ------
    DataError
        For a line that does not fit; names line, found and wanted. Quotes an error that GPCNeT printed.
    """
    if refused := re.search(r"^ERROR: (.+)$", text, flags=re.MULTILINE):
        raise DataError(f"{where}: GPCNeT refused to run: {refused[1]}. Run it on that many nodes.")
    lines = _Text(text, where)
    version = lines.take(r"Network(?:Load)? Tests v(\d+\.\d+)", "'Network Tests v…' or 'NetworkLoad Tests v…'")[1]
    counts = lines.take(_RANKS, "'  Test with … MPI ranks (… nodes)'")
    parts: dict[str, int] = {}
    while match := _PARTS.fullmatch(lines.ahead):
        parts[match[2]] = int(match[1])
        if match[3]:
            parts["each"] = int(match[3])
        lines.at += 1
    lines.take(r" *Legend", "'  Legend'")
    while re.fullmatch(r" *\S+ = .+", lines.ahead):
        lines.at += 1
    isolated, congestors, loaded = _results(lines, ISOLATED), list[Result](), list[Result]()
    while parts and IMPACT not in lines.beyond:
        alone = CONGESTORS in lines.beyond
        for result in _results(lines, CONGESTORS if alone else LOADED):
            (congestors if alone or result.beside else loaded).append(result)
    report = Report(
        int(counts[1]),
        int(counts[2]),
        isolated,
        tuple(loaded),
        parts.get("Network"),
        parts.get("Congestion"),
        parts.get("each"),
        version,
        tuple(congestors),
    )
    if parts:
        _key_results(lines, report)
    if lines.ahead:
        raise lines.wrong("the end of the text")
    return report


def _title(lines: _Text, title: str) -> str:
    """Take the lines above a table; return the network test that its title names."""
    lines.take(_RULE, "a line of dashes")
    found = re.fullmatch(rf"{title}(?: \( *(\S.*) Network Test\))?", lines.fields(1, f"the title {title!r}")[0])
    if not found:
        lines.at -= 1
        raise lines.wrong(f"the title {title!r}")
    lines.take(_RULE, "a line of dashes")
    return found[1] or ""


def _results(lines: _Text, title: str) -> tuple[Result, ...]:
    """Read the rows of a table."""
    test = _title(lines, title)
    columns = _gpcnet_tables.VERBOSE if "Avg(Worst)" in lines.ahead else _gpcnet_tables.COLUMNS
    if lines.fields(len(columns), _gpcnet_tables.WANTED) != columns:
        lines.at -= 1
        raise lines.wrong(_gpcnet_tables.WANTED)
    lines.take(_RULE, "a line of dashes")
    results = []
    while lines.ahead.startswith("|"):
        row = _gpcnet_tables.named(lines.fields(len(columns), f"a row of {len(columns)} values"), columns)
        if not row:
            lines.at -= 1
            raise lines.wrong("two numbers with one decimal, and usec or MiB/s/rank")
        results.append(_result(row, test))
        lines.take(_RULE, "a line of dashes")
    if not results:
        raise lines.wrong("a row of the table")
    return tuple(results)


def _result(row: Mapping[str, str], test: str) -> Result:
    """Return the result of a row, in a table of what ran beside a network test if that is not empty."""
    more = {name: float(row[column]) for column, name in _SHARES.items() if column in row}
    beside = test if test and not row["Name"].startswith(test) else ""
    return Result(row["Name"], float(row["Avg"]), float(row["99%"]), row["Units"], more, beside)


def _key_results(lines: _Text, report: Report) -> None:
    """Check that the impact factors agree with the tables above."""
    _title(lines, IMPACT)
    for names in (["Name", "Congestion Impact Factor"], ["", "Avg", "99%"]):
        if lines.fields(len(names), f"the columns {', '.join(names)}") != names:
            lines.at -= 1
            raise lines.wrong(f"the columns {', '.join(names)}")
        lines.take(_RULE, "a line of dashes")
    for name, average, p99 in report.impact:
        wanted = [name, f"{average:.1f}X", f"{p99:.1f}X"]
        if lines.fields(3, f"the impact on {name}") != wanted:
            lines.at -= 1
            raise lines.wrong(f"{wanted}, which follow from the tables above")
        lines.take(_RULE, "a line of dashes")


def write(report: Report) -> str:
    """Return the text of a report as GPCNeT lays it out; `parse` reads it back, with one decimal."""
    load = report.network is not None
    lines = [f"Network{'Load' if load else ''} Tests v{report.version}"]
    lines += [f"  Test with {report.ranks} MPI ranks ({report.nodes} nodes)"]
    if load:
        lines += [f"  {report.network} nodes running Network Tests"]
        lines += [f"  {report.congestion} nodes running Congestion Tests (min {report.each} nodes per congestor)"]
    shown = [key for key in _LEGEND if not (load and key == "Nat")]
    lines += ["", "  Legend", *(f"   {key} = {_LEGEND[key]}" for key in shown)]
    lines += _table(ISOLATED, report.isolated)
    if load:
        lines += ["", *_table(LOADED, report.loaded), "", *_impact(report)]
    return "".join(f"{line}\n" for line in [*lines, ""])


def _headline(title: str) -> list[str]:
    before, after = _HEADS[title]
    return [_OUTER, f"|{' ' * before}{title}{' ' * after}|"]


def _table(title: str, results: Sequence[Result]) -> list[str]:
    """Lay out a table of results."""
    rows = [("Name", "Avg", "99%", "Units")]
    rows += [(r.name, f"{r.average:.1f}", f"{r.p99:.1f}", r.unit) for r in results]
    lines = [*_headline(title), _INNER]
    for name, *cells in rows:
        lines += [f"| {name[:31]:>31} |" + "".join(f" {cell:>12} |" for cell in cells), _INNER]
    return lines


def _impact(report: Report) -> list[str]:
    """Lay out the table of impact factors."""
    wide, parts = f"+{_NAME}+{'-' * 44}+", f"+{_NAME}+{'-' * 22}+{'-' * 21}+"
    lines = [*_headline(IMPACT), wide, f"| {'Name':>31} | {'Congestion Impact Factor':>42} |", parts]
    lines += [f"| {'':>31} | {'Avg':>20} | {'99%':>19} |", parts]
    for name, average, p99 in report.impact:
        lines += [f"| {name[:31]:>31} | {average:>19.1f}X | {p99:>18.1f}X |", parts]
    return lines


_FIRST = re.compile(r"Network(?:Load)? Tests v\d+\.\d+")
_BEGINS = re.compile(rf"{_FIRST.pattern}|{_gpcnet_tables.TITLE.pattern}")
_SIZED = re.compile(r"(.+?) \((\d{1,12}) B\)")
_MIB = 2**20 / 1e6


def runs(text: str, where: str) -> list[Run]:
    """Return one run per test, isolated and under load; impact factors follow from the two and are not kept."""
    lines, made = Lines(text, where), []
    if not any(map(_FIRST.match, lines.texts)):
        return [_of_table(lines, *row) for row in _gpcnet_tables.rows(lines)]
    for first, last, _ in lines.blocks(_FIRST):
        ends = [n for n in range(first, last + 1) if re.match(r"[+|]", lines.texts[n - 1])]
        end = max(ends, default=last)
        try:
            report = parse("".join(f"{line}\n" for line in lines.texts[first - 1 : end]), where)
        except DataError as error:
            if first == 1:
                raise
            raise lines.wrong(first, f"a whole run: {error.brief}") from error
        made += [_run(lines, first, end, report, "isolated", result) for result in report.isolated]
        made += [_run(lines, first, end, report, "loaded", result) for result in report.loaded]
        for result in report.congestors:
            made.append(_run(lines, first, end, report, "loaded" if result.beside else "isolated", result))
    return made


def _of_table(lines: Lines, number: int, load: str, test: str, row: Mapping[str, str]) -> Run:
    """Return the run of a row of a table whose ranks and nodes are not known."""
    result = _result(row, test)
    run = _run(lines, number, number, Report(1, 1, (result,), version=""), load, result)
    options = {name: value for name, value in run.options.items() if name != "nodes"}
    return replace(run, ranks=0, options=options, stated={}, parameters={}, doubts=(UNTITLED,))


def _run(lines: Lines, first: int, end: int, report: Report, load: str, result: Result) -> Run:
    """Return the run of one test."""
    sized = _SIZED.fullmatch(result.name)
    name, factor = ("bandwidth_MBps", _MIB) if result.rate else ("latency_us", 1.0)
    if not result.average > 0 or report.ranks < 1:
        raise lines.wrong(first, f"an average above 0 of {result.name}, and 1 rank or more")
    return Run(
        test=f"GPCNeT {load}",
        values=(
            metric(name, "value", result.average * factor),
            metric(name, "p99", result.p99 * factor),
            *(metric(name, share, value * factor) for share, value in result.more.items()),
        ),
        line=first,
        size=int(sized[2]) if sized else 0,
        ranks=report.ranks,
        stated=settings(lines.texts[first - 1 : end]),
        options={
            "test": sized[1] if sized else result.name,
            "load": load,
            "nodes": report.nodes,
            **({"beside": result.beside} if result.beside else {}),
        },
        parameters={"congestion nodes": str(report.congestion or 0)},
        version=report.version,
        remarks=(
            note("mean-over-ranks", "value: mean over ranks and draws; 99 % of the iterations of all ranks are better"),
        ),
        source=lines.source(first, end),
    )


LOG = Log("GPCNeT", (" Tests v", "Network Tests "), _BEGINS, runs)
