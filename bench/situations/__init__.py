"""Situations whose truth is known: one file for each kind, whose ``KIND`` makes its cases. Files are found by scanning.

A label comes from the code that injects the fault. A case whose injection cannot be shown in its data is rejected.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from labkit.models.bounds import Stated
from labkit.store.campaign import Campaign

Parameters = Mapping[str, Any]  # plain values
Cases = Callable[[np.random.Generator], Sequence[Parameters]]


class NotShownError(Exception):
    """The data of a case do not show its injection."""


@dataclass(frozen=True)
class Label:
    """A fault of a case.

    Parameters
    ----------
    place : the benchmark whose numbers suffer.
    causes : codes that name the fault; the first is the usual one, any of them is right.
    """

    place: str
    causes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of situation: what its file exports as ``KIND``.

    Parameters
    ----------
    words : what is wrong, in words.
    labels : the faults; none of a healthy kind.
    source : whether its cases are ``measured`` when they are made, ``recorded`` examples in which one thing is changed,
        or ``made`` by arithmetic.
    cases : parameters of all cases, from a random generator; the same ones for the same seed.
    make : writes a case as a campaign into a folder that does not exist.
    shown : returns in words what the data show of the injection; raises `NotShownError` if they show nothing.
    stated : what the user would state of the path.
    decidable : whether the fault lasts while ``labkit explain --decide`` measures more on the same machine.
    rule : code of the rule of `labkit lint` that should name the fault, for a fault of method that has no cause.
    name : that of the file; filled in.
    """

    words: str
    labels: tuple[Label, ...] = ()
    source: Literal["measured", "recorded", "made"]
    cases: Cases
    make: Callable[[Parameters, Path], Campaign]
    shown: Callable[[Campaign, Parameters], str]
    stated: Stated = field(default_factory=Stated)
    decidable: bool = False
    rule: str = ""
    name: str = ""

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong."""
        return not self.labels and not self.rule


SEED = 20261126  # of the parameters of all cases


@cache
def every() -> Mapping[str, Kind]:
    """Return all kinds by name."""
    names = sorted(one.name for one in pkgutil.iter_modules(__path__) if not one.name.startswith("_"))
    return {name: replace(importlib.import_module(f"{__name__}.{name}").KIND, name=name) for name in names}


def parameters(kind: Kind) -> Sequence[Parameters]:
    """Return the parameters of all cases of a kind; those of other kinds change nothing of them."""
    return kind.cases(np.random.default_rng([SEED, *kind.name.encode()]))
