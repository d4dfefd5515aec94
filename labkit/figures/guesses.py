"""Draw the predictions of a class beside the values that its machines measured."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from labkit.errors import DataError
from labkit.figures import style
from labkit.figures.looks import COLOURS
from labkit.figures.plotly import go, make_subplots
from labkit.point.units import format_number

PREDICTED = "predicted"
_ROW, _GAP = 34, 120  # px of a row, and between panels, for an axis and the next title
_LINE = 62  # characters of a title's line


@dataclass(frozen=True)
class Asked:
    """One prediction of a lab over a class.

    Parameters
    ----------
    text : what was asked.
    unit : unit of the numbers; empty for a pure number.
    predicted : by learner: a number, or one of the choices.
    found : by machine, then by learner: value, low and high of a number; or a choice.
    choices : none for a number.
    """

    text: str
    unit: str
    predicted: Mapping[str, float | str]
    found: Mapping[str, Mapping[str, tuple[float, float, float] | str]]
    choices: tuple[str, ...] = field(default=())


def guesses(asked: Sequence[Asked]) -> go.Figure:
    """Draw a panel for each prediction: numbers on an axis, with a row for each machine; choices as counts.

    Raises
    ------
    DataError
        If nothing was asked.
    """
    if not asked:
        raise DataError("There are no predictions to draw. Give at least one.")
    rows = [len(one.choices) or 1 + len(one.found) for one in asked]
    heights = [24 + _ROW * count for count in rows]
    drawn = sum(heights) + _GAP * (len(asked) - 1)
    titles = ["<br>".join(textwrap.wrap(one.text, _LINE)) for one in asked]
    gap = _GAP / drawn if len(asked) > 1 else 0
    figure = make_subplots(len(asked), 1, subplot_titles=titles, row_heights=heights, vertical_spacing=gap)
    for row, one in enumerate(asked, 1):
        traces, axis = _counts(one) if one.choices else _numbers(one)
        for trace in traces:
            figure.add_trace(trace, row, 1)
        figure.update_xaxes(**axis, row=row, col=1)
        figure.update_yaxes(automargin=True, row=row, col=1)
    figure.update_layout(showlegend=False, margin={"t": 70, "b": 60})
    figure.update_annotations(x=0, xanchor="left", align="left")
    return style.finish(figure, height=130 + drawn)


def _numbers(one: Asked) -> tuple[list[go.Scatter], Mapping[str, object]]:
    """Return the predictions as dots, what each machine found with its interval, and the axis."""
    unit = f" {one.unit}" if one.unit else ""
    numbers = [(who, float(value)) for who, value in one.predicted.items()]
    traces = []
    for machine, found in reversed(list(one.found.items())):
        values = [(who, *value) for who, value in found.items() if not isinstance(value, str)]
        traces.append(
            go.Scatter(
                x=[value for _, value, _, _ in values],
                y=[machine] * len(values),
                name="found",
                mode="markers",
                marker={"symbol": "diamond", "size": 9, "color": COLOURS[1]},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [high - value for _, value, _, high in values],
                    "arrayminus": [value - low for _, value, low, _ in values],
                    "thickness": 1.2,
                    "width": 3,
                },
                **style.hover(
                    ["%{who}: %{value}"],
                    {},
                    who=[who for who, *_ in values],
                    value=[f"{format_number(value)}{unit}" for _, value, _, _ in values],
                ),
            )
        )
    traces.append(
        go.Scatter(
            x=[value for _, value in numbers],
            y=[PREDICTED] * len(numbers),
            name=PREDICTED,
            mode="markers",
            marker={"symbol": "circle-open", "size": 10, "color": COLOURS[0], "line": {"width": 2}},
            **style.hover(
                ["%{who}: %{value}"],
                {},
                who=[who for who, _ in numbers],
                value=[f"{format_number(value)}{unit}" for _, value in numbers],
            ),
        )
    )
    every = [float(x) for trace in traces for x in trace.x]
    kind = "log" if every and min(every) > 0 else "linear"
    steps = {"dtick": "D2"} if kind == "log" else {}
    return traces, {"type": kind, **steps, "title": {"text": one.unit or "number"}}


def _counts(one: Asked) -> tuple[list[go.Bar], Mapping[str, object]]:
    """Return how often each choice was predicted, with how many runs found it, and the axis."""
    predicted = Counter(one.predicted.values())
    found = Counter(value for machine in one.found.values() for value in machine.values())
    labels = ["<br>".join(textwrap.wrap(choice, 30)) for choice in one.choices]
    bar = go.Bar(
        x=[predicted[choice] for choice in one.choices],
        y=labels,
        name=PREDICTED,
        orientation="h",
        marker={"color": COLOURS[0]},
        text=[
            f"found by {found[choice]} run{'s' * (found[choice] != 1)}" if found[choice] else ""
            for choice in one.choices
        ],
        textposition="auto",
        **style.hover(
            ["%{choice}: predicted by %{count}"],
            {},
            choice=list(one.choices),
            count=[str(predicted[choice]) for choice in one.choices],
        ),
    )
    return [bar], {
        "title": {"text": "learners who predicted it"},
        "dtick": max(1, max(predicted.values(), default=1) // 5),
    }
