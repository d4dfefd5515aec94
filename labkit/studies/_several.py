"""A study of a merged campaign: figures distinguish its campaigns; sentences and tables are made for each alone."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, cast

import pandas as pd

from labkit.campaign import Campaign
from labkit.errors import LabkitError
from labkit.figures import style
from labkit.figures._plotly import go
from labkit.samples import Samples
from labkit.samples.facts import CAMPAIGN
from labkit.studies import Study
from labkit.studies._named import mapping


class _Part(Campaign):
    """The part of a merged campaign that came from one of its campaigns."""

    def __init__(self, whole: Campaign, origin: str) -> None:
        super().__init__(whole.path)
        self._origin = origin

    def samples(self, *arguments: Any, **options: Any) -> Iterator[Samples]:
        """Samples of that campaign alone."""
        return (s for s in super().samples(*arguments, **options) if (CAMPAIGN.of(s.meta) or self.name) == self._origin)


def told_apart(study: Study) -> Study:
    """Return the study; or one that distinguishes campaigns, if it only reads and its points are of several."""
    if study.values.measure or study.records.empty or study.records["campaign"].nunique() < 2:
        return study
    return cast(Study, Several(study))


class Several:
    """Takes the place of a study in a notebook, and returns the results of all campaigns.

    A figure shows all campaigns if each of its series names its campaign; else it shows one campaign, and says so. A
    text or a table is made for each campaign alone, so that no median, ratio or sentence mixes two.

    Parameters
    ----------
    study : one that reads points of several campaigns.
    """

    def __init__(self, study: Study) -> None:
        self._all = study
        self._names = [str(name) for name in dict.fromkeys(study.records["campaign"])]

    @cached_property
    def _each(self) -> dict[str, Study]:
        """The study of each campaign alone."""
        studies = {}
        values = dataclasses.asdict(self._all.values)
        for name in self._names:
            study = type(self._all)(**{**values, **self._parameters_of(name)})
            study.read_from(_Part(self._all.campaign, name))
            studies[name] = study
        return studies

    def _parameters_of(self, campaign: str) -> dict[str, Any]:
        """Parameters of a campaign's notebook, if it had one; they decide which points are read."""
        study = type(self._all).__module__.rpartition(".")[2].replace("_", "-")
        facts = mapping(mapping(self._all.campaign.facts.get("origins")).get(campaign))
        for name, given in mapping(facts.get("parameters")).items():
            if name.partition("-")[2] == study and isinstance(given, dict):
                return {k: v for k, v in given.items() if k in self._fields and k not in ("measure", "campaign")}
        return {}

    @property
    def _fields(self) -> set[str]:
        return {field.name for field in dataclasses.fields(self._all.values)}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._all, name)
        if not callable(value) or name == "run":
            return value
        return lambda *arguments, **options: self._answer(
            name, lambda study: getattr(study, name)(*arguments, **options)
        )

    def _answer(self, name: str, ask: Callable[[Study], Any]) -> Any:
        """Return the answer of all campaigns together if it distinguishes them; else those of each, joined."""
        returned = str(inspect.signature(getattr(self._all, name)).return_annotation)
        whole = self._together(ask) if "Figure" in returned or "list" in returned else None
        if isinstance(whole, list) or (isinstance(whole, go.Figure) and self._names_campaigns(whole)):
            return whole
        alone, errors = self._alone(ask)
        if not alone:
            raise LabkitError(f"None of the campaigns merged here has what {name} needs: {'; '.join(errors.values())}")
        first = next((one for one in alone.values() if not isinstance(one, str)), "")
        if isinstance(first, go.Figure):
            return self._first_figure(alone)
        if isinstance(first, pd.DataFrame):
            tables = [one.assign(campaign=name) for name, one in alone.items() if isinstance(one, pd.DataFrame)]
            table = pd.concat(tables, ignore_index=True)
            return table[["campaign", *(column for column in table if column != "campaign")]]
        texts = {name: str(one) for name, one in alone.items()} | {name: f"*{error}*" for name, error in errors.items()}
        if len(set(texts.values())) == 1:
            return next(iter(texts.values()))
        return "\n\n".join(f"Campaign **{name}**:\n\n{text}" for name, text in texts.items())

    def _together(self, ask: Callable[[Study], Any]) -> Any:
        """Return the answer from all points; None if the study cannot handle several points of one setting."""
        try:
            return ask(self._all)
        except LabkitError:
            return None

    def _alone(self, ask: Callable[[Study], Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Answers of the campaigns, and error messages of those without one."""
        answers, errors = {}, {}
        for name, study in self._each.items():
            try:
                answers[name] = ask(study)
            except LabkitError as error:
                errors[name] = str(error)
        return answers, errors

    def _names_campaigns(self, figure: go.Figure) -> bool:
        """Whether every series names its campaign."""
        names = [str(trace.name) for trace in figure.data]
        return bool(names) and all(any(campaign in name for campaign in self._names) for name in names)

    def _first_figure(self, alone: dict[str, Any]) -> Any:
        """Figure of the first campaign that has one; its axis names the campaign and those not drawn."""
        name, figure = next((name, one) for name, one in alone.items() if isinstance(one, go.Figure))
        others = [other for other in self._names if other != name]
        undrawn = [other for other in others if isinstance(alone.get(other), go.Figure)]
        omitted = f"not drawn: {', '.join(undrawn)}" if undrawn else "the others have no data"
        axis = figure.layout.xaxis
        axis.title.text = style.note(str(axis.title.text or ""), f"campaign {name}; {omitted}")
        return figure
