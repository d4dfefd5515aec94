"""Device, memory, queue and queue pair: what a program must have before a byte moves.

A *device* is opened; a *protection domain* holds what may work together; *memory* is registered so that the adapter
may read and write it without the processor; a *completion queue* receives a note for every finished piece of work; a
*queue pair* is one end of a connection: work is posted to its send and its receive queue. Sizes are in bytes.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import pyverbs.enums as e
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.wr import SGE

from labkit.verbs.pairs import ACCESS, QueuePair, Service

WORDS = {getattr(e, name): name.removeprefix("IBV_WC_").lower().replace("_", " ")
         for name in dir(e) if name.startswith("IBV_WC_") and name.endswith(("_ERR", "SUCCESS"))}  # fmt: skip

_Made = TypeVar("_Made")


class VerbsError(Exception):
    """A device, queue or piece of work is not as it must be; says what to do."""


def roce_v2_index(device: str, port: int = 1) -> int:
    """Place of the RoCE v2 address for IPv4 in a device's table; 0 on InfiniBand, which needs none.

    Never the first by chance: entries differ in version and in the address they stand for.

    Raises
    ------
    VerbsError
        If the device has no such entry.
    """
    place = Path(f"/sys/class/infiniband/{device}/ports/{port}")
    if (place / "link_layer").read_text().strip() == "InfiniBand":
        return 0
    for entry in sorted((place / "gids").iterdir(), key=lambda path: int(path.name)):
        with suppress(OSError):  # an entry that is not used cannot be read
            kind = (place / "gid_attrs" / "types" / entry.name).read_text().strip()
            if kind == "RoCE v2" and entry.read_text().startswith("0000:0000:0000:0000:0000:ffff:"):
                return int(entry.name)
    raise VerbsError(f"{device} has no RoCE v2 address for IPv4. Give its interface one, or name an entry with gid.")


class Memory:
    """Registered memory, zeroed.

    Parameters
    ----------
    device : that may reach it.
    size : B.

    Attributes
    ----------
    view : (size,) writable bytes.
    mr : pyverbs' memory region, with its keys.
    """

    def __init__(self, device: Device, size: int) -> None:
        self.mr = MR(device.pd, size, ACCESS)
        self.size = size
        self.view = memoryview((ctypes.c_ubyte * size).from_address(self.mr.buf)).cast("B")
        ctypes.memset(self.mr.buf, 0, size)

    @property
    def address(self) -> dict[str, int]:
        """What a peer must know to read or write it: address and key."""
        return {"address": self.mr.buf, "key": self.mr.rkey}

    def part(self, offset: int, size: int) -> SGE:
        """A piece of it, to send from or receive into."""
        return SGE(self.mr.buf + offset, size, self.mr.lkey)

    def close(self) -> None:
        """Deregister."""
        self.view.release()
        self.mr.close()


class Queue:
    """A completion queue.

    Parameters
    ----------
    device : it belongs to.
    depth : completions it can hold.
    events : have it wake a sleeping program (`wait` then sleeps instead of polling).
    """

    def __init__(self, device: Device, depth: int, *, events: bool = False) -> None:
        self.channel = CompChannel(device.context) if events else None
        self.cq = CQ(device.context, depth, None, self.channel, 0)
        self.polls = 0

    def poll(self, most: int = 1) -> Sequence[Any]:
        """Completions that are there now, at most so many.

        Raises
        ------
        VerbsError
            If one of them failed; with the verbs' word for it.
        """
        count, found = self.cq.poll(most)
        self.polls += 1
        for one in found if count else ():
            if one.status != e.IBV_WC_SUCCESS:
                raise VerbsError(f"{WORDS.get(one.status, one.status)} (work {one.wr_id}, vendor {one.vendor_err}).")
        return found if count else ()

    def wait(self, most: int = 1, *, limit: float = 20.0) -> Sequence[Any]:
        """At least one completion: polls, or sleeps until there is one where the queue has events.

        Parameters
        ----------
        limit : s of polling.

        Raises
        ------
        VerbsError
            If none comes in time, or one failed.
        """
        end, empty = 0.0, 0
        while not (found := self.poll(most)):
            if self.channel is not None:
                self.cq.req_notify()
                if found := self.poll(most):  # one that came before the request would wake nobody
                    return found
                self.channel.get_cq_event(self.cq)
                continue
            empty += 1
            if empty % 64 == 0:
                os.sched_yield()  # a single processor must let the peer and the device's software work
                end = end or time.monotonic() + limit
                if time.monotonic() > end:
                    raise VerbsError(f"no completion within {limit:g} s. Is the peer alive?")
        return found

    def close(self) -> None:
        """Destroy it, and its channel."""
        self.cq.close()
        if self.channel is not None:
            self.channel.close()


class Device:
    """An open device with a protection domain. A context manager: leaving it closes whatever it made.

    Parameters
    ----------
    name : as ``ibv_devices`` prints it.
    gid : place of the address to use in its table; -1 for the RoCE v2 address for IPv4.
    port : number of the port, from 1.

    Raises
    ------
    VerbsError
        If there is no such device, its port is down, or it has no such address.
    """

    def __init__(self, name: str, *, gid: int = -1, port: int = 1) -> None:
        try:
            self.context = Context(name=name)
        except (PyverbsError, PyverbsRDMAError) as error:
            raise VerbsError(f"There is no RDMA device {name!r} here ({error}). See ibv_devices.") from None
        state = self.context.query_port(port)
        if state.state != e.IBV_PORT_ACTIVE:
            raise VerbsError(f"Port {port} of {name} is not active. Bring its interface up.")
        self.name, self.port, self.lid, self.mtu = name, port, state.lid, 1 << (state.active_mtu + 7)
        self.gid_index = roce_v2_index(name, port) if gid < 0 else gid
        self.gid = str(self.context.query_gid(port, self.gid_index).gid)
        self.pd = PD(self.context)
        self._made: list[Any] = []

    def memory(self, size: int) -> Memory:
        """Registered memory of some B, at least one."""
        return self._kept(Memory(self, max(size, 1)))

    def queue(self, depth: int, *, events: bool = False) -> Queue:
        """A completion queue."""
        return self._kept(Queue(self, depth, events=events))

    def pair(
        self, service: Service, queue: Queue, receives: Queue | None = None, *, depth: int = 16, inline: int = 0
    ) -> QueuePair:
        """A queue pair in the state INIT."""
        pair = self._kept(QueuePair(self, service, queue, receives, depth=depth, inline=inline))
        pair.init()
        return pair

    def _kept(self, made: _Made) -> _Made:
        self._made.append(made)
        return made

    def close(self) -> None:
        """Close everything, the last thing made first."""
        while self._made:
            self._made.pop().close()
        self.pd.close()
        self.context.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
