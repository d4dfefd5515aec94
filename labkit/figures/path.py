"""What a whole is made of: stacks whose parts begin where the one before ends, and what cheaper parts would save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from labkit.errors import DataError
from labkit.figures import style

_ROW, _REST = 26, 110  # px
_CHEAPER = (0, 50, 90, 100)  # %


@dataclass(frozen=True)
class Part:
    """A part of a stack.

    Parameters
    ----------
    text : what it is.
    value : in the unit of the figure.
    kind : class of the component; one colour each.
    low, high : ends of its interval, None where it has none.
    """

    text: str
    value: float
    kind: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Stack:
    """A whole and its parts.

    Parameters
    ----------
    title : of the whole.
    parts : in order; the next begins where one ends.
    origin : of the parts and of what is observed.
    observed : the whole itself, to hold the parts against; None where it was not observed.
    """

    title: str
    parts: Sequence[Part]
    origin: str
    observed: Part | None = None


def stacked(stacks: Sequence[Stack], unit: str, note: str = "") -> go.Figure:
    """Draw stacks below one another, a row for each part, then the whole as it was observed.

    Parameters
    ----------
    note : small print below the axis, such as the source.

    Raises
    ------
    DataError
        If there is no part.
    """
    rows = [(stack, part, begin) for stack in stacks for part, begin in _placed(stack)]
    if not rows:
        raise DataError("There are no parts to draw. Measure, or name what is made of parts.")
    kinds = list(dict.fromkeys((part.kind, stack.origin) for stack, part, _ in rows))
    order, figure = list(dict.fromkeys(kind for kind, _ in kinds)), go.Figure()
    for kind, origin in kinds:
        own = [row for row in rows if (row[1].kind, row[0].origin) == (kind, origin)]
        colour, look = style.COLOURS[order.index(kind) % len(style.COLOURS)], style.ORIGINS[origin].pattern
        parts = [part for _, part, _ in own]
        figure.add_bar(
            y=[[stack.title for stack, _, _ in own], [part.text for part in parts]], x=[part.value for part in parts],
            base=[begin for *_, begin in own], orientation="h", name=f"{kind} ({origin})",
            marker={"color": colour, "line": {"color": colour, "width": 1},
                    "pattern": {"shape": look, "fgcolor": colour, "bgcolor": "white", "size": 6}},
            text=[style.number(part.value) for part in parts], textposition="outside", cliponaxis=False,
            **_bars(parts), hovertemplate=f"%{{y}}: %{{text}} {unit}<extra>%{{fullData.name}}</extra>",
        )  # fmt: skip
    order_of_rows = [[stack.title for stack, *_ in rows], [part.text for _, part, _ in rows]]
    figure.update_layout(
        yaxis={"type": "multicategory", "autorange": "reversed", "ticks": "", "dividercolor": "#aaa"},
        xaxis={"rangemode": "tozero", "title": {"text": style.note(f"time ({unit})", note)}},
        barmode="overlay", bargap=0.25, showlegend=True, legend={"traceorder": "normal"}, margin={"b": 80, "r": 50},
    )  # fmt: skip
    # an empty trace that holds every row first: the categories stand in the order of the path, not of the legend
    figure.add_bar(y=order_of_rows, x=[None] * len(rows), showlegend=False, hoverinfo="skip")
    figure.data = (figure.data[-1], *figure.data[:-1])
    return style.finish(figure, height=_REST + 30 + _ROW * len(rows))


def _placed(stack: Stack) -> list[tuple[Part, float]]:
    """The parts of a stack, each with where it begins."""
    found, end = [], 0.0
    for part in stack.parts:
        found.append((part, end))
        end += part.value
    return found + ([(stack.observed, 0.0)] if stack.observed else [])


def _bars(parts: Sequence[Part]) -> dict[str, object]:
    """Error bars, where there are intervals."""
    if all(part.low is None for part in parts):
        return {}
    return {
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [0.0 if part.high is None else part.high - part.value for part in parts],
            "arrayminus": [0.0 if part.low is None else part.value - part.low for part in parts],
            "thickness": 1.2,
            "width": 4,
            "color": "#222",
        }
    }


def saving(panels: Mapping[str, Mapping[str, float]], note: str = "") -> go.Figure:
    """Draw which part of a whole is saved when one of its components becomes cheaper, a line each.

    Parameters
    ----------
    panels : title of a whole → component → its share of that whole, %.
    note : small print below the axis, such as the source.

    Raises
    ------
    DataError
        If there is no component.
    """
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    if not names:
        raise DataError("There are no components to draw. Name some, with their shares.")
    figure = make_subplots(1, len(panels), shared_yaxes=True, subplot_titles=list(panels), horizontal_spacing=0.06)
    drawn: set[str] = set()
    for column, (title, lines) in enumerate(panels.items(), 1):
        for name, share in lines.items():
            colour, dash = style.COLOURS[names.index(name) % len(style.COLOURS)], style.ORIGINS["modelled"].dash
            figure.add_scatter(
                x=_CHEAPER, y=[share * x / 100 for x in _CHEAPER], mode="lines", name=f"{name} (modelled)",
                line={"color": colour, "width": 2, "dash": dash},
                legendgroup=name, showlegend=name not in drawn, row=1, col=column,
                hovertemplate=f"{name} %{{x}} % cheaper: {title} %{{y:.3~r}} % less<extra></extra>",
            )  # fmt: skip
            drawn.add(name)
        figure.add_vline(90, line={"color": "#555", "width": 1, "dash": "dot"}, row=1, col=column)
        figure.add_annotation(x=89, y=1, yref="y domain", yanchor="top", xanchor="right", text="10 times cheaper",
                              showarrow=False, font={"size": 11, "color": "#555"}, row=1, col=column)  # fmt: skip
        figure.update_xaxes(range=[0, 102], title={"text": "component cheaper by (%)"}, row=1, col=column)
    figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title={"text": "saved of the whole (%)"}, row=1, col=1)
    figure.update_layout(margin={"t": 110, "b": 90}, legend={"y": 1.13})
    if note:
        figure.add_annotation(x=0, y=-0.2, xref="paper", yref="paper", xanchor="left", yanchor="top", align="left",
                              text=style.note("", note).removeprefix("<br>"), showarrow=False)  # fmt: skip
    return style.finish(figure, height=470)
