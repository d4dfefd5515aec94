"""A widget that shows how a whole changes when a component gets cheaper. It says that nothing of it is measured."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ipywidgets as widgets

from labkit.studies import number

_WIDE = 320  # px of a bar of the whole


@dataclass(frozen=True)
class Whole:
    """A time made of components that follow one another.

    Parameters
    ----------
    title : of the whole.
    total : its time.
    unit : of all times.
    components : name → its time in this whole; 0 for one that takes no part in it.
    basis : what the parts are, such as ``published parts``.
    """

    title: str
    total: float
    unit: str
    components: Mapping[str, float]
    basis: str

    def after(self, component: str, cheaper: float) -> float:
        """Return the time that remains when a component gets cheaper by so many per cent.

        Examples
        --------
        >>> Whole("latency", 10.0, "µs", {"wire": 4.0}, "published parts").after("wire", 50)
        8.0
        """
        return self.total - self.components[component] * cheaper / 100


class WhatIf(widgets.VBox):  # type: ignore[misc]
    """Choose a component and how much cheaper it becomes; see what follows for the wholes that have it.

    Parameters
    ----------
    wholes : their components are offered in this order.
    """

    def __init__(self, wholes: Sequence[Whole]) -> None:
        self._wholes = wholes
        names = list(dict.fromkeys((one.basis, name) for one in wholes for name in one.components))
        options = [(f"{name} ({basis})", (basis, name)) for basis, name in names]
        self.component = widgets.Dropdown(
            options=options, description="component", layout=widgets.Layout(width="480px")
        )
        self.cheaper = widgets.IntSlider(value=90, min=0, max=100, step=5, description="% cheaper")
        self.result = widgets.HTML()
        super().__init__([widgets.HBox([self.component, self.cheaper]), self.result])
        self.add_class("lab-what-if")
        for one in (self.component, self.cheaper):
            one.observe(lambda _: self._tell(), "value")
        self._tell()

    def _tell(self) -> None:
        """Compute the wholes again, and show them."""
        basis, name = self.component.value
        wholes = [one for one in self._wholes if one.basis == basis and name in one.components]
        rows = "".join(_row(one, name, self.cheaper.value) for one in wholes)
        note = f"Computed from {html.escape(basis)}, assuming that no parts overlap; not measured."
        self.result.value = f'<table>{rows}</table><div style="color:#57606a">{note}</div>'


def _row(whole: Whole, component: str, cheaper: float) -> str:
    """Show what remains of a whole, as a row of a table."""
    after = whole.after(component, cheaper)
    share = after / whole.total
    times = f"{number(1 / share)} times as fast" if after > 0 else "nothing is left"
    saved = f"{number(100 * (1 - share))} % saved, {times}" if share < 1 else "nothing saved"
    bar = (
        f'<div style="width:{_WIDE}px;height:14px;border:1px dashed #0072b2">'
        f'<div style="width:{max(share, 0) * 100:.1f}%;height:100%;background:#0072b2"></div></div>'
    )
    words = f"{number(whole.total)} → <b>{number(after)} {whole.unit}</b>: {saved}"
    return (
        f'<tr><td style="padding-right:1em">{html.escape(whole.title)}</td><td>{bar}</td>'
        f'<td style="padding-left:1em">{words}</td></tr>'
    )
