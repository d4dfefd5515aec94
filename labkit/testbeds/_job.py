"""The ends of a tool on hosts of a Slurm job: srun starts the server on the second host, or behind several senders.

The server's srun is a child of labkit: labkit's end ends it and the server, the end of the job ends both.
"""

from __future__ import annotations

import functools
import json
import os
import socket

from labkit import benchmarks
from labkit.errors import SpecError, unknown_name
from labkit.host import allocation
from labkit.point.spec import Spec
from labkit.testbeds._rdma import listening
from labkit.tools import Place

_HERE = {"localhost", "127.0.0.1", "::1"}
_LEAD_S = 0.5  # s for each sender until srun has started it, at most


def hosts(spec: Spec) -> tuple[str, ...]:
    """Return the hosts of a tool in this Slurm job, the client's first; empty if all of it runs on this machine.

    If there are several senders, the last host receives.

    Raises
    ------
    SpecError
        If the spec names hosts that the job does not have, or a path that stays inside one.
    """
    job, benchmark = allocation.current(), benchmarks.get(spec.benchmark)
    if job is None or job.system != "slurm" or spec.testbed != "local" or benchmark.ends.where in ("", "none"):
        return ()
    if benchmark.ends.several and spec.transport == "verbs":  # whose devices are looked for on this machine
        return ()
    rule = spec.hosts[0] if len(spec.hosts) == 1 and spec.hosts[0] in allocation.WORDS else ""
    named = tuple(host.partition(":")[0] for host in spec.hosts) if not rule else ()
    if set(named) <= _HERE and named:
        return ()
    if spec.transport == "unix" or benchmark.ends.where == "unix":
        if spec.hosts:
            raise SpecError(f"--hosts {','.join(spec.hosts)}, but a Unix socket stays inside one host. Leave it out.")
        return ()
    count = spec.count("senders") + 1 if "senders" in spec.values else 2
    if named:
        for host in named:
            if host not in job.hosts:
                raise unknown_name("host", host, job.hosts)
        if len(named) != count and benchmark.ends.where != "all":
            ends = (
                "a client and a server. Name two" if count == 2 else f"{count - 1} senders and a receiver. Name {count}"
            )
            raise SpecError(f"--hosts {','.join(spec.hosts)}, but {spec.benchmark} has {ends}.")
        return named
    if rule:
        return job.chosen(count, rule)
    if benchmark.ends.where == "asked" or len(job.hosts) < 2:
        return ()
    return job.hosts if benchmark.ends.where == "all" else job.chosen(count)


def place(spec: Spec) -> Place:
    """Return the ends of a tool on its hosts: the server on the second, services on all but the first.

    Raises
    ------
    SpecError
        If a host has no address.
    """
    client, *others = chosen = hosts(spec)
    others = others or [client]
    if "senders" in spec.values:
        *senders, receiver = chosen
        return Place(
            address=_address(receiver, "ipv4"),
            server=_step(receiver),
            clients=tuple(map(_client, senders)),
            listens=functools.partial(_listens, receiver),
            own_files=True,
            lead=_LEAD_S * len(senders),
        )
    ip = str(spec.values.get("ip") or "ipv4")
    there = [[_address(host, ip), *_step(host)] for host in others]
    services = benchmarks.get(spec.benchmark).ends.where == "all"  # each is started where it belongs
    return Place(
        address=there[0][0],
        server=() if services else _step(others[0]),
        client=_client(client),
        server_words={"hosts": json.dumps(there)} if services else {"own_address": there[0][0]},
        client_words={"own_address": _address(client, ip)} if spec.values.get("multicast") else {},
        listens=functools.partial(_listens, others[0]),
        own_files=True,
    )


def _client(host: str) -> tuple[str, ...]:
    """Words before a command that run it on a host of this job, none on this one."""
    return () if host.partition(".")[0] == os.uname().nodename.partition(".")[0] else _step(host)


def _step(host: str) -> tuple[str, ...]:
    """Words before a command that run it on a host of this job."""
    where = ("--nodes=1", "--ntasks=1", f"--nodelist={host}", "--overlap")
    return ("srun", *where, "--mpi=none", "--cpu-bind=none", "--unbuffered", "--kill-on-bad-exit=1", "--export=ALL")


def _listens(host: str, protocol: str, port: int) -> bool:
    return listening(_step(host), protocol, port)


def _address(host: str, ip: str) -> str:
    """Return the address of a host.

    Raises
    ------
    SpecError
        If it has none.
    """
    family = socket.AF_INET6 if ip == "ipv6" else socket.AF_INET
    try:
        return str(socket.getaddrinfo(host, None, family, socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise SpecError(
            f"ip={ip}, but this machine knows no such address of {host} ({error}). Set ip=ipv4, or name other hosts."
        ) from None
