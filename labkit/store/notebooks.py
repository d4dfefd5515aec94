"""What a campaign says of its notebooks: their parameters, and the settings that a sweep gave them.

The points of a campaign are those of all its notebooks. So each notebook shows a part of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

NAME = re.compile(r"[0-9A-Za-z_][^/\\\x00-\x1f\x7f]{0,199}")  # of a notebook, which a campaign names
FOLDER, AGAIN = "notebooks", "notebooks-again"  # of executed ones, and of those that labkit executed anew


def parameters(facts: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the parameters of each notebook that a campaign names, or those it was merged from.

    Parameters
    ----------
    facts : from campaign.json; they may come from anyone.
    """
    return {
        name: mapping(given)
        for member in reversed(members(facts))
        for name, given in section(member, "parameters").items()
    }


def settings(facts: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the setting that a sweep gave to each of its notebooks, as text."""
    return {
        name: {str(key): str(value) for key, value in mapping(given).items() if isinstance(value, str | int | float)}
        for member in members(facts)
        for name, given in section(section(member, "sweep"), "settings").items()
    }


def members(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the facts of a campaign, and of those that were merged into it."""
    return [facts, *(mapping(member) for member in section(facts, "origins").values())]


def section(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a table of the facts; an empty one where there is none."""
    return mapping(facts.get(key))


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a value that is a table; an empty one for any other."""
    return value if isinstance(value, Mapping) else {}
