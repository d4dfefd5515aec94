"""Print how often `labkit gate` fails by chance and how often it finds a slower point, in made-up nights. Asserts nothing.

A gate has 20 points of one transport with 6 launches each, and a chance of a false alarm of 1 %. ``python bench/gate.py
[HISTORIES]`` prints the tables of docs/gate.md; "old" is the rule before: no common factor, and a night enters the
reference as soon as it passed. 500 histories take some minutes of processor time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit.stats import limits, nights

POINTS, LAUNCHES, CHANCE, NOISE = 20, 6, 0.01, 0.02
BASE, LATER = 10, 12  # nights of the first reference, and after it
CAMPAIGNS = (3, 5, 10, 20)
GROWN = (10, 20, 30)  # nights before one point is slower
SLOWER = (0.05, 0.1, 0.2)  # of the one point that is worse
SHAPES = ("lognormal", "heavy tail", "two modes")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """How made-up nights scatter.

    Parameters
    ----------
    shape : noise of launches.
    day : spread of a factor that all points of a night share.
    correlation : of this factor from night to night, AR(1).
    own : spread of nights that each point has for itself.
    """

    shape: str = "lognormal"
    day: float = 0.0
    correlation: float = 0.0
    own: float = 0.0


def launches(random: np.random.Generator, count: int, world: World) -> Floats:
    """Return logarithms of medians of launches, (nights, points, launches)."""
    size = (count, POINTS, LAUNCHES)
    noise = NOISE * (random.standard_t(2, size) if world.shape == "heavy tail" else random.standard_normal(size))
    if world.shape == "two modes":
        noise += 0.2 * (random.random(size) < 0.1)
    fresh = random.standard_normal((count, 1, 1))
    days = fresh.copy()
    for night in range(1, count):
        days[night] = world.correlation * days[night - 1] + np.sqrt(1 - world.correlation**2) * fresh[night]
    return np.asarray(noise + world.day * days + world.own * random.standard_normal((count, POINTS, 1)))


def beyond(past: Floats, new: Floats, chance: float) -> bool:
    """Return whether launches, (nights, launches), are beyond the limit from others; of several nights, without days."""
    values = [np.exp(past).ravel()] if len(new) > 1 else list(np.exp(past))
    limit = limits.limit(values, new.size, chance, higher=True)
    return bool(np.count_nonzero(np.exp(new) > limit.value) >= limit.beyond)


def of_factors(factors: Floats, chance: float) -> nights.Replay:
    """Return what the nights of one common factor are found to be."""
    shares, correlation = nights.SHARES_COMMON, nights.CORRELATION
    return nights.replay(factors[:, None], chance, lambda *_: True, shares=shares, correlation=correlation)


def judged(values: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which nights fail, (nights, points and then their common factor), and which are the reference at the end."""
    factor = nights.common_factor(np.median(values, axis=2))
    alone, (of_point, [of_factor]) = values - factor[:, None, None], nights.shared(CHANCE, POINTS, [False], BASE)

    def launches_beyond(night: NDArray[np.bool_], point: int, reference: NDArray[np.bool_], chance: float) -> bool:
        return beyond(alone[: len(reference)][reference, point], alone[: len(night)][night, point], chance)

    points = nights.replay(np.median(alone, axis=2), of_point, launches_beyond)
    common = of_factors(factor, of_factor)
    failed = np.hstack([one.alone | one.drifting for one in (points, common)])
    return failed, np.hstack([points.reference, common.reference])


def judged_before(values: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the same of the old rule, under which the whole night enters as soon as it passed."""
    failed, reference = np.zeros((len(values), POINTS + 1), bool), np.arange(len(values)) < BASE
    for night in range(BASE, len(values)):
        past = values[:night][reference[:night]]
        spread = np.median(past, axis=2)
        # only medians beyond Student's limit can fail; this saves the slower part for nearly all
        reach = limits.student(CHANCE / POINTS, len(past) - 1) * np.sqrt(1 + 1 / len(past))
        near = np.median(values[night], axis=1) > spread.mean(axis=0) + 0.99 * reach * spread.std(axis=0, ddof=1)
        for point in np.flatnonzero(near).tolist():
            failed[night, point] = beyond(past[:, point], values[night : night + 1, point], CHANCE / POINTS)
        reference[night] = not failed[night].any()
    return failed, np.repeat(reference[:, None], POINTS + 1, axis=1)


RULES: dict[str, Callable[[Floats], tuple[NDArray[np.bool_], NDArray[np.bool_]]]] = {
    "new": judged,
    "old": judged_before,
}


def alarms(world: World, histories: int, rule: str = "new", later: int = LATER, seed: int = 1) -> Floats:
    """Return the share of histories that fail in each night after the first reference, although nothing changed."""
    random = np.random.default_rng(seed)
    failed = [RULES[rule](launches(random, BASE + later, world))[0][BASE:].any(axis=1) for _ in range(histories)]
    return np.asarray(np.mean(failed, axis=0))


def found(
    world: World,
    step: float,
    histories: int,
    rule: str = "new",
    *,
    drift: bool = False,
    common: bool = False,
    seed: int = 2,
) -> tuple[float, float, float, float]:
    """Return how often a change is found in its first night and within twelve, when (median), and the share absorbed.

    Parameters
    ----------
    step : of one point from the eleventh night on; with `drift`, of each night.
    common : whether all points change, so that the factor is to be found.
    """
    random, after = np.random.default_rng(seed), np.maximum(np.arange(BASE + LATER) - BASE + 1, 0)
    change = np.log1p(step) * (after if drift else after > 0)
    place = POINTS if common else 0
    firsts, absorbed = [], []
    for _ in range(histories):
        values = launches(random, BASE + LATER, world)
        values[:, slice(None) if common else slice(1)] += change[:, None, None]
        failed, reference = RULES[rule](values)
        hit = np.any(failed[BASE:] if common and rule == "old" else failed[BASE:, [place]], axis=1)
        firsts.append(int(np.argmax(hit)) + 1 if hit.any() else LATER + 1)
        absorbed.append(reference[BASE:-1, place].mean())
    nights_until = np.array(firsts)
    return (
        float(np.mean(nights_until == 1)),
        float(np.mean(nights_until <= LATER)),
        float(np.median(nights_until)),
        float(np.mean(absorbed)),
    )


def grown(before: tuple[int, ...], step: float, histories: int, *, common: bool = False, seed: int = 5) -> list[float]:
    """Return how often a change is found after so many nights that were as usual.

    Parameters
    ----------
    common : whether all points change, and not one; all are to be found within twelve nights, one in its first.
    """
    later, random, counts = LATER if common else 1, np.random.default_rng(seed), np.zeros(len(before))
    for _ in range(histories):
        values = launches(random, max(before) + later, World(day=NOISE, correlation=0.5 * common))
        for place, count in enumerate(before):
            part = values[: count + later].copy()
            part[count:, slice(None) if common else slice(1)] += np.log1p(step)
            counts[place] += judged(part)[0][count:, POINTS if common else 0].any()
    return [float(share) for share in counts / histories]


def first_night(campaigns: int, world: World, gates: int, seed: int = 3) -> list[float]:
    """Return how often a first gate fails by chance, and finds a slower point, for each `SLOWER`.

    Parameters
    ----------
    campaigns : of the history, all of which are the reference.
    """
    random, counts = np.random.default_rng(seed), np.zeros(1 + len(SLOWER))
    for _ in range(gates):
        values = launches(random, campaigns + 1, world)
        removed = campaigns >= limits.CAMPAIGNS
        of_point, common = nights.shared(CHANCE, POINTS, [False] * removed, campaigns)
        for place, slower in enumerate((0.0, *SLOWER)):
            changed = values.copy()
            changed[-1, 0] += np.log1p(slower)
            factor = nights.common_factor(np.median(changed, axis=2)) * removed
            alone = changed - factor[:, None, None]
            points = nights.replay(np.median(alone, axis=2), of_point, lambda *_: False)
            fails = any(
                beyond(alone[points.reference[:, n], n], alone[-1:, n], points.share[n] * of_point)
                for n in range(POINTS if not place else 1)
            )
            fails |= not place and any(factor[-1] > of_factors(factor, chance).limit[0] for chance in common)
            counts[place] += fails
    return [float(share) for share in counts / gates]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "histories",
        nargs="?",
        type=int,
        default=500,
        metavar="HISTORIES",
        help="simulated histories of each kind (default: %(default)s)",
    )
    count = parser.parse_args().histories
    print(f"{count} histories each, {POINTS} points with {LAUNCHES} launches that spread by {NOISE:.0%}\n")
    print("| noise of launches | days | nights of points | new | old |\n|:--|:--|--:|--:|--:|")
    for world in (
        *(World(shape, day) for shape in SHAPES for day in (0.0, NOISE)),
        World("lognormal", NOISE, 0.5),
        World("lognormal", NOISE, 0.5, 0.01),
    ):
        days = f"{world.day:.0%}{', AR(1) 0.5' * bool(world.correlation)}"
        rates = " | ".join(f"{alarms(world, count, rule).mean():.1%}" for rule in RULES)
        print(f"| {world.shape} | {days} | {world.own:.0%} | {rates} |", flush=True)
    print("\n| change | rule | first night | within 12 | median night | nights absorbed |\n|:--|:--|--:|--:|--:|--:|")
    scattered = World("lognormal", NOISE, 0.5)
    for step, drift, common in (
        *((step, False, False) for step in (0.02, 0.03, 0.05, 0.1)),
        *((step, True, False) for step in (0.005, 0.02)),
        *((step, False, True) for step in (0.05, 0.1, 0.2)),
        (0.02, True, True),
    ):
        words = f"{'all points' if common else 'one point'} +{100 * step:g} %{' a night' * drift}"
        for world in (scattered, World("lognormal", NOISE)) if common else (scattered,):
            days = ", independent days" * (not world.correlation)
            for rule in RULES:
                first, within, when, absorbed = found(world, step, count, rule, drift=drift, common=common)
                night = f"{when:g}" if when <= LATER else f"> {LATER}"
                print(f"| {words}{days} | {rule} | {first:.0%} | {within:.0%} | {night} | {absorbed:.0%} |", flush=True)
    print("\n| nights before | one point +5 %, first night | all points +5 %, within 12 |\n|--:|--:|--:|")
    after = [grown(GROWN, 0.05, count, common=common) for common in (False, True)]
    for before, one, every in zip(GROWN, *after, strict=True):
        print(f"| {before} | {one:.0%} | {every:.0%} |", flush=True)
    print(
        "\n| noise of launches | campaigns | days | false alarms | +5 % | +10 % | +20 % |\n|:--|--:|--:|--:|--:|--:|--:|"
    )
    for shape in SHAPES:
        for campaigns in CAMPAIGNS:
            for day in (0.0, NOISE):
                chance, *power = first_night(campaigns, World(shape, day), count)
                print(
                    f"| {shape} | {campaigns} | {day:.0%} | {chance:.1%} | {' | '.join(f'{p:.0%}' for p in power)} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
