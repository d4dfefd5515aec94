"""Parts of several campaigns at once.

A figure shows all campaigns if each of its series names its campaign; else it shows one campaign, and states this. A
text or a table is made for each campaign alone, so that no median, ratio or sentence mixes two.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pandas as pd

from labkit.errors import LabkitError
from labkit.figures import small_print
from labkit.figures.parts import Figure, Omitted, Text
from labkit.point.notes import note
from labkit.store.campaign import Campaign
from labkit.store.notebooks import mapping
from labkit.store.samples.facts import CAMPAIGN

if TYPE_CHECKING:
    from labkit.store.samples import Samples

Method = TypeVar("Method", bound=Callable[..., Any])
_RETURNED = ("Figure", "Table", "Text", "Omitted", "DataFrame")  # of methods that a notebook shows


class Shown(Protocol):
    """A study, as far as its parts are combined."""

    @property
    def apart(self) -> Mapping[str, Shown]:
        """One study per campaign if the points come from several campaigns; otherwise empty."""

    def as_one(self) -> AbstractContextManager[None]:
        """Treat the points of all campaigns as one campaign."""


class Part(Campaign):
    """The points that one campaign brought into a merged one."""

    def __init__(self, whole: Campaign, origin: str) -> None:
        super().__init__(whole.path)
        self._origin = origin

    def samples(self, *arguments: Any, **options: Any) -> Iterator[Samples]:
        """Samples of that campaign alone."""
        return (s for s in super().samples(*arguments, **options) if (CAMPAIGN.of(s.meta) or self.name) == self._origin)


def shown(method: Method) -> Method:
    """Decorate a method of a study: in a merged campaign, combine the parts of the single campaigns."""

    @functools.wraps(method)
    def answer(study: Shown, *arguments: Any, **options: Any) -> Any:
        if not study.apart:
            return method(study, *arguments, **options)
        ask = functools.partial(method, **options)
        whole = _whole(study, ask, arguments) if "Figure" in _returned(method) else None
        if isinstance(whole, Figure) and _names(whole, study.apart):
            return whole
        return combined(*_alone(study.apart, ask, arguments), what=method.__name__)

    return answer  # type: ignore[return-value]


def is_shown(method: object) -> bool:
    """Whether a notebook shows what a function of a study's class returns."""
    return callable(method) and any(word in _returned(method) for word in _RETURNED)


def _returned(method: object) -> str:
    return str(getattr(method, "__annotations__", {}).get("return", ""))


def combined(parts: Mapping[str, Any], errors: Mapping[str, str], *, what: str) -> Any:
    """Combine the parts of several campaigns into one part.

    Parameters
    ----------
    parts : name of a campaign → its part: a figure, a table as a data frame, or a text.
    errors : name of a campaign → why it has none.
    what : name of the part, for an error message.

    Raises
    ------
    LabkitError
        If no campaign has one.
    """
    if not parts:
        raise LabkitError(f"None of the campaigns merged here has what {what} needs: {'; '.join(errors.values())}")
    drawn = {name: one for name, one in parts.items() if isinstance(one, Figure)}
    if drawn:
        return _first(drawn, [*parts, *errors])
    tables = {name: one for name, one in parts.items() if hasattr(one, "itertuples")}
    if tables:
        return _stacked(tables)
    if all(isinstance(one, Omitted) for one in parts.values()) and not errors:
        return next(iter(parts.values()))
    texts = {name: str(one) for name, one in parts.items()} | {name: f"*{error}*" for name, error in errors.items()}
    if len(set(texts.values())) == 1:
        return next(iter(parts.values()))
    return Text("\n\n".join(f"Campaign **{name}**:\n\n{text}" for name, text in texts.items()))


def _first(drawn: Mapping[str, Figure], names: list[str]) -> Figure:
    """Return the figure of the first campaign that has one; its notes name the campaign, and those not drawn."""
    name, figure = next(iter(drawn.items()))
    undrawn = [other for other in names if other in drawn and other != name]
    rest = f"not drawn: {', '.join(undrawn)}" if undrawn else "the others have no data"
    small_print.add(figure.plot, note("campaign", f"campaign {name}"), note("not-drawn", rest))
    return figure


def _stacked(tables: Mapping[str, Any]) -> Any:
    """Return the rows of all campaigns, with the campaign in the first column."""
    table = pd.concat([one.assign(campaign=name) for name, one in tables.items()], ignore_index=True)
    return table[["campaign", *(column for column in table if column != "campaign")]]


def _whole(study: Shown, ask: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the part from the points of all campaigns; None if the study cannot tell points of one setting apart."""
    with study.as_one():
        try:
            return ask(study, *arguments)
        except LabkitError:
            return None


def _alone(
    studies: Mapping[str, Shown], ask: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parts of the campaigns, and the error messages of those without one."""
    parts, errors = {}, {}
    for name, study in studies.items():
        try:
            parts[name] = ask(study, *arguments)
        except LabkitError as error:
            errors[name] = str(error)
    return parts, errors


def _names(figure: Figure, campaigns: Mapping[str, Any]) -> bool:
    """Whether every series names its campaign."""
    names = [str(trace.name) for trace in figure.data]
    return bool(names) and all(any(campaign in name for campaign in campaigns) for name in names)


def parameters_of(study: str, facts: Mapping[str, Any], campaign: str) -> dict[str, Any]:
    """Return the parameters of a campaign's notebook, if it had one; they decide which points are read.

    Parameters
    ----------
    study : its name.
    facts : facts of the campaign that others were merged into.
    campaign : one of these.
    """
    own = study.replace("_", "-")
    for name, given in mapping(mapping(mapping(facts.get("origins")).get(campaign)).get("parameters")).items():
        if name.partition("-")[2] == own and isinstance(given, dict):
            return given
    return {}
