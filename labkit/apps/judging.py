"""Judge a campaign by earlier ones, read one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from labkit.judge import gate, matching_points
from labkit.read import columnar
from labkit.store.campaign import Campaign

if TYPE_CHECKING:
    import pandas as pd


def by_past(
    campaign: Campaign,
    earlier: Sequence[Campaign],
    *,
    benchmark: str = "*",
    chance: float = 0.01,
    worse: float = 0.0,
    reference: str = "*",
    blind_allowed: bool = False,
) -> gate.Result:
    """Return the verdicts of the gate; none without earlier campaigns.

    Parameters
    ----------
    benchmark : name, or a pattern, of the benchmarks that are judged.
    chance, worse, reference : as in `labkit.judge.gate.gate`.
    blind_allowed : whether blind comparisons leave the result conclusive.

    Raises
    ------
    DataError
        If they have no point in common.
    """

    def table(one: Campaign) -> pd.DataFrame:
        return columnar.read_campaigns(one, benchmark=benchmark, columns=matching_points.needed, coded=True).records

    if not earlier:
        return gate.Result(campaign.name, (), chance, 0, ())
    ordered = sorted(earlier, key=lambda one: (str(one.facts.get("created", "")), one.name))
    result = gate.gate(
        campaign.name,
        table(campaign),
        ((one.name, table(one)) for one in ordered),
        chance=chance,
        worse=worse,
        reference=reference,
        accepted={one.name for one in ordered if one.facts.get("accepted")},
    )
    return replace(result, blind_allowed=blind_allowed)
