"""Ranks on one host were told to send over TCP: recorded, and cut out of an example."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import above, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

_EXAMPLE = "two-cores"


def kind(where: str, smallest: int, largest: int) -> Kind:
    """Return the kind of a benchmark of ranks.

    Parameters
    ----------
    smallest, largest : sizes whose times show the slower path, B.
    """

    def cases(random: np.random.Generator) -> list[Parameters]:
        return with_launches(random, [{} for _ in range(4)])

    def make(case: Parameters, folder: Path) -> Campaign:
        some = part(_EXAMPLE, where, lambda one: one.spec.transport == "tcp")
        return kept(folder, _EXAMPLE, [*launched(some, case["launches"]), *costs(_EXAMPLE)])

    def shown(campaign: Campaign, case: Parameters) -> str:
        def over(path: str, one: Samples) -> bool:
            return one.spec.transport == path and smallest <= one.spec.size <= largest

        slow = typical(one for one in campaign.samples(where) if over("tcp", one))
        fast = typical(part(_EXAMPLE, where, lambda one: over("shm", one)))
        return above("s of an iteration over TCP and through shared memory", slow, fast)

    return Kind(
        words=f"ranks on one host send over TCP ({where.partition('.')[2]})",
        labels=(Label(where, ("wrong-path",)),),
        source="recorded",
        cases=cases,
        make=make,
        shown=shown,
        decidable=True,
    )
