"""Compression of gradients on their way between ranks: torch's own hooks of DistributedDataParallel.

PowerSGD's hook reduces three times for each bucket. It starts the later reductions in callbacks of the earlier ones and
waits for them there. With NCCL that is safe. With gloo the callbacks run on the threads that reduce. With two buckets
on the way, every thread can wait for work that no thread is left to do, and ranks can start their reductions in
different orders (https://github.com/pytorch/pytorch/issues/48478). `in_order` therefore serves one bucket at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

from labkit.kernels.learning.group import Group

PLAIN_STEPS = 2  # of DistributedDataParallel before PowerSGD may start: the second one makes the final buckets
Hook = Callable[[Any, Any], Any]


def register(net: Any, compression: str, group: Group) -> None:
    """Let a model compress its gradients.

    Parameters
    ----------
    net : a model in DistributedDataParallel.
    compression : ``none``, ``float16`` or ``powersgd``.
    """
    if compression == "float16":
        net.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif compression == "powersgd":
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=PLAIN_STEPS)
        hook: Hook = powerSGD_hook.powerSGD_hook
        net.register_comm_hook(state, hook if group.backend == "nccl" else in_order(hook, group))


class Bucket:
    """What a hook asks of a bucket, read while the backward pass waits.

    Parameters
    ----------
    given : torch's bucket; valid only while its hook runs.
    """

    def __init__(self, given: Any) -> None:
        index, last, buffer, gradients = given.index(), given.is_last(), given.buffer(), given.gradients()
        self.index, self.is_last = lambda: index, lambda: last
        self.buffer, self.gradients = lambda: buffer, lambda: gradients


def in_order(hook: Hook, group: Group) -> Hook:
    """Return a hook that serves one bucket after the other on its own thread, while the backward pass goes on.

    Parameters
    ----------
    hook : hook to run.
    group : group of all ranks.
    """
    thread = ThreadPoolExecutor(1)

    def serve(state: Any, bucket: Bucket, reduced: Any) -> None:
        try:
            if group.cuda:
                torch.cuda.set_device(group.device)
            reduced.set_result(hook(state, bucket).wait())
        except Exception as error:  # the backward pass raises it
            reduced.set_exception(error)

    def queue(state: Any, bucket: Any) -> Any:
        group.wait()  # the thread has a separate stream
        reduced: Any = torch.futures.Future(devices=[group.device] if group.cuda else None)
        thread.submit(serve, state, Bucket(bucket), reduced)
        return reduced

    queue.__annotations__.clear()  # DistributedDataParallel refuses names of types
    return queue
