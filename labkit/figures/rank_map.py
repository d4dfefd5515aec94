"""A statistic of every rank as a map of the machine: a row per node, ordered by switch, a column per rank in its node.

A slow node shows as a row, a slow switch as a block of rows, and a slow position within nodes as a column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.errors import DataError
from labkit.figures import style
from labkit.figures.cells import SCALE
from labkit.figures.plotly import go
from labkit.figures.ranks import launches_of_one_point
from labkit.point.notes import Note, note
from labkit.point.units import plural
from labkit.read.records import per_rank, resolution
from labkit.store.samples import Samples
from labkit.store.samples.facts import RANK_HOSTS

ROWS, COLUMNS = 512, 256  # distinguishable cells, and a figure of a few MB
_TICKS = 16  # columns with a tick each
_UNKNOWN = 64  # ranks of a row where their hosts are not known
_CELL, _TALL = 14, 900  # px: of a row, of the figure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Statistic:
    """One number of each rank.

    Parameters
    ----------
    label : label with its unit, for the colours.
    of : from the samples of a launch to (ranks,).
    over : how launches become one number: from (launches, ranks) to (ranks,).
    said : how, in words.
    histogram : whether it comes from a histogram if only extremes were kept.
    time : whether it is a time, which must span ten steps of the clock.
    """

    label: str
    of: Callable[[Samples], Floats]
    over: Callable[[Floats], Floats]
    said: str
    histogram: bool = False
    time: bool = True


def _mean(values: Floats) -> Floats:
    return np.asarray(values.mean(axis=0), np.float64)


def _median(values: Floats) -> Floats:
    return np.asarray(np.median(values, axis=0), np.float64)


STATISTICS: Mapping[str, Statistic] = {
    "median": Statistic("median time (µs)", lambda s: per_rank.medians(s) * 1e6, _median, "median over launches"),
    "p99": Statistic(
        "99th percentile (µs)",
        lambda s: per_rank.quantiles(s, [0.99])[0] * 1e6,
        _median,
        "median over launches",
        histogram=True,
    ),
    "times_slowest": Statistic(
        "slowest of all ranks (% of the iterations)",
        lambda s: np.asarray(per_rank.times_slowest(s) * (100 / s.n), np.float64),
        _mean,
        "mean over launches",
        time=False,
    ),
}


def rank_map(
    samples: Iterable[Samples], statistic: str = "median", *, switches: Mapping[str, str] | None = None
) -> go.Figure:
    """Draw one statistic of every rank: a row for each node, by switch and name, a column for each of its ranks.

    Of more than 512 nodes, or 256 ranks in a node, a cell shows the greatest of several neighbours; a note states this.

    Parameters
    ----------
    samples : launches of one point; those with reported values only are left out.
    statistic : one of `STATISTICS`: ``median`` or ``p99`` of the rank's times, or ``times_slowest``.
    switches : host → its leaf switch; what the samples know when left out.

    Raises
    ------
    DataError
        If none has samples of single iterations, they are not of one point, or there is no such statistic.
    """
    if statistic not in STATISTICS:
        raise DataError(
            f"statistic={statistic!r}, but it must be one of {', '.join(STATISTICS)}. Set statistic=median."
        )
    timed, what = launches_of_one_point(samples), STATISTICS[statistic]
    ranks = per_rank.ranks(timed[0])
    if any(per_rank.ranks(launch) != ranks for launch in timed):
        raise DataError("The launches are of different ranks, so they have no common map. Give those of one point.")
    leaf_of = per_rank.switches(timed[0]) if switches is None else switches
    values = what.over(np.array([what.of(launch) for launch in timed]))
    unknown = 0
    if what.time:
        values = resolution.known(values * 1e-6, timed[0]) * 1e6
        unknown = int(np.isnan(values).sum())
    nodes, grid, rank_at = _laid_out(ranks, values, timed[0], leaf_of)
    cells, rank_at, each = _merged(grid, rank_at)
    firsts = nodes[:: each[0]]
    lasts = [nodes[min(at + each[0], len(nodes)) - 1] for at in range(0, len(nodes), each[0])]
    names = [style.plain(a if a == b else f"{a} … {b}") for a, b in zip(firsts, lasts, strict=True)]
    figure = go.Figure(
        go.Heatmap(
            z=[[None if math.isnan(value) else float(f"{value:.4g}") for value in row] for row in cells.tolist()],
            y=names,
            customdata=rank_at.tolist(),
            colorscale=SCALE,
            hoverongaps=False,
            hovertemplate="rank %{customdata} on %{y}<br><b>%{z}</b><extra></extra>",
            colorbar={"title": {"text": what.label, "side": "right"}, "thickness": 14, "tickformat": ",.4~r"},
        )
    )
    leaves = [leaf_of.get(name, "") for name in firsts]
    for at in range(1, len(leaves)):
        if leaves[at] != leaves[at - 1]:
            figure.add_hline(at - 0.5, line={"color": "white", "width": 2})
    known = bool(RANK_HOSTS.of(timed[0].meta))
    by = "node" if known else f"{_UNKNOWN} ranks each, since their hosts are not known"
    without = f"clock resolution: {unknown} ranks without a colour" if unknown else ""
    by += ", by switch and name" if any(leaves) else ""
    figure.update_layout(
        xaxis={
            "title": {"text": "rank in its node"},
            "showgrid": False,
            "dtick": 1 if cells.shape[1] <= _TICKS else None,  # else it has ticks between two ranks
        },
        yaxis={"title": {"text": by}, "type": "category", "showgrid": False, "autorange": "reversed"},
        plot_bgcolor="#f4f4f4",
    )
    height = max(style.HEIGHT, min(_CELL * len(names) + 160, _TALL))
    return style.finish(figure, *_notes(timed, what, grid, each), note("clock", without), height=height)


def _notes(timed: Sequence[Samples], what: Statistic, grid: Floats, each: tuple[int, int]) -> list[Note]:
    """Small print: launches, what a cell represents, what was kept."""
    launches = "1 launch" if len(timed) == 1 else f"{what.said.partition(' ')[0]} of {len(timed)} launches"
    small = f"{len(per_rank.ranks(timed[0])):,} ranks on {plural(len(grid), 'node')}, {launches}"
    merged = f"a cell is the greatest of {each[0]} nodes × {each[1]} ranks" if each != (1, 1) else ""
    kept = "these percentiles come from histograms" if what.histogram else "these values are exact"
    return [
        note("ranks", small),
        note("n", f"n={timed[0].n:,} in a launch"),
        note("merged", merged),
        note("kept", per_rank.retention(timed[0], kept)),
    ]


def _laid_out(
    ranks: Sequence[int], values: Floats, samples: Samples, switches: Mapping[str, str]
) -> tuple[list[str], Floats, NDArray[np.int64]]:
    """Nodes in the order of the rows; values and ranks as (nodes, most ranks of a node), with NaN and -1 for none."""
    hosts = RANK_HOSTS.of(samples.meta)
    threads = max(1, benchmarks.threads(samples.spec))
    each = [hosts[rank // threads] if hosts else f"ranks from {rank // _UNKNOWN * _UNKNOWN}" for rank in ranks]
    first = {node: place for place, node in reversed(list(enumerate(each)))}
    nodes = sorted(first, key=lambda node: (natural(switches.get(node, "")), natural(node) if hosts else [first[node]]))
    row_of = {node: row for row, node in enumerate(nodes)}
    rows = np.array([row_of[node] for node in each], np.int64)
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=len(nodes))
    columns = np.empty(len(rows), np.int64)
    columns[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    grid, rank_at = np.full((len(nodes), counts.max()), np.nan), np.full((len(nodes), counts.max()), -1)
    grid[rows, columns], rank_at[rows, columns] = values, ranks
    return nodes, grid, rank_at


def _merged(grid: Floats, rank_at: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64], tuple[int, int]]:
    """The greatest of neighbouring cells, whose rank it is, and how many rows and columns make one cell."""
    each = -(-grid.shape[0] // ROWS), -(-grid.shape[1] // COLUMNS)
    if each == (1, 1):
        return grid, rank_at, each
    shape = tuple(-(-length // by) for length, by in zip(grid.shape, each, strict=True))
    pad = [(0, count * by - length) for length, by, count in zip(grid.shape, each, shape, strict=True)]
    blocks = [
        np.pad(values, pad, constant_values=none)
        .reshape(shape[0], each[0], shape[1], each[1])
        .swapaxes(1, 2)
        .reshape(*shape, -1)
        for values, none in ((np.where(np.isnan(grid), -np.inf, grid), -np.inf), (rank_at, -1))
    ]
    at = blocks[0].argmax(axis=2)[..., None]
    greatest, whose = (np.take_along_axis(values, at, axis=2)[..., 0] for values in blocks)
    return np.where(np.isinf(greatest), np.nan, greatest), whose, each


def natural(name: str) -> list[int | str]:
    """Key that sorts node2 before node10: its words and numbers in turn.

    Examples
    --------
    >>> sorted(["n10", "n2", "m"], key=natural)
    ['m', 'n2', 'n10']
    """
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]
