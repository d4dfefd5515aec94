"""ReFrame's run report (``--report-file``), of its data versions 1 to 4.

A performance variable is one number with a unit that the test chooses; only the test knows its meaning. So each
keeps its own name and unit as a reported value, and none becomes a metric of labkit's. `run_time_s` is ReFrame's
``time_run``, from the submission of the job to its end. Runs of a test in one report (``--reruns``, ``--repeat``) are
launches. Its performance logs are read too (`_reframe_perflog`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from labkit.formats import _reframe_perflog, malformed, metric
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import REMEDY, SHOWN, Lines, Log, Run, flat
from labkit.point.spec import Reported

_BEGINS = re.compile(rf"[^\n]{{0,2000}}\"session_info\" *:|{_reframe_perflog.BEGINS}")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per test case that has a performance variable."""
    if '"session_info"' not in text:
        return _reframe_perflog.runs(Lines(text, where))
    report = document(text, where)
    version = str(report["session_info"].get("version", "").value)
    made, count = [], 0
    for run in report["runs"].items():
        for case in run["testcases"].items():
            count += 1
            values = list(_performance(case))
            if values:
                made.append(_run(case, values, version, count))
    if not made:
        raise malformed(where, 0, f"{count} test cases, none with a performance variable", "one at least", REMEDY)
    return made


def _performance(case: Entry) -> Iterator[Reported]:
    """Yield the performance variables of a test case: an object since data version 4, a list before."""
    for key in case.get("perfvalues", {}).table():
        entry = case["perfvalues"][key]
        cells = entry.items()
        if not 5 <= len(cells) <= 6:
            raise entry.wrong("a list of value, reference, two bounds, unit and result")
        if cells[0].value is not None:
            yield _reported(key.rpartition(":")[2], cells[0], cells[4])
    for variable in case.get("perfvars", []).items():
        if "value" in variable:
            yield _reported(str(variable["name"].value), variable["value"], variable.get("unit", ""))


def _reported(name: str, value: Entry, unit: Entry) -> Reported:
    return Reported(name[:100], str(unit.value or "")[:40], "value", value.real())


_STATED = (
    *("num_tasks_per_node", "num_cpus_per_task", "num_tasks_per_core", "num_gpus_per_node", "use_multithreading"),
    *("params", "check_params", "executable", "exclusive_access", "build_system", "modules"),
)


def _run(entry: Entry, values: list[Reported], version: str, number: int) -> Run:
    """Return the run of a test case."""
    case = entry.table()
    name = str(case.get("display_name") or case.get("name") or case.get("unique_name"))
    tasks = case.get("num_tasks")
    if (seconds := entry.get("time_run", 0).real()) > 0:
        values = [metric("run_time_s", "value", seconds), *values]
    passed = str(case.get("result", "")) in ("pass", "success")
    doubts = [] if passed else [_reframe_perflog.FAILED]
    system = [case.get(key) for key in ("system", "partition", "environ")]
    return Run(
        test="ReFrame",
        values=tuple(values),
        line=number,
        ranks=tasks if isinstance(tasks, int) and tasks > 0 else 1,
        options={"test": name, "system": ":".join(str(part) for part in system if part)},
        stated=flat({name: case[name] for name in _STATED if isinstance(case.get(name), int | str | Mapping)}),
        parameters={"nodes": str(case.get("job_nodelist") or case.get("nodelist") or "")},
        version=version,
        verified=passed,
        doubts=tuple(doubts),
        source=json.dumps({key: case.get(key) for key in ("name", "result", "perfvalues", "perfvars")})[:SHOWN],
    )


LOG = Log("ReFrame", ('"session_info"', "job_completion_time", "reframe "), _BEGINS, runs)
