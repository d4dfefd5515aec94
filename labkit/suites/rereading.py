"""labkit's own notebooks, executed on the samples of a campaign: those it names but holds no executed copy of.

What a campaign says is data. It names notebooks, and gives their parameters. The notebooks that are executed are
labkit's own or those of the user's project, never those stored in the campaign. Parameters are those of the study's
dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from labkit import outside, project, studies
from labkit.campaign import Campaign
from labkit.errors import LabkitError, SpecError
from labkit.spec import validated
from labkit.suites.definition import Entry
from labkit.suites.notebooks import NAME, execute, finish, inherited

_EFFORT = (*studies.EFFORT, "measure", "campaign")  # parameters that say not what is measured
FOLDER, AGAIN = "notebooks", "notebooks-again"


def missing(held: Campaign, *, all_of_them: bool = False) -> list[Entry]:
    """Notebooks of the campaign's suite without an executed copy, set to measure nothing.

    Those that this labkit has no source of, or that cannot but measure, are left out.

    Parameters
    ----------
    all_of_them : also those that have an executed copy.

    Raises
    ------
    SpecError
        If the campaign gives a notebook a name or parameter that it cannot have; nothing was started.
    """
    facts = held.facts
    parameters = {name: given for one in reversed(_members(facts)) for name, given in _of(one, "parameters").items()}
    settings = {name: given for one in _members(facts) for name, given in _of(_of(one, "sweep"), "settings").items()}
    found = []
    for name, given in parameters.items():
        source = _source(name)
        if source is None or (not all_of_them and _there(held, name)):
            continue
        if not NAME.fullmatch(name):
            raise SpecError(
                f"{held.path}/campaign.json: the notebook {name[:80]!r} has a name that is not a valid file name."
            )
        study = studies.of_notebook(source)
        if "measure" not in studies.defaults(study):
            continue
        only = {"measure": False, "campaign": str(outside.resolved(held.path))}
        own = _checked(held, name, study, {**_mapping(given), **only})
        found.append(Entry(source, own, name[len(source.stem) :], _setting(_of(settings, name))))
    return found


def _members(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What campaign.json holds of the campaign, and of those that were merged into it."""
    return [facts, *(_mapping(one) for one in _of(facts, "origins").values())]


def differing(held: Campaign) -> list[str]:
    """Sentences on notebooks that the campaigns merged here ran with other parameters than are taken for all."""
    facts, found = held.facts, []
    for name, given in {n: g for one in reversed(_members(facts)) for n, g in _of(one, "parameters").items()}.items():
        for origin, other in _of(facts, "origins").items():
            theirs = _of(_of(_mapping(other), "parameters"), name)
            unlike = {k: v for k, v in theirs.items() if k not in _EFFORT and v != _mapping(given).get(k)}
            if unlike:
                words = ", ".join(f"{key}={value}" for key, value in unlike.items())
                found.append(f"{name}: figures of all campaigns have other parameters than {origin} had: {words}.")
    return found


def _source(name: str) -> Path | None:
    """The notebook of labkit behind a name in a campaign; a swept one has more behind its name."""
    fitting = [path for path in project.notebooks().values() if f"{name}-".startswith(f"{path.stem}-")]
    return max(fitting, key=lambda path: len(path.stem)) if fitting else None


def _there(held: Campaign, name: str) -> bool:
    """Whether there is an executed copy, in the campaign or made of it before."""
    try:
        return any((place / FOLDER / f"{name}.ipynb").exists() for place in (held.path, held.derived))
    except (OSError, ValueError):  # no name of a file: it is refused where it is used
        return False


def _checked(held: Campaign, name: str, study: type[studies.Study], given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as the study's dataclass has them: its names, and plain values of its types."""
    try:
        values = validated(study.parameters, given, what=f"notebook {name}")
    except LabkitError as error:
        raise SpecError(f"{held.path}/campaign.json: {error}") from error
    return {key: getattr(values, key) for key in given}


def _setting(given: Mapping[str, Any]) -> dict[str, str]:
    """A setting that was swept, as text."""
    return {str(key): str(value) for key, value in given.items() if isinstance(value, str | int | float)}


def _of(held: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return _mapping(held.get(key))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def reread(held: Campaign, progress: Callable[[str], None], *, again: bool = False) -> None:
    """Execute what `missing` finds, from what was measured; nothing is measured, and the campaign stays as it is.

    Parameters
    ----------
    progress : is told what is being done.
    again : execute also those that have an executed copy, beside it.

    Raises
    ------
    LaunchError
        If somebody measures into the campaign.
    SpecError
        As `missing` does.
    """
    entries = missing(held, all_of_them=again)
    if not entries:
        return
    into = held.derived / (AGAIN if again else FOLDER)
    with held.reading(), inherited(held):
        for number, entry in enumerate(entries, 1):
            progress(f"executing {entry.name}, without measuring ({number} of {len(entries)})")
            execute(entry, held, into)
        finish([path for entry in entries if (path := into / f"{entry.name}.ipynb").exists()])
