"""Measure what one end pays alone: registering memory, and making every object of a connection."""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import pyverbs.enums as e
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD

from labkit.kernels.verbs.objects import ACCESS, Device
from labkit.kernels.verbs.plan import Plan


def registration(device: str, gid: int, plan: Plan) -> dict[str, Any]:
    """Time the registration of memory of the plan's size whose pages exist already, and its deregistration.

    Returns
    -------
    ``time_ns`` of the registrations, ``extras["deregistration_ns"]``.
    """
    room = mmap.mmap(-1, max(plan.size, 1))
    room[:] = b"\x01" * len(room)  # page it in, which is not part of the cost of registration
    with Device(device, gid=gid) as opened:
        address = ctypes.addressof(ctypes.c_char.from_buffer(room))
        times: list[int] = []
        ends: list[int] = []

        def once() -> None:
            began = perf_counter_ns()
            region = MR(opened.pd, plan.size, ACCESS, address)
            between = perf_counter_ns()
            region.close()
            ends.append(perf_counter_ns() - between)
            times.append(between - began)

        for _ in range(max(plan.warmup, 1)):
            once()
        del times[:], ends[:]
        _repeat(once, plan)
    return {"time_ns": times, "extras": {"deregistration_ns": ends}}


def setup(device: str, gid: int, plan: Plan) -> dict[str, Any]:
    """Time the creation of every object of a connection, one after the other, up to a queue pair in the state RTS.

    Returns
    -------
    ``time_ns`` of the whole, ``extras`` with a column for each step.
    """
    total: list[int] = []
    extras: dict[str, list[int]] = {}

    def step(name: str, make: Callable[[], Any]) -> Any:
        began = perf_counter_ns()
        made = make()
        extras.setdefault(f"{name}_ns", []).append(perf_counter_ns() - began)
        return made

    def once() -> None:
        began = perf_counter_ns()
        context = step("open_device", lambda: Context(name=device))
        pd = step("protection_domain", lambda: PD(context))
        region = step("memory_4KiB", lambda: MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE))
        channel = step("completion_channel", lambda: CompChannel(context))
        queue = step("completion_queue", lambda: CQ(context, 64, None, channel, 0))
        for resource in (queue, channel, region, pd, context):
            resource.close()
        with Device(device, gid=gid) as opened:
            sent = opened.queue(64)
            pair = step("queue_pair_to_init", lambda: opened.pair("RC", sent, depth=16))
            step("init_to_rtr", lambda: pair.ready_to_receive(pair.address))
            step("rtr_to_rts", pair.ready_to_send)
            datagrams = opened.pair("UD", sent, depth=16)
            step("address_handle", lambda: datagrams.ready_to_receive(pair.address))
        total.append(perf_counter_ns() - began)

    once()
    del total[:]
    extras.clear()
    _repeat(once, plan)
    return {"time_ns": total, "extras": extras}


def _repeat(once: Callable[[], None], plan: Plan) -> None:
    """Call `once` as often as the plan requests or its time allows, but at least 5 times."""
    end, done = time.monotonic() + plan.time_cap, 0
    while done < (plan.iterations or 5) or (not plan.iterations and time.monotonic() < end and done < 10_000):
        once()
        done += 1
