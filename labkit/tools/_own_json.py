"""The JSON object that labkit's own measuring programs print, such as the loops over pyverbs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from labkit.errors import DataError
from labkit.notes import note
from labkit.spec import Reported
from labkit.tools._invocation import Parsed


def parsed(text: str, folder: Path) -> Parsed:
    """Parse what the client printed.

    Raises
    ------
    DataError
        If the program says what went wrong, or that is not its one JSON object.
    """
    line = text.strip().rpartition("\n")[2]
    try:
        result: Mapping[str, Any] = json.loads(line)
        if "error" in result:
            raise DataError(str(result["error"]))
        times = np.asarray(result["time_ns"], np.int64)
        extras = {name: np.asarray(values, np.int64) for name, values in result["extras"].items()}
        reported = tuple(Reported(*values) for values in result.get("reported", ()))
        warnings = tuple(note(warning["code"], warning["text"], **warning["values"]) for warning in result["warnings"])
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"output: found {line[-200:]!r}, wanted one JSON object ({error}).") from error
    return Parsed(time_ns=times, extras=extras, reported=reported, warnings=warnings, facts=result["facts"])
