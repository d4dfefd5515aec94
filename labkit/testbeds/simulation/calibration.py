"""Fit the overhead of a message to a table of one-way times.

What a link's rate and latency do not explain is time of the sender's processor: ``t(s) = L + s/B + o(s)``, with the
path's latency L, its rate B, and o linear between two sizes of the table. A simulated ping-pong then has the times of
the table. Everything else (collectives, halos, shared links) is predicted: nothing is fitted to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from labkit.errors import SpecError
from labkit.point.ranges import shown
from labkit.point.units import format_size, parse_duration, parse_size


class Segment(NamedTuple):
    """Overhead of messages from a size on: ``base + per_byte * size``.

    Parameters
    ----------
    size : smallest message, B.
    base : s.
    per_byte : s/B.
    """

    size: int
    base: float
    per_byte: float


def table(text: str) -> tuple[tuple[int, float], ...]:
    """Return sizes, B, and one-way times, s, in the order of the sizes.

    Raises
    ------
    SpecError
        If the text is not a table, or names a size twice.

    Examples
    --------
    >>> table("0:1us+4Ki:3us")
    ((0, 1e-06), (4096, 3e-06))
    """
    rows = []
    for part in text.split("+"):
        size, colon, time = part.partition(":")
        if not colon:
            raise SpecError(f"pingpong={shown(text)} is not a table. Write sizes and times like 0:1.3us+4Ki:2.9us.")
        rows.append((parse_size(size), parse_duration(time)))
    rows.sort()
    if len({size for size, _ in rows}) < len(rows):
        raise SpecError(f"pingpong={shown(text)} names a size twice. Leave one of the two out.")
    return tuple(rows)


def text(rows: Sequence[tuple[int, float]]) -> str:
    """Return a table as the option ``pingpong`` takes it, the inverse of `table`.

    Examples
    --------
    >>> text([(0, 1.3e-6), (4096, 2.9e-6)])
    '0:1.3us+4Ki:2.9us'
    """
    return "+".join(f"{format_size(size, unit='')}:{time * 1e6:.6g}us" for size, time in rows)


def fitted(rows: Sequence[tuple[int, float]], latency_s: float, rate_Bps: float) -> tuple[Segment, ...]:  # noqa: N803
    """Return the overheads that give a ping-pong between two hosts of a switch the times of a table.

    Parameters
    ----------
    rows : sizes, B, and one-way times, s; by size.
    latency_s : of the path, s.
    rate_Bps : of its links, B/s.

    Returns
    -------
    A segment from each size to the next one. Below the first size its overhead; above the last, the last time per B.

    Raises
    ------
    SpecError
        If a time is below what latency and rate alone take.
    """
    rest = [(size, time - latency_s - size / rate_Bps) for size, time in rows]
    for (size, missing), (_, time) in zip(rest, rows, strict=True):
        if missing < -1e-3 * time:
            raise SpecError(
                f"pingpong has {time * 1e6:.4g} µs for {format_size(size)}, but latency and rate of the network alone "
                f"take {(time - missing) * 1e6:.4g} µs. Set a lower latency or a higher rate."
            )
    rest = [(size, max(missing, 0.0)) for size, missing in rest]
    segments = [Segment(0, rest[0][1], 0.0)] if rest[0][0] else []
    for (size, low), (following, high) in pairwise(rest):
        slope = (high - low) / (following - size)
        segments.append(Segment(size, low - slope * size, slope))
    size, last = rest[-1]
    slope = last / size if size else 0.0
    segments.append(Segment(size, last - slope * size, slope))
    return tuple(segments)
