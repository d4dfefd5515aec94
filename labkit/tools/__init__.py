"""External programs, one file each: command line from a spec, server life, output through its format.

A tool's file has ``TOOL`` (its program, the Debian and conda packages that bring it, the format that reads its
output) and pure functions that make an `Invocation` from a spec and an effort. `labkit.formats` parses what it prints.
All invocations run in the same way, by the code of this package. The exit status proves nothing (iperf3 ends with 0
when it failed); only output that can be parsed is a result.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from labkit import host
from labkit.errors import LaunchError, SpecError
from labkit.point.notes import note
from labkit.point.spec import Effort, Scalar, Spec
from labkit.point.storage import Access, unfit
from labkit.point.units import plural
from labkit.tools._invocation import Facts, Invocation, Outcome, Parsed
from labkit.tools._linked import mpi as linked_mpi
from labkit.tools._run import Place, background, run
from labkit.tools._tool import Tool, programs, version

__all__ = [
    "GROUP",
    "Facts",
    "Invocation",
    "Outcome",
    "Parsed",
    "Place",
    "Tool",
    "available",
    "background",
    "by_time",
    "fit",
    "linked_mpi",
    "only",
    "programs",
    "run",
    "this_machine",
    "trimmed",
    "version",
]


def available(factories: Sequence[Callable[[Spec, Effort], Invocation]], spec: Spec, effort: Effort) -> Invocation:
    """Return the invocation of the first tool that is installed and can do what the spec asks.

    Parameters
    ----------
    factories : a benchmark's ``tools``, best first.
    spec : its option ``tool``, if it has one and it is not ``auto``, leaves only the tool of that name.
    effort : how long.

    Raises
    ------
    SpecError
        If no tool can do it, installed or not; says why for each.
    LaunchError
        If no suitable tool is installed. The error lists the commands that install one.
    """
    invocations, refusals = able(factories, spec, effort)
    for invocation in invocations:
        if not invocation.missing:
            return invocation
    if not invocations:
        wrong = f"tool={spec.values.get('tool', 'auto')!r}, but {spec.benchmark} has no such tool. Set tool=auto."
        raise SpecError(" ".join(refusals.values()) or wrong)
    raise _absent(spec, invocations, refusals)


def able(
    factories: Sequence[Callable[[Spec, Effort], Invocation]], spec: Spec, effort: Effort
) -> tuple[list[Invocation], dict[str, str]]:
    """Return the invocations of all tools that can run a spec, installed or not, and why other tools cannot.

    Parameters
    ----------
    factories, spec, effort : as in `available`.
    """
    requested = spec.values.get("tool", "auto")
    invocations, refusals = list[Invocation](), dict[str, str]()
    for factory in factories:
        name = factory.__module__.rpartition(".")[2].lstrip("_")
        if requested not in ("auto", name):
            continue
        try:
            invocations.append(factory(spec, effort))
        except SpecError as error:
            refusals[name] = f"{name}: {error}"
    return invocations, refusals


def _absent(spec: Spec, invocations: Sequence[Invocation], refusals: Mapping[str, str]) -> LaunchError:
    """Return the error that none of the tools is installed, with the commands that install one."""
    known = [invocation.tool for invocation in invocations]
    names = [_with_commands(invocation) for invocation in invocations]
    needs = f"{names[0]}, which is not installed"
    if len(names) > 1:
        needs = f"one of {', '.join(names)}, and none is installed"
    here = [text for name, text in refusals.items() if name in programs() and _on_path(programs()[name])]
    cannot = f" What is installed cannot do it: {' '.join(here)}" if here else ""
    return LaunchError(f"{spec.benchmark} needs {needs}. Install with {host.ways(known)}.{cannot}")


def _with_commands(invocation: Invocation) -> str:
    """Return a tool's name, with the missing commands if these have other names."""
    missing = [name for name in invocation.missing if name != invocation.tool.name]
    return f"{invocation.tool.name} ({', '.join(invocation.missing)})" if missing else invocation.tool.name


def _on_path(tool: Tool) -> bool:
    return bool(tool.programs) and all(map(shutil.which, tool.programs))


def trimmed(parsed: Parsed, effort: Effort) -> Parsed:
    """Drop the warm-up and samples beyond the exact count of the effort; warn if there are fewer.

    Raises
    ------
    LaunchError
        If all samples belong to the warm-up: what the tool reports of them is no result.
    """
    warmup, wanted = effort.warmup or 0, effort.iterations
    if 0 < len(parsed.time_ns) <= warmup:
        raise LaunchError(
            f"The time ended within the warm-up: the tool made {plural(len(parsed.time_ns), 'iteration')}, and -x is "
            f"{warmup:,}. Set a smaller -x or a longer --time-cap."
        )
    chosen = slice(warmup, None if wanted is None else warmup + wanted)
    times = parsed.time_ns[chosen]
    extras = {name: values[chosen] for name, values in parsed.extras.items()}
    short_of = len(times) < (wanted or 1)
    text = f"{plural(len(times), 'iteration')} instead of {wanted or 'at least 1'}: the time limit was reached."
    warnings = (note("few-iterations", text, have=len(times), wanted=wanted or 1),) if short_of else ()
    return replace(parsed, time_ns=times, extras=extras, warnings=(*parsed.warnings, *warnings))


def only(spec: Spec, tool: str, instead: str, **defaults: Scalar) -> None:
    """Refuse options that a tool cannot follow.

    Parameters
    ----------
    spec : what is requested.
    tool : tool that cannot.
    instead : tools that can, for the error.
    defaults : option → the one value that needs nothing from the tool.

    Raises
    ------
    SpecError
        If the spec has another value of one of them.
    """
    for name, value in defaults.items():
        if (asked := spec.values.get(name, value)) != value:
            raise SpecError(
                f"{name}={asked}, but {tool} cannot set it. Set {name}={value or repr(value)}, or use {instead}."
            )


def by_time(effort: Effort, tool: str, instead: str) -> None:
    """Refuse an exact count where a tool knows a time only.

    Raises
    ------
    SpecError
        If there is a count.
    """
    if effort.iterations is not None:
        raise SpecError(
            f"iterations={effort.iterations}, but {tool} runs for a time, not for a count. Leave it out, or use "
            f"{instead}."
        )


def fit(folder: Path, access: Access, file_size: int) -> Facts:
    """Return the storage facts of a run's folder, after checking that it can take the run's files.

    Parameters
    ----------
    folder : folder of the run, inside the one that the user named.
    file_size : size of all files, B.

    Raises
    ------
    SpecError
        If it cannot.
    """
    if complaint := unfit(folder, needs=file_size, direct=access.o_direct, named=folder.parent):
        raise SpecError(complaint)
    return access.facts(folder, file_size)


GROUP = "239.255.77.1"  # of multicast, within a site


class OverIp(Protocol):
    """Options of a benchmark over the internet protocol."""

    @property
    def ip(self) -> str:
        """Its version."""


def this_machine(spec: Spec[OverIp]) -> str:
    """Return the loopback address of the spec's option ``ip``; a testbed replaces it with the address of its host."""
    return "::1" if spec.options.ip == "ipv6" else "127.0.0.1"
