"""The shape of a suite's TOML file; `labkit.spec.validated` holds a file against it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from labkit.spec import STRICT


@dataclass(frozen=True)
class Sweep:
    """A [[sweep]] of a suite's file.

    Parameters
    ----------
    notebooks : names of those it sweeps; all when left out.
    parameters, setting : name → values.
    """

    __pydantic_config__ = STRICT
    notebooks: list[str] | None = None
    parameters: dict[str, list[Any]] = field(default_factory=dict)
    setting: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Notebook:
    """A [[notebook]] of a suite's file.

    Parameters
    ----------
    name : of the notebook in notebooks/, without .ipynb; never a path.
    parameters : set in it.
    sweep, setting : name → values; the notebook is executed once for every combination.
    """

    __pydantic_config__ = STRICT
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    sweep: dict[str, list[Any]] = field(default_factory=dict)
    setting: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """A suite's file.

    Parameters
    ----------
    parameters : set in every notebook that has them.
    seed : of the random order of swept notebooks.
    """

    title: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 1
    sweep: list[Sweep] = field(default_factory=list)
    notebook: list[Notebook] = field(default_factory=list)
