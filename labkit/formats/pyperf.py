"""pyperf's JSON: benchmarks with the values of each worker process.

A process is a fresh start, so it becomes a launch: median, mean, least and greatest of its values, without warm-ups. A
value is the time of one call in s, already divided by the number of loops; benchmarks with another unit (bytes) keep it
as ``value`` with that unit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from statistics import fmean, median
from typing import Any

from labkit.formats import metric
from labkit.formats.reading.json import document
from labkit.formats.reading.log import SHOWN, Log, Run, flat
from labkit.point.spec import Reported

_BEGINS = re.compile(r"\s*\{\"benchmarks\": ?\[\{\"(?:metadata|runs)\"|[^\n]{0,200}\"benchmarks\": *\[ *$")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per process that has values; those that only calibrated have none."""
    suite, made = document(text, where), list[Run]()
    shared = suite.get("metadata", {}).table()
    for benchmark in suite["benchmarks"].items():
        common = shared | benchmark.get("metadata", {}).table()
        for run in benchmark["runs"].items():
            values = [value.real() for value in run.get("values", []).items()]
            if values:
                made.append(_run(values, common | run.get("metadata", {}).table(), len(made) + 1))
    return made


_NO_SETTING = re.compile(  # facts of one run, of its time, or the name of the machine
    r"^(?:name|unit|perf_version|python_version|hostname|platform|duration|description|command|uptime|boot_time)$"
    r"|load_avg|max_rss|peak_pagefile|cpu_freq|cpu_temp|runnable|calibrat|recalibrat"
)


def _run(values: list[float], facts: Mapping[str, Any], number: int) -> Run:
    """Return the run of a process."""
    unit = str(facts.get("unit", "second"))
    numbers = (("p50", median(values)), ("mean", fmean(values)), ("min", min(values)), ("max", max(values)))
    if unit == "second":
        reported = [metric("run_time_s", statistic, value) for statistic, value in numbers]
    else:
        reported = [Reported("value", unit[:40], statistic, value) for statistic, value in numbers]
    reported.append(Reported("values", "", "total", float(len(values))))
    words = ("hostname", "cpu_model_name", "python_version", "date", "cpu_affinity", "platform")
    return Run(
        test="pyperf",
        values=tuple(reported),
        line=number,
        options={"name": str(facts.get("name", "unnamed")), "python": str(facts.get("python_version", ""))},
        stated=flat({name: value for name, value in facts.items() if not _NO_SETTING.search(name)}),
        parameters={name: str(facts[name]) for name in words if name in facts},
        version=str(facts.get("perf_version", "")),
        source=json.dumps({"values": values})[:SHOWN],
    )


LOG = Log("pyperf", ('"benchmarks"',), _BEGINS, runs)
