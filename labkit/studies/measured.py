"""What did a campaign measure, benchmark by benchmark?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from labkit.store.samples.facts import BROUGHT
from labkit.store.samples.header import ORIGINS
from labkit.studies import imported


@dataclass(frozen=True, kw_only=True)
class Parameters(imported.Parameters):
    """Parameters of the notebook on measured points.

    Parameters
    ----------
    rows : most rows of a table; `labkit show` prints all of them.
    """


class Study(imported.Study):
    """A table for each measured benchmark, and a figure if it has several points."""

    parameters: ClassVar = Parameters
    origins: ClassVar[tuple[str, ...]] = tuple(one for one in ORIGINS if one not in BROUGHT)
    place: ClassVar = "on"
    unit: ClassVar = "testbed"
