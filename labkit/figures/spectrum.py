"""Draw the rates at which events recur: power against frequency, a line for each launch."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.point.units import format_number
from labkit.stats import periodic
from labkit.stats.periodic import Spectrum

_POINTS = 2000  # of a line; a figure must stay small


def spectrum(spectra: Mapping[str, Spectrum]) -> go.Figure:
    """Draw periodograms of events, 1 on average where they come at random.

    Of many frequencies, each point is the highest power of its part of the axis.

    Parameters
    ----------
    spectra : name in the legend → spectrum, from `labkit.stats.periodic.spectrum`.

    Raises
    ------
    DataError
        If there is none.
    """
    if not spectra:
        raise DataError("There are no spectra to draw. Measure micro.noise with more iterations.")
    figure = go.Figure()
    for (name, one), look in zip(spectra.items(), looks.named([*spectra]), strict=True):
        step = -(-len(one.power) // _POINTS)
        tops = [at + int(one.power[at : at + step].argmax()) for at in range(0, len(one.power), step)]
        frequencies, power = one.frequencies[tops], one.power[tops]
        about = style.hover(
            ["<b>%{value}</b>"],
            {"frequency": [f"{format_number(float(f))} Hz" for f in frequencies]},
            value=[format_number(float(p)) for p in power],
        )
        figure.add_scatter(
            x=frequencies.tolist(),
            y=power.tolist(),
            name=style.plain(name),
            mode="lines",
            line={"color": look.colour, "width": 1.2},
            meta=look.meta,
            **about,
        )
    limit = max(one.limit for one in spectra.values())
    ends = [min(float(one.frequencies[0]) for one in spectra.values())]
    ends.append(max(float(one.frequencies[-1]) for one in spectra.values()))
    figure.add_scatter(
        x=ends,
        y=[limit, limit],
        name="limit of random events",
        mode="lines",
        line={"color": "#333", "width": 1.2, "dash": "dash"},
        hovertemplate=f"random events exceed it anywhere with a chance of {periodic.CHANCE:g}<extra></extra>",
    )
    figure.update_layout(
        xaxis={"type": "log", "title": {"text": "frequency in Hz"}, "dtick": 1},
        yaxis={"rangemode": "tozero", "title": {"text": "power (1: at random)"}},
        showlegend=True,
        hovermode="closest",
    )
    return style.finish(figure)
