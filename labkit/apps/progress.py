"""How far a measurement is, in words and as a bar, in the cell of a notebook."""

from __future__ import annotations

import html
import math

from IPython.display import HTML

from labkit.point.units import format_duration, plural
from labkit.run.measuring import Progress


def words(state: Progress) -> str:
    """Return how far a measurement is, in words."""
    left = "" if math.isnan(state.remaining) else f", about {format_duration(state.remaining)} left"
    return f"{state.done} of {plural(state.total, 'point × launch')}{left}: {state.label}"


def bar(state: Progress) -> HTML:
    """Return a bar of how far a measurement is, with its words."""
    made = f'<progress value="{state.done}" max="{max(state.total, 1)}" style="width:min(100%, 320px)"></progress>'
    return HTML(f"{made}<div>{html.escape(words(state))}</div>")
