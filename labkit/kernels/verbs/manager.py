"""Connections by the RDMA connection manager (RDMA CM), which finds the peer by its IP address, as sockets do.

The client resolves the address to a device and a route to a path, makes its queue pair, and sends a request. The
server makes its own queue pair and accepts. The manager exchanges numbers and packets, and moves both queue pairs to
RTS. The steps are those of ``cmtime`` (rdma-core).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import pyverbs.cm_enums as cm
import pyverbs.enums as e
from pyverbs.cmid import CMID, AddrInfo, CMEvent, CMEventChannel, ConnParam
from pyverbs.qp import QPCap, QPInitAttr

from labkit.kernels.verbs.loops import measured
from labkit.kernels.verbs.meeting import Meeting
from labkit.kernels.verbs.objects import Device, VerbsError
from labkit.kernels.verbs.plan import Plan

_DEPTH = 16


def connect(device: Device, plan: Plan, meeting: Meeting, server: bool) -> dict[str, Any]:
    """Time connections to the server, one after the other, each made and closed.

    Returns
    -------
    ``time_ns`` of the whole, ``extras`` with a column for each step; empty in the server.
    """
    own, channel = _address(device), CMEventChannel()
    peer, port = meeting.swap(own), str(meeting.port)  # the manager's ports are separate from TCP's
    extras: dict[str, list[int]] = {}

    def agree(count: int) -> int:
        if server:
            return int(meeting.hear())
        meeting.tell(count)
        return count

    ends_at = {"src_service": port, "flags": cm.RAI_PASSIVE} if server else {"dst": peer, "dst_service": port}
    where = AddrInfo(src=own, port_space=cm.RDMA_PS_TCP, **ends_at)
    listener = CMID(creator=channel, port_space=cm.RDMA_PS_TCP) if server else None
    if listener:
        listener.bind_addr(where)
        listener.listen()
    meeting.swap()

    def ends(count: int) -> list[int]:
        if listener:
            return _accept(channel, listener, count)
        return [_ask(channel, where, extras) for _ in range(count)]

    times = measured(plan, ends, agree, server=server)
    if listener:
        listener.close()
    channel.close()
    return {"time_ns": times, "extras": {name: values[-len(times) :] for name, values in extras.items()}}


def _ask(channel: CMEventChannel, where: AddrInfo, extras: dict[str, list[int]]) -> int:
    """Make a connection and close it; return its time, ns."""

    def step(name: str, make: Callable[[], Any], event: int | None = None) -> Any:
        began = perf_counter_ns()
        made = make()
        if event is not None:
            _await(channel, event)
        extras.setdefault(f"{name}_ns", []).append(perf_counter_ns() - began)
        return made

    began = perf_counter_ns()
    end = CMID(creator=channel, port_space=cm.RDMA_PS_TCP)
    step("resolve_address", lambda: end.resolve_addr(where), cm.RDMA_CM_EVENT_ADDR_RESOLVED)
    step("resolve_route", end.resolve_route, cm.RDMA_CM_EVENT_ROUTE_RESOLVED)
    step("queue_pair_to_init", lambda: end.create_qp(_queue_pair()))
    step("connect", lambda: end.connect(ConnParam()), cm.RDMA_CM_EVENT_ESTABLISHED)
    step("disconnect", end.disconnect, cm.RDMA_CM_EVENT_DISCONNECTED)
    end.close()
    return perf_counter_ns() - began


def _accept(channel: CMEventChannel, listener: CMID, count: int) -> list[int]:
    """Accept `count` connections."""
    for _ in range(count):
        request = CMEvent(channel)
        _expected(request, cm.RDMA_CM_EVENT_CONNECT_REQUEST)
        end = CMID(creator=request, listen_id=listener)
        request.ack_cm_event()
        end.create_qp(_queue_pair())
        end.accept(ConnParam())
        # the client's last message of the exchange may come after its request to disconnect, or not at all
        _await(channel, cm.RDMA_CM_EVENT_DISCONNECTED, passing=cm.RDMA_CM_EVENT_ESTABLISHED)
        end.disconnect()
        end.close()
    return []


def _queue_pair() -> QPInitAttr:
    """What queue pair to make; the manager makes its completion queues too."""
    cap = QPCap(max_send_wr=_DEPTH, max_recv_wr=_DEPTH, max_send_sge=1, max_recv_sge=1, max_inline_data=0)
    return QPInitAttr(qp_type=e.IBV_QPT_RC, cap=cap)


def _await(channel: CMEventChannel, wanted: int, *, passing: int | None = None) -> None:
    """Wait for an event of the manager, and acknowledge it and those that it may pass over."""
    while True:
        event = CMEvent(channel)
        done = event.event_type not in (passing, cm.RDMA_CM_EVENT_TIMEWAIT_EXIT)
        if done:
            _expected(event, wanted)
        event.ack_cm_event()
        if done:
            return


def _expected(event: CMEvent, wanted: int) -> None:
    """Refuse another event.

    Raises
    ------
    VerbsError
        If the manager reports something else, such as an address that it cannot reach.
    """
    if event.event_type != wanted:
        raise VerbsError(f"the RDMA connection manager reported {event.event_str()}.")


def _address(device: Device) -> str:
    """IPv4 address of a device.

    Raises
    ------
    VerbsError
        If its entry in the table of addresses has none.
    """
    mapped = ipaddress.IPv6Address(device.gid).ipv4_mapped
    if mapped is None:
        raise VerbsError(f"{device.name} has the address {device.gid}, but rdma_cm needs IPv4. Set rdma_cm=false.")
    return str(mapped)
