"""Where the numbers of a view come from: what every export carries."""

from __future__ import annotations

import pandas as pd

from labkit import __version__
from labkit.apps.explorer.view import View
from labkit.point.units import plural

_HOSTS = 2  # that are named


def facts(view: View, summary: pd.DataFrame) -> dict[str, str]:
    """Return benchmark, hosts, days and labkit's version by name, each a text in one line; empty texts are left out."""
    rows = view.rows(summary)
    hosts = [str(one) for one in rows["host"].unique() if one] if "host" in rows else []
    days = sorted({str(one)[:10] for one in rows["start"] if one}) if "start" in rows else []
    more = f" and {plural(len(hosts) - _HOSTS, 'more host')}" if len(hosts) > _HOSTS else ""
    found = {
        "benchmark": view.benchmark,
        "host": ", ".join(hosts[:_HOSTS]) + more,
        "date": " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
        "labkit": __version__,
    }
    return {name: " ".join(text.split()) for name, text in found.items() if text.strip()}


def line(view: View, summary: pd.DataFrame) -> str:
    """Return the same in a line."""
    found = facts(view, summary)
    return " · ".join([*(text for name, text in found.items() if name != "labkit"), f"labkit {found['labkit']}"])
