"""Units, relations and digits of published numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RELATIONS = {"": "", "about": "about ", "above": "> ", "below": "< ", "up to": "up to ", "at least": "≥ "}
# unit → what it measures, and its factor to s, B, B/s …; MB is 10^6 B and MiB 2^20 B, whatever a paper calls them
UNITS: Mapping[str, tuple[str, float]] = {
    **{name: ("s", factor) for name, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9), ("min", 60.0))},
    **{f"{prefix}B": ("B", 10.0**n) for prefix, n in (("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{f"{prefix}iB": ("B", 2.0**n) for prefix, n in (("K", 10), ("M", 20), ("G", 30), ("T", 40))},
    **{f"{prefix}B/s": ("B/s", 10.0**n) for prefix, n in (("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{f"{prefix}iB/s": ("B/s", 2.0**n) for prefix, n in (("K", 10), ("M", 20), ("G", 30), ("T", 40))},
    **{f"{prefix}b/s": ("B/s", 10.0**n / 8) for prefix, n in (("k", 3), ("M", 6), ("G", 9), ("T", 12))},
    **{f"{prefix}Hz": ("Hz", 10.0**n) for prefix, n in (("M", 6), ("G", 9))},
    **{name: (name, 1.0) for name in ("1/s", "%", "times", "1")},
}


class Written(float):
    """A number that knows how it was written.

    Examples
    --------
    >>> Written("2.0").text
    '2.0'
    """

    text: str

    def __new__(cls, text: str) -> Written:
        """Read a number."""
        made = super().__new__(cls, text)
        made.text = text
        return made


def written(number: Mapping[str, Any]) -> dict[str, int]:
    """Return the digits after the point of a number's value as the file writes it; None if they do not matter.

    Examples
    --------
    >>> written({"value": Written("1.50")}), written({"value": 2}), written({"value": Written("1e-9")})
    ({'decimals': 2}, {}, {})
    """
    text = getattr(number.get("value"), "text", "")
    return {"decimals": len(text.partition(".")[2])} if "." in text and "e" not in text.lower() else {}
