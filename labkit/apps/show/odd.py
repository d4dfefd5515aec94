"""Mention odd results below a table of results, in two short lines."""

from __future__ import annotations

import shlex

import pandas as pd

from labkit.judge.view import View
from labkit.read import records

_WIDE = 120  # characters of a line


def hint(frame: pd.DataFrame, place: str) -> str:
    """Return how many results contradict what must be expected, the surest, and the command that shows all.

    It sees records only, so rules that need samples and counters are left to that command.

    Parameters
    ----------
    frame : a row per point and launch.
    place : of the campaign, as the command line takes it.

    Returns
    -------
    Two lines; empty if nothing is odd.
    """
    if frame.empty:
        return ""
    odd = [one for one in View(place, frame, records.summary(frame)).odd if one.confidence != "undecided"]
    if not odd:
        return ""
    first = odd[0]
    verb = "result contradicts" if len(odd) == 1 else "results contradict"
    such = "" if len(odd) == 1 else " such as"
    text = f"odd: {len(odd)} {verb} what must be expected,{such} {first.benchmark}: {first.what}"
    text = text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"
    return f"{text}\nall odd results with values and possible reasons: labkit lint {shlex.quote(place)}"
