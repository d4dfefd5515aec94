"""The JSON object that labkit's own measuring programs print, such as the loops over pyverbs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.formats.reading.json import Entry, last_line
from labkit.point.notes import note
from labkit.point.spec import Reported
from labkit.tools._invocation import Parsed


def parsed(text: str, folder: Path) -> Parsed:
    """Parse the client's output.

    Raises
    ------
    DataError
        If the program says what went wrong, or that is not its one JSON object.
    """
    result = last_line(text, "output")
    if "error" in result:
        raise DataError(str(result["error"].value))
    extras = result["extras"]
    return Parsed(
        time_ns=_array(result["time_ns"]),
        extras={name: _array(extras[name]) for name in extras.table()},
        reported=tuple(_reported(values) for values in result.get("reported", []).items()),
        warnings=tuple(
            note(str(warning["code"].value), str(warning["text"].value), **warning["values"].table())
            for warning in result["warnings"].items()
        ),
        facts=result["facts"].table(),
    )


def _array(entry: Entry) -> NDArray[np.int64]:
    return np.array(entry.integers(), np.int64)


def _reported(entry: Entry) -> Reported:
    values = entry.items()
    if len(values) != 4:
        raise entry.wrong("a list of name, unit, statistic and value")
    name, unit, statistic = (str(one.value) for one in values[:3])
    return Reported(name, unit, statistic, values[3].real())
