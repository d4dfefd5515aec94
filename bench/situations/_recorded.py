"""Parts of recorded examples as campaigns, in which one thing is changed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.situations import NotShownError, Parameters
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT, TESTBED

_EXAMPLES = Path(__file__).parents[2] / "data/campaigns/examples"
own = _EXAMPLES  # folder whose campaigns are taken instead of the examples of the same names
COSTS = (  # benchmarks of what the machine costs without a network: the references of the verdicts
    "micro.core_to_core", "micro.core_to_core_copy", "micro.loopback", "micro.memory_copy", "micro.wake_up",
)  # fmt: skip
SPINE = "virtual-cluster:4,per_leaf=2,rate=200mbit"
Chosen = Callable[[Samples], bool]


def _place(example: str) -> Path:
    return own / example if (own / example).exists() else _EXAMPLES / example


@cache
def _all(place: Path, benchmark: str) -> tuple[Samples, ...]:
    return tuple(Campaign.existing(place).samples(benchmark))


def part(example: str, benchmark: str, chosen: Chosen = lambda one: True) -> list[Samples]:
    """Return launches of a benchmark of an example."""
    return [one for one in _all(_place(example), benchmark) if chosen(one)]


def costs(example: str) -> list[Samples]:
    """Return the launches of what the machine of an example costs without a network."""
    return [one for name in COSTS for one in part(example, name)]


def launched(some: Iterable[Samples], launches: Sequence[int]) -> list[Samples]:
    """Return only some launches."""
    return [one for one in some if one.launch in launches]


def with_launches(random: np.random.Generator, cases: Sequence[Parameters]) -> list[Parameters]:
    """Return cases each with launches of an example, four or five of its six; no two cases have the same ones."""
    every = [[*some] for count in (4, 5) for some in itertools.combinations(range(6), count)]
    chosen = random.choice(len(every), len(cases), replace=False)
    return [{"launches": every[place], **case} for place, case in zip(chosen, cases, strict=True)]


def kept(folder: Path, example: str, some: Iterable[Samples]) -> Campaign:
    """Write launches into a new campaign with the facts of an example."""
    facts = Campaign.existing(_place(example)).facts
    campaign = Campaign(folder, {name: facts[name] for name in ("host", "created") if name in facts})
    with campaign.saving() as saving:
        for one in some:
            saving.add(one, FINGERPRINT.of(one.meta))
    return campaign


def said_to_be(one: Samples, testbed: str, **facts: Any) -> Samples:
    """Return a launch whose metadata name another testbed; a fact that is None is removed."""
    known = {name: value for name, value in {**TESTBED.of(one.meta), **facts}.items() if value is not None}
    return replace(one, spec=one.spec.replace(testbed=testbed), meta={**one.meta, "testbed": known})


def typical(some: Iterable[Samples], metric: str = "") -> float:
    """Return the median over launches: of the times of iterations, s, or of a metric that a tool reported."""
    found = []
    for one in some:
        if metric:
            found += [each.value for each in one.reported if each.name == metric and each.t is None][:1]
        elif one.time_ns.size:
            found.append(float(np.median(one.seconds)))
    return float(np.median(found)) if found else np.nan


def apart(what: str, bad: float, good: float, least: float = 2.0) -> str:
    """Return that two values are apart by a factor.

    Raises
    ------
    NotShownError
        If they are not.
    """
    factor = max(bad / good, good / bad) if bad > 0 and good > 0 else 0.0
    if not factor >= least:
        raise NotShownError(f"{what}: {bad:.4g} against {good:.4g} is less than {least:g} times")
    return f"{what}: {bad:.4g} against {good:.4g}, {factor:.3g} times"


def below(what: str, value: float, usual: float, least: float = 2.0) -> str:
    """Return that a value is below another one by a factor, as `apart` does."""
    if value > usual:
        raise NotShownError(f"{what}: {value:.4g} is not below {usual:.4g}")
    return apart(what, value, usual, least)


def above(what: str, value: float, usual: float, least: float = 2.0) -> str:
    """Return that a value is above another one by a factor, as `apart` does."""
    if value < usual:
        raise NotShownError(f"{what}: {value:.4g} is not above {usual:.4g}")
    return apart(what, value, usual, least)
