"""Numbers of two benchmarks over one path as a user imports them, of which one has another unit than stated."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.situations import Cases, Parameters
from bench.situations._recorded import SPINE, apart, part, typical
from labkit.point.spec import Effort, Reported, Spec
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT

RANKS, STREAM, METRIC = "mpi.bandwidth", "sockets.tcp_stream", "bandwidth_MBps"
_EXAMPLE = "virtual-cluster"
LINK = "200mbit"


def cases(*factors: float) -> Cases:
    """Return a function that gives both benchmarks a wrong number, by each factor."""

    def given(random: np.random.Generator) -> list[Parameters]:
        return [{"factor": one, "wrong": STREAM, "scale": float(random.uniform(0.975, 0.985))} for one in factors]

    return given


def make(case: Parameters, folder: Path) -> Campaign:
    """Write both benchmarks as imported; the true rates are recorded ones, a little below the link."""
    ranks = part(_EXAMPLE, RANKS, lambda one: one.spec.testbed == SPINE and one.spec.size == 65536)
    streams = part(_EXAMPLE, STREAM, lambda one: one.spec.testbed == SPINE)
    true = typical(streams, METRIC) * case["scale"]
    campaign = Campaign(folder)
    with campaign.saving() as saving:
        for some in (ranks, streams):
            for one in some:
                factor = case["factor"] if one.spec.benchmark == case["wrong"] else 1.0
                saving.add(brought := _brought(one, true * factor), FINGERPRINT.of(brought.meta))
    return campaign


def _brought(one: Samples, value: float) -> Samples:
    """Return a launch as an import leaves it: without times, host and testbed."""
    meta = {name: one.meta[name] for name in ("library", "engine", "fingerprint")}
    spec = Spec(benchmark=one.spec.benchmark, size=one.spec.size, launcher="unknown", ranks=one.spec.ranks)
    reported = (Reported(METRIC, "MB/s", "mean", value),)
    return replace(
        one, spec=spec, host={}, origin="imported", time_ns=np.empty((0, 0), np.int64), ranks=(), reported=reported,
        meta=meta, start=None, extras={}, source="",
    )  # fmt: skip


def number(spec: Spec, tool: str, reported: Reported, launch: int = 0) -> Samples:
    """Return a number that a tool printed, as its import leaves it."""
    spec = spec.replace(launcher="unknown")
    meta = {"library": tool, "engine": tool, "fingerprint": spec.fingerprint({"library": tool})}
    return Samples(
        spec=spec, effort=Effort(), host={}, launch=launch, origin="imported", reported=(reported,), meta=meta,
    )  # fmt: skip


def shown(campaign: Campaign, case: Parameters) -> str:
    """Return that the two benchmarks are apart by the factor."""
    wrong, right = (typical(campaign.samples(name), METRIC) for name in (STREAM, RANKS))
    return apart("MB/s as imported and the true one", wrong, right, 1.04)
