"""Which two processors a benchmark of two threads uses."""

from __future__ import annotations

import os
import re
from pathlib import Path

from labkit.errors import KernelError
from labkit.options import frozen
from labkit.point.spec import Spec

_PAIR = re.compile(r"(\d{1,4})-(\d{1,4})")
_CPUS = Path("/sys/devices/system/cpu")


@frozen
class Cores:
    """Options of a benchmark of two threads.

    Parameters
    ----------
    cores : processors of the two threads, such as `0-1` (numbers of Linux). `auto` takes the first processor that the
        process may use and the next one of another core, `one` the first processor for both.
    """

    cores: str = "auto"


def check(spec: Spec[Cores]) -> str:
    """What is wrong with the option; empty if nothing is."""
    text = spec.options.cores
    if text in ("auto", "one") or _PAIR.fullmatch(text):
        return ""
    return f"cores={text}, but it must be auto, one, or two numbers of processors. Set cores=0-1."


def two(spec: Spec[Cores]) -> str:
    """What is wrong with the option where the threads must be on two cores; empty if nothing is."""
    cores = spec.options.cores
    if cores == "one" or len({*cores.split("-")}) < cores.count("-") + 1:
        return f"cores={cores}, but a line changes cores only between two. Set cores=0-1."
    return check(spec)


def chosen(spec: Spec[Cores]) -> tuple[int, int]:
    """The two processors, on the machine where the threads run.

    Raises
    ------
    KernelError
        If the process may not use them, or has no two cores.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if match := _PAIR.fullmatch(spec.options.cores):
        pair = int(match[1]), int(match[2])
        if missing := [cpu for cpu in pair if cpu not in allowed]:
            listed = ", ".join(map(str, allowed))
            raise KernelError(f"cores={match[0]}, but the process may use {listed}, not {missing[0]}. Choose of these.")
        return pair
    first = allowed[0]
    if spec.options.cores == "one":
        return first, first
    siblings = _siblings(first)
    for cpu in allowed[1:]:
        if cpu not in siblings:
            return first, cpu
    raise KernelError(
        f"{spec.benchmark} needs two cores, but the process may use one: processor {first}. Allow it more (taskset, "
        "--cpus-per-task), or leave this benchmark out."
    )


def _siblings(cpu: int) -> set[int]:
    """Processors that are hardware threads of the same core; only the given one if Linux does not state them."""
    try:
        text = (_CPUS / f"cpu{cpu}/topology/thread_siblings_list").read_text()
    except OSError:
        return {cpu}
    ranges = (part.partition("-") for part in text.strip().split(","))
    return {one for low, _, high in ranges for one in range(int(low), int(high or low) + 1)}
