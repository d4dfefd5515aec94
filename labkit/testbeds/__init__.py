"""Where ranks and tools run: one file a testbed.

A testbed's file offers ``open(argument, options)``, a context manager that yields a `Testbed`; entering it brings the
testbed up where it is not up already.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from labkit.errors import SpecError, known


@dataclass(frozen=True)
class Testbed:
    """A place to run commands.

    Parameters
    ----------
    name : as the records show it.
    badges : what every number from it must carry.
    wrap : the command line that runs another one there.
    """

    name: str
    badges: tuple[str, ...] = ()
    wrap: Callable[[Sequence[str]], list[str]] = list


def names() -> list[str]:
    """All testbeds there are files for."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def parse(text: str) -> tuple[str, str, dict[str, str]]:
    """Name, argument and options of ``NAME[:ARG][,key=value…]``.

    Examples
    --------
    >>> parse("virtual-cluster:4,rate=200mbit")
    ('virtual-cluster', '4', {'rate': '200mbit'})
    """
    head, _, rest = text.partition(",")
    name, _, argument = head.partition(":")
    pairs = [pair.partition("=") for pair in rest.split(",") if pair]
    if any(not equals for _, equals, _ in pairs):
        raise SpecError(f"testbed={text!r}: what follows the first comma must be key=value pairs.")
    return name, argument, {key: value for key, _, value in pairs}


def open(text: str) -> AbstractContextManager[Testbed]:
    """The testbed of that description, as a context manager.

    Raises
    ------
    SpecError
        If there is none of that name, or it does not take the argument or an option.
    """
    name, argument, options = parse(text)
    if name not in names():
        raise known("testbed", name, names())
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    opened: AbstractContextManager[Testbed] = module.open(argument, options)
    return opened
