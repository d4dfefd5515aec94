"""Draw the iterations of a victim alone and beside an aggressor, every rank of every iteration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go, make_subplots
from labkit.store.samples import Samples
from labkit.store.samples.facts import RANK_HOSTS

_POINTS = 1500  # of a node and phase: more look the same
PHASES = {"alone_ns": "alone", "time_ns": "beside the aggressor"}


def scatter(samples: Samples, waits: float = 1.0) -> go.Figure:
    """Draw a dot for every iteration and rank, a colour for each rank, both phases side by side on one axis.

    Parameters
    ----------
    samples : samples of one launch, with the times alone as the phase ``alone_ns``.
    waits : messages of an iteration that wait for one another; its time is divided by them.

    Raises
    ------
    DataError
        If there are no times of both phases.
    """
    if not samples.n or "alone_ns" not in samples.phases:
        raise DataError(f"'{samples.spec}' has no times alone and beside. Give those of congestion.interference.")
    figure = make_subplots(cols=2, shared_yaxes=True, horizontal_spacing=0.03)
    hosts = RANK_HOSTS.of(samples.meta) or []
    rank_looks = looks.named([_name(rank, hosts) for rank in samples.ranks])
    for column, (phase, title) in enumerate(PHASES.items(), 1):
        times = samples.phases[phase] * 1e-3 / waits
        step = max(1, -(-times.shape[1] // _POINTS))
        for rank, look, line in zip(samples.ranks, rank_looks, times, strict=True):
            figure.add_trace(
                go.Scatter(
                    x=np.arange(0, len(line), step).tolist(),
                    y=[float(f"{y:.5g}") for y in line[::step]],
                    mode="markers",
                    name=look.series,
                    meta=look.meta,
                    legendgroup=str(rank),
                    showlegend=column == 1,
                    marker={"size": 4, "opacity": 0.7, "color": look.colour, "symbol": look.shape},
                    hovertemplate="iteration %{x}: %{y:,.3~f} µs<extra>%{fullData.name}</extra>",
                ),
                row=1,
                col=column,
            )
        figure.update_xaxes(title_text=f"iteration, {title}", row=1, col=column)
    figure.update_yaxes(type="log")
    figure.update_yaxes(title_text="time (µs)", row=1, col=1)
    return style.finish(figure)


def _name(rank: int, hosts: Sequence[str]) -> str:
    """A rank with its host, if known."""
    return f"rank {rank} ({style.plain(hosts[rank])})" if rank < len(hosts) else f"rank {rank}"
