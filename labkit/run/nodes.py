"""Hosts of a batch job: those that the ranks of a spec get, and those that labkit leaves out because they fail."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from labkit import benchmarks, testbeds
from labkit.host import allocation
from labkit.io import beneath
from labkit.point.spec import Spec
from labkit.run import launch
from labkit.store.campaign import Campaign
from labkit.testbeds import local

PROBE = 20.0  # s; srun tries for ten to reach a node whose slurmd is dead
AGAIN = 1.0  # s between two trials of a node


def hosts(spec: Spec) -> tuple[str, ...]:
    """Hosts that the batch job gives ranks, or the ends of a tool; empty outside of one, or if the spec names them."""
    job = allocation.current()
    benchmark = benchmarks.get(spec.benchmark)
    if job is None or testbeds.outline(spec.testbed).hosts:
        return ()
    if not benchmark.mpi:
        return () if spec.hosts and spec.hosts[0] not in allocation.WORDS else local.hosts(spec)
    assigned = launch.job_hosts(spec, job)
    return () if assigned == spec.hosts else assigned


def left_out(suspects: Iterable[str], campaign: Campaign) -> list[str]:
    """Leave out the hosts of a failed start on which even a trivial step fails, for the rest of the campaign.

    Returns
    -------
    The hosts left out.
    """
    job, path = allocation.current(), os.environ.get(allocation.LEFT_OUT_FILE)
    remote = [name for name in suspects if name != os.uname().nodename]
    if job is None or job.system != "slurm" or not remote:
        return []
    if not path:
        path = os.environ[allocation.LEFT_OUT_FILE] = str(campaign.path / "jobs" / "left-out.txt")
    reasons = probed(remote)
    for name, reason in reasons.items():
        line = f"{name}\tin job {job.name}, ranks and a trivial step both failed there: {reason}\n"
        beneath.append(Path(path).parents[1], f"jobs/{Path(path).name}", line.encode())
    for name, reason in reasons.items():
        campaign.tell("left_out", host=name, reason=reason, job=job.name)
    return list(reasons)


def probed(hosts: Sequence[str]) -> dict[str, str]:
    """Run a trivial step on each host, and again for `PROBE` if it fails; if it never runs, host → why.

    Slurm refuses new steps for a while on a host whose last step is still being cleared away.
    """
    reasons, end = dict.fromkeys(hosts, ""), time.monotonic() + PROBE
    while reasons and time.monotonic() < end:
        reasons = {name: reasons[name] or reason for name, reason in _probed_once(list(reasons), end).items()}
        time.sleep(AGAIN if reasons else 0)
    return reasons


def _probed_once(hosts: Sequence[str], end: float) -> dict[str, str]:
    """Run a trivial step on each host, until a time of `time.monotonic`; if it fails, host → why."""
    words = ["srun", "--overlap", "--nodes=1", "--ntasks=1", "--mpi=none", "--immediate=10"]
    steps = {
        name: subprocess.Popen(
            [*words, f"--nodelist={name}", "true"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in hosts
    }
    reasons = {}
    for name, step in steps.items():
        try:
            _, stderr = step.communicate(timeout=max(end - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            step.kill()
            step.communicate()
            stderr = f"no answer in {PROBE:g} s"
        if step.returncode:
            reasons[name] = stderr.strip().splitlines()[0] if stderr.strip() else f"exit status {step.returncode}"
    return reasons
