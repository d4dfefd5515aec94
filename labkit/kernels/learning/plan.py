"""The plan: what the ranks of one point have to do."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A point.

    Parameters
    ----------
    program : a collective of `labkit.kernels.learning.collectives`, or its own program.
    ranks : number of ranks.
    backend : backend of torch.distributed: ``gloo`` or ``nccl``.
    device : where buffers are: ``cpu`` or ``cuda``.
    size : B of the message, as nccl-tests counts it.
    cadence : ``streaming``: one call after the other; ``isolated``: a barrier before each.
    iterations : exact count of samples; 0 for as many as fit into `time_cap`.
    warmup : iterations before the timed ones.
    time_cap : time for the timed iterations, s.
    interface : network interface; empty for the one that the hosts have.
    seed : seed of the data.
    options : options of the program, by name.
    """

    program: str
    ranks: int
    backend: str = "gloo"
    device: str = "cpu"
    size: int = 0
    cadence: str = "streaming"
    iterations: int = 0
    warmup: int = 5
    time_cap: float = 1.0
    interface: str = ""
    seed: int = 1
    options: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> str:
        """Encode the plan as one word of a command line."""
        return json.dumps(dataclasses.asdict(self), separators=(",", ":"))

    @classmethod
    def decode(cls, word: str) -> Plan:
        """Decode a plan from the word that `encode` returned."""
        return cls(**json.loads(word))
