"""Draw how the iterations of a launch are distributed, and how they follow one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.looks import Look
from labkit.figures.plotly import go
from labkit.figures.points import metric_of
from labkit.point.columns import METRICS, STATISTICS, Metric
from labkit.point.notes import Note, note
from labkit.point.units import format_number, format_size
from labkit.read.records import per_rank, seconds, values
from labkit.store.samples import Samples
from labkit.store.samples.facts import LIBRARY, TIMING

POINTS = 5000  # of a trace: more than 720 px can show, and 60 kB of svg
_MANY = 8  # ranks up to which each has a separate line
_MARKED = ("p50", "p95", "p99")


def _name(samples: Samples, launches: Sequence[Samples]) -> str:
    """Name samples after the settings that distinguish them in the figure."""
    spec = samples.spec
    settings = [one.spec.values for one in launches if one.spec.benchmark == spec.benchmark]
    # the library names the tool
    varying = [k for k in spec.values if k != "tool" and len({str(values.get(k)) for values in settings}) > 1]
    facts: list[tuple[str, Callable[[Samples], Any]]] = [
        (spec.benchmark, lambda s: s.spec.benchmark),
        (format_size(spec.size), lambda s: s.spec.size),
        (spec.transport, lambda s: s.spec.transport),
        (f"{spec.ranks} ranks", lambda s: s.spec.ranks),
        (spec.testbed, lambda s: s.spec.testbed),
        (
            ", ".join(f"{k}={spec.values[k]}" for k in varying),
            lambda s: tuple(s.spec.values.items()) if varying else (),
        ),
        (str(LIBRARY.of(samples.meta)), lambda s: LIBRARY.of(s.meta)),
    ]
    words = [text for text, get in facts if len({get(s) for s in launches}) > 1]
    launch = f"launch {samples.launch}" if len({s.launch for s in launches}) > 1 or not words else ""
    suffix = "" if samples.origin == "measured" else f" ({samples.origin})"
    return style.plain(", ".join(word for word in [*words, launch] if word)) + suffix


def _steps(ordered: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sorted values, each once, and the share of iterations at or below each; thin out many, the tails least."""
    firsts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    x, share, last = ordered[firsts], np.append(firsts[1:], len(ordered)) / len(ordered), len(firsts) - 1
    if last < 500:
        return x, share
    tail = np.unique(np.geomspace(1, last / 2, 100).astype(int)) - 1
    places = np.unique(np.concatenate([np.linspace(0, last, 300).astype(int), tail, last - tail]))
    return x[places], share[places]


def _brief(values: NDArray[np.float64]) -> list[float]:
    """Return values with six digits: more cannot be seen, and the file is half as long."""
    return [float(f"{value:.6g}") for value in values.tolist()]


def _texts(values: Iterable[float]) -> list[str]:
    """Values as all tables write them."""
    return [format_number(float(value)) for value in values]


def distribution(
    samples: Iterable[Samples], metric: str, *, of: Sequence[str] = (), series: Sequence[str] = ()
) -> go.Figure:
    """Draw the share of iterations at or below each value (ECDF), a line per launch, with percentiles marked.

    Parameters
    ----------
    samples : launches with samples; those with reported values only are left out.
    metric : metric of single iterations, as in `labkit.point.columns.METRICS`.
    of : what each belongs to, such as its campaign; its name then begins with that.
    series : name of each in the legend; launches of one name share its colour and its line there.

    Raises
    ------
    DataError
        If none has samples or the metric.
    """
    every = list(samples)
    blank = [""] * len(every)
    whose = [
        (launch, text, shared)
        for launch, text, shared in zip(every, of or blank, series or blank, strict=True)
        if launch.n and TIMING.of(launch.meta) != "total"
    ]
    timed = [launch for launch, *_ in whose]
    if not timed:
        raise DataError("None of these samples has a time for each iteration. Measure with timing=each.")
    definition, figure = METRICS[metric] if metric in METRICS else metric_of(pd.DataFrame(), metric), go.Figure()
    names = [
        style.plain(shared) or ", ".join(filter(None, (style.plain(text), _name(launch, timed))))
        for launch, text, shared in whose
    ]
    for n, (launch, name, look) in enumerate(zip(timed, names, looks.named(names), strict=True)):
        times, scale = _ordered(launch, definition)  # sorted once: this takes most of the time
        x, share = _steps(times * scale if definition.kind == "cost" else (scale / times)[::-1])
        dash = style.ORIGINS[launch.origin].dash
        group = f"{names.index(name)}"
        figure.add_trace(
            go.Scatter(
                x=_brief(x),
                y=_brief(share),
                name=name,
                legendgroup=group,
                showlegend=name not in names[:n],
                mode="lines",
                line={"color": look.colour, "width": 1.8, "dash": dash, "shape": "hv"},
                meta=look.meta,
                **style.hover([f"%{{value}} {definition.unit}, share %{{y:.4~f}}"], value=_texts(x)),
            )
        )
        figure.add_trace(
            _percentiles(times, scale, definition, look).update(name=name, legendgroup=group, meta=look.meta)
        )
    figure.update_layout(
        xaxis={
            "type": "log",
            "title": {"text": definition.title},
        },
        yaxis={"title": {"text": "share of iterations at or below"}, "range": [-0.02, 1.04], "tickformat": ".0%"},
        hovermode="closest",
    )
    size = style.of_size(launch.spec.size for launch in timed)
    return style.finish(figure, size, *_percentile_notes(definition), *_retained(timed))


def _retained(samples: Sequence[Samples]) -> list[Note]:
    """Small print about points that keep extremes; the same for several launches is said once."""
    meaning = "the time of an iteration comes from all ranks and is exact"
    return [note("kept", text) for text in dict.fromkeys(per_rank.retention(launch, meaning) for launch in samples)]


def _percentile_notes(metric: Metric) -> list[Note]:
    """Explain the marks in small print; for a rate the slow side is on the left."""
    side = "" if metric.kind == "cost" else ", counted from the slow side, which is on the left"
    return [
        note("marks", f"marks: median, 95th and 99th percentile of the launch{side}"),
        note("open", "percentiles with fewer than 10 samples beyond are open"),
    ]


def _ordered(samples: Samples, metric: Metric) -> tuple[NDArray[np.float64], float]:
    """Return the sorted times of a launch, s, and what makes them the metric: times of a cost, divided by of a rate."""
    times, each = seconds(samples), values(samples, metric.name)
    longest = int(times.argmax())
    scale = each[longest] / times[longest] if metric.kind == "cost" else each[longest] * times[longest]
    return np.sort(times), float(scale)


def _percentiles(times: NDArray[np.float64], scale: float, metric: Metric, look: Look) -> go.Scatter:
    """Return marks at the percentiles of one launch; open where too few samples lie beyond."""
    s, cost = stats.summarize(times), metric.kind == "cost"
    qs = [stats.QUANTILES[p] if cost else 1 - stats.QUANTILES[p] for p in _MARKED]
    # from the times, so that the mark of a rate is work / percentile of the time
    places = [t * scale if cost else scale / t for t in (s.p50, s.p95, s.p99)]
    return go.Scatter(
        x=places,
        y=qs,
        showlegend=False,
        mode="markers",
        marker=style.marker("measured", look)
        | {"symbol": [look.shape + ("-open" if p in s.unreliable else "") for p in _MARKED]},
        **style.hover(
            [f"<b>%{{value}} {metric.unit}</b>"],
            {"statistic": [STATISTICS[p].label for p in _MARKED], "n": [s.n] * len(_MARKED)},
            value=_texts(places),
        ),
    )


def thin(y: NDArray[np.float64], points: int = POINTS) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the least and the greatest value of each stretch, in order, so that a long series keeps its outliers.

    Parameters
    ----------
    y : (iterations,), any unit.
    points : the most values to return.

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
    if samples.over or len(samples.ranks) > _MANY:
        return {name: line * 1e6 for name, line in per_rank.of_iterations(samples).items()}
    return dict(zip([f"rank {rank}" for rank in samples.ranks], samples.seconds * 1e6, strict=True))


def over_iterations(samples: Samples, *, points: int = POINTS) -> go.Figure:
    """Draw the time of each iteration in the order in which they ran, a line per rank.

    Above eight ranks: slowest, median and fastest rank of each iteration. Above `points` values a line
    keeps the least and greatest value of each stretch.

    Raises
    ------
    DataError
        If there are no samples.
    """
    if not samples.n:
        raise DataError(
            f"'{samples.spec}' has no iterations, only reported values. Use `labkit.read.records.reported`."
        )
    lines = ranks_or_envelope(samples)
    figure, budget = go.Figure(), max(400, points // len(lines))
    for (name, line), look in zip(lines.items(), looks.named(list(lines)), strict=True):
        x, y = thin(line, budget)
        figure.add_trace(
            go.Scatter(
                x=x.tolist(),
                y=_brief(y),
                name=name,
                mode="lines",
                line={"color": look.colour, "width": 1},
                meta=look.meta,
                hovertemplate="iteration %{x:,}: %{y:,.3~f} µs<extra>%{fullData.name}</extra>",
            )
        )
    long = f"least and greatest of every {2 * samples.n / budget:,.0f}" if samples.n > budget else ""
    each = "chunk" if TIMING.of(samples.meta) == "total" else "iteration"
    small = f"{benchmarks.label(samples.spec)}, launch {samples.launch}, n={samples.n:,}"
    kept = per_rank.retention(samples, "these lines are of all ranks and exact")
    least = min(float(line.min()) for line in lines.values())
    figure.update_layout(
        xaxis={"title": {"text": each}, "type": "linear"},
        yaxis={"type": "log" if least > 0 else "linear", "title": {"text": f"time of the {each} (µs)"}},
        showlegend=len(lines) > 1,
    )
    return style.finish(figure, note("n", small), note("thinned", long), note("kept", kept))
