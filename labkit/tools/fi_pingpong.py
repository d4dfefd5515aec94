"""fi_pingpong: ping-pong through libfabric, with the provider as an option.

It runs for a count of iterations, not for a time. Both ends poll in a loop while they wait: on a machine with few cores
they slow each other down. Its control connection, over TCP whatever the provider, listens on all addresses.
"""

from __future__ import annotations

from pathlib import Path

from labkit.formats import fi_pingpong as layout
from labkit.host import VERSION
from labkit.options.sockets import FabricPingpong
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Parsed, Tool, this_machine

TOOL = Tool(
    name="fi_pingpong",
    commands=("fi_info",),
    pattern=rf"libfabric: {VERSION}",  # its own program prints none
    package="libfabric-bin",
    conda="libfabric",
    programs=("fi_pingpong",),
    format=layout,
    purpose="sockets.fabric_pingpong",
)
_PER_S = 5000  # iterations for 1 s of the time cap
_SLOWEST_S = 5e-3  # an iteration where both ends share a core


def pingpong(spec: Spec[FabricPingpong], effort: Effort) -> Invocation:
    """Messages of the spec's size there and back, one at a time."""
    address, provider = this_machine(spec), spec.options.provider
    endpoint: str = spec.options.endpoint
    if endpoint == "auto":
        endpoint = {"tcp": "msg", "udp": "dgram", "verbs": "msg", "net": "msg", "sockets": "msg"}.get(provider, "rdm")
    iterations = effort.iterations or max(100, round(effort.time_cap * _PER_S))
    both = [
        "-p",
        provider,
        "-e",
        endpoint,
        "-I",
        str(iterations),
        "-S",
        str(spec.size),
        *(["-6"] if ":" in address else []),
    ]
    duration = iterations * _SLOWEST_S

    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(reported=tuple(layout.parse(text)))

    return Invocation(
        tool=TOOL,
        server=("fi_pingpong", *both, "-B", "{port}"),
        client=("fi_pingpong", *both, "-P", "{port}", "{address}"),
        parse=parsed,
        address=address,
        definition=(
            f"fi_pingpong, provider {provider}, endpoint {endpoint}: mean only; half a round trip doubled to one, as "
            "in netperf TCP_RR."
        ),
        duration=duration,
        time_limit=duration + effort.time_limit,
        facts={"endpoint": endpoint, "iterations": iterations},
    )
