"""redis: a key-value store that one thread serves; started privately, without a disk."""

from __future__ import annotations

from labkit.formats import kv_client as layout
from labkit.options.kv import Loop, OpenLoop
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Tool, _kv

TOOL = Tool(
    name="redis",
    commands=("redis-server",),
    pattern=r"Redis server v=(\d+(?:\.\d+)+)",
    package="redis-server",
    programs=("redis-server",),
    format=layout,
    purpose="kv.closed_loop and kv.open_loop with store=redis, kv.redis_benchmark",
    instead="memcached",
)


def closed_loop(spec: Spec[Loop], effort: Effort) -> Invocation:
    """A YCSB workload with clients that wait for each answer."""
    return _kv.invocation(TOOL, spec, effort, server(spec, spec.options.server_threads))


def open_loop(spec: Spec[OpenLoop], effort: Effort) -> Invocation:
    """A YCSB workload with operations due at a rate."""
    return _kv.invocation(TOOL, spec, effort, server(spec, spec.options.server_threads), spec.options)


def server(spec: Spec, threads: int = 1) -> list[str]:
    """Command line of one server: no snapshots, no log of operations, no replication, 1 GiB at most.

    Parameters
    ----------
    threads : for its sockets.
    """
    where = ["--port", "0", "--unixsocket", "@socket@"]
    if spec.transport != "unix":
        where = ["--bind", "{address}", "--port", "@port@", "--protected-mode", "no"]
    return [
        "redis-server",
        *where,
        "--save",
        "",
        "--appendonly",
        "no",
        "--daemonize",
        "no",
        "--maxmemory",
        "1gb",
        *(["--io-threads", str(threads), "--io-threads-do-reads", "yes"] if threads > 1 else []),
    ]
