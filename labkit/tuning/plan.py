"""What to tune, and how a campaign remembers it: so that it can be read on a machine that cannot measure it."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from labkit import benchmarks
from labkit.benchmarks import KernelBenchmark
from labkit.errors import DataError, SpecError
from labkit.formats.reading.json import Entry
from labkit.point import ranges
from labkit.point.spec import Effort, Spec
from labkit.stats.decision import RELEVANT
from labkit.stats.racing import ERROR, ROUNDS
from labkit.store.campaign import Campaign
from labkit.store.samples import header
from labkit.tuning.everywhere import Variables
from labkit.tuning.settings import FIELDS, Setting

T = TypeVar("T")
FACT = "tune"  # key in campaign.json: benchmark → the plan and the confirmations
LAUNCHES = 8  # a side of a confirmation
_PLAN, _CONFIRMED, _POINTS = "plan", "confirmed", "points"
_PARTS, _READS, _COMMAND = "parts", "reads", "command"
_ODD = re.compile(r"[\x00-\x1f\x7f<>&`]|.{1000}")  # no setting has these, and they could harm a page or a terminal
_NUMBERS = ("rounds", "error", "relevant", "confirm")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to tune, and with which error.

    Parameters
    ----------
    bases : the default spec of each point: a size and a number of ranks.
    settings : the default first, then those that race with it.
    effort : effort of a launch; its `launches` plays no part.
    rounds : most launches of a setting in the race.
    error : chance that the race of a point stops its best setting.
    relevant : smallest relevant difference, as a fraction of the value.
    confirm : launches per side of a confirmation.
    budget : s that measuring may take.

    Raises
    ------
    SpecError
        If the benchmark times no iterations of ranks, or a number is out of its range.
    """

    bases: tuple[Spec, ...]
    settings: tuple[Setting, ...]
    effort: Effort
    rounds: int = ROUNDS
    error: float = ERROR
    relevant: float = RELEVANT
    confirm: int = LAUNCHES
    budget: float = math.inf

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            ranges.check(name, getattr(self, name))
        benchmark = benchmarks.get(self.benchmark)
        if not isinstance(benchmark, KernelBenchmark):
            raise SpecError(
                f"{benchmark.name} times no iterations of MPI ranks, so labkit cannot race its settings. Take one such "
                "as mpi.allreduce."
            )

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return self.bases[0].benchmark

    @property
    def metric(self) -> str:
        """The metric that is tuned: the benchmark's first."""
        return next(iter(benchmarks.get(self.benchmark).metrics))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; without the budget, which belongs to one call."""
        return {
            "bases": [one.as_dict() for one in self.bases],
            "settings": [[one.name, dict(one.fields), dict(one.environment)] for one in self.settings],
            "effort": self.effort.as_dict(),
        } | {name: getattr(self, name) for name in _NUMBERS}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Plan:
        """Make a plan from the result of `as_dict`, which may come from anybody.

        Raises
        ------
        DataError, SpecError
            If a value is missing or not of its kind.
        """
        given = Entry(values, "plan")
        bases = given["bases"].items()
        if not bases:
            raise given["bases"].wrong("at least one point")
        return cls(
            bases=tuple(header.spec(one.table()) for one in bases),
            settings=tuple(_setting(one) for one in given["settings"].items()),
            effort=header.effort(given["effort"].table()),
            **{name: given[name].value for name in _NUMBERS},
        )


def _setting(entry: Entry) -> Setting:
    """Make a setting from its name, the fields and the variables that it sets."""
    parts = entry.items()
    if len(parts) != 3:
        raise entry.wrong("a list of name, fields and variables")
    name, fields, environment = parts[0].value, parts[1].table(), parts[2].table()
    texts = [name, *fields, *environment, *environment.values()]
    plain = all(isinstance(one, str) for one in texts) and all(isinstance(one, str | int) for one in fields.values())
    odd = not plain or any(_ODD.search(text) for text in [*texts, *map(str, fields.values())])
    if odd or not set(fields) <= set(FIELDS):
        raise DataError(f"{ascii(entry.value)[:80]} cannot be a setting. Tune again.")
    return Setting(name, tuple(fields.items()), tuple(sorted(environment.items())))


def note(
    campaign: Campaign,
    plan: Plan,
    bases: tuple[Spec, ...],
    points: Mapping[tuple[int, int], str],
    parts: Sequence[Sequence[Variables]],
) -> None:
    """Write the plan to the campaign, with the specs as they were resolved.

    Parameters
    ----------
    points : (base, setting) → fingerprint, which also tells two installations of a library and its versions apart.
    parts : (bases, settings), what of a setting has no rule by size.
    """
    resolved = dataclasses.replace(plan, bases=bases).as_dict()
    rows = [[points[n, k] for k in range(len(plan.settings))] for n in range(len(bases))]
    plain = [[sorted(map(list, one)) for one in of_base] for of_base in parts]
    kept = _table(campaign, plan.benchmark)
    _put(campaign, plan.benchmark, {**kept, _PLAN: resolved, _POINTS: rows, _PARTS: plain})


def noted(campaign: Campaign, benchmark: str = "") -> Plan:
    """Return the last plan of a campaign.

    Raises
    ------
    DataError
        If there is none, or it is damaged.
    """
    facts = campaign.facts.get(FACT)
    name = benchmark or next(iter(facts), "") if isinstance(facts, dict) else ""
    plan = _table(campaign, name).get(_PLAN)
    if plan is None:
        raise DataError(
            f"{campaign.path} holds no tuning{f' of {benchmark}' if benchmark else ''}. Tune with: labkit tune "
            f"{benchmark or 'BENCHMARK'} --into {campaign.path}"
        )
    try:
        return Plan.from_dict(plan)
    except (DataError, SpecError) as error:
        raise DataError(f"{campaign.path}/campaign.json: the plan of tuning {name} is damaged: {error}") from error


def fingerprints(campaign: Campaign, plan: Plan) -> dict[tuple[int, int], str]:
    """Return the fingerprint of each setting at each point of a campaign's last plan, (base, setting) → fingerprint.

    Raises
    ------
    DataError
        If they are damaged or missing.
    """
    rows = _rows(campaign, plan, _POINTS, str)
    return {(n, k): one for n, row in enumerate(rows) for k, one in enumerate(row)}


def parts(campaign: Campaign, plan: Plan) -> list[list[Variables]]:
    """Return what of each setting has no rule by size, (bases, settings), as a campaign's last plan has it.

    Raises
    ------
    DataError
        If that is damaged or missing.
    """
    return _rows(campaign, plan, _PARTS, lambda one: frozenset((str(name), str(value)) for name, value in one))


def _rows(campaign: Campaign, plan: Plan, key: str, parse: Callable[[Any], T]) -> list[list[T]]:
    """Return what a campaign remembers of each setting at each point of its last plan, (bases, settings)."""
    rows = _table(campaign, plan.benchmark).get(key)
    try:
        found = [[parse(one) for one in row] for row in rows or ()]
    except (TypeError, ValueError):
        found = []
    if [len(row) for row in found] != [len(plan.settings)] * len(plan.bases):
        raise DataError(f"{campaign.path}/campaign.json: the {key} of tuning {plan.benchmark} are damaged. Tune again.")
    return found


def number_of(campaign: Campaign, benchmark: str, name: str, *, add: bool = True) -> int:
    """Return the number of a confirmation by its name; the campaign remembers the order.

    Parameters
    ----------
    add : whether to give a new name the next number.
    """
    table = _table(campaign, benchmark)
    names = [str(one) for one in table.get(_CONFIRMED, ())]
    if name not in names:
        names.append(name)
        if add:
            _put(campaign, benchmark, {**table, _CONFIRMED: names})
    return names.index(name)


def remember(campaign: Campaign, benchmark: str, reads: Mapping[str, str], command: str) -> None:
    """Write to the campaign how ranks and programs read the files."""
    _put(campaign, benchmark, {**_table(campaign, benchmark), _READS: dict(reads), _COMMAND: command})


def remembered(campaign: Campaign, benchmark: str) -> tuple[dict[str, str], str]:
    """Return how ranks and programs read the files: variables, and a line for a shell."""
    table = _table(campaign, benchmark)
    reads = table.get(_READS, {})
    given = reads.items() if isinstance(reads, dict) else ()
    return {str(name): str(value) for name, value in given}, str(table.get(_COMMAND, ""))


def last_of(campaign: Campaign, benchmark: str, beginning: str) -> str:
    """Return the last name of a confirmation that begins like this; empty if there is none."""
    names = [str(one) for one in _table(campaign, benchmark).get(_CONFIRMED, ())]
    return next((one for one in reversed(names) if one.startswith(beginning)), "")


def _table(campaign: Campaign, benchmark: str) -> dict[str, Any]:
    """Return what the campaign remembers about tuning a benchmark."""
    facts = campaign.facts.get(FACT)
    table = facts.get(benchmark) if isinstance(facts, dict) else None
    if table is not None and not (isinstance(table, dict) and isinstance(table.get(_CONFIRMED, []), list)):
        raise DataError(f"{campaign.path}/campaign.json: the plan of tuning {benchmark} is damaged. Restore the file.")
    return table or {}


def _put(campaign: Campaign, benchmark: str, table: Mapping[str, Any]) -> None:
    """Write what the campaign remembers about tuning a benchmark."""
    facts = campaign.facts.get(FACT)
    campaign.update({FACT: {**(facts if isinstance(facts, dict) else {}), benchmark: dict(table)}})
