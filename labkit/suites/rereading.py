"""Execute notebooks on the samples of a campaign: those that it names but has no executed copy of.

A campaign is data. It names notebooks, and gives their parameters. labkit executes its own notebooks or those of the
user's project, never those stored in the campaign. Parameters are those of the study's dataclass.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from labkit import outside, project, studies
from labkit.campaign import Campaign
from labkit.errors import LabkitError, SpecError
from labkit.spec import validated
from labkit.suites import copies
from labkit.suites.definition import Entry
from labkit.suites.notebooks import NAME, campaign_in_environment, execute

_EFFORT = (*studies.EFFORT, "measure", "campaign")  # parameters that do not change what is measured
SIDE_BY_SIDE = 2  # notebooks; a kernel takes about 200 MB
FOLDER, AGAIN = "notebooks", "notebooks-again"


def missing(campaign: Campaign, *, all_of_them: bool = False) -> list[Entry]:
    """Return notebooks of the campaign's suite without an executed copy, set to measure nothing.

    A copy that labkit made from other samples, with other parameters, or by another labkit, does not count.
    The list omits notebooks that this labkit has no source of, and those without the parameter ``measure``.

    Parameters
    ----------
    all_of_them : also notebooks that have an executed copy.

    Raises
    ------
    SpecError
        If the campaign gives a notebook an invalid name or parameter. Nothing was started.
    """
    facts = campaign.facts
    parameters = {
        name: given for member in reversed(_members(facts)) for name, given in _section(member, "parameters").items()
    }
    settings = {
        name: given
        for member in _members(facts)
        for name, given in _section(_section(member, "sweep"), "settings").items()
    }
    entries, shared = [], copies.shared(campaign)
    for name, given in parameters.items():
        source = _source(name)
        copied = not all_of_them and _has_copy(campaign, name)
        inputs = copies.noted(campaign, name, campaign.derived / FOLDER / f"{name}.ipynb") if copied else ""
        if source is None or (copied and not inputs and not _is_ours(campaign, name)):
            continue
        if not NAME.fullmatch(name):
            raise SpecError(
                f"{campaign.path}/campaign.json: the notebook {name[:80]!r} has a name that is not a valid file name."
            )
        study = studies.of_notebook(source)
        if "measure" not in studies.defaults(study):
            continue
        fixed = {"measure": False, "campaign": str(outside.resolved(campaign.path))}
        checked = _checked(campaign, name, study, {**_mapping(given), **fixed})
        entry = Entry(source, checked, name[len(source.stem) :], _setting(_section(settings, name)))
        if not copied or inputs != copies.made_from(entry, shared):
            entries.append(entry)
    return entries


def remember(study: studies.Study) -> None:
    """Name the notebook of a study in the campaign that it measured into by hand, for `missing`; a suite names its own.

    Parameters
    ----------
    study : of a notebook among those of labkit or the project; of another one, the campaign stays as it is.
    """
    campaign, values = study.campaign, study.values
    names = [stem for stem in project.notebooks() if studies.of_notebook(stem) is type(study)]
    if (
        studies.CAMPAIGN in os.environ
        or "suite" in campaign.facts
        or campaign.bundled
        or not names
        or not values.measure
    ):
        return
    given = {
        field.name: value
        for field in dataclasses.fields(values)
        if (value := getattr(values, field.name)) != field.default and field.name not in ("campaign", "measure")
    }
    campaign.update({"parameters": {**_section(campaign.facts, "parameters"), names[0]: given}})


def _members(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the facts of the campaign, and of those that were merged into it, from campaign.json."""
    return [facts, *(_mapping(member) for member in _section(facts, "origins").values())]


def differing(campaign: Campaign) -> list[str]:
    """Return sentences on notebooks that a merged campaign ran with other parameters than figures of all have."""
    facts, sentences = campaign.facts, []
    for name, given in {
        n: g for member in reversed(_members(facts)) for n, g in _section(member, "parameters").items()
    }.items():
        for origin, other in _section(facts, "origins").items():
            theirs = _section(_section(_mapping(other), "parameters"), name)
            unlike = {k: v for k, v in theirs.items() if k not in _EFFORT and v != _mapping(given).get(k)}
            if unlike:
                words = ", ".join(f"{key}={value}" for key, value in unlike.items())
                sentences.append(f"{name}: figures of all campaigns have other parameters than {origin} had: {words}.")
    return sentences


def _source(name: str) -> Path | None:
    """Return the notebook of labkit for a name in a campaign; a sweep appends values to the name."""
    matches = [path for path in project.notebooks().values() if f"{name}-".startswith(f"{path.stem}-")]
    return max(matches, key=lambda path: len(path.stem)) if matches else None


def _has_copy(campaign: Campaign, name: str) -> bool:
    """Whether there is an executed copy in the campaign or among its derived files."""
    try:
        return any((place / FOLDER / f"{name}.ipynb").exists() for place in (campaign.path, campaign.derived))
    except (OSError, ValueError):  # not valid for a file: refused where it is used
        return False


def _is_ours(campaign: Campaign, name: str) -> bool:
    """Whether a copy is among derived files that lie elsewhere: there, labkit made them all."""
    return campaign.derived != campaign.path and not (campaign.path / FOLDER / f"{name}.ipynb").exists()


def _checked(campaign: Campaign, name: str, study: type[studies.Study], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check parameters against the study's dataclass: its names, and plain values of its types."""
    try:
        values = validated(study.parameters, given, what=f"notebook {name}")
    except LabkitError as error:
        raise SpecError(f"{campaign.path}/campaign.json: {error}") from error
    return {key: getattr(values, key) for key in given}


def _setting(given: Mapping[str, Any]) -> dict[str, str]:
    """Return a swept setting as text."""
    return {str(key): str(value) for key, value in given.items() if isinstance(value, str | int | float)}


def _section(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return _mapping(facts.get(key))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def reread(campaign: Campaign, progress: Callable[[str], None], *, again: bool = False) -> None:
    """Execute the notebooks of `missing` on measured samples, without measuring or changing the campaign.

    Two run at a time, each in a kernel that runs the next one too. The report draws their figures.

    Parameters
    ----------
    progress : called with a text on each step.
    again : execute also notebooks that have an executed copy, beside it.

    Raises
    ------
    LaunchError
        If a run measures into the campaign.
    SpecError
        As `missing` does.
    """
    entries = missing(campaign, all_of_them=again)
    if not entries:
        return
    into, shared = campaign.derived / (AGAIN if again else FOLDER), copies.shared(campaign)
    from labkit.suites import kernels  # the packages that execute notebooks may be missing

    plain = iter([entry for entry in entries if not entry.setting])
    alone = [entry for entry in entries if entry.setting]  # a setting needs a kernel of its own
    numbers = iter(range(1, len(entries) + 1))

    def made(entry: Entry, kernel: kernels.Kept | None = None) -> str:
        inputs = "" if again else copies.made_from(entry, shared)
        done = execute(entry, campaign, into, kernel)
        if inputs:
            copies.note(campaign, entry, done.path, inputs)
        return done.error

    def in_turn(_: int) -> None:
        with ExitStack() as opened:
            opened.callback(kernels.close_loop)
            kernel = None
            for entry in plain:
                kernel = kernel or opened.enter_context(kernels.kept())
                progress(f"executing {entry.name}, without measuring ({next(numbers)} of {len(entries)})")
                failed = made(entry, kernel)
                if failed:
                    alone.append(entry)  # the kept kernel may be the reason
                if not kernel.clear() or failed:
                    kernel = None

    with campaign.reading(), campaign_in_environment(campaign):
        with Entry(Path()).setting_applied(), ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
            try:
                list(threads.map(in_turn, range(min(SIDE_BY_SIDE, len(entries)))))
            finally:
                list(plain)  # after an interrupt, nothing more begins
        for entry in alone:
            progress(f"executing {entry.name} in a kernel of its own, without measuring")
            made(entry)
