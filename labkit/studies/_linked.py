"""Points across a link between hosts, one state of the link at a time, for the studies that need it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pandas as pd

from labkit import testbeds
from labkit.errors import LabkitError
from labkit.studies._sentences import number, statement, words
from labkit.studies.verbs_under_loss_and_delay import level

AXES = {"rate": "rate of each host's link (Mbit/s)", "delay": "delay of the link, one way (ms)", "loss": "loss (%)"}


def states(testbed: str, **levels: str) -> list[str]:
    """The testbed in each state: one factor set at a time.

    Parameters
    ----------
    testbed : as users write it; empty for none.
    levels : option of the testbed → its values, a list; empty leaves it out.

    Examples
    --------
    >>> states("virtual-cluster:4", rate="10mbit, 100mbit", delay="")
    ['virtual-cluster:4,rate=10mbit', 'virtual-cluster:4,rate=100mbit']
    """
    if not testbed:
        return []
    return [
        testbeds.with_options(testbed, **{factor: value})
        for factor, values in levels.items()
        for value in words(values)
    ]


def under(rows: pd.DataFrame, factor: str) -> pd.DataFrame:
    """Rows with a testbed that sets a factor, sorted by its value, which is in the column ``level``."""
    if rows.empty:
        return rows
    values = [testbeds.parse(str(text))[2].get(factor, "") for text in rows["testbed"]]
    return rows.assign(level=[level(text) for text in values])[[bool(text) for text in values]].sort_values("level")


def slowed(rows: pd.DataFrame, metric: str, series: str) -> Iterator[str]:
    """What each series takes under the longest delay of the link, beside a round trip across it.

    Parameters
    ----------
    rows : rows of `under`, for the delay.
    """
    for name, group in rows.groupby(series, sort=False) if len(rows) else ():
        last = group.iloc[-1].to_dict()
        yield (
            f"With {number(last['level'])} ms of delay each way, `{name}` answers in {statement(last, metric)}; "
            f"a round trip across the link takes {number(2 * last['level'])} ms."
        )


def possible(values: Any, testbed: str | None = None, **levels: str) -> dict[str, str]:
    """Those levels of delay and loss that the links of a testbed can have: all, or none.

    Parameters
    ----------
    values : parameters of the study.
    testbed : None for that of the parameters.
    levels : as `states` takes them.
    """
    return {} if _refused(values, testbed, levels) else levels


def left_out(values: Any, testbed: str | None = None, **levels: str) -> Iterator[str]:
    """The sentence that says why `possible` has left levels out."""
    if error := _refused(values, testbed, levels):
        yield f"Delay and loss of the links were not measured: {error}"


def _refused(values: Any, testbed: str | None, levels: dict[str, str]) -> str:
    place = values.testbed if testbed is None else testbed
    return refusal(testbeds.base_of(place)) if values.measure and place and any(levels.values()) else ""


@cache
def refusal(testbed: str) -> str:
    """Why the links of a testbed can have no delay and lose no packets here; empty if they can."""
    try:
        with testbeds.open(testbeds.with_options(testbed, delay="1ms")):
            return ""
    except LabkitError as error:  # what else it lacks, each of its points says
        return str(error) if "sch_netem" in str(error) else ""
