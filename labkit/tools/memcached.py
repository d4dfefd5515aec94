"""memcached: a key-value cache that several threads serve; started privately, with memory for all records."""

from __future__ import annotations

import getpass
from collections.abc import Sequence

from labkit.formats import kv_client as layout
from labkit.options.kv import Loop, OpenLoop
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Tool, _kv

TOOL = Tool(
    name="memcached",
    commands=("memcached",),
    pattern=r"memcached (\d+(?:\.\d+)+)",
    package="memcached",
    programs=("memcached",),
    format=layout,
    purpose="kv.closed_loop and kv.open_loop with store=memcached, services.router with leaf=memcached",
    instead="redis",
)
_LEAST_MB = 64
_OVERHEAD = 2.5  # of slabs, items and their heads over the records


def closed_loop(spec: Spec[Loop], effort: Effort) -> Invocation:
    """A YCSB workload with clients that wait for each answer."""
    return _kv.invocation(TOOL, spec, effort, _server(spec))


def open_loop(spec: Spec[OpenLoop], effort: Effort) -> Invocation:
    """A YCSB workload with operations due at a rate."""
    return _kv.invocation(TOOL, spec, effort, _server(spec), spec.options)


def _server(spec: Spec[Loop]) -> list[str]:
    """Command line of one server; it refuses to run as root without being told so."""
    where = ["-s", "@socket@"] if spec.transport == "unix" else ["-l", "{address}", "-p", "@port@", "-U", "0"]
    return command(where, spec.options.server_threads, spec.options.records, spec.size)


def command(where: Sequence[str], threads: int, records: int, size: int) -> list[str]:
    """Return the command line of one server, with memory for this many records of a size, B.

    Parameters
    ----------
    where : words that say where it listens.
    """
    memory = _LEAST_MB + round(_OVERHEAD * records * (size + 300) / 2**20)
    return ["memcached", "-u", getpass.getuser(), *where, "-t", str(threads), "-m", str(memory), "-c", "4096"]
