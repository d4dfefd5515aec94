"""Read and write sizes, durations and numbers for people. Inside labkit there are only bytes, seconds and floats.

1 MB is always 10^6 B and 1 MiB is always 2^20 B. A bare K, M or G after a *size* means the binary unit, as on
the command lines of OSU, IMB and perftest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from labkit.errors import SpecError
from labkit.point import ranges

KiB, MiB, GiB = 2**10, 2**20, 2**30
KB, MB, GB = 10**3, 10**6, 10**9

_SIZE = {
    "": 1,
    "B": 1,
    "K": KiB,
    "KI": KiB,
    "KIB": KiB,
    "M": MiB,
    "MI": MiB,
    "MIB": MiB,
    "G": GiB,
    "GI": GiB,
    "GIB": GiB,
    "KB": KB,
    "MB": MB,
    "GB": GB,
}
_BIT = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
# unit of a metric → others that people read the same quantity in, each with the factor to it
OTHER_UNITS: Mapping[str, Mapping[str, float]] = {
    "ns": {"µs": 1e-3},
    "µs": {"ns": 1e3, "ms": 1e-3},
    "s": {"ms": 1e3, "µs": 1e6},
    "MB/s": {"GB/s": 1e-3, "Gbit/s": 8e-3, "MiB/s": MB / MiB},
    "GB/s": {"MB/s": 1e3, "Gbit/s": 8.0, "GiB/s": GB / GiB},
}
MOST_MB = 9999  # the largest number of MB/s on an axis or in a column; larger ones are told in GB/s
_TIME = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}


def finite(value: float) -> float | None:
    """Return a number as JSON has it: None for infinity and if there is no number."""
    return value if math.isfinite(value) else None


def factor(unit: str, other: str) -> float:
    """Return the factor that converts a number from one unit to another; an empty name is the same unit.

    Raises
    ------
    SpecError
        If they are not of one quantity.

    Examples
    --------
    >>> factor("µs", "ns"), factor("MB/s", "Gbit/s"), factor("%", "")
    (1000.0, 0.008, 1.0)
    """
    if other in ("", unit):
        return 1.0
    others = OTHER_UNITS.get(unit, {})
    if other not in others:
        raise SpecError(f"unit={other!r}, but {unit} can be shown in {', '.join([unit, *others])} only. Choose one.")
    return others[other]


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
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", str(text))
    factor = _SIZE.get(match[2].upper()) if match else None
    if not match or factor is None:
        raise SpecError(f"size={ranges.shown(text)} is not a size. Write bytes or a unit, as in 4096, 4Ki, 1MiB, 1MB.")
    from fractions import Fraction  # inside the function: a rank imports this module and should open few files

    value = Fraction(match[1]) * factor if len(match[1]) < 100 else Fraction(ranges.WIDE)
    if value.denominator != 1:
        raise SpecError(f"size={text!r} is {float(value)} B, but a size must be a whole number of bytes.")
    ranges.check("size", int(value))
    return int(value)


# published lists of sizes, B; DeepBench: code/kernels/all_reduce_problems.h
_ALL_REDUCE = (100_000, 3_097_600, 4_194_304, 6_553_600, 16_777_217, 38_360_000, 64_500_000)  # float32
SIZES = {"deepbench": tuple(4 * elements for elements in _ALL_REDUCE)}


def parse_sizes(text: str | int | list[int] | tuple[int, ...]) -> tuple[int, ...]:
    """Sizes of a sweep: ``MIN:MAX`` in powers of two, ``MIN:MAX:*4`` by another factor, a list, or a name in `SIZES`.

    A bare ``MAX`` is one size. Like OSU's ``-m 0:…``, a range from 0 has 0 and then the powers from 1.

    Examples
    --------
    >>> parse_sizes("1:8"), parse_sizes("8,1Ki,3000"), parse_sizes("1:1Ki:*8")
    ((1, 2, 4, 8), (8, 1024, 3000), (1, 8, 64, 512))
    >>> parse_sizes("8,deepbench")[:3]
    (8, 400000, 12390400)
    """
    if isinstance(text, int):
        return (parse_size(text),)
    if not isinstance(text, str):
        return tuple(parse_size(size) for size in text)
    sizes: list[int] = []
    for part in text.split(","):
        if ":" not in part:
            sizes += SIZES.get(part.strip()) or (parse_size(part),)
            continue
        low, high, *step = part.split(":")
        factor = int(step[0].lstrip("*x")[:30]) if step and re.fullmatch(r"[*x][0-9]+", step[0]) else 2
        if (step and not re.fullmatch(r"[*x][0-9]+", step[0])) or len(step) > 1 or factor < 2:
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
    """Write a size for people, in binary units if they are exact.

    Examples
    --------
    >>> format_size(8), format_size(4096), format_size(3000), format_size(4096, unit="")
    ('8 B', '4 KiB', '3000 B', '4Ki')
    """
    for factor, prefix in ((GiB, "Gi"), (MiB, "Mi"), (KiB, "Ki")):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {prefix}{unit}" if unit else f"{size // factor}{prefix}"
    return f"{size} {unit}" if unit else str(size)


def parse_count(text: str) -> int | None:
    """Return the whole number that ASCII digits write; None for all other texts and for numbers that no kernel holds.

    Examples
    --------
    >>> parse_count("12"), parse_count("-1"), parse_count("²"), parse_count("9" * 5000)
    (12, None, None, None)
    """
    number = int(text) if re.fullmatch(r"[0-9]{1,19}", text) else None
    return number if number is None or number <= ranges.WIDE else None


def parse_duration(text: str | float, *, word: str = "duration=") -> float:
    """Seconds of a duration such as ``0.5``, ``250ms`` or ``2min``.

    Parameters
    ----------
    word : what the user wrote before it, for the error.

    Examples
    --------
    >>> parse_duration("250ms"), parse_duration(2)
    (0.25, 2.0)
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)\s*([a-zµ]*)\s*", str(text))
    value = float(match[1]) * _TIME.get(match[2], math.nan) if match else math.nan
    if not math.isfinite(value):
        raise SpecError(
            f"{word}{ranges.shown(text)} is not a duration. Write seconds or a unit, as in 0.5, 250ms, 2min, 2h."
        )
    return value


def parse_rate(text: str) -> float:
    """Return a rate in bit/s.

    Raises
    ------
    SpecError
        If the text is not a rate.

    Examples
    --------
    >>> parse_rate("200mbit")
    200000000.0
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kmg]bit)", text.strip().lower())
    if not match:
        raise SpecError(f"{ranges.shown(text)} is not a rate. Write it like 200mbit.")
    return float(match[1]) * _BIT[match[2]]


def format_duration(seconds: float) -> str:
    """Write a duration for people: to three digits below a minute, to seconds below an hour, to minutes above.

    Examples
    --------
    >>> format_duration(0.00123), format_duration(75), format_duration(7200)
    ('1.23 ms', '1 min 15 s', '2 h')
    """
    if seconds >= 60:
        large, small, step = ("h", "min", 60) if seconds >= 3600 else ("min", "s", 1)
        whole, left = divmod(round(seconds / step), 60)
        return f"{whole} {large} {left} {small}" if left else f"{whole} {large}"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def decimals(value: float, *, width: float = math.nan, step: float = math.nan, digits: int = 4) -> int:
    """Number of digits after the point that a number deserves; if negative, places before the point to round.

    Parameters
    ----------
    value : the number.
    width : width of its interval. Two digits of the width are shown, and of the number at least two and at most
        `digits`: launches that agree better still have errors in common. Without an interval, `digits` of the number
        are shown, and all before the point.
    step : resolution of the clock, in the unit of the value; no digit below it is shown.

    Examples
    --------
    >>> decimals(9.9905, width=0.0011), decimals(0.05, step=0.01), decimals(15753.8), decimals(0.21, width=9000)
    (3, 2, 0, 2)
    >>> decimals(2599354, width=103000)
    -3
    """
    if not value or not math.isfinite(value):
        return 0
    whole = digits - 1 - _magnitude(value)
    if width > 0:
        least = max(1 - _magnitude(value), min(whole, 0))
        whole = min(max(1 - _magnitude(width), least), whole)
    else:
        whole = max(whole, 0)
    if step > 0:
        whole = min(whole, max(-_magnitude(step * (1 + 1e-9)), 0))
    return min(whole, 9)


def _magnitude(value: float) -> int:
    """Power of ten of the first digit."""
    return math.floor(math.log10(abs(value)))


def format_number(
    value: float,
    unit: str = "",
    *,
    width: float = math.nan,
    step: float = math.nan,
    digits: int = 4,
    zeros: bool = False,
    none: str = "–",
) -> str:
    """Write a number for people: with the `decimals` it deserves, without an exponent, thousands separated.

    Trailing zeros are dropped unless an interval or the clock's resolution justifies them, or `zeros` is set.

    Parameters
    ----------
    value, width, step, digits : as in `decimals`.
    unit : written behind it.
    none : what represents NaN and infinity.

    Examples
    --------
    >>> format_number(15753.8, "MB/s"), format_number(0.93512), format_number(7.95458984375, digits=2)
    ('15,754 MB/s', '0.9351', '8')
    >>> format_number(9.99, width=0.02), format_number(0.05, "µs", step=0.01)
    ('9.990', '0.05 µs')
    >>> format_number(0.5, digits=3, zeros=True)
    '0.500'
    """
    if not math.isfinite(value):
        return none
    places = decimals(value, width=width, step=step, digits=digits)
    text = f"{round(value, places):,.{max(places, 0)}f}"
    if places > 0 and not zeros and not width > 0 and not step > 0:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {unit}" if unit else text


def format_range(low: float, high: float, *, step: float = math.nan, none: str = "–") -> str:
    """Write the ends of an interval in the digits that its width justifies.

    Examples
    --------
    >>> format_range(9.9901, 9.9912), format_range(9.99, 9.99), format_range(math.nan, math.nan)
    ('9.990 to 9.991', 'all 9.99', '–')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return none
    first, last = (format_number(end, width=high - low, step=step) for end in (low, high))
    return f"{first} to {last}" if first != last else f"all {first}"


def format_count(n: float, *, none: str = "–") -> str:
    """Write a number of samples: a dash for 0, where a tool or an author gave values without samples.

    Examples
    --------
    >>> format_count(12000), format_count(0)
    ('12,000', '–')
    """
    return f"{int(n):,}" if n and not math.isnan(n) else none


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun.

    Parameters
    ----------
    nouns : the plural, if no rule gives it; the rules give ``launches``, ``entries`` and ``points × launches`` too.

    Examples
    --------
    >>> plural(1, "point"), plural(2000, "launch"), plural(2, "point × launch")
    ('1 point', '2,000 launches', '2 points × launches')
    """
    return f"{count:,} {noun if count == 1 else nouns or ' × '.join(map(_several, noun.split(' × ')))}"


def _several(noun: str) -> str:
    """Return the plural of a noun."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("ch", "sh", "s", "x")) else f"{noun}s"


def format_share(share: float, *, digits: int = 2, sign: bool = False, none: str = "–") -> str:
    """Write a part of a whole in per cent, or as a factor where per cents are hard to read.

    A part is a factor from ten wholes on, a change from double on. There are `digits` digits and all before the point.

    Parameters
    ----------
    share : part of the whole; of a change, what was added.
    digits, none : as in `format_number`.
    sign : whether it is a change.

    Examples
    --------
    >>> format_share(1 / 3), format_share(0.00123), format_share(-0.051, sign=True), format_share(0.734, sign=True)
    ('33 %', '0.12 %', '-5.1 %', '+73 %')
    >>> format_share(9.5), format_share(189507.07), format_share(1.234, sign=True)
    ('950 %', '×189,507', '×2.2')
    """
    times, least = (1 + share, 2) if sign else (share, 10)
    if least <= times < math.inf:
        return f"×{format_number(times, digits=digits)}"
    text = format_number(100 * share, "%", digits=digits, none=none)
    return f"+{text}" if sign and share > 0 else text


def format_chance(p: float, *, least: float = 1e-4) -> str:
    """Write what follows the name of a probability: its value, or that it is below the least that is worth telling.

    Examples
    --------
    >>> format_chance(0.0312), format_chance(2e-9)
    ('= 0.031', '< 0.0001')
    """
    return f"< {format_exact(least)}" if p < least else f"= {format_number(p, digits=2)}"


def format_exact(value: float) -> str:
    """Write a number that somebody set, such as a level of a factor: without rounding and without an exponent.

    Examples
    --------
    >>> format_exact(64.0), format_exact(1048577.0), format_exact(0.1 + 0.2), format_exact(1e-5)
    ('64', '1048577', '0.3', '0.00001')
    """
    from decimal import Decimal  # inside the function, as above

    return f"{Decimal(f'{value:.12g}'):f}" if math.isfinite(value) else f"{value:g}"


def format_fact(name: str, value: object) -> str:
    """Write a fact of a host or a campaign for people. The name of a size ends in ``_B``.

    Examples
    --------
    >>> format_fact("memory_total_B", 25276502016), format_fact("load_1", 7.95458984375), format_fact("governor", "on")
    ('23.54 GiB', '7.955', 'on')
    """
    if isinstance(value, bool):
        return str(value).lower()  # as command lines have it
    if not isinstance(value, int | float):
        return str(value)
    if name.endswith("_B"):
        return about_size(value)
    return format_number(value) if isinstance(value, float) else str(value)


def about_size(size: float) -> str:
    """Write a size for people, rounded: ``23.54 GiB``.

    Examples
    --------
    >>> about_size(4096), about_size(25276502016), about_size(500)
    ('4 KiB', '23.54 GiB', '500 B')
    """
    for factor, unit in ((GiB, "GiB"), (MiB, "MiB"), (KiB, "KiB")):
        if size >= factor:
            return format_number(size / factor, unit)
    return format_number(size, "B")
