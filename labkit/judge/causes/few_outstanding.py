"""Too few messages, requests or streams are in flight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, of_tool, others, with_options
from labkit.judge.causes._sizes import plateau
from labkit.judge.finding import SIZE, Evidence, Finding, Value, Wanted
from labkit.point.spec import Scalar, Spec

_OPTIONS = ("window", "depth", "tx_depth", "streams", "threads", "senders", "socket_buffer")
_MORE = 4  # times as many that decide
_MESSAGES = 2  # that a buffer must hold, so that one can be sent while another is read
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

    # several requests at once may need another engine, or another tool, and the page cache takes one at a time
    free = (*_COLUMNS, "option_engine", "engine", "option_cache", "option_sync")
    other = others(case, lambda column: column in free or of_tool(case, column), larger)
    clues = other.evidence or ([] if other.against else _set(case))
    flat = plateau(case) if clues and not case.spec.count("socket_buffer", 0) else []  # more bytes are under way there
    return CAUSE.found(case, clues, [*other.against, *flat], without=other.without, command=other.command)


def _set(case: Case) -> list[Evidence]:
    """Return a clue if the user set a socket buffer too small for two messages; by default it grows as needed."""
    buffer, size = case.spec.count("socket_buffer", 0), case.spec.size or 0
    if not 0 < buffer < _MESSAGES * size:
        return []
    values = {"buffer": Value(value=buffer, unit=SIZE), "size": Value(value=size, unit=SIZE)}
    return [Evidence(code="set", values=values)]


def points(case: Case) -> list[Wanted]:
    """Return the point with more of the first option that it has."""
    if not case.rate:
        return []
    if case.spec.count("socket_buffer", 0):
        return [Wanted(with_options(case.spec, socket_buffer=0))]
    name = next((one for one in _OPTIONS if case.spec.count(one, 0)), "")
    return (
        [Wanted(with_options(case.spec, **_at_once(case.spec), **{name: _MORE * case.spec.count(name)}))]
        if name
        else []
    )


def _at_once(spec: Spec) -> dict[str, Scalar]:
    """Return the options with which fio has several requests under way: libaio queues direct I/O only."""
    if spec.values.get("engine") not in _ONE_BY_ONE:
        return {}
    known = benchmarks.get(spec.benchmark).options.__dataclass_fields__
    return {"engine": "libaio", **{name: "direct" for name in ("cache", "sync") if name in known}}


_ONE_BY_ONE = ("auto", "psync", "libaio")  # engines that may do one request at a time, unless it is direct


def _number(row: Mapping[str, Any], name: str) -> object:
    """Return an option; socket buffers of 0 B grow as the system sees fit."""
    value = row.get(name)
    return math.inf if name == "option_socket_buffer" and value == 0 else value


CAUSE = Cause(
    code="few-outstanding",
    name="too few messages or requests in flight",
    seen="a larger window, queue depth or number of streams moves more bytes",
    excluded="neither a larger window, queue depth or number of streams nor larger messages move more",
    decides="a larger window, queue depth or number of streams",
    clues={
        **CLUES,
        "flat": "{sizes} reach the same within {spread}",
        "set": "socket buffers of {buffer} were set, which hold no two messages of {size}",
    },
    remedy="Increase window, depth or streams until the bandwidth no longer grows.",
    test=test,
    points=points,
    worth=True,
)
