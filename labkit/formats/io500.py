"""IO500's ``result.txt`` and ``result_summary.txt``, and the summary of its older scripts.

The score of a phase is its work over its time (``phase_*.c``): GiB/s of 2^30 B for IOR, thousands of operations per
second for mdtest, find and md-workbench. The scripts before November 2019 printed GiB/s as GB/s (``io500_fixed.sh``:
MiB/s over 1024). The scores of bandwidth and metadata are geometric means over their phases, the total is the geometric
mean of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from labkit.formats import metric
from labkit.formats.reading.log import NUMBER, Lines, Log, Run
from labkit.point.notes import note
from labkit.point.spec import Reported

_GIB = 2**30 / 1e6  # MB/s
_PHASE = re.compile(
    rf"\[(?:RESULT|      )(?P<bad>-\w+)?\] +(?:(?:BW|IOPS) +phase +\d+ +)?(?P<name>[\w-]+) +(?P<score>{NUMBER}) +"
    rf"(?P<unit>GiB/s|GB/s|k[Ii][Oo][Pp][Ss]) *: time +(?P<time>{NUMBER}) seconds(?P<invalid> *\[INVALID\])?$"
)
_SCORES = re.compile(
    rf"\[SCORE(?P<kind>X?) *(?P<bad>-\w+)?\] Bandwidth (?P<BW>{NUMBER}) Gi?B/s *: IOPS (?P<MD>{NUMBER}) kiops *: "
    rf"TOTAL (?P<SCORE>{NUMBER})(?P<invalid> *\[INVALID\])?$"
)
_BEGINS = re.compile(r"\[run\]$|\[RESULT\] |\[SCOREX? *(?:-\w+)?\] Bandwidth|\[SCORE\]$|config-hash +=|IO500 version ")
_VERSION = re.compile(r"IO500 version (\S+)(?: \((\w+)\))?$")
_HASH = re.compile(r"config-hash +=")
_SECTION = re.compile(r"\[([\w-]+)\]$")
_PAIR = re.compile(r"([\w-]+) += *(.*)$")
_COUNT = re.compile(r"[0-9]{1,9}")
_INVALID = note("invalid-phase", "IO500 marked this result as invalid")
_SCALES = {"BW": "bandwidth_score_GiBps", "MD": "metadata_score_kIOPS", "SCORE": "io500_score"}


@dataclass(frozen=True)
class _About:
    """What a file says of all its phases."""

    version: str = ""
    mode: str = ""
    ranks: int = 0

    def run(self, lines: Lines, number: int, last: int, phase: str, values: list[Reported], *, bad: bool) -> Run:
        """Return the run of a phase, or of the scores."""
        return Run(
            test="IO500",
            values=tuple(values),
            line=number,
            ranks=self.ranks,
            options={"phase": phase.replace("_", "-")},
            stated={"mode": self.mode} if self.mode else {},
            version=self.version,
            doubts=(_INVALID,) if bad else (),
            source=lines.source(number, last),
        )


def runs(text: str, where: str) -> list[Run]:
    """Return one run per phase that has a score, and one of the scores over all phases."""
    lines = Lines(text, where)
    return sorted([*_sections(lines), *_rows(lines)], key=lambda run: run.line)


def _rows(lines: Lines) -> Iterator[Run]:
    """Read summaries: a line for each phase, then the lines of the scores."""
    about, ended = _About(), False
    for number, line in lines:
        if head := _VERSION.match(line):
            about, ended = _About(head[1], head[2] or ""), False
        elif row := _PHASE.match(line):
            about, ended = _About() if ended else about, False
            score, time = (lines.number(row[name], number) for name in ("score", "time"))
            values = _of_phase(score, time, bandwidth=row["unit"].startswith("G"))
            if score:
                yield about.run(lines, number, number, row["name"], values, bad=bool(row["bad"] or row["invalid"]))
        elif row := _SCORES.match(line):
            values, ended = _of_scores(lines, number, row.groupdict()), True
            name = "extended score" if row["kind"] else "score"
            yield about.run(lines, number, number, name, values, bad=bool(row["bad"] or row["invalid"]))
        elif line.startswith(("[RES", "[SCO")) and not _SECTION.match(line):
            raise lines.wrong(number, "phase, score, unit and time, as IO500 prints them")


def _sections(lines: Lines) -> Iterator[Run]:
    """Read result.txt: a section for each phase, then the sections of the scores."""
    for start, end, _ in lines.blocks(_HASH):
        lines.need(r"hash +=", start, end, "the section [SCORE] with its hash")
        about = _head(lines, start)
        for first, last, head in lines.blocks(_SECTION):
            if not start <= first <= end:
                continue
            texts = lines.texts[first : min(last, end)]
            found = {pair[1]: pair[2] for line in texts if (pair := _PAIR.match(line))}
            for number, line in enumerate(texts, first + 1):
                if re.match(r"(?:s|sc|sco|scor|score) *=? *$", line):
                    raise lines.wrong(number, "'score =' and its value")
            bad = any(line.startswith("; ERROR INVALID") for line in texts)
            if head[1] in ("SCORE", "SCOREX"):
                cells = {key: found.get(key, "").partition("[")[0] for key in _SCALES}
                name = "extended score" if head[1] == "SCOREX" else "score"
                bad = bad or "[INVALID]" in found.get("SCORE", "")
                yield about.run(lines, first, last, name, _of_scores(lines, first, cells), bad=bad)
            elif "score" in found and (score := lines.number(found["score"], first)):
                time = lines.number(found.get("t_delta", "0"), first)
                values = _of_phase(score, time, bandwidth=head[1].startswith("ior"))
                yield about.run(lines, first, last, head[1], values, bad=bad)


def _head(lines: Lines, number: int) -> _About:
    """Return what the lines around the hash of the configuration state; files of 2020 have no section [run]."""
    above, below = reversed(lines.texts[: number - 1]), lines.texts[number:]
    texts = [line for part in (above, below) for line in takewhile(bool, part)]
    found = {pair[1]: pair[2] for line in texts if (pair := _PAIR.match(line))}
    ranks = found.get("procs", "")
    return _About(found.get("version", ""), found.get("mode", ""), int(ranks) if _COUNT.fullmatch(ranks) else 0)


def _of_phase(score: float, time: float, *, bandwidth: bool) -> list[Reported]:
    """Return the values of a phase; result.txt has no time if IO500 ran quietly."""
    name, factor = ("bandwidth_MBps", _GIB) if bandwidth else ("operation_rate_per_s", 1e3)
    times = [metric("run_time_s", "value", time)] if time > 0 else []
    return [metric(name, "value", score * factor), *times]


def _of_scores(lines: Lines, number: int, cells: Mapping[str, str]) -> list[Reported]:
    """Return the scores over all phases."""
    return [metric(name, "value", lines.number(cells[key], number)) for key, name in _SCALES.items()]


LOG = Log("IO500", ("IO500 version", "[SCORE", "config-hash"), _BEGINS, runs)
