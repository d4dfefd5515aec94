"""ReFrame's performance logs (``perflogs/*.log``): a line for each variable up to version 3, a table since 4.

Up to version 3 a line holds one variable: ``…|reframe 3.9|Test on system:partition using gnu|jobid=1|Copy=9.5|ref=0
(l=null, u=null)|MB/s``; the unit may stand before the reference, and tags behind it. Since version 4 the first line
names the columns, and a line holds all variables of a test case. Both layouts can be changed in ReFrame's settings;
labkit needs the cells that name test, variable and value.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from labkit.formats.reading.log import Lines, Run, whole
from labkit.point.notes import note
from labkit.point.spec import Reported, Scalar

BEGINS = (
    r"[ \t]*(?:[\w:+.-]{1,40}[|,]){0,80}job_completion_time[|,][^\n]{0,4000}_value\b"
    r"|[ \t]*(?:[\w:.+-]{0,40}\|)?reframe \d[^|\n]{0,60}\|[^\n]{0,2000}\|? ?ref="
)
FAILED = note("test-failed", "ReFrame's test did not pass")
_INFO = re.compile(r"(?P<test>.+?)(?: on (?P<system>\S+) using (?P<environ>\S+)| /\w{8} @(?P<place>\S+))$")
_PAIR = re.compile(r"(?P<name>[\w .%+/-]{1,80}?) ?= ?(?P<value>[^|]*)")
_STATED = re.compile(
    r"num_\w+|procs_per_node|env_vars|extra_resources|modules|spack_spec|use_multithreading|exclusive_access|params?"
)
_EMPTY = ("", "null", "None", "{}", "[]")
_NO_VALUE = ("null", "None", "", "nan")


def runs(lines: Lines) -> list[Run]:
    """Return one run per test case; it has a value of each performance variable."""
    made, head = list[Run](), list[str]()
    for number, raw in lines:
        line = raw.strip()
        cells = line.split("|" if "|" in line else ",")
        if "job_completion_time" in cells:
            head = cells
        elif head and line:
            if len(cells) != len(head):
                raise lines.wrong(number, f"{len(head)} cells, as many as the head has")
            made += _of_table(lines, number, dict(zip(head, cells, strict=True)))
        elif any(cell.startswith("reframe ") for cell in cells):
            _of_line(lines, number, cells, made)
    return made


def _of_table(lines: Lines, number: int, cells: dict[str, str]) -> list[Run]:
    """Return the run of a line below a head; none if no variable has a value."""
    names = [key.removesuffix("_value") for key in cells if key.endswith("_value")]
    values = [
        Reported(name[:100], cells.get(f"{name}_unit", "")[:40], "value", lines.number(cells[f"{name}_value"], number))
        for name in names
        if cells[f"{name}_value"] not in _NO_VALUE
    ]
    info = _INFO.match(cells.get("info", ""))
    test = next((cells[key] for key in ("display_name", "name", "unique_name") if cells.get(key)), "")
    places = [cells.get(key, "") for key in ("system", "partition", "system:partition", "environ")]
    system = ":".join(place for place in places if place not in _EMPTY) or (info["place"] or "" if info else "")
    failed = cells.get("result", "pass") not in ("pass", "success")
    name = test or (info["test"] if info else Path(lines.where).stem)  # ReFrame names the file after the test
    return [_run(lines, number, name, system, values, cells, failed=failed)] if values else []


def _of_line(lines: Lines, number: int, cells: list[str], made: list[Run]) -> None:
    """Add the variable of a line to the run of its test case, or to a new one."""
    place = next((k for k, cell in enumerate(cells) if cell.strip().startswith("ref=")), 0)
    info = next((found for cell in cells if (found := _INFO.match(cell.strip()))), None)
    at = place - 1 if "=" in cells[place - 1] else place - 2  # the unit may stand before the reference
    pair = _PAIR.fullmatch(cells[at].strip()) if at > 0 else None
    if not pair or not info:
        raise lines.wrong(number, "cells 'test on system using environment', 'variable=value', 'ref=…' and the unit")
    if pair["value"] in _NO_VALUE:
        return
    unit = cells[place - 1] if at < place - 1 else next(iter(cells[place + 1 :]), "")
    value = Reported(pair["name"][:100], unit.strip()[:40], "value", lines.number(pair["value"], number))
    others = [*cells[:at], *(tag for cell in cells[place + 1 :] for tag in cell.split(","))]
    pairs = [found for cell in others if (found := _PAIR.fullmatch(cell.strip()))]
    stated = {found["name"]: found["value"] for found in pairs}
    system = f"{info['system']}:{info['environ']}" if info["system"] else info["place"]
    run = _run(lines, number, info["test"], system, [value], stated)
    last = made[-1] if made else None
    job = stated.get("jobid", "")
    same = last and job and (last.options, last.stated, last.parameters["jobid"]) == (run.options, run.stated, job)
    if last and same and value.name not in {one.name for one in last.values}:
        made[-1] = replace(last, values=(*last.values, value))
        return
    made.append(run)


def _run(
    lines: Lines,
    number: int,
    test: str,
    system: str,
    values: list[Reported],
    cells: dict[str, str],
    *,
    failed: bool = False,
) -> Run:
    """Return the run of a test case."""
    version = next((cell for cell in lines.texts[number - 1].split("|") if cell.startswith("reframe ")), "")
    tasks = cells.get("num_tasks", "")
    options: dict[str, Scalar] = {"test": test.strip(), "system": system}
    stated = {key: value for key, value in cells.items() if _STATED.fullmatch(key) and value not in _EMPTY}
    return Run(
        test="ReFrame",
        values=tuple(values),
        line=number,
        ranks=whole(tasks) or 1,
        options=options,
        stated={key: value for key, value in stated.items() if key != "num_tasks"},
        parameters={"jobid": cells.get("jobid", "")},
        version=version.removeprefix("reframe "),
        verified=not failed,
        doubts=(FAILED,) if failed else (),
        source=lines.source(number, number),
    )
