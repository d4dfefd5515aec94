"""Objects were pickled in a loop of Python beside the loop in C: recorded, and cut out of an example."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import above, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign

_WHERE, _EXAMPLE = "mpi.bandwidth", "two-cores"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"binding": name} for name in ("pickle", "pickle", "buffers", "buffers")])


def _make(case: Parameters, folder: Path) -> Campaign:
    some = part(
        _EXAMPLE, _WHERE,
        lambda one: one.spec.transport == "auto" and one.spec.values["binding"] in ("c", case["binding"]),
    )  # fmt: skip
    return kept(folder, _EXAMPLE, [*launched(some, case["launches"]), *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    def of(binding: str) -> float:
        return typical(
            one for one in campaign.samples(_WHERE) if one.spec.values["binding"] == binding and one.spec.size == 8
        )

    return above("s of a window in Python and in C", of(case["binding"]), of("c"), 1.5)


KIND = Kind(
    words="a loop in Python beside the one in C",
    labels=(Label(_WHERE, ("python-binding",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
