"""plotly, imported when the first figure is drawn: planning and measuring a study do without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.io import extras

if TYPE_CHECKING:
    import plotly.graph_objects as go
else:
    go = extras.Later("plotly.graph_objects")

__all__ = ["go", "make_subplots", "raw", "sample_colours"]


def make_subplots(*shape: int, **how: Any) -> go.Figure:
    """A figure with several panels, as plotly's function of this name makes it."""
    made: go.Figure = extras.Later("plotly.subplots").make_subplots(*shape, **how)
    return made


def raw(figure: go.Figure) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Traces and layout of a figure as the plain data that it holds, to read: plotly's own look-ups cost far more."""
    return figure._data, figure._layout


def sample_colours(scale: str, places: list[float]) -> list[str]:
    """Colours of a scale at places from 0 to 1, as ``rgb(r, g, b)``."""
    found: list[str] = extras.Later("plotly.colors").sample_colorscale(scale, places)
    return found
