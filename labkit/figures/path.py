"""Draw the parts of a whole one after another."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.point.units import format_number

_ROW, LINE = 24, 100  # px of a row, characters of small print in a line
_WORDS, _GAP = 84, 5  # characters in a line of the legend, and between two of its names
_CLEAR = "\u00a0\u00a0"  # between a bar and its number; pictures leave out other spaces at the beginning of a text
_ROOM = 1.0  # lengths of all bars that an interval may go beyond them; what is further out is not drawn
QUIET = {"size": 12, "color": "#555"}


@dataclass(frozen=True)
class Part:
    """A part of a stack.

    Parameters
    ----------
    text : what it is.
    value : in the unit of the figure.
    kind : class of the component; one colour each.
    low, high : ends of its interval, None without one.
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
    title : title of the figure.
    parts : in order; the next begins where one ends.
    origin : origin of the parts and of what is observed.
    observed : the whole itself, to compare the parts with; None if it was not observed.
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
    rows: list[tuple[Stack, Part | None, float]] = []
    for stack in stacks:
        rows += [(stack, None, 0.0), *((stack, part, begin) for part, begin in _placed(stack))]
    drawn = [(n, part, begin, stack.origin) for n, (stack, part, begin) in enumerate(rows) if part]
    if not drawn:
        raise DataError("There are no parts to draw. Measure first.")
    pairs, figure = list(dict.fromkeys((part.kind, origin) for _, part, _, origin in drawn)), go.Figure()
    colours = {look.series: look.colour for look in looks.named([kind for kind, _ in pairs])}
    for kind, origin in pairs:
        group = [row for row in drawn if (row[1].kind, row[3]) == (kind, origin)]
        figure.add_trace(_bars([row[:3] for row in group], kind, origin, colours[kind], unit))
    low, high, cut = _ends([(part, begin) for _, part, begin, _ in drawn])
    note = f"{note} Intervals that reach the edge go on beyond it." if cut else note
    figure.add_scatter(
        x=[
            min(high, begin + max(0.0, part.value, part.high or part.value)) for _, part, begin, _ in drawn
        ],  # beside it
        y=[n for n, *_ in drawn],
        text=[f"{_CLEAR}{format_number(part.value).replace('-', '−')}" for _, part, *_ in drawn],
        mode="text",
        textposition="middle right",
        cliponaxis=False,
        showlegend=False,
        hoverinfo="skip",
    )
    above = _legend(figure, [(colours[kind], f"{kind} ({origin})") for kind, origin in pairs])
    lines = textwrap.wrap(note, LINE)
    print_below(figure, lines, 52)
    heads = [f"<b>{stack.title}</b>" if part is None else part.text for stack, part, _ in rows]
    figure.update_layout(
        yaxis={
            "range": [len(rows) - 0.5, -0.5],
            "tickvals": list(range(len(rows))),
            "ticktext": heads,
            "ticks": "",
            "showgrid": False,
        },
        xaxis={"title": {"text": f"time ({unit})"}} | ({"range": [low, high]} if cut else {"rangemode": "tozero"}),
        barmode="overlay",
        showlegend=False,
        margin={"t": 20 + 20 * above, "r": 60, "b": 60 + 15 * len(lines)},
    )
    return style.finish(figure, height=80 + 20 * above + 15 * len(lines) + _ROW * len(rows))


def _ends(parts: Sequence[tuple[Part, float]]) -> tuple[float, float, bool]:
    """Return the ends of an axis that shows bars and intervals, and whether an interval extends beyond them.

    Parameters
    ----------
    parts : each with the place where its bar begins.
    """
    bars = [0.0, *(end for part, begin in parts for end in (begin, begin + part.value))]
    whiskers = [begin + end for part, begin in parts for end in (part.low, part.high) if end is not None]
    room, low, high = _ROOM * (max(bars) - min(bars)), min(bars + whiskers), max(bars + whiskers)
    least, most = max(low, min(bars) - room), min(high, max(bars) + room)
    return least, most, (least, most) != (low, high)


def _legend(figure: go.Figure, words: Sequence[tuple[str, str]]) -> int:
    """Write the legend as lines above the axes, if it has all the width; return the number of lines.

    Plotly would wrap its own legend at the width of the axes, which is small beside the names of parts.

    Parameters
    ----------
    words : colour and name of each kind.
    """
    lines: list[list[tuple[str, str]]] = [[]]
    for colour, name in words:
        if lines[-1] and sum(len(one) + _GAP for _, one in lines[-1]) + len(name) > _WORDS:
            lines.append([])
        lines[-1].append((colour, name))
    text = "<br>".join(
        "   ".join(f'<span style="color:{colour}">■</span> {name}' for colour, name in line) for line in lines
    )
    figure.add_annotation(
        x=1,
        y=1,
        xref="paper",
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        align="right",
        yshift=6,
        text=text,
        showarrow=False,
    )
    return len(lines)


def print_below(figure: go.Figure, lines: Sequence[str], below: float) -> None:
    """Write lines in small print, `below` px under the axes, if they have all the width."""
    if lines:
        text = "<br>".join(html.escape(line, quote=False) for line in lines)
        figure.add_annotation(
            x=1,
            y=0,
            xref="paper",
            yref="paper",
            xanchor="right",
            yanchor="top",
            align="left",
            yshift=-below,
            text=text,
            showarrow=False,
            font=QUIET,
        )


def _placed(stack: Stack) -> list[tuple[Part, float]]:
    """Return the parts of a stack, each with the place where it begins."""
    placed, end = [], 0.0
    for part in stack.parts:
        placed.append((part, end))
        end += part.value
    if stack.observed:
        placed.append((stack.observed, 0.0))
    return placed


def _bars(rows: Sequence[tuple[int, Part, float]], kind: str, origin: str, colour: str, unit: str) -> go.Bar:
    """Return the bars of one kind and origin, with intervals if there are any.

    Parameters
    ----------
    rows : number of the row, part, and where it begins.
    """
    parts = [part for _, part, _ in rows]
    marker = {"color": colour, "line": {"color": colour, "width": 1}}
    look = {"shape": style.ORIGINS[origin].pattern, "fgcolor": colour, "bgcolor": "white", "size": 6}
    bar = go.Bar(
        y=[n for n, *_ in rows],
        x=[part.value for part in parts],
        base=[begin for *_, begin in rows],
        width=0.75,
        orientation="h",
        name=f"{kind} ({origin})",
        marker=marker | {"pattern": look},
        **style.hover(
            [f"%{{part}}: %{{value}} {unit}"],
            part=[part.text for part in parts],
            value=[format_number(p.value, width=(p.high or 0) - (p.low or 0)) for p in parts],
        ),
    )
    if any(part.low is not None for part in parts):
        above = [0.0 if part.high is None else part.high - part.value for part in parts]
        below = [0.0 if part.low is None else part.value - part.low for part in parts]
        bar.error_x = {
            "type": "data",
            "symmetric": False,
            "array": above,
            "arrayminus": below,
            "thickness": 1.2,
            "width": 4,
            "color": "#222",
        }
    return bar
