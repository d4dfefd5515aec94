"""How long does the Explorer take to answer? Prints milliseconds on the kernel's side, asserts nothing.

    python bench/explorer.py [--samples 100000] [--rounds 21]

A page adds what its browser needs to draw at most 3000 points of a line; what is printed is everything before that.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from labkit import campaign
from labkit.batch import HOME
from labkit.explorer import live
from labkit.explorer.live import Long
from labkit.explorer.store import Store
from labkit.explorer.view import View


def median_ms(work: Callable[[], object], rounds: int) -> float:
    """Time of one call, ms."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times)) * 1e3


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
    ends = [0, given.samples]
    print(
        f"{given.samples} samples of 2 ranks, all of them       {median_ms(lambda: long.show(figure, *ends), given.rounds):7.1f} ms"
    )
    ends = [given.samples // 3, given.samples // 2]
    print(
        f"the same, zoomed into a sixth                 {median_ms(lambda: long.show(figure, *ends), given.rounds):7.1f} ms"
    )

    example = str(campaign.find(HOME / "data" / "campaigns" / "examples" / "two-cores"))
    shown, store = View(campaigns=(example,), benchmark="mpi.latency", metric="latency_us"), Store()
    held = live.blank(430)
    print(
        f"first look at a campaign                      {median_ms(lambda: store.summary([example], 'mpi.latency'), 1):7.1f} ms"
    )
    summary = store.summary([example], "mpi.latency")
    print(
        f"another statistic or scale                    {median_ms(lambda: live.redraw(held, shown.figure(summary)), given.rounds):7.1f} ms"
    )


if __name__ == "__main__":
    main()
