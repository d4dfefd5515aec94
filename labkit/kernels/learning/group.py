"""The group of ranks: this rank's number, how the ranks find one another, and their network interface."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from labkit.kernels.learning.plan import Plan

MEETING = "ranks"  # the file in the point's folder by which the ranks find one another
_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")  # as launchers number the ranks
_LOCAL_RANK = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
_PATIENCE = timedelta(seconds=120)


@dataclass(frozen=True)
class Group:
    """One rank among the others.

    Parameters
    ----------
    rank, ranks : its number, and how many there are.
    backend : backend of torch.distributed.
    device : where its tensors are.
    hosts : host name of every rank.
    interface : interface that the ranks talk over; empty if that is left to the backend.
    """

    rank: int
    ranks: int
    backend: str
    device: torch.device
    hosts: tuple[str, ...]
    interface: str

    @property
    def cuda(self) -> bool:
        """Whether tensors are on a GPU, so that a call returns before its work is done."""
        return bool(self.device.type == "cuda")

    def wait(self) -> None:
        """Wait until the GPU has done all that it was told."""
        if self.cuda:
            torch.cuda.synchronize(self.device)

    def barrier(self) -> None:
        """Wait for all ranks, and for the GPU."""
        if self.backend == "nccl":
            dist.barrier(device_ids=[self.device.index])
        else:
            dist.barrier()
        self.wait()

    def most(self, value: float) -> float:
        """The largest of the ranks' values."""
        one = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.all_reduce(one, op=dist.ReduceOp.MAX)
        return float(one.item())

    def rows(self, values: list[int]) -> list[list[int]]:
        """Every rank's values; all ranks have the same number."""
        mine = torch.tensor(values, dtype=torch.int64, device=self.device)
        parts = [torch.empty_like(mine) for _ in range(self.ranks)]
        dist.all_gather(parts, mine)
        return [part.tolist() for part in parts]


def numbered(names: tuple[str, ...], environment: Mapping[str, str]) -> int | None:
    """The number that the launcher gave this process in the first of some variables; None without one."""
    return next((int(environment[name]) for name in names if environment.get(name, "").isdecimal()), None)


def join(plan: Plan, folder: Path) -> Group:
    """Meet the other ranks by a file in a folder that all see.

    Raises
    ------
    RuntimeError
        If the launcher numbers no ranks, started another number of them, or there is no GPU for a rank.
    """
    rank = numbered(_RANK, os.environ)
    if rank is None or rank >= plan.ranks:
        raise RuntimeError(f"rank {rank} of {plan.ranks}: the launcher must set one of {', '.join(_RANK)}")
    torch.set_num_threads(1)
    device = _device(plan, rank)
    store = dist.FileStore(str(folder / MEETING), plan.ranks)
    store.set_timeout(_PATIENCE)
    store.set(f"host{rank}", socket.gethostname())
    hosts = tuple(store.get(f"host{one}").decode() for one in range(plan.ranks))
    interface = plan.interface or only_interface(hosts)
    for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        if interface:
            interface = os.environ.setdefault(name, interface)
    dist.init_process_group(
        plan.backend,
        store=dist.PrefixStore("group", store),
        rank=rank,
        world_size=plan.ranks,
        timeout=_PATIENCE,
    )
    return Group(rank, plan.ranks, plan.backend, device, hosts, interface)


def _device(plan: Plan, rank: int) -> torch.device:
    """The rank's device; ranks of a host share its GPUs in turn.

    Raises
    ------
    RuntimeError
        If there is no GPU, or torch lacks the backend.
    """
    if plan.backend == "nccl" and not dist.is_nccl_available():
        raise RuntimeError(f"backend=nccl, but torch {torch.__version__} has no NCCL. Set backend=gloo.")
    if plan.device == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise RuntimeError(f"device=cuda, but torch {torch.__version__} finds no GPU. Set device=cpu.")
    local = numbered(_LOCAL_RANK, os.environ)
    device = torch.device("cuda", (rank if local is None else local) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def only_interface(hosts: tuple[str, ...]) -> str:
    """The loopback if all ranks are on one host, else the only other interface; empty if there are several."""
    if len(set(hosts)) == 1:
        return "lo"
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    return others[0] if len(others) == 1 else ""


def software(group: Group) -> dict[str, Any]:
    """What the numbers depend on beside torch, for the metadata."""
    facts: dict[str, Any] = {"rank_hosts": list(group.hosts), "backend": group.backend, "engine_language": "Python"}
    if group.backend == "nccl":
        facts["backend"] = "nccl " + ".".join(map(str, torch.cuda.nccl.version()))
    if group.cuda:
        facts["gpu"] = torch.cuda.get_device_name(group.device)
    return facts
