"""Queue pairs: their states, how they are connected, and the work that is posted to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import pyverbs.enums as e
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

if TYPE_CHECKING:
    from labkit.verbs.objects import Device, Queue

Service = Literal["RC", "UC", "UD"]
SERVICES = {"RC": e.IBV_QPT_RC, "UC": e.IBV_QPT_UC, "UD": e.IBV_QPT_UD}
GRH = 40  # B before the data of every UD message: the global route header, or room for it
QKEY = 0x11111111
TIMEOUT = 17  # 4.096 µs * 2^17 = 0.5 s without an answer until a message is sent again
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC
OPERATIONS = {
    "send": e.IBV_WR_SEND, "write": e.IBV_WR_RDMA_WRITE, "write_with_immediate": e.IBV_WR_RDMA_WRITE_WITH_IMM,
    "read": e.IBV_WR_RDMA_READ, "compare_and_swap": e.IBV_WR_ATOMIC_CMP_AND_SWP,
    "fetch_and_add": e.IBV_WR_ATOMIC_FETCH_AND_ADD,
}  # fmt: skip


class QueuePair:
    """A queue pair: one end of a connection (RC, UC), or a place to send datagrams from (UD).

    Parameters
    ----------
    device : it belongs to.
    service : ``RC`` reliable connection, ``UC`` unreliable connection, ``UD`` unreliable datagram.
    queue : receives the completions of what is sent.
    receives : receives those of what arrives; the same one when left out.
    depth : pieces of work each of its two queues can hold.
    inline : B up to which data are copied with the request when it is posted.
    """

    def __init__(
        self, device: Device, service: Service, queue: Queue, receives: Queue | None = None, *, depth: int = 16,
        inline: int = 0,
    ) -> None:  # fmt: skip
        self.device, self.service, self.depth, self.inline = device, service, depth, inline
        cap = QPCap(max_send_wr=depth, max_recv_wr=depth, max_send_sge=1, max_recv_sge=1, max_inline_data=inline)
        init = QPInitAttr(qp_type=SERVICES[service], scq=queue.cq, rcq=(receives or queue).cq, cap=cap, sq_sig_all=0)
        self.qp = QP(device.pd, init, None)  # with attributes it would leave the state RESET by itself
        self.number = self.qp.qp_num
        self.psn = int.from_bytes(os.urandom(3), "little")
        self.peer: Mapping[str, Any] = {}
        self.handle: AH | None = None

    @property
    def address(self) -> dict[str, Any]:
        """What the peer must know to connect: number, first packet, device's address, largest packet."""
        return {"number": self.number, "psn": self.psn, "gid": self.device.gid, "mtu": self.device.mtu,
                "lid": self.device.lid}  # fmt: skip

    def init(self) -> None:
        """RESET → INIT: receives may be posted."""
        attributes = QPAttr(port_num=self.device.port)
        if self.service == "UD":
            attributes.qkey = QKEY
        else:
            attributes.qp_access_flags = ACCESS
        self.qp.to_init(attributes)
        self._attributes = attributes

    def ready_to_receive(self, peer: Mapping[str, Any], *, mtu: int = 0, traffic_class: int = 0) -> None:
        """INIT → RTR: the peer is known, what it sends is taken.

        Parameters
        ----------
        peer : its `address`.
        mtu : largest packet, B; 0 for the largest both can.
        traffic_class : byte of DSCP and ECN of what is sent.
        """
        self.peer = peer
        route = GlobalRoute(
            dgid=GID(peer["gid"]), sgid_index=self.device.gid_index, hop_limit=64, traffic_class=traffic_class
        )
        to = AHAttr(gr=route, is_global=1, port_num=self.device.port, dlid=peer["lid"])
        attributes = QPAttr(port_num=self.device.port)
        if self.service == "UD":
            self.handle = AH(self.device.pd, attr=to)
        else:
            attributes.ah_attr = to
            attributes.path_mtu = min(mtu or 4096, self.device.mtu, peer["mtu"]).bit_length() - 8
            attributes.dest_qp_num, attributes.rq_psn = peer["number"], peer["psn"]
            attributes.max_dest_rd_atomic, attributes.min_rnr_timer = 16, 12
        self.qp.to_rtr(attributes)
        self._attributes = attributes

    def ready_to_send(self) -> None:
        """RTR → RTS: what is posted is sent."""
        attributes = self._attributes
        attributes.sq_psn = self.psn
        attributes.timeout, attributes.retry_cnt, attributes.rnr_retry, attributes.max_rd_atomic = TIMEOUT, 7, 7, 16
        self.qp.to_rts(attributes)

    def receive(self, part: SGE, work: int = 0) -> None:
        """Post a receive into a piece of memory; a UD message needs `GRH` more B than it has."""
        self.qp.post_recv(RecvWR(wr_id=work, sg=[part], num_sge=1))

    def request(
        self, operation: str, part: SGE, *, work: int = 0, signalled: bool = True, inline: bool = False,
        remote: Mapping[str, int] | None = None, offset: int = 0, add: int = 0, swap: int = 0, immediate: int = 0,
        following: SendWR | None = None,
    ) -> SendWR:  # fmt: skip
        """A piece of work for `post`, which may be posted again and again.

        Parameters
        ----------
        operation : one of `OPERATIONS`.
        part : where the data are, or go to (read, atomics).
        work : number that its completion will carry.
        signalled : whether there will be a completion.
        inline : copy the data with the request.
        remote, offset : `Memory.address` at the peer, and how far into it.
        add, swap : what to add or compare with, and what to put in its place.
        immediate : number that arrives with a ``write_with_immediate``.
        following : what is to be posted with it, in one list; the caller must keep it.
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
        """Posts a request, or the list that begins with it."""
        post: Callable[[SendWR], None] = self.qp.post_send
        return post

    def close(self) -> None:
        """Destroy it."""
        if self.handle is not None:
            self.handle.close()
        self.qp.close()
