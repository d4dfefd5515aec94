"""How often the headline interval covers the truth: launches of one moment, and launches in sessions.

    python bench/sessions.py [SERIES] [--real CAMPAIGN]

**Made up.** A launch's median is the truth, plus a state of the machine, plus what the launch has of its own. The state
is an AR(1) process; neighbouring launches, 8 s apart, have a correlation of 0.6 in all. Its memory ends after minutes,
so that sessions 10 min apart meet independent states. Where sessions have an effect of their own (another placement,
another temperature), its standard deviation equals that of the launches. The truth is the median over all states. The
last column counts how often a note warns of the interval that is printed.

**Real.** `--real` reads a campaign in which launches follow one another for an hour or more, cuts it into runs of
launches as `labkit measure` makes them, and counts how often their headline holds the median of all launches.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import stats
from labkit.read import columnar
from labkit.stats import sessions as grouping
from labkit.store.campaign import Campaign

EVERY = 8.0  # s between launches
CORRELATION = 0.6  # of neighbouring launches of one session
STATE = 0.9  # correlation of the machine's state after one launch; its share of the variance makes up the rest
LAGS = (1, 4, 8, 38, 75, 150)  # launches, of which the correlation is printed
Floats = NDArray[np.float64]


def times(launches: int, sessions: int, apart_s: float) -> tuple[Floats, NDArray[np.intp]]:
    """Return when launches start, and the session of each."""
    number = np.arange(launches) * sessions // launches
    return number * apart_s + EVERY * (np.arange(launches) - np.searchsorted(number, number)), number.astype(np.intp)


def series(chance: np.random.Generator, at_s: Floats, number: NDArray[np.intp], effect: float, count: int) -> Floats:
    """Return launches of made-up points, (count, launches); the truth is 0."""
    share = CORRELATION / STATE  # of the variance within a session that neighbours have in common
    state = np.zeros((count, len(at_s)))
    state[:, 0] = chance.normal(size=count)
    for k in range(1, len(at_s)):
        keep = STATE ** ((at_s[k] - at_s[k - 1]) / EVERY)
        state[:, k] = keep * state[:, k - 1] + np.sqrt(1 - keep**2) * chance.normal(size=count)
    own = chance.normal(size=state.shape)
    of_session = chance.normal(size=(count, int(number.max()) + 1))[:, number]
    return np.sqrt(share) * state + np.sqrt(1 - share) * own + effect * of_session


def judged(values: Floats, at_s: Floats, number: NDArray[np.intp], truth: float | Floats = 0.0) -> tuple[str, ...]:
    """Return coverage and width of the interval over launches, and of the headline, and how often a note warns."""
    sides = []
    for of in (None, number):
        _, low, high = (part[:, 0] for part in stats.aggregate(values[:, :, None], of))
        sides += [f"{100 * np.mean((low <= truth) & (truth <= high)):.0f} %", f"{np.median(high - low):.2f}"]
    over_launches = len(np.unique(number)) < stats.LAUNCHES
    noted = np.zeros(len(values), bool) | (at_s[-1] - at_s[0] < stats.MOMENT)
    if over_launches:
        noted |= grouping.resembling(values) <= grouping.CHANCE
    return (*sides, f"{100 * noted.mean():.0f} %")


def made_up(count: int) -> None:
    """Print coverage for designs and effects of sessions."""
    designs = [(6, 1, 0.0), (18, 1, 0.0), (60, 1, 0.0), (18, 3, 3600.0), (6, 6, 600.0), (18, 6, 600.0), (36, 12, 600.0)]
    print("| effect of sessions | launches | over launches | width | headline | width | note |")
    print("|:--|:--|--:|--:|--:|--:|--:|")
    for effect in (0.0, 1.0):
        for launches, sessions, apart_s in designs:
            at_s, number = times(launches, sessions, apart_s)
            chance = np.random.default_rng([launches, sessions, int(effect)])
            values = series(chance, at_s, number, effect, count)
            words = stats.basis(launches, sessions, float(at_s[-1]))
            print("| " + " | ".join([f"{effect:g}", words, *judged(values, at_s, number)]) + " |", flush=True)


def real(path: str) -> None:
    """Print coverage of runs of launches that were cut from a long series."""
    frame = columnar.read_campaigns(Campaign(path)).records
    print("| point | runs of | runs | over launches | headline | note |")
    print("|:--|:--|--:|--:|--:|--:|")
    for size, rows in frame.sort_values("start").groupby("message_size_B"):
        start = pd.to_datetime(rows["start"], format="ISO8601", utc=True)
        at_s = (start - start.iloc[0]).dt.total_seconds().to_numpy()
        value = rows["latency_us_p50"].to_numpy()
        truth, n = float(np.median(value)), len(value)
        whole = stats.basis(n, 1, float(at_s[-1]))
        every = float(np.median(np.diff(at_s)))
        lags = ", ".join(f"{lag * every:.0f} s: {alike(value, lag):.2f}" for lag in LAGS if lag < n / 2)
        print(f"| mpi.latency {size} B; correlation of launches apart by {lags} | {whole} | | | |")
        for launches, sessions in ((6, 1), (18, 1), (60, 1), (6, 6), (18, 6)):
            step = n // sessions if sessions > 1 else 0
            each = launches // sessions
            begins = range((step if step else n) - each + 1)
            places = np.array([[b + s * step + k for s in range(sessions) for k in range(each)] for b in begins])
            number = np.repeat(np.arange(sessions), each).astype(np.intp)
            if len(places) < 10:
                continue
            cover = judged(value[places], at_s[places[0]], number, truth)
            spans = at_s[places[:, -1]] - at_s[places[:, 0]]
            words = stats.basis(launches, sessions, float(np.median(spans)))
            print(f"| | {words} | {len(places)} | {cover[0]} | {cover[2]} | {cover[4]} |", flush=True)


def alike(values: Floats, lag: int) -> float:
    """Return the rank correlation of launches that are so many launches apart."""
    ranks = np.argsort(np.argsort(values)).astype(float)
    return float(np.corrcoef(ranks[:-lag], ranks[lag:])[0, 1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", nargs="?", type=int, default=4000)
    parser.add_argument("--real", metavar="CAMPAIGN")
    options = parser.parse_args()
    if options.real:
        real(options.real)
    else:
        made_up(options.series)
    sys.exit(0)
