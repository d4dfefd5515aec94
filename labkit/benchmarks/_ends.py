"""Where the ends of a tool run, and the path of their messages (`Ends`)."""

from __future__ import annotations

from typing import Literal

from labkit.options import frozen


@frozen
class Ends:
    """Where the ends of a tool run, and what their messages go through.

    Parameters
    ----------
    where : empty: client and server on this machine, or on hosts of a testbed. ``asked``: also on two hosts of a Slurm
        job if the user names them. ``apart``: on two hosts of a Slurm job by default. ``all``: the client on one host,
        servers on all others. ``unix``: both on one host, over a Unix socket. ``none``: there is no server, and the
        storage of this machine is measured.
    transports : whether the tools follow the transport of the spec.
    rdma : library through which messages use RDMA adapters; empty if they do not.
    sockets : whether messages go through sockets of the kernel, where a receiver sleeps until one arrives.
    datagrams : whether these sockets are of UDP; else they are of TCP.
    one_call : whether the sender makes one system call for each message, which bounds the bandwidth inside a host.
    several : whether several hosts send to one.
    request : whether the first crossing of the path is a request, so that only the answer carries the bytes.
    """

    where: Literal["", "asked", "apart", "all", "unix", "none"] = ""
    transports: bool = False
    rdma: Literal["", "verbs", "ucx"] = ""
    sockets: bool = False
    datagrams: bool = False
    one_call: bool = False
    several: bool = False
    request: bool = False
