"""Choose one value for settings that apply to every size, because the library has no rule by size for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labkit.stats.racing import Standing

Variables = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Compromise:
    """The values with the smallest worst-case cost, if no value is best or tied at every point.

    Parameters
    ----------
    variables : environment variables and spec fields with their values; empty for the library's own values.
    settings : the best setting with these values, for each point.
    behind : relative cost of that setting against the best one at the point, from the launches of the race.
    """

    variables: tuple[tuple[str, str], ...]
    settings: tuple[int, ...]
    behind: tuple[float, ...]


def winners(standings: Sequence[Standing], parts: Sequence[Sequence[Variables]]) -> tuple[list[int], Compromise | None]:
    """Return the setting to confirm at each point, and the best compromise if the points need different values.

    Parameters
    ----------
    standings : standings of the race at each point.
    parts : (points, settings), variables and fields of a setting that have no rule by size.

    Returns
    -------
    The leaders of the races if their values agree. Otherwise, among the values still in every race, those with the
    lowest cost over all points. If no value is left in every race, the leaders and a compromise.

    Examples
    --------
    The default leads at the first point and setting 1 at the second. Setting 1 is still in both races, so it is chosen
    for both.

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
    """Return, for each point, the best setting with the given values; empty if a point has no such setting."""
    found = []
    for one, of_point in zip(standings, parts, strict=True):
        those = one.racing if racing else tuple(k for k in one.behind if k not in one.failed)
        with_it = [(one.behind.get(k, math.inf), k) for k in those if of_point[k] == value]
        found.append(min(with_it, default=(math.inf, -1))[1])
    return [] if -1 in found else found


def _behind(standings: Sequence[Standing], found: Sequence[int]) -> tuple[float, ...]:
    return tuple(one.behind[k] for one, k in zip(standings, found, strict=True))


def _regret(standings: Sequence[Standing], found: Sequence[int]) -> float:
    """Return the sum over points of the logarithmic cost of settings."""
    return sum(math.log1p(max(0.0, one)) for one in _behind(standings, found))


def named(variables: Mapping[str, str] | Sequence[tuple[str, str]]) -> str:
    """Describe values in words."""
    pairs = [f"{name.removesuffix(':')}={value}" for name, value in dict(variables).items()]
    return ", ".join(pairs) or "the library's own values"
