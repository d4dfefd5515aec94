"""Points across a link between hosts, one state of the link at a time, for the studies that need it."""

from __future__ import annotations

import pandas as pd

from labkit import testbeds
from labkit.studies._sentences import words
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
    name, argument, given = testbeds.parse(testbed)
    return [
        testbeds.text_of(name, argument, given | {factor: value})
        for factor, values in levels.items()
        for value in words(values)
    ]


def under(rows: pd.DataFrame, factor: str) -> pd.DataFrame:
    """Rows whose testbed sets a factor, with its value in the column ``level``; in its order."""
    if rows.empty:
        return rows
    values = [testbeds.parse(str(text))[2].get(factor, "") for text in rows["testbed"]]
    return rows.assign(level=[level(text) for text in values])[[bool(text) for text in values]].sort_values("level")
