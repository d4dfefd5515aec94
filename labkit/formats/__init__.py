"""Layouts of text and JSON, one file each: pure functions from what a tool printed to values.

Units are converted here and nowhere else. A parser returns values in the unit of the metric in `labkit.point.columns`,
or in the tool's unit where labkit has no such metric. It raises `DataError` for a line that does not fit; the error
quotes the line and says what was wanted.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
from functools import cache
from typing import TYPE_CHECKING

from labkit.formats.reading.values import malformed as malformed
from labkit.formats.reading.values import metric as metric

if TYPE_CHECKING:
    from labkit.formats.reading.log import Log


@cache
def logs() -> dict[str, Log]:
    """Return the kinds of logs that `labkit import` reads, by name: every file of this package that exports `LOG`."""
    modules = [importlib.import_module(f"{__name__}.{name}") for name in sorted(_files())]
    kinds: list[Log] = [module.LOG for module in modules if hasattr(module, "LOG")]
    return {kind.name: kind for kind in kinds}


@cache
def _files() -> set[str]:
    """Names of the files that are a layout each."""
    modules = pkgutil.iter_modules(__path__)
    return {module.name for module in modules if not (module.ispkg or module.name.startswith("_"))}


@cache
def clock_ns(kind: str) -> float:
    """Return the step of the times that a tool takes or prints, ns: `CLOCK_NS` of its format; NaN if it has none.

    A format has no step if the step limits no value: the tool divides the time of a whole run by its operations (qperf,
    mdtest), or measures in ns (fio). Rates over a whole run, such as those of iperf3 and netperf, have none either.

    Parameters
    ----------
    kind : name of a file of this package, or of a kind of log.

    Examples
    --------
    >>> clock_ns("IOzone"), clock_ns("qperf")
    (1000.0, nan)
    """
    plain = re.sub(r"\W", "_", kind.lower())
    for name in (plain, plain.removesuffix("_benchmark")):
        if name in _files():
            return float(getattr(importlib.import_module(f"{__name__}.{name}"), "CLOCK_NS", math.nan))
    return math.nan
