"""Measure what an answer lacks: references that are missing, and what separates the likely causes."""

from __future__ import annotations

import time
from collections.abc import Callable

from labkit import host, stats
from labkit.errors import DataError, LabkitError
from labkit.judge.answer import Answer
from labkit.point.spec import Effort, Spec
from labkit.point.units import plural
from labkit.run import measuring
from labkit.store.campaign import Campaign

ROUNDS = 3  # a measurement may ask for another one
_CAP = 0.1  # s of timed iterations in a launch
_EACH = 0.5  # s that a point takes in a launch beside them, about


def decide(
    campaign: Campaign, asked: Callable[[], Answer], budget: float, say: Callable[[str], None] = lambda text: None
) -> Answer:
    """Measure into a campaign what would decide more of its answer, and answer again.

    Parameters
    ----------
    asked : returns the answer about the campaign as it is.
    budget : s that measuring may take, about: no launch of points begins that would exceed it.
    say : is told what is measured.

    Raises
    ------
    DataError
        If the campaign was measured on another machine.
    """
    answer, end = asked(), time.monotonic() + budget
    if answer.undecided:
        _here(campaign)
    tried: set[Spec] = set()
    for _ in range(ROUNDS):
        specs = [spec for spec in answer.undecided if spec not in tried]
        if not specs or not _measured(campaign, specs, end, say):
            break
        tried.update(specs)
        answer = asked()
    if not tried:
        say("nothing that could be measured here would decide more")
    return answer


def _here(campaign: Campaign) -> None:
    """Refuse a campaign of another machine."""
    known = campaign.facts.get("host")
    theirs = str(known.get("hostname") or "") if isinstance(known, dict) else ""
    mine = str(host.describe()["hostname"])
    if theirs != mine:
        raise DataError(
            f"{campaign.name} was measured on {theirs or 'an unknown machine'}, but this is {mine}: what this machine "
            "costs says nothing about that one. Run labkit explain --decide there."
        )


def _measured(campaign: Campaign, specs: list[Spec], end: float, say: Callable[[str], None]) -> bool:
    """Measure launch after launch while there is time; return whether anything was measured."""
    names = ", ".join(dict.fromkeys(spec.benchmark for spec in specs))
    effort = Effort(launches=stats.LAUNCHES, time_cap=_CAP)
    begun, longest = False, len(specs) * (_CAP + _EACH)
    for launch in range(effort.launches):
        started = time.monotonic()
        if started + longest > end and begun:
            say(f"the budget ends after {plural(launch, 'launch')}")
            break
        if not begun:
            say(f"measuring {names}: {plural(len(specs), 'point')}")
        try:
            measuring.measure(specs, effort, into=campaign, launches=[launch])
        except LabkitError as error:  # what cannot be measured here leaves its question open
            say(str(error))
            return begun
        begun, longest = True, max(time.monotonic() - started, _EACH)
    return begun
