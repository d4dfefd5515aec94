"""What a campaign says of its notebooks: their parameters, and the settings that a sweep gave them.

The points of a campaign are those of all its notebooks. So each notebook shows a part of them.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.errors import LabkitError
from labkit.io import project

if TYPE_CHECKING:
    from labkit.studies import Study


def of_campaign(facts: Mapping[str, Any], campaign: Path) -> dict[str, Study]:
    """Return the study of each notebook that a campaign names, set to read; without those that ask for no point.

    Parameters
    ----------
    facts : from campaign.json; they may come from anyone.
    campaign : its folder.
    """
    from labkit import studies

    found: dict[str, Study] = {}
    swept = settings(facts)
    for name, given in parameters(facts).items():
        try:
            kind = studies.of_notebook(path) if (path := source(name)) else None
            if kind and "measure" in studies.defaults(kind):
                study = kind(**{**given, "measure": False, "campaign": str(campaign)})
                study.setting = swept.get(name, {})
                if study.wanted:
                    found[name] = study
        except LabkitError:  # the campaign may come from another labkit, or from anyone
            continue
    return found


def others(study: Study) -> list[Study]:
    """Return the studies of the other notebooks of a study's campaign.

    If no notebook of the campaign has the parameters of the study, then these were changed, and no notebook of the
    same study is another one.
    """
    every = [*of_campaign(study.campaign.facts, study.campaign.path).values()]
    alike = [one for one in every if type(one) is type(study)]
    if any(_chosen(one) == _chosen(study) for one in alike):
        return [one for one in every if one not in alike or _chosen(one) != _chosen(study)]
    return [one for one in every if one not in alike]


def remember(study: Study) -> None:
    """Name the notebook of a study in the campaign that it measured into by hand; a suite names its own.

    Parameters
    ----------
    study : of a notebook among those of labkit or the project; of another one, the campaign stays as it is.
    """
    from labkit import studies

    campaign, values = study.campaign, study.values
    names = [stem for stem in project.notebooks() if studies.of_notebook(stem) is type(study)]
    by_suite = studies.CAMPAIGN in os.environ or "suite" in campaign.facts
    if by_suite or campaign.bundled or not names or not values.measure or study.only_reads:
        return
    given = {
        field.name: value
        for field in dataclasses.fields(values)
        if (value := getattr(values, field.name)) != field.default and field.name not in ("campaign", "measure")
    }
    campaign.update({"parameters": {**section(campaign.facts, "parameters"), names[0]: given}})


def _chosen(study: Study) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Return the parameters of a study that choose its points, and its setting."""
    from labkit import studies

    every = {field.name for field in dataclasses.fields(studies.Parameters)}
    return {k: v for k, v in dataclasses.asdict(study.values).items() if k not in every}, study.setting


def parameters(facts: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the parameters of each notebook that a campaign names, or those it was merged from.

    Parameters
    ----------
    facts : from campaign.json; they may come from anyone.
    """
    return {
        name: mapping(given)
        for member in reversed(members(facts))
        for name, given in section(member, "parameters").items()
    }


def settings(facts: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the setting that a sweep gave to each of its notebooks, as text."""
    return {
        name: {str(key): str(value) for key, value in mapping(given).items() if isinstance(value, str | int | float)}
        for member in members(facts)
        for name, given in section(section(member, "sweep"), "settings").items()
    }


def source(name: str) -> Path | None:
    """Return labkit's or the project's notebook for a name in a campaign; a sweep appends values to the name."""
    matches = [path for path in project.notebooks().values() if f"{name}-".startswith(f"{path.stem}-")]
    return max(matches, key=lambda path: len(path.stem)) if matches else None


def members(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the facts of a campaign, and of those that were merged into it."""
    return [facts, *(mapping(member) for member in section(facts, "origins").values())]


def section(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a table of the facts; an empty one where there is none."""
    return mapping(facts.get(key))


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a value that is a table; an empty one for any other."""
    return value if isinstance(value, Mapping) else {}
