"""What labkit's microservices write: the client's line of JSON and samples, and each service's spans.

All numbers are int64 in the machine's byte order. A sample has five numbers: the times when the request was due, when
it was sent and when its answer had arrived, in ns from the start of the run; its operation; its trace. A service's file
has its processor time (ns), how many spans follow and how many it dropped, then six numbers a span: trace, span,
parent, start and end (ns of CLOCK_MONOTONIC), and the number of the service that was asked, or -1 for the service's own
time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.formats import otlp
from labkit.formats._client import rows
from labkit.formats.reading.json import last_line

_WHAT = "microservices output"
_COUNTS = ("requests", "unfinished", "origin_ns", "elapsed_ns", "cpu_ns", "sent_B", "received_B", "queries")


@dataclass(frozen=True, kw_only=True)
class Result:
    """Requests of one run, sorted by due time.

    Parameters
    ----------
    due, start, end : (requests,) int64, ns from the start of the run.
    operation, trace : (requests,) int64.
    unfinished : requests that had no answer when the run was ended.
    origin_ns : start of the run, CLOCK_MONOTONIC.
    elapsed_ns, cpu_ns : wall and processor time of the client.
    payload_B : payload in the busier direction between client and first service.
    queries : different ones, each compared before the run.
    recall, candidates : of an approximate search: share of the true answers that it finds, share of the data that it
        looks at; 1 for others.
    """

    due: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    operation: NDArray[np.int64]
    trace: NDArray[np.int64]
    unfinished: int
    origin_ns: int
    elapsed_ns: int
    cpu_ns: int
    payload_B: int  # noqa: N815  (B is bytes)
    queries: int
    recall: float
    candidates: float


@dataclass(frozen=True, kw_only=True)
class Spans:
    """What one service noted.

    Parameters
    ----------
    cpu_ns : its processor time during the run.
    dropped : spans for which it had no room.
    rows : (spans, 6) int64: trace, span, parent, start, end, service that was asked or -1.
    """

    cpu_ns: int
    dropped: int
    rows: NDArray[np.int64]


NO_SPANS = Spans(cpu_ns=0, dropped=0, rows=np.empty((0, 6), np.int64))  # of a service that notes none


def parse(text: str, samples: bytes) -> Result:
    """Read a run of the client.

    Raises
    ------
    DataError
        If the text does not end in the client's line, or the number of samples differs from it.
    """
    told = last_line(text, _WHAT)
    counts = {name: told[name].whole() for name in _COUNTS}
    requests = rows(samples, counts["requests"], 5, what=_WHAT, each="requests")
    due, start, end, operation, trace = requests.T
    if (np.diff(due) < 0).any():
        raise DataError(f"{_WHAT}: found times out of order, wanted requests in the order in which they were due.")
    return Result(
        due=due,
        start=start,
        end=end,
        operation=operation,
        trace=trace,
        payload_B=max(counts["sent_B"], counts["received_B"]),
        unfinished=counts["unfinished"],
        origin_ns=counts["origin_ns"],
        elapsed_ns=counts["elapsed_ns"],
        cpu_ns=counts["cpu_ns"],
        queries=counts["queries"],
        recall=told["recall"].real(),
        candidates=told["candidates"].real(),
    )


def parse_spans(data: bytes) -> Spans:
    """Read the file of one service.

    Raises
    ------
    DataError
        If it is cut.
    """
    numbers = np.frombuffer(data[: len(data) // 8 * 8], np.int64)
    if len(numbers) < 3 or len(data) != 8 * (3 + 6 * int(numbers[1])):
        raise DataError(f"{_WHAT}: found {len(data)} B of spans, wanted 24 B and 48 B for each span.")
    return Spans(cpu_ns=int(numbers[0]), dropped=int(numbers[2]), rows=numbers[3:].reshape(-1, 6))


CLIENT, BETWEEN = "client", "between"


def critical_paths(
    result: Result, spans: Sequence[Spans], groups: Sequence[str], foreign: Collection[int] = ()
) -> dict[str, NDArray[np.int64]]:
    """Divide the time of every request among those that it waited for: the request's critical path.

    Backwards from its end, a request waits for the call that returned last, then for the last call that returned before
    that one started, and so on (Zhang et al., CRISP, USENIX ATC 2022). A service has the time in which it did not wait
    for any call.

    Parameters
    ----------
    result : result of the client.
    spans : spans of each service, by its number; the first is the one that the client asks.
    groups : name of each service; times of services with the same name are added.
    foreign : numbers of services that keep no spans; the whole time of a call counts as theirs, including the
        transit of its messages.

    Returns
    -------
    Name → (requests,) int64, ns: `CLIENT` what passed before the client had sent the request, `BETWEEN` what messages
    took from one service to another, until the other had time for them, and each name. The sum is end less due.
    """
    calls: dict[int, list[tuple[int, int, int, int]]] = {}  # span of a service → end, start, span, callee of its calls
    served: dict[int, tuple[int, int, int, int]] = {}  # span of a call → start, end, span, number of the one asked
    roots: dict[int, tuple[int, int, int, int]] = {}
    for number, one in enumerate(spans):
        for trace, span, parent, start, end, peer in one.rows.tolist():
            if peer >= 0:
                calls.setdefault(parent, []).append((end, start, span, peer))
            elif number:
                served[parent] = (start, end, span, number)
            else:
                roots[trace] = (start, end, span, number)
    names = [CLIENT, BETWEEN, *dict.fromkeys(groups)]
    place = [names.index(name) for name in groups]
    table = np.zeros((len(result.end), len(names)), np.int64)
    origin = result.origin_ns
    sent, ended = (result.start + origin).tolist(), (result.end + origin).tolist()
    for row, trace in enumerate(result.trace.tolist()):
        if trace not in roots:
            raise DataError(f"{_WHAT}: found no span of request {trace}, wanted one of each.")
        shares = [0] * len(names)
        todo = [(roots[trace], sent[row], ended[row])]
        while todo:
            (start, end, span, number), begin, back = todo.pop()
            shares[1] += (start - begin) + (back - end)
            time = end
            for last, first, call, peer in sorted(calls.get(span, ()), reverse=True):
                if last > time or not (call in served or peer in foreign):
                    continue
                shares[place[number]] += time - last
                if call in served:
                    todo.append((served[call], first, last))
                else:
                    shares[place[peer]] += last - first
                time = first
            shares[place[number]] += time - start
        table[row] = shares
    table[:, 0] = result.start - result.due
    return dict(zip(names, table.T, strict=True))


def traces(
    result: Result,
    spans: Sequence[Spans],
    names: Sequence[str],
    operations: Sequence[str],
    rows: Sequence[int],
    offset_ns: int,
) -> list[otlp.Span]:
    """Spans of some requests, as OpenTelemetry has them.

    Parameters
    ----------
    result, spans : as in `critical_paths`.
    names : names of the services, each its own.
    operations : name of each operation.
    rows : requests, by their places in the result.
    offset_ns : from CLOCK_MONOTONIC to the time since 1970.
    """
    wanted = {int(result.trace[row]): row for row in rows}
    whole, origin, offset = result.origin_ns << 64, result.origin_ns + offset_ns, offset_ns
    kept = []
    for trace, row in wanted.items():
        operation = operations[int(result.operation[row])]
        attributes = {"labkit.sent_after_ns": int(result.start[row] - result.due[row])}
        due, end = int(result.due[row]) + origin, int(result.end[row]) + origin
        kept.append(
            otlp.Span(
                service=CLIENT,
                name=operation,
                kind=otlp.CLIENT,
                trace=whole | trace,
                span=1,
                parent=0,
                start_ns=due,
                end_ns=end,
                attributes=attributes,
            )
        )
    for number, one in enumerate(spans):
        chosen = one.rows[np.isin(one.rows[:, 0], list(wanted))]
        for trace, span, parent, start, end, peer in chosen.tolist():
            operation = operations[int(result.operation[wanted[trace]])]
            kept.append(
                otlp.Span(
                    service=names[number],
                    name=operation if peer < 0 else names[peer],
                    kind=otlp.SERVER if peer < 0 else otlp.CLIENT,
                    trace=whole | trace,
                    span=span,
                    parent=parent,
                    start_ns=start + offset,
                    end_ns=end + offset,
                )
            )
    return kept
