"""Print how often `labkit compare` errs: false alarms, power by launches and effect, sessions, a bimodal and a drifting machine.

Simulated: each launch has one value, lognormal around the true one, with the scatter of launches given. Stored: the launches
of campaigns (default: an example), dealt at random to two sides. ``python bench/comparing.py [TRIALS [CAMPAIGN…]]`` (default
1000); docs/statistics.md has the tables. ``--sessions`` prints only those of launches in sessions.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.io.markdown import table
from labkit.judge.comparison.judging import BETWEEN, FASTER, SAME, SLOWER, UNDECIDED, Judgement, Launches, Pair, judge
from labkit.point.columns import statistic_column
from labkit.read import records
from labkit.store.campaign import Campaign

SIZES = 20  # points of a comparison, all in one correction
LAUNCHES = 6  # default of labkit
QUIET = 0.01  # scatter of launches on a quiet machine, as a part of the value
EACH, INSIDE = 3, 0.6  # launches of a side in a session, and their correlation
EXAMPLE = Path(__file__).parent.parent / "data/campaigns/examples/two-cores-settings"
Values = Callable[[np.random.Generator, NDArray[np.float64]], NDArray[np.float64]]


def quiet(scatter: float) -> Values:
    """Launches that differ by chance alone."""
    return lambda chance, when: np.exp(chance.normal(0, scatter, when.shape))


def bimodal(chance: np.random.Generator, when: NDArray[np.float64]) -> NDArray[np.float64]:
    """Launches of which each third is 20 % slower, as with an unlucky placement."""
    return quiet(QUIET)(chance, when) * np.where(chance.random(when.shape) < 1 / 3, 1.2, 1.0)


def drifting(chance: np.random.Generator, when: NDArray[np.float64]) -> NDArray[np.float64]:
    """A machine that gets slower, by 10 % from the first launch to the last."""
    return quiet(QUIET)(chance, when) * (1 + 0.1 * when)


def by_session(chance: np.random.Generator, when: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two sessions of a machine: each point differs between them by 3 % (standard deviation), launches by 1 %."""
    shift = np.where(when < 0.5, 0.0, chance.normal(0, 0.03))
    return quiet(QUIET)(chance, when) * np.exp(shift)


def moments(n: int, order: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When the launches of both sides are, 0 to 1: in turns, or one side after the other."""
    every = np.linspace(0, 1, 2 * n)
    return (every[::2], every[1::2]) if order == "interleaved" else (every[:n], every[n:])


def trials(
    count: int, values: Values, *, n: int = LAUNCHES, effect: float = 0.0, order: str = "interleaved", **rules: float
) -> Iterator[list[Judgement]]:
    """Judgements of as many comparisons of `SIZES` points, whose true values differ by `effect`."""
    chance = np.random.default_rng(1)
    when = moments(n, order)
    starts = [[f"{moment:.6f}" for moment in side] for side in when]
    for _ in range(count):
        pairs = []
        for _ in range(SIZES):
            base, other = (10 * values(chance, side) for side in when)
            pairs.append(Pair(Launches(base.tolist(), starts[0]), Launches((other * (1 + effect)).tolist(), starts[1])))
        yield judge(pairs, **rules)


def in_sessions(
    count: int, sessions: int, *, effect: float, points: int, shared: bool, known: bool, **rules: float
) -> Iterator[list[Judgement]]:
    """Judgements of comparisons of launches in sessions, `EACH` of each side in each, whose correlation is 0.6 inside.

    Parameters
    ----------
    shared : whether both sides of a session have its effect in common; else each side has one of its own.
    known : whether the judge knows when the launches started.
    """
    chance = np.random.default_rng(1)
    session = np.repeat(np.arange(sessions), EACH)
    seconds = 3600 * session + 16 * np.tile(np.arange(EACH), sessions)
    starts = [[datetime.fromtimestamp(8 * side + int(s), UTC).isoformat() for s in seconds] for side in (0, 1)]
    for _ in range(count):
        state = chance.normal(size=(points, 2, sessions))
        if shared:
            state[:, 1] = state[:, 0]
        own = chance.normal(size=(points, 2, len(session)))
        values = np.exp(QUIET * (np.sqrt(INSIDE) * state[:, :, session] + np.sqrt(1 - INSIDE) * own))
        values[:, 1] *= 1 + effect
        yield judge(
            [
                Pair(*(Launches(side.tolist(), when if known else ()) for side, when in zip(both, starts, strict=True)))
                for both in values
            ],
            **rules,
        )


def print_sessions(count: int) -> None:
    """Print errors and power of launches in sessions, as if independent and by sessions."""
    print(
        f"\nLaunches in sessions, {EACH} of each side in each, scatter {100 * QUIET:g} %, correlation {INSIDE:g} inside "
        f"a session, {count} tables a row. False *differ*: equal sides, no relevant difference. False *same*: 2.01 % "
        "slower. Found: 3 % slower.\n"
    )
    rows = []
    for points, sessions in ((1, 6), (1, 12), (SIZES, 6), (SIZES, 12), (SIZES, 20)):
        for shared in (False, True):
            cells: list[str] = []
            for known in (False, True):
                how = {"points": points, "shared": shared, "known": known}
                equal = list(in_sessions(count, sessions, effect=0, relevant=1e-9, **how))
                near = in_sessions(count, sessions, effect=0.0201, **how)
                far = [one for table in in_sessions(count // 5, sessions, effect=0.03, **how) for one in table]
                wrong = np.mean([any(one.verdict in (FASTER, SLOWER) for one in each) for each in equal])
                same = np.mean([any(one.verdict == SAME for one in each) for each in near])
                found = np.mean([one.verdict == SLOWER for one in far])
                cells += [f"{100 * share:.1f}" for share in (wrong, same, found)]
                basis = equal[0][0].basis
            rows.append([str(points), str(sessions), "both sides" if shared else "each side", basis, *cells])
    head = ["false differ (%)", "false same (%)", "found (%)"]
    head = [f"{text}, {how}" for how in ("as launches", "by sessions") for text in head]
    print(table(["points", "sessions", "effect of", "units", *head], rows, align="rrllrrrrrr"))


def shares(judged: list[list[Judgement]]) -> list[str]:
    """Share of comparisons with any difference, and shares of verdicts over all points, in %."""
    differ = (FASTER, SLOWER)
    alarms = np.mean([any(one.verdict in differ for one in trial) for trial in judged])
    every = [one.verdict for trial in judged for one in trial]
    return [
        f"{100 * share:.1f}"
        for share in (alarms, *(np.mean([v == w for v in every]) for w in (SLOWER, SAME, BETWEEN, UNDECIDED)))
    ]


def stored(campaign: Path, count: int, **rules: float) -> tuple[int, Iterator[list[Judgement]]]:
    """Number of points of a campaign with at least twice `LAUNCHES` launches; judgements of as many comparisons of them.

    Each comparison deals the launches at random to two sides, of every point alike: whatever differs is a false alarm.
    """
    points = []
    for _, rows in records.table(Campaign(campaign).samples()).groupby("fingerprint"):
        metric = next(iter(benchmarks.get(str(rows["benchmark"].iloc[0])).metrics))
        launches = rows.dropna(subset=(column := statistic_column(metric, "p50"))).drop_duplicates("launch")
        if len(launches) >= 2 * LAUNCHES:
            points.append((metric, launches.set_index("launch")[[column, "start"]]))

    def dealt(cards: list[int]) -> list[Judgement]:
        places = {launch: place for place, launch in enumerate(cards)}
        pairs = []
        for metric, launches in points:
            order = sorted(launches.index, key=lambda launch: places[launch])[: 2 * LAUNCHES]
            sides = (launches.loc[sorted(half)] for half in (order[:LAUNCHES], order[LAUNCHES:]))
            base, other = (Launches(s.iloc[:, 0].tolist(), [str(t) for t in s["start"]]) for s in sides)
            pairs.append(Pair(base, other, metric))
        return judge(pairs, **rules)

    chance = np.random.default_rng(1)
    every = sorted({launch for _, launches in points for launch in launches.index})
    return len(points), (dealt(chance.permutation(every).tolist()) for _ in range(count))


def print_false_same(count: int) -> None:
    """Print how many tables call a point the same that differs by more than matters."""
    print("\nOne side slower by 2.01 %, where 2 % matters; a table is wrong if it calls any of its points the same:\n")
    rows = []
    for scatter in (0.005, QUIET, 0.02):
        cells = []
        for n in (6, 12, 20):
            judged = list(trials(count // 2, quiet(scatter), n=n, effect=0.0201))
            cells.append(f"{100 * np.mean([any(one.verdict == SAME for one in trial) for trial in judged]):.1f}")
        rows.append([f"{100 * scatter:g}", *cells])
    heads = [f"wrong tables with {n} launches (%)" for n in (6, 12, 20)]
    print(table(["scatter (%)", *heads], rows, align="rrrr"))


def print_all(count: int, folders: Sequence[Path]) -> None:
    """Print all tables."""
    rows = []
    for folder in folders:
        for relevant in (0.02, 1e-9):
            points, judged = stored(folder, count, relevant=relevant)
            rows.append([folder.name, str(points), f"{100 * relevant:.0f}", *shares(list(judged))])
    print(f"Stored: {count} comparisons a row, {LAUNCHES} launches a side, seed 1.\n")
    head = ["any difference (%)", "slower (%)", "same (%)", "between sessions (%)", "not enough data (%)"]
    print(table(["campaign", "points", "relevant (%)", *head], rows, align="lrrrrrrr") + "\n")
    print(
        f"Simulated: {SIZES} points a comparison, {count} comparisons a row, seed 1.\n\nBoth sides alike, {LAUNCHES} launches a side:\n"
    )
    rows = []
    for name, values in (
        *((f"scatter {100 * s:g} %", quiet(s)) for s in (0.005, QUIET, 0.02, 0.05)),
        ("bimodal", bimodal),
        ("drifting", drifting),
        ("two sessions", by_session),
    ):
        orders = {drifting: ("interleaved", "blocked"), by_session: ("blocked",)}
        for order in orders.get(values, ("interleaved",)):
            for relevant in (0.02, 1e-9):
                judged = list(trials(count, values, order=order, relevant=relevant))
                rows.append([name, order, f"{100 * relevant:.0f}", *shares(judged)])
    print(table(["launches", "order", "relevant (%)", *head], rows, align="llrrrrrr"))
    print_false_same(count)
    print_sessions(count)
    print("\nOne side slower:\n")
    rows = []
    for scatter in (0.005, QUIET, 0.02, 0.05):
        for effect in (0.03, 0.05, 0.1):
            cells = [shares(list(trials(count // 5, quiet(scatter), n=n, effect=effect)))[1] for n in (4, 6, 8, 10, 20)]
            rows.append([f"{100 * scatter:g}", f"{100 * effect:g}", *cells])
    rows.append(
        ["bimodal", "5", *(shares(list(trials(count // 5, bimodal, n=n, effect=0.05)))[1] for n in (4, 6, 8, 10, 20))]
    )
    print(
        table(
            ["scatter (%)", "slower by (%)", *(f"found with {n} launches (%)" for n in (4, 6, 8, 10, 20))],
            rows,
            align="r" * 7,
        )
    )
    judged = list(trials(count // 10, quiet(QUIET), effect=0.05, order="blocked"))
    print(
        f"\nBlocked without drift, scatter {100 * QUIET:g} %, 5 % slower: {shares(judged)[3]} % differ between sessions"
    )
    print("\nLaunches that are proposed where 6 do not decide, measured anew:\n")
    rows = []
    for scatter, effect in ((0.02, 0.05), (0.05, 0.1), (0.02, 0.0), (0.05, 0.0)):
        first = [one for trial in trials(count // 10, quiet(scatter), effect=effect) for one in trial]
        proposed = sorted(one.launches_needed or 1001 for one in first if one.verdict == UNDECIDED)
        n = int(np.median(proposed))
        again = [one for trial in trials(count // 10, quiet(scatter), n=n, effect=effect) for one in trial]
        decided = np.mean([one.verdict != UNDECIDED for one in again])
        low, high = np.percentile(proposed, (25, 75))
        rows.append(
            [f"{100 * scatter:g}", f"{100 * effect:g}", f"{n} ({low:.0f} to {high:.0f})", f"{100 * decided:.0f}"]
        )
    print(
        table(
            ["scatter (%)", "slower by (%)", "proposed, median (quartiles)", "decided by the median (%)"],
            rows,
            align="rrrr",
        )
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=1000, metavar="TRIALS", help="comparisons of each kind")
    parser.add_argument(
        "folders", nargs="*", type=Path, default=[EXAMPLE], metavar="CAMPAIGN", help="with stored launches"
    )
    parser.add_argument("--sessions", action="store_true", help="print only the tables of launches in sessions")
    given = parser.parse_args()
    if given.sessions:
        print_sessions(given.count)
    else:
        print_all(given.count, given.folders)


if __name__ == "__main__":
    main()
