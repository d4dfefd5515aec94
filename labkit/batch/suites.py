"""What a suite is, and how its TOML file is read: strictly, before anything starts."""

from __future__ import annotations

import itertools
import json
import os
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit import studies
from labkit.errors import SpecError, known
from labkit.spec import validated

HOME = Path(__file__).resolve().parent.parent.parent
SETTING = "setting "  # keeps names of settings apart from those of parameters
NOTEBOOKS, SUITES = HOME / "notebooks", HOME / "templates" / "suites"


@dataclass(frozen=True)
class Entry:
    """One notebook of a suite.

    Parameters
    ----------
    notebook : source, without outputs.
    parameters : set in it.
    suffix : tells the executed copies of a swept notebook apart.
    setting : launcher, bind, transport, hosts, ``env.NAME`` of all its MPI ranks, where its study leaves them open.
    """

    notebook: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    suffix: str = ""
    setting: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the executed notebook."""
        return self.notebook.stem + self.suffix

    def study(self, **more: Any) -> studies.Study:
        """The study with these parameters, checked."""
        with self.settled():
            return studies.of_notebook(self.notebook)(**{**self.parameters, **more})

    @contextmanager
    def settled(self) -> Iterator[None]:
        """The setting in the environment, which a study reads and a notebook's kernel inherits."""
        before = os.environ.pop(studies.SETTING, None)
        if self.setting:
            os.environ[studies.SETTING] = json.dumps(dict(self.setting))
        try:
            yield
        finally:
            os.environ.pop(studies.SETTING, None)
            if before is not None:
                os.environ[studies.SETTING] = before


@dataclass(frozen=True)
class Suite:
    """Notebooks in the order of a report.

    Parameters
    ----------
    seed : fixes the order in which swept notebooks are executed; None where nothing is swept by the suite.
    """

    name: str
    title: str
    entries: tuple[Entry, ...]
    seed: int | None = None

    @property
    def order(self) -> tuple[Entry, ...]:
        """Notebooks in the order of their execution: swept ones in random order among their places."""
        if self.seed is None:
            return self.entries
        names = [entry.notebook for entry in self.entries]
        swept = [i for i, entry in enumerate(self.entries) if names.count(entry.notebook) > 1]
        mixed = random.Random(self.seed).sample(swept, len(swept))
        places = dict(zip(swept, mixed, strict=True))
        return tuple(self.entries[places.get(i, i)] for i in range(len(self.entries)))


def names() -> list[str]:
    """Suites that come with labkit."""
    return sorted(path.stem for path in SUITES.glob("*.toml"))


def load(name: str | Path, overrides: Sequence[str] = (), usual: Mapping[str, Any] | None = None) -> Suite:
    """A suite by its name in templates/suites or by its TOML file.

    Parameters
    ----------
    overrides : ``NAME=VALUE``, set in every notebook that has the parameter.
    usual : the same where nothing else sets it; no notebook need have it.

    Raises
    ------
    SpecError
        For an unknown suite, notebook or parameter, or a value of the wrong type; nothing was started.
    """
    path = Path(name) if str(name).endswith(".toml") else SUITES / f"{name}.toml"
    if not path.is_file():
        raise known("suite", str(name), names())
    try:
        held = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path}: {error}. Correct the file.") from error
    unknown = set(held) - {"title", "parameters", "notebook", "sweep", "seed"}
    if unknown or not held.get("notebook"):
        raise SpecError(
            f"{path} has {sorted(held)}, but a suite has title, parameters, seed, [[sweep]] and at least one "
            "[[notebook]]."
        )
    if not isinstance(seed := held.get("seed", 1), int):
        raise SpecError(f"{path}: seed={seed!r}, but it must be a whole number.")
    if broken := [pair for pair in overrides if "=" not in pair]:
        raise SpecError(f"-p {broken[0]!r} is not of the form NAME=VALUE, as in -p launches=6.")
    shared = dict(usual or {}) | dict(held.get("parameters", {})) | dict(pair.split("=", 1) for pair in overrides)
    sweeps = [_sweep(path, one, [str(n.get("name")) for n in held["notebook"]]) for one in held.get("sweep", [])]
    entries = [entry for one in held["notebook"] for entry in _entries(path, _swept(one, sweeps), shared)]
    if twice := sorted({e.name for e in entries if [other.name for other in entries].count(e.name) > 1}):
        raise SpecError(
            f"{path} has {twice[0]} more than once. Sweep what differs, so that each has a name of its own."
        )
    used = {key for entry in entries for key in entry.parameters}
    if useless := sorted(set(shared) - used - set(usual or {})):
        raise SpecError(f"no notebook of {path.stem} has the parameters {useless}.")
    return Suite(path.stem, str(held.get("title", path.stem)), tuple(entries), seed if sweeps else None)


def _sweep(suite: Path, one: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """A [[sweep]], checked: its notebooks, parameters and settings."""
    of = list(one.get("notebooks", names))
    if set(one) - {"notebooks", "parameters", "setting"} or not (one.get("parameters") or one.get("setting")):
        raise SpecError(f"{suite}: a [[sweep]] has notebooks, parameters and setting, but here are {sorted(one)}.")
    if strange := sorted(set(of) - set(names)):
        raise SpecError(f"{suite}: a [[sweep]] names {strange}, but the suite's notebooks are {', '.join(names)}.")
    axes = {**one.get("parameters", {}), **one.get("setting", {})}
    if wrong := [key for key, values in axes.items() if not isinstance(values, list) or not values]:
        raise SpecError(f"{suite}: [[sweep]] {wrong[0]}={axes[wrong[0]]!r}, but it must be a list of values.")
    known_settings = ("launcher", "bind", "transport", "hosts")
    if wrong := [n for n in one.get("setting", {}) if n not in known_settings and not n.startswith("env.")]:
        raise SpecError(f"{suite}: {wrong[0]} is no setting. Settings are {', '.join(known_settings)} and env.NAME.")
    return {"notebooks": of, "parameters": one.get("parameters", {}), "setting": one.get("setting", {})}


def _swept(one: Mapping[str, Any], sweeps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A notebook of a suite with the axes that the suite's sweeps give it."""
    own = [sweep for sweep in sweeps if one.get("name") in sweep["notebooks"]]
    axes = {key: values for sweep in own for key, values in sweep["parameters"].items()}
    settings = {key: values for sweep in own for key, values in sweep["setting"].items()}
    swept = {"sweep": {**one.get("sweep", {}), **axes}} if axes else {}
    return {**one, **swept, **({"setting": settings} if settings else {})}


def _entries(suite: Path, one: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[Entry]:
    """A notebook of a suite, once for every combination of what it sweeps."""
    unknown = set(one) - {"name", "parameters", "sweep", "setting"}
    if unknown or "name" not in one:
        raise SpecError(f"{suite}: a [[notebook]] has name, parameters and sweep, but here are {sorted(one)}.")
    notebook = NOTEBOOKS / f"{one['name']}.ipynb"
    if not notebook.is_file():
        raise known("notebook", one["name"], [p.stem for p in NOTEBOOKS.glob("*.ipynb")])
    study = studies.of_notebook(notebook)
    has = studies.defaults(study)
    swept = {key: list(values) for key, values in one.get("sweep", {}).items()}
    settings = {f"{SETTING}{key}": list(values) for key, values in one.get("setting", {}).items()}
    for combination in itertools.product(*swept.values(), *settings.values()):
        given = dict(zip([*swept, *settings], combination, strict=True))
        axis = {key: value for key, value in given.items() if not key.startswith(SETTING)}
        setting = {key.removeprefix(SETTING): str(v) for key, v in given.items() if key.startswith(SETTING)}
        own = {key: value for key, value in shared.items() if key in has} | dict(one.get("parameters", {})) | axis
        checked = validated(study.parameters, own, what=f"notebook {notebook.stem}")
        typed = {key: getattr(checked, key) for key in own}
        suffix = "".join(f"-{value}" for value in given.values()).replace("/", "_")
        yield Entry(notebook, typed, suffix, setting)
