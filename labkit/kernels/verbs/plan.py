"""The plan: what one end of a point has to do."""

from __future__ import annotations

import dataclasses
import json
import random
from dataclasses import dataclass

PAGE = 4096
LIMIT_S = 300.0  # a program ends itself after this time
ROUND_TRIPS = ("latency", "host_overhead")  # programs whose samples are halved, unless the operation is one-sided
STREAMS = ("bandwidth", "availability")  # programs whose samples are windows
HOT_SPOTS = ("hotspot_send", "hotspot_receive")  # programs with several processes at the server's end
ONE_SIDED = ("read", "fetch_and_add", "compare_and_swap")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A point.

    Parameters
    ----------
    program : loop or scenario to run: ``latency``, ``bandwidth``, …
    operation : one of `labkit.kernels.verbs.objects.OPERATIONS`.
    connection : ``RC``, ``UC`` or ``UD``.
    size : B of a message.
    iterations : exact count of samples; 0 for as many as fit into `time_cap`.
    warmup : iterations before the timed ones.
    time_cap : time for the timed iterations, s.
    completion : ``poll`` or ``event``.
    inline : B up to which data are copied with a request.
    mtu : B of the largest packet; 0 for the largest there can be.
    tclass : byte of DSCP and ECN.
    gid : place in the table of addresses; -1 for the RoCE v2 address for IPv4.
    tx_depth : messages of a window on each queue pair.
    cq_moderation : messages per completion.
    post_list : messages posted with one call.
    qps : queue pairs in turn.
    buffers_in_turn, reuse : number of different buffers, and % of the messages that use the first again.
    srq : whether queue pairs take their receives from one shared receive queue.
    compute_ns : computation in each window of ``availability``, ns.
    clients : requests in flight, in scenarios.
    peers, window : processes around a hot spot, and messages of a round to or from each.
    seed : seed of random choices.
    """

    program: str
    operation: str = "send"
    connection: str = "RC"
    size: int = 8
    iterations: int = 0
    warmup: int = 20
    time_cap: float = 1.0
    completion: str = "poll"
    inline: int = 0
    mtu: int = 0
    tclass: int = 0
    gid: int = -1
    tx_depth: int = 64
    cq_moderation: int = 16
    post_list: int = 1
    qps: int = 1
    buffers_in_turn: int = 1
    reuse: int = 0
    srq: bool = False
    compute_ns: int = 0
    clients: int = 1
    peers: int = 1
    window: int = 1
    seed: int = 1

    def encode(self) -> str:
        """Encode the plan as one word of a command line."""
        return json.dumps(dataclasses.asdict(self), separators=(",", ":"))

    @classmethod
    def decode(cls, word: str) -> Plan:
        """Decode a plan from the word that `encode` returned."""
        return cls(**json.loads(word))


def turns(plan: Plan) -> list[int]:
    """Buffers of successive messages: one after the other, cyclically, or the first one for a share of the messages.

    Which messages these are is drawn at random, and so is the buffer of each other message.
    """
    buffers = plan.buffers_in_turn
    if not plan.reuse:
        return list(range(buffers))
    chance = random.Random(plan.seed)
    draws = range(max(4 * buffers, 256))
    return [0 if chance.random() < plan.reuse / 100 else chance.randrange(buffers) for _ in draws]
