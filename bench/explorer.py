"""How long does the Explorer take to answer? Prints milliseconds on the kernel's side, asserts nothing.

    python bench/explorer.py [--samples 100000] [--rounds 21]

A page adds what its browser needs to draw at most 3000 points of a line; what is printed is everything before that.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

from labkit import campaign, figures
from labkit.batch import HOME
from labkit.explorer import live
from labkit.explorer.live import Long
from labkit.explorer.panels import point
from labkit.explorer.store import Store
from labkit.explorer.view import View


def told(what: str, work: Callable[[], object], rounds: int) -> None:
    """Print the median time of a call, and of it the processor's, which a busy machine does not lengthen as much."""
    times = []
    for _ in range(rounds):
        began, computing = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - began, time.process_time() - computing))
    whole, own = np.median(times, axis=0) * 1e3
    print(f"{what:50}{whole:8.1f} ms {own:8.1f} ms")


def main() -> None:
    """Print all of them."""
    words = argparse.ArgumentParser()
    words.add_argument("--samples", type=int, default=100_000)
    words.add_argument("--rounds", type=int, default=21)
    given = words.parse_args()
    rng = np.random.default_rng(1)
    long = Long({f"rank {rank}": rng.lognormal(size=given.samples) for rank in range(2)}, live.POINTS // 2)
    figure = live.blank(380)
    figure.add_scatter(name="rank 0")
    figure.add_scatter(name="rank 1")
    print(f"{'':50}{'time':>11}{'computing':>12}")
    every = f"{given.samples} samples of 2 ranks, all of them"
    told(every, lambda: long.show(figure, 0, given.samples), given.rounds)
    ends = given.samples // 3, given.samples // 2
    told("the same, zoomed into a sixth", lambda: long.show(figure, *ends), given.rounds)

    example = str(campaign.find(HOME / "data" / "campaigns" / "examples" / "two-cores"))
    shown, store = View(campaigns=(example,), benchmark="mpi.latency", metric="latency_us"), Store()
    held = live.blank(430)
    told("first look at a campaign", lambda: store.summary([example], "mpi.latency"), 1)
    summary = store.summary([example], "mpi.latency")
    told("another statistic or scale", lambda: live.redraw(held, shown.figure(summary)), given.rounds)

    one = next(s for s in campaign.Campaign(example).samples("mpi.latency") if s.n)
    times = rng.lognormal(7, size=(len(one.ranks), given.samples)).astype(np.int64)
    big, looked = dataclasses.replace(one, time_ns=times), live.blank(380)
    views: dict[str, Callable[[], go.Figure]] = {
        "distribution": lambda: figures.distribution([big], "latency_us"),
        "histogram": lambda: point.histogram(big, "latency_us"),
        "iterations": lambda: point.over_iterations(big)[0],
        "ranks": lambda: figures.per_rank([big]),
    }
    for name, draw in views.items():
        told(f"point of {given.samples} samples: {name}", lambda draw=draw: live.redraw(looked, draw()), given.rounds)  # type: ignore[misc]


if __name__ == "__main__":
    main()
