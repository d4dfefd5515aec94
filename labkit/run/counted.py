"""Counters of loss, pause and congestion before and after a run without ranks of labkit, and a site's counters."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

from labkit.errors import LaunchError
from labkit.run.schedule import COUNTERS
from labkit.testbeds import Testbed
from labkit.worker import counters

LONGEST = 60.0  # s that it may take
_LINE = re.compile(r"(\S+?)[\s=:]+(\d+)")


def of_site() -> dict[str, int]:
    """Return what the site's command prints, such as counters of switches over SNMP or gNMI; empty without one.

    Raises
    ------
    LaunchError
        If it fails, takes too long, or prints something else.
    """
    words = shlex.split(os.environ.get(COUNTERS, ""))
    if not words:
        return {}
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(
            f"{COUNTERS} names a command that does not run. {_WANTED}", stderr=str(error), lasting=True
        ) from None
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    found = [_LINE.fullmatch(line) for line in lines]
    if done.returncode or not all(found):
        wrong = next((line[:80] for line, one in zip(lines, found, strict=True) if one is None), "")
        text = (
            f"{COUNTERS}: the command printed {wrong!r}. {_WANTED}"
            if wrong
            else f"{COUNTERS}: the command failed. {_WANTED}"
        )
        raise LaunchError(text, command=words, exit_status=done.returncode, stderr=done.stderr, lasting=True)
    return {one[1]: int(one[2]) for one in found if one}


_WANTED = "It must print lines such as 'leaf1.ethernet7.pause 12' and end with status 0. Correct it, or unset it."


def of_run(testbed: Testbed) -> dict[str, int]:
    """Return the counters of a testbed or of this machine, and the site's counters.

    Raises
    ------
    LaunchError
        As `of_site`.
    """
    if testbed.counters is not None:
        return {**testbed.counters(), **of_site()}
    name = os.uname().nodename
    return {f"{name}:{counter}": value for counter, value in counters.Host(Path("/proc")).read().items()} | of_site()
