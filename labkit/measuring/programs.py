"""Points that an external tool serves: one start of the tool for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from time import perf_counter

from labkit import benchmarks, host, tools
from labkit.benchmarks import Benchmark
from labkit.campaign import Campaign
from labkit.errors import LabkitError
from labkit.measuring import Counter, Failure, Point
from labkit.samples import Samples
from labkit.spec import Effort, Spec
from labkit.testbeds import Testbed
from labkit.units import KiB


def run(
    points: Sequence[Point], effort: Effort, held: Campaign, testbed: Testbed, counter: Counter
) -> Iterator[Failure]:
    """Run the tool of every point and keep what it gave: samples, or the values it reports."""
    for point in points:
        counter.tell(point)
        try:
            _keep(point, effort, held, testbed)
        except LabkitError as error:
            yield Failure(point, error)
        counter.done += 1
        counter.tell(point)


def _keep(point: Point, effort: Effort, held: Campaign, testbed: Testbed) -> None:
    """Run one point and write its samples file."""
    spec, load, began, clock = point.spec, host.load_snapshot(), datetime.now(UTC), perf_counter()
    benchmark = benchmarks.get(spec.benchmark)
    job = tools.available(benchmark.jobs, spec, effort)
    before = testbed.evidence()
    outcome = tools.run(job, place=testbed.place(spec))
    crossed = {name: value - before.get(name, 0) for name, value in testbed.evidence().items()}
    load_end, machine = host.load_snapshot(), host.describe()
    busy = (2 if job.server else 1) * len(job.each)  # processes of the tool that keep a core busy
    sampled = outcome.time_ns.size > 0
    meta = {
        **outcome.meta,
        "engine": job.tool, "library": point.library, "verified": bool(outcome.meta.get("verified")),
        "commands": [list(words) for words in outcome.commands],
        "stopped_by": "tool", "timing": "each" if sampled else "", "cadence": benchmark.cadence,
        "fingerprint": point.fingerprint, "start": began.isoformat(timespec="milliseconds"),
        "elapsed": perf_counter() - clock, "seed": effort.seed, "load_start": load, "load_end": load_end,
        "testbed": dict(testbed.facts), "evidence": crossed,
        "badges": [
            *testbed.badges, *outcome.badges, *(_path(benchmark, spec, outcome, crossed) if job.server else []),
            *host.badges(machine, load, load_end, ranks=busy),
        ],
        "warnings": [*outcome.warnings, *host.warnings_for_run(machine, load, load_end, ranks=busy)],
    }  # fmt: skip
    kept = Samples(
        spec=spec, effort=effort, host=machine, launch=point.launch, time_ns=outcome.time_ns,
        ranks=outcome.ranks, origin="measured" if sampled else "reported", reported=outcome.reported, meta=meta,
        source=outcome.source, extras=outcome.extras,
    )  # fmt: skip
    held.save(kept, point.fingerprint)


def _path(benchmark: Benchmark, spec: Spec, outcome: tools.Outcome, crossed: Mapping[str, int]) -> list[str]:
    """The badge of samples whose bytes were not seen on the links of the testbed."""
    if "payload_B" in outcome.meta:  # of many senders, which meet on the link of the receiver
        carried = [value for name, value in crossed.items() if name.endswith("_bytes")]
        payload = float(str(outcome.meta["payload_B"]))
    else:
        carried = [value for name, value in crossed.items() if name.endswith(".tx_bytes")]
        work = benchmark.metrics.get("bandwidth_MBps")
        payload = outcome.time_ns.size * (work(spec) if work else spec.size)
    return ["path mismatch"] if carried and payload > 32 * KiB and max(carried) < 0.95 * payload else []
