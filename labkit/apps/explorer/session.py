"""State that the panels of a page share: the campaigns shown, the point that was clicked, and the listeners."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import pandas as pd
import plotly.graph_objects as go

from labkit.apps.explorer import relation, store
from labkit.apps.explorer.running import Runs, Step
from labkit.apps.explorer.state import State, differing
from labkit.apps.explorer.store import Store
from labkit.apps.explorer.view import View, differing_columns
from labkit.errors import LabkitError, SpecError
from labkit.judge.comparison import Comparison
from labkit.models import costs, limits
from labkit.models.bounds import Stated
from labkit.models.limits import Limit
from labkit.point.columns import METRICS
from labkit.point.spec import validated
from labkit.store import campaign

# campaigns chosen, points arrived, plot changed, point clicked, anything of these; a run moved on, a comparison made,
# a box drawn
Event = Literal["campaigns", "data", "view", "point", "state", "run", "compared", "brush"]


@dataclass(frozen=True, eq=False)
class Chosen:
    """A point that was clicked: its row of the summary, and the metric it was drawn by."""

    row: dict[str, Any]
    metric: str

    @property
    def key(self) -> tuple[str, str]:
        """Campaign and fingerprint."""
        return str(self.row["campaign"]), str(self.row["fingerprint"])

    @property
    def name(self) -> tuple[str, ...]:
        """Its name in a state: campaign, benchmark, fingerprint, metric."""
        return (*map(str, (self.row[name] for name in ("campaign", "benchmark", "fingerprint"))), self.metric)

    def __eq__(self, other: object) -> bool:
        # a run adds launches, which changes the row: the point stays the same
        return isinstance(other, Chosen) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Session:
    """State behind one page.

    Parameters
    ----------
    campaigns : shown at the start.
    read : records that were read before.
    runs : what this process measures; other pages follow it too.

    Attributes
    ----------
    views : views of the plots, by their letter.
    figures : figures of the plots, by their letter.
    chosen : the point that was clicked.
    pinned : points that stay beside it.
    selected : points behind a finding, which the plot marks.
    brushed : campaign and fingerprint of the points inside a box of plot A; empty for no box.
    wanted : benchmark to show when its first points arrive.
    second : whether plot B is on show.
    compared : verdict on the campaigns on show against each other, in a sentence; empty without one.
    reads : whether the page is for reading only: it measures nothing and writes no file.
    restoring : whether a state of before is being shown again.
    stated : what the reader states of the paths, for their bounds.
    """

    def __init__(self, campaigns: list[str], read: Store | None = None, runs: Runs | None = None) -> None:
        self.store, self.campaigns, self.runs = read or Store(), campaigns, runs or Runs()
        self.views: dict[str, View] = {}
        self.figures: dict[str, Any] = {}
        self.chosen: Chosen | None = None
        self.pinned: tuple[Chosen, ...] = ()
        self.selected: tuple[Chosen, ...] = ()
        self.brushed: frozenset[tuple[str, str]] = frozenset()
        self.wanted, self.second, self.compared = "", False, ""
        self.reads = False
        self._seen: tuple[int, bool] = (0, False)  # points of the run that were told of, and whether it went on
        self.stated = Stated()
        self._made: deque[tuple[Hashable, pd.DataFrame, Any]] = deque(maxlen=6)  # bounds and comparisons of a table
        self.restoring = False
        self._past: list[State] = []
        self._future: list[State] = []
        self._listeners: dict[Event, list[Callable[[], None]]] = {event: [] for event in get_args(Event)}
        self._context = copy_context()  # a run tells of itself from where it was started, maybe another page
        self.runs.on(self._ran)

    def on(self, event: Event, listener: Callable[[], None]) -> None:
        """Call a panel's function at every event of that kind."""
        self._listeners[event].append(listener)

    def tell(self, event: Event) -> None:
        """Call the listeners of an event."""
        for listener in self._listeners[event]:
            listener()

    def title(self, name: str) -> str:
        """Title that distinguishes a campaign from the others on show."""
        return campaign.titles([*self.campaigns, name])[name]

    def add(self, name: str) -> None:
        """Show a campaign."""
        if name not in self.campaigns:
            self.campaigns = [*self.campaigns, name]
        self.tell("campaigns")

    def refuse(self) -> None:
        """Refuse what measures, ends a run or writes a file, where the page was opened to read only.

        Raises
        ------
        SpecError
            If it was.
        """
        if self.reads:
            raise SpecError("This link is for reading only. Ask for the other address that labkit explore printed.")

    def stop(self) -> None:
        """End the run.

        Raises
        ------
        SpecError
            If the page is for reading only.
        """
        self.refuse()
        self.runs.stop()

    @property
    def running(self) -> bool:
        """Whether a run adds points."""
        return self.runs.running

    def measure(self, steps: Sequence[Step], pressed: str = "") -> None:
        """Start runs, one after another, and show their campaigns.

        Parameters
        ----------
        pressed : key of the button that asked for it.

        Raises
        ------
        SpecError, LaunchError
            If it cannot start.
        """
        self.refuse()
        self.runs.start(steps, pressed)
        words, _ = steps[0]
        self.wanted = words[1] if words[0] == "measure" else ""
        names = dict.fromkeys(name.strip() for _, name in steps)
        self.campaigns = [*self.campaigns, *(name for name in names if name not in self.campaigns)]
        self.tell("campaigns")

    def end(self) -> None:
        """Stop following the run: the page is gone."""
        self.runs.off(self._ran)

    def _ran(self) -> None:
        """Tell of points that a run added, and of its state."""
        self._context.copy().run(self._follow)

    def _follow(self) -> None:
        now = (self.runs.count, self.runs.running)
        if now != self._seen:
            self._seen = now
            kept = [name for name in self.campaigns if name != self.runs.gone]
            gone, self.campaigns = len(kept) < len(self.campaigns), kept
            self.tell("campaigns" if gone else "data")
        self.tell("run")

    @property
    def looked_into(self) -> list[Chosen]:
        """The pinned points, and last the clicked one."""
        last = () if self.chosen is None or self.chosen in self.pinned else (self.chosen,)
        return [*self.pinned, *last]

    @property
    def marked(self) -> list[Chosen]:
        """Points that the plot and the table mark: those that are looked into, and those behind a finding."""
        return list(dict.fromkeys([*self.selected, *self.looked_into]))

    def choose(self, point: Chosen) -> None:
        """Look into a point."""
        self.chosen, self.selected = point, ()
        self.tell("point")
        self.remember()

    def select(self, name: str, benchmark: str, fingerprints: Sequence[str]) -> None:
        """Show a benchmark of a campaign in plot A, mark some of its points, and open the first one."""
        view = self.views.get("A")
        if view is not None and view.benchmark != benchmark:
            self.views["A"] = validated(View, {"benchmark": benchmark}, what="the view")
        elif view is not None:
            self.views["A"] = replace(view, where=(), relation="")
        self.chosen, self.selected = None, ()
        self.tell("data")
        metric = self.views["A"].metric if view is not None else ""
        found = [self.point(name, benchmark, one, metric) for one in fingerprints]
        self.selected = tuple(one for one in found if one is not None)
        self.chosen = next(iter(self.selected), None)
        self.tell("point")
        self.remember()

    def brush(self, points: Iterable[tuple[str, str]]) -> None:
        """Show some points of plot A alone in the table; none shows all."""
        self.brushed = frozenset(points)
        self.tell("brush")

    def pin(self, point: Chosen) -> None:
        """Keep a point beside those that are clicked later, or let it go."""
        others = tuple(one for one in self.pinned if one != point)
        self.pinned = others if point in self.pinned else (*others, point)
        self.tell("point")
        self.remember()

    def point(self, name: str = "", benchmark: str = "", fingerprint: str = "", metric: str = "") -> Chosen | None:
        """A point of a campaign; None if it is not there."""
        if not name or metric not in METRICS:
            return None
        try:
            summary = self.store.summary([name], benchmark)
        except LabkitError:
            return None
        found = summary[summary["fingerprint"] == fingerprint] if len(summary) else summary
        return Chosen(found.iloc[0].to_dict(), metric) if len(found) else None

    @property
    def state(self) -> State:
        """The current state of the page."""
        return State(
            campaigns=tuple(self.campaigns),
            views={one: differing(view) for one, view in self.views.items() if one == "A" or self.second},
            second=self.second,
            point=self.chosen.name if self.chosen else (),
            pinned=tuple(one.name for one in self.pinned),
        )

    def remember(self) -> None:
        """Note what the page shows now, for undo, redo and links."""
        now = self.state
        if self.restoring:
            return
        if not self._past or self._past[-1] != now:
            self._past, self._future = [*self._past[-99:], now], []
            self.tell("state")

    @property
    def steps(self) -> tuple[int, int]:
        """How many changes can be undone, and done again."""
        return max(0, len(self._past) - 1), len(self._future)

    def undo(self) -> None:
        """Show what was shown before the last change."""
        if len(self._past) > 1:
            self._future.append(self._past.pop())
            self._show(self._past[-1])

    def redo(self) -> None:
        """Show what was shown before the last undo."""
        if self._future:
            self._past.append(self._future.pop())
            self._show(self._past[-1])

    def show(self, wanted: State) -> None:
        """Show a state of a link or a saved view."""
        self._show(wanted)
        self.remember()

    def _show(self, wanted: State) -> None:
        """Show a state, and change no history."""
        self.restoring = True
        try:
            self._restore(wanted)
        finally:
            self.restoring = False
        self.tell("state")

    def _restore(self, wanted: State) -> None:
        """Show a state; points that are no longer there are left out."""
        self.campaigns, self.second = list(wanted.campaigns), wanted.second
        for letter, fields in wanted.views.items():
            if letter in self.views:
                self.views[letter] = validated(View, fields, what="the view")
        found = [self.point(*name[:4]) for name in (*wanted.pinned, wanted.point)]
        points = [*dict.fromkeys(one for one in found if one)]  # the one that was clicked may be pinned too
        self.pinned, self.selected = tuple(one for one in points if one.name in wanted.pinned), ()
        self.chosen = next((one for one in points if one.name == wanted.point), None)
        for event in ("campaigns", "point"):
            self.tell(event)

    @property
    def subject(self) -> tuple[str, ...]:
        """Subject of the verdicts: the benchmark of plot A, and the campaigns on show."""
        view = self.views.get("A")
        return (view.benchmark if view else "", *self.campaigns)

    def benchmarks(self) -> list[str]:
        """Benchmarks of the points in the campaigns shown."""
        return self.store.benchmarks(self.campaigns)

    def figure(self, view: View, summary: pd.DataFrame, *, hover: bool = True) -> go.Figure:
        """Draw a view with its bounds and its comparison, which are read once for the same data.

        Raises
        ------
        LabkitError
            If there is nothing to draw, or the sides cannot be compared.
        """
        compared = None
        if view.relation:
            key: Hashable = ("relation", view.benchmark, view.metric, view.base)
            compared = self._once(key, summary, lambda: self._compared(view, summary))
        return view.figure(summary, limits=self.limits(view, summary), compared=compared, hover=hover)

    def limits(self, view: View, summary: pd.DataFrame) -> Sequence[Limit]:
        """Bounds that a view draws; none if it draws none, or none is known."""
        if not (view.bounds and view.bounded):
            return ()
        key: Hashable = ("bounds", view.benchmark, view.metric, self.stated)
        known: Sequence[Limit] = self._once(key, summary, lambda: self._limits(view))
        return known

    def _limits(self, view: View) -> list[Limit]:
        """What the paths of a view's points allow."""
        sources = [store.opened(name) for name in self.store.present(self.campaigns)]
        curves = [
            limits.limit_curves(one.samples(view.benchmark), view.metric, costs.read(one), self.stated)
            for one in sources
        ]
        return [curve for some in curves for curve in some]

    def _compared(self, view: View, summary: pd.DataFrame) -> Comparison:
        """The points of a view against its base."""
        others = relation.bases(summary, differing_columns(summary))
        names = self.store.present(self.campaigns)
        return relation.against(names, view.benchmark, view.base, others, view.metric)

    def _once(self, key: Hashable, summary: pd.DataFrame, make: Callable[[], Any]) -> Any:
        """What was made for a key and a table, or made now."""
        for known, table, made in self._made:
            if known == key and table is summary:
                return made
        self._made.append((key, summary, make()))
        return self._made[-1][2]
