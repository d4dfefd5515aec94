"""Launches that are copies of others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labkit.judge.finding import Count, Finding
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.judge.view.points import Columns, Row
from labkit.store.samples import Samples

_DISTINCT = 6  # different times that a launch needs before equal ones are no coincidence
_FEWEST = 20  # iterations that it needs
_READ = 100  # pairs of launches whose times are compared


def check(view: View) -> Iterator[Finding]:
    """Yield launches with exactly the same times as another launch."""
    records, launches = view.records, view.launches
    numbers = [str(name) for name in records if str(name).endswith(("_mean", "_max", "_min"))]
    random = ~np.isin(records["origin"].astype(str), ("simulated", "modelled"))
    timed = records.loc[random & (records["n"] >= _FEWEST).to_numpy(), ["benchmark", "n", *numbers]]
    alike = timed[timed.duplicated(keep=False)]
    if launches is None or alike.empty:
        return
    first = alike.groupby([*alike], sort=False, dropna=False).ngroup()
    pairs = [(rows[0], row) for rows in first.groupby(first, sort=False).groups.values() for row in rows[1:]][:_READ]
    whole = launches.samples(sorted({row for pair in pairs for row in pair}))
    columns = Columns(records)
    for one, other in pairs:
        if one in whole and other in whole and _same(whole[one], whole[other]):
            row, source = Row(columns, other), Row(columns, one)
            apart = source["fingerprint"] != row["fingerprint"]
            yield RULE.found(
                view.subject(row),
                form="of another point" if apart else "of the point",
                launch=str(row["launch"]),
                other=str(source["launch"]),
                point=(view.label(str(source["fingerprint"])) or "another point") if apart else "",
                times=Count(int(row["n"]), "time"),
            )


def _same(one: Samples, other: Samples) -> bool:
    """Return whether two launches have equal times that chance does not make equal."""
    return np.array_equal(one.time_ns, other.time_ns) and len(np.unique(one.time_ns)) >= _DISTINCT


_SAYS = "launch {launch} has the same {times} as launch {other}"
RULE = Rule(
    code="copied-launches",
    kind="violation",
    level="bad",
    voids=True,
    must="no two launches have exactly the same times",
    why="times of two launches differ by chance",
    says={"of the point": _SAYS, "of another point": f"{_SAYS} of {{point}}"},
    remedy="Remove the copy and measure again: a copy repeats nothing, and makes intervals too narrow.",
    imported="Remove the copy: a copy repeats nothing, and makes intervals too narrow.",
    check=check,
)
