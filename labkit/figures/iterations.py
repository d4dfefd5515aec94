"""Below the summary: how the iterations of a launch are distributed, and how they run on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.columns import METRICS, STATISTICS, Metric
from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures._plotly import go
from labkit.figures.looks import Look
from labkit.figures.points import metric_of
from labkit.records import per_rank, seconds, values
from labkit.samples import Samples
from labkit.samples.facts import LIBRARY, TIMING
from labkit.units import format_number, format_size

POINTS = 5000  # of a trace: more than 720 px can show, and 60 kB of svg
_MANY = 8  # ranks up to which each has a line of its own
_MARKED = ("p50", "p95", "p99")


def _name(samples: Samples, all_of: Sequence[Samples]) -> str:
    """What tells these samples from the others in the figure."""
    spec = samples.spec
    given = [one.spec.values for one in all_of if one.spec.benchmark == spec.benchmark]
    # the tool is told by its library
    own = [k for k in spec.values if k != "tool" and len({str(values.get(k)) for values in given}) > 1]
    facts: list[tuple[str, Callable[[Samples], Any]]] = [
        (spec.benchmark, lambda s: s.spec.benchmark),
        (format_size(spec.size), lambda s: s.spec.size),
        (spec.transport, lambda s: s.spec.transport),
        (f"{spec.ranks} ranks", lambda s: s.spec.ranks),
        (spec.testbed, lambda s: s.spec.testbed),
        (", ".join(f"{k}={spec.values[k]}" for k in own), lambda s: s.spec.options if own else ()),
        (str(LIBRARY.of(samples.meta)), lambda s: LIBRARY.of(s.meta)),
    ]
    words = [text for text, get in facts if len({get(s) for s in all_of}) > 1]
    launch = f"launch {samples.launch}" if len({s.launch for s in all_of}) > 1 or not words else ""
    suffix = "" if samples.origin == "measured" else f" ({samples.origin})"
    return style.plain(", ".join(word for word in [*words, launch] if word)) + suffix


def _steps(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values and the share of iterations at or below each; many are thinned, least of all in both tails."""
    x, counts = np.unique(values, return_counts=True)
    share, last = np.cumsum(counts) / len(values), len(x) - 1
    if last < 500:
        return x, share
    tail = np.unique(np.geomspace(1, last / 2, 100).astype(int)) - 1
    kept = np.unique(np.concatenate([np.linspace(0, last, 300).astype(int), tail, last - tail]))
    return x[kept], share[kept]


def _brief(values: NDArray[np.float64]) -> list[float]:
    """Values with six digits: more cannot be seen, and the file is half as long."""
    return [float(f"{value:.6g}") for value in values.tolist()]


def _texts(values: Iterable[float]) -> list[str]:
    """Values as all tables write them."""
    return [format_number(float(value)) for value in values]


def distribution(samples: Iterable[Samples], metric: str) -> go.Figure:
    """Draw the share of iterations at or below each value (ECDF), a line per launch, with percentiles marked.

    Parameters
    ----------
    samples : launches with samples; those with reported values only are left out.
    metric : of single iterations, as in `labkit.columns.METRICS`.

    Raises
    ------
    DataError
        If none has samples or the metric.
    """
    have = [one for one in samples if one.n and TIMING.of(one.meta) != "total"]
    if not have:
        raise DataError("None of these samples has a time for each iteration. Measure with timing=each.")
    what, figure = METRICS[metric] if metric in METRICS else metric_of(pd.DataFrame(), metric), go.Figure()
    names = [_name(one, have) for one in have]
    for n, (one, name, seen) in enumerate(zip(have, names, looks.named(names), strict=True)):
        x, share = _steps(values(one, metric))
        dash = style.ORIGINS[one.origin].dash
        figure.add_trace(
            go.Scatter(
                x=_brief(x),
                y=_brief(share),
                name=name,
                legendgroup=f"{n}",
                mode="lines",
                line={"color": seen.colour, "width": 1.8, "dash": dash, "shape": "hv"},
                meta=seen.meta,
                **style.hover([f"%{{value}} {what.unit}, share %{{y:.4~f}}"], value=_texts(x)),
            )
        )
        figure.add_trace(_percentiles(one, what, seen).update(name=name, legendgroup=f"{n}", meta=seen.meta))
    figure.update_layout(
        xaxis={"type": "log", "title": {"text": style.note(what.title, _percentile_note(what), *_retained(have))}},
        yaxis={"title": {"text": "share of iterations at or below"}, "range": [-0.02, 1.04], "tickformat": ".0%"},
        hovermode="closest",
    )
    return style.finish(figure)


def _retained(samples: Sequence[Samples]) -> list[str]:
    """Small print about points that keep extremes; the same for several launches is said once."""
    what = "one time of each iteration comes from all ranks and is exact"
    return list(dict.fromkeys(filter(None, (per_rank.retention(one, what) for one in samples))))


def _percentile_note(metric: Metric) -> str:
    """Small print of the marks; for a rate the slow side is on the left."""
    side = "" if metric.kind == "cost" else "; counted from the slow side, which is on the left"
    return f"marks: {', '.join(_MARKED)} of the launch{side}; percentiles with fewer than 10 samples beyond are open"


def _percentiles(samples: Samples, metric: Metric, seen: Look) -> go.Scatter:
    """Marks at the percentiles of one launch; open where too few samples lie beyond."""
    s, each = stats.summarize(seconds(samples)), values(samples, metric.name)
    cost = metric.kind == "cost"
    qs = [stats.QUANTILES[p] if cost else 1 - stats.QUANTILES[p] for p in _MARKED]
    # from the times, so that the mark of a rate is work / percentile of the time
    times = [s.p50, s.p95, s.p99]
    scale = float(each[0] / seconds(samples)[0]) if cost else float(each[0] * seconds(samples)[0])
    places = [t * scale if cost else scale / t for t in times]
    return go.Scatter(
        x=places,
        y=qs,
        showlegend=False,
        mode="markers",
        marker=style.marker("measured", seen)
        | {"symbol": [seen.shape + ("-open" if p in s.unreliable else "") for p in _MARKED]},
        **style.hover(
            [f"<b>%{{value}} {metric.unit}</b>"],
            {"statistic": [STATISTICS[p].label for p in _MARKED], "n": [s.n] * len(_MARKED)},
            value=_texts(places),
        ),
    )


def thin(y: NDArray[np.float64], points: int = POINTS) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Least and greatest value of each stretch, in their order, so that no outlier vanishes from a long series.

    Parameters
    ----------
    y : (iterations,), any unit.
    points : at most so many are kept.

    Returns
    -------
    Places in `y`, and the values there.
    """
    if len(y) <= points:
        return np.arange(len(y)), y
    edges = np.linspace(0, len(y), points // 2 + 1).astype(int)
    parts = [(low, y[low:high]) for low, high in pairwise(edges.tolist())]
    places = np.unique([low + at for low, part in parts for at in (int(part.argmin()), int(part.argmax()))])
    return places, y[places]


def ranks_or_envelope(samples: Samples) -> dict[str, NDArray[np.float64]]:
    """Name → time of each iteration, (iterations,), µs: each rank up to eight; else slowest, median and fastest."""
    if len(per_rank.ranks(samples)) > _MANY or samples.over:
        return {name: line * 1e6 for name, line in per_rank.of_iterations(samples).items()}
    return dict(zip([f"rank {rank}" for rank in samples.ranks], samples.seconds * 1e6, strict=True))


def over_iterations(samples: Samples, *, points: int = POINTS) -> go.Figure:
    """Draw the time of each iteration in the order they ran, a line per rank.

    Above eight ranks: slowest, median and fastest rank of each iteration. Above `points` values a line
    keeps the least and greatest value of each stretch.

    Raises
    ------
    DataError
        If there are no samples.
    """
    if not samples.n:
        raise DataError(f"'{samples.spec}' has no iterations, only reported values. Use `labkit.records.reported`.")
    lines = ranks_or_envelope(samples)
    figure, budget = go.Figure(), max(400, points // len(lines))
    for (name, line), seen in zip(lines.items(), looks.named(list(lines)), strict=True):
        x, y = thin(line, budget)
        figure.add_trace(
            go.Scatter(
                x=x.tolist(),
                y=_brief(y),
                name=name,
                mode="lines",
                line={"color": seen.colour, "width": 1},
                meta=seen.meta,
                hovertemplate="iteration %{x:,}: %{y:,.3~f} µs<extra>%{fullData.name}</extra>",
            )
        )
    long = f"; least and greatest of every {2 * samples.n / budget:,.0f}" if samples.n > budget else ""
    each = "chunk" if TIMING.of(samples.meta) == "total" else "iteration"
    small = f"{benchmarks.label(samples.spec)}, launch {samples.launch}, n={samples.n:,}{long}"
    kept = per_rank.retention(samples, "these lines are exact and of all ranks")
    least = min(float(line.min()) for line in lines.values())
    figure.update_layout(
        xaxis={"title": {"text": style.note(each, small, kept)}, "type": "linear"},
        yaxis={"type": "log" if least > 0 else "linear", "title": {"text": f"time of the {each} (µs)"}},
        showlegend=len(lines) > 1,
    )
    return style.finish(figure)
