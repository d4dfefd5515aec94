"""A study of campaigns that were merged: figures tell their campaigns apart, sentences and tables are of each alone."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
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


class _Part(Campaign):
    """What a merged campaign has of one of those it was made of."""

    def __init__(self, whole: Campaign, origin: str) -> None:
        super().__init__(whole.path)
        self._origin = origin

    def samples(self, *which: Any, **how: Any) -> Iterator[Samples]:
        """Samples of that campaign alone."""
        return (s for s in super().samples(*which, **how) if (CAMPAIGN.of(s.meta) or self.name) == self._origin)


def told_apart(study: Study) -> Study:
    """The study itself; one that tells campaigns apart where its points, which are only read, are of several."""
    if study.values.measure or study.records.empty or study.records["campaign"].nunique() < 2:
        return study
    return cast(Study, Several(study))


class Several:
    """Stands for a study in a notebook, and answers what the notebook asks for all campaigns.

    A figure shows all of them if each of its series says which one it is of; else it shows one, and says so. A text or
    a table is made for each campaign by itself, so that no median, ratio or sentence mixes two.

    Parameters
    ----------
    study : that reads points of several campaigns.
    """

    def __init__(self, study: Study) -> None:
        self._all = study
        self._names = [str(name) for name in dict.fromkeys(study.records["campaign"])]

    @cached_property
    def _each(self) -> dict[str, Study]:
        """The study of each campaign alone."""
        found = {}
        values = dataclasses.asdict(self._all.values)
        for name in self._names:
            one = type(self._all)(**{**values, **self._own(name)})
            one.read_from(_Part(self._all.campaign, name))
            found[name] = one
        return found

    def _own(self, campaign: str) -> dict[str, Any]:
        """Parameters that a campaign's notebook had, where it had one; what is read depends on them."""
        study = type(self._all).__module__.rpartition(".")[2].replace("_", "-")
        facts = _mapping(_mapping(self._all.campaign.facts.get("origins")).get(campaign))
        for name, given in _mapping(facts.get("parameters")).items():
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
        return lambda *given, **how: self._answer(name, lambda study: getattr(study, name)(*given, **how))

    def _answer(self, name: str, ask: Callable[[Study], Any]) -> Any:
        """The answer of all, where it tells them apart; else those of each, in one."""
        returned = str(inspect.signature(getattr(self._all, name)).return_annotation)
        whole = self._together(ask) if "Figure" in returned or "list" in returned else None
        if isinstance(whole, list) or (isinstance(whole, go.Figure) and self._named(whole)):
            return whole
        alone, failed = self._alone(ask)
        if not alone:
            raise LabkitError(f"None of the campaigns merged here has what {name} needs: {'; '.join(failed.values())}")
        first = next((one for one in alone.values() if not isinstance(one, str)), "")
        if isinstance(first, go.Figure):
            return self._one(alone)
        if isinstance(first, pd.DataFrame):
            tables = [one.assign(campaign=name) for name, one in alone.items() if isinstance(one, pd.DataFrame)]
            table = pd.concat(tables, ignore_index=True)
            return table[["campaign", *(column for column in table if column != "campaign")]]
        texts = {name: str(one) for name, one in alone.items()} | {name: f"*{why}*" for name, why in failed.items()}
        if len(set(texts.values())) == 1:
            return next(iter(texts.values()))
        return "\n\n".join(f"Campaign **{name}**:\n\n{text}" for name, text in texts.items())

    def _together(self, ask: Callable[[Study], Any]) -> Any:
        """The answer from all points; None where the study cannot do with several points of one setting."""
        try:
            return ask(self._all)
        except (LabkitError, ValueError, TypeError, LookupError):
            return None

    def _alone(self, ask: Callable[[Study], Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Answers of each campaign, and why others have none."""
        found, failed = {}, {}
        for name, study in self._each.items():
            try:
                found[name] = ask(study)
            except LabkitError as error:
                failed[name] = str(error)
        return found, failed

    def _named(self, figure: go.Figure) -> bool:
        """Whether every series says which campaign it is of."""
        names = [str(trace.name) for trace in figure.data]
        return bool(names) and all(any(campaign in name for campaign in self._names) for name in names)

    def _one(self, alone: dict[str, Any]) -> Any:
        """The figure of the first campaign that has one, which says of which it is and what is not drawn."""
        name, figure = next((name, one) for name, one in alone.items() if isinstance(one, go.Figure))
        others = [other for other in self._names if other != name]
        have = [other for other in others if isinstance(alone.get(other), go.Figure)]
        rest = f"not drawn: {', '.join(have)}" if have else "the others have no data"
        axis = figure.layout.xaxis
        axis.title.text = style.note(str(axis.title.text or ""), f"campaign {name}; {rest}")
        return figure


def _mapping(value: Any) -> Mapping[str, Any]:
    """What a campaign says under a name, which may be anything."""
    return value if isinstance(value, Mapping) else {}
