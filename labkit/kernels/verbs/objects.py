"""Device, memory, queue and queue pair: the objects that a program needs before a byte moves.

A program opens a *device*. A *protection domain* groups objects that may work together. *Memory* is registered so that
the adapter may read and write it without the processor. A *completion queue* receives an entry for every finished
request. A *queue pair* is one end of a connection: requests are posted to its send and its receive queue. Sizes are in
bytes.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

import pyverbs.enums as e
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

Service = Literal["RC", "UC", "UD"]
SERVICES = {"RC": e.IBV_QPT_RC, "UC": e.IBV_QPT_UC, "UD": e.IBV_QPT_UD}
GRH = 40  # B before the data of every UD message: the global route header, or room for it
QKEY = 0x11111111
TIMEOUT = 17  # 4.096 µs * 2^17 = 0.5 s without an answer before a message is sent again
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC
OPERATIONS = {
    "send": e.IBV_WR_SEND,
    "write": e.IBV_WR_RDMA_WRITE,
    "write_with_immediate": e.IBV_WR_RDMA_WRITE_WITH_IMM,
    "read": e.IBV_WR_RDMA_READ,
    "compare_and_swap": e.IBV_WR_ATOMIC_CMP_AND_SWP,
    "fetch_and_add": e.IBV_WR_ATOMIC_FETCH_AND_ADD,
}
WORDS = {
    getattr(e, name): name.removeprefix("IBV_WC_").lower().replace("_", " ")
    for name in dir(e)
    if name.startswith("IBV_WC_") and name.endswith(("_ERR", "SUCCESS"))
}

_Made = TypeVar("_Made")


class VerbsError(Exception):
    """A device, a queue or a request failed. The message says what to do."""


def roce_v2_index(device: str, port: int = 1) -> int:
    """Place of the RoCE v2 address for IPv4 in a device's table; 0 on InfiniBand, which needs none.

    The first entry need not be it: entries differ in their version and address.

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
    device : device that may access it.
    size : size, B.

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
        """Address and key, which a peer needs to read or write it."""
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
    device : its device.
    depth : number of completions it can hold.
    events : whether it wakes a sleeping program; `wait` then sleeps instead of polling.
    """

    def __init__(self, device: Device, depth: int, *, events: bool = False) -> None:
        self.channel = CompChannel(device.context) if events else None
        self.cq = CQ(device.context, depth, None, self.channel, 0)
        self.polls = 0

    def poll(self, most: int = 1) -> Sequence[Any]:
        """Return at most `most` completions that are there now.

        Raises
        ------
        VerbsError
            If one of them failed; the message has the status that verbs reports.
        """
        count, polled = self.cq.poll(most)
        self.polls += 1
        completions: Sequence[Any] = polled if count else ()
        for completion in completions:
            if completion.status != e.IBV_WC_SUCCESS:
                status = WORDS.get(completion.status, completion.status)
                raise VerbsError(f"{status} (work {completion.wr_id}, vendor {completion.vendor_err}).")
        return completions

    def wait(self, most: int = 1, *, limit: float = 20.0) -> Sequence[Any]:
        """Wait for at least one completion: poll, or sleep if the queue has events.

        Parameters
        ----------
        limit : longest time of polling, s.

        Raises
        ------
        VerbsError
            If none comes in time, or one failed.
        """
        end, empty = 0.0, 0
        while not (completions := self.poll(most)):
            if self.channel is not None:
                self.cq.req_notify()
                if completions := self.poll(most):  # a completion before req_notify makes no event
                    return completions
                self.channel.get_cq_event(self.cq)
                continue
            empty += 1
            if empty % 64 == 0:
                os.sched_yield()  # on a single processor, the peer and the device's software must run too
                end = end or time.monotonic() + limit
                if time.monotonic() > end:
                    raise VerbsError(f"no completion within {limit:g} s. Is the peer alive?")
        return completions

    def close(self) -> None:
        """Destroy the queue and its channel."""
        self.cq.close()
        if self.channel is not None:
            self.channel.close()


class SharedReceives:
    """A shared receive queue (SRQ): messages of all its queue pairs take its receives in order.

    Parameters
    ----------
    device : its device.
    depth : number of receives that it can hold.
    """

    def __init__(self, device: Device, depth: int) -> None:
        self.srq = SRQ(device.pd, SrqInitAttr(SrqAttr(max_wr=depth)))

    def close(self) -> None:
        """Destroy it, after its queue pairs."""
        self.srq.close()


class Device:
    """An open device with a protection domain. It is a context manager that closes everything it made.

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
        """Register memory of `size` B, at least one."""
        return self._remember(Memory(self, max(size, 1)))

    def queue(self, depth: int, *, events: bool = False) -> Queue:
        """Make a completion queue."""
        return self._remember(Queue(self, depth, events=events))

    def shared_receives(self, depth: int) -> SharedReceives:
        """Make a shared receive queue."""
        return self._remember(SharedReceives(self, depth))

    def pair(
        self,
        service: Service,
        queue: Queue,
        receives: Queue | None = None,
        *,
        shared: SharedReceives | None = None,
        depth: int = 16,
        inline: int = 0,
    ) -> QueuePair:
        """Make a queue pair in the state INIT."""
        pair = self._remember(QueuePair(self, service, queue, receives, shared=shared, depth=depth, inline=inline))
        pair.init()
        return pair

    def _remember(self, made: _Made) -> _Made:
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


def place(part: SGE, work: int = 0) -> RecvWR:
    """Make a receive into a piece of memory, which `QueuePair.post_receive` posts."""
    return RecvWR(wr_id=work, sg=[part], num_sge=1)


class QueuePair:
    """A queue pair: one end of a connection (RC, UC), or a place to send datagrams from (UD).

    Parameters
    ----------
    device : its device.
    service : ``RC`` reliable connection, ``UC`` unreliable connection, ``UD`` unreliable datagram.
    queue : completion queue of the send queue.
    receives : completion queue of the receive queue (default: the same one).
    shared : where its messages take their receives from (default: from its own receive queue).
    depth : number of requests that each of its two queues can hold.
    inline : B up to which data are copied with the request when it is posted.

    Attributes
    ----------
    post_receive : posts a receive that `place` made, as often as needed.

    Raises
    ------
    VerbsError
        If the device does not make it.
    """

    def __init__(
        self,
        device: Device,
        service: Service,
        queue: Queue,
        receives: Queue | None = None,
        *,
        shared: SharedReceives | None = None,
        depth: int = 16,
        inline: int = 0,
    ) -> None:
        self.device, self.service, self.depth, self.inline = device, service, depth, inline
        own = 0 if shared else depth
        cap = QPCap(max_send_wr=depth, max_recv_wr=own, max_send_sge=1, max_recv_sge=1, max_inline_data=inline)
        init = QPInitAttr(
            qp_type=SERVICES[service],
            scq=queue.cq,
            rcq=(receives or queue).cq,
            srq=shared.srq if shared else None,
            cap=cap,
            sq_sig_all=0,
        )
        try:
            self.qp = QP(device.pd, init, None)  # with attributes it would leave the state RESET by itself
        except PyverbsRDMAError as error:
            raise VerbsError(
                f"{device.name} makes no {service} queue pair for {depth} requests with {inline} B inline ({error}). "
                "Ask for less; ibv_devinfo -v shows the limits."
            ) from None
        self.post_receive: Callable[[RecvWR], None] = shared.srq.post_recv if shared else self.qp.post_recv
        self.number = self.qp.qp_num
        self.psn = int.from_bytes(os.urandom(3), "little")
        self.peer: Mapping[str, Any] = {}
        self.handle: AH | None = None

    @property
    def address(self) -> dict[str, Any]:
        """Data that the peer needs to connect: number, first packet, device's address, largest packet."""
        return {
            "number": self.number,
            "psn": self.psn,
            "gid": self.device.gid,
            "mtu": self.device.mtu,
            "lid": self.device.lid,
        }

    def init(self) -> None:
        """RESET → INIT: from now on, receives may be posted."""
        attributes = QPAttr(port_num=self.device.port)
        if self.service == "UD":
            attributes.qkey = QKEY
        else:
            attributes.qp_access_flags = ACCESS
        self.qp.to_init(attributes)
        self._attributes = attributes

    def ready_to_receive(self, peer: Mapping[str, Any], *, mtu: int = 0, traffic_class: int = 0) -> None:
        """INIT → RTR: the queue pair knows its peer and accepts messages from it.

        Parameters
        ----------
        peer : the peer's `address`.
        mtu : largest packet, B; 0 for the largest that both ends support.
        traffic_class : byte of DSCP and ECN in the packets.
        """
        self.peer = peer
        route = GlobalRoute(
            dgid=GID(peer["gid"]), sgid_index=self.device.gid_index, hop_limit=64, traffic_class=traffic_class
        )
        destination = AHAttr(gr=route, is_global=1, port_num=self.device.port, dlid=peer["lid"])
        attributes = QPAttr(port_num=self.device.port)
        if self.service == "UD":
            self.handle = AH(self.device.pd, attr=destination)
        else:
            attributes.ah_attr = destination
            attributes.path_mtu = min(mtu or 4096, self.device.mtu, peer["mtu"]).bit_length() - 8
            attributes.dest_qp_num, attributes.rq_psn = peer["number"], peer["psn"]
            attributes.max_dest_rd_atomic, attributes.min_rnr_timer = 16, 12
        self.qp.to_rtr(attributes)
        self._attributes = attributes

    def ready_to_send(self) -> None:
        """RTR → RTS: the queue pair sends what is posted."""
        attributes = self._attributes
        attributes.sq_psn = self.psn
        attributes.timeout, attributes.retry_cnt, attributes.rnr_retry, attributes.max_rd_atomic = TIMEOUT, 7, 7, 16
        self.qp.to_rts(attributes)

    def receive(self, part: SGE, work: int = 0) -> None:
        """Post a receive into a piece of memory, or share it; for a UD message it needs `GRH` B more than the data."""
        self.post_receive(place(part, work))

    def request(
        self,
        operation: str,
        part: SGE,
        *,
        work: int = 0,
        signalled: bool = True,
        inline: bool = False,
        remote: Mapping[str, int] | None = None,
        offset: int = 0,
        add: int = 0,
        swap: int = 0,
        immediate: int = 0,
        following: SendWR | None = None,
    ) -> SendWR:
        """Make a request for `post`, which may be posted any number of times.

        Parameters
        ----------
        operation : one of `OPERATIONS`.
        part : memory that the data come from, or go to (read, atomics).
        work : number that its completion will carry.
        signalled : whether it gives a completion.
        inline : copy the data with the request.
        remote, offset : `Memory.address` at the peer, and offset in it.
        add, swap : value to add or to compare with, and value to put in its place.
        immediate : number that arrives with a ``write_with_immediate``.
        following : request to post with it, in one list; the caller must hold a reference to it.
        """
        flags = (e.IBV_SEND_SIGNALED if signalled else 0) | (e.IBV_SEND_INLINE if inline else 0)
        request = SendWR(
            wr_id=work, opcode=OPERATIONS[operation], num_sge=1, sg=[part], send_flags=flags, imm_data=immediate
        )
        if operation in ("compare_and_swap", "fetch_and_add") and remote:
            request.set_wr_atomic(remote["key"], remote["address"] + offset, add, swap)
        elif operation != "send" and remote:
            request.set_wr_rdma(remote["key"], remote["address"] + offset)
        if self.service == "UD":
            request.set_wr_ud(self.handle, self.peer["number"], QKEY)
        if following is not None:
            request.next_wr = following
        return request

    @property
    def post(self) -> Callable[[SendWR], None]:
        """Function that posts a request, or the list that begins with it."""
        post: Callable[[SendWR], None] = self.qp.post_send
        return post

    def close(self) -> None:
        """Destroy it."""
        if self.handle is not None:
            self.handle.close()
        self.qp.close()
