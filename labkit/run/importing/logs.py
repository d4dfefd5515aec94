"""Converts the runs of logs to points with the same metadata as other imported points."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from labkit import benchmarks, formats
from labkit.benchmarks import Benchmark, LogBenchmark
from labkit.formats.reading.log import APART, Run
from labkit.point.notes import Note
from labkit.point.spec import Effort, Scalar, Spec
from labkit.run.importing.known import Known
from labkit.run.importing.messages import Messages
from labkit.run.importing.points import Given, Pattern, clock_of, meta_of
from labkit.run.importing.specs import Test, assumed, identity
from labkit.run.importing.text import Text
from labkit.store.samples import Samples
from labkit.store.samples.patterned import OWN, Points

_NO_VERSION = re.compile(r"[^\w.+ ()-]", re.ASCII)  # what is not part of a version, in files that may hold anything
LONGEST = 200  # characters of a parameter or of an option that a point keeps
_OVERHEAD_B = 150  # of a point in memory, beside the characters of its own texts


def points(
    text: Text, runs: Sequence[Run], given: Given, messages: Messages, known: Known
) -> tuple[dict[str, tuple[Points, int]], int]:
    """Convert all runs of a log.

    Returns
    -------
    New points by benchmark with their size in memory, B; and how many points were imported before.
    """
    tests = _tests()
    made: dict[str, list[tuple[bytes, str, str, str, int]]] = defaultdict(list)
    alike: Counter[tuple[object, ...]] = Counter()
    for run in runs:
        number = 0
        if any(doubt.code in APART for doubt in run.doubts):
            alike[key := (run.test, run.size, *sorted(run.options.items()))] += 1
            number = alike[key]
        if run.test not in tests:
            messages.add(f"{run.test} has no benchmark in labkit. Left out", run.line)
            continue
        values = [value for value in run.values if math.isfinite(value.value)]
        if not values:
            messages.add(f"{run.test}: no value is finite. Left out", run.line)
            continue
        made[tests[run.test][0].name].append(_point(text, run, number, tests[run.test], given, messages))
    digest, present, new = text.digest[:16], 0, {}
    for name, rows in made.items():
        keep = [True] * len(rows)
        if digest in known:
            keep = [not one for one in known.present(digest, [row[0] for row in rows], [row[4] for row in rows])]
        chosen = [row for row, kept in zip(rows, keep, strict=True) if kept]
        present += len(rows) - len(chosen)
        names, forms, shared, own, _ = (list(column) for column in zip(*chosen, strict=True)) if chosen else ([],) * 5
        size = sum(map(len, [*forms, *shared, *own])) + _OVERHEAD_B * len(chosen)
        new[name] = Points(names, forms, shared, own), size
    return new, present


@cache
def _tests() -> dict[str, Test]:
    """Return the benchmark of each test in a log, with the options that make them equal."""
    return {
        test: (b, options) for b in benchmarks.every().values() for test, options in {**b.equivalents, **b.logs}.items()
    }


def _point(
    text: Text, run: Run, number: int, test: Test, given: Given, messages: Messages
) -> tuple[bytes, str, str, str, int]:
    """Return fingerprint, pattern, shared and own text, and line of a point.

    Parameters
    ----------
    number : number of the run among equal ones whose size or settings are not known: from the second on they are not
        launches of one point, because each may have others; else 0.
    """
    benchmark, fixed = test
    ranks, doubts = _ranks(run, benchmark, given)
    for doubt in doubts:
        messages.add(f"{text.kind}: {doubt.text}", run.line)
    doubts += run.remarks
    spec = Spec(
        benchmark=benchmark.name,
        size=run.size if benchmark.sized else 0,
        ranks=ranks,
        launcher="unknown",
        testbed=(given.testbed or text.name) + (f",run={number}" if number > 1 else ""),
        options=_options(benchmark, fixed, run),
    )
    library = f"{text.kind} {_NO_VERSION.sub('', run.version)[:40]}".strip()
    values = [value for value in run.values if math.isfinite(value.value)]
    meta: dict[str, Any] = {
        "engine": text.kind,
        "library": library,
        "verified": run.verified,
        "stopped_by": "tool",
        "timing": "",
        "cadence": benchmarks.cadence(spec),
        "fingerprint": "",
        "test": run.test,
        "parameters": {name[:LONGEST]: str(value)[:LONGEST] for name, value in run.parameters.items()},
        "file": str(text.path),
        "place": text.digest[:16],
    }
    meta |= clock_of(formats.clock_ns(text.kind) if math.isnan(run.clock_ns) else run.clock_ns)
    meta, origin = meta_of(meta, [*doubts, *text.doubts], given)
    point = Samples(spec=spec, effort=Effort(launches=1), host=given.host, launch=0, origin=origin, meta=meta)
    pattern = Pattern(point, identity(library, "" if given.testbed else text.digest, doubts))
    name = pattern.name(spec.size)
    texts = ", ".join(json.dumps(value.as_dict(), allow_nan=False) for value in values)
    own = f"{spec.size}{OWN}{run.line}{OWN}{texts}"
    return name, pattern.form_with_table, json.dumps(run.source), own, run.line


def _ranks(run: Run, benchmark: Benchmark, given: Given) -> tuple[int, list[Note]]:
    """Return the number of ranks, and the doubts of the run."""
    doubts = list(run.doubts)
    if benchmark.single or run.ranks:
        return (1 if benchmark.single else run.ranks), doubts
    if given.ranks:
        return given.ranks, doubts
    least = max(benchmark.ranks[0], 2 if benchmark.runner == "ranks" else 1)  # ranks that send to each other
    return least, [*doubts, assumed(least)]


def _options(benchmark: Benchmark, fixed: Mapping[str, Scalar], run: Run) -> dict[str, Scalar]:
    """Return the options of a point: its benchmark's; if labkit only imports that one, all that the log names."""
    options: dict[str, Scalar] = dict.fromkeys(dataclasses.asdict(benchmark.options())) | dict(fixed)
    free = isinstance(benchmark, LogBenchmark)
    given = {name: value for name, value in run.options.items() if free or name in options}
    read: dict[str, Scalar] = dict(fixed) | given
    # an option of labkit may share the name of a tool's setting but mean something else
    apart = {f"stated_{name}": value for name, value in run.stated.items() if name in read and str(read[name]) != value}
    every = options | {name: value for name, value in run.stated.items() if name not in read} | apart | given
    return {name: value[:LONGEST] if isinstance(value, str) else value for name, value in every.items()}
