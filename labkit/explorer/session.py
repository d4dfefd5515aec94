"""What the panels of one page share: the campaigns on show, the point that was clicked, and who wants to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from labkit.explorer import store
from labkit.explorer.store import Store
from labkit.explorer.view import View

Event = Literal["campaigns", "data", "view", "point"]


@dataclass(frozen=True)
class Chosen:
    """A point that was clicked: its row of the summary, and the metric it was drawn by."""

    row: dict[str, Any]
    metric: str


class Session:
    """State behind one page.

    Parameters
    ----------
    campaigns : on show from the start.

    Attributes
    ----------
    views : of the plots, by their letter.
    figures : of the plots, by their letter.
    chosen : the point that was clicked.
    wanted : benchmark that the first look at new data shows.
    running : whether a run adds points.
    """

    def __init__(self, campaigns: list[str]) -> None:
        self.store, self.campaigns = Store(), campaigns
        self.views: dict[str, View] = {}
        self.figures: dict[str, Any] = {}
        self.chosen: Chosen | None = None
        self.wanted, self.running = "", False
        self._told: dict[Event, list[Callable[[], None]]] = {"campaigns": [], "data": [], "view": [], "point": []}

    def on(self, event: Event, listener: Callable[[], None]) -> None:
        """Call a panel's function whenever that happens."""
        self._told[event].append(listener)

    def tell(self, event: Event) -> None:
        """Say that it happened: campaigns were chosen, points came in, another view, a point was clicked."""
        for listener in self._told[event]:
            listener()

    def add(self, name: str) -> None:
        """Put a campaign on show."""
        if name not in self.campaigns:
            self.campaigns = [*self.campaigns, name]
        self.tell("campaigns")

    def started(self, name: str, benchmark: str) -> None:
        """A run of a benchmark into a campaign began."""
        self.wanted, self.running = benchmark, True
        self.add(name)

    def benchmarks(self) -> list[str]:
        """Benchmarks that the campaigns on show have points of."""
        return store.benchmarks(self.campaigns)
