"""The compared iterations have a different spacing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others, with_options
from labkit.judge.finding import SHARE, Evidence, Finding, Value, Wanted
from labkit.options.ranks import Cadence
from labkit.point.spec import has
from labkit.store.samples import Samples


def test(case: Case) -> Finding | None:
    """The same point with another cadence is better, or a tool paused between its messages."""
    other = others(case, lambda column: column in ("option_cadence", "cadence"))
    clues, share = list(other.evidence), _under_way(case.samples)
    if case.about.code == "latency-of-path" and share < _PAUSES:
        clues.append(Evidence(code="pauses", values={"share": Value(value=share, unit=SHARE)}))
    return CAUSE.found(case, clues, other.against, without=other.without, command=other.command)


def _under_way(samples: Samples) -> float:
    """Return the share of time with a tool's message in flight; NaN if its samples do not show it."""
    if benchmarks.get(samples.spec.benchmark).mpi or not samples.time_ns.size:
        return math.nan
    times, starts = samples.time_ns[0], samples.extras.get("start_ns", samples.time_ns[:, :0])[0]
    if len(starts) == len(times) > 1:
        return float(np.sum(times[:-1]) / (starts[-1] - starts[0])) if starts[-1] > starts[0] else math.nan
    rates = [one.value for one in samples.reported if one.name in _RATES and one.statistic == "mean" and one.t is None]
    return rates[0] * float(np.mean(samples.seconds)) if rates else math.nan


_RATES = ("transaction_rate_per_s", "message_rate_per_s")
_PAUSES = 0.5  # part of the time with a message under way, below which the tool pauses more than it waits


def points(case: Case) -> Iterator[Wanted]:
    """Yield the point with iterations back to back, or after a barrier."""
    spec = benchmarks.typed(case.spec)
    if has(spec.options, Cadence):
        other = "isolated" if spec.options.cadence == "streaming" else "streaming"
        yield Wanted(with_options(case.spec, cadence=other))


CAUSE = Cause(
    code="cadence",
    name="cadence",
    seen="another cadence gives another value, or the tool pauses for longer than it waits for messages",
    excluded="another cadence gives the same",
    decides="another cadence",
    clues={**CLUES, "pauses": "a message was under way in {share} of the time only: between messages processors sleep"},
    remedy="Compare points of one cadence only: processors sleep in pauses, and a barrier before each iteration lets "
    "ranks start at different moments.",
    test=test,
    points=points,
    worth=True,
)
