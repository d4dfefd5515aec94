"""Refuse settings that a benchmark ignores, and network devices that do not exist, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from labkit import benchmarks, testbeds
from labkit.benchmarks import ToolBenchmark
from labkit.errors import SpecError
from labkit.host import network
from labkit.point.spec import Spec
from labkit.run import launch
from labkit.tools import ucx_perftest

# field → values that ask for nothing; a resolved spec of a tool has launcher "none"
USUAL: Mapping[str, tuple[Any, ...]] = {
    "device": ("",),
    "transport": ("auto",),
    "launcher": ("auto", "none"),
    "ppn": (0,),
    "bind": ("auto",),
    "environment": ((),),
    "hosts": ((),),
}
WORDS = {"environment": "--factor env.NAME"}  # of the command line, where it is not that of the field
LOCAL = {"localhost", "127.0.0.1", "::1"}


def refuse(specs: Iterable[Spec]) -> None:
    """Refuse a setting that no spec of its benchmark follows, and a network device that does not exist.

    A comparison may state a device although only one of its paths uses it.

    Raises
    ------
    SpecError
        Names the setting, its word on the command line, and what is there.
    """
    ignored: dict[tuple[str, str], str] = {}
    followed = set[tuple[str, str]]()
    for spec in specs:
        if spec.values.get("directory") and testbeds.outline(spec.testbed).directory:
            raise SpecError(
                f"directory={spec.values['directory']}, but testbed={spec.testbed} has a separate folder. Leave "
                "directory out, or set testbed=local."
            )
        for field, usual in USUAL.items():
            if getattr(spec, field) in usual:
                continue
            key = spec.benchmark, field
            if reason := _reason(spec, field):
                ignored.setdefault(key, f"{_shown(spec, field)}, but {reason}. Leave {_word(field)} out.")
            else:
                followed.add(key)
                _check_device(spec, field)
    for key, text in ignored.items():
        if key not in followed:
            raise SpecError(text)


def _reason(spec: Spec, field: str) -> str:
    """Return why a benchmark ignores a setting; empty if it follows it."""
    benchmark = benchmarks.get(spec.benchmark)
    if field in ("device", "transport", "launcher", "bind", "environment") and testbeds.outline(spec.testbed).network:
        return f"a simulated network has no {field}"
    if isinstance(benchmark, ToolBenchmark) and not benchmark.mpi and field in ("device", "transport", "hosts"):
        return _of_tool(spec, field)
    if not benchmark.mpi:
        return f"{spec.benchmark} has no MPI ranks and uses no {field}"
    if field == "device" and spec.transport not in ("tcp", *launch.RDMA):
        return f"ranks use a device with --transport tcp, rc or ud only, not with transport={spec.transport}"
    return ""


def _of_tool(spec: Spec, field: str) -> str:
    """Return why the tools of a benchmark ignore a setting; they check the hosts of a server themselves."""
    benchmark = benchmarks.get(spec.benchmark)
    if field == "device":
        follows = benchmark.ends.rdma and not (benchmark.ends.transports and spec.transport in ucx_perftest.MEMORY)
        return "" if follows else f"{spec.benchmark} over {_path(spec)} has no choice of device"
    if field == "transport":
        return "" if benchmark.ends.transports else f"{spec.benchmark} uses the transport of its tool"
    local_only = (
        benchmark.ends.where == "none" and not set(spec.hosts) <= LOCAL and not testbeds.outline(spec.testbed).hosts
    )
    return f"{spec.benchmark} measures the storage of this machine" if local_only else ""


def _path(spec: Spec) -> str:
    """What carries a tool's messages, for an error."""
    usual = "a file system" if benchmarks.get(spec.benchmark).ends.where == "none" else "IP"
    return spec.transport if spec.transport != "auto" else usual


def _check_device(spec: Spec, field: str) -> None:
    """Refuse a network device that this machine lacks, if all ranks run here and the device is a name."""
    hosts, testbed = {host.rpartition(":")[0] or host for host in spec.hosts}, testbeds.outline(spec.testbed)
    if field != "device" or spec.transport != "tcp" or not hosts <= LOCAL:
        return
    if testbed.guest or testbed.hosts or testbed.network:  # it has its own devices
        return
    names = [interface["name"] for interface in network.interfaces()]
    missing = [name for name in spec.device.split(",") if "/" not in name and name not in names]  # a subnet has a /
    if missing:
        raise SpecError(
            f"{_shown(spec, field)}, but this machine has no network device {missing[0]!r}. "
            f"There are: {', '.join(names)}."
        )


def _word(field: str) -> str:
    return WORDS.get(field, f"--{field}")


def _shown(spec: Spec, field: str) -> str:
    """A setting as the user wrote it."""
    value = getattr(spec, field)
    if field == "environment":
        return f"--factor env.{value[0][0]}={value[0][1]}"
    return f"{_word(field)} {','.join(value) if field == 'hosts' else value}"
