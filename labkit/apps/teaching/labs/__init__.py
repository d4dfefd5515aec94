"""The labs, one file each."""

from __future__ import annotations

import importlib
import pkgutil

from labkit.apps.teaching.definition import Lab
from labkit.errors import SpecError, unknown_name


def names() -> list[str]:
    """Return the names of all labs, from their files."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def get(name: str) -> Lab:
    """Return the lab of that name.

    Raises
    ------
    SpecError
        If there is none.
    """
    if name not in names():
        raise unknown_name("lab", name, names())
    lab: Lab = importlib.import_module(f"{__name__}.{name}").LAB
    questions = [question.name for question in (*lab.predictions, *lab.questions)]
    if len(set(questions)) < len(questions):
        raise SpecError(f"The lab {name} uses a name twice. Rename one of its questions.")
    return lab
