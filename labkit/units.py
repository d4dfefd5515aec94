"""Sizes and durations as people write them; inside labkit there are only bytes and seconds.

1 MB = 10^6 B and 1 MiB = 2^20 B, always. Where a person writes a bare K, M or G after a *size*, it
means the binary unit, as it does on every benchmark's command line (OSU, IMB, perftest).
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from labkit import ranges
from labkit.errors import SpecError

KiB, MiB, GiB = 2**10, 2**20, 2**30
KB, MB, GB = 10**3, 10**6, 10**9

_SIZE = {
    "": 1, "B": 1,
    "K": KiB, "KI": KiB, "KIB": KiB, "M": MiB, "MI": MiB, "MIB": MiB, "G": GiB, "GI": GiB, "GIB": GiB,
    "KB": KB, "MB": MB, "GB": GB,
}  # fmt: skip
_TIME = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}


def parse_size(text: str | int) -> int:
    """Bytes of a size such as ``4096``, ``4Ki``, ``4KiB``, ``4K`` (binary) or ``4KB`` (decimal).

    Raises
    ------
    SpecError
        If the text is not a whole, non-negative number of bytes.

    Examples
    --------
    >>> parse_size("4Mi"), parse_size("1.5K"), parse_size("1MB")
    (4194304, 1536, 1000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(text))
    factor = _SIZE.get(match[2].upper()) if match else None
    if not match or factor is None:
        raise SpecError(f"size={ranges.shown(text)} is not a size. Write bytes or a unit, as in 4096, 4Ki, 1MiB, 1MB.")
    value = Fraction(match[1]) * factor if len(match[1]) < 100 else Fraction(ranges.WIDE)
    if value.denominator != 1:
        raise SpecError(f"size={text!r} is {float(value)} B, but a size must be a whole number of bytes.")
    ranges.check("size", int(value))
    return int(value)


def parse_sizes(text: str | int | list[int] | tuple[int, ...]) -> tuple[int, ...]:
    """Sizes of a sweep: ``MIN:MAX`` in powers of two, ``MIN:MAX:*4`` by another factor, or a list.

    A bare ``MAX`` is one size. Like OSU's ``-m 0:…``, a range from 0 has 0 and then the powers from 1.

    Examples
    --------
    >>> parse_sizes("1:8"), parse_sizes("8,1Ki,3000"), parse_sizes("1:1Ki:*8")
    ((1, 2, 4, 8), (8, 1024, 3000), (1, 8, 64, 512))
    """
    if isinstance(text, int):
        return (parse_size(text),)
    if not isinstance(text, str):
        return tuple(parse_size(size) for size in text)
    sizes: list[int] = []
    for part in text.split(","):
        if ":" not in part:
            sizes.append(parse_size(part))
            continue
        low, high, *step = part.split(":")
        factor = int(step[0].lstrip("*x")[:30]) if step and re.fullmatch(r"[*x]\d+", step[0]) else 2
        if (step and not re.fullmatch(r"[*x]\d+", step[0])) or len(step) > 1 or factor < 2:
            raise SpecError(f"sizes={part!r}: the step must be a factor of 2 or more, as in 1:1Mi:*4.")
        size, last = parse_size(low), parse_size(high)
        if size > last:
            raise SpecError(f"sizes={part!r} runs from {size} to {last}. Put the smaller size first.")
        if size == 0:
            sizes.append(0)
            size = 1
        while size <= last:
            sizes.append(size)
            size *= factor
    if not sizes:
        raise SpecError(f"sizes={text!r} names no size. Write 1:4Mi, or a list such as 8,1Ki,1Mi.")
    return tuple(dict.fromkeys(sizes))


def format_size(size: int, *, unit: str = "B") -> str:
    """A size for people: binary units where they are exact.

    Examples
    --------
    >>> format_size(8), format_size(4096), format_size(3000), format_size(4096, unit="")
    ('8 B', '4 KiB', '3000 B', '4Ki')
    """
    for factor, prefix in ((GiB, "Gi"), (MiB, "Mi"), (KiB, "Ki")):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {prefix}{unit}" if unit else f"{size // factor}{prefix}"
    return f"{size} {unit}" if unit else str(size)


def parse_duration(text: str | float) -> float:
    """Seconds of a duration such as ``0.5``, ``250ms`` or ``2min``.

    Examples
    --------
    >>> parse_duration("250ms"), parse_duration(2)
    (0.25, 2.0)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e-?\d+)?)\s*([a-zµ]*)\s*", str(text))
    value = float(match[1]) * _TIME.get(match[2], math.nan) if match else math.nan
    if not math.isfinite(value):
        raise SpecError(
            f"duration={ranges.shown(text)} is not a duration. Write seconds or a unit, as in 0.5, 250ms, 2min."
        )
    return value


def format_duration(seconds: float) -> str:
    """A duration for people, to three digits.

    Examples
    --------
    >>> format_duration(0.00123), format_duration(75)
    ('1.23 ms', '1 min 15 s')
    """
    if seconds >= 60:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds:.3g} s"
