"""A widget that shows how a whole changes when a component gets cheaper. It shows that no value is measured."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import ipywidgets as widgets

from labkit.models import what_if
from labkit.models.breakdown import Breakdown
from labkit.studies import number

_WIDE = 320  # px of a bar of the whole


@dataclass(frozen=True)
class Whole:
    """A breakdown, and the parts that can become cheaper.

    Parameters
    ----------
    breakdown : breakdown whose parts follow one another.
    groups : component → names of its parts; one that the breakdown does not have saves nothing.
    basis : what the parts are, such as ``published parts``.
    """

    breakdown: Breakdown
    groups: Mapping[str, Collection[str]]
    basis: str

    def after(self, component: str, cheaper: float) -> float:
        """Return the time that remains when a component gets cheaper by so many per cent."""
        change = what_if.Change(text=component, parts=tuple(self.groups[component]), cheaper=cheaper)
        return what_if.after(self.breakdown, change).value


class WhatIf(widgets.VBox):  # type: ignore[misc]
    """Choose a component and how much cheaper it becomes; see what follows for the wholes that have it.

    Parameters
    ----------
    wholes : their components are offered in this order.
    """

    def __init__(self, wholes: Sequence[Whole]) -> None:
        self._wholes = wholes
        names = list(dict.fromkeys((one.basis, name) for one in wholes for name in one.groups))
        options = [(f"{name} ({basis})", (basis, name)) for basis, name in names]
        self.component = widgets.Dropdown(
            options=options, description="component", layout=widgets.Layout(width="480px")
        )
        self.cheaper = widgets.IntSlider(value=0, min=0, max=100, step=5, description="% cheaper")
        self.result = widgets.HTML()
        super().__init__([widgets.HBox([self.component, self.cheaper]), self.result])
        self.add_class("lab-what-if")
        for one in (self.component, self.cheaper):
            one.observe(lambda _: self._tell(), "value")
        self._tell()

    def _tell(self) -> None:
        """Compute the wholes again, and show them."""
        basis, name = self.component.value
        wholes = [one for one in self._wholes if one.basis == basis and name in one.groups]
        rows = "".join(_row(one, name, self.cheaper.value) for one in wholes)
        note = f"Computed from {html.escape(basis)}, assuming that no parts overlap; not measured."
        self.result.value = f'<table>{rows}</table><div style="color:var(--jp-ui-font-color2, #57606a)">{note}</div>'


def _row(whole: Whole, component: str, cheaper: float) -> str:
    """Show what remains of a whole, as a row of a table."""
    after, total = whole.after(component, cheaper), whole.breakdown.whole.value
    share = after / total
    times = f"{number(1 / share)} times as fast" if after > 0 else "nothing is left"
    saved = f"{number(100 * (1 - share))} % saved, {times}" if share < 1 else "nothing saved"
    bar = (
        f'<div style="width:{_WIDE}px;height:14px;border:1px dashed #0072b2">'
        f'<div style="width:{max(share, 0) * 100:.1f}%;height:100%;background:#0072b2"></div></div>'
    )
    words = f"{number(total)} → <b>{number(after)} {whole.breakdown.unit}</b>: {saved}"
    return (
        f'<tr><td style="padding-right:1em">{html.escape(whole.breakdown.title)}</td><td>{bar}</td>'
        f'<td style="padding-left:1em">{words}</td></tr>'
    )
