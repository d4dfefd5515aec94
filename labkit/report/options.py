"""Read, check and write the options of a code cell, the lines that begin with ``#|``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from labkit.errors import ReportError
from labkit.report import cleaning

ALT = "fig-alt"  # what a figure shows, in words; a list holds one text for each output
MOST = 20_000  # characters of the options of a cell
FORMS = {"label": r"[A-Za-z][\w:-]*", "classes": r"[\w-]+"}
MEANT = {"label": "letters, digits, - and _", "classes": "one name of a class"}


@lru_cache(1024)  # every step of a report asks for them
def _parsed(source: str) -> tuple[dict[str, Any], str]:
    """Return the options and the code; callers must not change them."""
    lines = source.splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("#|")), len(lines))
    given = "\n".join(line[2:].removeprefix(" ") for line in lines[:end])
    if len(given) > MOST:
        raise ReportError(f"the #| lines have {len(given):,} characters, but at most {MOST:,} are read")
    try:
        chosen = yaml.safe_load(given) or {}
    except (yaml.YAMLError, RecursionError) as error:
        raise ReportError(f"the #| lines are not YAML: {error}") from error
    if not isinstance(chosen, dict):
        raise ReportError(f"the #| lines must be 'key: value', but are a {type(chosen).__name__}")
    for key, value in chosen.items():
        parts = value if isinstance(value, list) else [value]
        if not isinstance(key, str) or any(not isinstance(part, str | int | float | None) for part in parts):
            raise ReportError("a #| line must be 'key: text', a number, true, false or a list of these")
        if key in FORMS and not re.fullmatch(FORMS[key], str(value)):
            raise ReportError(f"{key}={str(value)[:60]!r}, but it must be {MEANT[key]}")
    return chosen, "\n".join(lines[end:]).strip()


def options(source: str) -> tuple[dict[str, Any], str]:
    r"""Return Quarto's ``#|`` options of a code cell, and the code below them.

    Raises
    ------
    ReportError
        If the options are not YAML; the caller adds the cell to the message.

    Examples
    --------
    >>> options("#| label: fig-a\n#| fig-cap: \"A: b.\"\nshow(a)")
    ({'label': 'fig-a', 'fig-cap': 'A: b.'}, 'show(a)')
    """
    chosen, code = _parsed(source)
    return dict(chosen), code


def written(chosen: Mapping[str, Any], code: str) -> str:
    """Return a cell's source with each option on one line, as both engines need it."""
    clean = {key: _cleaned(value, spoken=key == ALT) for key, value in chosen.items()}
    lines = [
        f"#| {key}: {value if key in FORMS else json.dumps(value, ensure_ascii=False)}\n"
        for key, value in clean.items()
    ]
    return "".join(lines) + cleaning.headless(cleaning.text(code))


def _cleaned(value: Any, *, spoken: bool = False) -> Any:
    """Return a value of an option, its texts as harmless Markdown, or as descriptions."""
    if isinstance(value, list):
        return [_cleaned(part, spoken=spoken) for part in value]
    return (cleaning.spoken if spoken else cleaning.markdown)(value) if isinstance(value, str) else value
