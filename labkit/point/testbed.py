"""The text that names a testbed: ``NAME[:ARG][,key=value…]``."""

from __future__ import annotations

import math
import re

from labkit.errors import SpecError

_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)([a-z]*)")
_PREFIX = {"": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def parse(text: str) -> tuple[str, str, dict[str, str]]:
    """Split ``NAME[:ARG][,key=value…]`` into name, argument and options.

    Examples
    --------
    >>> parse("virtual-cluster:4,rate=200mbit")
    ('virtual-cluster', '4', {'rate': '200mbit'})
    """
    head, _, rest = text.partition(",")
    name, _, argument = head.partition(":")
    pairs = [pair.partition("=") for pair in rest.split(",") if pair]
    if any(not equals for _, equals, _ in pairs):
        raise SpecError(f"testbed={text!r}: after the first comma, write key=value pairs.")
    names = [key.strip().replace("-", "_") for key, _, _ in pairs]
    if twice := next((key for key in names if names.count(key) > 1), ""):
        raise SpecError(f"testbed={text!r} sets {twice} twice. Set it once.")
    return name, argument, dict(zip(names, (value for _, _, value in pairs), strict=True))


def amount(text: str) -> float:
    """Return a rate, bit/s, a delay, s, or a plain number; NaN for any other text.

    Examples
    --------
    >>> amount("8mbit"), amount("4ms"), amount("1"), amount("fast")
    (8000000.0, 0.004, 1.0, nan)
    """
    match = _NUMBER.fullmatch(text)
    return float(match[1]) * _PREFIX.get(match[2], math.nan) if match else math.nan
