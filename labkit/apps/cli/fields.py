"""Make flags from the fields of dataclasses, which alone define their names, types, defaults and meanings."""

from __future__ import annotations

import argparse
import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.benchmarks import meanings


@dataclass(frozen=True)
class Flag:
    """Properties of a flag that its field lacks.

    Parameters
    ----------
    short : a letter, as in ``-i``.
    metavar : name of the value in the help.
    more : a sentence about the flag alone, after the meaning of the field.
    """

    short: str = ""
    metavar: str | None = None
    more: str = ""


SCHEDULE = {"sessions": Flag(metavar="N"), "spread": Flag(metavar="T")}  # fields of `Effort`


def add(verb: argparse.ArgumentParser, cls: type[Any], flags: Mapping[str, Flag]) -> None:
    """Add a flag for each of some fields of a dataclass; without the flag, the field has its default."""
    hints, texts = typing.get_type_hints(cls), meanings(cls)
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    for name, flag in flags.items():
        default = "" if defaults[name] in (None, "", 0, ()) else f" (default: {defaults[name]})"
        text = f"{texts[name].removesuffix('.')}{default}".replace("`", "")
        verb.add_argument(
            *([f"-{flag.short}"] if flag.short else []),
            f"--{name.replace('_', '-')}",
            dest=name,
            metavar=flag.metavar,
            type=_kind(hints[name]),
            help=(text + (f". {flag.more}" if flag.more else "")).replace("%", "%%"),
        )


def given(options: argparse.Namespace, flags: Mapping[str, Flag]) -> dict[str, Any]:
    """Return the values of the flags that were given, by field."""
    return {name: value for name in flags if (value := getattr(options, name)) is not None}


def _kind(hint: Any) -> Callable[[str], int] | Callable[[str], float] | type[str]:
    """Return what converts a word into a value; text where the class converts it itself."""
    parts = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    return next((kind for of, kind in ((int, whole), (float, number)) if of in parts), str)


def whole(text: str) -> int:
    """Read a whole number; Python also takes the digits of other scripts, and users rarely mean them."""
    return int(_plain(text))


def number(text: str) -> float:
    """Read a number in the same way."""
    return float(_plain(text))


def _plain(text: str) -> str:
    if not text.isascii():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number in the digits 0 to 9")
    return text


def as_typed(text: str, flags: Mapping[str, str]) -> str:
    """Write a message about ``name=value`` with the flags of the command line.

    Parameters
    ----------
    flags : name → replacement for ``name=``.

    Examples
    --------
    >>> as_typed("ranks=3, but mpi.latency needs exactly 2. Set ranks=2.", {"ranks": "--ranks "})
    '--ranks 3, but mpi.latency needs exactly 2. Set --ranks 2.'
    """
    names = "|".join(re.escape(name) for name in flags if name)
    if not names:
        return text
    # a name inside a longer word, a list or a path, or behind its own flag, is not what the message complains about
    return re.sub(rf"(?<![\w.\-=,:/])(?<!-o )(?<!--factor )({names})=(?=[^\s.])", lambda hit: flags[hit[1]], text)
