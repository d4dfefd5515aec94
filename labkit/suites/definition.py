"""A suite, and its TOML file: labkit reads it strictly, before anything starts."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labkit import studies
from labkit.errors import DataError, SpecError, alike, named, unknown_name
from labkit.io import project, safe_read
from labkit.point import ranges
from labkit.point.spec import STRICT, Effort, validated
from labkit.run.sessions import reached
from labkit.store.campaign import Campaign

SETTING = "setting "  # separates names of settings from those of parameters
SETTINGS = ("launcher", "bind", "transport", "hosts")
PART = 60  # characters of a swept value in the name of a notebook
COPIES = 1000  # executed copies of one notebook


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
    name : name of the notebook in notebooks/, without .ipynb; never a path.
    parameters : set in it.
    sweep, setting : name → values; the notebook is executed once for every combination.
    """

    __pydantic_config__ = STRICT
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    sweep: dict[str, list[Any]] = field(default_factory=dict)
    setting: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class SuiteFile:
    """A suite's file.

    Parameters
    ----------
    parameters : set in every notebook that has them.
    seed : seed of the random order of swept notebooks.
    sessions, spread : as in `labkit.point.spec.Effort`; each session goes through all notebooks.
    """

    title: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int = 1
    sessions: int | None = None
    spread: str = ""
    sweep: list[Sweep] = field(default_factory=list)
    notebook: list[Notebook] = field(default_factory=list)


@dataclass(frozen=True)
class Shared:
    """Parameters for every notebook that has them, from the weakest to the strongest.

    Parameters
    ----------
    defaults : defaults of a batch job or a testbed; they may be parameters that no notebook has.
    suite : settings in the suite's file.
    command_line : they override everything that a suite sets.
    """

    defaults: Mapping[str, Any]
    suite: Mapping[str, Any]
    command_line: Mapping[str, str]


@dataclass(frozen=True)
class Entry:
    """One notebook of a suite.

    Parameters
    ----------
    notebook : source, without outputs.
    parameters : set in it.
    suffix : distinguishes the executed copies of a swept notebook.
    setting : launcher, bind, transport, hosts, ``env.NAME`` of all its MPI ranks, unless its study sets them.
    session : start of the session in which it measures; empty without a schedule.
    """

    notebook: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    suffix: str = ""
    setting: Mapping[str, str] = field(default_factory=dict)
    session: str = ""

    @property
    def name(self) -> str:
        """Name of the executed notebook."""
        return self.notebook.stem + self.suffix

    def study(self, run: Campaign | None = None, /, **more: Any) -> studies.Study:
        """Return the study with these parameters, checked; it works on the campaign of a run, if one is named."""
        return studies.of_notebook(self.notebook)(self.given(run), **{**self.parameters, **more})

    def given(self, run: Campaign | None = None) -> studies.Given:
        """Return what a run that works on a campaign gives the study."""
        return studies.Given.by(run, self.setting, self.session) if run else studies.Given(setting=self.setting)

    @property
    def launches(self) -> int:
        """Launches of each point."""
        return int(self.parameters.get("launches", studies.defaults(studies.of_notebook(self.notebook))["launches"]))

    def having(self, **parameters: Any) -> Entry:
        """Return the notebook with some parameters changed."""
        return replace(self, parameters={**self.parameters, **parameters})


@dataclass(frozen=True)
class Suite:
    """Notebooks in the order of a report.

    Parameters
    ----------
    seed : fixes the order in which swept notebooks are executed; None if the suite sweeps nothing.
    effort : its sessions; each goes through all notebooks.
    """

    name: str
    title: str
    entries: tuple[Entry, ...]
    seed: int | None = None
    effort: Effort = field(default_factory=Effort)

    @property
    def order(self) -> tuple[Entry, ...]:
        """Notebooks in the order of their execution: swept ones exchange their places at random."""
        if self.seed is None:
            return self.entries
        names = [entry.notebook for entry in self.entries]
        swept = [i for i, entry in enumerate(self.entries) if names.count(entry.notebook) > 1]
        mixed = random.Random(self.seed).sample(swept, len(swept))
        places = dict(zip(swept, mixed, strict=True))
        return tuple(self.entries[places.get(i, i)] for i in range(len(self.entries)))

    def reaching(self, session: int) -> Suite:
        """Return the suite with the launches of all sessions up to one."""
        count = self.effort.schedule[0]
        if count == 1:
            return self
        entries = [e.having(launches=reached(e.launches, count, session)) for e in self.entries]
        return replace(self, entries=tuple(entries))


def names() -> list[str]:
    """Return the names of the suites of the user's project, and of those that labkit ships."""
    return sorted(project.suites())


def load(
    name: str | Path,
    overrides: Sequence[str] = (),
    defaults: Mapping[str, Any] | None = None,
    *,
    sessions: int | None = None,
    spread: str = "",
) -> Suite:
    """Load a suite by its name or by its TOML file.

    Parameters
    ----------
    overrides : ``NAME=VALUE``, set in every notebook that has the parameter.
    defaults : parameters that apply if nothing else sets them; they may be some that no notebook has.
    sessions, spread : of the command line; they override the suite's.

    Raises
    ------
    SpecError
        For an unknown suite, notebook or parameter, or a value of the wrong type. Nothing was started.
    """
    suites_by_name = project.suites()
    is_file = str(name).endswith(".toml")
    path = Path(name) if is_file else suites_by_name.get(named("suite", str(name), sorted(suites_by_name)))
    if path is None or not path.is_file():
        raise unknown_name("suite", str(name), sorted(suites_by_name))
    document = validated(SuiteFile, _toml(path), what=str(path))
    if not document.notebook:
        raise SpecError(f"{path} has no [[notebook]], but a suite needs at least one. Add one.")
    ranges.check("seed", document.seed, word=f"{path}: seed=")
    parameters = _pairs(overrides)
    sweeps = [_checked(path, item, [n.name for n in document.notebook]) for item in document.sweep]
    shared = Shared(dict(defaults or {}), document.parameters, parameters)
    entries = [entry for item in document.notebook for entry in _entries(path, _swept(item, sweeps), shared)]
    if repeated := sorted({e.name for e in entries if [other.name for other in entries].count(e.name) > 1}):
        raise SpecError(f"{path} lists the notebook {repeated[0]} more than once. Use a [[sweep]]: it names each copy.")
    _used(path, shared, document.notebook)
    most = max(entry.launches for entry in entries)
    count = document.sessions if sessions is None else sessions
    effort = Effort(launches=most, sessions=count, spread=spread or document.spread)
    return Suite(path.stem, document.title or path.stem, tuple(entries), document.seed if sweeps else None, effort)


def _toml(path: Path) -> dict[str, Any]:
    """Return the content of the file."""
    try:
        return safe_read.toml(path)
    except DataError as error:
        raise SpecError(str(error)) from error


def _pairs(overrides: Sequence[str]) -> dict[str, str]:
    """Return the parameters of the command line."""
    if broken := [pair for pair in overrides if "=" not in pair]:
        raise SpecError(f"-p {ranges.shown(broken[0])} is not of the form NAME=VALUE, as in -p launches=6.")
    return dict(pair.split("=", 1) for pair in overrides)


def _used(path: Path, shared: Shared, notebooks: Sequence[Notebook]) -> None:
    """Refuse a parameter that no notebook has, and name similar ones."""
    command = shared.command_line
    if "campaign" in command and command.get("measure", "").lower() not in ("false", "no", "off", "0"):
        raise SpecError(
            f"-p campaign={ranges.shown(command['campaign'])}, but all notebooks of a run measure into one campaign. "
            "Name it with --into; with -p measure=false too, notebooks read this one."
        )
    accepted = {name for notebook in notebooks for name in studies.defaults(studies.of_notebook(_file(notebook.name)))}
    for prefix, values in (("-p ", shared.command_line), ("[parameters] ", shared.suite)):
        for name in values:
            if name not in accepted:
                raise SpecError(
                    f"{prefix}{name}: no notebook of {path.stem} has this parameter. {alike(name, sorted(accepted))}"
                    f"They have: {', '.join(sorted(accepted))}."
                )


def _checked(path: Path, sweep: Sweep, names: Sequence[str]) -> Sweep:
    """Check the notebooks and settings of a [[sweep]]; fill in its notebooks."""
    if not (sweep.parameters or sweep.setting):
        raise SpecError(f"{path}: a [[sweep]] has neither parameters nor setting. Add one of them.")
    if unknown := sorted(set(sweep.notebooks or ()) - set(names)):
        raise SpecError(
            f"{path}: [[sweep]] notebooks={unknown}, but the suite has no such notebook. "
            f"{alike(unknown[0], names)}It has: {', '.join(names)}."
        )
    _settings(path, sweep.setting)
    return replace(sweep, notebooks=sweep.notebooks if sweep.notebooks is not None else list(names))


def _settings(path: Path, setting: Mapping[str, Sequence[Any]]) -> None:
    """Refuse names of settings that do not exist."""
    if unknown := [n for n in setting if n not in SETTINGS and not n.startswith("env.")]:
        raise SpecError(
            f"{path}: setting {unknown[0]!r} does not exist. {alike(unknown[0], SETTINGS)}"
            f"Settings are {', '.join(SETTINGS)} and env.NAME."
        )


def _swept(notebook: Notebook, sweeps: Sequence[Sweep]) -> Notebook:
    """Add to a notebook the axes that the suite's sweeps give it."""
    applicable = [sweep for sweep in sweeps if notebook.name in (sweep.notebooks or ())]
    axes = {key: values for sweep in applicable for key, values in sweep.parameters.items()}
    settings = {key: values for sweep in applicable for key, values in sweep.setting.items()}
    return replace(notebook, sweep={**notebook.sweep, **axes}, setting={**notebook.setting, **settings})


def _file(name: str) -> Path:
    """Return the file of a notebook that a suite names: by its name, never by a path.

    Raises
    ------
    SpecError
        If it is a path, or no notebook has that name.
    """
    notebooks = project.notebooks()
    if named("notebook", name, list(notebooks)) not in notebooks:
        raise unknown_name("notebook", name, list(notebooks))
    return notebooks[name]


def _entries(suite: Path, notebook: Notebook, shared: Shared) -> Iterator[Entry]:
    """Yield a notebook of a suite for every combination of swept values; the command line overrides the suite."""
    path = _file(notebook.name)
    study = studies.of_notebook(path)
    accepted = studies.defaults(study)
    _settings(suite, notebook.setting)
    command_line = {key: value for key, value in shared.command_line.items() if key in accepted}
    swept = {key: values for key, values in notebook.sweep.items() if key not in command_line}
    settings = {f"{SETTING}{key}": values for key, values in notebook.setting.items()}
    if empty := [key.removeprefix(SETTING) for key, values in {**swept, **settings}.items() if not values]:
        raise SpecError(
            f"{suite}: the sweep of {empty[0]} in {notebook.name} has no values. Add values, or remove the sweep."
        )
    if (count := math.prod(map(len, [*swept.values(), *settings.values()]))) > COPIES:
        raise SpecError(
            f"{suite}: the sweeps of {notebook.name} make {count:,} notebooks; the limit is {COPIES:,}. "
            "Sweep fewer values."
        )
    for combination in itertools.product(*swept.values(), *settings.values()):
        choice = dict(zip([*swept, *settings], combination, strict=True))
        swept_values = {key: value for key, value in choice.items() if not key.startswith(SETTING)}
        setting = {key.removeprefix(SETTING): str(v) for key, v in choice.items() if key.startswith(SETTING)}
        given = {key: value for key, value in {**shared.defaults, **shared.suite}.items() if key in accepted}
        given |= notebook.parameters | swept_values | command_line
        checked = validated(study.parameters, given, what=f"notebook {path.stem}")
        typed = {key: getattr(checked, key) for key in given}
        yield Entry(path, typed, "".join(f"-{_part(value)}" for value in choice.values()), setting)


def _part(value: object) -> str:
    """Return a value as a part of a file's name; of a long one, such as a launcher's path, a checksum and its end."""
    text = re.sub(r"[^\w.,:=+@ -]", "_", str(value))
    return text if len(text) <= PART else f"{hashlib.sha256(text.encode()).hexdigest()[:8]}{text[8 - PART :]}"
