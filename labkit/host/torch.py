"""Find a Python that has torch. It may be another one than labkit's: Debian's python3-torch belongs to the system's."""

from __future__ import annotations

from labkit.host import pythons

# reads the version without the import, which takes seconds
_TRY = """
import importlib.util, pathlib
spec = importlib.util.find_spec("torch")
values = {}
if spec and spec.origin:
    exec((pathlib.Path(spec.origin).parent / "version.py").read_text(), values)
print(values.get("__version__", ""))
"""


def interpreter() -> str:
    """Return the first Python that has torch; empty if none has."""
    return pythons.first(_TRY)[0]


def version() -> str:
    """Return the version of the torch that is used; ``unknown`` if there is none."""
    return pythons.first(_TRY)[1] or "unknown"
