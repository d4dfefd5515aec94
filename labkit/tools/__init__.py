"""External programs, one file each: command line from a spec, server life, output through its format.

A tool's file offers ``TOOL`` (its program, the Debian and conda packages that bring it, the format that reads its
output) and pure functions that make an `Invocation` from a spec and an effort. What it prints is parsed in
`labkit.formats`. Running an invocation is the same for all tools and lives here. The exit status proves nothing (iperf3
ends with 0 when it failed): only what was parsed counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from labkit.errors import LaunchError, SpecError
from labkit.notes import note
from labkit.spec import Effort, Scalar, Spec
from labkit.tools._invocation import Invocation, Outcome, Parsed
from labkit.tools._run import Place, background, run
from labkit.tools._tool import Tool, programs, version

__all__ = [
    "Invocation",
    "Outcome",
    "Parsed",
    "Place",
    "Tool",
    "available",
    "background",
    "by_time",
    "kept",
    "only",
    "programs",
    "run",
    "this_machine",
    "version",
]


def available(factories: Sequence[Callable[[Spec, Effort], Invocation]], spec: Spec, effort: Effort) -> Invocation:
    """Invocation of the first tool that is installed and can do what the spec asks.

    Parameters
    ----------
    factories : a benchmark's ``tools``, best first.
    spec : its option ``tool``, where it has one and it is not ``auto``, leaves only the tool of that name.
    effort : how long.

    Raises
    ------
    SpecError
        If no tool can do it, installed or not; says why for each.
    LaunchError
        If none of those that can is installed; names the Debian package of each.
    """
    asked = dict(spec.options).get("tool", "auto")
    invocations, refusals = [], []
    for factory in factories:
        name = factory.__module__.rpartition(".")[2]
        if asked not in ("auto", name):
            continue
        try:
            invocations.append(factory(spec, effort))
        except SpecError as error:
            refusals.append(f"{name}: {error}")
    for invocation in invocations:
        if not invocation.missing:
            return invocation
    if not invocations:
        raise SpecError(" ".join(refusals) or f"tool={asked!r}, but {spec.benchmark} has no such tool. Set tool=auto.")
    raise _absent(spec, invocations, refusals)


def _absent(spec: Spec, invocations: Sequence[Invocation], refusals: Sequence[str]) -> LaunchError:
    """Error that none of the tools is there, with what brings each."""
    first, *others = (
        f"{invocation.tool} ({', '.join(invocation.missing)} not on the PATH; Debian package {invocation.package})"
        for invocation in invocations
    )
    instead = f" Instead: {', or '.join(others)}." if others else ""
    cannot = f" These cannot do it: {' '.join(refusals)}" if refusals else ""
    ways = [f"'{programs()[invocation.tool].remedy}'" for invocation in invocations if invocation.tool in programs()]
    return LaunchError(f"{spec.benchmark} needs {first}.{instead} Install with {', or '.join(ways)}.{cannot}")


def kept(parsed: Parsed, effort: Effort) -> Parsed:
    """The samples that the effort asks for: without the warm-up, and at most the exact count; warns of fewer."""
    low, wanted = effort.warmup or 0, effort.iterations
    chosen = slice(low, None if wanted is None else low + wanted)
    times = parsed.time_ns[chosen]
    extras = {name: values[chosen] for name, values in parsed.extras.items()}
    few = len(times) < (wanted or 1)
    text = f"{len(times)} iterations instead of {wanted or 'at least 1'}: the time limit was reached."
    short = (note("few-iterations", text, have=len(times), wanted=wanted or 1),) if few else ()
    return replace(parsed, time_ns=times, extras=extras, warnings=(*parsed.warnings, *short))


def only(spec: Spec, tool: str, instead: str, **usual: Scalar) -> None:
    """Refuse options that a tool cannot follow.

    Parameters
    ----------
    spec : what is asked for.
    tool : that cannot.
    instead : tools that can, for the error.
    usual : option → the one value at which there is nothing to follow.

    Raises
    ------
    SpecError
        If the spec has another value of one of them.
    """
    for name, value in usual.items():
        if spec.values.get(name, value) != value:
            raise SpecError(
                f"{name}={spec.values[name]}, but {tool} cannot set it. Set {name}={value or repr(value)}, "
                f"or use {instead}."
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


def this_machine(spec: Spec) -> str:
    """Address of this machine's loopback in the spec's option ``ip``; a testbed puts that of a host of its own there.

    Raises
    ------
    SpecError
        If the spec names other hosts, and no testbed has them.
    """
    if spec.testbed == "local" and set(spec.hosts) - {"localhost", "127.0.0.1", "::1"}:
        raise SpecError(
            f"--hosts {','.join(spec.hosts)}, but {spec.benchmark} starts its server on this machine "
            "and measures the loopback. Leave --hosts out, or name two hosts of --testbed virtual-cluster."
        )
    return "::1" if spec.option("ip") == "ipv6" else "127.0.0.1"
