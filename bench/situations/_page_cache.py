"""The page cache answered instead of the device: recorded, beside what bypassed it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import above, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

_EXAMPLE = "two-cores"


def kind(
    words: str,
    where: str,
    option: tuple[str, str],
    cases: Sequence[Parameters],
    chosen: Callable[[Samples, Parameters], bool],
) -> Kind:
    """Return the kind of a benchmark of storage.

    Parameters
    ----------
    option : the option that chooses the way, and its value through the page cache; past it, the value is ``direct``.
    cases : parameters but for the launches.
    chosen : whether a launch belongs to a case.
    """
    name, cached = option

    def make(case: Parameters, folder: Path) -> Campaign:
        some = part(_EXAMPLE, where, lambda one: chosen(one, case))
        return kept(folder, _EXAMPLE, launched(some, case["launches"]))

    def shown(campaign: Campaign, case: Parameters) -> str:
        def of(way: str) -> float:
            return typical((one for one in campaign.samples(where) if one.spec.values[name] == way), "bandwidth_MBps")

        return above("MB/s through the page cache and past it", of(cached), of("direct"))

    def drawn(random: np.random.Generator) -> list[Parameters]:
        return with_launches(random, cases)

    return Kind(
        words=words,
        labels=(Label(where, ("page-cache",)),),
        source="recorded",
        cases=drawn,
        make=make,
        shown=shown,
        decidable=True,
    )
