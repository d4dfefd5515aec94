"""Draw the times of all pairs of ranks as a heat map by switch and host, where a bad part is a stripe or a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures._plotly import go
from labkit.units import format_number

SCALE = "Cividis"
_NAMED = 40  # ranks up to which each has its name on the axes


def pairs(
    seconds: NDArray[np.float64],
    hosts: Sequence[str],
    switches: Mapping[str, str] | None = None,
    *,
    bad: Sequence[tuple[int, int]] = (),
) -> go.Figure:
    """Draw the one-way time of all pairs; lines part the switches, crosses mark bad pairs.

    Parameters
    ----------
    seconds : (ranks, ranks), s, as `labkit.analysis.all_pairs` gives them; NaN where there is none.
    hosts : of every rank.
    switches : host → its leaf switch, where that is known.
    bad : pairs of ranks to mark.

    Raises
    ------
    DataError
        If the times and the hosts are not of as many ranks.
    """
    ranks = len(hosts)
    if seconds.shape != (ranks, ranks):
        raise DataError(f"The times have shape {seconds.shape}, but there are {ranks} hosts. Give one for each rank.")
    leaf = [(switches or {}).get(host, "") for host in hosts]
    order = sorted(range(ranks), key=lambda rank: (leaf[rank], hosts[rank], rank))
    place = {rank: at for at, rank in enumerate(order)}
    ordered = seconds[np.ix_(order, order)] * 1e6
    names = {rank: _label(rank, hosts, leaf) for rank in order}

    def about(rank: int, partner: int, time: float) -> str:
        return "" if np.isnan(time) else f"{names[rank]} with {names[partner]}<br><b>{format_number(time, 'µs')}</b>"

    texts = [
        [about(rank, partner, time) for partner, time in zip(order, row, strict=True)]
        for rank, row in zip(order, ordered, strict=True)
    ]
    values = [[None if np.isnan(time) else float(time) for time in row] for row in ordered]
    figure = go.Figure(
        go.Heatmap(
            z=values,
            colorscale=SCALE,
            customdata=texts,
            hovertemplate="%{customdata}<extra></extra>",
            hoverongaps=False,
            colorbar={"title": {"text": "one-way time (µs)", "side": "right"}, "thickness": 14, "tickformat": ",.4~r"},
        )
    )
    marked = [(place[a], place[b]) for one, other in bad for a, b in ((one, other), (other, one))]
    if marked:
        figure.add_scatter(
            x=[x for _, x in marked],
            y=[y for y, _ in marked],
            mode="markers",
            name="slow twice",
            hoverinfo="skip",
            marker={"symbol": "x-thin", "size": 9, "line": {"width": 2, "color": looks.COLOURS[1]}},
        )
    for at in range(1, ranks):
        if leaf[order[at]] != leaf[order[at - 1]]:
            figure.add_hline(at - 0.5, line={"color": "white", "width": 2})
            figure.add_vline(at - 0.5, line={"color": "white", "width": 2})
    labels = {"tickvals": list(range(ranks)), "ticktext": [hosts[rank] for rank in order]} if ranks <= _NAMED else {}
    by = "by switch and host" if any(leaf) else "by host"
    figure.update_layout(
        xaxis={"title": {"text": f"partner, {by}"}, "showgrid": False, **labels},
        yaxis={"title": {"text": f"measured by, {by}"}, "showgrid": False, "autorange": "reversed", **labels},
        plot_bgcolor="#f4f4f4",
    )
    return style.finish(figure, height=max(style.HEIGHT, 16 * min(ranks, 40) + 160))


def _label(rank: int, hosts: Sequence[str], leaf: Sequence[str]) -> str:
    """A rank with its host and switch."""
    return style.plain(f"rank {rank} on {hosts[rank]}" + (f" ({leaf[rank]})" if leaf[rank] else ""))
