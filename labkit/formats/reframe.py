"""ReFrame's run report (``--report-file``), of its data versions 1 to 4.

A performance variable is one number with a unit of the test's own choice; what it means only the test knows. So each
keeps its own name and unit as a reported value, and none becomes a metric of labkit's. `run_time_s` is ReFrame's
``time_run``, from the submission of the job to its end. Runs of a test in one report (``--reruns``, ``--repeat``) are
launches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labkit.formats import malformed, metric
from labkit.formats._log import REMEDY, SHOWN, Log, Run, document, flat, real
from labkit.notes import note
from labkit.spec import Reported

_BEGINS = re.compile(r"[^\n]{0,2000}\"session_info\" *:")


def runs(text: str, where: str) -> list[Run]:
    """Make a run of each test case that has a performance variable."""
    report = document(text, where)
    if not isinstance(report, Mapping) or not isinstance(report.get("runs"), list):
        raise malformed(where, 0, str(report)[:80], "an object with session_info and runs", REMEDY)
    version = str(report["session_info"].get("version", ""))
    made, count = [], 0
    for run in report["runs"]:
        for case in run["testcases"]:
            count += 1
            values = list(_performance(case, where))
            if values:
                made.append(_run(case, values, version, count, where))
    if not made:
        raise malformed(where, 0, f"{count} test cases, none with a performance variable", "one at least", REMEDY)
    return made


def _performance(case: Mapping[str, Any], where: str) -> Iterator[Reported]:
    """Yield the performance variables of a test case: a mapping since data version 4, a list before."""
    variables = case.get("perfvalues") or {}
    if isinstance(variables, Mapping):
        for key, entry in variables.items():
            if not isinstance(entry, Sequence) or not 5 <= len(entry) <= 6:
                raise malformed(where, 0, f"{key}: {str(entry)[:80]}", "value, reference, two bounds, unit and result")
            if entry[0] is not None:
                name = str(key).rpartition(":")[2]
                yield Reported(name[:100], str(entry[4] or "")[:40], "value", real(entry[0], name, where))
        return
    for entry in case.get("perfvars") or []:
        if entry.get("value") is not None:
            name = str(entry["name"])
            yield Reported(name[:100], str(entry.get("unit") or "")[:40], "value", real(entry["value"], name, where))


_STATED = (
    *("num_tasks_per_node", "num_cpus_per_task", "num_tasks_per_core", "num_gpus_per_node", "use_multithreading"),
    *("params", "check_params", "executable", "exclusive_access", "build_system", "modules"),
)


def _run(case: Mapping[str, Any], values: list[Reported], version: str, number: int, where: str) -> Run:
    """Make the run of a test case."""
    name = str(case.get("display_name") or case.get("name") or case.get("unique_name"))
    tasks = case.get("num_tasks")
    seconds = case.get("time_run")
    if seconds is not None and real(seconds, "time_run", where) > 0:
        values = [metric("run_time_s", "value", real(seconds, "time_run", where)), *values]
    passed = str(case.get("result", "")) in ("pass", "success")
    doubts = [] if passed else [note("test-failed", "ReFrame's test did not pass")]
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


LOG = Log("ReFrame", ('"session_info"',), _BEGINS, runs)
