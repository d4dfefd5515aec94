"""Sliders for notebooks: make parts of a whole cheaper, and see what remains. Nothing that they show is measured."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence

import ipywidgets as widgets

from labkit.models import what_if
from labkit.models.breakdown import Breakdown, stated
from labkit.point.units import format_number

_WIDE = 320  # px of a bar of the whole
_BAR, _QUIET = "#0072b2", "#555"


class Sliders(widgets.VBox):  # type: ignore[misc]
    """One slider for each component, and a bar for each whole.

    Parameters
    ----------
    wholes : breakdowns; a component that a whole does not have changes nothing in it.
    groups : component → names of its parts.
    """

    def __init__(self, wholes: Sequence[Breakdown], groups: Mapping[str, Collection[str]]) -> None:
        self._wholes, self._groups = wholes, groups
        style, layout = {"description_width": "50%"}, widgets.Layout(width="580px", max_width="100%")
        self.cheaper = {
            name: widgets.IntSlider(value=0, min=0, max=100, step=1, description=name, style=style, layout=layout)
            for name in groups
        }
        self.reset = widgets.Button(description="Reset")
        self.result = widgets.HTML()
        head = widgets.HTML("How much cheaper a part gets, in %:")
        super().__init__([head, *self.cheaper.values(), self.reset, self.result])
        for one in self.cheaper.values():
            one.observe(lambda _: self._tell(), "value")
        self.reset.on_click(lambda _: self._reset())
        self._tell()

    @property
    def changes(self) -> list[what_if.Change]:
        """What the sliders say."""
        return [
            what_if.Change(text=name, parts=tuple(self._groups[name]), cheaper=slider.value)
            for name, slider in self.cheaper.items()
            if slider.value
        ]

    def _reset(self) -> None:
        for one in self.cheaper.values():
            one.value = 0

    def _tell(self) -> None:
        rows = "".join(_row(whole, self.changes) for whole in self._wholes)
        note = "Computed, not measured: parts follow one another, none overlaps, and nothing else changes."
        self.result.value = f'<table>{rows}</table><div style="color:{_QUIET}">{note}</div>'


def _row(whole: Breakdown, changes: Sequence[what_if.Change]) -> str:
    """Return what remains of a whole as a row of a table."""
    left = what_if.after(whole, *changes).value
    share = max(left / whole.whole.value, 0.0)
    bar = (
        f'<div style="width:min({_WIDE}px,40vw);height:14px;border:1px dashed {_BAR}">'
        f'<div style="width:{min(share, 1) * 100:.1f}%;height:100%;background:{_BAR}"></div></div>'
    )
    return (
        f'<tr><td style="padding-right:1em">{html.escape(whole.title)}</td><td>{bar}</td>'
        f'<td style="padding-left:1em">{html.escape(_words(whole, changes))}</td></tr>'
    )


def _words(whole: Breakdown, changes: Sequence[what_if.Change]) -> str:
    left, saved = what_if.after(whole, *changes), what_if.saved(whole, *changes)
    before = f"{format_number(whole.whole.value)} → {format_number(left.value)} {whole.unit}"
    if not saved.value:
        return f"{before}: nothing saved"
    return f"{before}: {stated(saved, '%')} saved, {format_number(what_if.faster(saved.value), digits=3)} times as fast"
