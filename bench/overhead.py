"""Print what labkit itself costs: time outside the timed loops, per point and per measurement. Asserts nothing."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time

from labkit.point.spec import Effort, sweep
from labkit.run import measuring
from labkit.store.campaign import Campaign


def main() -> None:
    """Print overhead per point and over the measuring phase, and the time of ``import labkit``."""
    specs = (
        sweep("mpi.latency", sizes="1:64Ki")
        + sweep("mpi.bandwidth", sizes="1:64Ki")
        + sweep("mpi.allreduce", sizes="4:64Ki")
    )
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(folder)
        began = time.perf_counter()
        measuring.measure(specs, Effort(launches=1, time_cap=0.2, ci=0.0001), into=campaign)
        whole = time.perf_counter() - began
        samples = list(campaign.samples())
    timed = sum(s.meta["timed_s"] for s in samples)
    inside = sum(s.meta["elapsed"] for s in samples)
    starts = sorted(s.meta["start"] for s in samples)
    print(
        f"{len(samples)} points: {timed:.2f} s of kernels, {inside:.2f} s in the points, {whole:.2f} s from call to return"
    )
    print(f"beside the kernels, per point: {(inside - timed) / len(samples) * 1e3:.1f} ms in the ranks")
    from datetime import datetime

    first, last = (datetime.fromisoformat(t) for t in (starts[0], starts[-1]))
    phase = (last - first).total_seconds() + max(s.meta["elapsed"] for s in samples if s.meta["start"] == starts[-1])
    print(f"measuring phase (first point begun to last point done): {phase:.2f} s = {phase / timed:.2f} × the kernels")
    times = []
    for _ in range(11):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import labkit; labkit.Spec"], check=True)
        with_labkit = time.perf_counter() - began
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times.append(with_labkit - (time.perf_counter() - began))
    print(f"import labkit: {sorted(times)[5] * 1e3:.0f} ms above a bare Python (median of 11)")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
