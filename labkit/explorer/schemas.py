"""Load jsonschema without its grammar of international addresses, which takes a second and which nobody needs here.

The grammar is hidden while jsonschema is loaded, as if it were not installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_GRAMMAR = "rfc3987_syntax"
HIDE = f"import sys; sys.modules[{_GRAMMAR!r}] = None"  # Python code for another process


@contextmanager
def quick() -> Iterator[None]:
    """Load what uses jsonschema quickly."""
    modules = sys.modules
    if _GRAMMAR in modules:
        yield
        return
    modules[_GRAMMAR] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del modules[_GRAMMAR]
