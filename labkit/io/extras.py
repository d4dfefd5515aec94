"""Optional packages: which extra of labkit installs each, and what to do if one is missing.

``pip install labkit`` brings what measuring, importing and showing need. Reports and notebooks need ``labkit[report]``,
JupyterLab and the Explorer ``labkit[lab]``. An MPI library comes with ``labkit[mpich]`` where the machine has none.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from labkit.errors import LaunchError

PACKAGES = {
    "report": (
        "plotly",
        "papermill",
        "nbclient",
        "nbformat",
        "nbconvert",
        "IPython",
        "ipykernel",
        "jupyter_client",
        "jupyter_core",
        "kaleido",
        "choreographer",
        "pypandoc",
        "pypdf",
        "yaml",
        "typst",
    ),
    "lab": ("jupyterlab", "ipywidgets", "anywidget", "traitlets", "tornado", "comm"),
}
_GRAMMAR = "rfc3987_syntax"
HIDE = f"import sys; sys.modules[{_GRAMMAR!r}] = None"  # as `quick` does, for another process
NOTEBOOKS = ("papermill", "nbformat", "ipykernel", "IPython", "plotly")  # needed to execute a notebook


def absent(*names: str) -> list[str]:
    """Return the packages, by the names they are imported by, that are not installed."""
    return [name for name in names if find_spec(name) is None]


def need(*names: str) -> None:
    """Check that packages are installed.

    Raises
    ------
    LaunchError
        If one is not installed; it names the extra that installs it.
    """
    for name in absent(*names):
        raise LaunchError(_sentence(name))


def explained(error: ModuleNotFoundError) -> LaunchError | None:
    """Return the error with its remedy for a package of an extra; None for any other package."""
    name = (error.name or "").partition(".")[0]
    return LaunchError(_sentence(name)) if any(name in names for names in PACKAGES.values()) else None


def remedy(name: str) -> str:
    """Return the command that installs the extra with a package."""
    return command(extra) if (extra := _extra(name)) else f"pip install {name}"


def command(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'labkit[{extra}]'"


def _extra(name: str) -> str:
    return next((extra for extra, names in PACKAGES.items() if name in names), "")


def _sentence(name: str) -> str:
    extra = _extra(name)
    missing = f"This needs the extra labkit[{extra}], which" if extra else f"The Python package {name}"
    return f"{missing} is not installed. Install it: {remedy(name)}"


@contextmanager
def quick() -> Iterator[None]:
    """Import packages that need jsonschema in a tenth of the time.

    jsonschema takes the formats of international addresses from rfc3987_syntax, which compiles 38 grammars on import.
    That takes 2 s. No notebook has such addresses, and jsonschema works without the package, so it is hidden inside the
    block.
    """
    if _GRAMMAR in sys.modules:
        yield
        return
    sys.modules[_GRAMMAR] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[_GRAMMAR]


def import_notebooks() -> None:
    """Import nbformat, if it is installed."""
    if not absent("nbformat"):
        with quick():
            importlib.import_module("nbformat")


class Later:
    """A module that is imported when it is first used.

    Parameters
    ----------
    name : name of the module, such as ``plotly.graph_objects``.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Import it, and look the name up there."""
        need(self._name.partition(".")[0])
        if self._name not in sys.modules:
            with quick():
                importlib.import_module(self._name)
        return getattr(sys.modules[self._name], attribute)
