"""Points of external tools: one start of the tool for each."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from labkit import benchmarks, host, tools
from labkit.campaign import Campaign
from labkit.errors import LabkitError, of_point
from labkit.host import allocation
from labkit.measuring import bounds, paths
from labkit.measuring.point import Failure, Point
from labkit.measuring.progress import Counter
from labkit.samples import Samples
from labkit.samples.facts import VERIFIED, complete, noted
from labkit.samples.start import Start
from labkit.spec import Effort
from labkit.testbeds import Testbed

COMMANDS = 512  # B of command lines from which they are a part of the start's record


def run(
    points: Sequence[Point], effort: Effort, campaign: Campaign, testbed: Testbed, counter: Counter
) -> Iterator[Failure]:
    """Run the tool of every point and keep its samples, or the values it reports."""
    return each(points, counter, lambda point: _keep(point, effort, campaign, testbed))


def each(points: Sequence[Point], counter: Counter, keep: Callable[[Point], None]) -> Iterator[Failure]:
    """Measure points one by one; those that fail do not stop the others."""
    for point in points:
        counter.tell(point)
        try:
            keep(point)
        except LabkitError as error:
            yield Failure(point, of_point(error))
        counter.done += 1
        counter.tell(point)


def shell(points: Sequence[Point], effort: Effort) -> list[str]:
    """The runs of the tools, as a shell takes them."""
    lines = []
    for point in points:
        invocation = tools.available(benchmarks.tools_of(point.spec.benchmark), point.spec, effort)
        lines.append(" & ".join(shlex.join(words) for words in (invocation.server, invocation.client) if words))
    return lines


def _keep(point: Point, effort: Effort, campaign: Campaign, testbed: Testbed) -> None:
    """Run one point and write its samples file."""
    spec, load, began, clock = point.spec, host.load_snapshot(), datetime.now(UTC), perf_counter()
    watch = host.Watch()
    benchmark = benchmarks.get(spec.benchmark)
    invocation = tools.available(benchmarks.tools_of(spec.benchmark), spec, effort)
    before, batch = testbed.evidence(), allocation.current()
    outcome = tools.run(invocation, place=testbed.place(spec))
    crossed = {name: value - before.get(name, 0) for name, value in testbed.evidence().items()}
    load_end, machine = host.load_snapshot() | {"others": watch.since(load["monotonic_s"])}, host.describe()
    elapsed = perf_counter() - clock
    processes = (2 if invocation.server else 1) * len(invocation.each)  # processes of the tool that keep a core busy
    sampled = outcome.time_ns.size > 0
    commands = [list(words) for words in outcome.commands]
    shared: dict[str, Any] = {"testbed": dict(testbed.facts)} | ({"allocation": batch.facts()} if batch else {})
    if len(json.dumps(commands)) > COMMANDS:
        shared["commands"] = commands
    record = Start.of(host.lasting(), shared, spec.as_dict())
    meta = {
        **outcome.meta,
        "commands": commands,
        **record.meta,
        "engine": invocation.tool,
        "library": point.library,
        "verified": VERIFIED.of(outcome.meta),
        "stopped_by": "tool",
        "timing": "each" if sampled else "",
        "cadence": benchmark.cadence,
        "fingerprint": point.fingerprint,
        "start": began.isoformat(timespec="milliseconds"),
        "elapsed": elapsed,
        "seed": effort.seed,
        "load_start": load,
        "load_end": load_end,
        "evidence": crossed,
        **point.marks[0],
        **noted(
            [
                *testbed.badges,
                *outcome.badges,
                *(paths.of_tool(spec, effort, outcome, crossed, elapsed) if invocation.server else []),
                *host.badges(machine, load, load_end),
            ],
            [*point.marks[1], *outcome.warnings, *host.warnings_for_run(machine, load, load_end, ranks=processes)],
        ),
    }
    meta |= bounds.of_point(meta, record.meta)
    origin = "measured" if sampled else "reported"
    samples = Samples(
        spec=spec,
        effort=effort,
        host=machine,
        launch=point.launch,
        time_ns=outcome.time_ns,
        ranks=outcome.ranks,
        origin=origin,
        reported=outcome.reported,
        meta=complete(meta, origin),
        source=outcome.source,
        extras=outcome.extras,
        start=record,
    )
    campaign.save(samples, point.fingerprint)
