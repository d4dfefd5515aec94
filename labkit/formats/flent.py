"""Flent's data files (``.flent.gz``, format 1 to 4): series of pings and of streams that run at the same time.

A series keeps its name, such as ``TCP upload BE``. Its unit is in ``SERIES_META``. A series in ms holds round trips:
Flent converts the rate of netperf's UDP_RR to the time of one (``transformers.py``: 1000 / rate). Mbits/s have 10^6
bits.

The statistics are over the values of the series. ``raw_values`` has them as the tool printed them; a series without raw
values, such as a sum, has values that Flent interpolated to steps of ``STEP_SIZE``. So does every series of a file
before format 4, where raw values have other units (``resultset.py``: ``unserialise_compat``). The mean of a stream is
the tool's mean over the whole run, if the file has it (``MEAN_VALUE``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from labkit.formats import malformed
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import REMEDY, SHOWN, Log, Run, flat
from labkit.formats.reading.series import described
from labkit.point.notes import note
from labkit.point.spec import Reported

_BEGINS = re.compile(r"[^\n]*\"(?:FLENT|NETPERF_WRAPPER)_VERSION\" ?:")
_CONVERTED = 4  # from this format on, raw values are in the unit of their series
_QUANTITIES = {"ms": ("round_trip_us", "µs", 1e3), "Mbits/s": ("bandwidth_MBps", "MB/s", 1 / 8)}
_SETTINGS = ("LENGTH", "STEP_SIZE", "IP_VERSION", "TEST_PARAMETERS")  # the rest are addresses, times and the machine
_STATED = ("RUNNER", "CONG_CONTROL", "UPSTREAM_TOS", "DOWNSTREAM_TOS", "UDP_BANDWIDTH")
_INTERPOLATED = note("interpolated", "Flent interpolated the values of this series to equal steps")
_OF_TOOL = note("tool-mean", "the mean is the tool's own over the whole run; the other values are over its intervals")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per series that has values."""
    whole = document(text, where)
    meta, results = whole["metadata"], whole["results"]
    series = meta.get("SERIES_META", {})
    raws = whole.get("raw_values" if whole.get("version", 1).whole() >= _CONVERTED else "", {})
    made = []
    for number, name in enumerate(results.table(), 1):
        about = series.get(name, {})
        raw = list(_numbers(raws.get(name, []), "val"))
        values = raw or list(_numbers(results[name]))
        if values:
            made.append(_run(name, values, bool(raw), about, meta, number))
    if not made:
        raise malformed(where, 0, f"{len(results.table())} series without a number", "one with values", REMEDY)
    return made


def _numbers(entries: Entry, key: str = "") -> Iterator[float]:
    """Yield the values of a list that are there, or an entry of each object of the list."""
    for one in entries.items():
        value = one.get(key, None) if key else one
        if value.value is not None:
            yield value.real()


def _run(name: str, values: list[float], raw: bool, about: Entry, meta: Entry, number: int) -> Run:
    """Return the run of a series."""
    unit = about.get("UNITS", "ms" if "(ms)" in name and "::" not in name else "").value
    if not isinstance(unit, str) or unit == "bits/s":  # several units; or a mean in bits/s and values in Mbits/s
        unit = ""
    quantity, shown, factor = _QUANTITIES.get(unit, ("value", unit[:40], 1.0))
    reported = described(values, quantity, shown, factor)
    remarks = [] if raw else [_INTERPOLATED]
    mean = about.get("MEAN_VALUE", None)
    if unit == "Mbits/s" and mean.value is not None:
        reported = [replace(one, value=mean.real() * factor) if one.statistic == "mean" else one for one in reported]
        remarks.append(_OF_TOOL)
    reported.append(Reported("values", "", "total", float(len(values))))
    facts = meta.table()
    stated = {key: facts[key] for key in _SETTINGS if facts.get(key) is not None}
    return Run(
        test="Flent",
        values=tuple(reported),
        line=number,
        options={"test": str(facts.get("NAME") or "unnamed"), "series": name},
        stated=flat(stated) | flat({key: about.table()[key] for key in _STATED if about.table().get(key) is not None}),
        parameters={key: str(facts[key]) for key in ("TITLE", "NOTE", "TIME") if facts.get(key)},
        version=str(facts.get("FLENT_VERSION") or facts.get("NETPERF_WRAPPER_VERSION") or ""),
        remarks=tuple(remarks),
        source=json.dumps({name: values})[:SHOWN],
    )


LOG = Log("Flent", ('_VERSION"',), _BEGINS, runs)
