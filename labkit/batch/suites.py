"""What a suite is, and how its TOML file is read: strictly, before anything starts."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit import studies
from labkit.errors import SpecError, known
from labkit.spec import validated

HOME = Path(__file__).resolve().parent.parent.parent
NOTEBOOKS, SUITES = HOME / "notebooks", HOME / "templates" / "suites"


@dataclass(frozen=True)
class Entry:
    """One notebook of a suite.

    Parameters
    ----------
    notebook : source, without outputs.
    parameters : set in it.
    suffix : tells the executed copies of a swept notebook apart.
    """

    notebook: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    suffix: str = ""

    @property
    def name(self) -> str:
        """Name of the executed notebook."""
        return self.notebook.stem + self.suffix

    def study(self, **more: Any) -> studies.Study:
        """The study with these parameters, checked."""
        return studies.of_notebook(self.notebook)(**{**self.parameters, **more})


@dataclass(frozen=True)
class Suite:
    """Notebooks in the order of a report."""

    name: str
    title: str
    entries: tuple[Entry, ...]


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
    unknown = set(held) - {"title", "parameters", "notebook"}
    if unknown or not held.get("notebook"):
        raise SpecError(f"{path} has {sorted(held)}, but a suite has title, parameters and at least one [[notebook]].")
    if broken := [pair for pair in overrides if "=" not in pair]:
        raise SpecError(f"-p {broken[0]!r} is not of the form NAME=VALUE, as in -p launches=6.")
    shared = dict(usual or {}) | dict(held.get("parameters", {})) | dict(pair.split("=", 1) for pair in overrides)
    entries = [entry for one in held["notebook"] for entry in _entries(path, one, shared)]
    used = {key for entry in entries for key in entry.parameters}
    if useless := sorted(set(shared) - used - set(usual or {})):
        raise SpecError(f"no notebook of {path.stem} has the parameters {useless}.")
    return Suite(path.stem, str(held.get("title", path.stem)), tuple(entries))


def _entries(suite: Path, one: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[Entry]:
    """A notebook of a suite, once for every combination of what it sweeps."""
    unknown = set(one) - {"name", "parameters", "sweep"}
    if unknown or "name" not in one:
        raise SpecError(f"{suite}: a [[notebook]] has name, parameters and sweep, but here are {sorted(one)}.")
    notebook = NOTEBOOKS / f"{one['name']}.ipynb"
    if not notebook.is_file():
        raise known("notebook", one["name"], [p.stem for p in NOTEBOOKS.glob("*.ipynb")])
    study = studies.of_notebook(notebook)
    has = studies.defaults(study)
    swept = {key: list(values) for key, values in one.get("sweep", {}).items()}
    for combination in itertools.product(*swept.values()):
        axis = dict(zip(swept, combination, strict=True))
        own = {key: value for key, value in shared.items() if key in has} | dict(one.get("parameters", {})) | axis
        checked = validated(study.parameters, own, what=f"notebook {notebook.stem}")
        typed = {key: getattr(checked, key) for key in own}
        suffix = "".join(f"-{value}" for value in axis.values()).replace("/", "_")
        yield Entry(notebook, typed, suffix)
