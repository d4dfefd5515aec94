"""Lab 12: what a benchmark that waits for each answer leaves out of its tail."""

from __future__ import annotations

from collections.abc import Callable

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
from labkit.options.sockets import UnderLoad
from labkit.point.spec import Effort, Spec, sweep
from labkit.read import records
from labkit.store.samples import Samples

CLOSED, OPEN, TIME = "sockets.tcp_rr", "sockets.under_load", "round_trip_us"
RATES = (1_000, 10_000)  # messages per s
RATE = RATES[-1]
EVERY = 1e6 / RATE  # µs from one message to the next
FASTER, SLOWER = "the tail of the open loop is longer", "the tail of the closed loop is longer"
MEANWHILE = "the requests that a client at a fixed rate would have sent while it waited"
SHORTEST = "the shortest times, because clocks are coarse"
WARM = "the first requests, because caches were cold"
POOLED = "the percentile over all launches together"


def _specs() -> list[Spec]:
    return sweep(CLOSED, sizes="64", tool="sockperf") + sweep(OPEN, sizes="64", message_rate=list(RATES))


def _launches(results: Results, rate: int = 0) -> list[Samples]:
    """Launches of the closed loop, or of the open loop at a rate, in order."""
    chosen = [
        s
        for s in results.samples
        if (s.spec.benchmark == OPEN and s.spec.of(UnderLoad).options.message_rate == rate)
        or (not rate and s.spec.benchmark == CLOSED)
    ]
    return sorted(chosen, key=lambda s: s.launch)


def _times(samples: Samples) -> NDArray[np.float64]:
    return records.values(samples, TIME)


def _p99(values: NDArray[np.float64]) -> float:
    return float(stats.quantile(values, 0.99))


def filled(times: NDArray[np.float64], every: float) -> NDArray[np.float64]:
    """Add to the times of a closed loop the times of the requests that it should have sent while it waited.

    Parameters
    ----------
    times : times of the requests that were sent.
    every : from one request to the next at the rate that was meant, in the same unit.

    Examples
    --------
    >>> filled(np.array([10.0, 350.0]), 100.0).tolist()
    [10.0, 350.0, 250.0, 150.0]
    """
    missing = [np.arange(time - every, every, -every) for time in times if time > 2 * every]
    return np.concatenate([times, *missing])


def waited(samples: Samples) -> NDArray[np.float64]:
    """Return the times of an open loop from when each message was due: round trip and how late it left, µs."""
    late = samples.extras.get("late_ns")
    times = _times(samples)
    return times if late is None else times + np.asarray(late, np.float64).ravel()[-len(times) :] * 1e-3


def _each(results: Results, of: Callable[[Samples], float], rate: int = 0) -> Expected:
    return aggregate([of(one) for one in _launches(results, rate)])


def _pooled(results: Results, of: Callable[[Samples], NDArray[np.float64]], rate: int = 0) -> float:
    return _p99(np.concatenate([of(one) for one in _launches(results, rate)]))


def _sent(results: Results) -> Expected:
    """Messages that the closed loop sent in a second."""
    median = _each(results, lambda s: 1e6 / float(np.median(_times(s))))
    return _each(results, lambda s: 1e6 / float(np.mean(_times(s)))).without(
        {"the reciprocal of the median round trip": float(median.centre), "the rate of the open loop": float(RATE)}
    )


def _closed(results: Results) -> Expected:
    """99th percentile of the closed loop, µs."""
    found = _each(results, lambda s: _p99(_times(s)))
    return found.without({POOLED: _pooled(results, _times), **_others(results, _times)})


def _others(results: Results, of: Callable[[Samples], NDArray[np.float64]], rate: int = 0) -> dict[str, float]:
    """Return what statistics other than the 99th percentile give, µs."""

    def at(share: float) -> float:
        return float(_each(results, lambda s: float(stats.quantile(of(s), share)), rate).centre)

    return {"the median": at(0.5), "the 99.9th percentile": at(0.999), "the slowest message": at(1.0)}


def _opened(results: Results) -> Expected:
    """99th percentile of the open loop, µs."""
    found = _each(results, lambda s: _p99(_times(s)), RATE)
    return found.without(
        {
            POOLED: _pooled(results, _times, RATE),
            "the 99th percentile of the closed loop": float(_closed(results).centre),
            f"the 99th percentile at {RATES[0]} messages/s": float(
                _each(results, lambda s: _p99(_times(s)), RATES[0]).centre
            ),
            **_others(results, _times, RATE),
        }
    )


def _filled(results: Results) -> Expected:
    """99th percentile of the closed loop with the requests that are missing, µs."""
    found = _each(results, lambda s: _p99(filled(_times(s), EVERY)))
    return found.without(
        {
            POOLED: _pooled(results, lambda s: filled(_times(s), EVERY)),
            "the 99th percentile without these requests": float(_closed(results).centre),
        }
    )


def _due(results: Results) -> Expected:
    """99th percentile of the open loop from when each message was due, µs."""
    found = _each(results, lambda s: _p99(waited(s)), RATE)
    opened = float(_opened(results).centre)
    late = float(_each(results, lambda s: _p99(waited(s) - _times(s)), RATE).centre)
    return found.without(
        {
            POOLED: _pooled(results, waited, RATE),
            "the 99th percentile without the lateness": opened,
            "the 99th percentile of the lateness alone": late,
            "the sum of the percentiles of time and lateness": opened + late,
        }
    )


def _which(results: Results) -> Expected:
    closed, opened = (float(_each(results, lambda s: _p99(_times(s)), rate).centre) for rate in (0, RATE))
    return Expected(FASTER if opened > closed else SLOWER)


def _tails(results: Results) -> pd.DataFrame:
    rows = []
    for words, rate in (("closed loop", 0), *((f"open loop, {rate:,} messages/s", rate) for rate in RATES)):
        launches = [_times(one) for one in _launches(results, rate)]
        row: dict[str, object] = {"loop": words, "messages in a launch": int(np.median([len(t) for t in launches]))}
        for name, share in (("median", 0.5), ("90 %", 0.9), ("99.9 %", 0.999)):
            row[f"{name} in µs"] = float(np.median([float(stats.quantile(t, share)) for t in launches]))
        rows.append(row)
    return pd.DataFrame(rows)


def _loops(results: Results) -> go.Figure:
    return figures.distribution([_launches(results)[0], *(_launches(results, rate)[0] for rate in RATES)], TIME)


LAB = Lab(
    title="Tail latency and coordinated omission",
    specs=_specs,
    recorded=("two-cores-limits",),
    effort=Effort(launches=6, time_cap=0.5),
    predictions=(
        Question(
            name="ratio",
            unit="times",
            text="10 000 messages of 64 B are sent in a second over TCP inside one machine. How many times the median is the time below which 99 of 100 answers come?",
            of=lambda r: _each(r, lambda s: _p99(_times(s)) / float(np.median(_times(s))), RATE),
        ),
        Question(
            name="longer",
            text="One client waits for each answer before it asks again, another one sends at a fixed rate. Whose 99th percentile is larger?",
            choices=(FASTER, SLOWER),
            of=_which,
        ),
    ),
    questions=(
        Question(
            name="sent",
            unit="messages/s",
            text="How many messages did the closed loop send in a second?",
            of=_sent,
            slips=slips.THOUSANDTH,
            why="A closed loop sends when the answer is there, so its rate is the reciprocal of the mean round trip. Nobody sets that rate, and it falls when the server slows down.",
            hints=("It sends the next one when the answer is there.", "1 000 000 / the mean round trip in µs."),
        ),
        Question(
            name="closed",
            unit="µs",
            text="What is the 99th percentile of the closed loop? (Median over launches.)",
            of=_closed,
            slips=slips.THOUSANDTH,
            why="While something holds up the server, the loop sends nothing. A long stall is then one slow sample among thousands, and it hardly moves the 99th percentile.",
            hints=("stats.quantile(times, 0.99) of each launch, then their median.",),
        ),
        Question(
            name="opened",
            unit="µs",
            text="And that of the open loop at 10 000 messages/s?",
            of=_opened,
            slips=slips.THOUSANDTH,
            why="At a fixed rate messages keep coming during a stall, and each of them waits for the rest of it. The more stalls a machine has, the further this percentile moves from that of the closed loop.",
            hints=("The same with the launches of rate 10 000.",),
        ),
        Question(
            name="omitted",
            text="A stall of the server holds the closed loop for 2 ms. What does its distribution leave out?",
            choices=(SHORTEST, MEANWHILE, WARM),
            of=lambda r: Expected(MEANWHILE),
            why="A client at 10 000 requests a second would have asked twenty times in these 2 ms. The closed loop asked once, so the other waits are missing.",
            hints=("How many samples does the closed loop have of these 2 ms, and how many the open loop?",),
        ),
        Question(
            name="filled",
            unit="µs",
            text="Add to the closed loop the requests that a client with one request every 100 µs would have sent meanwhile. What is the 99th percentile then?",
            of=_filled,
            slips=slips.THOUSANDTH,
            why="Each stall above 200 µs now counts with all requests that would have met it. The percentile moves as far as these requests are a per cent of all.",
            hints=(
                "A time t above 200 µs stands also for t − 100, t − 200, … as long as that is above 100 µs.",
                "numpy.arange(t - 100, 100, -100) for each such t.",
            ),
        ),
        Question(
            name="due",
            unit="µs",
            text="A sender can be late itself. Open loop, 10 000 messages/s: what is the 99th percentile from when each message was due?",
            of=_due,
            slips=slips.THOUSANDTH,
            why="A sender that the scheduler holds up sends late, and the round trip does not contain that. A user waits from when the request was due, so the lateness belongs to the time.",
            hints=(
                'extras["late_ns"] of a sample says how late each message left.',
                "Add it, in µs, to the round trip before you take the percentile.",
            ),
        ),
    ),
    shows={"tails": _tails, "loops": _loops},
    means="A program whose requests come from many users meets an open loop: they do not wait for one another. Measure it at the rate that it will meet, count the time from when a request was due, and compare percentiles only of the same loop. A closed loop says how fast one client can go, not what users wait for.",
    reading=(
        "`docs/sockets.md`: which tool sends at a rate, and what it keeps of each message.",
        "`notebooks/21-sockets.ipynb`: round trips and rates of all sockets; `notebooks/54-echo-sequencer-kv.ipynb`: a server under load.",
        "G. Tene, *How NOT to Measure Latency*, 2013, who named coordinated omission.",
        "J. Dean and L. A. Barroso, *The Tail at Scale*, Communications of the ACM 56 (2), 2013.",
    ),
)
