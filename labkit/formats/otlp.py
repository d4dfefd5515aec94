"""OpenTelemetry's traces as OTLP JSON: what a collector, Jaeger or Tempo reads.

After opentelemetry-proto, ``trace/v1/trace.proto``, and the rules of OTLP/HTTP for JSON: names in lowerCamelCase, ids
in hexadecimal digits, times in ns since 1970 as strings of digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from labkit.formats.reading.json import Entry, last_line

SERVER, CLIENT = 2, 3  # SpanKind
BEGINS = '{"resourceSpans":'  # a line that `dumps` wrote
_WHAT = "OTLP JSON"


@dataclass(frozen=True, kw_only=True)
class Span:
    """One piece of work of one service.

    Parameters
    ----------
    service : service that did it.
    name : name of the work.
    kind : `SERVER` if it answers a request, `CLIENT` if it waits for another service.
    trace, span, parent : numbers; parent 0 for the first span of a trace.
    start_ns, end_ns : since 1970.
    attributes : further facts.
    """

    service: str
    name: str
    kind: int
    trace: int
    span: int
    parent: int
    start_ns: int
    end_ns: int
    attributes: Mapping[str, str | int] = field(default_factory=dict)


def dumps(spans: Iterable[Span], scope: str = "labkit") -> str:
    """Spans as one line of JSON, an ``ExportTraceServiceRequest``; grouped by service."""
    by_service: dict[str, list[Span]] = {}
    for span in spans:
        by_service.setdefault(span.service, []).append(span)
    resources = [
        {
            "resource": {"attributes": _attributes({"service.name": service})},
            "scopeSpans": [{"scope": {"name": scope}, "spans": [_span(one) for one in own]}],
        }
        for service, own in by_service.items()
    ]
    return json.dumps({"resourceSpans": resources}, separators=(",", ":"))


def _span(one: Span) -> dict[str, object]:
    parent = {"parentSpanId": f"{one.parent:016x}"} if one.parent else {}
    return {
        "traceId": f"{one.trace:032x}",
        "spanId": f"{one.span:016x}",
        **parent,
        "name": one.name,
        "kind": one.kind,
        "startTimeUnixNano": str(one.start_ns),
        "endTimeUnixNano": str(one.end_ns),
        "attributes": _attributes(one.attributes),
    }


def _attributes(values: Mapping[str, str | int]) -> list[dict[str, object]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in values.items()
    ]


def loads(text: str) -> list[Span]:
    """Read spans from OTLP JSON, one request to a line; other lines are left out.

    Raises
    ------
    DataError
        If a line is a request of another shape.
    """
    spans: list[Span] = []
    for line in text.splitlines():
        if not line.startswith(BEGINS):
            continue
        for resource in last_line(line, _WHAT)["resourceSpans"].items():
            service = str(_values(resource["resource"]["attributes"]).get("service.name", ""))
            own = [one for scope in resource["scopeSpans"].items() for one in scope["spans"].items()]
            spans += [_read(one, service) for one in own]
    return spans


def _read(one: Entry, service: str) -> Span:
    return Span(
        service=service,
        name=str(one["name"].value),
        kind=_digits(one["kind"]),
        trace=_digits(one["traceId"], 16),
        span=_digits(one["spanId"], 16),
        parent=_digits(one["parentSpanId"], 16) if one.get("parentSpanId", "").value else 0,
        start_ns=_digits(one["startTimeUnixNano"]),
        end_ns=_digits(one["endTimeUnixNano"]),
        attributes=_values(one.get("attributes", [])),
    )


def _digits(entry: Entry, base: int = 10) -> int:
    """Return a whole number that is written as a string of digits, or as a number."""
    text = str(entry.value)
    if not re.fullmatch(r"-?\d{1,20}" if base == 10 else "[0-9a-fA-F]{1,32}", text, re.ASCII):
        raise entry.wrong("digits of a whole number")
    return int(text, base)


def _values(attributes: Entry) -> dict[str, str | int]:
    values: dict[str, str | int] = {}
    for one in attributes.items():
        value = one["value"]
        number = _digits(value["intValue"]) if "intValue" in value else None
        values[str(one["key"].value)] = str(value.get("stringValue", "").value) if number is None else number
    return values
