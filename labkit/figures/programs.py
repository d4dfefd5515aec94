"""Draw the time that programs spend computing and inside MPI, and the traffic between ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.cells import SCALE, labels
from labkit.figures.plotly import go, make_subplots
from labkit.point.notes import note
from labkit.point.units import format_number, format_size, plural

PANELS = 3  # in a row
_NAMED = 4  # ranks up to which each cell has its numbers
_TICKS = 16  # ranks up to which each has its number on the axes


@dataclass(frozen=True)
class Shares:
    """Times of one program.

    Parameters
    ----------
    name : name of the program.
    computing, inside : of each rank outside and inside MPI, (ranks,), s.
    """

    name: str
    computing: NDArray[np.float64]
    inside: NDArray[np.float64]


def time_split(programs: Sequence[Shares], *, by: str = "kernel", small: str = "") -> go.Figure:
    """Draw a bar for each rank of each program: its share of the run time outside and inside MPI, %.

    Parameters
    ----------
    programs : in the order of the figure.
    by : what distinguishes the programs, in the title of the axis.
    small : small print below.

    Raises
    ------
    DataError
        If there is no program.
    """
    if not programs:
        raise DataError("No program has times of computation and communication. Measure one, such as compute.nas_cg.")
    figure = go.Figure()
    places = [[], []]  # type: list[list[str]]
    for one in programs:
        places[0] += [style.plain(one.name)] * len(one.computing)
        places[1] += [str(rank) for rank in range(len(one.computing))]
    total = np.concatenate([one.computing + one.inside for one in programs])
    kinds = ("computation", "inside MPI")
    for name, look in zip(kinds, looks.named(kinds), strict=True):
        times = np.concatenate([one.computing if name == kinds[0] else one.inside for one in programs])
        figure.add_trace(
            go.Bar(
                x=places,
                y=[float(f"{share:.4g}") for share in 100 * times / total],
                name=name,
                marker=style.bar("measured", look),
                meta=look.meta,
                **style.hover(
                    ["%{program}, rank %{rank}", "<b>%{time}</b>, %{share} % of its run time"],
                    program=places[0],
                    rank=places[1],
                    time=[format_number(float(t), "s") for t in times],
                    share=[format_number(float(s), digits=3) for s in 100 * times / total],
                ),
            )
        )
    figure.update_layout(
        barmode="stack",
        bargap=0.15,
        xaxis={"title": {"text": f"rank, by {by}"}},
        yaxis={"title": {"text": "part of the run time (%)"}, "range": [0, 100]},
        showlegend=True,
    )
    return style.finish(figure, note("programs", small))


@dataclass(frozen=True)
class Traffic:
    """Messages of one program.

    Parameters
    ----------
    name : name of the program.
    messages, sent : number of messages and B of a run from each rank (row) to each (column).
    """

    name: str
    messages: NDArray[np.int64]
    sent: NDArray[np.int64]


def traffic(programs: Sequence[Traffic]) -> go.Figure:
    """Draw the bytes of a run between each pair of ranks, a panel for each program, one scale of colours for all.

    A cell of few ranks has its number of messages and their mean size as text.

    Raises
    ------
    DataError
        If no program sends a message.
    """
    shown = [one for one in programs if one.messages.any()]
    if not shown:
        raise DataError("No program sends messages to certain ranks. Measure one with two ranks or more.")
    across = 2 if len(shown) == 4 else min(len(shown), PANELS)
    down = -(-len(shown) // across)
    figure = make_subplots(
        down,
        across,
        subplot_titles=[style.plain(one.name) for one in shown],
        horizontal_spacing=0.09,
        vertical_spacing=0.22 if down > 1 else 0,
    )
    sizes = np.concatenate([one.sent[one.sent > 0] for one in shown])
    low, high = np.floor(np.log10(sizes.min())), np.ceil(np.log10(sizes.max()))
    high = max(high, low + 1)
    for place, one in enumerate(shown):
        heat = _panel(one)
        at = {"row": place // across + 1, "col": place % across + 1}
        figure.add_trace(heat, **at)
        for texts in labels([heat], 10, (float(low), float(high))) if len(one.messages) <= _NAMED else ():
            figure.add_trace(texts, **at)
    ranks = max(len(one.messages) for one in shown)
    axis = {"tickmode": "linear", "dtick": 1} if ranks <= _TICKS else {}
    figure.update_xaxes(showgrid=False, constrain="domain", **axis)
    figure.update_yaxes(showgrid=False, autorange="reversed", **axis)
    for place in range(len(shown)):
        if place % across == 0:
            figure.update_yaxes(title_text="sent by rank (B)", row=place // across + 1, col=1)
        figure.update_xaxes(title_text="to rank", row=place // across + 1, col=place % across + 1)
    ticks = np.arange(low, high + 1)
    figure.update_layout(
        coloraxis={
            "colorscale": SCALE,
            "cmin": float(low),
            "cmax": float(high),
            "colorbar": {
                "title": {"text": "sent in a run (B)", "side": "right"},
                "thickness": 14,
                "tickvals": ticks.tolist(),
                "ticktext": [format_size(int(10**tick)) if tick < 3 else _decimal(10**tick) for tick in ticks],
            },
        },
        plot_bgcolor="#f4f4f4",
    )
    return style.finish(figure, height=60 + 230 * down)


def _decimal(size: float) -> str:
    """A power of ten of bytes."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size:g} B"


def _panel(one: Traffic) -> go.Heatmap:
    """Cells of one program."""
    ranks = len(one.messages)
    mean = one.sent / np.maximum(one.messages, 1)
    texts, about = [], []
    for rank in range(ranks):
        row = one.messages[rank]
        texts.append([f"{row[to]:,} ×<br>{_short(mean[rank, to])}" if row[to] else "" for to in range(ranks)])
        about.append(
            [
                f"rank {rank} to rank {to}<br><b>{_short(float(one.sent[rank, to]))}</b> in "
                f"{plural(row[to], 'message')} of "
                f"{_short(mean[rank, to])} on average"
                if row[to]
                else ""
                for to in range(ranks)
            ]
        )
    return go.Heatmap(
        x=list(range(ranks)),
        y=list(range(ranks)),
        z=[[float(f"{np.log10(b):.4g}") if b > 0 else None for b in row] for row in one.sent],
        coloraxis="coloraxis",
        meta={"logarithm": 10},
        hoverongaps=False,
        customdata=about,
        hovertemplate="%{customdata}<extra></extra>",
        **({"text": texts} if ranks <= _NAMED else {}),
    )


def _short(size: float) -> str:
    """A mean size with its unit, 1 kB = 1000 B."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{format_number(size / factor, digits=3)} {unit}"
    return f"{format_number(size, digits=3)} B"
