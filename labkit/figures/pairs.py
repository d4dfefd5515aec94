"""Draw the times of all pairs of ranks as a heat map by switch and host. A bad part shows as a stripe or a block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.point.notes import note
from labkit.point.units import format_number

SCALE = "Cividis"
CELLS = 400  # of a side; a screen shows no more
MARKED = 4000  # bad pairs that are marked, both directions
_NAMED = 40  # ranks up to which each has its name on the axes
_TICKS = 16  # names on an axis of more
_PARTED = 20  # switches from which on thinner lines part them
_TOLD = 128  # ranks up to which each cell has a separate text


def pairs(
    seconds: NDArray[np.float64],
    hosts: Sequence[str],
    switches: Mapping[str, str] | None = None,
    *,
    bad: Sequence[tuple[int, int]] = (),
) -> go.Figure:
    """Draw the one-way time of all pairs; lines part the switches, crosses mark bad pairs.

    Of more than 400 ranks a cell shows the greatest time of several neighbours; a note states this.

    Parameters
    ----------
    seconds : (ranks, ranks), s, as `labkit.judge.all_pairs` gives them; NaN without one.
    hosts : hosts of every rank.
    switches : host → its leaf switch, if known.
    bad : pairs of ranks to mark.

    Raises
    ------
    DataError
        If times and hosts have different numbers of ranks.
    """
    ranks = len(hosts)
    if seconds.shape != (ranks, ranks):
        raise DataError(f"The times have shape {seconds.shape}, but there are {ranks} hosts. Give one for each rank.")
    leaf = [(switches or {}).get(host, "") for host in hosts]
    order = sorted(range(ranks), key=lambda rank: (leaf[rank], hosts[rank], rank))
    ordered = seconds[np.ix_(order, order)] * 1e6
    each = -(-ranks // CELLS)
    if ranks <= _TOLD:
        heat = _labelled(ordered, [_label(rank, hosts, leaf) for rank in order])
        axis = _positions([hosts[rank] for rank in order]) if ranks <= _NAMED else {}
        places: list[str] | list[int] = list(range(ranks))
    else:
        names = _names([hosts[rank] for rank in order], order, each)
        heat, axis = _merged(ordered, names, each), _axis_labels([hosts[rank] for rank in order], names, each)
        places = [names[place // each] for place in range(ranks)]
    figure = go.Figure(heat)
    place = {rank: places[at] for at, rank in enumerate(order)}
    marks = dict.fromkeys((place[a], place[b]) for one, other in bad for a, b in ((one, other), (other, one)))
    _mark(figure, [*marks][:MARKED], 9 if ranks <= _TOLD else 3)
    parts = [at for at in range(1, ranks) if leaf[order[at]] != leaf[order[at - 1]]]
    for at in parts:
        line = {"color": "white", "width": 2 if len(parts) < _PARTED else 0.5}
        figure.add_hline(at / each - 0.5, line=line)
        figure.add_vline(at / each - 0.5, line=line)
    by = f"in the order of {'switches and hosts' if any(leaf) else 'hosts'}"
    notes = [note("order", by)]
    if each > 1:
        notes += [
            note("n", f"{ranks:,} ranks"),
            note("merged", f"a cell is the greatest of {each} × {each} pairs"),
        ]
    if len(marks) > MARKED:
        notes.append(note("marks", f"{MARKED:,} of {len(marks):,} marks are drawn"))
    figure.update_layout(
        xaxis={"title": {"text": "partner"}, "showgrid": False, **axis},
        yaxis={"title": {"text": "measured by"}, "showgrid": False, **axis, **_downwards(axis)},
        plot_bgcolor="#f4f4f4",
    )
    return style.finish(figure, *notes, height=max(style.HEIGHT, 16 * min(ranks, 40) + 160))


def _heat(values: NDArray[np.float64], digits: int = 17, **more: Any) -> go.Heatmap:
    """The cells; empty without a time."""
    return go.Heatmap(
        z=[[None if math.isnan(time) else float(f"{time:.{digits}g}") for time in row] for row in values.tolist()],
        colorscale=SCALE,
        hoverongaps=False,
        colorbar={"title": {"text": "one-way time (µs)", "side": "right"}, "thickness": 14, "tickformat": ",.4~r"},
        **more,
    )


def _labelled(ordered: NDArray[np.float64], labels: Sequence[str]) -> go.Heatmap:
    """Cells with a text each."""

    def about(rank: str, partner: str, time: float) -> str:
        return "" if np.isnan(time) else f"{rank} with {partner}<br><b>{format_number(time, 'µs')}</b>"

    texts = [
        [about(rank, partner, time) for partner, time in zip(labels, row, strict=True)]
        for rank, row in zip(labels, ordered, strict=True)
    ]
    return _heat(ordered, customdata=texts, hovertemplate="%{customdata}<extra></extra>")


def _merged(ordered: NDArray[np.float64], names: Sequence[str], each: int) -> go.Heatmap:
    """Cells of `each` × `each` pairs, without text; the greatest pair counts."""
    side = len(names)
    padded = np.full((side * each, side * each), -np.inf)
    padded[: len(ordered), : len(ordered)] = np.where(np.isnan(ordered), -np.inf, ordered)
    greatest = padded.reshape(side, each, side, each).max(axis=(1, 3))
    cells = np.where(np.isinf(greatest), np.nan, greatest)
    what = "at most %{z} µs" if each > 1 else "%{z} µs"
    return _heat(cells, 4, x=names, y=names, hovertemplate=f"%{{y}} with %{{x}}<br><b>{what}</b><extra></extra>")


def _names(hosts: Sequence[str], ranks: Sequence[int], each: int) -> list[str]:
    """Names of the rows, no two the same: the first and the last host, or the ranks where hosts have several."""
    several = len(set(hosts)) < len(hosts)
    labels = [style.plain(f"{host} rank {rank}" if several else host) for host, rank in zip(hosts, ranks, strict=True)]
    parts = [labels[at : at + each] for at in range(0, len(labels), each)]
    return [part[0] if len(part) == 1 else f"{part[0]} … {part[-1]}" for part in parts]


def _positions(names: Sequence[str]) -> dict[str, Any]:
    """Axis with a name at every place."""
    return {"tickvals": list(range(len(names))), "ticktext": list(names)}


def _axis_labels(hosts: Sequence[str], names: Sequence[str], each: int) -> dict[str, Any]:
    """Axis of many rows with the first host of some."""
    step = -(-len(names) // _TICKS)
    first = [style.plain(host) for host in hosts[:: each * step]]
    return {"type": "category", "range": [-0.5, len(names) - 0.5], "tickvals": names[::step], "ticktext": first}


def _downwards(axis: Mapping[str, Any]) -> dict[str, Any]:
    """What makes an axis begin at the top."""
    return {"range": axis["range"][::-1]} if "range" in axis else {"autorange": "reversed"}


def _mark(figure: go.Figure, places: Sequence[tuple[Any, Any]], size: int) -> None:
    """Crosses at bad pairs."""
    if places:
        figure.add_scatter(
            x=[x for _, x in places],
            y=[y for y, _ in places],
            mode="markers",
            name="slow twice",
            hoverinfo="skip",
            marker={
                "symbol": "x-thin",
                "size": size,
                "line": {"width": 2 if size > 5 else 0.7, "color": looks.COLOURS[1]},
            },
        )


def _label(rank: int, hosts: Sequence[str], leaf: Sequence[str]) -> str:
    """A rank with its host and switch."""
    return style.plain(f"rank {rank} on {hosts[rank]}" + (f" ({leaf[rank]})" if leaf[rank] else ""))
