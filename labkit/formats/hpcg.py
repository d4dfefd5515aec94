"""HPCG's report, of versions 2.4 to 3.1, also as the builds of Intel and NVIDIA print it.

The rating is the operations of HPCG's formula over the timed seconds, with the overheads of convergence and of the
optimization phase. HPCG counts 10^9 operations to the GFLOP. Version 3.1 writes a path and ``=`` in each line, earlier
ones ``:`` and indentation.
"""

from __future__ import annotations

import math
import re

from labkit.formats import metric
from labkit.formats.reading.log import NUMBER, Lines, Log, Run
from labkit.point.notes import note

_BEGINS = re.compile(r".*HPCG result is (VALID|INVALID)")
_RATING = re.compile(r".*HPCG result is (VALID|INVALID)(?: with a GFLOP/s rating of *([:=]?) *(\S+))?")
_FACTS = {
    "ranks": r" *(?:Machine Summary::)?Distributed Processes *[:=] *(\d{1,9})$",
    "threads": r" *(?:Machine Summary::)?Threads per processes *[:=] *(\d{1,9})$",
    **{side: rf" *(?:Local Domain Dimensions::(?:.*::)?)?{side} *[:=] *(\d{{1,9}})$" for side in ("nx", "ny", "nz")},
}
_ABOVE = 400  # lines of a report


def runs(text: str, where: str) -> list[Run]:
    """Return one run per report; the line that builds of vendors print beside their report counts only without it."""
    lines, made, former = Lines(text, where), [], 0
    ratings = [(number, rating) for number, line in lines if (rating := _RATING.match(line))]
    reported = [lines.number(rating[3], number) for number, rating in ratings if rating[2]]
    for number, rating in ratings:
        alone = rating[3] and not rating[2]
        if alone and any(math.isclose(lines.number(rating[3], number), one, rel_tol=1e-3) for one in reported):
            continue
        made.append(_run(lines, max(former, number - _ABOVE) + 1, number, rating))
        former = number
    return made


def _run(lines: Lines, first: int, number: int, rating: re.Match[str]) -> Run:
    """Read the report whose result stands in a line."""
    if not rating[3] or (rate := lines.number(rating[3], number)) <= 0:
        raise lines.wrong(number, "a GFLOP/s rating above 0: HPCG found its result invalid")
    found = {name: lines.find(form, first, number) for name, form in _FACTS.items()}
    facts = {name: int(hit[1][1]) for name, hit in found.items() if hit}
    total = rf"(?:Benchmark Time Summary::| +)Total *[:=] *({NUMBER})$"
    seconds = lines.find(total, first, number)
    values = [metric("performance_GFLOPS", "value", rate)]
    if seconds and (time := lines.number(seconds[1][1], seconds[0])) > 0:
        values.append(metric("run_time_s", "value", time))
    valid = rating[1] == "VALID"
    options = {name: value for name, value in facts.items() if name != "ranks"}
    return Run(
        test="HPCG",
        values=tuple(values),
        line=number,
        ranks=facts.get("ranks", 0),
        options=options,
        verified=valid,
        doubts=() if valid else (note("wrong-result", "HPCG found its result invalid"),),
        source=lines.source(max(first, number - 20), number),
    )


LOG = Log("HPCG", ("HPCG result is ",), _BEGINS, runs)
