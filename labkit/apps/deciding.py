"""Measure missing references, and points that separate the likely causes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from labkit import stats
from labkit.errors import DataError, LabkitError
from labkit.host import machine
from labkit.judge.answer import Answer
from labkit.judge.finding import Wanted
from labkit.point.spec import Effort, Spec
from labkit.point.units import plural
from labkit.run import measuring
from labkit.store.campaign import Campaign

ROUNDS = 3  # a measurement may ask for another one
CAP = 0.1  # s of timed iterations in a launch; a warm-up of a tool counts too, so with one the usual time is given
_EACH = 0.5  # s that a point takes in a launch beside them, about


def decide(
    campaign: Campaign, asked: Callable[[], Answer], budget: float, say: Callable[[str], None] = lambda text: None
) -> Answer:
    """Measure into a campaign what would decide more of its answer, and answer again.

    Parameters
    ----------
    asked : returns the answer about the campaign as it is.
    budget : s that measuring may take, about: no launch of points begins that would exceed it.
    say : called with a message on what is measured.

    Raises
    ------
    DataError
        If the campaign was measured on another machine, or labkit must not change it.
    LaunchError
        If another run measures into the campaign.
    """
    first, end = asked(), time.monotonic() + budget
    answer = first
    if answer.undecided:
        _refuse(campaign)
    tried: set[Wanted] = set()
    names: dict[Spec, str] = {}
    for _ in range(ROUNDS):
        left = [one for one in answer.undecided if one not in tried]
        if not left or (tried and time.monotonic() >= end):
            break
        some = left[: _room(left, end - time.monotonic())]
        tried.update(some)
        wanted = _possible(some, say)
        names |= {one.spec: name for one, name in wanted.items()}
        if wanted and _measured(campaign, [*wanted], end, say):
            answer = asked()
    if not tried:
        say("nothing that could be measured here would decide more")
    return answer.since(first, names)


def here(campaign: Campaign) -> bool:
    """Return whether a campaign was measured on this machine."""
    return not _other(campaign)


def _other(campaign: Campaign) -> str:
    """Say how the machine of a campaign differs from this one; empty for this machine."""
    known = campaign.facts.get("host")
    return machine.other(known if isinstance(known, dict) else {})


def _refuse(campaign: Campaign) -> None:
    """Refuse a campaign of another machine, and one that cannot be measured into."""
    if different := _other(campaign):
        raise DataError(
            f"{campaign.name} was measured on another machine: {different}. What this machine costs says nothing about "
            "that one. Run labkit explain --decide there."
        )
    with campaign.lease():  # what refuses one point would refuse each of them
        pass


def _room(wanted: Sequence[Wanted], budget: float) -> int:
    """Return how many points get all their launches within the budget, at least 1.

    The others follow in another round.
    """
    return max(1, int(budget / (max(one.launches for one in wanted) * (CAP + _EACH))))


def _possible(wanted: Sequence[Wanted], say: Callable[[str], None]) -> dict[Wanted, str]:
    """Return the points that can be measured here, with their fingerprints; say why others cannot."""
    found = {}
    for one in wanted:
        try:
            (point,) = measuring.expand([one.spec], Effort(), [0])
            found[one] = point.fingerprint
        except LabkitError as error:  # such as a library that is not installed: its question stays open
            say(f"{one.spec} cannot be measured here: {error}")
    return found


def _measured(campaign: Campaign, wanted: list[Wanted], end: float, say: Callable[[str], None]) -> bool:
    """Measure launch after launch while there is time; return whether anything was measured."""
    names = ", ".join(dict.fromkeys(one.spec.benchmark for one in wanted))
    usual = Effort(launches=stats.LAUNCHES)
    first = {one: _first(campaign, one) for one in wanted}
    begun, longest = False, len(wanted) * (CAP + _EACH)
    for launch in range(max(one.launches for one in wanted)):
        started = time.monotonic()
        if started + longest > end and begun:
            say(f"the budget ends after {plural(launch, 'launch')}")
            break
        if not begun:
            say(f"measuring {names}: {plural(len(wanted), 'point')}")
        groups: dict[tuple[int, int], list[Spec]] = {}
        for one in wanted:
            if launch < one.launches:
                groups.setdefault((one.warmup, first[one] + launch), []).append(one.spec)
        for (warmup, number), specs in groups.items():
            effort = replace(usual, warmup=warmup) if warmup else replace(usual, time_cap=CAP)
            try:
                measuring.measure(specs, effort, into=campaign, launches=[number])
            except LabkitError as error:  # what cannot be measured here leaves its question open
                say(str(error))
                return begun
        begun, longest = True, max(time.monotonic() - started, _EACH)
    return begun


def _first(campaign: Campaign, one: Wanted) -> int:
    """Return the number of the first launch to measure: 0, or of those with a longer warm-up, a new one."""
    if not one.warmup:
        return 0
    (point,) = measuring.expand([one.spec], Effort(), [0])
    done = [launch for _, name, launch in campaign.done(one.spec.benchmark) if name == point.fingerprint]
    return max(done, default=-1) + 1
