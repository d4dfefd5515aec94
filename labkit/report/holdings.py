"""What a campaign holds, said before anything is made of it: origin, host, points, notebooks, what will be executed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.campaign import Campaign


def words(campaign: Campaign, executed: Sequence[str]) -> str:
    """A short paragraph about a campaign; its own texts are cut to a line.

    Parameters
    ----------
    executed : names of labkit's own notebooks that will be executed on its samples.
    """
    facts, host = campaign.facts, campaign.facts.get("host")
    name = _short(facts.get("name") or campaign.name)
    where = _short(host.get("hostname") or host.get("name")) if isinstance(host, dict) else ""
    points = campaign.done()
    stored = sorted(path.stem for path in (campaign.path / "notebooks").glob("[!.]*.ipynb"))
    made = f"made by labkit {_short(facts.get('labkit')) or '?'} on {_short(facts.get('created')) or 'an unknown date'}"
    parts = [
        f"campaign {name}, {made}{f', host {where}' if where else ''}: {len(points)} points × launches of "
        f"{len({point[0] for point in points})} benchmarks.",
        f"It holds {len(stored)} executed notebooks, which labkit reads but does not run.",
    ]
    if executed:
        parts.append(f"labkit executes {len(executed)} of its own notebooks on the samples: {', '.join(executed)}.")
    if campaign.derived != campaign.path:
        parts.append(f"labkit does not change the campaign; derived files go to {campaign.derived}.")
    return " ".join(parts)


def _short(value: Any) -> str:
    """A text on one line, at most 60 signs long."""
    text = " ".join(str(value or "").split())
    return text if len(text) <= 60 else f"{text[:59]}…"
