"""The value of a setting that has to hold at every point, because its library has no rule for it by size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labkit.stats.racing import Standing

Variables = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Compromise:
    """The values that lose least where none is best, or tied with the best, at every point.

    Parameters
    ----------
    variables : and fields of a spec, each with its value; empty for the library's own values.
    settings : the best setting with these values, for each point.
    behind : how far that setting is behind the best one of the point, as a factor minus 1, by the launches of the race.
    """

    variables: tuple[tuple[str, str], ...]
    settings: tuple[int, ...]
    behind: tuple[float, ...]


def winners(standings: Sequence[Standing], parts: Sequence[Sequence[Variables]]) -> tuple[list[int], Compromise | None]:
    """Return the setting to confirm at each point, and the best compromise if the points need different values.

    Parameters
    ----------
    standings : of the race at each point.
    parts : (points, settings), what of a setting has no rule by size.

    Returns
    -------
    The leaders of the races where their values agree. Else, of the values that no race has stopped, those that are
    the least behind over all points. If there are none, the leaders and a compromise.

    Examples
    --------
    The default leads at the first point and setting 1 at the second; neither race has stopped setting 1.

    >>> from labkit.stats.racing import standing
    >>> tie, win = standing([[1.0, 1.01], [1.02, 1.01]]), standing([[1.0, 0.5], [1.0, 0.51]])
    >>> tie.racing, win.racing
    ((0, 1), (1,))
    >>> winners([tie, win], [[frozenset(), frozenset({("LIMIT", "1")})]] * 2)[0]
    [1, 1]
    """
    leaders = [one.leader for one in standings]
    values = dict.fromkeys(value for of_point in parts for value in of_point)
    tied = {value: found for value in values if (found := _best(standings, parts, value, racing=True))}
    if tied:
        return min(tied.values(), key=lambda found: _regret(standings, found)), None
    lost = {value: found for value in values if (found := _best(standings, parts, value, racing=False))}
    if not lost:
        return leaders, None
    value, found = min(lost.items(), key=lambda one: max(_behind(standings, one[1])))
    return leaders, Compromise(tuple(sorted(value)), tuple(found), _behind(standings, found))


def _best(
    standings: Sequence[Standing], parts: Sequence[Sequence[Variables]], value: Variables, *, racing: bool
) -> list[int]:
    """Return the best setting with a value at each point; none if a point has none."""
    found = []
    for one, of_point in zip(standings, parts, strict=True):
        those = one.racing if racing else tuple(k for k in one.behind if k not in one.failed)
        with_it = [(one.behind.get(k, math.inf), k) for k in those if of_point[k] == value]
        found.append(min(with_it, default=(math.inf, -1))[1])
    return [] if -1 in found else found


def _behind(standings: Sequence[Standing], found: Sequence[int]) -> tuple[float, ...]:
    return tuple(one.behind[k] for one, k in zip(standings, found, strict=True))


def _regret(standings: Sequence[Standing], found: Sequence[int]) -> float:
    """Return the sum over points of the logarithms of how far settings are behind."""
    return sum(math.log1p(max(0.0, one)) for one in _behind(standings, found))


def named(variables: Mapping[str, str] | Sequence[tuple[str, str]]) -> str:
    """Return values in words."""
    pairs = [f"{name.removesuffix(':')}={value}" for name, value in dict(variables).items()]
    return ", ".join(pairs) or "the library's own values"
