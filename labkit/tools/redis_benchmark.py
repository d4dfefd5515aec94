"""redis-benchmark: the load generator of redis. It runs for a count of requests, and reports statistics."""

from __future__ import annotations

from pathlib import Path

from labkit.errors import SpecError
from labkit.formats import redis_benchmark as layout
from labkit.host import VERSION
from labkit.options.kv import RedisBenchmark
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Parsed, Tool, redis, this_machine

TOOL = Tool(
    name="redis_benchmark",
    commands=("redis-benchmark",),
    pattern=rf"redis-benchmark {VERSION}",
    package="redis-tools redis-server",
    programs=("redis-benchmark", "redis-server"),
    format=layout,
    purpose="kv.redis_benchmark",
    instead="kv.closed_loop",
)
_PER_S = 10_000  # requests for 1 s of the time cap
_SLOWEST_S = 0.1  # of a request over a slow link


def closed_loop(spec: Spec[RedisBenchmark], effort: Effort) -> Invocation:
    """Requests of one command, each client's one after the other.

    Raises
    ------
    SpecError
        If warm-up is requested, which redis-benchmark has not.
    """
    if effort.warmup:
        raise SpecError(f"warmup={effort.warmup}, but redis-benchmark has none. Leave it out, or use kv.closed_loop.")
    clients, unix = spec.options.clients, spec.transport == "unix"
    requests = effort.iterations or max(100, round(effort.time_cap * _PER_S))
    where = ("-s", "{socket}") if unix else ("-h", "{address}", "-p", "{port}")
    servers = redis.server(spec, spec.options.server_threads)
    duration = requests / _PER_S

    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(reported=tuple(layout.parse(text)))

    return Invocation(
        tool=TOOL,
        server=tuple(word.replace("@port@", "{port}").replace("@socket@", "{socket}") for word in servers),
        client=(
            "redis-benchmark",
            *where,
            "-t",
            spec.options.command,
            "-n",
            str(requests),
            "-c",
            str(clients),
            "-d",
            str(spec.size),
            "-r",
            str(spec.options.records),
            "-P",
            str(spec.options.pipeline),
            "--csv",
        ),
        listens="unix" if unix else "tcp",
        parse=parsed,
        address="" if unix else this_machine(spec),
        definition="redis-benchmark: time of a request, or of a pipeline of them, at the client; percentiles from its "
        "own histogram with three digits.",
        duration=duration,
        time_limit=duration + requests * _SLOWEST_S / clients + effort.time_limit,
        facts={"iterations": requests},
    )
