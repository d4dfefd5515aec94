"""Rows of a samples file of format 2: statistics over ranks beside the samples of some ranks.

A further column ``kind`` says what a row is:

=====  =====================  ==========================  =========================  =========================
kind   row                    ``rank``                    ``iteration``              ``time_ns``
=====  =====================  ==========================  =========================  =========================
0      sample                 rank                        iteration                  time
1      of an iteration        place in `OF_ITERATION`     iteration                  value
2      of a rank              rank                        place in `OF_RANK`, sum    value
3      histogram              rank                        bucket                     count
=====  =====================  ==========================  =========================  =========================

Columns of further phases hold their values of kind 0, their `PHASE` statistics of kind 1, their sums of kind 2; else 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.stats.across_ranks import MANY, OF_ITERATION, OF_RANK, PHASE, RUNS, Integers, OverRanks

SAMPLE, ITERATION, RANK, HISTOGRAM = range(4)
_SUM = len(OF_RANK)
_BUCKETS = 1 << 13  # more than 63 bits can fill


def columns(over: OverRanks, extras: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Columns of the rows of kind 1 to 3, of the times and of further values in ns."""
    who, iterations = np.asarray(over.ranks, np.int64), over.iterations
    places, buckets, counts = over.histogram
    values = [*(over.of_iteration[name] for name in OF_ITERATION), *(over.of_rank[name] for name in OF_RANK)]
    table: dict[str, NDArray[Any]] = {
        "kind": np.repeat(
            np.array([ITERATION, RANK, HISTOGRAM], np.int8),
            [len(OF_ITERATION) * iterations, (_SUM + 1) * len(who), len(places)],
        ),
        "rank": np.concatenate(
            [np.repeat(np.arange(len(OF_ITERATION)), iterations), np.tile(who, _SUM + 1), who[places]]
        ),
        "iteration": np.concatenate(
            [np.tile(np.arange(iterations), len(OF_ITERATION)), np.repeat(np.arange(_SUM + 1), len(who)), buckets]
        ),
        "time_ns": np.concatenate([*values, over.sums["time_ns"], counts]),
    }
    for name in extras:
        of_phase = over.phases.get(name, {})
        each = [of_phase.get(one, np.zeros(iterations, np.int64)) for one in OF_ITERATION]
        rest = [np.zeros(_SUM * len(who), np.int64), over.sums.get(name, np.zeros(len(who), np.int64))]
        table[name] = np.concatenate([*each, *rest, np.zeros(len(places), np.int64)])
    return table | {name: table[name].astype(np.int32) for name in ("rank", "iteration")}


def decode(columns: Mapping[str, NDArray[Any]], iterations: int) -> OverRanks:
    """Statistics over ranks from the rows of kind 1 to 3, which may come from anybody.

    Parameters
    ----------
    iterations : iterations of the samples beside them.

    Raises
    ------
    ValueError
        If they are not as labkit writes them; says what is wrong.
    """
    kind = columns["kind"]
    part = {number: {name: values[kind == number] for name, values in columns.items()} for number in (1, 2, 3)}
    rank_rows, tall = part[RANK], part[HISTOGRAM]
    ranks = rank_rows["rank"][: len(rank_rows["rank"]) // (_SUM + 1)].astype(np.int64)
    _need(len(ranks) > 0 and bool((np.diff(ranks) > 0).all()), "its ranks are not in order")
    whole = np.repeat(np.arange(_SUM + 1), len(ranks)), np.tile(ranks, _SUM + 1)
    _need(_same((rank_rows["iteration"], rank_rows["rank"]), whole), "a rank lacks one of its statistics")
    each = np.tile(np.arange(iterations), len(OF_ITERATION)), np.repeat(np.arange(len(OF_ITERATION)), iterations)
    rows = part[ITERATION]
    _need(_same((rows["iteration"], rows["rank"]), each), "an iteration lacks one of its statistics")
    of_iteration = dict(zip(OF_ITERATION, rows["time_ns"].reshape(len(OF_ITERATION), -1), strict=True))
    of_rank = dict(zip((*OF_RANK, "sum"), rank_rows["time_ns"].reshape(_SUM + 1, -1), strict=True))
    for name in ("slowest_rank", "fastest_rank"):
        _need(bool(np.isin(of_iteration[name], ranks).all()), f"{name} is not a rank of it")
    for name in RUNS:
        _need(
            bool(((of_iteration[name] >= 0) & (of_iteration[name] <= max(len(ranks), MANY))).all()), f"{name} is none"
        )
    places = np.searchsorted(ranks, tall["rank"])
    _need(bool(np.isin(tall["rank"], ranks).all() and (np.diff(places) >= 0).all()), "its histogram is not in order")
    buckets, counts = tall["iteration"].astype(np.int64), tall["time_ns"]
    sound = ((buckets >= 0) & (buckets < _BUCKETS) & (counts >= 0) & (counts <= iterations)).all()
    _need(bool(sound), "its histogram has buckets or counts that no time has")
    phases = [name for name in columns if name.endswith("_ns") and name != "time_ns"]
    return OverRanks(
        ranks=tuple(ranks.tolist()),
        of_iteration=of_iteration,
        of_rank={name: of_rank[name] for name in OF_RANK},
        sums={"time_ns": of_rank["sum"]} | {name: rank_rows[name][-len(ranks) :] for name in phases},
        phases={name: _of_phase(rows[name].reshape(len(OF_ITERATION), -1)) for name in phases},
        histogram=np.array([places, buckets, counts], np.int64),
    )


def _of_phase(values: Integers) -> dict[str, Integers]:
    return {name: values[OF_ITERATION.index(name)] for name in PHASE}


def _same(columns: tuple[NDArray[Any], ...], expected: tuple[NDArray[Any], ...]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(columns, expected, strict=True))


def _need(sound: bool, problem: str) -> None:
    if not sound:
        raise ValueError(problem)
