"""Draw how the times of each rank are distributed, which the slowest rank alone would hide."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures._plotly import go
from labkit.samples import Samples
from labkit.samples.facts import FINGERPRINT, TIMING

ENDS = (1, 25, 50, 75, 99)  # percentiles of a box: lower whisker, box, upper whisker


def per_rank(samples: Iterable[Samples]) -> go.Figure:
    """Draw a box for every rank, a colour for every launch: quartiles, with whiskers to the 1st and 99th percentile.

    Parameters
    ----------
    samples : launches of one point; those with reported values only are left out.

    Raises
    ------
    DataError
        If none has samples of single iterations, or they are not of one point.
    """
    timed = sorted((s for s in samples if s.n and TIMING.of(s.meta) != "total"), key=lambda s: s.launch)
    if not timed:
        raise DataError("None of these samples has a time for each iteration. Measure with timing=each.")
    if len({FINGERPRINT.of(s.meta) for s in timed}) > 1:
        raise DataError(f"The samples are of several points: {'; '.join(sorted({str(s.spec) for s in timed}))}.")
    figure = go.Figure()
    launch_looks = looks.named([f"launch {launch.launch}" for launch in timed])
    for number, (launch, look) in enumerate(zip(timed, launch_looks, strict=True)):
        low, first, middle, third, high = np.percentile(launch.seconds * 1e6, ENDS, axis=1)
        figure.add_trace(
            go.Box(
                x=[str(rank) for rank in launch.ranks],
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
    small = f"box: quartiles and median of a rank; whiskers: 1st and 99th percentile; n={timed[0].n:,} in launch 0"
    figure.update_layout(
        xaxis={"type": "category", "title": {"text": style.note("rank", small)}},
        yaxis={"type": "log", "title": {"text": "time of an iteration (µs)"}},
        showlegend=len(timed) > 1,
        boxmode="group",
    )
    return style.finish(figure)
