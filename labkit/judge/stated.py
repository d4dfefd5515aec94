"""Settings that determine a metric by definition, so their levels are compared only with the setting."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from labkit.errors import SpecError
from labkit.judge import effects
from labkit.judge.finding import SHARE, TIMES, Value
from labkit.point.columns import METRICS
from labkit.point.testbed import amount, parse

_LINK = ("rate", "uplink", "delay", "throttle")  # options of a testbed
_COUNTED = ("transaction_rate_per_s", "operation_rate_per_s")  # operations in a second, however large each is
OFFERED = ("rate", "target", "offered", "message_rate", "load")  # options that set the load
_DECIDED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (  # options, and kinds or names of the metrics they set
    # work, bytes or messages of one timed operation
    (("n", "problem", "npb_class", "steps", "nx", "ny", "nz", "vars", "preset", "size_y", "size_z"), ("cost",)),
    (("neighbours", "periodic", "dimensions", "window", "micro_batches"), ("cost",)),
    (("segments", "block_size"), ("cost", "moved_MB")),
    (("batch",), ("cost",)),
    (("layers", "width", "length", "hidden", "tables", "lookups"), ("cost", *_COUNTED)),
    (("small", "medium", "large", "scheme", "buffers"), ("cost", *_COUNTED)),
    (("write_size",), _COUNTED),
    # computation, sleep or files inside the time
    (("overlap", "compute_us", "sleep_us"), ("cost", "rate")),
    (("interval",), ("cost", "io_percent")),
    # how long it runs
    (("stonewall", "wear_out"), ("cost", "moved_MB")),
    (OFFERED, ("rate",)),
    # a sum over both directions
    (("bidirectional",), ("rate",)),
)
_TIMES = ("ns", "µs", "ms", "s")


def by_definition(factor: str, metric: str) -> bool:
    """Whether a metric follows from an option, so that a comparison of its levels only restates them.

    Examples
    --------
    >>> by_definition("option_overlap", "latency_us"), by_definition("option_window", "bandwidth_MBps")
    (True, False)
    """
    name, its = factor.removeprefix("option_"), {metric, METRICS[metric].kind}
    return factor.startswith("option_") and any(name in names and its & {*sets} for names, sets in _DECIDED)


def paced(row: Mapping[str, Any]) -> bool:
    """Whether an option of a row sets the load, so its rate does not show what the path allows."""
    given = (row.get(f"option_{name}") for name in OFFERED)
    return any(isinstance(one, Real) and float(one) > 0 for one in given)


def links_differ(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the testbeds of two rows state different rates or delays of their links."""
    return any(_text(row, name) != _text(other, name) for name in _LINK)


def of_link(row: Mapping[str, Any], metric: str, value: float) -> tuple[str, Value | None]:
    """Compare a value with the limit of its link; nothing if the testbed states no limit.

    Returns
    -------
    ``rate`` with a bandwidth divided by the link's rate; ``delay`` with a time divided by the link's delay; or
    ``bytes`` with the share of the time that the bytes of a message take at the link's rate.
    """
    rate, delay, known = _option(row, "rate"), _option(row, "delay"), METRICS[metric]
    if _text(row, "throttle"):  # which ranks the slower link serves is not known here
        return "", None
    if known.unit == "MB/s":
        return _part("rate", value * 8e6, rate)
    if known.kind != "cost" or known.unit not in _TIMES:
        return "", None
    seconds = value / known.factor
    if delay and seconds >= delay:
        return "delay", Value(value=seconds / delay, unit=TIMES)
    return _part("bytes", 8 * int(row["message_size_B"]) / rate, seconds) if rate else ("", None)


def _part(name: str, part: float, whole: float) -> tuple[str, Value | None]:
    return (name, Value(value=part / whole, unit=SHARE)) if part and effects.is_part(part, whole) else ("", None)


def _option(row: Mapping[str, Any], name: str) -> float:
    """Return an option of a row's testbed in bit/s or s; 0 without one."""
    known = amount(_text(row, name))
    return known if known > 0 else 0.0


def _text(row: Mapping[str, Any], name: str) -> str:
    """Return an option of a row's testbed as it was given; empty without one."""
    try:
        return str(parse(str(row["testbed"]))[2].get(name, ""))
    except SpecError:  # not a testbed of this labkit
        return ""
