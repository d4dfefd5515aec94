"""One-way times of a campaign as a table that the overheads of a simulated network are fitted to.

`mpi.latency` gives them: half the round trip, the median over launches of the medians. A campaign may have several
paths, and a network is fitted to one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from labkit import benchmarks, stats
from labkit.errors import SpecError
from labkit.point.columns import METRICS
from labkit.point.notes import joined
from labkit.point.ranges import shown
from labkit.store.campaign import Campaign, find
from labkit.store.samples import Samples

BENCHMARK, METRIC = "mpi.latency", "latency_us"
_ORIGINS = ("measured", "reported", "imported")
_STATISTICS = ("p50", "mean", "value")  # of a tool, the first that it reports


def table(folder: str, path: str = "") -> tuple[tuple[int, float], ...]:
    """Return sizes, B, and one-way times, s, of a path of a campaign, in the order of the sizes.

    Parameters
    ----------
    folder : or name of the campaign.
    path : words that select a path, joined by ``+``: its transport, device, launcher, testbed without options, or
        an option, as in ``tcp+binding=buffers``; of several, that without options is meant.

    Raises
    ------
    SpecError
        If the campaign has no ping-pong, or the words select none or several paths.
    DataError
        If there is no campaign.
    """
    times: dict[tuple[str, ...], dict[int, list[float]]] = {}
    for one in Campaign(find(folder)).samples(BENCHMARK):
        for seconds in _one_way(one):
            times.setdefault(_words(one), {}).setdefault(one.spec.size, []).append(seconds)
    if not times:
        raise SpecError(
            f"calibrate={shown(folder)}, but this campaign has no measured {BENCHMARK}. Measure it there: "
            f"labkit measure {BENCHMARK} -m 1:4Mi --into {folder}"
        )
    wanted = {word for word in path.split("+") if word}
    chosen = [words for words in times if wanted <= set(words)]
    plain = [words for words in chosen if not any("=" in word for word in words)]
    chosen = plain if len(plain) == 1 else chosen
    if len(chosen) != 1:
        listed = joined(", ".join(words) for words in times)
        what = f"path={shown(path)} selects {len(chosen) or 'none'} of its paths" if path else "it has several paths"
        raise SpecError(
            f"calibrate={shown(folder)}, but {what}: {listed}. Add the words of one, as in path={_advice(list(times))}."
        )
    return tuple(sorted((size, float(np.median(values))) for size, values in times[chosen[0]].items()))


def _one_way(one: Samples) -> Iterator[float]:
    """Yield the one-way time of a launch, s; nothing of numbers that nobody measured."""
    if one.origin not in _ORIGINS:
        return
    if one.n:
        benchmark = benchmarks.get(BENCHMARK)
        yield stats.quantile(one.seconds, 0.5) / benchmark.metrics[METRIC](benchmarks.typed(one.spec))
        return
    values = {value.statistic: value.value for value in one.reported if value.name == METRIC}
    yield from (values[name] / METRICS[METRIC].factor for name in [name for name in _STATISTICS if name in values][:1])


def _words(one: Samples) -> tuple[str, ...]:
    """Return the words of a path: what a user can choose it by."""
    spec = one.spec
    options = (f"{name}={value}" for name, value in benchmarks.identity(spec).values.items() if name != "timing")
    words = (spec.transport, spec.device, spec.launcher, spec.testbed.partition(",")[0], *spec.hosts, *options)
    return tuple(dict.fromkeys(word for word in words if word))


def _advice(paths: Sequence[tuple[str, ...]]) -> str:
    """Return words that select the first of several paths, as far as words can: those that not all paths have."""
    return "+".join([word for word in paths[0] if not all(word in words for words in paths)] or paths[0][:1])
