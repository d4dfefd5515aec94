"""Distribution of the times of each rank, which the slowest rank alone would hide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.judge import slow_rank
from labkit.point.notes import note
from labkit.point.units import format_count, format_number
from labkit.read.records import per_rank as of_ranks
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT, TIMING

ENDS = (1, 25, 50, 75, 99)  # percentiles of a box: lower whisker, box, upper whisker
_ALL = (0, 25, 50, 75, 100)  # the same of few iterations, which have no 99th percentile
BOXES = 64  # ranks up to which each has a box
STEPS = 400  # of a band over more ranks
MARKED = 20  # slow ranks that are marked in it
_HISTOGRAMS = "percentiles of a rank but its median come from the histograms"


def per_rank(samples: Iterable[Samples]) -> go.Figure:
    """Draw the times of every rank, a colour for every launch: quartiles, with whiskers to the 1st and 99th percentile.

    Up to 64 ranks each has a box. More are ordered by their median and drawn as bands of percentiles; those that
    `labkit.judge.slow_rank.slow_ranks` names are marked.

    Parameters
    ----------
    samples : launches of one point; those with reported values only are left out.

    Raises
    ------
    DataError
        If none has samples of single iterations, or they are not of one point.
    """
    timed = launches_of_one_point(samples)
    if len(of_ranks.ranks(timed[0])) > BOXES:
        return _bands(timed)
    figure, ends = go.Figure(), _ends(timed)
    launch_looks = looks.named([f"launch {launch.launch}" for launch in timed])
    for number, (launch, look) in enumerate(zip(timed, launch_looks, strict=True)):
        low, first, middle, third, high = _percentiles(launch, ends)
        figure.add_trace(
            go.Box(
                x=[str(rank) for rank in of_ranks.ranks(launch)],
                name=look.series,
                meta=look.meta,
                offsetgroup=f"{number}",
                lowerfence=low.tolist(),
                q1=first.tolist(),
                median=middle.tolist(),
                q3=third.tolist(),
                upperfence=high.tolist(),
                boxpoints=False,
                whiskerwidth=0.6,
                line={"color": look.colour, "width": 1.2},
            )
        )
    figure.update_layout(
        xaxis={
            "type": "category",
            "title": {"text": "rank"},
        },
        yaxis={"type": "log", "title": {"text": "time of an iteration (µs)"}},
        showlegend=len(timed) > 1,
        boxmode="group",
    )
    return style.finish(
        figure,
        note("box", "box: quartiles and median of a rank"),
        note("whiskers", f"whiskers: {'1st and 99th percentile' if ends == ENDS else 'least and greatest time'}"),
        note("n", f"n={timed[0].n:,} in launch 0"),
        note("kept", of_ranks.retention(timed[0], _HISTOGRAMS)),
    )


def launches_of_one_point(samples: Iterable[Samples]) -> list[Samples]:
    """Launches with a time for each iteration, in order.

    Raises
    ------
    DataError
        If there are none, or they are not of one point.
    """
    timed = sorted((s for s in samples if s.n and TIMING.of(s.meta) != "total"), key=lambda s: s.launch)
    if not timed:
        raise DataError("None of these samples has a time for each iteration. Measure with timing=each.")
    if len({FINGERPRINT.of(s.meta) for s in timed}) > 1:
        raise DataError(f"The samples are of several points: {'; '.join(sorted({str(s.spec) for s in timed}))}.")
    return timed


def _ends(timed: Sequence[Samples]) -> tuple[int, ...]:
    """Percentiles that all launches have: `ENDS`, or the extremes if a launch has too few iterations for them."""
    return ENDS if all(stats.given("p99", launch.n) for launch in timed) else _ALL


def _percentiles(launch: Samples, ends: Sequence[int]) -> NDArray[np.float64]:
    """Percentiles of each rank, (percentiles, ranks), µs."""
    if launch.over is None:
        return np.asarray(np.percentile(launch.seconds * 1e6, ends, axis=1))
    return of_ranks.quantiles(launch, [end / 100 for end in ends]) * 1e6


def _bands(timed: Sequence[Samples]) -> go.Figure:
    """Percentiles of many ranks, which are ordered by the median over launches of their medians."""
    ranks = np.asarray(of_ranks.ranks(timed[0]), np.int64)
    ends = _ends(timed)
    percentiles = [_percentiles(launch, ends) for launch in timed]
    middle, highest = ENDS.index(50), "99th percentile" if ends == ENDS else "greatest time"
    order = np.argsort(np.median([values[middle] for values in percentiles], axis=0), kind="stable")
    edges = np.unique(np.linspace(0, len(order), min(STEPS, len(order)) + 1).astype(int))
    x = (edges[:-1] + edges[1:] - 1) / 2
    figure = go.Figure()
    launch_looks = looks.named([f"launch {launch.launch}" for launch in timed])
    for launch, values, look in zip(timed, percentiles, launch_looks, strict=True):
        ordered = values[:, order]
        lows = np.minimum.reduceat(ordered[:middle], edges[:-1], axis=1)
        highs = np.maximum.reduceat(ordered[middle + 1 :], edges[:-1], axis=1)
        medians = [float(np.median(part)) for part in np.split(ordered[middle], edges[1:-1])]
        bands = [] if len(timed) > 1 else [(lows[0], highs[1], 0.12), (lows[1], highs[0], 0.25)]
        for low, high, opacity in bands:
            for side, fill in ((low, None), (high, "tonexty")):
                figure.add_scatter(
                    x=x.tolist(),
                    y=_brief(side),
                    mode="lines",
                    line={"width": 0},
                    fill=fill,
                    fillcolor=_faint(look.colour, opacity),
                    hoverinfo="skip",
                    showlegend=False,
                )
        lines = [("", medians, "solid"), *([(f"{highest}, ", highs[1], "dot")] if len(timed) > 1 else [])]
        for words, y, dash in lines:
            figure.add_scatter(
                x=x.tolist(),
                y=_brief(y),
                mode="lines",
                name=f"{words}{look.series}",
                line={"color": look.colour, "width": 1.4, "dash": dash},
                meta=look.meta,
                hovertemplate=f"{words or 'median, '}%{{y:,.3~f}} µs<extra>%{{fullData.name}}</extra>",
            )
        _mark_slow(figure, launch, ranks, order, values[middle])
    return _banded(figure, timed, len(edges) - 1)


def _banded(figure: go.Figure, timed: Sequence[Samples], steps: int) -> go.Figure:
    """The axes of the bands, with what they show."""
    ranks = len(of_ranks.ranks(timed[0]))
    each = f"each of {steps} steps stands for {format_number(ranks / steps)} ranks" if steps < ranks else ""
    extreme = ": their median, lowest lower and highest upper percentile" if each else ""
    highest, lowest = ("99th percentile", "1st") if _ends(timed) == ENDS else ("greatest time", "least")
    what = f"bands: quartiles, and {lowest} to {highest}" if len(timed) == 1 else f"dotted: {highest}"
    figure.update_layout(
        xaxis={
            "title": {"text": f"{ranks:,} ranks, ordered by their median"},
        },
        yaxis={"type": "log", "title": {"text": "time of an iteration (µs)"}},
        showlegend=len(timed) > 1,
    )
    return style.finish(
        figure,
        note("line", "line: median of a rank"),
        note("bands", what),
        note("steps", f"{each}{extreme}"),
        note("n", f"n={timed[0].n:,} in launch {timed[0].launch}"),
        note("marks", f"marks: ranks found slow, {MARKED} at most in a launch"),
        note("kept", of_ranks.retention(timed[0], _HISTOGRAMS)),
    )


def _mark_slow(
    figure: go.Figure, launch: Samples, ranks: NDArray[np.int64], order: NDArray[np.intp], medians: NDArray[np.float64]
) -> None:
    """Mark the ranks of a launch that the analysis names, if it has a rule for this benchmark."""
    try:
        table = slow_rank.slow_ranks(launch).table
    except DataError:
        return
    slow = table[table["slow"]].nlargest(MARKED, "slow_iterations")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    at = np.searchsorted(ranks, slow["rank"].to_numpy())
    if not len(at):
        return
    figure.add_scatter(
        x=place[at].tolist(),
        y=_brief(medians[at]),
        mode="markers",
        name=f"slow in launch {launch.launch}",
        showlegend=False,
        marker={"symbol": "x", "size": 8, "color": looks.COLOURS[1]},
        **style.hover(
            ["<b>rank %{rank}</b>: slow in %{count} iterations, by %{excess} (median)"],
            rank=[str(rank) for rank in slow["rank"]],
            count=[format_count(count) for count in slow["slow_iterations"]],
            excess=[format_number(float(excess), "µs") for excess in slow["excess_us_p50"]],
        ),
    )


def _brief(values: Iterable[float]) -> list[float]:
    """Values with five digits: more cannot be look."""
    return [float(f"{value:.5g}") for value in values]


def _faint(colour: str, opacity: float) -> str:
    """A colour, #rrggbb, that lets others show through."""
    return f"rgba({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))}, {opacity})"
