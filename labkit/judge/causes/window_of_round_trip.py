"""One window per round trip: the messages in flight do not fill the path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import eq

import numpy as np

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others, with_options
from labkit.judge.finding import SIZE, Evidence, Finding, Value, Wanted
from labkit.models.inside import INSIDE
from labkit.models.limits import METRICS_OF_LATENCY
from labkit.point.columns import METRICS, statistic_column
from labkit.point.spec import Spec
from labkit.read.records import coarse, has, statistic_of

_NEAR = 1.25  # times the measured bandwidth that a window per round trip gives at most, if it is the cause
_DOUBLED = 2.5
_FAR = 10.0  # times the measured bandwidth from which a window is out of the question
_LARGER = 4  # times the window that decides
_WINDOWS = ("window", "tx_depth", "depth")


def test(case: Case) -> Finding | None:
    """The bandwidth equals one window per round trip."""
    spec = case.samples.spec
    if case.about.code != "bandwidth-of-path" or case.metric != "bandwidth_MBps":
        return None
    option, under_way = _under_way(spec)
    trips = sorted(_round_trips(case), key=lambda one: one.value)
    if not under_way or not trips or not case.measured.value:
        return None
    if under_way / trips[0].value > _FAR * case.measured.value:  # nobody would think of it; B/µs are MB/s
        return None
    # the bytes of a window take their time too, before its acknowledgement comes back
    limit = case.about.values.get("limit")
    on_link = under_way / limit.value if isinstance(limit, Value) and limit.value > 0 else 0.0
    allowed = under_way / (trips[0].value + on_link)
    values = {"window": Value(value=under_way, unit=SIZE), "trip": trips[0]}
    predicted = Value(value=allowed, unit=case.measured.unit, origin="computed", of="a window per round trip")
    ratio = allowed / case.measured.value
    if ratio > _NEAR:  # a kernel may use less of a buffer than it was asked for, but never much less
        return CAUSE.found(case, against=[Evidence(code="more", values={**values, "allowed": predicted})])
    # the round trip was not that of this path; Linux makes a buffer twice as large as it was asked to
    if ratio < 1 / (_DOUBLED if option == "socket_buffer" else _NEAR):
        return None
    clues = [Evidence(code="equal", values={**values, "allowed": predicted})]
    other = others(case, partial(eq, f"option_{option}"), lambda row: int(row[f"option_{option}"]) > spec.count(option))
    return CAUSE.found(case, [*clues, *other.evidence], other.against, predicted=predicted, command=other.command)


def points(case: Case) -> list[Wanted]:
    """Return the point with a larger window."""
    option, _ = _under_way(case.spec)
    return [Wanted(with_options(case.spec, **{option: _LARGER * case.spec.count(option)}))] if option else []


def _under_way(spec: Spec) -> tuple[str, int]:
    """Return the option that decides how many bytes are in flight, and these; 0 if none does."""
    if buffer := spec.count("socket_buffer", 0):
        return "socket_buffer", buffer * spec.count("streams")
    option = next((name for name in _WINDOWS if spec.count(name, 0)), "")
    return option, spec.count(option, 0) * spec.size


def _round_trips(case: Case) -> Iterator[Value]:
    """Yield the round trips of small messages of the family on the same path, µs."""
    own = case.row
    inside = [note.code for note in own["badges"] if note.code in INSIDE]
    mpi = benchmarks.get(case.about.subject.benchmark).mpi
    for name, table in case.view.parts.items():
        known = benchmarks.look_up(name)
        if known is None or not known.crossings or name.split(".")[0] != case.samples.spec.family:
            continue
        if not (metric := next((one for one in METRICS_OF_LATENCY if has(table.rows, one)), "")):
            continue
        turns = 2 if known.crossings == 1 and metric == "latency_us" else 1
        columns = ("host", "testbed", *(["library"] if mpi else []))
        same = np.all([table.columns[one] == own[one] for one in columns], axis=0)
        for row in map(table.row, np.flatnonzero(same).tolist()):
            statistic = statistic_of(row, metric)
            if (
                statistic
                and not coarse(row, metric)
                and row[statistic_column(metric, statistic)] > 0
                and inside == [note.code for note in row["badges"] if note.code in INSIDE]
            ):
                value = case.view.value(row, metric, statistic)
                yield Value(value=turns * value.value, unit=METRICS[metric].unit, of="round trip", origin=value.origin)


CAUSE = Cause(
    code="window-of-round-trip",
    name="one window per round trip",
    seen="the bandwidth equals the bytes of a window over the round-trip time",
    excluded="a window per round trip allows much more",
    decides="a larger window",
    clues={
        **CLUES,
        "equal": "{window} per round trip of {trip}, and in the time of these bytes, are {allowed:3}",
        "more": "{window} per round trip of {trip}, and in the time of these bytes, would be {allowed:3}",
    },
    remedy="Increase the window, or the socket buffers, to the rate of the link times the round-trip time.",
    test=test,
    points=points,
)
