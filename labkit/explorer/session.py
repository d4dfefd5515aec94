"""State that the panels of a page share: the campaigns shown, the point that was clicked, and the listeners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from labkit.explorer import store
from labkit.explorer.store import Store
from labkit.explorer.view import View

Event = Literal["campaigns", "data", "view", "point"]  # chosen, points arrived, changed, clicked


@dataclass(frozen=True)
class Chosen:
    """A point that was clicked: its row of the summary, and the metric it was drawn by."""

    row: dict[str, Any]
    metric: str


class Session:
    """State behind one page.

    Parameters
    ----------
    campaigns : shown at the start.

    Attributes
    ----------
    views : of the plots, by their letter.
    figures : of the plots, by their letter.
    chosen : the point that was clicked.
    wanted : benchmark to show when its first points arrive.
    running : whether a run adds points.
    """

    def __init__(self, campaigns: list[str]) -> None:
        self.store, self.campaigns = Store(), campaigns
        self.views: dict[str, View] = {}
        self.figures: dict[str, Any] = {}
        self.chosen: Chosen | None = None
        self.wanted, self.running = "", False
        self._listeners: dict[Event, list[Callable[[], None]]] = {"campaigns": [], "data": [], "view": [], "point": []}

    def on(self, event: Event, listener: Callable[[], None]) -> None:
        """Call a panel's function at every event of that kind."""
        self._listeners[event].append(listener)

    def tell(self, event: Event) -> None:
        """Call the listeners of an event."""
        for listener in self._listeners[event]:
            listener()

    def add(self, name: str) -> None:
        """Show a campaign."""
        if name not in self.campaigns:
            self.campaigns = [*self.campaigns, name]
        self.tell("campaigns")

    def started(self, name: str, benchmark: str) -> None:
        """Show the campaign into which a run of a benchmark has started."""
        self.wanted, self.running = benchmark, True
        self.add(name)

    def benchmarks(self) -> list[str]:
        """Benchmarks of the points in the campaigns shown."""
        return store.benchmarks(self.campaigns)
