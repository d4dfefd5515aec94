"""Too few messages, requests or streams are under way at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, of_tool, others, with_options
from labkit.judge.finding import Finding, Wanted

_OPTIONS = ("window", "depth", "tx_depth", "streams", "threads", "senders", "socket_buffer")
_MORE = 4  # times as many that decide
_COLUMNS = tuple(f"option_{name}" for name in _OPTIONS)


def test(case: Case) -> Finding | None:
    """A larger window, queue depth or number of streams moves more bytes."""
    if not case.metric or not case.rate:
        return None

    def larger(row: Mapping[str, Any]) -> bool:
        pairs = [(_number(row, name), _number(case.row, name)) for name in _COLUMNS]
        known = [(one, own) for one, own in pairs if isinstance(one, Real) and isinstance(own, Real)]
        return any(float(one) > float(own) for one, own in known) and not any(
            float(one) < float(own) for one, own in known
        )

    # several requests at once may need another engine, or another tool
    free = (*_COLUMNS, "option_engine", "engine")
    other = others(case, lambda column: column in free or of_tool(case, column), larger)
    return CAUSE.found(case, other.evidence, other.against, without=other.without, command=other.command)


def points(case: Case) -> list[Wanted]:
    """Return the point with more of the first option that it has."""
    name = next((one for one in _OPTIONS if case.spec.count(one, 0)), "")
    return [Wanted(with_options(case.spec, **{name: _MORE * case.spec.count(name)}))] if name and case.rate else []


def _number(row: Mapping[str, Any], name: str) -> object:
    """Return an option; socket buffers of 0 B grow as the system sees fit."""
    value = row.get(name)
    return math.inf if name == "option_socket_buffer" and value == 0 else value


CAUSE = Cause(
    code="few-outstanding",
    name="too few messages under way",
    seen="a larger window, queue depth or number of streams moves more bytes",
    excluded="a larger window, queue depth or number of streams moves no more",
    decides="the same point with a larger window, queue depth or number of streams",
    clues=CLUES,
    remedy="Increase window, depth or streams until the bandwidth no longer grows.",
    test=test,
    points=points,
    worth=True,
)
