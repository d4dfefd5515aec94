"""Say which parameters a figure needs if it has no points, or only points at one place."""

from __future__ import annotations

import dataclasses
from typing import Any

from labkit import studies
from labkit.figures import small_print
from labkit.figures.parts import NOTHING, Omitted
from labkit.point.columns import title
from labkit.point.notes import joined, note
from labkit.studies import Study

_AXES = ("sizes", "numbers")  # on which a line needs several places
_NAMED = 4  # parameters, or benchmarks


def parameters(study: Study) -> dict[str, tuple[Any, Any]]:
    """Return the parameters of a study that were set otherwise than in its notebook: name → value, the notebook's own.

    Those that every notebook has choose no points, and are left out.
    """
    every = {field.name for field in dataclasses.fields(studies.Parameters)}
    both = {name: (getattr(study.values, name), own) for name, own in studies.defaults(type(study)).items()}
    return {name: (now, own) for name, (now, own) in both.items() if name not in every and now != own}


def omitted(study: Study) -> Omitted:
    """Say what a part that is left out needs: tools, parameters, or points of certain benchmarks."""
    changed = list(parameters(study).items())[:_NAMED]
    if study.lacking:
        return Omitted(f"nothing that it needs was measured here. {' '.join(study.lacking[:_NAMED])}")
    if changed:
        own = joined(
            f"`{name}={own}` (set here: {f'`{now}`' if now != '' else 'empty'})" for name, (now, own) in changed
        )
        return Omitted(f"the parameters select nothing that is measured here. It needs {own}.", NOTHING.code)
    names = [f"`{name}`" for name in study.benchmarks[:_NAMED]]
    more = " …" if len(study.benchmarks) > _NAMED else ""
    return Omitted(f"nothing that it needs was measured here. It shows points of {', '.join(names)}{more}.")


def note_one_place(figure: Any) -> None:
    """Add a note to a figure whose lines have a single point: a line needs at least two."""
    about = figure.layout.meta if isinstance(figure.layout.meta, dict) else {}
    lines = [trace for trace in figure.data if trace.type == "scatter" and not (trace.meta or {}).get("overlay")]
    places = {place for trace in lines for place in (trace.x if trace.x is not None else ()) if place is not None}
    if about.get("axis") not in _AXES or len(places) != 1:
        return
    what = title(about["column"]).partition(" (")[0]
    small_print.add(figure, note("one-place", f"only one {what} was measured, so there is no line"))
