"""Settings that decide a metric by definition: their levels are compared with the setting, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.analysis import effects
from labkit.analysis.plausibility.orders import amount
from labkit.columns import METRICS
from labkit.errors import SpecError
from labkit.records import Value
from labkit.testbeds import parse
from labkit.units import format_number

_LINK = ("rate", "uplink", "delay")  # options of a testbed
_DECIDED = {  # kind of a metric → options that set it: the timed work, or the offered load
    "cost": (
        *("overlap", "compute_us", "sleep_us", "duration", "stonewall", "n", "problem", "npb_class", "steps"),
        *("items", "write_size", "segments", "layers", "micro_batches"),
    ),
    "rate": ("compute_us", "sleep_us", "rate", "target", "offered", "message_rate", "load"),
}
_TIMES = ("ns", "µs", "ms", "s")


def by_definition(factor: str, metric: str) -> bool:
    """Whether a metric follows from an option, so that a comparison of its levels only restates them.

    Examples
    --------
    >>> by_definition("option_overlap", "latency_us"), by_definition("option_window", "bandwidth_MBps")
    (True, False)
    """
    return factor.startswith("option_") and factor.removeprefix("option_") in _DECIDED.get(METRICS[metric].kind, ())


def links_differ(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the testbeds of two rows state different rates or delays of their links."""
    return any(_option(row, name) != _option(other, name) for name in _LINK)


def beside_link(row: Mapping[str, Any], value: Value) -> str:
    """Say how a value compares with what its link allows; empty where the testbed states no such limit.

    A bandwidth is a share of the link's rate. A time is a multiple of the link's delay, or the bytes of a message at
    the link's rate are a share of it.
    """
    rate, delay, metric = _option(row, "rate"), _option(row, "delay"), METRICS[value.metric]
    if metric.unit == "MB/s":
        share = effects.share(value.value * 8e6, rate)
        return f"{share} of the link's rate" if share else ""
    if metric.kind != "cost" or metric.unit not in _TIMES:
        return ""
    seconds = value.value / metric.factor
    if delay and seconds >= delay:
        return f"{format_number(seconds / delay, digits=3)} times the link's delay"
    share = effects.share(8 * int(row["message_size_B"]) / rate, seconds) if rate and row["message_size_B"] else ""
    return f"of which the bytes of a message take {share} at the link's rate" if share else ""


def _option(row: Mapping[str, Any], name: str) -> float:
    """Return an option of a row's testbed in bit/s or s; 0 where it has none."""
    try:
        known = amount(parse(str(row["testbed"]))[2].get(name, ""))
    except SpecError:  # not a testbed of this labkit
        return 0.0
    return known if known > 0 else 0.0
