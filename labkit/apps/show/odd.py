"""Mention odd results below a table of results, in two short lines."""

from __future__ import annotations

import shlex

import pandas as pd

from labkit.judge import checking, rules, sentences
from labkit.judge.rule import PLAUSIBILITY
from labkit.judge.view import View
from labkit.read import records

_WIDE = 120  # characters of a line


def hint(frame: pd.DataFrame, place: str) -> str:
    """Return how many results contradict what is expected, the surest, and the command that shows all.

    It sees records only, so rules that need samples and counters are left to that command.

    Parameters
    ----------
    frame : a row per point and launch.
    place : place of the campaign, as the command line takes it.

    Returns
    -------
    Two lines; empty if nothing is odd.
    """
    if frame.empty:
        return ""
    view = View(place, frame, records.summary(frame))
    odd = [one for one in checking.check(view, rules.about(PLAUSIBILITY)) if one.certain]
    if not odd:
        return ""
    verb = "result contradicts" if len(odd) == 1 else "results contradict"
    such = "" if len(odd) == 1 else " such as"
    text = f"odd: {len(odd)} {verb} what is expected,{such} {sentences.first(odd[:1])}"
    text = text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"
    return f"{text}\nall odd results with values and possible reasons: labkit lint {shlex.quote(place)}"
