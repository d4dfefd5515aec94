"""What a suite is, and how its TOML file is read: strictly, before anything starts."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labkit import outside, project, ranges, studies
from labkit.errors import DataError, SpecError, alike, known, named
from labkit.spec import validated
from labkit.suites.written import Notebook, Sweep, Written

SETTING = "setting "  # keeps names of settings apart from those of parameters
SETTINGS = ("launcher", "bind", "transport", "hosts")
PART = 60  # characters of a swept value in the name of a notebook
COPIES = 1000  # executed copies of one notebook


@dataclass(frozen=True)
class Shared:
    """Parameters for every notebook that has them, the weakest first.

    Parameters
    ----------
    usual : of a batch job; no notebook need have them.
    suite : of the suite's file.
    line : of the command line; they win over everything that a suite sets.
    """

    usual: Mapping[str, Any]
    suite: Mapping[str, Any]
    line: Mapping[str, str]


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
    """Suites of the user's project, and those that labkit ships."""
    return sorted(project.suites())


def load(name: str | Path, overrides: Sequence[str] = (), usual: Mapping[str, Any] | None = None) -> Suite:
    """A suite by its name or by its TOML file.

    Parameters
    ----------
    overrides : ``NAME=VALUE``, set in every notebook that has the parameter.
    usual : the same where nothing else sets it; no notebook need have it.

    Raises
    ------
    SpecError
        For an unknown suite, notebook or parameter, or a value of the wrong type; nothing was started.
    """
    there = project.suites()
    own = str(name).endswith(".toml")
    path = Path(name) if own else there.get(named("suite", str(name), sorted(there)))
    if path is None or not path.is_file():
        raise known("suite", str(name), sorted(there))
    held = validated(Written, _toml(path), what=str(path))
    if not held.notebook:
        raise SpecError(f"{path} has no [[notebook]], but a suite needs at least one. Add one.")
    ranges.check("seed", held.seed, word=f"{path}: seed=")
    given = _pairs(overrides)
    sweeps = [_checked(path, one, [n.name for n in held.notebook]) for one in held.sweep]
    shared = Shared(dict(usual or {}), held.parameters, given)
    entries = [entry for one in held.notebook for entry in _entries(path, _swept(one, sweeps), shared)]
    if twice := sorted({e.name for e in entries if [other.name for other in entries].count(e.name) > 1}):
        raise SpecError(f"{path} lists the notebook {twice[0]} more than once. Use a [[sweep]]: it names each copy.")
    _used(path, shared, held.notebook)
    return Suite(path.stem, held.title or path.stem, tuple(entries), held.seed if sweeps else None)


def _toml(path: Path) -> dict[str, Any]:
    """What the file holds."""
    try:
        return outside.toml(path)
    except DataError as error:
        raise SpecError(str(error)) from error


def _pairs(overrides: Sequence[str]) -> dict[str, str]:
    """Parameters of the command line."""
    if broken := [pair for pair in overrides if "=" not in pair]:
        raise SpecError(f"-p {ranges.shown(broken[0])} is not of the form NAME=VALUE, as in -p launches=6.")
    return dict(pair.split("=", 1) for pair in overrides)


def _used(path: Path, shared: Shared, notebooks: Sequence[Notebook]) -> None:
    """Refuse a parameter that no notebook has, naming those that are alike."""
    has = {name for one in notebooks for name in studies.defaults(studies.of_notebook(_file(one.name)))}
    for word, values in (("-p ", shared.line), ("[parameters] ", shared.suite)):
        for name in values:
            if name not in has:
                raise SpecError(
                    f"{word}{name}: no notebook of {path.stem} has this parameter. {alike(name, sorted(has))}"
                    f"They have: {', '.join(sorted(has))}."
                )


def _checked(path: Path, one: Sweep, names: Sequence[str]) -> Sweep:
    """A [[sweep]], its notebooks and settings checked."""
    if not (one.parameters or one.setting):
        raise SpecError(f"{path}: a [[sweep]] has neither parameters nor setting. Add one of them.")
    if strange := sorted(set(one.notebooks or ()) - set(names)):
        raise SpecError(
            f"{path}: [[sweep]] notebooks={strange}, but the suite has no such notebook. "
            f"{alike(strange[0], names)}It has: {', '.join(names)}."
        )
    _settings(path, one.setting)
    return replace(one, notebooks=one.notebooks if one.notebooks is not None else list(names))


def _settings(path: Path, setting: Mapping[str, Sequence[Any]]) -> None:
    """Refuse names that are no settings."""
    if wrong := [n for n in setting if n not in SETTINGS and not n.startswith("env.")]:
        raise SpecError(
            f"{path}: setting {wrong[0]!r} does not exist. {alike(wrong[0], SETTINGS)}"
            f"Settings are {', '.join(SETTINGS)} and env.NAME."
        )


def _swept(one: Notebook, sweeps: Sequence[Sweep]) -> Notebook:
    """A notebook of a suite with the axes that the suite's sweeps give it."""
    own = [sweep for sweep in sweeps if one.name in (sweep.notebooks or ())]
    axes = {key: values for sweep in own for key, values in sweep.parameters.items()}
    settings = {key: values for sweep in own for key, values in sweep.setting.items()}
    return replace(one, sweep={**one.sweep, **axes}, setting={**one.setting, **settings})


def _file(name: str) -> Path:
    """File of a notebook that a suite names: by its name, never by a path.

    Raises
    ------
    SpecError
        If it is a path, or there is none of that name.
    """
    there = project.notebooks()
    if named("notebook", name, list(there)) not in there:
        raise known("notebook", name, list(there))
    return there[name]


def _entries(suite: Path, one: Notebook, shared: Shared) -> Iterator[Entry]:
    """A notebook of a suite, once for every combination of what it sweeps; the command line wins over the suite."""
    notebook = _file(one.name)
    study = studies.of_notebook(notebook)
    has = studies.defaults(study)
    _settings(suite, one.setting)
    line = {key: value for key, value in shared.line.items() if key in has}
    swept = {key: values for key, values in one.sweep.items() if key not in line}
    settings = {f"{SETTING}{key}": values for key, values in one.setting.items()}
    if empty := [key.removeprefix(SETTING) for key, values in {**swept, **settings}.items() if not values]:
        raise SpecError(
            f"{suite}: the sweep of {empty[0]} in {one.name} has no values. Add values, or remove the sweep."
        )
    if (count := math.prod(map(len, [*swept.values(), *settings.values()]))) > COPIES:
        raise SpecError(
            f"{suite}: the sweeps of {one.name} make {count:,} notebooks; the limit is {COPIES:,}. Sweep fewer values."
        )
    for combination in itertools.product(*swept.values(), *settings.values()):
        given = dict(zip([*swept, *settings], combination, strict=True))
        axis = {key: value for key, value in given.items() if not key.startswith(SETTING)}
        setting = {key.removeprefix(SETTING): str(v) for key, v in given.items() if key.startswith(SETTING)}
        own = {key: value for key, value in {**shared.usual, **shared.suite}.items() if key in has}
        own |= one.parameters | axis | line
        checked = validated(study.parameters, own, what=f"notebook {notebook.stem}")
        typed = {key: getattr(checked, key) for key in own}
        yield Entry(notebook, typed, "".join(f"-{_part(value)}" for value in given.values()), setting)


def _part(value: object) -> str:
    """A value as a part of a file's name; of a long one, as a launcher's path is, its end with a checksum."""
    text = re.sub(r"[^\w.,:=+@ -]", "_", str(value))
    return text if len(text) <= PART else f"{hashlib.sha256(text.encode()).hexdigest()[:8]}{text[8 - PART :]}"
