"""Lab 9: a comparison that misleads with true numbers, and the rules that would have prevented it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from labkit import figures, stats
from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected, aggregate
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.point.spec import Spec, sweep
from labkit.read import records
from labkit.store.samples import Samples

NAME, TIME, SIZE = "mpi.latency", "latency_us", 256
SAME = "the two are the same library: what differs is the launch"
FASTER = "library B is faster"
SIZES = "there are too few message sizes to tell"
POOLED = "iterations of one launch taken as independent"
RATES = "rates averaged arithmetically"
SCALE = "an axis that does not begin at 0"


def _specs() -> list[Spec]:
    return sweep(NAME, sizes="256", transport=["shm", "tcp"])


def _points(results: Results) -> list[Samples]:
    """Launches of the advertised point, in order."""
    launches = [s for s in results.samples if s.spec.size == SIZE and s.spec.transport == "shm"]
    return sorted(launches, key=lambda s: s.launch)


def _pair(results: Results) -> tuple[Samples, Samples]:
    """Return the slowest and the fastest launch, which an advertisement would choose."""
    order = sorted(_points(results), key=lambda s: float(np.median(records.values(s, TIME))))
    return order[-1], order[0]


def _advert(results: Results) -> pd.DataFrame:
    rows = []
    for name, samples in zip("AB", _pair(results), strict=True):
        values = records.values(samples, TIME)
        inside = stats.within(values)
        rows.append(
            {
                "library": f"library {name}",
                "messages": len(values),
                "median in µs": float(np.median(values)),
                "interval from": inside.low,
                "to": inside.high,
            }
        )
    return pd.DataFrame(rows)


def _launches(results: Results) -> go.Figure:
    rows = results.records
    return figures.launches(rows[(rows["message_size_B"] == SIZE) & (rows["transport"] == "shm")], TIME)


def _gain(results: Results) -> float:
    slow, fast = (float(np.median(records.values(s, TIME))) for s in _pair(results))
    return 100 * (1 - fast / slow)


def _claim(results: Results) -> str:
    """Write an advertisement; what it says of its intervals is true."""
    slow, fast = (stats.within(records.values(s, TIME)) for s in _pair(results))
    apart = "that do not overlap" if fast.high < slow.low else "that overlap a little"
    return f"> **Library B: {_gain(results):.0f} % faster than library A!** Messages of 256 B, medians of up to thousands of messages, with 95 % intervals {apart}."


def _spread(results: Results) -> Expected:
    """Range of the launches as a part of their median, %; it has no interval, so 3 % around it count as right."""
    medians = results.launches(NAME, TIME, transport="shm", size=SIZE)
    value = float(100 * (medians.max() - medians.min()) / np.median(medians))
    largest = float(medians.max() / medians.min())
    return Expected(value, 0.97 * value, 1.03 * value, "3 % around the value").without(
        {
            "largest over smallest, in %": 100 * largest,
            "their standard deviation": float(100 * medians.std() / medians.mean()),
        }
    )


def _times(results: Results) -> list[NDArray[np.float64]]:
    """Times of the messages of each launch, µs."""
    return [records.values(one, TIME) for one in _points(results)]


def _tail(results: Results) -> Expected:
    times = _times(results)
    pooled = float(stats.quantile(np.concatenate(times), 0.99))
    return aggregate(float(stats.quantile(one, 0.99)) for one in times).without(
        {
            "the percentile over all launches together": pooled,
            "the median of the messages": float(np.median([np.median(one) for one in times])),
            "the slowest message": float(np.median([one.max() for one in times])),
            "the 99.9th percentile": float(np.median([stats.quantile(one, 0.999) for one in times])),
        }
    )


def _mean_rate(results: Results) -> Expected:
    """Bandwidth as all bytes over all time, launch by launch."""
    times = _times(results)
    return aggregate(SIZE / float(np.mean(one)) for one in times).without(
        {
            "the mean of the rates": float(np.median([np.mean(SIZE / one) for one in times])),
            "the size over the median time": float(np.median([SIZE / np.median(one) for one in times])),
        }
    )


def _wrong_rate(results: Results) -> Expected:
    return aggregate(float(100 * (np.mean(SIZE / one) * np.mean(one) / SIZE - 1)) for one in _times(results))


LAB = Lab(
    title="Lies, statistics and benchmarks",
    specs=_specs,
    recorded=("two-cores-launches",),
    predictions=(
        Question(
            name="believe",
            text="The advertisement: what do you believe?",
            choices=(FASTER, SAME, SIZES),
            of=lambda r: Expected(SAME),
            after=True,  # its numbers are those of the run
        ),
    ),
    questions=(
        Question(
            name="spread",
            unit="%",
            text="By how much do the medians of all launches differ: (largest − smallest) / median?",
            of=_spread,
            slips=slips.PART,
            why="Each launch places processes and pages anew, at another moment of the machine. That shifts all messages of a launch together, so launches differ far more than the interval of one launch suggests.",
            hints=(
                "lab.results.launches(…) gives one median for each launch.",
                "Compare the result with the gain that is advertised.",
            ),
        ),
        Question(
            name="truth",
            text="What explains the advertisement?",
            choices=(FASTER, SAME, SIZES),
            of=lambda r: Expected(SAME),
            why="Both advertised medians are launches of one library. Whoever picks the slowest and the fastest launch sells the spread between launches as a difference between products.",
            hints=(
                "Where do its two medians stand in the figure of launches?",
                "How many libraries did this lab measure?",
            ),
        ),
        Question(
            name="trick",
            text="What makes its intervals so narrow?",
            choices=(POOLED, RATES, SCALE),
            of=lambda r: Expected(POOLED),
            why="The messages of one launch share cores, pages and the moment. An interval over them shrinks with their number, but it covers only what varied inside that launch.",
            hints=(
                "What is n in the table, and what would have to be repeated to compare two libraries?",
                "An interval covers only what varied while it was measured.",
            ),
        ),
        Question(
            name="rate",
            unit="MB/s",
            text="What is the bandwidth of these messages, as all bytes over all time?",
            of=_mean_rate,
            slips=slips.INVERSE | slips.BITS,
            why="The rate of many messages is all bytes over all time. With equal sizes that is the size over the mean time, so slow messages count with the time that they took.",
            hints=(
                "A sample is the time of one message, in µs.",
                "Mean the times, not the rates: 256 B over the mean time; B/µs are MB/s.",
            ),
        ),
        Question(
            name="flattered",
            unit="%",
            text="By how much more does the arithmetic mean of the rates of single messages say?",
            of=_wrong_rate,
            base=100,
            slips=slips.PART | {"the ratio in %: take 100 away": lambda value: value + 100},
            why="The reciprocal is a convex function, so the mean of the rates is at least the rate of the mean time (Jensen's inequality). The more the times scatter, the more it flatters.",
            hints=("mean(size / t) against size / mean(t).", "It is never less: Jensen's inequality."),
        ),
        Question(
            name="tail",
            unit="µs",
            text="99 of 100 of these messages take at most how long? (Median over launches.)",
            of=_tail,
            slips=slips.THOUSANDTH,
            why="The slowest messages met an interrupt, the scheduler or another program. Such delays are rare and long, so the 99th percentile lies above the median and varies more.",
            hints=(
                "The 99th percentile of each launch, then the median of those.",
                "stats.quantile(values, 0.99) of labkit.",
            ),
        ),
    ),
    shows={
        "advert": _advert,
        "claim": _claim,
        "launches": _launches,
        "distribution": lambda r: figures.distribution(_points(r), TIME),
    },
    means="Repeat what can differ: starts, days, machines, not only iterations. Report the median with an interval over these repetitions, average times rather than rates, and show the tail where a program waits for the slowest. A difference below the spread of the launches is no difference.",
    reading=(
        "Lab 11, *Is this number good?*: what a number is compared with.",
        "`notebooks/90-compare.ipynb`: compare two sides so that the order of runs cannot decide.",
        "`docs/statistics.md`: which interval, and why.",
        "T. Hoefler and R. Belli, SC15.",
    ),
)
